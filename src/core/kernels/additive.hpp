// Scores that are affine in x, or in 1[x > t]: b_k + Σ_j (c_kj + W_kj x_j), in which a missing cell adds
// nothing; and the same, or any affine score, from the stored cells of CSR alone.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/matrix.hpp"
#include "kernels/row_scores.hpp"
#include "kernels/tile.hpp"

namespace likelier {

constexpr double kNoThreshold = -std::numeric_limits<double>::infinity();

// Cells as truths; what they were is looked at in `check`, since a truth is always a number.
struct Truths {
    LIKELIER_INLINE vd cells(vd x, int64_t) const {
        check += x * splat(0.0);
        return x > splat(threshold) ? splat(1.0) : splat(0.0);
    }
    LIKELIER_INLINE vd end(vd x, const Split&) const { return cells(x, 0); }

    // Not 0 if some cell of the rows so far was no number; from here on anew.
    LIKELIER_INLINE double checked() const {
        const double found = total(check);
        check = splat(0.0);
        return found;
    }
    const double threshold;
    mutable vd check = splat(0.0);
};

// Σ_j (c_j + w_j x_j) over the cells of a row that are there.
inline double gappy_line(const double* x, const double* w, const double* c, int64_t p, double threshold) {
    double products = 0, constants = 0;
    for (int64_t j = 0; j < p; ++j) {
        if (std::isnan(x[j])) continue;
        constants += c[j];
        products += w[j] * (threshold == kNoThreshold ? x[j] : static_cast<double>(x[j] > threshold));
    }
    return products + constants;
}

// W, constant: (K, p). A row without gaps gets Σ_j c_kj as one number, whatever its neighbours lack.
inline Cell additive(const Matrix& X, const double* W, const double* constant, const double* b,
                     double threshold, int64_t K, double* Z, bool add) {
    const int64_t p = column_count(X);
    const Split split(p);
    Buffer ones(p, 1.0), base(b, b + K);
    for (int64_t k = 0; k < K; ++k) {
        vd sum[1][1] = {};
        dots<1, 1>(Plain{}, split, constant + k * p, p, ones.data(), sum);
        base[k] += total(sum[0][0]);
    }
    const auto gappy = [&](int64_t row, const double* x, double* z, int step) -> Cell {
        const double* bad = std::find_if(x, x + p, [](double cell) { return std::isinf(cell); });
        if (bad != x + p) return {row, bad - x};
        if (std::none_of(x, x + p, [](double cell) { return std::isnan(cell); })) return {};
        for (int64_t k = 0; k < K; ++k)
            z[k * step] = b[k] + gappy_line(x, W + k * p, constant + k * p, p, threshold);
        return {};
    };
    const RowsOut out{Z, K, add};
    if (threshold == kNoThreshold) return row_scores(X, Plain{}, W, base.data(), K, out, gappy);
    return row_scores(X, Truths{threshold}, W, base.data(), K, out, gappy);
}

// f(j, end) for stretches of columns, few enough that their classes stay in cache while they are turned
// over.
template <class F>
void each_stretch(int64_t p, F&& f) {
    constexpr int64_t kStretch = 128;
    for (int64_t j = 0; j < p; j += kStretch) f(j, std::min(j + kStretch, p));
}

// W (K, p) as rows of columns (p, padded(K)): the classes of a column adjoin, in whole vectors.
inline Buffer turned_weights(const double* W, int64_t K, int64_t p) {
    const int64_t wide = padded(K);
    Buffer turned(p * wide, 0.0);
    each_stretch(p, [&](int64_t j0, int64_t j1) {
        for (int64_t k = 0; k < K; ++k)
            for (int64_t j = j0; j < j1; ++j) turned[j * wide + k] = W[k * p + j];
    });
    return turned;
}

// What CSR's scores are made of: W, and the score of a row of zeros (K).
struct Lines {
    const double* zero;
    const double *b, *constant;  // (K), (K, p): zero_k = b_k + Σ_j c_kj; null: a missing cell is refused
    double threshold;
    int64_t K;
};

// W turned, (p, padded(K)): a cell meets numbers that adjoin.
struct Adjoining {
    LIKELIER_INLINE vd load_at(int64_t j, int64_t k) const { return load(turned + j * wide + k); }
    LIKELIER_INLINE double at(int64_t j, int64_t k) const { return turned[j * wide + k]; }

