// Class moments of a block of rows: weight n (K), mean (K, p) and central scatter S.
//
// S is (K, p) diagonal, (K, p, p) full, or (p, p) tied: the sum over classes of their scatters, each
// about its own mean. Every tile is centred about its own class means, so no digits are lost to a large
// mean; tiles are joined by Chan, Golub and LeVeque (1983),
//   S += S' + (n n' / (n + n')) d dᵀ,   d = mean' - mean,
// in which the last term is the scatter of one more row, sqrt(n n' / (n + n')) d: it is appended to the
// tile as such.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/matrix.hpp"
#include "kernels/tile.hpp"

namespace likelier {

// Who belongs where: hard labels (codes, -1 = none) or soft ones (R, n x K), times optional weights.
struct Labels {
    const int32_t* codes;   // null when soft
    const double* R;        // null when hard
    const double* weights;  // null: all 1
    int64_t K;

    double weight(int64_t r) const { return weights ? weights[r] : 1.0; }

    // f(class, weight) for every class that row r takes part in.
    template <class F>
    void each(int64_t r, F&& f) const {
        if (R) {
            for (int64_t k = 0; k < K; ++k) f(k, weight(r) * R[r * K + k]);
        } else if (codes[r] >= 0) {
            f(codes[r], weight(r));
        }
    }
};

enum class Shape { diagonal, full, tied };

struct Moments {
    double* n;     // (K)
    double* mean;  // (K, p)
    double* S;     // by shape
};

// a b c, rounded in the same places wherever it is added to something: never contracted with the sum.
__attribute__((noinline)) inline double product(double a, double b, double c = 1) {
    return a * b * c;
}

// What a tile adds: its weights and means by class, and how far they are from those so far.
//
// Means are kept as offsets from one row of their class: the offset of a constant column is exactly
// 0, and so is its scatter; and columns far from 0 lose no digits to a mean that is rounded to theirs.
class TileMeans {
  public:
    TileMeans(int64_t K, int64_t p)
        : K(K), p(p), n(K), offset(K * p), gap(K * p), blend(K), base(K * p), begun(K, false) {}

    // Of a class that has no base yet, the first of the heaviest rows: one that counts, if any does.
    // `copy(r, to)`: row r of these.
    template <class Copy>
    void choose_bases(int64_t first, int64_t count, const Labels& labels, Copy&& copy) {
        if (std::find(begun.begin(), begun.end(), false) == begun.end()) return;
        std::vector<double> heaviest(K, 0.0);
        std::vector<int64_t> at(K, -1);
        for (int64_t r = 0; r < count; ++r)
            labels.each(first + r, [&](int64_t k, double w) {
                if (w > heaviest[k]) heaviest[k] = w, at[k] = r;
            });
        for (int64_t k = 0; k < K; ++k)
            if (!begun[k] && at[k] >= 0) {
                begun[k] = true;
                copy(at[k], &base[k * p]);
            }
    }

    // Weights and mean offsets by class of these rows. False if a sum is not finite.
    bool measure(const Rows& rows, int64_t first, int64_t count, const Labels& labels) {
        choose_bases(first, count, labels, [&](int64_t r, double* to) {
            const double* x = rows.x + r * rows.stride;
            std::copy(x, x + p, to);
        });
        std::fill(n.begin(), n.end(), 0.0);
        std::fill(offset.begin(), offset.end(), 0.0);
        for (int64_t r = 0; r < count; ++r) {
            const double* x = rows.x + r * rows.stride;
            labels.each(first + r, [&](int64_t k, double w) {
                n[k] += w;
                const double* b = &base[k * p];
                double* s = &offset[k * p];
                for (int64_t j = 0; j < p; ++j) s[j] += w * (x[j] - b[j]);
            });
        }
        double check = 0;
        for (int64_t k = 0; k < K; ++k) {
            const double scale = n[k] > 0 ? 1 / n[k] : 0;
            for (int64_t j = 0; j < p; ++j) {
                check += offset[k * p + j] * 0;  // NaN if infinite or NaN
                offset[k * p + j] *= scale;
            }
        }
        return check == 0;
    }

