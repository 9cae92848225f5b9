// The passes of models that are fitted step by step: a loss summed over rows, expanded about weights.
//
//   z = W (x - shift) + b + offset,   f = Σ w ℓ(z),   g = Σ w ℓ'(z) [x - shift; 1]ᵀ,
//   H = Σ w ℓ''(z) ⊗ [x - shift; 1] [x - shift; 1]ᵀ
//
// X comes in tiles of some rows. How their scores and sums over them are made depends on how X lies
// (DenseTiles, SparseTiles); what happens in between, pointwise in the scores, does not (losses.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "additive.hpp"
#include "losses.hpp"
#include "matrix.hpp"
#include "tile.hpp"

namespace likelier {

// ---- dense: rows as rows, shifted, with a 1 after the last column ----------------------------------
// So the intercept is one more weight. Rows are read as they lie, in order; turning them over, so that
// lanes run over rows, took longer than the sums across lanes that it saves.
class DenseTiles {
  public:
    // Affine functions of rows: [W, b] (count, P), padded with 0.
    struct Lines {
        Buffer W;
        int64_t count;
    };

    // `square`: whether rows are multiplied with themselves, for which there is a best number of them.
    DenseTiles(const Matrix& X, const double* shift, bool square)
        : n(row_count(X)),
          p(column_count(X)),
          P(scatter_width(p + 1)),
          height(square ? whole(panel_rows(p + 1)) : whole(std::clamp<int64_t>(kPanel / (8 * P), 16, 64))),
          X(X),
          shift(shift),
          span(std::max(height, tile_rows(p) / height * height)),
          scratch(span * padded(p)),
          x(height * P, 0.0) {
        for (int64_t r = 0; r < height; ++r) x[r * P + p] = 1;
    }

    // Tiles come in order, from the first row on.
    Cell open(int64_t first, int64_t count) {
        if (first % span == 0) {
            from = first;
            block = std::visit(
                [&](const auto& m) { return rows(m, first, std::min(span, n - first), scratch.data()); },
                X);
        }
        vd check = splat(0.0);
        for (int64_t r = 0; r < count; ++r)
            check += centred(block.x + (first - from + r) * block.stride, &x[r * P]);
        return total(check) == 0 ? Cell{} : find_bad(X, first, count);
    }

    Lines lines(const double* W, const double* b, int64_t count, bool) const {
        Lines found{Buffer(count * P, 0.0), count};
        for (int64_t k = 0; k < count; ++k) {
            std::copy(W + k * p, W + (k + 1) * p, &found.W[k * P]);
            found.W[k * P + p] = b[k];
        }
        return found;
    }

    // z (lines, height).
    void scores(const Lines& lines, double* z) const {
        for (int64_t k = 0; k < lines.count; k += 2)
            with_count<2>(std::min<int64_t>(2, lines.count - k), [&](auto some) {
                for (int64_t r = 0; r < height; r += kLanes)
                    dots<decltype(some)::value>(&lines.W[k * P], &x[r * P], z + k * height + r);
            });
    }

    const double* tile() const { return x.data(); }  // (height, P)

    const int64_t n, p, P, height;

    class Gradient;
    class Hessian;

  private:
    static constexpr int64_t kPanel = 24 << 10;  // bytes that stay in the first-level cache

    static int64_t whole(int64_t rows) { return std::max<int64_t>(rows / kLanes, 1) * kLanes; }

    // from - shift; not 0 if some cell is no finite number. The last vector overlaps the one before.
    LIKELIER_INLINE vd centred(const double* from, double* to) const {
        vd check = splat(0.0);
        const auto some = [&](int64_t j) {
            const vd cells = load(from + j);
            // The next tile, to the second-level cache: read while this one is worked on.
            __builtin_prefetch(from + j + height * block.stride, 0, 2);
            check += cells * splat(0.0);
            store(to + j, cells - load(shift + j));
        };
        for (int64_t j = 0; j + kLanes <= p; j += kLanes) some(j);
        if (p >= kLanes) {
            if (p % kLanes) some(p - kLanes);
        } else {
            for (int64_t j = 0; j < p; ++j) {
                check[0] += from[j] * 0;
                to[j] = from[j] - shift[j];
            }
        }
        return check;
    }

