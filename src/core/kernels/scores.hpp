// Scores Z (n, K): what a class says of a row. One kernel per kind of term.
//
// A tile of rows is turned over, so that lanes run over rows and nothing is summed across a vector;
// the scores of the tile are turned back when they are written. `add`: onto what Z holds.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/matrix.hpp"
#include "kernels/tile.hpp"

namespace likelier {

// Whether a cell may be NaN, which is: missing.
enum class Cells { all, some };

// 0 if x is a number, NaN if it is not (0 x = 0 for numbers alone); of some cells, missing ones pass.
template <Cells cells>
LIKELIER_INLINE vd unusable(vd x) {
    const vd zero = x * splat(0.0);
    if constexpr (cells == Cells::some) return x == x ? zero : splat(0.0);
    return zero;
}

// A tile of X, turned, with a check of its cells.
class TurnedTile {
  public:
    explicit TurnedTile(int64_t p) : p(p), x(p * kHeight) {}

    template <Cells cells = Cells::all>
    Cell load_from(const Matrix& X, int64_t first, int64_t count) {
        std::visit([&](const auto& m) { columns(m, first, count, kHeight, x.data()); }, X);
        vd check = splat(0.0);
        for (int64_t i = 0; i < p * kHeight; i += kLanes) check += unusable<cells>(load(&x[i]));
        for (int i = 0; i < kLanes; ++i)
            if (check[i] != 0)
                return cells == Cells::all ? find_bad(X, first, count) : find_infinite(X, first, count);
        return {};
    }

    // x - shift, into `to`.
    void centred(const double* shift, double* to) const {
        for (int64_t j = 0; j < p; ++j)
            for (int64_t r = 0; r < kHeight; r += kLanes)
                store(to + j * kHeight + r, load(&x[j * kHeight + r]) - splat(shift[j]));
    }

