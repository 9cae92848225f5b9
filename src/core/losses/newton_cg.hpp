// Truncated Newton on rows in memory: conjugate gradients for each direction, by passes in single
// precision.
//
//   F(θ) = (1/n) Σ w ℓ(z, y) + ½ Σ l2 θ²,   H d ≈ -g,   θ += t d
//
// Scores z are kept, so that the length t of a step is found without a pass over X. What floats cannot tell
// is left to the caller, who may put a gradient of doubles in the place of ours (`correct`).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "kernels/team.hpp"
#include "losses/float_rows.hpp"
#include "losses/losses.hpp"

namespace likelier {

template <class RowCopy>
class NewtonCg {
  public:
    // l2 (p + 1), the same for each class; n: the weight of all rows.
    NewtonCg(const Matrix& X, const double* shift, const Targets& targets, Loss loss, const double* l2,
             double n, bool intercept, int64_t threads)
        : x(X, shift, targets.q),
          targets(targets),
          loss(loss),
          q(targets.q),
          inverse(1 / n),
          intercept(intercept),
          bends(loss == Loss::softmax ? q + 1 : 1),
          penalty(x.size(), 0.0),
          theta(x.size(), 0.0),
          g(x.size()),
          M(x.size()),
          z(tiles() * q * kTileRows),
          dz(z.size()),
          held(x.size()),
          over(x.size()),
          d(x.size()),
          r(x.size()),
          v(x.size()),
          Hv(x.size()),
          Mr(x.size()),
          turned(x.size()),
          s(z.size()),
          bend(tiles() * bends * kTileRows) {
        // How the tiles are shared out depends on the rows alone, so that sums do not on the threads.
        const int64_t count = x.work() < kShared ? 1 : std::min<int64_t>(kShares, tiles());
        for (int64_t k = 0; k < count; ++k)
            shares.push_back(
                std::make_unique<Share>(*this, tiles() * k / count, tiles() * (k + 1) / count));
        if (std::min(threads, count) > 1) team.emplace(std::min(threads, count));
        if constexpr (kDense) copy(X, shift);
        for (int64_t k = 0; k < q; ++k)
            for (int64_t j = 0; j <= x.p; ++j) penalty[x.at(k, j)] = l2[j];
        std::copy(penalty.begin(), penalty.end(), held.begin());
        // Pairs of the last direction make the next one shorter, if to use them costs less than a pass.
        remembers = 4 * kPairs * static_cast<double>(x.size()) <= 2 * x.work();
    }

    bool fits() const { return x.fits; }
    int64_t paired() const { return pairs.count(); }

    // θ (q, p + 1)
    void place(const double* from) {
        for (int64_t k = 0; k < q; ++k)
            for (int64_t j = 0; j <= x.p; ++j) theta[x.at(k, j)] = from[k * (x.p + 1) + j];
    }

    void shown(double* to) const { show(theta, to); }

    // The gradient in place of that of floats; gᵀ M⁻¹ g.
    double correct(const double* from) {
        for (int64_t k = 0; k < q; ++k)
            for (int64_t j = 0; j <= x.p; ++j) g[x.at(k, j)] = from[k * (x.p + 1) + j];
        return size_of_gradient();
    }

    double size_of_gradient() const {
        double sum = 0;
        for (size_t i = 0; i < g.size(); ++i) sum += g[i] * g[i] / M[i];
        return sum;
    }

    // How far rounding can have moved the gradient, √(eᵀ H⁻¹ e) at most: by what each score, each slope and
    // each sum over rows has of it. Without end where that is not known.
    double rounding() const {
        constexpr double unknown = std::numeric_limits<double>::infinity();
        if constexpr (kDense) {
            const double least = *std::min_element(penalty.begin(), penalty.begin() + x.p);
            if (q != 1 || !(least > 0)) return unknown;
            double length = 0, scores = 0, slopes = 0, sums = 0;
            for (int64_t j = 0; j <= x.p; ++j) length += theta[j] * theta[j];
            for (const auto& share : shares) {
                scores += share->scores;
                slopes += share->slopes;
                sums += share->sizes;
            }
            constexpr double unit = 0x1p-24;
            return unit * (static_cast<double>(x.terms()) * std::sqrt(length * scores * inverse) +
                           std::sqrt(slopes * inverse) +
                           static_cast<double>(RowCopy::kSummed) * sums * inverse /
                               std::sqrt(std::min(least, M[x.p])));
        }
        return unknown;
    }