    // Count lines at kLanes rows.
    template <int Count>
    LIKELIER_INLINE void dots(const double* W, const double* rows, double* z) const {
        vd sum[Count][kLanes] = {};
        for (int64_t j = 0; j < P; j += kLanes) {
            vd w[Count];
            LIKELIER_UNROLL
            for (int k = 0; k < Count; ++k) w[k] = load(W + k * P + j);
            LIKELIER_UNROLL
            for (int i = 0; i < kLanes; ++i) {
                const vd cells = load(rows + i * P + j);
                LIKELIER_UNROLL
                for (int k = 0; k < Count; ++k) sum[k][i] += w[k] * cells;
            }
        }
        LIKELIER_UNROLL
        for (int k = 0; k < Count; ++k) store(z + k * height, totals(sum[k]));
    }

    const Matrix& X;
    const double* shift;
    const int64_t span;  // rows that are asked for at once: whole tiles
    Buffer scratch, x;
    Rows block{};
    int64_t from = 0;
};

// Σ R [x; 1]ᵀ.
class DenseTiles::Gradient {
  public:
    Gradient(const DenseTiles& tiles, int64_t q, double* g)
        : tiles(tiles), q(q), g(g), sums(q * tiles.P, 0.0) {}

    // R (q, height).
    void add(const double* R) {
        const int64_t P = tiles.P;
        for (int64_t k = 0; k < q; k += 2)
            with_count<2>(std::min<int64_t>(2, q - k), [&](auto classes) {
                for (int64_t j = 0; j < P; j += kVectors * kLanes)
                    with_count<kVectors>(std::min<int64_t>(kVectors, (P - j) / kLanes), [&](auto vectors) {
                        block<decltype(classes)::value, decltype(vectors)::value>(
                            R + k * tiles.height, tiles.tile() + j, &sums[k * P + j]);
                    });
            });
    }

    void finish() const {
        const int64_t p = tiles.p;
        for (int64_t k = 0; k < q; ++k)
            for (int64_t j = 0; j <= p; ++j) g[k * (p + 1) + j] += sums[k * tiles.P + j];
    }

  private:
    static constexpr int kVectors = kRegisters == 32 ? 8 : 4;

    template <int Classes, int Vectors>
    LIKELIER_INLINE void block(const double* R, const double* x, double* to) const {
        const int64_t P = tiles.P, height = tiles.height;
        vd sum[Classes][Vectors];
        LIKELIER_UNROLL
        for (int k = 0; k < Classes; ++k) LIKELIER_UNROLL
        for (int v = 0; v < Vectors; ++v) sum[k][v] = load(to + k * P + v * kLanes);
        for (int64_t r = 0; r < height; ++r) {
            vd slope[Classes];
            LIKELIER_UNROLL
            for (int k = 0; k < Classes; ++k) slope[k] = splat(R[k * height + r]);
            LIKELIER_UNROLL
            for (int v = 0; v < Vectors; ++v) {
                const vd cells = load(x + r * P + v * kLanes);
                LIKELIER_UNROLL
                for (int k = 0; k < Classes; ++k) sum[k][v] += slope[k] * cells;
            }
        }
        LIKELIER_UNROLL
        for (int k = 0; k < Classes; ++k) LIKELIER_UNROLL
        for (int v = 0; v < Vectors; ++v) store(to + k * P + v * kLanes, sum[k][v]);
    }

    const DenseTiles& tiles;
    const int64_t q;
    double* g;
    Buffer sums;  // (q, P)
};

// Blocks (k, l) of Σ c_kl [x; 1] [x; 1]ᵀ, each symmetric: every c of a block has one sign, so that it is,
// up to that, the scatter of rows times √|c|.
class DenseTiles::Hessian {
  public:
    Hessian(const DenseTiles& tiles, Loss loss, int64_t q, double* H)
        : tiles(tiles),
          loss(loss),
          q(q),
          H(H),
          scaled(tiles.height * tiles.P),
          S(q * (q + 1) / 2 * tiles.P * tiles.P, 0.0) {}

