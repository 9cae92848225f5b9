// The expectation of EM: from scores of components to responsibilities, and the sums that they make of
// rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/links.hpp"
#include "kernels/matrix.hpp"
#include "kernels/tile.hpp"

namespace likelier {

// A responsibility below this is none: the reciprocal of a smaller one overflows.
constexpr double kLeastShare = 1e-290;

// Z (n, K) becomes r_k = e^{z_k} / Σ e^z, and out = ln Σ e^z: one exp for both. A row that no component
// allows (all -inf) has no share in any.
inline void responsibilities(double* Z, int64_t n, int64_t K, double* out) {
    each_exp(Z, n, K,
             [&](int64_t first, int64_t count, const double* e, const double* sum, const double* top) {
                 for (int64_t r = 0; r < count; ++r) {
                     const double scale = sum[r] > 0 ? 1 / sum[r] : 0;
                     out[first + r] = top[r] + std::log(sum[r]);
                     for (int64_t k = 0; k < K; ++k) {
                         const double share = e[r * K + k] * scale;
                         Z[(first + r) * K + k] = share < kLeastShare ? 0 : share;
                     }
                 }
             });
}

// Σ w dᵀ and Σ w ddᵀ about a centre for each component, which is known beforehand: that of the last step,
// near what the new mean will be. So each row is read once, and no digits are lost.
class CentredSums {
  public:
    CentredSums(int64_t K, int64_t p, bool tied)
        : K(K),
          p(p),
          P(scatter_width(p)),
          height(std::max<int64_t>({(12 << 10) / (8 * P), 48, P / 4})),
          blocks(tied ? 1 : K),
          centres(K * P, 0.0),
          sums(K * P, 0.0),
          x(height * P, 0.0),
          d(height * P, 0.0),
          wd(height * P, 0.0),
          S(blocks * P * P, 0.0),
          n(K, 0.0) {}

    void centre(const double* means) {
        for (int64_t k = 0; k < K; ++k) std::copy(means + k * p, means + (k + 1) * p, &centres[k * P]);
    }

    // `count` rows, at most `height`; R (count, K), weights of rows or null.
    void add(const Rows& rows, int64_t count, const double* R, const double* weights) {
        for (int64_t r = 0; r < count; ++r)
            std::copy(rows.x + r * rows.stride, rows.x + r * rows.stride + p, &x[r * P]);
        for (int64_t k = 0; k < K; ++k) {
            const int64_t used = centred(k, count, R, weights);
            if (used > 0) scatter_upper(wd.data(), d.data(), used, P, &S[(blocks == 1 ? 0 : k) * P * P]);
        }
    }

    // Whether all sums are finite: if a cell is not, some are not.
    bool finish(double* total, double* first, double* second) const {
        double check = 0;
        for (int64_t k = 0; k < K; ++k) {
            total[k] = n[k];
            std::copy(&sums[k * P], &sums[k * P] + p, first + k * p);
            for (int64_t j = 0; j < p; ++j) check += sums[k * P + j] * 0;
        }
        for (int64_t b = 0; b < blocks; ++b) mirror(&S[b * P * P], p, P, second + b * p * p);
        return check == 0;
    }

    const int64_t K, p, P, height, blocks;

  private:
    // d and w d of the rows that component k has a share in.
    int64_t centred(int64_t k, int64_t count, const double* R, const double* weights) {
        int64_t used = 0;
        for (int64_t r = 0; r < count; ++r) {
            const double w = R[r * K + k] * (weights ? weights[r] : 1.0);
            if (!(w > 0)) continue;
            n[k] += w;
            const vd share = splat(w);
            for (int64_t j = 0; j < P; j += kLanes) {
                const vd one = load(&x[r * P + j]) - load(&centres[k * P + j]), part = share * one;
                store(&d[used * P + j], one);
                store(&wd[used * P + j], part);
                store(&sums[k * P + j], load(&sums[k * P + j]) + part);
            }
            ++used;
        }
        return used;
    }

    Buffer centres, sums, x, d, wd, S;
    std::vector<double> n;
};

// n (K), first (K, p) = Σ w d and second, (K, p, p) or, tied, (p, p), = Σ w ddᵀ, d = x - centre_k; the
// first cell that is not finite, if any.
inline Cell centred_sums(const Matrix& X, const double* R, const double* weights, const double* centres,
                         int64_t K, bool tied, double* n, double* first, double* second) {
    const int64_t count = row_count(X), p = column_count(X);
    CentredSums sums(K, p, tied);
    sums.centre(centres);
    Buffer scratch(sums.height * padded(p));
    for (int64_t at = 0; at < count; at += sums.height) {
        const int64_t some = std::min(sums.height, count - at);
        const Rows block = std::visit([&](const auto& m) { return rows(m, at, some, scratch.data()); }, X);
        sums.add(block, some, R + at * K, weights ? weights + at : nullptr);
    }
    if (!sums.finish(n, first, second)) return find_bad(X, 0, count);
    return {};
}

}  // namespace likelier
