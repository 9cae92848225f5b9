// Weights that learn from hashed rows, one row at a time.
//
// The rule that stands behind the defaults is AdaGrad (Duchi, Hazan and Singer, 2011), with steps that know
// the units of the features (after Ross, Mineiro and Langford, 2013, "Normalized online learning") and that
// are importance-invariant (margins.hpp). Of a feature with value x,
//
//   s² = mean of x² and μ = mean of x in the rows that have it,  f = the share of rows that have it,
//   u = (x - f² μ) / s,   G += g² u²,   r = rate √(rows / Σ‖u‖²) / (beta + G)^power,
//   Δw = r u step / s,    Δintercept = r₀ step - Σ f² μ Δw,
//
// where g is the slope of the loss and `step` its integral along the way. What is centred is the step, not
// the score: the model stays linear in x, and rows without the feature need not be touched. f² leaves rare
// features alone, and takes from common ones what the intercept says already: without it a column such as
// an air pressure near 1000 fights the intercept for as long as the stream lasts. A value beyond all that
// were seen shrinks the weight, so that no score leaps because of one cell.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "hashed.hpp"
#include "margins.hpp"
#include "slots.hpp"

namespace likelier {

enum class Optimizer { sgd, adagrad, ftrl };

// How weights move. Numbers are checked by the caller.
struct Rule {
    int bits = 18;
    Optimizer optimizer = Optimizer::adagrad;
    OnlineLoss loss = OnlineLoss::log_loss;
    double rate = 0.8, power = 0.5, beta = 1, l1 = 0, l2 = 0;
    double half_life = 0;  // in rows; 0: nothing is forgotten
    bool normalised = true, invariant = true;
};

// What has been seen, of which nothing but figures is made.
struct Counters {
    int64_t steps = 0;       // rows learned from
    int64_t cells = 0;       // features of those rows
    int64_t collisions = 0;  // cells that met a slot which another feature had taken
    int64_t used = 0;        // slots that a feature has taken
    int64_t clipped = 0;     // steps at which a value, a score or the step itself was cut
};

// Sums over rows. With forgetting, a row counts `inflation` times: rather than the past being made smaller
// at every row, the present is made larger.
struct Sums {
    double total = 0;      // weight of the rows
    double norms = 0;      // Σ‖u‖² over them
    double inflation = 1;  // 2^(rows / half_life), up to a factor
};

class Learner {
  public:
    explicit Learner(const Rule& rule)
        : rule(rule),
          normalised(rule.normalised && rule.optimizer != Optimizer::ftrl),
          growth(rule.half_life > 0 ? std::exp2(1 / rule.half_life) : 1),
          slots(rule.bits, 1) {}

    int64_t K() const { return known; }
    const Counters& counters() const { return counted; }

    // One score for two classes (of the second, against the first); otherwise one for each.
    int64_t q() const { return known > 2 ? known : 1; }

    // As if this many classes had been met.
    void grow(int64_t K) {
        if (K <= known) return;
        if (K > 2) {
            const bool binary = q() == 1;
            slots.widen(K);
            if (binary) split();
        }
        known = K;
    }

    // The probability of each of the known classes, at least two.
    void predict(const HashedCell* row, int64_t n, double* P) const {
        double z;
        scores(row, n, q() == 1 ? &z : P);
        for (int64_t k = 0; k < q(); ++k) cut(q() == 1 ? z : P[k]);
        answer(q() == 1 ? &z : P, P);
    }

    // A step at this row; P (at least 2, and code + 1) as it was before. A code that is new is a class
    // more, which nothing was known of: it gets what one more class would have if all were alike.
    void learn(const HashedCell* row, int64_t n, int32_t code, double w, double* P) {
        predict(row, n, P);
        if (code < 0) return;
        if (code >= known) {
            const auto K = static_cast<double>(known);
            if (known >= 2) {
                for (int64_t k = 0; k < known; ++k) P[k] *= K / (K + 1);
                P[code] = 1 / (K + 1);
            }
            grow(code + 1);
        }
        if (w > 0) step(row, n, code, w);
    }