    // What the loss left of this tile: (bend_rows, height).
    void add(const double* bend) {
        double* to = S.data();
        for (int64_t k = 0; k < q; ++k)
            for (int64_t l = k; l < q; ++l, to += tiles.P * tiles.P) {
                scale(bend, k, l);
                scatter(scaled.data(), scaled.data(), tiles.height, tiles.P, to);
            }
    }

    void finish() const {
        const int64_t p = tiles.p, P = tiles.P, m = q * (p + 1);
        const double* from = S.data();
        for (int64_t k = 0; k < q; ++k)
            for (int64_t l = k; l < q; ++l, from += P * P)
                for (int64_t i = 0; i <= p; ++i)
                    for (int64_t j = 0; j <= p; ++j) {
                        const double sum = from[std::min(i, j) * P + std::max(i, j)];
                        H[(k * (p + 1) + i) * m + l * (p + 1) + j] += k == l ? sum : -sum;
                        if (k < l) H[(l * (p + 1) + i) * m + k * (p + 1) + j] -= sum;
                    }
    }

  private:
    void scale(const double* bend, int64_t k, int64_t l) {
        const int64_t P = tiles.P;
        for (int64_t r = 0; r < tiles.height; r += kLanes) {
            const vd c = bend_of(loss, bend + r, tiles.height, q, k, l);
            for (int i = 0; i < kLanes; ++i) {
                const vd root = splat(std::sqrt(c[i]));
                const double* x = tiles.tile() + (r + i) * P;
                double* to = &scaled[(r + i) * P];
                for (int64_t j = 0; j < P; j += kLanes) store(to + j, root * load(x + j));
            }
        }
    }

    const DenseTiles& tiles;
    const Loss loss;
    const int64_t q;
    double* H;
    Buffer scaled, S;  // (height, P), (q (q + 1) / 2, P, P)
};

// ---- sparse: what is stored, and nothing else ------------------------------------------------------
template <class T, class I>
class SparseTiles {
  public:
    // Turned (p, padded(count)) where several classes share a row, so that a cell meets numbers that
    // adjoin; single ones are gathered from as they are.
    struct Lines {
        const double* W;
        Buffer turned;
        std::vector<double> zero;  // of a row of zeros
    };

    SparseTiles(const Csr<T, I>& X, const double* shift)
        : n(X.n),
          p(X.p),
          shift(shift),
          shifted(std::any_of(shift, shift + X.p, [](double s) { return s != 0; })),
          X(X) {}

    Cell open(int64_t first, int64_t count) {
        at = {X.values, X.columns, X.starts + first, count, p};
        const T* values = X.values + at.starts[0];
        const int64_t size = at.starts[count] - at.starts[0];
        int64_t bad = 0;
        for (int64_t i = 0; i < size; ++i) bad += !(std::abs(values[i]) <= std::numeric_limits<T>::max());
        return bad == 0 ? Cell{} : find_bad(X, first, count);
    }

    Lines lines(const double* W, const double* b, int64_t count, bool together) const {
        Lines found{W, together ? turned_weights(W, count, p) : Buffer{}, {b, b + count}};
        if (shifted)
            for (int64_t k = 0; k < count; ++k)
                for (int64_t j = 0; j < p; ++j) found.zero[k] -= W[k * p + j] * shift[j];
        return found;
    }

    void scores(const Lines& lines, double* z) {
        const auto count = static_cast<int64_t>(lines.zero.size());
        if (lines.turned.empty())
            for (int64_t k = 0; k < count; ++k) gathered(lines.W + k * p, lines.zero[k], z + k * height);
        else
            together(lines, z, count);
    }