    // Moves the running n and mean (an offset so far) to include this tile; keeps `gap` = d and
    // `blend` = n n'/(n + n').
    void join(const Moments& total) {
        for (int64_t k = 0; k < K; ++k) {
            const double sum = total.n[k] + n[k];
            const double share = sum > 0 ? n[k] / sum : 0;
            blend[k] = total.n[k] * share;
            for (int64_t j = 0; j < p; ++j) {
                const double d = offset[k * p + j] - total.mean[k * p + j];
                gap[k * p + j] = d;
                total.mean[k * p + j] += n[k] > 0 ? product(d, share) : 0;
            }
            total.n[k] = sum;
        }
    }

    // The running offsets as means.
    void finish(const Moments& total) const {
        for (int64_t i = 0; i < K * p; ++i) total.mean[i] += base[i];
    }

    const int64_t K, p;
    std::vector<double> n, offset, gap, blend, base;

  private:
    std::vector<bool> begun;
};

// ---- diagonal ----------------------------------------------------------------------------------
inline void diagonal_tile(const Rows& rows, int64_t first, int64_t count, const Labels& labels,
                          const TileMeans& tile, double* S) {
    const int64_t p = tile.p;
    for (int64_t r = 0; r < count; ++r) {
        const double* x = rows.x + r * rows.stride;
        labels.each(first + r, [&](int64_t k, double w) {
            const double *b = &tile.base[k * p], *m = &tile.offset[k * p];
            double* s = S + k * p;
            for (int64_t j = 0; j < p; ++j) {
                const double d = (x[j] - b[j]) - m[j];
                s[j] += w * d * d;
            }
        });
    }
    for (int64_t k = 0; k < tile.K; ++k)
        for (int64_t j = 0; j < p; ++j) {
            const double d = tile.gap[k * p + j];
            S[k * p + j] += tile.blend[k] > 0 ? product(tile.blend[k], d, d) : 0;
        }
}

// The same from columns, kLanes of them at a time: hard labels only. Rows are turned in registers, twice,
// which is less than to write them down in between; `total` holds offsets, as in TileMeans.
template <class M>
class ColumnStrips {
  public:
    ColumnStrips(const M& X, const Labels& labels)
        : X(X),
          labels(labels),
          strip(X, tile_rows(X.p)),
          n(labels.K),
          sums(labels.K * kLanes),
          squares(labels.K * kLanes) {}

    // The rows of one tile into `total`; means are offsets from `base`. False if a sum is not finite. Sums
    // are taken in the order in which rows of C order are, so that they are the same to the last bit.
    bool absorb(int64_t first, int64_t count, const std::vector<double>& base, const Moments& total) {
        const int64_t K = labels.K, p = X.p;
        std::fill(n.begin(), n.end(), 0.0);
        for (int64_t r = first; r < first + count; ++r)
            labels.each(r, [&](int64_t k, double w) { n[k] += w; });
        double check = 0;
        for (int64_t j = 0; j < p; j += kLanes) {
            const int64_t wide = std::min<int64_t>(kLanes, p - j);
            strip.open(j, first, count);
            gather_classes(base.data(), j, wide, origin);
            sums.assign(K * kLanes, 0.0);
            add_up(first, sums, [](vd sum, vd w, vd d, int64_t) { return sum + w * d; });
            for (int64_t k = 0; k < K; ++k) {
                const double scale = n[k] > 0 ? 1 / n[k] : 0;
                for (int64_t i = 0; i < wide; ++i) {
                    check += sums[k * kLanes + i] * 0;
                    sums[k * kLanes + i] *= scale;
                }
            }
            gather_classes(total.S, j, wide, squares);
            add_up(first, squares, [&](vd sum, vd w, vd d, int64_t k) {
                const vd c = d - load(&sums[k]);
                return sum + w * c * c;
            });
            for (int64_t k = 0; k < K; ++k) join(k, j, wide, total);
        }
        for (int64_t k = 0; k < K; ++k) total.n[k] += n[k];
        return check == 0;
    }

