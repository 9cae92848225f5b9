// Scores that are affine in x, or in 1[x > t]: b_k + Σ_j (c_kj + W_kj x_j), in which a missing cell adds
// nothing; and the same, or any affine score, from the stored cells of CSR alone.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "matrix.hpp"
#include "scores.hpp"
#include "tile.hpp"

namespace likelier {

constexpr double kNoThreshold = -std::numeric_limits<double>::infinity();

// A turned tile as the product takes it: truths if there is a threshold, 0 where a cell is missing.
// Sets gappy[r] for the rows that lack a cell.
inline void settle(const TurnedTile& tile, double threshold, double* to, std::vector<char>& gappy) {
    std::fill(gappy.begin(), gappy.end(), 0);
    const vd zero = splat(0.0), t = splat(threshold);
    vd holes = zero;
    for (int64_t i = 0; i < tile.p * kHeight; i += kLanes) {
        const vd x = load(&tile.x[i]);
        const vd kept = threshold == kNoThreshold ? x : (x > t ? splat(1.0) : zero);
        holes += x == x ? zero : splat(1.0);
        store(to + i, x == x ? kept : zero);
    }
    if (total(holes) == 0) return;
    for (int64_t j = 0; j < tile.p; ++j)
        for (int64_t r = 0; r < kHeight; ++r) gappy[r] |= std::isnan(tile.x[j * kHeight + r]);
}

// W, constant: (K, p). A row without gaps gets Σ_j c_kj as one number, whatever its neighbours lack.
inline Cell additive(const Matrix& X, const double* W, const double* constant, const double* b,
                     double threshold, int64_t K, double* Z, bool add) {
    const int64_t p = column_count(X);
    Buffer d(p * kHeight);
    std::vector<char> gappy(kHeight);
    std::vector<double> base(b, b + K);
    for (int64_t k = 0; k < K; ++k)
        for (int64_t j = 0; j < p; ++j) base[k] += constant[k * p + j];
    const auto of_gappy = [&](const TurnedTile& tile, int64_t k, int64_t r) {
        double sum = b[k];
        for (int64_t j = 0; j < p; ++j)
            if (!std::isnan(tile.x[j * kHeight + r])) sum += constant[k * p + j];
        return sum;
    };
    return each_tile<Cells::some>(X, K, Z, add, [&](const TurnedTile& tile, double* z, int64_t, int64_t) {
        settle(tile, threshold, d.data(), gappy);
        for (int64_t k = 0; k < K; k += kProducts)
            with_count<kProducts>(std::min<int64_t>(kProducts, K - k), [&](auto some) {
                constexpr int count = decltype(some)::value;
                for (int64_t r = 0; r < kHeight; r += kSpan * kLanes) {
                    vd sum[count][kSpan] = {};
                    products<count>(W + k * p, p, &d[r], p, sum);
                    LIKELIER_UNROLL
                    for (int i = 0; i < count; ++i) LIKELIER_UNROLL
                    for (int v = 0; v < kSpan; ++v)
                        store(z + (k + i) * kHeight + r + v * kLanes, sum[i][v]);
                }
            });
        for (int64_t k = 0; k < K; ++k)
            for (int64_t r = 0; r < kHeight; ++r)
                z[k * kHeight + r] += gappy[r] ? of_gappy(tile, k, r) : base[k];
    });
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

// What CSR's scores are made of: W turned (p, padded(K)), and the score of a row of zeros (K).
struct Lines {
    const double *turned, *zero;
    const double *b, *constant;  // (K), (K, p): zero_k = b_k + Σ_j c_kj; null: a missing cell is refused
    double threshold;
    int64_t K;
};

// zero_k + Σ_j W_kj x_j over the stored cells, less c_kj for each that is missing.
template <class T, class I>
class SparseAffine {
  public:
    SparseAffine(const Csr<T, I>& X, const Lines& lines)
        : X(X),
          lines(lines),
          turned(lines.turned),
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
            const double* ahead =
                turned + static_cast<int64_t>(X.columns[std::min<I>(i + kAhead, last)]) * wide + k;
            LIKELIER_UNROLL
            for (int v = 0; v < Count; v += 8 / kLanes) __builtin_prefetch(ahead + v * kLanes);
            const double x = X.values[i];
            check += x * 0;
            const vd by = splat(truths ? static_cast<double>(x > threshold) : x);
            const double* w = turned + static_cast<int64_t>(X.columns[i]) * wide + k;
            LIKELIER_UNROLL
            for (int v = 0; v < Count; ++v) sum[v] += by * load(w + v * kLanes);
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
            for (int64_t k = 0; k < K; ++k) z[k] += by * turned[X.columns[i] * wide + k];
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
    const Lines lines;
    const double* turned;
    const double threshold;
    const int64_t K, wide;
    Buffer base, z;
    std::vector<char> left;
};

// W (x - shift) + b of rows of CSR, W as it is.
template <class T, class I>
Cell sparse_affine(const Csr<T, I>& X, const double* W, const double* b, const double* shift, int64_t K,
                   double* Z, bool add) {
    std::vector<double> zero(b, b + K);
    for (int64_t k = 0; k < K; ++k)
        for (int64_t j = 0; j < X.p; ++j) zero[k] -= W[k * X.p + j] * shift[j];
    const Buffer turned = turned_weights(W, K, X.p);
    const Lines lines{turned.data(), zero.data(), nullptr, nullptr, kNoThreshold, K};
    return SparseAffine<T, I>(X, lines).write(Z, add);
}

}  // namespace likelier
