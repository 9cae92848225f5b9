// The R factor of rows that arrive tile by tile: least squares without the squares.
//
// [R; tile] is made upper triangular again by one Householder reflection for each column. Its vector is
// (1; v) on the diagonal entry of R and the whole column of the tile, so that the zeros of R are never
// touched: 2 P² flops a row, and nothing but orthogonal steps between the rows and R (Householder 1958;
// Demmel, Grigori, Hoemmen & Langou 2012 on tall and narrow matrices). Of Σxxᵀ a Cholesky factor would
// have lost half of the digits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/matrix.hpp"
#include "kernels/scores.hpp"
#include "kernels/tile.hpp"

namespace likelier {

// a · b over the rows of a tile.
LIKELIER_INLINE double dot(const double* a, const double* b) {
    vd sum[kSpan] = {};
    LIKELIER_UNROLL
    for (int i = 0; i < kRowVectors; ++i) sum[i % kSpan] += load(a + i * kLanes) * load(b + i * kLanes);
    return total((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

// Reflections of `width` columns of a tile (kHeight rows each) onto the rows j0, j0 + 1, … of R (P x P,
// upper triangle), within these columns. The columns become the vectors v; tau[i] = 0: there was nothing to
// reflect. The diagonal of R is never negative: each row is turned once more after its reflection.
LIKELIER_INLINE void reflect(double* tile, int64_t width, int64_t j0, int64_t P, double* R, double* tau) {
    for (int64_t i = 0; i < width; ++i) {
        double *v = tile + i * kHeight, *row = R + (j0 + i) * P + j0;
        const double square = dot(v, v);
        tau[i] = 0;
        if (square == 0) continue;
        const double norm = std::sqrt(row[i] * row[i] + square);
        const double lead = row[i] + norm, inverse = 1 / lead;  // finite, as a square is above 0
        tau[i] = lead / norm;
        for (int64_t r = 0; r < kHeight; r += kLanes) store(v + r, load(v + r) * splat(inverse));
        row[i] = norm;
        for (int64_t k = i + 1; k < width; ++k) {
            double* c = tile + k * kHeight;
            const double t = tau[i] * (row[k] + dot(v, c));
            row[k] = t - row[k];
            LIKELIER_UNROLL
            for (int l = 0; l < kRowVectors; ++l)
                store(c + l * kLanes, load(c + l * kLanes) - splat(t) * load(v + l * kLanes));
        }
    }
}

// ---- many columns ------------------------------------------------------------------------------
// kBlock reflections at once are I - V T Vᵀ (Schreiber & Van Loan 1989): products of small matrices in
// place of dot products, so that a column is fetched once for kBlock of them. Blocks of columns lie as
// rows, [kHeight][kBlock]: lanes run over columns, and nothing is summed across a vector.
constexpr int64_t kBlock = 16;
constexpr int64_t kNarrow = 32;  // up to here one reflection after another is as fast
constexpr int kPair = 2;         // vectors of columns held at once
constexpr int kHeld = kRegisters == 32 ? 8 : 4;
static_assert(kBlock % (kPair * kLanes) == 0 && kBlock % kHeld == 0 && kHeight % kHeld == 0);

// Columns of kHeight rows as rows of kBlock columns, and back; columns that are not there are 0.
inline void to_rows(const double* columns, int64_t width, double* rows) {
    if (width < kBlock) std::fill(rows, rows + kHeight * kBlock, 0.0);
    for (int64_t j = 0; j < width; ++j)
        for (int64_t r = 0; r < kHeight; ++r) rows[r * kBlock + j] = columns[j * kHeight + r];
}

inline void to_columns(const double* rows, double* columns) {
    for (int64_t r = 0; r < kHeight; ++r)
        for (int64_t j = 0; j < kBlock; ++j) columns[j * kHeight + r] = rows[r * kBlock + j];
}

// kBlock reflections: their vectors as rows V [kHeight][kBlock], and T [kBlock][kBlock], upper.
struct Reflections {
    Buffer V = Buffer(kHeight * kBlock), T = Buffer(kBlock * kBlock), W = Buffer(kBlock * kBlock);
    double tau[kBlock] = {};

    // From the vectors as columns: H_0 H_1 … H_i = I - V T Vᵀ, one column of T after another.
    void gather(const double* v, int64_t width) {
        to_rows(v, width, V.data());
        std::fill(T.begin(), T.end(), 0.0);
        double inner[kBlock];
        for (int64_t i = 0; i < width; ++i) {
            for (int64_t l = 0; l < i; ++l) inner[l] = dot(v + l * kHeight, v + i * kHeight);
            for (int64_t l = 0; l < i; ++l) {
                double sum = 0;
                for (int64_t m = l; m < i; ++m) sum += T[l * kBlock + m] * inner[m];
                T[l * kBlock + i] = -tau[i] * sum;
            }
            T[i * kBlock + i] = tau[i];
        }
    }

    // A block C of `width` columns, with the rows of R above it (the first at R, P apart), reflected.
    void apply(double* C, double* R, int64_t P, int64_t height, int64_t width) {
        for (int64_t i = 0; i < kBlock; ++i)
            for (int64_t k = 0; k < kBlock; ++k)
                W[i * kBlock + k] = i < height && k < width ? R[i * P + k] : 0;
        int64_t v = 0;  // vectors that hold no column are left out
        for (; v + kLanes < width; v += kPair * kLanes) apply<kPair>(C + v, &W[v]);
        if (v < width) apply<1>(C + v, &W[v]);
        for (int64_t i = 0; i < height; ++i)
            if (tau[i] != 0)
                for (int64_t k = 0; k < width; ++k) R[i * P + k] = W[i * kBlock + k] - R[i * P + k];
    }

  private:
    // The same of some vectors of columns, w (kBlock, kBlock) what R has above them.
    template <int Vectors>
    void apply(double* C, double* w) const {
        for (int64_t i = 0; i < kBlock; i += kHeld) add_inner<Vectors>(C, i, w + i * kBlock);
        turn<Vectors>(w);
        for (int64_t r = 0; r < kHeight; r += kHeld) take_off<Vectors>(&V[r * kBlock], w, C + r * kBlock);
    }

    // w += Vᵀ C for kHeld vectors from i on.
    template <int Vectors>
    void add_inner(const double* C, int64_t i, double* w) const {
        vd sum[kHeld][Vectors];
        LIKELIER_UNROLL
        for (int a = 0; a < kHeld; ++a) LIKELIER_UNROLL
        for (int b = 0; b < Vectors; ++b) sum[a][b] = load(w + a * kBlock + b * kLanes);
        for (int64_t r = 0; r < kHeight; ++r) {
            vd c[Vectors];
            LIKELIER_UNROLL
            for (int b = 0; b < Vectors; ++b) c[b] = load(C + r * kBlock + b * kLanes);
            LIKELIER_UNROLL
            for (int a = 0; a < kHeld; ++a) {
                const vd v = splat(V[r * kBlock + i + a]);
                LIKELIER_UNROLL
                for (int b = 0; b < Vectors; ++b) sum[a][b] += v * c[b];
            }
        }
        LIKELIER_UNROLL
        for (int a = 0; a < kHeld; ++a) LIKELIER_UNROLL
        for (int b = 0; b < Vectors; ++b) store(w + a * kBlock + b * kLanes, sum[a][b]);
    }

    // w becomes Tᵀ w, from the last row on: each needs those before it.
    template <int Vectors>
    void turn(double* w) const {
        for (int64_t i = kBlock - 1; i >= 0; --i) {
            vd sum[Vectors] = {};
            for (int64_t l = 0; l <= i; ++l) {
                const vd t = splat(T[l * kBlock + i]);
                LIKELIER_UNROLL
                for (int b = 0; b < Vectors; ++b) sum[b] += t * load(w + l * kBlock + b * kLanes);
            }
            LIKELIER_UNROLL
            for (int b = 0; b < Vectors; ++b) store(w + i * kBlock + b * kLanes, sum[b]);
        }
    }

    // c -= v w for kHeld rows.
    template <int Vectors>
    static void take_off(const double* v, const double* w, double* c) {
        vd left[kHeld][Vectors];
        LIKELIER_UNROLL
        for (int a = 0; a < kHeld; ++a) LIKELIER_UNROLL
        for (int b = 0; b < Vectors; ++b) left[a][b] = load(c + a * kBlock + b * kLanes);
        for (int64_t i = 0; i < kBlock; ++i) {
            vd x[Vectors];
            LIKELIER_UNROLL
            for (int b = 0; b < Vectors; ++b) x[b] = load(w + i * kBlock + b * kLanes);
            LIKELIER_UNROLL
            for (int a = 0; a < kHeld; ++a) {
                const vd u = splat(v[a * kBlock + i]);
                LIKELIER_UNROLL
                for (int b = 0; b < Vectors; ++b) left[a][b] -= u * x[b];
            }
        }
        LIKELIER_UNROLL
        for (int a = 0; a < kHeld; ++a) LIKELIER_UNROLL
        for (int b = 0; b < Vectors; ++b) store(c + a * kBlock + b * kLanes, left[a][b]);
    }
};

// Tiles of kHeight rows, folded one after another into R (P x P, upper triangle).
class Folding {
  public:
    explicit Folding(int64_t P) : P(P), blocks(P > kNarrow ? (P + kBlock - 1) / kBlock : 0) {
        if (blocks) {
            rows.resize(blocks * kHeight * kBlock);
            panel.resize(kHeight * kBlock);
        } else {
            tau.resize(P);
        }
    }

    // R becomes that of [R; tile]; the tile (P columns of kHeight rows) is used up.
    void fold(double* tile, double* R) {
        if (!blocks) return reflect(tile, P, 0, P, R, tau.data());
        for (int64_t k = 0; k < blocks; ++k)
            to_rows(tile + k * kBlock * kHeight, width(k), &rows[k * kHeight * kBlock]);
        for (int64_t j = 0; j < blocks; ++j) {
            const int64_t first = j * kBlock;
            to_columns(&rows[j * kHeight * kBlock], panel.data());
            reflect(panel.data(), width(j), first, P, R, at_once.tau);
            if (j + 1 == blocks) return;
            if (std::all_of(at_once.tau, at_once.tau + width(j), [](double t) { return t == 0; })) continue;
            at_once.gather(panel.data(), width(j));
            for (int64_t k = j + 1; k < blocks; ++k)
                at_once.apply(&rows[k * kHeight * kBlock], R + first * P + k * kBlock, P, width(j),
                              width(k));
        }
    }

  private:
    int64_t width(int64_t block) const { return std::min(kBlock, P - block * kBlock); }

    const int64_t P, blocks;
    Buffer rows, panel, tau;
    Reflections at_once;
};

// R becomes that of [R; Z]: two factors, merged.
inline void fold_factor(const Matrix& Z, double* R) {
    const int64_t n = row_count(Z), P = column_count(Z);
    Buffer tile(P * kHeight);
    Folding folding(P);
    for (int64_t first = 0; first < n; first += kHeight) {
        const int64_t count = std::min(kHeight, n - first);
        std::visit([&](const auto& m) { columns(m, first, count, kHeight, tile.data()); }, Z);
        folding.fold(tile.data(), R);
    }
}

// R becomes that of [R; √w (1, X - shift, Y - shift)]; the first cell of [X Y] that is not finite, if any.
inline Cell fold_rows(const Matrix& X, const Matrix& Y, const double* weights, const double* shift,
                      double* R) {
    const int64_t n = row_count(X), p = column_count(X), q = column_count(Y), P = 1 + p + q;
    TurnedTile x(p), y(q);
    Buffer tile(P * kHeight);
    Folding folding(P);
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
        folding.fold(tile.data(), R);
    }
    return {};
}

}  // namespace likelier
