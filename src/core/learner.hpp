// Weights that learn from hashed rows, one row at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "hashed.hpp"

namespace likelier {

enum class Optimizer { sgd, adagrad, ftrl };
enum class OnlineLoss { log_loss, hinge, squared_hinge, perceptron, modified_huber };

// How weights move. Numbers are checked by the caller.
struct Rule {
    int bits = 18;
    Optimizer optimizer = Optimizer::adagrad;
    OnlineLoss loss = OnlineLoss::log_loss;
    double rate = 0.5, power = 0.5, beta = 1, l1 = 0, l2 = 0;
    double half_life = 0;  // in rows; 0: nothing is forgotten
    bool normalised = true, invariant = true;
};

// What has been seen, of which nothing but figures is made.
struct Counters {
    int64_t steps = 0;       // rows learned from
    int64_t cells = 0;       // features of those rows
    int64_t collisions = 0;  // cells that met another feature's slot
    int64_t used = 0;        // slots that a feature has taken
    int64_t clipped = 0;     // steps that were cut short
};

class Learner {
  public:
    explicit Learner(const Rule& rule) : rule(rule), mask((uint64_t{1} << rule.bits) - 1) {
        table.assign((mask + 2) * stride(), 0.0f);
    }

    int64_t K() const { return known; }
    const Counters& counters() const { return counted; }

    // One score for two classes (of the second, against the first); otherwise one for each.
    int64_t q() const { return known > 2 ? known : 1; }

    // Room for this many classes, before they are met.
    void grow(int64_t K) {
        if (K <= known) return;
        if (K > 2) relayout(K);
        known = K;
    }

    // The probability of each of the known classes, at least two.
    void predict(const HashedCell* row, int64_t n, double* P) const {
        if (q() == 1) {
            P[1] = 1 / (1 + std::exp(-score(row, n, 0)));
            P[0] = 1 - P[1];
            return;
        }
        double top = -1e300, sum = 0;
        for (int64_t k = 0; k < known; ++k) top = std::max(top, P[k] = score(row, n, k));
        for (int64_t k = 0; k < known; ++k) sum += P[k] = std::exp(P[k] - top);
        for (int64_t k = 0; k < known; ++k) P[k] /= sum;
    }

    // A step at this row; P (at least 2, and code + 1) as it was before. A code that is new is a class
    // more.
    void learn(const HashedCell* row, int64_t n, int32_t code, double w, double* P) {
        predict(row, n, P);
        if (code < 0) return;
        if (code >= known) {
            if (known >= 2) {
                for (int64_t k = 0; k < known; ++k) P[k] *= static_cast<double>(known) / (known + 1);
                P[code] = 1.0 / (known + 1);
            }
            grow(code + 1);
        }
        if (w == 0) return;
        ++counted.steps;
        counted.cells += n;
        const int64_t q = this->q();
        for (int64_t c = 0; c <= n; ++c) {
            const double x = c < n ? row[c].value : 1.0;
            float* at = table.data() + stride() * (c < n ? row[c].key & mask : mask + 1);
            if (c < n) meet(at, row[c].key);
            if (std::abs(x) > at[0]) at[0] = static_cast<float>(std::abs(x));
            const double u = x / at[0];
            for (int64_t k = 0; k < q; ++k) {
                const double g = w * (q == 1 ? P[1] - code : P[k] - (k == code));
                float* own = at + 2 + 2 * k;
                own[1] += static_cast<float>(g * g * u * u);
                if (own[1] > 0) own[0] -= static_cast<float>(rule.rate * g * u / std::sqrt(own[1]) / at[0]);
            }
        }
    }

    // ---- what is kept ------------------------------------------------------------------------------
    int64_t slots() const { return static_cast<int64_t>(mask + 2); }
    int64_t stride() const { return 2 + 2 * room; }
    const float* data() const { return table.data(); }
    void restore(const float* from, int64_t slots, int64_t stride, int64_t K, const Counters& counters) {
        if (slots != this->slots() || stride < 4 || stride % 2 || K < 0 || (K > 2 && stride < 2 + 2 * K))
            throw std::invalid_argument(
                "the table of weights is not that of a learner with these settings");
        table.assign(from, from + slots * stride);
        room = (stride - 2) / 2;
        known = K;
        counted = counters;
    }

  private:
    Rule rule;
    uint64_t mask;
    int64_t known = 0, room = 1;
    std::vector<float> table;  // (slots + 1, stride): scale, tag, then (w, G) for each score
    Counters counted;

    void meet(float* at, uint64_t key) {
        const uint32_t tag = static_cast<uint32_t>(key >> 32) | 1;
        uint32_t found;
        std::memcpy(&found, at + 1, 4);
        if (found == tag) return;
        if (found) {
            ++counted.collisions;
        } else {
            std::memcpy(at + 1, &tag, 4);
            ++counted.used;
        }
    }

    double score(const HashedCell* row, int64_t n, int64_t k) const {
        double z = table[stride() * (mask + 1) + 2 + 2 * k];
        for (int64_t c = 0; c < n; ++c)
            z += row[c].value * table[stride() * (row[c].key & mask) + 2 + 2 * k];
        return z;
    }

    void relayout(int64_t K) {
        const int64_t before = stride(), q = this->q();
        while (room < K) room *= 2;
        std::vector<float> wide(slots() * stride(), 0.0f);
        for (int64_t s = 0; s < slots(); ++s) {
            const float* from = table.data() + s * before;
            float* to = wide.data() + s * stride();
            std::copy(from, from + 2 + 2 * q, to);
            if (q == 1) {
                to[2] = -from[2] / 2;
                to[4] = from[2] / 2;
                to[5] = from[3];
            }
        }
        table = std::move(wide);
    }
};

}  // namespace likelier