    // All rows, in order; P (n, width). A code that there can be no room for is refused before any step.
    void learn(const HashedRows& rows, double* P, int64_t width) {
        const int64_t n = rows.size();
        if (width > 2) slots.check(width);
        for (int64_t i = 0; i < n; ++i) {
            if (i + 1 < n) fetch(rows.row(i + 1), rows.count(i + 1));
            learn(rows.row(i), rows.count(i), rows.codes[i], rows.weights[i], P + i * width);
        }
    }

    void predict(const HashedRows& rows, double* P, int64_t width) const {
        const int64_t n = rows.size();
        for (int64_t i = 0; i < n; ++i) {
            if (i + 1 < n) fetch(rows.row(i + 1), rows.count(i + 1));
            predict(rows.row(i), rows.count(i), P + i * width);
        }
    }

    // ---- what is kept ------------------------------------------------------------------------------
    // Of each slot: most, seen, mean, square, then a pair for each score; the last is the intercept's.
    int64_t rows() const { return slots.count() + 1; }
    int64_t width() const { return 4 + 2 * q(); }
    const Sums& sums() const { return summed; }

    void save(float* table, uint32_t* tags) const {
        for (int64_t s = 0; s < rows(); ++s, table += width()) {
            const Slot& slot = slots.at(s);
            const double seen = std::ldexp(slot.seen, -missed(slot) * fade_seen());
            const float head[] = {slot.most, static_cast<float>(seen), slot.mean, slot.square};
            std::copy(head, head + 4, table);
            for (int64_t k = 0; k < q(); ++k) {
                const Pair pair = faded(slot, slot.pairs()[k]);
                table[4 + 2 * k] = pair.w;
                table[5 + 2 * k] = pair.G;
            }
            tags[s] = slot.tag;
        }
    }

    void restore(const float* table, const uint32_t* tags, int64_t K, const Sums& sums,
                 const Counters& counters) {
        slots = Slots(rule.bits, 1);
        known = 0;
        renewals = 0;
        grow(K);
        summed = sums;
        counted = counters;
        for (int64_t s = 0; s < rows(); ++s, table += width()) {
            Slot& slot = slots.at(s);
            slot = {table[0], tags[s], table[1], table[2], table[3], 0};
            for (int64_t k = 0; k < q(); ++k) slot.pairs()[k] = {table[4 + 2 * k], table[5 + 2 * k]};
        }
    }

  private:
    // float32 holds squares of what lies between these, and their sums.
    static constexpr double kLeast = 1e-18, kMost = 1e18, kMostSum = 1e37;
    // A step that moves a score farther than from one end to the other is cut.
    static constexpr double kLongest = 2 * kFarthest;
    // The intercept is moved by every row and fights for none of them: longer steps, which follow the rate
    // of the classes as it drifts, cost the other weights nothing.
    static constexpr double kLift = 4;
    // Sums are scaled down where they would lose digits (float32 counts to 2^24) or overflow.
    static constexpr double kManyRows = 1 << 22;
    static constexpr int kFade = 64;

    // What a step has to know of a feature of its row.
    struct Taken {
        Slot* slot;
        double u, inverse, centre;  // (x - centre) inverse = u
    };

    Rule rule;
    bool normalised;
    double growth;
    Slots slots;
    int64_t known = 0;
    uint32_t renewals = 0;  // of the table
    Sums summed;
    Counters counted;
    std::vector<Taken> taken;   // (n + 1), the intercept last
    std::vector<double> rates;  // (n + 1, q)
    std::vector<double> room;   // (6, q)

    void fetch(const HashedCell* row, int64_t n) const {
        for (int64_t c = 0; c < n; ++c) __builtin_prefetch(&slots.of(row[c].key), 1);
    }

    static bool cut(double& x, double most = kFarthest) {
        if (std::abs(x) <= most) return false;
        x = std::isnan(x) ? 0 : std::copysign(most, x);
        return true;
    }

    static double tamed(double x) { return std::copysign(std::clamp(std::abs(x), kLeast, kMost), x); }

    // ---- forgetting --------------------------------------------------------------------------------
    bool forgets() const { return rule.half_life > 0; }
    int fade_seen() const { return forgets() ? kFade : 1; }

