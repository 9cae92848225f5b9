// Weights and sums by class: n (K) and Σ w x (K, p), of the cells that are there.
//
// Integers stay exact below 2^53. A row that does not count is not looked at. CSR costs what is stored.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/matrix.hpp"
#include "kernels/moments.hpp"

namespace likelier {

// What is summed of a cell, and which cells are allowed.
struct Summand {
    double low, high;  // finite: what lies outside is refused, and so are infinite cells
    bool whole;        // whole numbers only
    double threshold;  // sum 1[x > threshold]; -infinity: sum x itself

    bool allows(double x) const { return x >= low && x <= high && (!whole || x == std::floor(x)); }

    // Whether all of them are allowed, which none that is missing is. Two loops without a branch.
    template <class T>
    LIKELIER_INLINE bool allow(const T* x, int64_t count) const {
        const double least = low, most = high;
        int64_t bad = 0;
        for (int64_t i = 0; i < count; ++i) {
            const double v = x[i];
            bad += !(v >= least) | !(v <= most);
        }
        if (whole)
            for (int64_t i = 0; i < count; ++i) {
                const double v = x[i];
                bad += v != std::floor(v);
            }
        return bad == 0;
    }

    // Whether some of them are excluded; one that is missing is not.
    template <class T>
    LIKELIER_INLINE bool exclude(const T* x, int64_t count) const {
        const double least = low, most = high;
        int64_t bad = 0;
        for (int64_t i = 0; i < count; ++i) {
            const double v = x[i];
            bad += (v < least) | (v > most);
        }
        if (whole)
            for (int64_t i = 0; i < count; ++i) {
                const double v = x[i];
                bad += (v != std::floor(v)) & (v == v);
            }
        return bad > 0;
    }

    bool truths() const { return threshold > -std::numeric_limits<double>::infinity(); }
    double of(double x) const { return truths() ? static_cast<double>(x > threshold) : x; }
};

struct Sums {
    double* n;      // (K)
    double* total;  // (K, p)
    double* gone;   // (K, p), the weight of missing cells; null: a missing cell is refused
};

// One cell that may not be as others: false if it is refused.
inline bool add_cell(double x, double w, int64_t at, const Summand& what, const Sums& sums) {
    if (std::isnan(x)) {
        if (!sums.gone) return false;
        sums.gone[at] += w;
        return true;
    }
    if (!what.allows(x)) return false;
    sums.total[at] += w * what.of(x);
    return true;
}

// Whether some cell that is there is not allowed; -infinity and infinity may be ends.
inline bool any_outside(const Matrix& X, const Summand& what) {
    return std::visit(
        [&](const auto& m) {
            if constexpr (requires { m.starts; }) {
                if (!what.allows(0) && m.n > 0) return true;
                return what.exclude(m.values + m.starts[0], m.starts[m.n] - m.starts[0]);
            } else {
                const int64_t height = tile_rows(m.p);
                Buffer scratch(height * padded(m.p));
                for (int64_t first = 0; first < m.n; first += height) {
                    const int64_t count = std::min(height, m.n - first);
                    const Rows block = rows(m, first, count, scratch.data());
                    for (int64_t r = 0; r < count; ++r)
                        if (what.exclude(block.x + r * block.stride, m.p)) return true;
                }
                return false;
            }
        },
        X);
}

inline Cell sum_rows(const Matrix& X, const Labels& labels, const Summand& what, const Sums& sums) {
    const int64_t n = row_count(X), p = column_count(X), height = tile_rows(p);
    Buffer scratch(height * padded(p)), truths(what.truths() ? p : 0);
    for (int64_t first = 0; first < n; first += height) {
        const int64_t count = std::min(height, n - first);
        const Rows block =
            std::visit([&](const auto& m) { return rows(m, first, count, scratch.data()); }, X);
        for (int64_t r = 0; r < count; ++r) {
            const double* x = block.x + r * block.stride;
            const bool plain = what.allow(x, p);
            if (what.truths())
                for (int64_t j = 0; j < p; ++j) truths[j] = x[j] > what.threshold;
            const double* of = what.truths() ? truths.data() : x;
            int64_t bad = -1;
            labels.each(first + r, [&](int64_t k, double w) {
                if (!(w > 0)) return;
                sums.n[k] += w;
                double* to = sums.total + k * p;
                if (plain)
                    for (int64_t j = 0; j < p; ++j) to[j] += w * of[j];
                else
                    for (int64_t j = 0; j < p && bad < 0; ++j)
                        if (!add_cell(x[j], w, k * p + j, what, sums)) bad = j;
            });
            if (bad >= 0) return {first + r, bad};
        }
    }
    return {};
}

// The cells of one row of CSR, for one class: the first column that is refused, or -1. `what` by value:
// a reference might point to what is being written, and would be read again for every cell.
template <bool truths, class T, class I>
LIKELIER_INLINE int64_t sum_sparse_row(const Csr<T, I>& X, int64_t r, int64_t k, double w,
                                       const Summand what, const Sums& sums) {
    sums.n[k] += w;
    double* to = sums.total + k * X.p;
    const int64_t start = X.starts[r], count = X.starts[r + 1] - start;
    const T* values = X.values + start;
    const I* columns = X.columns + start;
    if (what.allow(values, count)) {
        for (int64_t i = 0; i < count; ++i)
            to[columns[i]] += truths ? (values[i] > what.threshold ? w : 0.0) : w * values[i];
        return -1;
    }
    for (int64_t i = 0; i < count; ++i)
        if (!add_cell(values[i], w, k * X.p + columns[i], what, sums)) return columns[i];
    return -1;
}

// What is not stored is 0, which must be allowed, and be no truth. Rows as they lie: taking them class by
// class, so that the sums of one class stay in cache, cost more than it saved (words are unevenly common).
template <class T, class I>
Cell sum_sparse_rows(const Csr<T, I>& X, const Labels& labels, const Summand& what, const Sums& sums) {
    for (int64_t r = 0; r < X.n; ++r) {
        int64_t bad = -1;
        labels.each(r, [&](int64_t k, double w) {
            if (!(w > 0) || bad >= 0) return;
            bad = what.truths() ? sum_sparse_row<true>(X, r, k, w, what, sums)
                                : sum_sparse_row<false>(X, r, k, w, what, sums);
        });
        if (bad >= 0) return {r, bad};
    }
    return {};
}

}  // namespace likelier
