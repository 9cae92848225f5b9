// The votes of all weight vectors of a perceptron, of which none is ever made.
//
// After k mistakes the weights are w_0 + Σ_{i <= k} s_i x_i, so the score of a row x is
//   z_k = z_{k-1} + s_k (x_k·x + δ),   and its vote   Σ_k c_k sign(z_k),       (Freund & Schapire 1999)
// c_k being the turns that the k-th vector lasted. Rows to answer are turned over, a vector of them at a
// time; the mistaken rows are read as they lie, dense or sparse.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/matrix.hpp"
#include "kernels/simd.hpp"
#include "rowwise/row.hpp"

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
constexpr int64_t kVotersAtOnce = 128;            // whose rows stay near while tile after tile hears them

// c where z > 0, -c where z < 0.
LIKELIER_INLINE vd vote(vd z, double c) {
    const vd zero = splat(0.0), both = splat(c);
    return z > zero ? both : z < zero ? -both : zero;
}

// `Vectors` vectors of rows turned over, their scores so far, and the votes for them.
template <int Vectors>
class Heard {
  public:
    static constexpr int64_t kRows = Vectors * kLanes;

    explicit Heard(int64_t p) : p(p), tile(p * kRows) {}

    // The first to vote is the start.
    Cell open(const Matrix& X, int64_t first, int64_t count, const Voters& voters) {
        std::visit([&](const auto& m) { columns(m, first, count, kRows, tile.data()); }, X);
        vd check = splat(0.0);
        LIKELIER_UNROLL
        for (int v = 0; v < Vectors; ++v) z[v] = splat(voters.intercept);
        for (int64_t j = 0; j < p; ++j) {
            const vd w = splat(voters.start[j]);
            LIKELIER_UNROLL
            for (int v = 0; v < Vectors; ++v) {
                const vd x = load(&tile[j * kRows + v * kLanes]);
                check += splat(0.0) * x;
                z[v] += w * x;
            }
        }
        for (int v = 0; v < Vectors; ++v) votes[v] = vote(z[v], voters.lasting[0]);
        return total(check) == 0 ? Cell{} : find_bad(X, first, count);
    }

    template <class Row>
    void hear(Row& kept, const Voters& voters, int64_t from, int64_t to) {
        for (int64_t k = from; k < to; ++k) {
            kept.open(voters.rows[k]);
            vd dots[Vectors];
            LIKELIER_UNROLL
            for (int v = 0; v < Vectors; ++v) dots[v] = splat(voters.decay);
            for (int64_t c = 0; c < kept.cells(); ++c) {
                const vd x = splat(kept.value(c));
                const double* with = &tile[kept.column(c) * kRows];
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
    }

    void close(int64_t count, double* out) const {
        double all[kRows];
        for (int v = 0; v < Vectors; ++v) store(all + v * kLanes, votes[v]);
        std::copy(all, all + count, out);
    }

  private:
    const int64_t p;
    Buffer tile;
    vd z[Vectors], votes[Vectors];
};

// Some tiles at a time, so that the mistaken rows are read from far once for all of them.
template <int Vectors>
Cell polled(const Matrix& X, const Matrix& kept, const Voters& voters, double* out) {
    constexpr int64_t kRows = Heard<Vectors>::kRows;
    const int64_t n = row_count(X), p = column_count(X);
    const int64_t tiles =
        std::clamp<int64_t>(kVoterTile / (8 * std::max<int64_t>(p, 1) * kRows), 1, (n + kRows - 1) / kRows);
    const Buffer none(p, 0.0);
    std::vector<Heard<Vectors>> heard;
    for (int64_t i = 0; i < tiles; ++i) heard.emplace_back(p);
    for (int64_t first = 0; first < n; first += tiles * kRows) {
        const int64_t left = n - first, some = std::min(tiles, (left + kRows - 1) / kRows);
        for (int64_t i = 0; i < some; ++i)
            if (const Cell bad =
                    heard[i].open(X, first + i * kRows, std::min(kRows, left - i * kRows), voters);
                bad.found())
                return bad;
        with_rows(kept, none.data(), [&](auto& row) {
            for (int64_t k = 0; k < voters.m; k += kVotersAtOnce)
                for (int64_t i = 0; i < some; ++i)
                    heard[i].hear(row, voters, k, std::min(k + kVotersAtOnce, voters.m));
        });
        for (int64_t i = 0; i < some; ++i)
            heard[i].close(std::min(kRows, left - i * kRows), out + first + i * kRows);
    }
    return {};
}

// Σ_k c_k sign(z_k) of each row of X, (n,); a cell that is no finite number, if there is one.
inline Cell votes(const Matrix& X, const Matrix& kept, const Voters& voters, double* out) {
    const bool near = column_count(X) * kVoterVectors * kVectorBytes <= kVoterTile;
    return near ? polled<kVoterVectors>(X, kept, voters, out) : polled<1>(X, kept, voters, out);
}

}  // namespace likelier
