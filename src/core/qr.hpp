// The R factor of rows that arrive tile by tile: least squares without the squares.
//
// [R; tile] is made upper triangular again by one Householder reflection for each column. Its vector is
// (1; v) on the diagonal entry of R and the whole column of the tile, so that the zeros of R are never
// touched: 2 P² flops a row, and nothing but orthogonal steps between the rows and R (Householder 1958;
// Demmel, Grigori, Hoemmen & Langou 2012 on tall and narrow matrices). Of Σxxᵀ a Cholesky factor would
// have lost half of the digits.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "matrix.hpp"
#include "scores.hpp"
#include "tile.hpp"

namespace likelier {

// a · b over the rows of a tile.
LIKELIER_INLINE double dot(const double* a, const double* b) {
    vd sum[kSpan] = {};
    LIKELIER_UNROLL
    for (int i = 0; i < kRowVectors; ++i) sum[i % kSpan] += load(a + i * kLanes) * load(b + i * kLanes);
    return total((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

// R (P x P, upper triangle) becomes that of [R; tile]; the tile (P columns of kHeight rows) is used up.
// The diagonal of R is never negative: each row is turned once more after its reflection.
inline void fold(double* tile, int64_t P, double* R) {
    for (int64_t j = 0; j < P; ++j) {
        double *v = tile + j * kHeight, *row = R + j * P;
        const double square = dot(v, v);
        if (square == 0) continue;
        const double norm = std::sqrt(row[j] * row[j] + square);
        const double lead = row[j] + norm, tau = lead / norm;
        for (int64_t r = 0; r < kHeight; r += kLanes) store(v + r, load(v + r) / splat(lead));
        row[j] = norm;
        for (int64_t k = j + 1; k < P; ++k) {
            double* c = tile + k * kHeight;
            const double t = tau * (row[k] + dot(v, c));
            row[k] = t - row[k];
            LIKELIER_UNROLL
            for (int i = 0; i < kRowVectors; ++i)
                store(c + i * kLanes, load(c + i * kLanes) - splat(t) * load(v + i * kLanes));
        }
    }
}

// R becomes that of [R; Z]: two factors, merged.
inline void fold_factor(const Matrix& Z, double* R) {
    const int64_t n = row_count(Z), P = column_count(Z);
    Buffer tile(P * kHeight);
    for (int64_t first = 0; first < n; first += kHeight) {
        const int64_t count = std::min(kHeight, n - first);
        std::visit([&](const auto& m) { columns(m, first, count, kHeight, tile.data()); }, Z);
        fold(tile.data(), P, R);
    }
}

// R becomes that of [R; √w (1, X - shift, Y - shift)]; the first cell of [X Y] that is not finite, if any.
inline Cell fold_rows(const Matrix& X, const Matrix& Y, const double* weights, const double* shift,
                      double* R) {
    const int64_t n = row_count(X), p = column_count(X), q = column_count(Y), P = 1 + p + q;
    TurnedTile x(p), y(q);
    Buffer tile(P * kHeight);
    double* root = tile.data();  // the column of ones, times √w; 0 beyond the last row
    const auto fill = [&](const TurnedTile& from, const double* centre, double* to) {
        from.centred(centre, to);
        for (int64_t j = 0; j < from.p; ++j)
            for (int64_t r = 0; r < kHeight; r += kLanes)
                store(to + j * kHeight + r, load(to + j * kHeight + r) * load(root + r));
    };
    for (int64_t first = 0; first < n; first += kHeight) {
        const int64_t count = std::min(kHeight, n - first);
        if (const Cell bad = x.load_from(X, first, count); bad.found()) return bad;
        if (const Cell bad = y.load_from(Y, first, count); bad.found()) return {bad.row, p + bad.column};
        for (int64_t r = 0; r < kHeight; ++r)
            root[r] = r >= count ? 0 : weights ? std::sqrt(weights[first + r]) : 1;
        fill(x, shift, root + kHeight);
        fill(y, shift + p, root + (1 + p) * kHeight);
        fold(tile.data(), P, R);
    }
    return {};
}

}  // namespace likelier
