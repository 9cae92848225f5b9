// What comes before a learner: the weight that a row's class gives it, and the count of what came.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "online/hashed.hpp"

namespace likelier {

// How much a row counts by its class, and what has come so far.
struct Tally {
    std::vector<double> factors;  // by class, given; none: 1
    bool balanced = false;        // or by how often it came: n / (K n_k), the row itself included
    std::vector<double> counts;   // by class: the weight of its rows
    int64_t mistakes = 0;         // answers, before a step, that were not the label
    int64_t skipped = 0;          // cells that were no finite numbers

    double weigh(int32_t code, double w) {
        if (code < 0) return w;
        const auto k = static_cast<size_t>(code);
        if (k >= counts.size()) counts.resize(k + 1, 0.0);
        counts[k] += w;
        if (balanced && w > 0) {
            const auto met = std::count_if(counts.begin(), counts.end(), [](double n) { return n > 0; });
            w *=
                std::accumulate(counts.begin(), counts.end(), 0.0) / (static_cast<double>(met) * counts[k]);
        }
        return k < factors.size() ? w * factors[k] : w;
    }

    // P: of one row, of K classes, from before the step.
    void judge(int32_t code, double w, const double* P, int64_t K) {
        if (code >= 0 && w > 0) mistakes += std::max_element(P, P + K) - P != code;
    }
};

}  // namespace likelier