  private:
    // Columns j to j + wide of (K, p), padded.
    void gather_classes(const double* from, int64_t j, int64_t wide, Buffer& to) const {
        to.assign(labels.K * kLanes, 0.0);
        for (int64_t k = 0; k < labels.K; ++k)
            std::copy(from + k * X.p + j, from + k * X.p + j + wide, &to[k * kLanes]);
    }

    // to[class] = f(to[class], w, x - base[class], class). The sum is taken by f, in one expression with
    // the product, as `diagonal_tile` has it: Clang contracts within an expression and not beyond it, and
    // both must be rounded in the same places.
    template <class F>
    LIKELIER_INLINE void add_up(int64_t first, Buffer& to, F&& f) {
        const int32_t* codes = labels.codes + first;
        const auto add = [&](int64_t r, vd w, vd x) {
            if (const int64_t k = codes[r] * kLanes; k >= 0)
                store(&to[k], f(load(&to[k]), w, x - load(&origin[k]), k));
        };
        if (const double* w = labels.weights)
            strip.each_row([&](int64_t r, vd x) { add(r, splat(w[first + r]), x); });
        else
            strip.each_row([&](int64_t r, vd x) { add(r, splat(1.0), x); });
    }

    // Chan's merge of one class, columns j to j + wide.
    void join(int64_t k, int64_t j, int64_t wide, const Moments& total) const {
        const double sum = total.n[k] + n[k], share = sum > 0 ? n[k] / sum : 0, blend = total.n[k] * share;
        for (int64_t i = 0; i < wide; ++i) {
            const int64_t at = k * X.p + j + i;
            const double d = sums[k * kLanes + i] - total.mean[at];
            total.mean[at] += n[k] > 0 ? product(d, share) : 0;
            total.S[at] = squares[k * kLanes + i] + (blend > 0 ? product(blend, d, d) : 0);
        }
    }

    const M& X;
    const Labels& labels;
    Strip<M> strip;
    std::vector<double> n;
    Buffer origin, sums, squares;  // (K, kLanes); sums become means
};

template <class M>
Cell strip_moments(const M& X, const Labels& labels, const Moments& total) {
    TileMeans bases(labels.K, X.p);
    ColumnStrips<M> strips(X, labels);
    const int64_t height = tile_rows(X.p);
    for (int64_t first = 0; first < X.n; first += height) {
        const int64_t count = std::min(height, X.n - first);
        bases.choose_bases(first, count, labels, [&](int64_t r, double* to) {
            for (int64_t j = 0; j < X.p; ++j) {
                const double* x = adjoining(X, j, first + r, 1, to + j);
                to[j] = *x;
            }
        });
        if (!strips.absorb(first, count, bases.base, total)) {
            const Cell bad = find_bad(X, first, count);
            if (bad.found()) return bad;
        }
    }
    bases.finish(total);
    return {};
}

// ---- full and tied -----------------------------------------------------------------------------
// Rows gathered by class, centred, scaled by the root of their weight, padded to whole vectors.
class Packed {
  public:
    Packed(int64_t capacity, int64_t p)
        : p(p), P(scatter_width(p)), capacity(capacity), data(capacity * P, 0.0) {}

    // sqrt(weight) (x - base - offset).
    void add(const double* x, const double* base, const double* offset, double weight) {
        double* to = &data[count++ * P];
        const double root = weight == 1 ? 1 : std::sqrt(weight);
        for (int64_t j = 0; j < p; ++j) to[j] = root * ((x[j] - base[j]) - offset[j]);
    }

    // sqrt(weight) d.
    void add(const double* d, double weight) {
        double* to = &data[count++ * P];
        const double root = std::sqrt(weight);
        for (int64_t j = 0; j < p; ++j) to[j] = root * d[j];
    }

    // The gathered rows into S (P x P, upper triangle), leaving none.
    void flush(double* S) {
        scatter(data.data(), data.data(), count, P, S);
        count = 0;
    }