    template <int Count>
    LIKELIER_INLINE void prefetch(int64_t j, int64_t k) const {
        LIKELIER_UNROLL
        for (int v = 0; v < Count; v += 8 / kLanes) __builtin_prefetch(turned + j * wide + k + v * kLanes);
    }
    const double* turned;
    int64_t wide;
};

// W as it is, (K, p): for so few cells that to turn it would take longer.
struct Lying {
    LIKELIER_INLINE vd load_at(int64_t j, int64_t k) const {
        vd w;
        LIKELIER_UNROLL
        for (int i = 0; i < kLanes; ++i) w[i] = k + i < K ? at(j, k + i) : 0.0;
        return w;
    }
    LIKELIER_INLINE double at(int64_t j, int64_t k) const { return W[k * p + j]; }
    template <int Count>
    LIKELIER_INLINE void prefetch(int64_t, int64_t) const {}
    const double* W;
    int64_t p, K;
};

// zero_k + Σ_j W_kj x_j over the stored cells, less c_kj for each that is missing.
template <class T, class I, class W>
class SparseAffine {
  public:
    SparseAffine(const Csr<T, I>& X, const W& weights, const Lines& lines)
        : X(X),
          weights(weights),
          lines(lines),
          threshold(lines.threshold),
          K(lines.K),
          wide(padded(K)),
          base(wide),
          z(wide) {
        std::copy(lines.zero, lines.zero + K, base.begin());
    }

    Cell write(double* Z, bool add) {
        for (int64_t r = 0; r < X.n; ++r) {
            bool plain = true;
            for (int64_t k = 0; k < wide; k += kAtOnce * kLanes)
                with_count<kAtOnce>(std::min<int64_t>(kAtOnce, (wide - k) / kLanes), [&](auto some) {
                    plain = threshold == kNoThreshold ? row<decltype(some)::value, false>(r, k)
                                                      : row<decltype(some)::value, true>(r, k);
                });
            if (!plain) {
                const Cell bad = lines.constant ? find_infinite(X, r, 1) : find_bad(X, r, 1);
                if (bad.found()) return bad;
                gappy_row(r);
            }
            double* to = Z + r * K;
            if (add)
                for (int64_t k = 0; k < K; ++k) to[k] += z[k];
            else
                std::copy(z.data(), z.data() + K, to);
        }
        return {};
    }

  private:
    static constexpr int kAtOnce = 8;  // vectors of classes held at once
    static constexpr int kAhead = 12;  // cells whose weights are fetched before they are needed

    // Some vectors of classes from k on; false if a cell is no number.
    template <int Count, bool truths>
    LIKELIER_INLINE bool row(int64_t r, int64_t k) {
        vd sum[Count];
        LIKELIER_UNROLL
        for (int v = 0; v < Count; ++v) sum[v] = load(&base[k + v * kLanes]);
        const I start = X.starts[r], stop = X.starts[r + 1], last = X.starts[X.n] - 1;
        double check = 0;
        for (I i = start; i < stop; ++i) {
            weights.template prefetch<Count>(X.columns[std::min<I>(i + kAhead, last)], k);
            const double x = X.values[i];
            check += x * 0;
            const vd by = splat(truths ? static_cast<double>(x > threshold) : x);
            LIKELIER_UNROLL
            for (int v = 0; v < Count; ++v) sum[v] += by * weights.load_at(X.columns[i], k + v * kLanes);
        }
        LIKELIER_UNROLL
        for (int v = 0; v < Count; ++v) store(&z[k + v * kLanes], sum[v]);
        return check == 0;
    }

