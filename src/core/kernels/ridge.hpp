// Conjugate gradients for the ridge regression of sparse rows, from what is stored and nothing else.
//
// The rows are A = √w (X - mean), which is never written out: a product takes the stored cells, and puts
// the mean right by one number.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/matrix.hpp"
#include "kernels/team.hpp"

namespace likelier {

inline double inner(const double* a, const double* b, int64_t n) {
    double sum[8] = {};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int64_t l = 0; l < 8; ++l) sum[l] += a[i + l] * b[i + l];
    for (; i < n; ++i) sum[0] += a[i] * b[i];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

// Σ x_e v_j(e) over stored cells; four sums, or each would wait for the one before it.
template <class T, class I>
double gathered(const T* values, const I* at, I e, I end, const double* v) {
    double sum[4] = {};
    for (; e + 4 <= end; e += 4)
        for (I l = 0; l < 4; ++l) sum[l] += static_cast<double>(values[e + l]) * v[at[e + l]];
    for (; e < end; ++e) sum[0] += static_cast<double>(values[e]) * v[at[e]];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

template <class T, class I>
class CentredRows {
  public:
    CentredRows(const Csr<T, I>& X, const double* root, const double* mean, const double* squares,
                int64_t threads)
        : n(X.n),
          p(X.p),
          X(X),
          root(root),
          mean(mean),
          squares(squares),
          values(X.starts[X.n] - X.starts[0]),
          rows(values.size()),
          starts(X.p + 1),
          rooted(X.n),
          team(threads) {
        turn();
        row_cuts = even_cuts(X.starts, n, team.size());
        column_cuts = even_cuts(starts.data(), p, team.size());
    }

    const int64_t n, p;

    // t = A v.
    void times(const double* v, double* t) {
        const double about = inner(mean, v, p);
        team.run(team.size(), [&](int64_t k) {
            for (int64_t i = row_cuts[k]; i < row_cuts[k + 1]; ++i)
                t[i] = root[i] * (gathered(X.values, X.columns, X.starts[i], X.starts[i + 1], v) - about);
        });
    }

    // g = Aᵀu; exactly 0 in columns that are constant.
    void turned_times(const double* u, double* g) {
        double sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += rooted[i] = root[i] * u[i];
        team.run(team.size(), [&](int64_t k) {
            for (int64_t j = column_cuts[k]; j < column_cuts[k + 1]; ++j) {
                const double own =
                    gathered(values.data(), rows.data(), starts[j], starts[j + 1], rooted.data());
                g[j] = squares[j] > 0 ? own - mean[j] * sum : 0.0;
            }
        });
    }

    // The lengths² of the rows of A.
    void row_squares(double* out) const {
        const double all = inner(mean, mean, p);
        for (int64_t i = 0; i < n; ++i) {
            double own = 0;
            for (I e = X.starts[i]; e < X.starts[i + 1]; ++e) {
                const auto x = static_cast<double>(X.values[e]);
                own += x * (x - 2 * mean[X.columns[e]]);
            }
            out[i] = root[i] * root[i] * (own + all);
        }
    }

  private:
    // The cells by columns: to gather is faster than to scatter.
    void turn() {
        const I first = X.starts[0], last = X.starts[n];
        for (I e = first; e < last; ++e) ++starts[X.columns[e] + 1];
        for (int64_t j = 0; j < p; ++j) starts[j + 1] += starts[j];
        std::vector<I> next(starts.begin(), starts.end() - 1);
        for (int64_t i = 0; i < n; ++i)
            for (I e = X.starts[i]; e < X.starts[i + 1]; ++e) {
                const I to = next[X.columns[e]]++;
                values[to] = X.values[e];
                rows[to] = static_cast<I>(i);
            }
    }

    const Csr<T, I>& X;
    const double* root;     // √w (n,)
    const double* mean;     // (p,)
    const double* squares;  // (p,), lengths² of the columns of A; 0 for constant ones
    std::vector<T> values;  // by columns
    std::vector<I> rows, starts;
    std::vector<double> rooted;  // √w u
    Team team;                   // which shares the rows, and the columns, of a product
    std::vector<int64_t> row_cuts, column_cuts;
};

// When to stop.
struct Gains {
    double error;  // of the solution, as a share of it
    double least;  // residuals, as a share of the first: no more is ever asked for
    double near;   // and this is enough if that is as far as rounding lets them fall
};

// Where the steps for one target are. By rows: b = Aᵀc with (A Aᵀ + α I) c = y, r its residual (n,), and
// the direction d (n,). By columns: for (AᵀA + α I) b = Aᵀy with the residuals r = y - A b of the rows at
// hand, so that AᵀA is not formed (Hestenes & Stiefel 1952); d (p,).
struct RidgeSteps {
    double* b;  // (p,)
    double* r;  // (n,)
    double* d;
    // rᵀMr, the first and the least so far, for how many steps it has not fallen by half, and the steps
    double* now;

    double& gamma() const { return now[0]; }

    // Whether the residual has fallen as far as it is to, or can.
    //
    // An error may be κ times as large as the residual, κ being the ratio of the largest and the least
    // eigenvalue. k steps let a residual fall to 2 e^(-2k/√κ): how far it has fallen tells κ.
    bool enough(const Gains& gains) const {
        now[3] = now[0] < now[2] / 2 ? 0 : now[3] + 1;
        now[2] = std::min(now[2], now[0]);
        now[4] += 1;
        if (!(now[0] > 0)) return true;
        const double fallen = std::sqrt(now[0] / now[1]);
        const double root = 2 * now[4] / std::log(2 / std::min(fallen, 1.0));
        const double enough = std::min(gains.error / 10, gains.error / (root * root));
        return fallen <= std::max(gains.least, enough) || (now[3] > 20 && fallen <= gains.near);
    }
};

template <class T, class I>
class RidgeSolver {
  public:
    RidgeSolver(CentredRows<T, I>& A, const double* squares, double alpha, bool by_rows)
        : A(A), alpha(alpha), by_rows(by_rows), M(by_rows ? A.n : A.p), u(A.p), t(A.n) {
        if (by_rows)
            A.row_squares(M.data());
        else
            std::copy(squares, squares + A.p, M.begin());
        for (double& m : M) m = 1 / (m + alpha);
    }

    // Takes up to `most` steps; how many there were, and below 0 if no more are needed. A first residual
    // below 0 asks for the start.
    int64_t run(const RidgeSteps& at, int64_t most, const Gains& gains) {
        if (at.now[1] < 0) begin(at);
        for (int64_t step = 1; step <= most; ++step) {
            by_rows ? step_by_rows(at) : step_by_columns(at);
            if (at.enough(gains)) return -step;
        }
        return most;
    }

  private:
    void begin(const RidgeSteps& at) {
        if (!by_rows) A.turned_times(at.r, u.data());
        const double* residual = by_rows ? at.r : u.data();
        at.now[0] = at.now[3] = at.now[4] = 0;
        for (size_t i = 0; i < M.size(); ++i) {
            at.d[i] = M[i] * residual[i];
            at.now[0] += at.d[i] * residual[i];
        }
        at.now[1] = at.now[2] = at.now[0];
    }

    void step_by_rows(const RidgeSteps& at) {
        A.turned_times(at.d, u.data());
        A.times(u.data(), t.data());
        for (int64_t i = 0; i < A.n; ++i) t[i] += alpha * at.d[i];
        const double a = ratio(at.gamma(), inner(at.d, t.data(), A.n));
        for (int64_t j = 0; j < A.p; ++j) at.b[j] += a * u[j];
        for (int64_t i = 0; i < A.n; ++i) at.r[i] -= a * t[i];
        turn(at, at.r);
    }

    void step_by_columns(const RidgeSteps& at) {
        A.times(at.d, t.data());
        const double curve = inner(t.data(), t.data(), A.n) + alpha * inner(at.d, at.d, A.p);
        const double a = ratio(at.gamma(), curve);
        for (int64_t j = 0; j < A.p; ++j) at.b[j] += a * at.d[j];
        for (int64_t i = 0; i < A.n; ++i) at.r[i] -= a * t[i];
        A.turned_times(at.r, u.data());
        for (int64_t j = 0; j < A.p; ++j) u[j] -= alpha * at.b[j];
        turn(at, u.data());
    }

    // The next direction, from the residual of the equations.
    void turn(const RidgeSteps& at, const double* residual) {
        const auto size = static_cast<int64_t>(M.size());
        const double before = at.gamma();
        double sum[4] = {};
        for (int64_t i = 0; i < size; ++i) sum[i & 3] += M[i] * residual[i] * residual[i];
        at.now[0] = (sum[0] + sum[2]) + (sum[1] + sum[3]);
        const double c = ratio(at.gamma(), before);
        for (int64_t i = 0; i < size; ++i) at.d[i] = M[i] * residual[i] + c * at.d[i];
    }

    static double ratio(double a, double b) { return b > 0 ? a / b : 0.0; }

    CentredRows<T, I>& A;
    const double alpha;
    const bool by_rows;
    std::vector<double> M, u, t;  // a unit of each residual; products
};

// Means (p,) of weighted rows (0 unless centred) and lengths² of the columns about them.
template <class T, class I>
void sparse_spread(const Csr<T, I>& X, const double* w, bool centred, double* mean, double* squares) {
    double total = 0;
    std::vector<double> seen(X.p);
    for (int64_t i = 0; i < X.n; ++i) {
        total += w[i];
        for (I e = X.starts[i]; e < X.starts[i + 1]; ++e) {
            seen[X.columns[e]] += w[i];
            if (centred) mean[X.columns[e]] += w[i] * static_cast<double>(X.values[e]);
        }
    }
    for (int64_t j = 0; j < X.p; ++j) {
        mean[j] /= total;
        squares[j] = std::max(total - seen[j], 0.0) * mean[j] * mean[j];
    }
    for (int64_t i = 0; i < X.n; ++i)
        for (I e = X.starts[i]; e < X.starts[i + 1]; ++e) {
            const double d = static_cast<double>(X.values[e]) - mean[X.columns[e]];
            squares[X.columns[e]] += w[i] * d * d;
        }
}

// Upper triangle of G (p, p) += Σ w x xᵀ, from the stored cells alone.
template <class T, class I>
void sparse_gram(const Csr<T, I>& X, const double* w, double* G) {
    for (int64_t i = 0; i < X.n; ++i)
        for (I a = X.starts[i]; a < X.starts[i + 1]; ++a) {
            const double by = w[i] * static_cast<double>(X.values[a]);
            double* row = G + static_cast<int64_t>(X.columns[a]) * X.p;
            for (I b = a; b < X.starts[i + 1]; ++b)
                row[X.columns[b]] += by * static_cast<double>(X.values[b]);
        }
}

}  // namespace likelier