    int missed(const Slot& slot) const {
        return static_cast<int>(std::min<uint32_t>(renewals - slot.renewal, 1000));
    }

    // As it would be had its slot been scaled down with the others.
    Pair faded(const Slot& slot, Pair pair) const {
        if (!forgets()) return pair;
        const int down = -kFade * missed(slot);
        if (rule.optimizer == Optimizer::ftrl) pair.w = std::ldexp(pair.w, down);
        return {pair.w, std::ldexp(pair.G, down)};
    }

    void renew(Slot& slot) {
        if (slot.renewal == renewals) return;
        slot.seen = std::ldexp(slot.seen, -missed(slot) * fade_seen());
        for (int64_t k = 0; k < q(); ++k) slot.pairs()[k] = faded(slot, slot.pairs()[k]);
        slot.renewal = renewals;
    }

    // Slots follow when they are met: no row pays for the table.
    void age() {
        summed.inflation *= growth;
        while (forgets() ? summed.inflation > std::exp2(kFade) : summed.total > kManyRows) {
            summed.total = std::ldexp(summed.total, -fade_seen());
            summed.norms = std::ldexp(summed.norms, -fade_seen());
            if (forgets()) summed.inflation = std::ldexp(summed.inflation, -kFade);
            ++renewals;
        }
    }

    // ---- scores ------------------------------------------------------------------------------------
    // w = -(z - sign(z) l1) / ((beta + √n) / rate + l2), 0 where |z| ≤ l1 (McMahan and others, 2013).
    double proximal(double z, double n, double l1, double l2) const {
        if (std::abs(z) <= l1) return 0;
        double w = -(z - std::copysign(l1, z)) / ((rule.beta + std::sqrt(n)) / rule.rate + l2);
        cut(w, kMost);
        return w;
    }

    double weight(const Slot& slot, int64_t k) const {
        if (rule.optimizer != Optimizer::ftrl) return slot.pairs()[k].w;
        const Pair pair = faded(slot, slot.pairs()[k]);
        const bool free = &slot == &slots.intercept();
        return proximal(pair.w / summed.inflation, pair.G / summed.inflation, free ? 0 : rule.l1,
                        free ? 0 : rule.l2);
    }

    // x, as far as values of its feature have gone: beyond that nothing is known.
    double reached(const Slot& slot, double x) const {
        x = tamed(x);
        return normalised && std::abs(x) > slot.most ? std::copysign(double{slot.most}, x) : x;
    }

    __attribute__((noinline)) void scores(const HashedCell* row, int64_t n, double* Z) const {
        const int64_t q = this->q();
        for (int64_t k = 0; k < q; ++k) Z[k] = weight(slots.intercept(), k);
        for (int64_t c = 0; c < n; ++c) {
            const Slot& slot = slots.of(row[c].key);
            const double x = reached(slot, row[c].value);
            for (int64_t k = 0; k < q; ++k) Z[k] += x * weight(slot, k);
        }
    }

    void answer(const double* Z, double* P) const {
        if (q() > 1) return link(rule.loss, Z, known, P);
        P[1] = belief(rule.loss, Z[0]);
        P[0] = 1 - P[1];
    }

    // ---- steps -------------------------------------------------------------------------------------
    void step(const HashedCell* row, int64_t n, int32_t code, double w) {
        const int64_t q = this->q();
        room.resize(6 * q);
        double *Z = room.data(), *push = Z + q;
        scores(row, n, Z);
        bool was_cut = false;
        for (int64_t k = 0; k < q; ++k) was_cut |= cut(Z[k]);
        for (int64_t c = 0; c < n; ++c) was_cut |= std::abs(row[c].value) > kMost;
        pushes(Z, code, push);
        if (rule.optimizer == Optimizer::ftrl) {
            follow(row, n, w, push);
        } else if (q == 1) {
            was_cut |= descend<true>(row, n, code, w);
        } else {
            was_cut |= descend<false>(row, n, code, w);
        }
        ++counted.steps;
        counted.cells += n;
        counted.clipped += was_cut;
        age();
    }