    bool full() const { return count == capacity; }

    const int64_t p, P, capacity;
    int64_t count = 0;
    Buffer data;
};

// Row numbers of a tile sorted by class (counting sort), so that each class is one run.
class ByClass {
  public:
    explicit ByClass(int64_t K) : start(K + 2) {}

    void sort(const int32_t* codes, int64_t count) {
        std::fill(start.begin(), start.end(), 0);
        order.resize(count);
        for (int64_t r = 0; r < count; ++r) ++start[codes[r] + 2];
        for (size_t k = 1; k < start.size(); ++k) start[k] += start[k - 1];
        for (int64_t r = 0; r < count; ++r) order[start[codes[r] + 1]++] = static_cast<int32_t>(r);
    }

    // After sort: rows of class k are order[start[k]] to order[start[k + 1]].
    std::vector<int64_t> start;
    std::vector<int32_t> order;
};

template <class F>
inline void each_row_of(int64_t k, const Labels& labels, const ByClass& sorted, int64_t first,
                        int64_t count, F&& f) {
    if (labels.R) {
        for (int64_t r = 0; r < count; ++r) {
            const double w = labels.weight(first + r) * labels.R[(first + r) * labels.K + k];
            if (w > 0) f(r, w);
        }
    } else {
        for (int64_t i = sorted.start[k]; i < sorted.start[k + 1]; ++i) {
            const double w = labels.weight(first + sorted.order[i]);
            if (w > 0) f(sorted.order[i], w);
        }
    }
}

inline void scatter_tile(const Rows& rows, int64_t first, int64_t count, const Labels& labels,
                         const TileMeans& tile, bool tied, ByClass& sorted, Packed& packed, double* S) {
    if (!labels.R) sorted.sort(labels.codes + first, count);
    const int64_t p = tile.p, size = packed.P * packed.P;
    for (int64_t k = 0; k < tile.K; ++k) {
        if (!(tile.n[k] > 0)) continue;
        double* Sk = tied ? S : S + k * size;
        each_row_of(k, labels, sorted, first, count, [&](int64_t r, double w) {
            if (packed.full()) packed.flush(Sk);
            packed.add(rows.x + r * rows.stride, &tile.base[k * p], &tile.offset[k * p], w);
        });
        if (tile.blend[k] > 0) {
            if (packed.full()) packed.flush(Sk);
            packed.add(&tile.gap[k * p], tile.blend[k]);
        }
        if (!tied) packed.flush(Sk);
    }
    if (tied) packed.flush(S);
}

// ---- the pass ------------------------------------------------------------------------------------
// Fills `total` (zeroed by the caller) with the moments of X; the first cell that is not finite, if any.
inline Cell moments(const Matrix& X, const Labels& labels, Shape shape, const Moments& total) {
    const int64_t n = row_count(X), p = column_count(X), K = labels.K;
    const int64_t height = tile_rows(p);
    const bool diagonal = shape == Shape::diagonal, tied = shape == Shape::tied;
    TileMeans tile(K, p);
    ByClass sorted(K);
    Packed packed(diagonal ? 0 : panel_rows(p), p);
    const int64_t P = packed.P, blocks = diagonal ? 0 : (tied ? 1 : K);
    Buffer S(blocks * P * P, 0.0), scratch(height * padded(p));

    for (int64_t first = 0; first < n; first += height) {
        const int64_t count = std::min(height, n - first);
        const Rows block =
            std::visit([&](const auto& m) { return rows(m, first, count, scratch.data()); }, X);
        if (!tile.measure(block, first, count, labels)) {
            const Cell bad = find_bad(X, first, count);
            if (bad.found()) return bad;
        }
        tile.join(total);
        if (diagonal)
            diagonal_tile(block, first, count, labels, tile, total.S);
        else
            scatter_tile(block, first, count, labels, tile, tied, sorted, packed, S.data());
    }
    tile.finish(total);
    for (int64_t k = 0; k < blocks; ++k) mirror(&S[k * P * P], p, P, total.S + k * p * p);
    return {};
}

// The same, diagonal, from the non-zeros alone: Σ w (x - m)² over them, and m² for each zero. Means are
// summed from the first non-zero of their column, for the reason given above.
template <class T, class I>
Cell sparse_moments(const Csr<T, I>& X, const Labels& labels, const Moments& total) {
    const int64_t p = X.p, K = labels.K;
    std::vector<double> seen(K * p, 0.0), base(K * p, 0.0);  // seen: weight of the non-zeros
    std::vector<bool> begun(K * p, false);
    const auto each_value = [&](auto&& use) {
        for (int64_t r = 0; r < X.n; ++r)
            labels.each(r, [&](int64_t k, double w) {
                for (I i = X.starts[r]; i < X.starts[r + 1]; ++i)
                    use(k * p + X.columns[i], w, static_cast<double>(X.values[i]));
            });
    };
    for (int64_t r = 0; r < X.n; ++r) labels.each(r, [&](int64_t k, double w) { total.n[k] += w; });
    each_value([&](int64_t at, double w, double x) {
        if (!begun[at] && w > 0) {
            begun[at] = true;
            base[at] = x;
        }
        total.mean[at] += w * (x - base[at]);
        seen[at] += w;
    });
    double check = 0;
    for (int64_t k = 0; k < K; ++k)
        for (int64_t at = k * p; at < (k + 1) * p; ++at) {
            const double n = total.n[k], zeros = n - seen[at];
            check += total.mean[at] * 0;
            const double m = n > 0 ? base[at] + (total.mean[at] - zeros * base[at]) / n : 0;
            total.mean[at] = m;
            total.S[at] = zeros * m * m;
        }
    if (check != 0) {
        const Cell bad = find_bad(X, 0, X.n);
        if (bad.found()) return bad;
    }
    each_value([&](int64_t at, double w, double x) {
        const double d = x - total.mean[at];
        total.S[at] += w * d * d;
    });
    return {};
}

// ---- fourth order --------------------------------------------------------------------------------
// Σ w c² cᵀ and Σ w c² (c²)ᵀ by class, each (K, p, p), about means that are given (the means of these very
// rows): what Ledoit and Wolf's shrinkage needs, beyond the covariance itself.
inline void higher_moments(const Matrix& X, const Labels& labels, const double* mean, double* T,
                           double* Q) {
    const int64_t n = row_count(X), p = column_count(X), K = labels.K;
    const int64_t height = tile_rows(p), P = scatter_width(p), size = P * P;
    ByClass sorted(K);
    Buffer scratch(height * padded(p)), c(height * P, 0.0), c2(height * P, 0.0);
    Buffer sums(2 * K * size, 0.0);
    for (int64_t first = 0; first < n; first += height) {
        const int64_t count = std::min(height, n - first);
        const Rows block =
            std::visit([&](const auto& m) { return rows(m, first, count, scratch.data()); }, X);
        if (!labels.R) sorted.sort(labels.codes + first, count);
        for (int64_t k = 0; k < K; ++k) {
            const double* m = mean + k * p;
            int64_t used = 0;
            each_row_of(k, labels, sorted, first, count, [&](int64_t r, double w) {
                const double* x = block.x + r * block.stride;
                const double root = std::sqrt(w);
                for (int64_t j = 0; j < p; ++j) {
                    const double d = x[j] - m[j];
                    c[used * P + j] = root * d;
                    c2[used * P + j] = root * d * d;
                }
                ++used;
            });
            if (used == 0) continue;
            double* to = &sums[2 * k * size];
            scatter(c2.data(), c.data(), used, P, to);
            scatter(c2.data(), c2.data(), used, P, to + size);
        }
    }
    for (int64_t k = 0; k < K; ++k) {
        const double* from = &sums[2 * k * size];
        mirror(from + size, p, P, Q + k * p * p);
        for (int64_t i = 0; i < p; ++i)
            for (int64_t j = 0; j < p; ++j) T[(k * p + i) * p + j] = from[i * P + j];
    }
}

}  // namespace likelier