    const Csr<T, I>& tile() const { return at; }

    static constexpr int64_t height = 64;
    const int64_t n, p;
    const double* shift;
    const bool shifted;

    class Gradient;
    class Hessian;

  private:
    void gathered(const double* W, double zero, double* z) const {
        for (int64_t r = 0; r < at.n; ++r) {
            double sum[4] = {zero, 0, 0, 0};
            I i = at.starts[r];
            const I stop = at.starts[r + 1];
            for (; i + 4 <= stop; i += 4)
                for (int c = 0; c < 4; ++c)
                    sum[c] += static_cast<double>(at.values[i + c]) * W[at.columns[i + c]];
            for (; i < stop; ++i) sum[0] += static_cast<double>(at.values[i]) * W[at.columns[i]];
            z[r] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
        std::fill(z + at.n, z + height, 0.0);
    }

    void together(const Lines& lines, double* z, int64_t count) {
        byrow.resize(height * count);
        const likelier::Lines all{
            lines.turned.data(), lines.zero.data(), nullptr, nullptr, kNoThreshold, count};
        SparseAffine<T, I>(at, all).write(byrow.data(), false);
        for (int64_t k = 0; k < count; ++k) {
            for (int64_t r = 0; r < at.n; ++r) z[k * height + r] = byrow[r * count + k];
            std::fill(z + k * height + at.n, z + (k + 1) * height, 0.0);
        }
    }

    const Csr<T, I>& X;
    Csr<T, I> at{};  // the rows of the tile
    Buffer byrow;
};

// Σ R [x; 1]ᵀ, added where the stored cells are: for one class straight to g, for several to a turned copy,
// in which their numbers adjoin. Σ R (x - shift) = Σ R x - shift Σ R.
template <class T, class I>
class SparseTiles<T, I>::Gradient {
  public:
    Gradient(const SparseTiles& tiles, int64_t q, double* g)
        : tiles(tiles),
          q(q),
          p(tiles.p),
          wide(q == 1 ? 1 : padded(q)),
          g(g),
          row(wide, 0.0),
          slopes(wide, 0.0) {
        if (q > 1) sums.assign(p * wide, 0.0);
    }

    void add(const double* R) {
        const Csr<T, I>& tile = tiles.tile();
        for (int64_t r = 0; r < tile.n; ++r) {
            for (int64_t k = 0; k < q; ++k) {
                row[k] = R[k * height + r];
                slopes[k] += row[k];
            }
            if (q == 1)
                single(tile, r, row[0]);
            else
                for (int64_t k = 0; k < wide; k += kAtOnce * kLanes)
                    with_count<kAtOnce>(std::min<int64_t>(kAtOnce, (wide - k) / kLanes),
                                        [&](auto some) { several<decltype(some)::value>(tile, r, k); });
        }
    }

    void finish() const {
        for (int64_t k = 0; k < q; ++k) {
            double* to = g + k * (p + 1);
            if (q > 1)
                for (int64_t j = 0; j < p; ++j) to[j] += sums[j * wide + k];
            if (tiles.shifted)
                for (int64_t j = 0; j < p; ++j) to[j] -= tiles.shift[j] * slopes[k];
            to[p] += slopes[k];
        }
    }

  private:
    static constexpr int kAtOnce = 8;  // vectors of classes held at once
    static constexpr int kAhead = 12;  // cells whose sums are fetched before they are needed

    void single(const Csr<T, I>& tile, int64_t r, double slope) {
        if (slope == 0) return;
        for (I i = tile.starts[r]; i < tile.starts[r + 1]; ++i)
            g[tile.columns[i]] += slope * static_cast<double>(tile.values[i]);
    }

