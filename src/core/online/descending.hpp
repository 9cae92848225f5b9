// Steps of SGD and AdaGrad on the weights of an online learner.
//
// The rule behind the defaults is AdaGrad (Duchi, Hazan and Singer, 2011) with steps that know the units of
// the features (after Ross, Mineiro and Langford, 2013, "Normalized online learning") and are
// importance-invariant (margins.hpp). Of a feature with value x, let μ and s² be the means of x and x² in
// the rows that have it, and f the share of such rows; then
//
//   u = (x - f² μ) / s,   G += g² u²,   r = rate √(rows / Σ‖u‖²) / (beta + G)^power,
//   Δw = r u step / s,    Δintercept = r₀ step - Σ f² μ Δw,
//
// where g is the slope of the loss, and `step` its integral along the way. What is centred is the step, not
// the score: the model stays linear in x, and rows without the feature need not be touched. f² takes from
// common features what the intercept says already (an air pressure near 1000 would fight it for as long as
// the stream lasts) and leaves rare ones alone. A value beyond all that were seen shrinks the weight, so
// that no score leaps because of one cell. SGD has (1 + steps)^-power in place of (beta + G)^-power; steps
// that are forgotten do not count.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/simd.hpp"
#include "online/weights.hpp"

namespace likelier {

// Square roots of all lanes; a loop that the compiler makes one instruction of.
LIKELIER_INLINE vd root(vd x) {
    for (int i = 0; i < kLanes; ++i) x[i] = __builtin_sqrt(x[i]);
    return x;
}

// The features of a row apart from the table, the intercept last, in whole vectors: what is past the end is
// a feature whose value is 0.
struct Features {
    int64_t n = 0;  // with the intercept
    std::vector<Slot*> slots;
    Buffer x, seen, mean, square;
    Buffer u, inverse, centre;  // (x - centre) inverse = u

    void reserve(int64_t count) {
        n = count;
        if (whole() <= static_cast<int64_t>(x.size())) return;
        slots.resize(2 * whole());
        for (Buffer* each : {&x, &seen, &mean, &square, &u, &inverse, &centre}) each->resize(2 * whole());
    }

    int64_t whole() const { return (n + kLanes - 1) / kLanes * kLanes; }
    int64_t height() const { return static_cast<int64_t>(x.size()); }

    // Counts them in a row of weight a, of rows that weigh `total`; ‖u‖².
    double average(double a, double total) {
        const vd per_row = splat(1 / total);
        vd norm{};
        for (int64_t c = 0; c < whole(); c += kLanes) {
            const vd X = load(&x[c]), count = load(&seen[c]) + splat(a), part = splat(a) / count;
            const vd before = load(&mean[c]), first = before + part * (X - before);
            // Not in the form of a difference, which would leave 0 of a small square after a large one.
            const vd second = (splat(1.0) - part) * load(&square[c]) + part * X * X;
            const vd share = count * per_row, common = share * share * first;
            const vd over = splat(1.0) / root(second), U = (X - common) * over;
            store(&seen[c], count);
            store(&mean[c], first);
            store(&square[c], second);
            store(&centre[c], common);
            store(&inverse[c], over);
            store(&u[c], U);
            norm += U * U;
        }
        return likelier::total(norm);
    }

    // As they are: no units, no means.
    void plain() {
        std::copy_n(x.begin(), whole(), u.begin());
        std::fill_n(inverse.begin(), whole(), 1.0);
        std::fill_n(centre.begin(), whole(), 0.0);
    }
};

class Descending {
  public:
    // One step, from scores Z and pushes, minus the slopes of the loss, (q) each; whether it had to be cut.
    bool step(Weights& weights, const HashedCell* row, int64_t n, int32_t code, double w, const double* Z,
              const double* push) {
        const int64_t q = weights.q();
        reserve(n + 1, q);
        q == 1 ? gather<true>(weights, row, n) : gather<false>(weights, row, n);
        Tallies& sums = weights.sums;
        const double a = w * sums.inflation;
        sums.total += a;
        if (weights.rule.normalised) {
            sums.norms += a * (features.average(a, sums.total + sums.inflation) + 1);
        } else {
            features.plain();
        }
        features.u[n] = features.inverse[n] = 1;
        features.centre[n] = 0;
        const double base = rate(weights, (sums.total - a) / sums.inflation);
        for (int64_t k = 0; k < q; ++k) {
            count(k, a * push[k] * push[k]);
            if (weights.rule.optimizer == Optimizer::adagrad) {
                adapt(weights, k, base);
            } else {
                std::fill_n(rates.begin() + k * features.height(), features.whole(), base);
            }
            measure(weights, k);
        }
        const bool was_cut = move(weights, code, w, Z, push);
        q == 1 ? scatter<true>(weights, n, w) : scatter<false>(weights, n, w);
        return was_cut;
    }