    const int64_t p;
    Buffer x;
};

// Runs `score(tile, z)`, z (K, kHeight), over all tiles of X and writes z turned back into Z.
template <Cells cells = Cells::all, class Score>
Cell each_tile(const Matrix& X, int64_t K, double* Z, bool add, Score&& score) {
    const int64_t n = row_count(X);
    TurnedTile tile(column_count(X));
    Buffer z(K * kHeight);
    for (int64_t first = 0; first < n; first += kHeight) {
        const int64_t count = std::min(kHeight, n - first);
        const Cell bad = tile.template load_from<cells>(X, first, count);
        if (bad.found()) return bad;
        score(tile, z.data(), first, count);
        for (int64_t r = 0; r < count; ++r) {
            double* to = Z + (first + r) * K;
            for (int64_t k = 0; k < K; ++k) to[k] = add ? to[k] + z[k * kHeight + r] : z[k * kHeight + r];
        }
    }
    return {};
}

// b_k - ½ Σ_j ((x_j - m_kj) s_kj)².
inline Cell diagonal(const Matrix& X, const double* mean, const double* scale, const double* b, int64_t K,
                     double* Z, bool add) {
    const int64_t p = column_count(X);
    constexpr int kAtOnce = kRegisters == 32 ? 4 : 2;
    return each_tile(X, K, Z, add, [&](const TurnedTile& tile, double* z, int64_t, int64_t) {
        for (int64_t k = 0; k < K; k += kAtOnce)
            with_count<kAtOnce>(std::min<int64_t>(kAtOnce, K - k), [&](auto some) {
                constexpr int count = decltype(some)::value;
                for (int64_t r = 0; r < kHeight; r += kSpan * kLanes) {
                    vd sum[count][kSpan] = {};
                    for (int64_t j = 0; j < p; ++j) {
                        vd x[kSpan];
                        LIKELIER_UNROLL
                        for (int v = 0; v < kSpan; ++v) x[v] = load(&tile.x[j * kHeight + r + v * kLanes]);
                        LIKELIER_UNROLL
                        for (int i = 0; i < count; ++i) {
                            const vd m = splat(mean[(k + i) * p + j]);
                            const vd s = splat(scale[(k + i) * p + j]);
                            LIKELIER_UNROLL
                            for (int v = 0; v < kSpan; ++v) {
                                const vd d = (x[v] - m) * s;
                                sum[i][v] += d * d;
                            }
                        }
                    }
                    LIKELIER_UNROLL
                    for (int i = 0; i < count; ++i) LIKELIER_UNROLL
                    for (int v = 0; v < kSpan; ++v)
                        store(z + (k + i) * kHeight + r + v * kLanes,
                              splat(b[k + i]) - splat(0.5) * sum[i][v]);
                }
            });
    });
}

// |U d - at|² of the rows of a turned tile, U (p, p) upper triangular: norm (kHeight).
inline void quadratic_tile(const double* d, const double* U, const double* at, int64_t p, double* norm) {
    std::fill(norm, norm + kHeight, 0.0);
    for (int64_t i = 0; i < p; i += kProducts)
        with_count<kProducts>(std::min<int64_t>(kProducts, p - i), [&](auto some) {
            constexpr int count = decltype(some)::value;
            for (int64_t r = 0; r < kHeight; r += kSpan * kLanes) {
                vd u[count][kSpan];
                LIKELIER_UNROLL
                for (int c = 0; c < count; ++c) LIKELIER_UNROLL
                for (int v = 0; v < kSpan; ++v) u[c][v] = splat(-at[i + c]);
                triangle<count>(U + i * p + i, p, d + i * kHeight + r, p - i, u);
                LIKELIER_UNROLL
                for (int v = 0; v < kSpan; ++v) {
                    vd s = load(norm + r + v * kLanes);
                    LIKELIER_UNROLL
                    for (int c = 0; c < count; ++c) s += u[c][v] * u[c][v];
                    store(norm + r + v * kLanes, s);
                }
            }
        });
}

// b_k - ½ |U_k (x - shift) - at_k|², U_k (p, p) upper triangular. One shift for all classes: a tile is
// centred once, not K times, and stays in the first-level cache.
inline Cell quadratic(const Matrix& X, const double* shift, const double* U, const double* at,
                      const double* b, int64_t K, double* Z, bool add) {
    const int64_t p = column_count(X);
    Buffer d(p * kHeight);
    return each_tile(X, K, Z, add, [&](const TurnedTile& tile, double* z, int64_t, int64_t) {
        tile.centred(shift, d.data());
        for (int64_t k = 0; k < K; ++k) {
            double* norm = z + k * kHeight;
            quadratic_tile(d.data(), U + k * p * p, at + k * p, p, norm);
            for (int64_t r = 0; r < kHeight; r += kLanes)
                store(norm + r, splat(b[k]) - splat(0.5) * load(norm + r));
        }
    });
}

// The diagonal term from the non-zeros of a row: `zero` (K) is the score of a row of zeros,
// `gain(x, j, z)` adds what a value x in column j makes of it, `finish(z)` what is left of the row.
template <class T, class I, class Gain, class Finish>
Cell sparse_scores(const Csr<T, I>& X, const std::vector<double>& zero, double* Z, bool add, Gain&& gain,
                   Finish&& finish) {
    const int64_t K = static_cast<int64_t>(zero.size());
    std::vector<double> z(K);
    for (int64_t r = 0; r < X.n; ++r) {
        z = zero;
        double check = 0;
        for (I i = X.starts[r]; i < X.starts[r + 1]; ++i) {
            const double x = X.values[i];
            check += x * 0;
            gain(x, static_cast<int64_t>(X.columns[i]), z.data());
        }
        if (check != 0) return find_bad(X, r, 1);
        finish(z.data());
        double* to = Z + r * K;
        for (int64_t k = 0; k < K; ++k) to[k] = add ? to[k] + z[k] : z[k];
    }
    return {};
}

// (x - m)² - m² = x (x - 2m) is what a non-zero changes of a row of zeros; but in a column whose mean is
// many deviations from 0 the difference loses its digits, so such columns are taken as they are.
template <class T, class I>
Cell sparse_diagonal(const Csr<T, I>& X, const double* mean, const double* scale, const double* b,
                     int64_t K, double* Z, bool add) {
    constexpr double kFar = 100;  // deviations: the square times the machine's epsilon is 2e-12
    const int64_t p = X.p;
    std::vector<double> zero(b, b + K), m(p * K), s(p * K);
    std::vector<int64_t> far, place(p, -1);
    for (int64_t j = 0; j < p; ++j) {
        bool near = true;
        for (int64_t k = 0; k < K; ++k) {
            m[j * K + k] = mean[k * p + j];
            s[j * K + k] = scale[k * p + j];
            near = near && std::abs(m[j * K + k] * s[j * K + k]) < kFar;
        }
        if (!near) {
            place[j] = static_cast<int64_t>(far.size());
            far.push_back(j);
            continue;
        }
        for (int64_t k = 0; k < K; ++k) {
            const double d = m[j * K + k] * s[j * K + k];
            zero[k] -= 0.5 * d * d;
        }
    }
    std::vector<double> value(far.size(), 0.0);  // of the far columns, in this row
    const auto near_value = [&](double x, int64_t j, double* z) {
        for (int64_t k = 0; k < K; ++k)
            z[k] -= 0.5 * (x * s[j * K + k]) * ((x - 2 * m[j * K + k]) * s[j * K + k]);
    };
    const auto far_values = [&](double* z) {
        for (size_t f = 0; f < far.size(); ++f) {
            for (int64_t k = 0; k < K; ++k) {
                const double d = (value[f] - m[far[f] * K + k]) * s[far[f] * K + k];
                z[k] -= 0.5 * d * d;
            }
            value[f] = 0;
        }
    };
    return sparse_scores(
        X, zero, Z, add,
        [&](double x, int64_t j, double* z) {
            if (place[j] < 0)
                near_value(x, j, z);
            else
                value[place[j]] = x;
        },
        far_values);
}

}  // namespace likelier
