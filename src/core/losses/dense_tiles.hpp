// Tiles of dense rows: rows as rows, shifted, with a 1 after the last column.
//
// So the intercept is one more weight. Rows are read as they lie, in order; turning them over, so that
// lanes run over rows, took longer than the sums across lanes that it saves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/matrix.hpp"
#include "kernels/tile.hpp"
#include "losses/losses.hpp"

namespace likelier {

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
          span(std::max(height, std::min(tile_rows(p), n) / height * height)),
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

}  // namespace likelier