  private:
    // A step that moves a score farther than from one end to the other is cut.
    static constexpr double kLongest = 2 * kFarthest;
    // The intercept is in every row, and nothing else follows the rate of the classes as it drifts.
    static constexpr double kLift = 4;

    Features features;
    Buffer G, rates;                                                // (q, height)
    std::vector<double> lengths, backs, steps, reach, moved, room;  // (q), the last (3, q)

    void reserve(int64_t n, int64_t q) {
        features.reserve(n);
        const auto all = static_cast<size_t>(features.height() * q);
        if (all == G.size()) return;
        for (Buffer* each : {&G, &rates}) each->resize(all);
        for (auto* each : {&lengths, &backs, &steps, &reach, &moved}) each->resize(q);
        room.resize(3 * q);
    }

    // What the table says of the features of the row. One that a row has twice counts once.
    template <bool single>
    void gather(Weights& weights, const HashedCell* row, int64_t n) {
        const int64_t q = single ? 1 : weights.q(), height = features.height();
        const bool scaled = weights.rule.normalised;
        double *x = features.x.data(), *seen = features.seen.data(), *mean = features.mean.data();
        double *square = features.square.data(), *sums = G.data();
        Slot** slots = features.slots.data();
        for (int64_t c = 0; c < n; ++c) {
            Slot& slot = weights.met(row[c]);
            const double value = tamed(row[c].value);
            if (scaled && std::abs(value) > slot.most) stretch(slot, q, std::abs(value));
            slots[c] = &slot;
            x[c] = value;
            seen[c] = slot.seen;
            mean[c] = slot.mean;
            square[c] = slot.square;
            for (int64_t k = 0; k < q; ++k) sums[k * height + c] = slot.pairs()[k].G;
        }
        // Seen so often that a value of 0 changes nothing: the intercept and what is past it stay 0.
        slots[n] = &weights.intercept();
        weights.renew(*slots[n]);
        for (int64_t c = n; c < features.whole(); ++c) {
            x[c] = mean[c] = 0;
            seen[c] = kMost;
            square[c] = 1;
            for (int64_t k = 0; k < q; ++k) sums[k * height + c] = slots[n]->pairs()[k].G;
        }
    }

    // A value beyond all that were seen: what the weight says of the largest now is what it said before.
    static void stretch(Slot& slot, int64_t q, double size) {
        const double shrink = slot.most > 0 ? slot.most / size : 1;
        for (int64_t k = 0; k < q; ++k) slot.pairs()[k].w = static_cast<float>(slot.pairs()[k].w * shrink);
        slot.most = static_cast<float>(size);
    }

    // The rate of a feature of unit size that has met no slope yet; `past` rows are not forgotten.
    static double rate(const Weights& weights, double past) {
        const Rule& rule = weights.rule;
        double base = rule.rate;
        if (rule.normalised) base *= std::sqrt(weights.sums.total / weights.sums.norms);
        if (rule.optimizer != Optimizer::sgd) return base;
        return base * std::pow(1 + (rule.forgets() ? past : weights.counters.steps), -rule.power);
    }

    // G += slope u². SGD has no use for them but to say how much was learned of a feature.
    void count(int64_t k, double slope) {
        double* sums = G.data() + k * features.height();
        const vd most = splat(kMostSum);
        for (int64_t c = 0; c < features.whole(); c += kLanes) {
            const vd U = load(&features.u[c]), all = load(sums + c) + splat(slope) * U * U;
            store(sums + c, all < most ? all : most);
        }
    }

