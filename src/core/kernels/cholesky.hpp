// Factors of symmetric matrices that are small, or so seldom large that to start a library for them would
// cost more than it saves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/simd.hpp"
#include "kernels/tile.hpp"

namespace likelier {

inline double inner_product(const double* a, const double* b, int64_t n) {
    vd sum[2] = {};
    int64_t j = 0;
    for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
        sum[0] += load(a + j) * load(b + j);
        sum[1] += load(a + j + kLanes) * load(b + j + kLanes);
    }
    double found = total(sum[0] + sum[1]);
    for (; j < n; ++j) found += a[j] * b[j];
    return found;
}

// U with UᵀU = S, upper triangular, in rows of whole vectors.
class Cholesky {
  public:
    explicit Cholesky(int64_t most) { U.reserve(most * padded(most)); }

    // S (m, m); false: it is not positive definite.
    bool factor(const double* S, int64_t size) {
        m = size;
        P = padded(m);
        U.assign(m * P, 0.0);
        for (int64_t i = 0; i < m; ++i) std::copy(S + i * m + i, S + (i + 1) * m, &U[i * P + i]);
        for (int64_t first = 0; first < m; first += kBlock) {
            const int64_t count = std::min<int64_t>(kBlock, m - first);
            if (count == kBlock)
                reduce(first);
            else
                for (int64_t r = 0; r < count; ++r) reduce_row(first + r, 0, first);
            for (int64_t r = 0; r < count; ++r) {
                const int64_t i = first + r;
                reduce_row(i, first, i);
                const double pivot = U[i * P + i];
                if (!(pivot > 0) || std::isinf(pivot)) return false;
                const double root = std::sqrt(pivot);
                for (int64_t j = i; j < m; ++j) U[i * P + j] /= root;
            }
        }
        return true;
    }

    double log_determinant() const {
        double sum = 0;
        for (int64_t i = 0; i < m; ++i) sum += std::log(U[i * P + i]);
        return 2 * sum;
    }

    // x (m,), in place: S⁻¹x.
    void solve(double* x) const {
        for (int64_t i = 0; i < m; ++i) {
            const double* u = &U[i * P];
            x[i] /= u[i];
            for (int64_t j = i + 1; j < m; ++j) x[j] -= u[j] * x[i];
        }
        for (int64_t i = m - 1; i >= 0; --i) {
            const double* u = &U[i * P];
            x[i] = (x[i] - inner_product(u + i + 1, x + i + 1, m - i - 1)) / u[i];
        }
    }

    // The same of several at once, X (m, width) in rows of whole vectors.
    void solve(double* X, int64_t width) const {
        for (int64_t i = 0; i < m; ++i) {
            double* x = X + i * width;
            const vd pivot = splat(U[i * P + i]);
            for (int64_t k = 0; k < width; k += kLanes) store(x + k, load(x + k) / pivot);
            for (int64_t j = i + 1; j < m; ++j) subtract(U[i * P + j], x, X + j * width, width);
        }
        for (int64_t i = m - 1; i >= 0; --i) {
            double* x = X + i * width;
            const vd pivot = splat(U[i * P + i]);
            for (int64_t j = i + 1; j < m; ++j) subtract(U[i * P + j], X + j * width, x, width);
            for (int64_t k = 0; k < width; k += kLanes) store(x + k, load(x + k) / pivot);
        }
    }

