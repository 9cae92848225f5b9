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
// that no score leaps because of one cell. SGD has (1 + steps)^-power in place of (beta + G)^-power.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "simd.hpp"
#include "weights.hpp"

namespace likelier {

class Descending {
  public:
    // One step, from scores Z and pushes, minus the slopes of the loss, (q) each; whether it had to be cut.
    bool step(Weights& weights, const HashedCell* row, int64_t n, int32_t code, double w, const double* Z,
              const double* push) {
        reserve(n + 1, weights.q());
        Sums& sums = weights.sums;
        const double a = w * sums.inflation;
        sums.total += a;
        for (int64_t c = 0; c < n; ++c) slots[c] = &weights.met(row[c]);
        slots[n] = &weights.intercept();
        weights.renew(*slots[n]);
        for (int64_t c = 0; c < n; ++c) x[c] = tamed(row[c].value);
        if (weights.rule.scaled()) {
            observe(weights, n, a);
        } else {
            std::copy(x.begin(), x.begin() + n, u.begin());
            std::fill_n(inverse.begin(), n, 1.0);
            std::fill_n(centre.begin(), n, 0.0);
        }
        u[n] = inverse[n] = 1;
        centre[n] = 0;
        double norm = 0;
        for (int64_t c = 0; c <= n; ++c) norm += u[c] * u[c];
        sums.norms += a * norm;
        for (int64_t k = 0; k < weights.q(); ++k) lengths[k] = rate(weights, n, k, a * push[k] * push[k]);
        const bool was_cut = move(weights, code, w, Z, push);
        for (int64_t k = 0; k < weights.q(); ++k) apply(weights.rule, n, k, w);
        return was_cut;
    }

  private:
    // A step that moves a score farther than from one end to the other is cut.
    static constexpr double kLongest = 2 * kFarthest;
    // The intercept is in every row, and nothing else follows the rate of the classes as it drifts.
    static constexpr double kLift = 4;

    std::vector<Slot*> slots;                                // (n + 1), the intercept's last
    Buffer x, seen, mean, square, u, inverse, centre;        // (n + 1), (x - centre) inverse = u
    Buffer rates, squares;                                   // (q, n + 1), (n + 1)
    std::vector<double> lengths, steps, reach, moved, P, Q;  // (q)
    int64_t height = 0;

    void reserve(int64_t n, int64_t q) {
        if (n > height) {
            height = 2 * n;
            slots.resize(height);
            for (Buffer* each : {&x, &seen, &mean, &square, &u, &inverse, &centre, &squares})
                each->resize(height);
        }
        rates.resize(std::max<size_t>(rates.size(), height * q));
        for (auto* each : {&lengths, &steps, &reach, &moved, &P, &Q}) each->resize(q);
    }

    // Counts the features of a row of weight `a`, and says what the step sees of them. A feature that comes
    // twice in one row counts once.
    void observe(Weights& weights, int64_t n, double a) {
        for (int64_t c = 0; c < n; ++c) {
            Slot& slot = *slots[c];
            if (std::abs(x[c]) > slot.most) stretch(weights, slot, std::abs(x[c]));
            seen[c] = slot.seen;
            mean[c] = slot.mean;
            square[c] = slot.square;
        }
        average(n, a, 1 / (weights.sums.total + weights.sums.inflation));
        for (int64_t c = 0; c < n; ++c) {
            Slot& slot = *slots[c];
            slot.seen = static_cast<float>(seen[c]);
            slot.mean = static_cast<float>(mean[c]);
            slot.square = static_cast<float>(square[c]);
        }
    }

    static void stretch(const Weights& weights, Slot& slot, double size) {
        const double shrink = slot.most / size;
        for (int64_t k = 0; k < weights.q(); ++k)
            slot.pairs()[k].w = static_cast<float>(slot.pairs()[k].w * shrink);
        slot.most = static_cast<float>(size);
    }

