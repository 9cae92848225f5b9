// Tiles of rows of CSR: what is stored, and nothing else.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/additive.hpp"
#include "kernels/matrix.hpp"
#include "kernels/tile.hpp"
#include "losses/losses.hpp"

namespace likelier {

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
        for (int64_t r = 0; r < at.n; ++r) z[r] = sparse_dot(at, r, W, zero);
        std::fill(z + at.n, z + height, 0.0);
    }

    void together(const Lines& lines, double* z, int64_t count) {
        byrow.resize(height * count);
        const likelier::Lines all{lines.zero.data(), nullptr, nullptr, kNoThreshold, count};
        SparseAffine(at, Adjoining{lines.turned.data(), padded(count)}, all).write(byrow.data(), false);
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
        if (q > 1)
            each_stretch(p, [&](int64_t j0, int64_t j1) {
                for (int64_t k = 0; k < q; ++k)
                    for (int64_t j = j0; j < j1; ++j) g[k * (p + 1) + j] += sums[j * wide + k];
            });
        for (int64_t k = 0; k < q; ++k) {
            double* to = g + k * (p + 1);
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

}  // namespace likelier
