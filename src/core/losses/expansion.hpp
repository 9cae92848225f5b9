// The passes of models that are fitted step by step: a loss summed over rows, expanded about weights.
//
//   z = W (x - shift) + b + offset,   f = Σ w ℓ(z),   g = Σ w ℓ'(z) [x - shift; 1]ᵀ,
//   H = Σ w ℓ''(z) ⊗ [x - shift; 1] [x - shift; 1]ᵀ
//
// X comes in tiles of some rows. How their scores and sums over them are made depends on how X lies
// (DenseTiles, SparseTiles); what happens in between, pointwise in the scores, does not (losses.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "kernels/matrix.hpp"
#include "losses/dense_tiles.hpp"
#include "losses/losses.hpp"
#include "losses/sparse_tiles.hpp"

namespace likelier {

// Pairs of stored cells cost less than the whole square of columns while a row stores less than this share.
constexpr double kSparse = 0.25;

// Calls f(the tiles that suit X). `square`: whether rows are to be multiplied with themselves, by q
// classes.
template <class F>
Cell with_tiles(const Matrix& X, const double* shift, int64_t q, bool square, F&& f) {
    return std::visit(
        [&](const auto& m) -> Cell {
            if constexpr (requires { m.starts; }) {
                const double stored = static_cast<double>(m.starts[m.n] - m.starts[0]);
                if (!square ||
                    (q == 1 && stored < kSparse * static_cast<double>(m.n) * static_cast<double>(m.p)))
                    return f(SparseTiles(m, shift));
            }
            return f(DenseTiles(X, shift, square));
        },
        X);
}

// ---- the passes ------------------------------------------------------------------------------------
// Calls use() for each tile, opened; the first cell that is not finite, if any.
template <class Tiles, class Use>
Cell each_tile(Tiles& tiles, TileTargets& rows, Use&& use) {
    for (int64_t first = 0; first < tiles.n; first += tiles.height) {
        const int64_t count = std::min<int64_t>(tiles.height, tiles.n - first);
        const Cell bad = tiles.open(first, count);
        if (bad.found()) return bad;
        rows.open(first, count);
        use();
    }
    return {};
}

// Where the loss is expanded.
struct Point {
    const double *W, *b, *shift;  // (q, p), (q), (p)
};

// Adds to f, g (q, p + 1) and, unless it is null, H (m, m), m = q (p + 1).
inline Cell expand(const Matrix& X, const Targets& targets, Loss loss, const Point& at, double* f,
                   double* g, double* H) {
    const int64_t q = targets.q;
    return with_tiles(X, at.shift, q, H != nullptr, [&](auto tiles) -> Cell {
        using Tiles = decltype(tiles);
        TileTargets rows(targets, tiles.height);
        const auto lines = tiles.lines(at.W, at.b, q, q > 1);
        typename Tiles::Gradient gradient(tiles, q, g);
        std::optional<typename Tiles::Hessian> hessian;
        if (H) hessian.emplace(tiles, loss, q, H);
        Buffer z(q * tiles.height), bend(H ? bend_rows(loss, q) * tiles.height : 0);
        vd sum = splat(0.0);
        const Cell bad = each_tile(tiles, rows, [&] {
            tiles.scores(lines, z.data());
            rows.add_offset(z.data());
            sum += tile_slopes(loss, z.data(), q, rows, H ? bend.data() : nullptr);
            gradient.add(z.data());
            if (hessian) hessian->add(bend.data());
        });
        if (bad.found()) return bad;
        *f += total(sum);
        gradient.finish();
        if (hessian) hessian->finish();
        return {};
    });
}

// Adds to f (T) the losses at T points: W (T, q, p), b (T, q).
inline Cell loss_values(const Matrix& X, const Targets& targets, Loss loss, const Point& at, int64_t T,
                        double* f) {
    const int64_t q = targets.q;
    return with_tiles(X, at.shift, q, false, [&](auto tiles) -> Cell {
        TileTargets rows(targets, tiles.height);
        const auto lines = tiles.lines(at.W, at.b, T * q, q > 1);
        Buffer z(T * q * tiles.height), sums(T * kLanes, 0.0);
        const Cell bad = each_tile(tiles, rows, [&] {
            tiles.scores(lines, z.data());
            for (int64_t t = 0; t < T; ++t) {
                double *of = &z[t * q * tiles.height], *to = &sums[t * kLanes];
                rows.add_offset(of);
                store(to, load(to) + tile_values(loss, of, q, rows));
            }
        });
        if (bad.found()) return bad;
        for (int64_t t = 0; t < T; ++t) f[t] += total(load(&sums[t * kLanes]));
        return {};
    });
}

// Adds to out (q, p + 1) the Hessian times V (q, p), v (q): Σ w ℓ''(z) (V x + v) [x; 1]ᵀ.
inline Cell curvature_product(const Matrix& X, const Targets& targets, Loss loss, const Point& at,
                              const double* V, const double* v, double* out) {
    const int64_t q = targets.q;
    return with_tiles(X, at.shift, q, false, [&](auto tiles) -> Cell {
        TileTargets rows(targets, tiles.height);
        const auto lines = tiles.lines(at.W, at.b, q, q > 1), steps = tiles.lines(V, v, q, q > 1);
        typename decltype(tiles)::Gradient gradient(tiles, q, out);
        Buffer z(q * tiles.height), s(q * tiles.height);
        const Cell bad = each_tile(tiles, rows, [&] {
            tiles.scores(lines, z.data());
            rows.add_offset(z.data());
            tiles.scores(steps, s.data());
            tile_bent(loss, z.data(), q, rows, s.data());
            gradient.add(s.data());
        });
        if (!bad.found()) gradient.finish();
        return bad;
    });
}

}  // namespace likelier
