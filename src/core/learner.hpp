// Weights that learn from hashed rows, one row at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "hashed.hpp"

namespace likelier {

// How weights move. Numbers are checked by the caller.
struct Rule {
    int bits = 18;
    double rate = 0.5;
};

class Learner {
  public:
    explicit Learner(const Rule& rule) : rule(rule), mask((uint64_t{1} << rule.bits) - 1) {
        table.assign((mask + 2) * 2, 0.0f);
    }

    int64_t K() const { return known; }

    // One score for two classes (of the second, against the first); otherwise one for each.
    int64_t q() const { return 1; }

    // The probability of each of the known classes, at least two.
    void predict(const HashedCell* row, int64_t n, double* P) const {
        P[1] = 1 / (1 + std::exp(-score(row, n)));
        P[0] = 1 - P[1];
    }

    // A step at this row; P as it was before. A code that is new is a class more.
    void learn(const HashedCell* row, int64_t n, int32_t code, double w, double* P) {
        predict(row, n, P);
        known = std::max<int64_t>(known, code + 1);
        const double g = w * (P[1] - code);
        for (int64_t c = 0; c <= n; ++c) {
            const double x = c < n ? row[c].value : 1.0;
            float* at = table.data() + 2 * (c < n ? row[c].key & mask : mask + 1);
            at[1] += static_cast<float>(g * g * x * x);
            if (at[1] > 0) at[0] -= static_cast<float>(rule.rate * g * x / std::sqrt(at[1]));
        }
    }

  private:
    Rule rule;
    uint64_t mask;
    int64_t known = 0;
    std::vector<float> table;

    double score(const HashedCell* row, int64_t n) const {
        double z = table[2 * (mask + 1)];
        for (int64_t c = 0; c < n; ++c) z += row[c].value * table[2 * (row[c].key & mask)];
        return z;
    }
};

}  // namespace likelier