    template <int Count>
    LIKELIER_INLINE void several(const Csr<T, I>& tile, int64_t r, int64_t k) {
        vd slope[Count];
        LIKELIER_UNROLL
        for (int v = 0; v < Count; ++v) slope[v] = load(&row[k + v * kLanes]);
        const I last = tile.starts[tile.n] - 1;
        for (I i = tile.starts[r]; i < tile.starts[r + 1]; ++i) {
            const double* ahead = &sums[tile.columns[std::min<I>(i + kAhead, last)] * wide + k];
            LIKELIER_UNROLL
            for (int v = 0; v < Count; v += 8 / kLanes) __builtin_prefetch(ahead + v * kLanes, 1);
            const vd x = splat(static_cast<double>(tile.values[i]));
            double* to = &sums[tile.columns[i] * wide + k];
            LIKELIER_UNROLL
            for (int v = 0; v < Count; ++v) store(to + v * kLanes, load(to + v * kLanes) + x * slope[v]);
        }
    }

    const SparseTiles& tiles;
    const int64_t q, p, wide;
    double* g;
    Buffer sums, row, slopes;  // (p, wide), (wide), (wide)
};

// Σ c [x; 1] [x; 1]ᵀ of one class from the pairs of cells that a row stores, each pair once, whichever way
// round. About a shift: Σ c (x - s)(x - s)ᵀ = Σ c x xᵀ - a sᵀ - s aᵀ + s sᵀ Σ c, a = Σ c x.
template <class T, class I>
class SparseTiles<T, I>::Hessian {
  public:
    Hessian(const SparseTiles& tiles, Loss, int64_t, double* H)
        : tiles(tiles), p(tiles.p), H(H), S((p + 1) * (p + 1), 0.0) {}

    void add(const double* bend) {
        const Csr<T, I>& tile = tiles.tile();
        for (int64_t r = 0; r < tile.n; ++r) {
            if (bend[r] == 0) continue;
            const I stop = tile.starts[r + 1];
            for (I i = tile.starts[r]; i < stop; ++i) {
                const double cx = bend[r] * static_cast<double>(tile.values[i]);
                double* to = &S[tile.columns[i] * (p + 1)];
                for (I j = i; j < stop; ++j)
                    to[tile.columns[j]] += cx * static_cast<double>(tile.values[j]);
                to[p] += cx;
            }
            S[p * (p + 1) + p] += bend[r];
        }
    }

    void finish() {
        const int64_t m = p + 1;
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < i; ++j) S[i * m + j] = S[j * m + i] += S[i * m + j];
        if (tiles.shifted) move_origin();
        for (int64_t i = 0; i < m * m; ++i) H[i] += S[i];
    }

  private:
    void move_origin() {
        const int64_t m = p + 1;
        const double *s = tiles.shift, c = S[m * m - 1];
        for (int64_t i = 0; i < p; ++i)
            for (int64_t j = 0; j < p; ++j)
                S[i * m + j] += s[i] * s[j] * c - S[i * m + p] * s[j] - s[i] * S[j * m + p];
        for (int64_t j = 0; j < p; ++j) S[p * m + j] = S[j * m + p] -= s[j] * c;
    }

