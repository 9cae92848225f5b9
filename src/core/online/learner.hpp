// Weights that learn from hashed rows, one row at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <vector>

#include "online/descending.hpp"
#include "online/hashed.hpp"
#include "online/weights.hpp"

namespace likelier {

constexpr double kUnder = 1 - 0x1p-40;

class Learner {
  public:
    // Held by whoever asks it or learns, for one call. Recursive: a row may be of objects that ask as well.
    mutable std::recursive_mutex turn;

    explicit Learner(const Rule& rule) : weights(rule) {}

    int64_t K() const { return weights.K(); }
    void grow(int64_t K) { weights.grow(K); }
    const Weights& inside() const { return weights; }

    // The probability of each of the known classes, at least two.
    void predict(const HashedCell* row, int64_t n, double* P) const {
        double z, *Z = weights.q() == 1 ? &z : P;
        scores(row, n, Z);
        answer(Z, P);
        if (K() == 1) be_sure(P);
    }

    // A step at this row; P (at least 2, and code + 1) as it was before, for the classes that were known.
    void learn(const HashedCell* row, int64_t n, int32_t code, double w, double* P) {
        const int64_t before = K();
        Z.resize(weights.q());
        const bool was_cut = scores(row, n, Z.data());
        answer(Z.data(), P);
        if (code >= before) {
            weights.grow(code + 1);
            Z.resize(weights.q());
            scores(row, n, Z.data());
        }
        if (code >= 0 && w > 0) step(row, n, code, w, P, was_cut);
        if (before == 1) be_sure(P);
        if (before > 0 && code >= before) make_room(code, before, P);
    }

    // All rows in order; P (n, width). Classes that there can be no room for are refused before any step.
    void learn(const HashedRows& rows, double* P, int64_t width) {
        weights.check(width);
        each(rows, [&](int64_t i) {
            learn(rows.row(i), rows.count(i), rows.codes[i], rows.weights[i], P + i * width);
        });
    }

    void predict(const HashedRows& rows, double* P, int64_t width) const {
        each(rows, [&](int64_t i) { predict(rows.row(i), rows.count(i), P + i * width); });
    }

    void restore(const float* table, const uint32_t* tags, int64_t K, const Tallies& sums,
                 const Counters& counters) {
        weights.restore(table, tags, K);
        weights.sums = sums;
        weights.counters = counters;
    }

  private:
    Weights weights;
    Descending descending;
    std::vector<double> Z, push;  // (q)

    // Slots of the row after are on their way while a row is worked at.
    template <class Do>
    void each(const HashedRows& rows, Do&& act) const {
        const int64_t n = rows.size();
        for (int64_t i = 0; i < n; ++i) {
            for (int64_t c = 0; i + 1 < n && c < rows.count(i + 1); ++c) weights.fetch(rows.row(i + 1)[c]);
            act(i);
        }
    }

    bool scores(const HashedCell* row, int64_t n, double* Z) const {
        weights.scores(row, n, Z);
        bool was_cut = false;
        for (int64_t k = 0; k < weights.q(); ++k) was_cut |= cut(Z[k], kFarthest);
        return was_cut;
    }

    void answer(const double* Z, double* P) const {
        const OnlineLoss loss = weights.rule.loss;
        if (weights.q() > 1) {
            link(loss, Z, K(), P);
            return;
        }
        const bool second = *Z > 0;
        // Not 1 minus the other, which is 0 long before this is.
        const auto [likelier, other] = beliefs(loss, std::abs(*Z));
        P[second] = likelier;
        P[!second] = other;
    }

    // One class alone is all that can be said.
    static void be_sure(double* P) {
        P[0] = 1;
        P[1] = 0;
    }

    // A class that is new, of which nothing was known, gets what one more class would have if all were
    // alike; and is not the likeliest among equals.
    static void make_room(int32_t code, int64_t before, double* P) {
        const auto K = static_cast<double>(before);
        for (int64_t k = 0; k < before; ++k) P[k] *= K / (K + 1);
        P[code] = kUnder / (K + 1);
    }

    void step(const HashedCell* row, int64_t n, int32_t code, double w, const double* P, bool was_cut) {
        was_cut |= cut(w, kHeaviest);
        for (int64_t c = 0; c < n; ++c) was_cut |= std::abs(row[c].value) > kMost;
        set_pushes(code, P);
        if (weights.rule.proximal()) {
            follow(row, n, w);
        } else {
            was_cut |= descending.step(weights, row, n, code, w, Z.data(), push.data());
        }
        ++weights.counters.steps;
        weights.counters.cells += n;
        weights.counters.clipped += was_cut;
        weights.age();
    }

    // Minus the slope of the loss by each score.
    void set_pushes(int32_t code, const double* P) {
        const int64_t q = weights.q();
        push.resize(q);
        if (q == 1 && weights.rule.loss == OnlineLoss::log_loss) {
            push[0] = code == 1 ? P[0] : -P[1];
            return;
        }
        if (weights.rule.loss == OnlineLoss::log_loss) {
            link(weights.rule.loss, Z.data(), q, push.data());
            for (int64_t k = 0; k < q; ++k) push[k] = (k == code) - push[k];
            return;
        }
        for (int64_t k = 0; k < q; ++k) {
            const double t = side(q, k, code);
            push[k] = t * likelier::push(weights.rule.loss, t * Z[k]);
        }
    }

    // One step of FTRL-proximal: z += g - (√(n + g²) - √n) w / rate, n += g² (McMahan and others, 2013).
    void follow(const HashedCell* row, int64_t n, double w) {
        const Rule& rule = weights.rule;
        const double inflation = weights.sums.inflation;
        weights.sums.total += w * inflation;
        for (int64_t c = 0; c <= n; ++c) {
            Slot& slot = c < n ? weights.met(row[c]) : weights.intercept();
            weights.renew(slot);
            if (c < n && rule.normalised) slot.count(tamed(row[c].value), w * inflation);
            const double x = c < n ? weights.reached(slot, row[c].value) : 1;
            for (int64_t k = 0; k < weights.q(); ++k) {
                Pair& pair = slot.pairs()[k];
                const double g = -w * push[k] * x, before = pair.G / inflation;
                const double after = std::min(before + g * g, kMostSum / inflation);
                const double back =
                    (std::sqrt(after) - std::sqrt(before)) / rule.rate * weights.weight(slot, k);
                double z = pair.w + (g - back) * inflation;
                cut(z, kMostSum);
                pair = {static_cast<float>(z), static_cast<float>(after * inflation)};
            }
        }
    }
};

}  // namespace likelier