    // S⁻¹ = U⁻¹U⁻ᵀ (m, m)
    Buffer inverse() const {
        Buffer half(m * P), found(m * m);  // U⁻ᵀ, lower triangular
        for (int64_t i = 0; i < m; ++i) {
            double* to = &half[i * P];
            to[i] = 1;
            for (int64_t k = 0; k < i; ++k) {
                const double u = U[k * P + i], *from = &half[k * P];
                for (int64_t j = 0; j <= k; ++j) to[j] -= u * from[j];
            }
            for (int64_t j = 0; j <= i; ++j) to[j] /= U[i * P + i];
        }
        for (int64_t k = 0; k < m; ++k)
            for (int64_t i = 0; i <= k; ++i) {
                const double a = half[k * P + i], *from = &half[k * P];
                for (int64_t j = 0; j <= i; ++j) found[i * m + j] += a * from[j];
            }
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < i; ++j) found[j * m + i] = found[i * m + j];
        return found;
    }

    // ‖S⁻¹‖₁, as far as a few products tell it: seldom less than a third of it (Hager 1984; Higham 1988).
    double inverse_norm() const {
        Buffer x(m, 1.0 / static_cast<double>(m)), y(m);
        double found = 0;
        int64_t last = -1;
        for (int turn = 0; turn < 5; ++turn) {
            y = x;
            solve(y.data());
            double sum = 0;
            for (int64_t i = 0; i < m; ++i) sum += std::abs(y[i]), y[i] = y[i] < 0 ? -1.0 : 1.0;
            if (turn && sum <= found) break;
            found = sum;
            solve(y.data());
            int64_t most = 0;
            for (int64_t i = 1; i < m; ++i)
                if (std::abs(y[i]) > std::abs(y[most])) most = i;
            if (most == last) break;
            last = most;
            std::fill(x.begin(), x.end(), 0.0);
            x[most] = 1;
        }
        return found;
    }

  private:
    static constexpr int kBlock = 4, kWide = 2;
    int64_t m = 0, P = 0;
    Buffer U;

    static void subtract(double by, const double* from, double* to, int64_t width) {
        const vd u = splat(by);
        for (int64_t k = 0; k < width; k += kLanes) store(to + k, load(to + k) - u * load(from + k));
    }

    // Row i less what the rows from `low` to `high` explain of it.
    void reduce_row(int64_t i, int64_t low, int64_t high) {
        double* to = &U[i * P];
        const int64_t begin = i / kLanes * kLanes;
        for (int64_t k = low; k < high; ++k) {
            const vd u = splat(U[k * P + i]);
            for (int64_t j = begin; j < P; j += kLanes)
                store(to + j, load(to + j) - u * load(&U[k * P + j]));
        }
    }

    // A block of rows less what all rows before it explain, in registers.
    void reduce(int64_t first) {
        const int64_t begin = first / kLanes * kLanes;
        for (int64_t j = begin; j < P; j += kWide * kLanes)
            with_count<kWide>(std::min<int64_t>(kWide, (P - j) / kLanes), [&](auto count) {
                constexpr int wide = decltype(count)::value;
                vd sum[kBlock][wide];
                for (int r = 0; r < kBlock; ++r)
                    for (int v = 0; v < wide; ++v) sum[r][v] = load(&U[(first + r) * P + j + v * kLanes]);
                for (int64_t k = 0; k < first; ++k) {
                    const double* from = &U[k * P];
                    vd row[wide];
                    for (int v = 0; v < wide; ++v) row[v] = load(from + j + v * kLanes);
                    LIKELIER_UNROLL
                    for (int r = 0; r < kBlock; ++r) {
                        const vd u = splat(from[first + r]);
                        LIKELIER_UNROLL
                        for (int v = 0; v < wide; ++v) sum[r][v] -= u * row[v];
                    }
                }
                for (int r = 0; r < kBlock; ++r)
                    for (int v = 0; v < wide; ++v) store(&U[(first + r) * P + j + v * kLanes], sum[r][v]);
            });
    }
};

// x with A x = b, in the place of b, by elimination with pivots; A (m, m) is spent. False: A is singular.
inline bool eliminate(Buffer& A, Buffer& b) {
    const auto m = static_cast<int64_t>(b.size());
    for (int64_t i = 0; i < m; ++i) {
        int64_t pivot = i;
        for (int64_t r = i + 1; r < m; ++r)
            if (std::abs(A[r * m + i]) > std::abs(A[pivot * m + i])) pivot = r;
        if (!(std::abs(A[pivot * m + i]) > 0)) return false;
        if (pivot != i) {
            std::swap_ranges(&A[i * m], &A[i * m] + m, &A[pivot * m]);
            std::swap(b[i], b[pivot]);
        }
        for (int64_t r = i + 1; r < m; ++r) {
            const double by = A[r * m + i] / A[i * m + i];
            for (int64_t j = i + 1; j < m; ++j) A[r * m + j] -= by * A[i * m + j];
            b[r] -= by * b[i];
        }
    }
    for (int64_t i = m - 1; i >= 0; --i) {
        for (int64_t j = i + 1; j < m; ++j) b[i] -= A[i * m + j] * b[j];
        b[i] /= A[i * m + i];
    }
    return std::all_of(b.begin(), b.end(), [](double x) { return std::isfinite(x); });
}

}  // namespace likelier