    // F at θ; z, g and the diagonal M of the Hessian are made there.
    double expand() {
        std::copy(theta.begin(), theta.end(), v.begin());
        in_shares([&](Share& mine) {
            std::fill(mine.g.begin(), mine.g.end(), 0.0);
            std::fill(mine.M.begin(), mine.M.end(), 0.0);
            mine.sum = splat(0.0);
            mine.scores = mine.slopes = mine.sizes = 0;
            each_tile(mine,
                      [&](int64_t t, int64_t first, int64_t count) { expand(mine, t, first, count); });
            flush(mine.sums, mine.g);
            flush(mine.squares, mine.M);
        });
        std::fill(g.begin(), g.end(), 0.0);
        std::fill(M.begin(), M.end(), 0.0);
        double F = 0;
        for (const auto& share : shares) {
            F += total(share->sum) * inverse;
            for (size_t i = 0; i < g.size(); ++i) {
                g[i] += share->g[i];
                M[i] += share->M[i];
            }
        }
        for (size_t i = 0; i < g.size(); ++i) {
            g[i] = g[i] * inverse + penalty[i] * theta[i];
            M[i] = M[i] * inverse + penalty[i];
            if (!(M[i] > 0)) M[i] = 1;
            over[i] = static_cast<float>(1 / M[i]);
            F += 0.5 * penalty[i] * theta[i] * theta[i];
        }
        without_intercept(g);
        return F;
    }

    // d with |H d + g| <= share |g| in the metric, in at most `most` products; -gᵀ d, about gᵀ H⁻¹ g. It
    // ends where d is longer than `radius`, √(dᵀ M d): there the Hessian of here is not to be relied on.
    double direction(double share, double radius, int64_t most) {
        clear(d);
        std::fill(dz.begin(), dz.end(), 0.0);
        std::copy(g.begin(), g.end(), r.begin());
        preconditioned();
        double size = dot(r, Mr);
        const double enough = share * share * size;
        for (size_t i = 0; i < v.size(); ++i) v[i] = -Mr[i];
        Kept kept;
        for (products = 0; products < most;) {
            product();
            ++products;
            const double bent = dot(v, Hv);
            if (!(bent > 0)) break;
            const auto t = static_cast<float>(size / bent);
            add(t, v, d);
            add(t, Hv, r);
            for (size_t i = 0; i < dz.size(); ++i) dz[i] += static_cast<double>(t * s[i]);
            if (remembers) kept.add(v, Hv, 1 / bent);
            preconditioned();
            const double before = size;
            size = dot(r, Mr);
            reach = length();
            if (!(size > enough) || reach > radius) break;
            const auto more = static_cast<float>(size / before);
            for (size_t i = 0; i < v.size(); ++i) v[i] = more * v[i] - Mr[i];
        }
        if (kept.count() >= kPairs / 2) pairs = std::move(kept);
        centre();
        slope = 0;
        for (size_t i = 0; i < g.size(); ++i) slope += g[i] * static_cast<double>(d[i]);
        return -slope;
    }

    // The length of the step along d at which the slope is all but 0, found by the scores alone, and the
    // step; 0: there is none.
    double search(bool full) {
        if (!(slope < 0)) return 0;
        double low = 0, high = 0, at_low = slope, at_high = 0, t = 1;
        for (int turn = 0; turn < kTrials && !full; ++turn) {
            const double here = slope_at(t);
            if (!std::isfinite(here)) {
                high = t;
                at_high = 0;
                t = 0.1 * t;
                continue;
            }
            if (std::abs(here) <= -kLevel * slope) break;
            (here < 0 ? low : high) = t;
            (here < 0 ? at_low : at_high) = here;
            if (high == 0) {
                t *= 2;
                continue;
            }
            const double share = at_high > 0 ? -at_low / (at_high - at_low) : 0.5;
            t = low + std::clamp(share, 0.1, 0.9) * (high - low);
        }
        for (size_t i = 0; i < theta.size(); ++i) theta[i] += t * static_cast<double>(d[i]);
        return t;
    }

    int64_t products = 0;  // of the last direction
    double reach = 0;      // its length, √(dᵀ M d)