    const SparseTiles& tiles;
    const int64_t p;
    double* H;
    Buffer S;  // (p + 1, p + 1)
};

// Pairs of stored cells cost less than the whole square of columns while a row stores less than this share.
constexpr double kSparse = 0.2;

// Calls f(the tiles that suit X). `square`: whether rows are to be multiplied with themselves, by q
// classes.
template <class F>
Cell with_tiles(const Matrix& X, const double* shift, int64_t q, bool square, F&& f) {
    return std::visit(
        [&](const auto& m) -> Cell {
            if constexpr (requires { m.starts; }) {
                const double stored = static_cast<double>(m.starts[m.n] - m.starts[0]);
                if (!square ||
                    (q == 1 && stored < kSparse * static_cast<double>(m.n) * static_cast<double>(m.p)))
                    return f(SparseTiles(m, shift));
            }
            return f(DenseTiles(X, shift, square));
        },
        X);
}

// ---- the passes ------------------------------------------------------------------------------------
// Calls use() for each tile, opened; the first cell that is not finite, if any.
template <class Tiles, class Use>
Cell each_tile(Tiles& tiles, TileTargets& rows, Use&& use) {
    for (int64_t first = 0; first < tiles.n; first += tiles.height) {
        const int64_t count = std::min<int64_t>(tiles.height, tiles.n - first);
        const Cell bad = tiles.open(first, count);
        if (bad.found()) return bad;
        rows.open(first, count);
        use();
    }
    return {};
}

// Where the loss is expanded.
struct Point {
    const double *W, *b, *shift;  // (q, p), (q), (p)
};

// Adds to f, g (q, p + 1) and, unless it is null, H (m, m), m = q (p + 1).
inline Cell expand(const Matrix& X, const Targets& targets, Loss loss, const Point& at, double* f,
                   double* g, double* H) {
    const int64_t q = targets.q;
    return with_tiles(X, at.shift, q, H != nullptr, [&](auto tiles) -> Cell {
        using Tiles = decltype(tiles);
        TileTargets rows(targets, tiles.height);
        const auto lines = tiles.lines(at.W, at.b, q, q > 1);
        typename Tiles::Gradient gradient(tiles, q, g);
        std::optional<typename Tiles::Hessian> hessian;
        if (H) hessian.emplace(tiles, loss, q, H);
        Buffer z(q * tiles.height), bend(H ? bend_rows(loss, q) * tiles.height : 0);
        vd sum = splat(0.0);
        const Cell bad = each_tile(tiles, rows, [&] {
            tiles.scores(lines, z.data());
            rows.add_offset(z.data());
            sum += tile_slopes(loss, z.data(), q, rows, H ? bend.data() : nullptr);
            gradient.add(z.data());
            if (hessian) hessian->add(bend.data());
        });
        if (bad.found()) return bad;
        *f += total(sum);
        gradient.finish();
        if (hessian) hessian->finish();
        return {};
    });
}

// Adds to f (T) the losses at T points: W (T, q, p), b (T, q).
inline Cell loss_values(const Matrix& X, const Targets& targets, Loss loss, const Point& at, int64_t T,
                        double* f) {
    const int64_t q = targets.q;
    return with_tiles(X, at.shift, q, false, [&](auto tiles) -> Cell {
        TileTargets rows(targets, tiles.height);
        const auto lines = tiles.lines(at.W, at.b, T * q, q > 1);
        Buffer z(T * q * tiles.height), sums(T * kLanes, 0.0);
        const Cell bad = each_tile(tiles, rows, [&] {
            tiles.scores(lines, z.data());
            for (int64_t t = 0; t < T; ++t) {
                double *of = &z[t * q * tiles.height], *to = &sums[t * kLanes];
                rows.add_offset(of);
                store(to, load(to) + tile_values(loss, of, q, rows));
            }
        });
        if (bad.found()) return bad;
        for (int64_t t = 0; t < T; ++t) f[t] += total(load(&sums[t * kLanes]));
        return {};
    });
}

// Adds to out (q, p + 1) the Hessian times V (q, p), v (q): Σ w ℓ''(z) (V x + v) [x; 1]ᵀ.
inline Cell curvature_product(const Matrix& X, const Targets& targets, Loss loss, const Point& at,
                              const double* V, const double* v, double* out) {
    const int64_t q = targets.q;
    return with_tiles(X, at.shift, q, false, [&](auto tiles) -> Cell {
        TileTargets rows(targets, tiles.height);
        const auto lines = tiles.lines(at.W, at.b, q, q > 1), steps = tiles.lines(V, v, q, q > 1);
        typename decltype(tiles)::Gradient gradient(tiles, q, out);
        Buffer z(q * tiles.height), s(q * tiles.height);
        const Cell bad = each_tile(tiles, rows, [&] {
            tiles.scores(lines, z.data());
            rows.add_offset(z.data());
            tiles.scores(steps, s.data());
            tile_bent(loss, z.data(), q, rows, s.data());
            gradient.add(s.data());
        });
        if (!bad.found()) gradient.finish();
        return bad;
    });
}

}  // namespace likelier
