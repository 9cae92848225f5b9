// Coordinate descent on a quadratic with |u|: what is left of an l1 problem once its curvature is known.
//
// min over u of ½ (u - a)ᵀ H (u - a) + gᵀ(u - a) + Σ_j l1_j |u_j|. One weight at a time has a closed form,
// the soft threshold (Friedman, Hastie & Tibshirani 2010). The slope v = g + H (u - a) is kept up to date:
// a weight that stays costs nothing, one that moves costs a row of H.
#pragma once

#include <cmath>
#include <cstdint>

namespace likelier {

// One visit to weight j: how far it moved, as h_jj δ².
inline double settle(const double* H, const double* l1, int64_t m, int64_t j, double* u, double* v) {
    const double* row = H + j * m;
    const double h = row[j];
    if (!(h > 0)) return 0;  // no curvature: the rows say nothing of this weight
    const double at = u[j] - v[j] / h, reach = l1[j] / h;
    const double next = at > reach ? at - reach : at < -reach ? at + reach : 0;
    const double delta = next - u[j];
    if (delta == 0) return 0;
    u[j] = next;
    for (int64_t k = 0; k < m; ++k) v[k] += delta * row[k];
    return h * delta * delta;
}

// Sweeps until the weights of one over all of them have moved by no more than `tol` (√Σ h_jj δ²), or
// `most` are done; between two of those, sweeps over the weights that are not 0. Returns whether they did.
inline bool descend(const double* H, const double* l1, int64_t m, int64_t most, double tol, double* u,
                    double* v) {
    const double little = tol * tol;
    bool every = true;
    for (int64_t sweep = 0; sweep < most; ++sweep) {
        double moved = 0;
        for (int64_t j = 0; j < m; ++j)
            if (every || u[j] != 0) moved += settle(H, l1, m, j, u, v);
        if (every && moved <= little) return true;
        every = moved <= little;
    }
    return false;
}

}  // namespace likelier