  private:
    static constexpr int kPairs = 10, kTrials = 20, kShares = 4;
    static constexpr double kShared = 3e5;  // multiplications of a product, from which threads share it
    static constexpr double kLevel = 0.02;  // of the slope: this much may be left
    static constexpr double kFlat = 1e-30, kSteep = 1e-20;
    static constexpr bool kDense = std::is_same_v<RowCopy, DenseFloats>;

    // Directions and what the Hessian makes of them: a guess of its inverse, as of L-BFGS (Morales &
    // Nocedal 2000).
    class Kept {
      public:
        void add(const Floats& v, const Floats& Hv, double inverse) {
            if (of.size() < kPairs) {
                of.push_back({v, Hv, inverse});
                return;
            }
            std::rotate(of.begin(), of.begin() + 1, of.end());
            of.back().v = v;
            of.back().Hv = Hv;
            of.back().inverse = inverse;
        }
        int64_t count() const { return static_cast<int64_t>(of.size()); }

        struct Pair {
            Floats v, Hv;
            double inverse;
        };
        std::vector<Pair> of;
    };

    // Some of the tiles, and room for what one thread makes of them.
    struct Share {
        Share(const NewtonCg& of, int64_t first, int64_t last)
            : first(first),
              last(last),
              tile(of.targets, kTileRows),
              sum(splat(0.0)),
              g(of.x.size()),
              M(of.x.size()),
              room(of.q * kTileRows),
              bend_room(of.bends * kTileRows),
              sums(of.x.size()),
              squares(of.x.size()),
              all(of.x.size()),
              b(of.q * kTileRows),
              c(of.q * kTileRows) {}

        const int64_t first, last;  // tiles
        size_t number = 0;
        TileTargets tile;
        vd sum;
        Buffer g, M, room, bend_room;
        double scores = 0, slopes = 0, sizes = 0;  // of their rounding
        Floats sums, squares, all, b, c;
    };

    int64_t tiles() const { return (x.n + kTileRows - 1) / kTileRows; }

    // f(share) of each.
    template <class F>
    void in_shares(F&& f) {
        if (!team) {
            for (auto& share : shares) f(*share);
            return;
        }
        team->run(static_cast<int64_t>(shares.size()), [&](int64_t i) { f(*shares[i]); });
    }

    // f(number, first row, count) of each tile of a share.
    template <class F>
    void each_tile(const Share& share, F&& f) const {
        for (int64_t t = share.first; t < share.last; ++t)
            f(t, t * kTileRows, std::min<int64_t>(kTileRows, x.n - t * kTileRows));
    }

    void expand(Share& mine, int64_t t, int64_t first, int64_t count) {
        float* at = &s[t * q * kTileRows];
        x.dots(first, count, v.data(), at);
        double* scores = &z[t * q * kTileRows];
        std::copy(at, at + q * kTileRows, scores);
        blank(scores, count);
        mine.tile.open(first, count);
        mine.tile.add_offset(scores);
        std::copy(scores, scores + q * kTileRows, mine.room.begin());
        mine.sum += tile_slopes(loss, mine.room.data(), q, mine.tile, mine.bend_room.data());
        std::copy(mine.room.begin(), mine.room.end(), mine.b.begin());
        std::copy(mine.bend_room.begin(), mine.bend_room.end(), &bend[t * bends * kTileRows]);
        diagonal(mine);
        if constexpr (kDense)
            if (q == 1) weigh(mine, first, count);
        for (int64_t i = 0; i < count; i += x.step()) {
            const int64_t some = std::min(x.step(), count - i);
            x.add(first + i, some, &mine.b[i], mine.sums.data());
            x.add_squares(first + i, some, &mine.c[i], mine.squares.data());
        }
        if (kDense || (first + count) % RowCopy::kFlush == 0) {  // dense: see `rounding`
            flush(mine.sums, mine.g);
            flush(mine.squares, mine.M);
        }
    }

    // What rounding of a tile's rows can amount to: see `rounding`.
    void weigh(Share& mine, int64_t first, int64_t count) const {
        for (int64_t i = 0; i < count; ++i) {
            const double square = x.square_of(first + i), c = static_cast<double>(mine.c[i]),
                         b = std::abs(static_cast<double>(mine.b[i]));
            mine.scores += c * square;
            mine.sizes += b * std::sqrt(square);
            if (c > kFlat)
                mine.slopes += b * b / c;
            else  // far on the right side, where b² / c is b; or on the wrong one
                mine.slopes += b < kSteep ? b : std::numeric_limits<double>::infinity();
        }
    }