    void gappy_row(int64_t r) {
        std::vector<int64_t> gone;
        for (I i = X.starts[r]; i < X.starts[r + 1]; ++i)
            if (std::isnan(X.values[i])) gone.push_back(X.columns[i]);
        for (int64_t k = 0; k < K; ++k) z[k] = without(gone, k);
        for (I i = X.starts[r]; i < X.starts[r + 1]; ++i) {
            const double x = X.values[i];
            const double by = threshold == kNoThreshold ? x : static_cast<double>(x > threshold);
            if (std::isnan(x)) continue;
            for (int64_t k = 0; k < K; ++k) z[k] += by * weights.at(X.columns[i], k);
        }
    }

    // b_k + Σ_j c_kj but for some columns. If these are most, what is left is added up, not subtracted: of
    // a row of which nothing is there, the score is b exactly, and still costs no more than its cells.
    double without(const std::vector<int64_t>& gone, int64_t k) {
        const double* c = lines.constant + k * X.p;
        if (2 * static_cast<int64_t>(gone.size()) < X.p) {
            double sum = base[k];
            for (const int64_t j : gone) sum -= c[j];
            return sum;
        }
        left.assign(X.p, 1);
        for (const int64_t j : gone) left[j] = 0;
        double sum = lines.b[k];
        for (int64_t j = 0; j < X.p; ++j)
            if (left[j]) sum += c[j];
        return sum;
    }

    const Csr<T, I>& X;
    const W weights;
    const Lines lines;
    const double threshold;
    const int64_t K, wide;
    Buffer base, z;
    std::vector<char> left;
};

// b + Σ_j w_j x_j over the stored cells of a row, in four sums: they need not wait for each other.
template <class T, class I>
LIKELIER_INLINE double sparse_dot(const Csr<T, I>& X, int64_t r, const double* w, double b) {
    double sum[4] = {b, 0, 0, 0};
    I i = X.starts[r];
    const I stop = X.starts[r + 1];
    for (; i + 4 <= stop; i += 4)
        for (int c = 0; c < 4; ++c) sum[c] += static_cast<double>(X.values[i + c]) * w[X.columns[i + c]];
    for (; i < stop; ++i) sum[0] += static_cast<double>(X.values[i]) * w[X.columns[i]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// One line, for the last of K classes; the others score b alone.
template <class T, class I>
Cell sparse_line(const Csr<T, I>& X, const double* w, const double* b, double zero, const RowsOut& out) {
    const int64_t lead = out.K - 1;
    for (int64_t r = 0; r < X.n; ++r) {
        const double z = sparse_dot(X, r, w, zero);
        if (z * 0 != 0) {
            const Cell bad = find_bad(X, r, 1);
            if (bad.found()) return bad;
        }
        double* to = out.Z + r * out.K;
        for (int64_t k = 0; k < lead; ++k) to[k] = out.add ? to[k] + b[k] : b[k];
        to[lead] = out.add ? to[lead] + z : z;
    }
    return {};
}

// W (x - shift) + b of rows of CSR, W (q, p), b (K): as many lines as classes, or one of two.
template <class T, class I>
Cell sparse_affine(const Csr<T, I>& X, const double* W, const double* b, const double* shift, int64_t q,
                   const RowsOut& out) {
    std::vector<double> zero(b + (out.K - q), b + out.K);
    if (std::any_of(shift, shift + X.p, [](double s) { return s != 0; }))
        for (int64_t k = 0; k < q; ++k)
            for (int64_t j = 0; j < X.p; ++j) zero[k] -= W[k * X.p + j] * shift[j];
    if (q == 1) return sparse_line(X, W, b, zero[0], out);
    const Lines lines{zero.data(), nullptr, nullptr, kNoThreshold, q};
    if (X.starts[X.n] - X.starts[0] < X.p)
        return SparseAffine(X, Lying{W, X.p, q}, lines).write(out.Z, out.add);
    const Buffer turned = turned_weights(W, q, X.p);
    return SparseAffine(X, Adjoining{turned.data(), padded(q)}, lines).write(out.Z, out.add);
}

}  // namespace likelier
