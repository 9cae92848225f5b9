// The weights of an online learner: how they lie in the table, what they answer, and how they forget.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "losses/margins.hpp"
#include "online/hashed.hpp"
#include "online/slots.hpp"

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

    bool proximal() const { return optimizer == Optimizer::ftrl; }
    bool forgets() const { return half_life > 0; }
};

// What has been met, of which nothing but figures is made.
struct Counters {
    int64_t steps = 0;       // rows learned from
    int64_t cells = 0;       // features of those rows
    int64_t collisions = 0;  // cells that met a slot which another feature had taken
    int64_t used = 0;        // slots that a feature has taken
    int64_t clipped = 0;     // steps at which a value, a score or the step itself was cut
};

// Sums over rows. With forgetting, a row counts `inflation` times: rather than the past being made smaller
// at every row, the present is made larger. Weights are kept so, too, and read divided by it: one whose
// feature does not come again halves in each half-life, and no row pays for the table.
struct Tallies {
    double total = 0;      // weight of the rows
    double norms = 0;      // Σ‖u‖² over them
    double inflation = 1;  // 2^(rows / half_life), up to a factor
};

// float32 holds the squares of what lies between these, and sums of them.
constexpr double kLeast = 1e-18, kMost = 1e18, kMostSum = 1e37;
// Sums of weights, which forgetting inflates by up to 2^64, are among them.
constexpr double kHeaviest = 1e12;

inline double tamed(double x) {
    return std::copysign(std::clamp(std::abs(x), kLeast, kMost), x);
}

inline bool cut(double& x, double most) {
    if (std::abs(x) <= most) return false;
    x = std::isnan(x) ? 0 : std::copysign(most, x);
    return true;
}

class Weights {
  public:
    const Rule rule;
    Tallies sums;
    Counters counters;

    explicit Weights(const Rule& rule)
        : rule(rule), growth(rule.forgets() ? std::exp2(1 / rule.half_life) : 1), slots(rule.bits, 1) {}

    int64_t K() const { return known; }

    // One score for two classes (of the second, against the first); otherwise one for each.
    int64_t q() const { return known > 2 ? known : 1; }

    Slot& intercept() const { return slots.intercept(); }
    void fetch(const HashedCell& cell) const { __builtin_prefetch(&slots.of(cell.key), 1); }

    // The slot of a feature that is learned from, up to date.
    Slot& met(const HashedCell& cell) {
        Slot& slot = slots.of(cell.key);
        const uint32_t tag = static_cast<uint32_t>(cell.key >> 32) | 1;
        if (slot.tag != tag) {
            counters.collisions += slot.tag != 0;
            counters.used += slot.tag == 0;
            if (!slot.tag) slot.tag = tag;
        }
        renew(slot);
        return slot;
    }

    // ---- scores ------------------------------------------------------------------------------------
    double weight(const Slot& slot, int64_t k) const {
        if (rule.proximal()) return proximal(slot, k);
        return rule.forgets() ? faded(slot, k).w / sums.inflation : slot.pairs()[k].w;
    }

    // What a weight is multiplied by where it is kept, after a row that had its feature: the row fades no
    // weight that it has taught, and every row without the feature fades it by 1 / growth.
    double ahead() const { return sums.inflation * growth; }

    // Z (q). Not inlined: a row that is answered and one that is learned from get the same bits.
    __attribute__((noinline)) void scores(const HashedCell* row, int64_t n, double* Z) const {
        if (q() == 1 && !rule.proximal() && !rule.forgets()) {
            *Z = score(row, n);
            return;
        }
        for (int64_t k = 0; k < q(); ++k) Z[k] = weight(intercept(), k);
        for (int64_t c = 0; c < n; ++c) {
            const Slot& slot = slots.of(row[c].key);
            const double x = reached(slot, row[c].value);
            for (int64_t k = 0; k < q(); ++k) Z[k] += x * weight(slot, k);
        }
    }

    // W (q), what one unit of a feature adds to the scores.
    void of_feature(uint64_t key, double* W) const {
        const Slot& slot = slots.of(key);
        const bool in_units = rule.normalised && rule.proximal() && slot.square > 0;
        for (int64_t k = 0; k < q(); ++k)
            W[k] = weight(slot, k) / (in_units ? std::sqrt(double{slot.square}) : 1.0);
    }

    // Slots with a weight that is not 0, without the intercept's.
    int64_t nonzero() const {
        int64_t found = 0;
        for (int64_t s = 0; s < slots.count(); ++s) {
            bool any = false;
            for (int64_t k = 0; k < q(); ++k) any |= weight(slots.at(s), k) != 0;
            found += any;
        }
        return found;
    }

    // x, as far as values of its feature have gone: beyond that nothing is known. FTRL's weights, which are
    // never seen by themselves, are for x in units of its root mean square.
    double reached(const Slot& slot, double x) const {
        x = tamed(x);
        if (!rule.normalised) return x;
        if (std::abs(x) > slot.most) x = std::copysign(double{slot.most}, x);
        return rule.proximal() && x != 0 ? x / std::sqrt(slot.square) : x;
    }

    // ---- forgetting --------------------------------------------------------------------------------
    void renew(Slot& slot) const {
        if (slot.renewal == renewals) return;
        slot.seen = seen(slot);
        for (int64_t k = 0; k < q(); ++k) slot.pairs()[k] = faded(slot, k);
        slot.renewal = renewals;
    }