    // Each share its own rows, so that what it reads lies near it.
    void copy(const Matrix& X, const double* shift) {
        std::vector<Buffer> largest(shares.size(), Buffer(x.p, 0.0));
        for (size_t k = 0; k < shares.size(); ++k) shares[k]->number = k;
        in_shares([&](Share& mine) {
            x.copy(X, shift, mine.first * kTileRows, std::min(x.n, mine.last * kTileRows),
                   largest[mine.number].data());
        });
        for (int64_t j = 0; j < x.p; ++j)
            x.fits = x.fits && fits_floats([&] {
                         double most = 0;  // NaN stays
                         for (const Buffer& each : largest)
                             most = each[j] > most || each[j] != each[j] ? each[j] : most;
                         return most;
                     }());
    }

    static double dot(const Floats& a, const Floats& b) {
        FloatVector<kFloats> sum[4] = {};
        size_t i = 0;
        for (; i + 4 * kFloats <= a.size(); i += 4 * kFloats) LIKELIER_UNROLL
        for (int k = 0; k < 4; ++k)
            sum[k] += load_floats<kFloats>(&a[i + k * kFloats]) * load_floats<kFloats>(&b[i + k * kFloats]);
        double rest = 0;
        for (; i < a.size(); ++i) rest += static_cast<double>(a[i] * b[i]);
        for (int k = 0; k < kFloats; ++k)
            rest += static_cast<double>((sum[0][k] + sum[1][k]) + (sum[2][k] + sum[3][k]));
        return rest;
    }

    double length() const {
        float sum = 0;
        for (size_t i = 0; i < d.size(); ++i) sum += d[i] * d[i] / over[i];
        return std::sqrt(static_cast<double>(sum));
    }

    // to += t from
    static void add(float t, const Floats& from, Floats& to) {
        const float* a = from.data();
        float* b = to.data();
        const auto count = static_cast<int64_t>(to.size());
        for (int64_t i = 0; i < count; ++i) b[i] += t * a[i];
    }

    static void clear(Floats& of) { std::fill(of.begin(), of.end(), 0.0f); }

    static void flush(Floats& from, Buffer& to) {
        for (size_t i = 0; i < to.size(); ++i) {
            to[i] += static_cast<double>(from[i]);
            from[i] = 0;
        }
    }

    void blank(double* scores, int64_t count) const {
        for (int64_t k = 0; k < q; ++k)
            std::fill(scores + k * kTileRows + count, scores + (k + 1) * kTileRows, 0.0);
    }

    void show(const Buffer& from, double* to) const {
        for (int64_t k = 0; k < q; ++k)
            for (int64_t j = 0; j <= x.p; ++j) to[k * (x.p + 1) + j] = from[x.at(k, j)];
    }

    template <class Weights>
    void without_intercept(Weights& of) const {
        if (intercept) return;
        for (int64_t k = 0; k < q; ++k) of[x.at(k, x.p)] = 0;
    }

    // What a tile's rows add to the diagonal of the Hessian, into c.
    void diagonal(Share& mine) const {
        for (int64_t k = 0; k < q; ++k)
            for (int64_t i = 0; i < kTileRows; i += kLanes) {
                const vd own = bend_of(loss, &mine.bend_room[i], kTileRows, q, k, k);
                for (int lane = 0; lane < kLanes; ++lane)
                    mine.c[k * kTileRows + i + lane] = static_cast<float>(own[lane]);
            }
    }

    // Hv, and s = X v.
    void product() {
        in_shares([&](Share& mine) {
            clear(mine.all);
            each_tile(mine, [&](int64_t t, int64_t first, int64_t count) {
                float* at = &s[t * q * kTileRows];
                for (int64_t i = 0; i < count; i += x.step()) {
                    const int64_t some = std::min(x.step(), count - i);
                    x.dots(first + i, some, v.data(), at + i);
                    bent(&bend[t * bends * kTileRows + i], at + i, some, mine.b.data());
                    x.add(first + i, some, mine.b.data(), mine.sums.data());
                }
                if ((first + count) % RowCopy::kFlush == 0) pour(mine);
            });
            pour(mine);
        });
        clear(Hv);
        for (const auto& share : shares) add(1, share->all, Hv);
        const auto each = static_cast<float>(inverse);
        for (size_t i = 0; i < Hv.size(); ++i) Hv[i] = Hv[i] * each + held[i] * v[i];
        without_intercept(Hv);
    }