    // 1 or -1: what the score of class k should be, if there is more than one, or the only one.
    double sign(int64_t k, int32_t code) const { return (q() == 1 ? code == 1 : code == k) ? 1 : -1; }

    // Minus the slope of the loss by each score.
    void pushes(const double* Z, int32_t code, double* push) const {
        if (softmax()) {
            link(rule.loss, Z, known, push);
            for (int64_t k = 0; k < known; ++k) push[k] = (k == code) - push[k];
            return;
        }
        for (int64_t k = 0; k < q(); ++k)
            push[k] = sign(k, code) * likelier::push(rule.loss, sign(k, code) * Z[k]);
    }

    bool softmax() const { return rule.loss == OnlineLoss::log_loss && q() > 1; }

    Slot& met(const HashedCell& cell) {
        Slot& slot = slots.of(cell.key);
        const uint32_t tag = static_cast<uint32_t>(cell.key >> 32) | 1;
        if (slot.tag != tag) {
            counted.collisions += slot.tag != 0;
            counted.used += slot.tag == 0;
            if (!slot.tag) slot.tag = tag;
        }
        renew(slot);
        return slot;
    }

    // The feature as the step sees it, which counts it first; `a` is the weight of its row.
    template <bool single>
    Taken take(Slot& slot, double x, double a, double per_row) const {
        if (!normalised) return {&slot, x, 1, 0};
        const double size = std::abs(x);
        if (size > slot.most) {
            const double shrink = slot.most / size;
            for (int64_t k = 0; k < (single ? 1 : known); ++k)
                slot.pairs()[k].w = static_cast<float>(slot.pairs()[k].w * shrink);
            slot.most = static_cast<float>(size);
        }
        const double seen = slot.seen + a, part = a / seen;
        const double mean = slot.mean + part * (x - slot.mean);
        const double square = slot.square + part * (x * x - slot.square);
        slot.seen = static_cast<float>(seen);
        slot.mean = static_cast<float>(mean);
        slot.square = static_cast<float>(square);
        const double share = seen * per_row, centre = share * share * mean, inverse = 1 / std::sqrt(square);
        return {&slot, (x - centre) * inverse, inverse, centre};
    }

    double falloff(double G) const {
        const double sum = rule.beta + G;
        if (!(sum > 0)) return 0;
        return rule.power == 0.5 ? 1 / std::sqrt(sum) : std::pow(sum, -rule.power);
    }

    // How long steps are for a feature of unit size, before what the feature has met makes them shorter.
    double base() const {
        const double rate = normalised ? rule.rate * std::sqrt(summed.total / summed.norms) : rule.rate;
        return rule.optimizer == Optimizer::sgd
                   ? rate * std::pow(1.0 + static_cast<double>(counted.steps), -rule.power)
                   : rate;
    }

    // One step of SGD or AdaGrad; whether it had to be cut.
    template <bool single>
    bool descend(const HashedCell* row, int64_t n, int32_t code, double w) {
        const int64_t q = single ? 1 : known;
        const double *Z = room.data(), *push = Z + q;
        double *lengths = room.data() + 2 * q, *steps = lengths + q;
        const double a = w * summed.inflation;
        summed.total += a;
        taken.resize(n + 1);
        rates.resize((n + 1) * q);
        double norm = 1;
        const double per_row = 1 / (summed.total + summed.inflation);
        for (int64_t c = 0; c < n; ++c) {
            taken[c] = take<single>(met(row[c]), tamed(row[c].value), a, per_row);
            norm += taken[c].u * taken[c].u;
        }
        Slot& intercept = slots.intercept();
        renew(intercept);
        taken[n] = {&intercept, 1, 1, 0};
        summed.norms += a * norm;

        std::fill(lengths, lengths + q, 0.0);
        const bool adaptive = rule.optimizer == Optimizer::adagrad;
        const double base = this->base(), deflate = 1 / summed.inflation;
        for (int64_t c = 0; c <= n; ++c) {
            const double u2 = taken[c].u * taken[c].u, lift = c == n && normalised ? kLift * base : base;
            for (int64_t k = 0; k < q; ++k) {
                Pair& pair = taken[c].slot->pairs()[k];
                double r = lift;
                if (adaptive) {
                    const double G = std::min(pair.G + a * push[k] * push[k] * u2, kMostSum);
                    pair.G = static_cast<float>(G);
                    r *= falloff(G * deflate);
                }
                rates[c * q + k] = r;
                lengths[k] += r * u2;
            }
        }
        const bool was_cut = move(Z, code, w, push, lengths, steps);
        apply<single>(w, steps);
        return was_cut;
    }