    // Straight loops over doubles, apart from the table: the compiler makes vectors of them.
    void average(int64_t n, double a, double per_row) {
        const double* x = this->x.data();
        double *seen = this->seen.data(), *mean = this->mean.data(), *square = this->square.data();
        double *u = this->u.data(), *inverse = this->inverse.data(), *centre = this->centre.data();
        for (int64_t c = 0; c < n; ++c) {
            seen[c] += a;
            const double part = a / seen[c], share = seen[c] * per_row;
            mean[c] += part * (x[c] - mean[c]);
            square[c] += part * (x[c] * x[c] - square[c]);
            inverse[c] = 1 / std::sqrt(square[c]);
            centre[c] = share * share * mean[c];
            u[c] = (x[c] - centre[c]) * inverse[c];
        }
    }

    // The rates of a score at all features, which have met a slope whose square is `slope`; Σ r u².
    double rate(Weights& weights, int64_t n, int64_t k, double slope) {
        const Rule& rule = weights.rule;
        double base = rule.rate, *r = rates.data() + k * height;
        if (rule.scaled()) base *= std::sqrt(weights.sums.total / weights.sums.norms);
        if (rule.optimizer == Optimizer::sgd) {
            base *= std::pow(1.0 + static_cast<double>(weights.counters.steps), -rule.power);
            std::fill_n(r, n + 1, base);
        } else {
            for (int64_t c = 0; c <= n; ++c) squares[c] = slots[c]->pairs()[k].G;
            adapt(rule, n + 1, slope, 1 / weights.sums.inflation, base, r);
            for (int64_t c = 0; c <= n; ++c) slots[c]->pairs()[k].G = static_cast<float>(squares[c]);
        }
        if (rule.scaled()) r[n] *= kLift;
        double length = 0;
        for (int64_t c = 0; c <= n; ++c) length += r[c] * u[c] * u[c];
        return length;
    }

    void adapt(const Rule& rule, int64_t count, double slope, double deflate, double base, double* r) {
        double* G = squares.data();
        const double* u = this->u.data();
        for (int64_t c = 0; c < count; ++c) {
            const double sum = G[c] + slope * u[c] * u[c];
            G[c] = sum < kMostSum ? sum : kMostSum;
            r[c] = rule.beta + G[c] * deflate;
        }
        if (rule.power == 0.5) {
            for (int64_t c = 0; c < count; ++c) r[c] = 1 / std::sqrt(r[c]);
        } else {
            for (int64_t c = 0; c < count; ++c) r[c] = std::pow(r[c], -rule.power);
        }
        // Where nothing was met, and beta is 0, nothing moves.
        for (int64_t c = 0; c < count; ++c) r[c] = r[c] < kMost ? base * r[c] : 0;
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
            softmax_move(moved.data(), reach.data(), q, code, P.data(), Q.data());
            for (int64_t k = 0; k < q; ++k) steps[k] = moved[k] - Z[k];
        } else {
            for (int64_t k = 0; k < q; ++k) {
                const double t = side(q, k, code);
                steps[k] = t * invariant_move(rule.loss, t * Z[k], reach[k]);
            }
        }
        bool was_cut = false;
        for (int64_t k = 0; k < q; ++k) {
            was_cut |= cut(steps[k], kLongest);
            steps[k] = lengths[k] > 0 ? steps[k] / lengths[k] : 0;
        }
        return was_cut;
    }

    void apply(const Rule& rule, int64_t n, int64_t k, double w) {
        const double *r = rates.data() + k * height, step = steps[k];
        double back = 0;
        for (int64_t c = 0; c <= n; ++c) {
            const double by = step * r[c] * u[c] * inverse[c];
            back += centre[c] * by;
            float& weight = slots[c]->pairs()[k].w;
            double next = weight + by;
            if (c == n) next -= back;
            if (rule.l2 > 0 && c < n) next /= 1 + w * rule.l2 * r[c] * inverse[c] * inverse[c];
            cut(next, kMost);
            weight = static_cast<float>(next);
        }
    }
};

}  // namespace likelier