    static void pour(Share& mine) {
        add(1, mine.sums, mine.all);
        clear(mine.sums);
    }

    // b = the bend times s, of some rows of a tile.
    void bent(const float* by, const float* of, int64_t count, float* b) const {
        if (q == 1) {
            for (int64_t i = 0; i < count; ++i) b[i] = by[i] * of[i];
            return;
        }
        float mean[kTileRows] = {};
        for (int64_t k = 0; k < q; ++k)
            for (int64_t i = 0; i < count; ++i) mean[i] += by[k * kTileRows + i] * of[k * kTileRows + i];
        const float* w = by + q * kTileRows;
        for (int64_t k = 0; k < q; ++k)
            for (int64_t i = 0; i < count; ++i)
                b[k * kTileRows + i] = w[i] * by[k * kTileRows + i] * (of[k * kTileRows + i] - mean[i]);
    }

    // Mr = M⁻¹ r, M the diagonal, brought nearer to the Hessian by the pairs.
    void preconditioned() {
        const auto count = pairs.count();
        const Floats& from = count ? turned : r;
        float share[kPairs];
        if (count) turned = r;
        for (int64_t c = count; c-- > 0;) {
            const auto& [pv, pH, inverse] = pairs.of[c];
            share[c] = static_cast<float>(inverse * dot(pv, turned));
            add(-share[c], pH, turned);
        }
        for (size_t i = 0; i < r.size(); ++i) Mr[i] = from[i] * over[i];
        for (int64_t c = 0; c < count; ++c) {
            const auto& [pv, pH, inverse] = pairs.of[c];
            add(share[c] - static_cast<float>(inverse * dot(pH, Mr)), pv, Mr);
        }
    }

    // One vector added to the weights of all classes changes no probability: d has no part in that.
    void centre() {
        if (q == 1) return;
        for (int64_t j = 0; j <= x.p; ++j) {
            float mean = 0;
            for (int64_t k = 0; k < q; ++k) mean += d[x.at(k, j)] / static_cast<float>(q);
            for (int64_t k = 0; k < q; ++k) d[x.at(k, j)] -= mean;
        }
    }

    // The slope of F along d at θ + t d.
    double slope_at(double t) {
        in_shares([&](Share& mine) {
            mine.sum = splat(0.0);
            each_tile(mine, [&](int64_t number, int64_t first, int64_t count) {
                const double *from = &z[number * q * kTileRows], *along = &dz[number * q * kTileRows];
                for (int64_t i = 0; i < q * kTileRows; ++i) mine.room[i] = from[i] + t * along[i];
                mine.tile.open(first, count);
                tile_slopes(loss, mine.room.data(), q, mine.tile, nullptr);
                for (int64_t i = 0; i < q * kTileRows; i += kLanes)
                    mine.sum += load(&mine.room[i]) * load(along + i);
            });
        });
        double found = 0;
        for (const auto& share : shares) found += total(share->sum) * inverse;
        for (size_t i = 0; i < d.size(); ++i) {
            const auto along = static_cast<double>(d[i]);
            found += penalty[i] * (theta[i] + t * along) * along;
        }
        return found;
    }

    RowCopy x;
    const Targets targets;
    const Loss loss;
    const int64_t q;
    const double inverse;
    const bool intercept;
    const int64_t bends;  // numbers of a row that tell its bend
    bool remembers = false;
    double slope = 0;
    Kept pairs;
    Buffer penalty, theta, g, M;                 // as weights lie
    Buffer z, dz;                                // (tiles, q, kTileRows): scores, and along d
    Floats held, over, d, r, v, Hv, Mr, turned;  // as weights lie; l2, 1/M
    Floats s, bend;                              // X v, and what makes products of it
    std::vector<std::unique_ptr<Share>> shares;
    std::optional<Team> team;
};

}  // namespace likelier