    // r = base (beta + G)^-power, where that is no 0^-power.
    void adapt(const Weights& weights, int64_t k, double base) {
        const Rule& rule = weights.rule;
        const double* sums = G.data() + k * features.height();
        double* r = rates.data() + k * features.height();
        const vd none{}, deflate = splat(1 / weights.sums.inflation);
        for (int64_t c = 0; c < features.whole(); c += kLanes) {
            const vd under = splat(rule.beta) + load(sums + c) * deflate;
            store(r + c, rule.power == 0.5 ? (under > none ? splat(base) / root(under) : none) : under);
        }
        if (rule.power == 0.5) return;
        for (int64_t c = 0; c < features.n; ++c) r[c] = r[c] > 0 ? base * std::pow(r[c], -rule.power) : 0;
    }

    // How far a step of unit size moves score k, and how much of it the intercept has to take back.
    void measure(const Weights& weights, int64_t k) {
        double* r = rates.data() + k * features.height();
        if (weights.rule.normalised) r[features.n - 1] *= kLift;
        vd length{}, back{};
        for (int64_t c = 0; c < features.whole(); c += kLanes) {
            const vd U = load(&features.u[c]), by = load(r + c) * U;
            length += by * U;
            back += by * load(&features.inverse[c]) * load(&features.centre[c]);
        }
        lengths[k] = total(length);
        backs[k] = total(back);
    }

    // The integral of the push of each score, times the weight: how far the score goes, by its length.
    bool move(const Weights& weights, int32_t code, double w, const double* Z, const double* push) {
        const Rule& rule = weights.rule;
        const int64_t q = weights.q();
        for (int64_t k = 0; k < q; ++k) reach[k] = w * lengths[k];
        if (!rule.invariant) {
            for (int64_t k = 0; k < q; ++k) steps[k] = reach[k] * push[k];
        } else if (rule.loss == OnlineLoss::log_loss && q > 1) {
            std::copy(Z, Z + q, moved.begin());
            softmax_move(moved.data(), reach.data(), q, code, room.data());
            for (int64_t k = 0; k < q; ++k) steps[k] = moved[k] - Z[k];
        } else {
            for (int64_t k = 0; k < q; ++k) {
                const double t = side(q, k, code);
                steps[k] = t * invariant_move(rule.loss, t * Z[k], t * push[k], reach[k], lengths[k]);
            }
        }
        bool was_cut = false;
        for (int64_t k = 0; k < q; ++k) {
            was_cut |= cut(steps[k], kLongest);
            steps[k] = lengths[k] > 0 ? steps[k] / lengths[k] : 0;
        }
        return was_cut;
    }

    // What was gathered goes back, and the weights move.
    template <bool single>
    void scatter(const Weights& weights, int64_t n, double w) {
        const int64_t q = single ? 1 : weights.q(), height = features.height();
        const double l2 = w * weights.rule.l2, *seen = features.seen.data(), *mean = features.mean.data();
        const double *square = features.square.data(), *u = features.u.data(), *sums = G.data();
        const double *inverse = features.inverse.data(), *r = rates.data(), *by = steps.data();
        // Both are 1 where nothing is forgotten.
        const double deflate = 1 / weights.sums.inflation, ahead = weights.ahead();
        for (int64_t c = 0; c < n; ++c) {
            Slot& slot = *features.slots[c];
            slot.seen = static_cast<float>(seen[c]);
            slot.mean = static_cast<float>(mean[c]);
            slot.square = static_cast<float>(square[c]);
            for (int64_t k = 0; k < q; ++k) {
                Pair& pair = slot.pairs()[k];
                const double rate = r[k * height + c] * inverse[c];
                double next = pair.w * deflate + by[k] * rate * u[c];
                if (l2 > 0) next /= 1 + l2 * rate * inverse[c];
                cut(next, kMost);
                pair = {static_cast<float>(next * ahead), static_cast<float>(sums[k * height + c])};
            }
        }
        for (int64_t k = 0; k < q; ++k) {
            Pair& pair = features.slots[n]->pairs()[k];
            double next = pair.w * deflate + by[k] * (r[k * height + n] - backs[k]);
            cut(next, kMost);
            pair = {static_cast<float>(next * ahead), static_cast<float>(sums[k * height + n])};
        }
    }
};

}  // namespace likelier