    // How far each score goes, by its length: the integral of the push, times the weight.
    bool move(const double* Z, int32_t code, double w, const double* push, const double* lengths,
              double* steps) {
        const int64_t q = this->q();
        bool was_cut = false;
        if (rule.invariant && softmax()) {
            double *h = steps + q, *half = h + q;
            std::vector<double> moved(Z, Z + q), P(q);
            for (int64_t k = 0; k < q; ++k) h[k] = w * lengths[k];
            softmax_move(moved.data(), h, q, code, P.data(), half);
            for (int64_t k = 0; k < q; ++k) steps[k] = moved[k] - Z[k];
        } else {
            for (int64_t k = 0; k < q; ++k) {
                const double t = sign(k, code), h = w * lengths[k];
                steps[k] = rule.invariant ? t * invariant_move(rule.loss, t * Z[k], h) : h * push[k];
            }
        }
        for (int64_t k = 0; k < q; ++k) {
            was_cut |= cut(steps[k], kLongest);
            steps[k] = lengths[k] > 0 ? steps[k] / lengths[k] : 0;
        }
        return was_cut;
    }

    template <bool single>
    void apply(double w, const double* steps) {
        const int64_t q = single ? 1 : known, n = static_cast<int64_t>(taken.size()) - 1;
        for (int64_t k = 0; k < q; ++k) {
            double back = 0;
            for (int64_t c = 0; c <= n; ++c) {
                const Taken& own = taken[c];
                float& weight = own.slot->pairs()[k].w;
                const double r = rates[c * q + k], by = steps[k] * r * own.u * own.inverse;
                double next = weight + by;
                if (rule.l2 > 0 && c < n) next /= 1 + w * r * own.inverse * own.inverse * rule.l2;
                back += own.centre * by;
                if (c == n) next -= back;
                cut(next, kMost);
                weight = static_cast<float>(next);
            }
        }
    }

    // One step of FTRL-proximal: z += g - (√(n + g²) - √n) w / rate, n += g².
    void follow(const HashedCell* row, int64_t n, double w, const double* push) {
        summed.total += w * summed.inflation;
        for (int64_t c = 0; c <= n; ++c) {
            const double x = c < n ? tamed(row[c].value) : 1;
            Slot& slot = c < n ? met(row[c]) : slots.intercept();
            renew(slot);
            for (int64_t k = 0; k < q(); ++k) {
                Pair& pair = slot.pairs()[k];
                const double g = -w * push[k] * x, before = pair.G / summed.inflation;
                const double after = std::min(before + g * g, kMostSum / summed.inflation);
                const double back = (std::sqrt(after) - std::sqrt(before)) / rule.rate * weight(slot, k);
                double z = pair.w + (g - back) * summed.inflation;
                cut(z, kMostSum);
                pair = {static_cast<float>(z), static_cast<float>(after * summed.inflation)};
            }
        }
    }

    // From one score to two that answer alike: -z/2 and z/2 under softmax, -z and z apart.
    void split() {
        const double part = rule.loss == OnlineLoss::log_loss ? 0.5 : 1;
        for (int64_t s = 0; s < rows(); ++s) {
            Slot& slot = slots.at(s);
            const Pair one = slot.pairs()[0];
            double w = one.w * part;
            if (rule.optimizer == Optimizer::ftrl && s < slots.count()) {
                renew(slot);
                const double l1 = rule.l1 * summed.inflation, z = std::abs(slot.pairs()[0].w);
                w = std::copysign(z > l1 ? l1 + (z - l1) * part : z * part, one.w);
            }
            slot.pairs()[1] = {static_cast<float>(w), slot.pairs()[0].G};
            slot.pairs()[0].w = static_cast<float>(-w);
        }
    }
};

}  // namespace likelier
