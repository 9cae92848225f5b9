// The votes of all weight vectors of a perceptron, of which none is ever made.
//
// After k mistakes the weights are w_0 + Σ_{i <= k} s_i x_i, so the score of a row x is
//   z_k = z_{k-1} + s_k (x_k·x + δ),   and its vote   Σ_k c_k sign(z_k),       (Freund & Schapire 1999)
// c_k being the turns that the k-th vector lasted. Rows to answer are turned over, a vector of them at a
// time; the mistaken rows are read as they lie, dense or sparse.
#pragma once

#include <algorithm>
#include <cstdint>

#include "matrix.hpp"
#include "row.hpp"
#include "simd.hpp"

namespace likelier {

struct Voters {
    const double* start;    // w_0 (p,)
    double intercept;       // b_0
    const int64_t* rows;    // (m,), which of the kept rows was mistaken
    const double* steps;    // (m,), s_k
    const double* lasting;  // (m + 1,), c_0 first
    int64_t m;
    double decay;  // δ, of the intercept's steps; 0: there is none
};

constexpr int kVoterVectors = 8;                  // of rows, while a tile of so many stays near
constexpr int64_t kVoterTile = int64_t{2} << 20;  // bytes

// c where z > 0, -c where z < 0.
LIKELIER_INLINE vd vote(vd z, double c) {
    const vd zero = splat(0.0), both = splat(c);
    return z > zero ? both : z < zero ? -both : zero;
}

// `Vectors` vectors of rows, turned over, before all voters. f(vector, votes)
template <int Vectors, class Row, class F>
void poll(const double* tile, int64_t p, Row& kept, const Voters& voters, F&& f) {
    constexpr int64_t kRows = Vectors * kLanes;
    vd z[Vectors], votes[Vectors], dots[Vectors];
    for (int v = 0; v < Vectors; ++v) z[v] = splat(voters.intercept);
    for (int64_t j = 0; j < p; ++j) {
        const vd w = splat(voters.start[j]);
        LIKELIER_UNROLL
        for (int v = 0; v < Vectors; ++v) z[v] += w * load(tile + j * kRows + v * kLanes);
    }
    for (int v = 0; v < Vectors; ++v) votes[v] = vote(z[v], voters.lasting[0]);
    for (int64_t k = 0; k < voters.m; ++k) {
        kept.open(voters.rows[k]);
        for (int v = 0; v < Vectors; ++v) dots[v] = splat(voters.decay);
        for (int64_t c = 0; c < kept.cells(); ++c) {
            const vd x = splat(kept.value(c));
            const double* with = tile + kept.column(c) * kRows;
            LIKELIER_UNROLL
            for (int v = 0; v < Vectors; ++v) dots[v] += x * load(with + v * kLanes);
        }
        const vd s = splat(voters.steps[k]);
        const double lasted = voters.lasting[k + 1];
        LIKELIER_UNROLL
        for (int v = 0; v < Vectors; ++v) {
            z[v] += s * dots[v];
            votes[v] += vote(z[v], lasted);
        }
    }
    for (int v = 0; v < Vectors; ++v) f(v, votes[v]);
}

template <int Vectors>
Cell polled(const Matrix& X, const Matrix& kept, const Voters& voters, double* out) {
    constexpr int64_t kRows = Vectors * kLanes;
    const int64_t n = row_count(X), p = column_count(X);
    const Buffer none(p, 0.0);
    Buffer tile(p * kRows);
    double votes[kRows];
    for (int64_t first = 0; first < n; first += kRows) {
        const int64_t count = std::min(kRows, n - first);
        std::visit([&](const auto& m) { columns(m, first, count, kRows, tile.data()); }, X);
        vd check = splat(0.0);
        for (int64_t j = 0; j < p * kRows; j += kLanes) check += splat(0.0) * load(&tile[j]);
        if (total(check) != 0) return find_bad(X, first, count);
        with_rows(kept, none.data(), [&](auto& row) {
            poll<Vectors>(tile.data(), p, row, voters,
                          [&](int v, vd sum) { store(votes + v * kLanes, sum); });
        });
        std::copy(votes, votes + count, out + first);
    }
    return {};
}

// Σ_k c_k sign(z_k) of each row of X, (n,); a cell that is no finite number, if there is one.
inline Cell votes(const Matrix& X, const Matrix& kept, const Voters& voters, double* out) {
    const bool near = column_count(X) * kVoterVectors * kVectorBytes <= kVoterTile;
    return near ? polled<kVoterVectors>(X, kept, voters, out) : polled<1>(X, kept, voters, out);
}

}  // namespace likelier