    // A row has passed. Sums are scaled down where they would lose digits (float32 counts to 2^24) or
    // overflow; slots follow when they are met, so that no row pays for the table.
    void age() {
        sums.inflation *= growth;
        while (rule.forgets() ? sums.inflation > std::exp2(kFade) : sums.total > kManyRows) {
            sums.total = std::ldexp(sums.total, -fade());
            sums.norms = std::ldexp(sums.norms, -fade());
            if (rule.forgets()) sums.inflation = std::ldexp(sums.inflation, -kFade);
            ++renewals;
        }
    }

    // ---- more classes ------------------------------------------------------------------------------
    void check(int64_t K) const {
        if (K > 2) slots.check(K);
    }

    // As if this many had been met. Nothing that was answered changes, but for the room for one more.
    void grow(int64_t K) {
        if (K <= known) return;
        if (K > 2) {
            slots.widen(K);
            if (q() == 1) split();
        }
        known = K;
    }

    // ---- what is kept ------------------------------------------------------------------------------
    // Of each slot: most, seen, mean, square, then a pair for each score; the last is the intercept's.
    int64_t rows() const { return slots.count() + 1; }
    int64_t width() const { return 4 + 2 * q(); }

    // Into zeros.
    void save(float* table, uint32_t* tags) const {
        for (int64_t s = 0; s < rows(); ++s, table += width()) {
            if (!slots.holds(s)) continue;
            const Slot& slot = slots.at(s);
            const float head[] = {slot.most, seen(slot), slot.mean, slot.square};
            std::copy(head, head + 4, table);
            for (int64_t k = 0; k < q(); ++k) {
                const Pair pair = faded(slot, k);
                table[4 + 2 * k] = pair.w;
                table[5 + 2 * k] = pair.G;
            }
            tags[s] = slot.tag;
        }
    }

    void restore(const float* table, const uint32_t* tags, int64_t K) {
        slots = SlotTable(rule.bits, 1);
        renewals = 0;
        known = 0;
        grow(K);
        for (int64_t s = 0; s < rows(); ++s, table += width()) {
            if (!tags[s] && s < slots.count()) continue;  // nobody's
            Slot& slot = slots.at(s);
            slot = {table[0], tags[s], table[1], table[2], table[3], 0};
            for (int64_t k = 0; k < q(); ++k) slot.pairs()[k] = {table[4 + 2 * k], table[5 + 2 * k]};
        }
    }

  private:
    static constexpr double kManyRows = 1 << 22;
    static constexpr int kFade = 64;  // a factor of 2^-64

    double growth;
    SlotTable slots;
    int64_t known = 0;
    uint32_t renewals = 0;

    // Four sums side by side: one alone would wait for each product.
    double score(const HashedCell* row, int64_t n) const {
        double z[4] = {intercept().pairs()->w, 0, 0, 0};
        for (int64_t c = 0; c < n; ++c) {
            const Slot& slot = slots.of(row[c].key);
            z[c % 4] += reached(slot, row[c].value) * slot.pairs()->w;
        }
        return (z[0] + z[1]) + (z[2] + z[3]);
    }

    // w = -(z - sign(z) l1) / ((beta + √n) / rate + l2), 0 where |z| ≤ l1 (McMahan and others, 2013).
    double proximal(const Slot& slot, int64_t k) const {
        const Pair pair = faded(slot, k);
        const bool free = &slot == &intercept();
        const double z = pair.w / sums.inflation, n = pair.G / sums.inflation;
        const double l1 = free ? 0 : rule.l1, l2 = free ? 0 : rule.l2;
        if (std::abs(z) <= l1) return 0;
        double w = -(z - std::copysign(l1, z)) / ((rule.beta + std::sqrt(n)) / rule.rate + l2);
        cut(w, kMost);
        return w;
    }

    // Numbers of a slot as if it had been scaled down with the others.
    int fade() const { return rule.forgets() ? kFade : 1; }
    int missed(const Slot& slot) const {
        return static_cast<int>(std::min<uint32_t>(renewals - slot.renewal, 1000));
    }
    float seen(const Slot& slot) const { return std::ldexp(slot.seen, -fade() * missed(slot)); }
    Pair faded(const Slot& slot, int64_t k) const {
        const Pair pair = slot.pairs()[k];
        if (!rule.forgets() || slot.renewal == renewals) return pair;
        const int down = -kFade * missed(slot);
        return {std::ldexp(pair.w, down), std::ldexp(pair.G, down)};
    }

    // From one score to two that answer alike: -z/2 and z/2 under softmax, -z and z apart.
    void split() {
        const float part = rule.loss == OnlineLoss::log_loss ? 0.5f : 1.0f;
        for (int64_t s = 0; s < rows(); ++s) {
            if (!slots.holds(s)) continue;
            Slot& slot = slots.at(s);
            renew(slot);
            Pair* pairs = slot.pairs();
            // What l1 takes off z stays whole.
            const double l1 = rule.proximal() && s < slots.count() ? rule.l1 * sums.inflation : 0;
            const double z = std::abs(pairs->w), kept = std::min(z, l1);
            const auto w = static_cast<float>(std::copysign(kept + (z - kept) * part, pairs->w));
            pairs[1] = {w, pairs->G};
            pairs[0].w = 0.0f - w;  // never -0: a slot that holds nothing is all zeros
        }
    }
};

}  // namespace likelier
