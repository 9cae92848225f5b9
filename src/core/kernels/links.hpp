// From scores Z (n, K) to answers: log-sum-exp, probabilities, the best class.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/simd.hpp"

namespace likelier {

// Rows handled at a time: their scores stay in the first-level cache while exp runs over them as one
// flat array, which wastes no lane whatever K is.
inline int64_t link_rows(int64_t K) {
    return std::max<int64_t>(1, 1024 / std::max<int64_t>(K, 1));
}

// Calls use(first, count, Z of these rows, e = exp(Z - row maximum), sums of e, row maxima).
template <class Use>
void each_exp(const double* Z, int64_t n, int64_t K, Use&& use) {
    const int64_t height = link_rows(K);
    const int64_t size = (height * K + kLanes - 1) / kLanes * kLanes;
    Buffer e(size, 0.0);
    std::vector<double> top(height), sum(height);
    for (int64_t first = 0; first < n; first += height) {
        const int64_t count = std::min(height, n - first);
        const double* z = Z + first * K;
        for (int64_t r = 0; r < count; ++r) {
            double best = z[r * K];
            for (int64_t k = 1; k < K; ++k) best = z[r * K + k] > best ? z[r * K + k] : best;  // no branch
            top[r] = best;
            if (!std::isfinite(top[r])) top[r] = 0;  // all -inf: the caller's sums say so
            for (int64_t k = 0; k < K; ++k) e[r * K + k] = z[r * K + k] - top[r];
        }
        for (int64_t i = 0; i < count * K; i += kLanes) store(&e[i], exp(load(&e[i])));
        for (int64_t r = 0; r < count; ++r) {
            double s = 0;
            for (int64_t k = 0; k < K; ++k) s += e[r * K + k];
            sum[r] = s;
        }
        use(first, count, e.data(), sum.data(), top.data());
    }
}

// P_k = e^{z_k} / Σ e^{z}, in place.
inline void softmax(double* Z, int64_t n, int64_t K) {
    each_exp(Z, n, K, [&](int64_t first, int64_t count, const double* e, const double* sum, const double*) {
        for (int64_t r = 0; r < count; ++r) {
            const double scale = 1 / sum[r];
            for (int64_t k = 0; k < K; ++k) Z[(first + r) * K + k] = e[r * K + k] * scale;
        }
    });
}

// out = ln Σ_k e^{z_k}.
inline void log_sum_exp(const double* Z, int64_t n, int64_t K, double* out) {
    each_exp(Z, n, K,
             [&](int64_t first, int64_t count, const double*, const double* sum, const double* top) {
                 for (int64_t r = 0; r < count; ++r) out[first + r] = top[r] + std::log(sum[r]);
             });
}

// z - ln Σ e^z, in place.
inline void log_softmax(double* Z, int64_t n, int64_t K) {
    each_exp(Z, n, K,
             [&](int64_t first, int64_t count, const double*, const double* sum, const double* top) {
                 for (int64_t r = 0; r < count; ++r) {
                     const double total = top[r] + std::log(sum[r]);
                     for (int64_t k = 0; k < K; ++k) Z[(first + r) * K + k] -= total;
                 }
             });
}

// The first of the largest.
inline void argmax(const double* Z, int64_t n, int64_t K, int64_t* out) {
    for (int64_t r = 0; r < n; ++r) {
        const double* z = Z + r * K;
        int64_t best = 0;
        for (int64_t k = 1; k < K; ++k) best = z[k] > z[best] ? k : best;
        out[r] = best;
    }
}

}  // namespace likelier
