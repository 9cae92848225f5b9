// The register tiles that all passes over rows are made of.
//
// Two shapes of block, each in the layout that needs no horizontal sums:
//   scatter  S += Bᵀ B      on rows of width P, a multiple of the vector (lanes run over columns)
//   products Z  = W Xᵀ      on tiles turned over, kHeight rows each         (lanes run over rows)
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/simd.hpp"

namespace likelier {

constexpr int64_t kTileBytes = 256 << 10;  // rows that stay in cache between the steps of a kernel
constexpr int64_t kHeight = 64;            // rows of a turned tile
constexpr int kSpan = 4;                   // vectors of rows held at once
constexpr int kRowVectors = kHeight / kLanes;
static_assert(kRowVectors % kSpan == 0);

inline int64_t padded(int64_t p) {
    return (p + kLanes - 1) / kLanes * kLanes;
}

inline int64_t tile_rows(int64_t p) {
    return std::clamp<int64_t>(kTileBytes / (8 * std::max<int64_t>(p, 1)), 16, 4096);
}

// Calls f(std::integral_constant<int, count>) for a count of 1 to Most: the remainders of a blocked
// loop, each compiled with its own number of registers.
template <int Most, class F>
inline void with_count(int64_t count, F&& f) {
    if constexpr (Most > 0) {
        if (count == Most)
            f(std::integral_constant<int, Most>{});
        else
            with_count<Most - 1>(count, std::forward<F>(f));
    }
}

// ---- scatter -----------------------------------------------------------------------------------
constexpr int kScatterRows = kRegisters == 32 ? 8 : 4;
constexpr int kScatterVectors = 3;
static_assert(kScatterRows % kLanes == 0 || kLanes % kScatterRows == 0);

// A[i0 .. i0+8) x B[j0 .. j0+3 vectors): outer products of `count` rows, kept in registers.
template <int Vectors>
LIKELIER_INLINE void outer(const double* A, const double* B, int64_t count, int64_t P, double* S) {
    vd sum[kScatterRows][Vectors];
    LIKELIER_UNROLL
    for (int i = 0; i < kScatterRows; ++i) LIKELIER_UNROLL
    for (int v = 0; v < Vectors; ++v) sum[i][v] = load(S + i * P + v * kLanes);
    for (int64_t r = 0; r < count; ++r) {
        vd b[Vectors];
        LIKELIER_UNROLL
        for (int v = 0; v < Vectors; ++v) b[v] = load(B + r * P + v * kLanes);
        LIKELIER_UNROLL
        for (int i = 0; i < kScatterRows; ++i) {
            const vd a = splat(A[r * P + i]);
            LIKELIER_UNROLL
            for (int v = 0; v < Vectors; ++v) sum[i][v] += a * b[v];
        }
    }
    LIKELIER_UNROLL
    for (int i = 0; i < kScatterRows; ++i) LIKELIER_UNROLL
    for (int v = 0; v < Vectors; ++v) store(S + i * P + v * kLanes, sum[i][v]);
}

// The width of rows that `scatter` takes: a whole number of vectors and of row blocks.
inline int64_t scatter_width(int64_t p) {
    constexpr int64_t step = std::max(kLanes, kScatterRows);
    return (p + step - 1) / step * step;
}

// Rows to scatter at once: few enough that they stay in the first-level cache while every block of S is
// visited, enough to pay for loading and storing S. Wide rows give up the first for the second.
inline int64_t panel_rows(int64_t p) {
    const int64_t P = scatter_width(p);
    return std::max<int64_t>({(24 << 10) / (8 * P), 48, P / 4});
}

// S += Aᵀ B over `count` rows of width P; of S the blocks that lie in the columns from `begin(i)` on.
template <class Begin>
LIKELIER_INLINE void scatter_from(const double* A, const double* B, int64_t count, int64_t P, double* S,
                                  Begin&& begin) {
    for (int64_t i = 0; i < P; i += kScatterRows)
        for (int64_t j = begin(i); j < P; j += kScatterVectors * kLanes)
            with_count<kScatterVectors>(
                std::min<int64_t>(kScatterVectors, (P - j) / kLanes), [&](auto vectors) {
                    outer<decltype(vectors)::value>(A + i, B + j, count, P, S + i * P + j);
                });
}

// Only the blocks that touch the upper triangle, where Aᵀ B is known to be symmetric; `mirror` completes
// them once at the end.
inline void scatter_upper(const double* A, const double* B, int64_t count, int64_t P, double* S) {
    scatter_from(A, B, count, P, S, [](int64_t i) { return i / kLanes * kLanes; });
}

// S += Aᵀ B over `count` rows of width P: the upper triangle if A is B.
inline void scatter(const double* A, const double* B, int64_t count, int64_t P, double* S) {
    if (A == B) return scatter_upper(A, B, count, P, S);
    scatter_from(A, B, count, P, S, [](int64_t) { return int64_t{0}; });
}

// The p x p matrix out of its padded upper triangle.
inline void mirror(const double* S, int64_t p, int64_t P, double* out) {
    for (int64_t i = 0; i < p; ++i)
        for (int64_t j = i; j < p; ++j) out[i * p + j] = out[j * p + i] = S[i * P + j];
}

// ---- products ----------------------------------------------------------------------------------
constexpr int kProducts = kRegisters == 32 ? 6 : 3;

// One column of a product: sum[k][v] += W[k * ld] X[v] for the first Used rows of W.
template <int Used, int Count>
LIKELIER_INLINE void column(const double* W, int64_t ld, const double* X, vd (&sum)[Count][kSpan]) {
    vd x[kSpan];
    LIKELIER_UNROLL
    for (int v = 0; v < kSpan; ++v) x[v] = load(X + v * kLanes);
    LIKELIER_UNROLL
    for (int k = 0; k < Used; ++k) {
        const vd w = splat(W[k * ld]);
        LIKELIER_UNROLL
        for (int v = 0; v < kSpan; ++v) sum[k][v] += w * x[v];
    }
}

// sum[k][v] += Σ_j W[k * ld + j] X[j] for Count rows of W and kSpan vectors of rows of X.
template <int Count>
LIKELIER_INLINE void products(const double* W, int64_t ld, const double* X, int64_t p,
                              vd (&sum)[Count][kSpan]) {
    for (int64_t j = 0; j < p; ++j) column<Count>(W + j, ld, X + j * kHeight, sum);
}

// The same where W is upper triangular: row k has nothing before column k.
template <int Count, int Row = 0>
LIKELIER_INLINE void triangle(const double* W, int64_t ld, const double* X, int64_t p,
                              vd (&sum)[Count][kSpan]) {
    if constexpr (Row < Count) {
        column<Row + 1>(W + Row, ld, X + Row * kHeight, sum);
        triangle<Count, Row + 1>(W, ld, X, p, sum);
    } else {
        products<Count>(W + Count, ld, X + Count * kHeight, p - Count, sum);
    }
}

}  // namespace likelier
