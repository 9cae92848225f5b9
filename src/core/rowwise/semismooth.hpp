// Lines with a margin, by Newton's method on a loss with a corner: hinge and squared hinge, an l2 penalty.
//
//   min over w, b of  Σ c_i ℓ(m_i) + ½ λ ‖w‖²,   m_i = t_i (w·x_i + b),   t_i = ±1
//
// Of the hinge the multipliers a_i in [0, 1], minus its slopes, are found by the proximal point method,
// which is the augmented Lagrangian of the primal problem (Rockafellar 1976; for margins Yan & Li 2020):
//
//   w, b = argmin  ½ λ ‖w‖² + (1/2σ) Σ c_i (clip(u_i)² - ..),   u_i = a_i + σ (1 - m_i),   a_i <- clip(u_i)
//
// with clip to [0, 1]. Each is a piecewise quadratic: Newton's steps with an exact search along the line
// end after few of them. Only rows with u strictly within (0, 1) bend, at last those whose margin is 1, so
// that a Hessian costs little beside reading the rows. The squared hinge is the same with a = 0, σ = 2 and
// clip to [0, ∞), and no multiplier to find.
//
// With f = clip(u) and s = Σ c_i f_i t_i x_i, the distance from the optimum is at most (Fenchel)
//
//   Σ c_i (ℓ(m_i) - f_i (1 - m_i)) + ‖λ w - s‖² / 2λ,   where Σ c_i f_i t_i = 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

#include "kernels/simd.hpp"
#include "kernels/tile.hpp"
#include "rowwise/row.hpp"

namespace likelier {

// What all lines share: how many rows there are, their weights and classes. Rows that weigh nothing are
// left out.
struct MarginTable {
    MarginTable(const Matrix& from, const int32_t* codes, const double* weights, const double* offset,
                bool intercept)
        : p(column_count(from)), P(scatter_width(p + 1)), intercept(intercept) {
        for (int64_t i = 0; i < row_count(from); ++i)
            if (!weights || weights[i] > 0) kept.push_back(i);
        n = static_cast<int64_t>(kept.size());
        N = padded(n);
        c.assign(N, 0.0);
        known.assign(offset ? N : 0, 0.0);
        code.assign(N, -1);
        for (int64_t r = 0; r < n; ++r) {
            c[r] = weights ? weights[kept[r]] : 1.0;
            code[r] = codes[kept[r]];
            if (offset) known[r] = offset[kept[r]];
        }
    }

    const int64_t p, P;  // columns, and the length of a row with its ones, padded
    const bool intercept;
    int64_t n = 0, N = 0;  // rows, and their number padded: those beyond weigh nothing
    Buffer c, known;       // (N,), (N,) or none
    std::vector<int32_t> code;
    std::vector<int64_t> kept;
};

// The rows about their shift, in units that make the penalty of all columns the same, with a column of ones
// for the intercept.
class MarginRows : public MarginTable {
  public:
    static constexpr bool kFactors = true;  // Newton's system is solved by a factor

    MarginRows(const Matrix& from, const double* shift, const double* scale, const int32_t* codes,
               const double* weights, const double* offset, bool intercept)
        : MarginTable(from, codes, weights, offset, intercept) {
        X.assign(N * P, 0.0);
        with_rows(from, shift, [&](auto& row) {
            for (int64_t r = 0; r < n; ++r) {
                row.open(kept[r]);
                double* x = &X[r * P];
                for (int64_t k = 0; k < row.cells(); ++k)
                    x[row.column(k)] += row.value(k) * (scale ? scale[row.column(k)] : 1.0);
                if (intercept) x[p] = 1;
            }
        });
    }

    const double* row(int64_t i) const { return &X[i * P]; }

    // Σ c x xᵀ of all rows: found once, whoever needs it first.
    const Buffer& gram() const {
        std::call_once(once, [&] {
            all.assign(P * P, 0.0);
            Scatter scatter(*this, all);
            for (int64_t i = 0; i < n; ++i) scatter.add(i, c[i]);
        });
        return all;
    }

    // S += Σ a x xᵀ, the upper triangle, some rows at a time.
    class Scatter {
      public:
        Scatter(const MarginRows& rows, Buffer& S)
            : rows(rows), S(S), most(panel_rows(rows.P)), A(most * rows.P), B(most * rows.P) {}
        ~Scatter() { flush(); }

        void add(int64_t i, double a) {
            const double* x = rows.row(i);
            for (int64_t k = 0; k < rows.P; k += kLanes) {
                const vd v = load(x + k);
                store(&B[held * rows.P + k], v);
                store(&A[held * rows.P + k], splat(a) * v);
            }
            if (++held == most) flush();
        }

      private:
        const MarginRows& rows;
        Buffer& S;
        const int64_t most;
        Buffer A, B;
        int64_t held = 0;

        void flush() {
            scatter_upper(A.data(), B.data(), held, rows.P, S.data());
            held = 0;
        }
    };

    // out = X d, without signs.
    void times(const double* d, double* out) const {
        for (int64_t i = 0; i < N; i += kLanes) {
            vd sum[kLanes];
            const double* x = &X[i * P];
            LIKELIER_UNROLL
            for (int r = 0; r < kLanes; ++r) sum[r] = load(x + r * P) * load(d);
            for (int64_t k = kLanes; k < P; k += kLanes) {
                const vd v = load(d + k);
                LIKELIER_UNROLL
                for (int r = 0; r < kLanes; ++r) sum[r] += load(x + r * P + k) * v;
            }
            store(out + i, totals(sum));
        }
    }

    // s += Σ by x
    void add(const std::vector<int64_t>& rows, const std::vector<double>& by, double* s) const {
        const auto count = static_cast<int64_t>(rows.size());
        int64_t at = 0;
        for (; at + 4 <= count; at += 4) {
            const double* x[4];
            vd b[4];
            LIKELIER_UNROLL
            for (int r = 0; r < 4; ++r) x[r] = row(rows[at + r]), b[r] = splat(by[at + r]);
            for (int64_t k = 0; k < P; k += kLanes)
                store(s + k, load(s + k) + ((b[0] * load(x[0] + k) + b[1] * load(x[1] + k)) +
                                            (b[2] * load(x[2] + k) + b[3] * load(x[3] + k))));
        }
        for (; at < count; ++at)
            for (int64_t k = 0; k < P; ++k) s[k] += by[at] * row(rows[at])[k];
    }

  private:
    Buffer X;  // (N, P)
    mutable std::once_flag once;
    mutable Buffer all;
};

// The same of sparse rows: only their cells are kept, and no matrix of the columns.
class SparseMarginRows : public MarginTable {
  public:
    static constexpr bool kFactors = false;

    SparseMarginRows(const Matrix& from, const double* shift, const double* scale, const int32_t* codes,
                     const double* weights, const double* offset, bool intercept)
        : MarginTable(from, codes, weights, offset, intercept) {
        with_rows(from, shift, [&](auto& row) {
            for (const int64_t i : kept) {
                row.open(i);
                for (int64_t k = 0; k < row.cells(); ++k) {
                    columns.push_back(static_cast<int32_t>(row.column(k)));
                    values.push_back(row.value(k) * (scale ? scale[row.column(k)] : 1.0));
                }
                starts.push_back(static_cast<int64_t>(values.size()));
            }
        });
    }

    double dot(int64_t i, const double* d) const {
        double s[4] = {intercept ? d[p] : 0.0};
        int64_t k = starts[i];
        const int64_t end = starts[i + 1];
        for (; k + 4 <= end; k += 4)
            for (int r = 0; r < 4; ++r) s[r] += values[k + r] * d[columns[k + r]];
        for (; k < end; ++k) s[0] += values[k] * d[columns[k]];
        return (s[0] + s[1]) + (s[2] + s[3]);
    }

    void add(int64_t i, double by, double* s) const {
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k) s[columns[k]] += by * values[k];
        if (intercept) s[p] += by;
    }

    // s += Σ_i c x_j², the diagonal of the scatter.
    void add_squares(int64_t i, double by, double* s) const {
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k) s[columns[k]] += by * values[k] * values[k];
        if (intercept) s[p] += by;
    }

    void times(const double* d, double* out) const {
        for (int64_t i = 0; i < n; ++i) out[i] = dot(i, d);
    }

    void add(const std::vector<int64_t>& rows, const std::vector<double>& by, double* s) const {
        for (size_t at = 0; at < rows.size(); ++at) add(rows[at], by[at], s);
    }

  private:
    std::vector<int32_t> columns;
    std::vector<double> values;
    std::vector<int64_t> starts{0};
};

// U with UᵀU = S, in place of the upper triangle of S (P, P): its first m rows. A pivot that rounding has
// left nothing of is as large as rounding.
inline void factor_upper(double* S, int64_t m, int64_t P) {
    constexpr int V = 4;
    for (int64_t i = 0; i < m; ++i) {
        const double before = S[i * P + i];
        for (int64_t j = i / kLanes * kLanes; j < P; j += V * kLanes)
            with_count<V>(std::min<int64_t>(V, (P - j) / kLanes), [&](auto count) {
                constexpr int held = decltype(count)::value;
                vd sum[held];
                for (int v = 0; v < held; ++v) sum[v] = load(S + i * P + j + v * kLanes);
                for (int64_t k = 0; k < i; ++k) {
                    const vd u = splat(S[k * P + i]);
                    LIKELIER_UNROLL
                    for (int v = 0; v < held; ++v) sum[v] -= u * load(S + k * P + j + v * kLanes);
                }
                for (int v = 0; v < held; ++v) store(S + i * P + j + v * kLanes, sum[v]);
            });
        const double least = 1e-14 * before + std::numeric_limits<double>::min();
        const double root = std::sqrt(std::max(S[i * P + i], least));
        S[i * P + i] = root;
        for (int64_t j = i + 1; j < m; ++j) S[i * P + j] /= root;
    }
}

// x with UᵀU x = x.
inline void solve_upper(const double* U, int64_t m, int64_t P, double* x) {
    for (int64_t i = 0; i < m; ++i) {
        x[i] /= U[i * P + i];
        for (int64_t j = i + 1; j < m; ++j) x[j] -= U[i * P + j] * x[i];
    }
    for (int64_t i = m - 1; i >= 0; --i) {
        double sum = x[i];
        for (int64_t j = i + 1; j < m; ++j) sum -= U[i * P + j] * x[j];
        x[i] = sum / U[i * P + i];
    }
}

struct MarginTask {
    double inverse;  // 1/λ
    bool corner;     // hinge, else squared hinge
    double tol;
};

// One line: of the rows of one class against all others.
template <class Rows>
class MarginLine {
  public:
    double value = 0, norm = 0, step = 0;  // mean loss and penalty; √(2 gap), or Newton's decrement
    bool stuck = false;

    // factor: what the rows of this class weigh more. theta (p + 1,), where to begin.
    MarginLine(const Rows& rows, MarginTask task, int32_t positive, double factor, const double* theta)
        : rows(rows),
          task(task),
          lambda(1 / task.inverse),
          sigma(task.corner ? kFirst : 2.0),
          plain(factor == 1) {
        for (Buffer* each : {&c, &t, &m, &a, &f, &ahead}) each->assign(rows.N, 0.0);
        for (Buffer* each : {&w, &s, &d}) each->assign(rows.P, 0.0);
        if constexpr (Rows::kFactors) {
            S.assign(rows.P * rows.P, 0.0);
            U.assign(rows.P * rows.P, 0.0);
        }
        for (int64_t i = 0; i < rows.n; ++i) {
            const bool own = rows.code[i] == positive;
            t[i] = own ? 1.0 : -1.0;
            c[i] = rows.c[i] * (own ? factor : 1.0);
            weight += c[i];
        }
        std::copy(theta, theta + rows.p + (rows.intercept ? 1 : 0), w.begin());
        rows.times(w.data(), m.data());
        for (int64_t i = 0; i < rows.n; ++i)
            m[i] = t[i] * (m[i] + (rows.known.empty() ? 0.0 : rows.known[i]));
        look();
        direct();
    }

    bool converged() const { return norm <= task.tol; }
    const double* theta() const { return w.data(); }

    // One of Newton's steps. The last one squares the error of a smooth loss: one more costs little.
    void advance() {
        move();
        if (!task.corner && !stuck && converged() && norm > kSharp * task.tol) move();
    }

  private:
    static constexpr double kSharp = 0.1;  // of tol
    static constexpr double kFirst = 0.5;  // σ: the corner is round from the margin 1 to -1
    // Times that, where multipliers converge slowly. The number of products grows with it, not the price
    // of a factor.
    static constexpr double kSharper = Rows::kFactors ? 5 : 3;
    static constexpr double kInner = 3e-3;  // what may be left to gain in a round, of its gap
    // Of the gap before: multipliers converge fast enough.
    static constexpr double kFast = Rows::kFactors ? 0.1 : 0.5;
    static constexpr int kMostRounds = 80;
    static constexpr double kShare = 0.2;  // of the slope, left to the next step by conjugate gradients
    static constexpr int64_t kMostProducts = 500;

    // After new multipliers, where the last ones are used up.
    void move() {
        while (task.corner && settled()) {
            if (++rounds > kMostRounds) {
                stuck = true;
                return;
            }
            renew();
            if (converged()) return;
        }
        rows.times(d.data(), ahead.data());
        for (int64_t i = 0; i < rows.N; i += kLanes) store(&ahead[i], load(&ahead[i]) * load(&t[i]));
        step = length();
        if (!(step > 0)) {
            stuck = !task.corner;
            tired = true;
            return;
        }
        for (int64_t k = 0; k < rows.P; ++k) w[k] += step * d[k];
        for (int64_t i = 0; i < rows.N; i += kLanes)
            store(&m[i], load(&m[i]) + splat(step) * load(&ahead[i]));
        look();
        direct();
    }

    const Rows& rows;
    const MarginTask task;
    const double lambda;
    double sigma, weight = 0, loss = 0, open = 0, gain = 0,
                  before = std::numeric_limits<double>::infinity();
    const bool plain;    // its weights are those of the rows
    bool tired = false;  // the last step was none: rounding
    int rounds = 0;
    Buffer c, t, m, a, f, ahead;  // (N,): weights, signs, margins, multipliers, those of now, change of m
    Buffer w, s, d;               // (P,): weights, Σ c f t x, Newton's direction
    Buffer S, U;                  // (P, P): Σ c x xᵀ over rows that bend, and a factor
    std::vector<int64_t> joined, left, moved;
    std::vector<double> by;
    int64_t bent = 0;

    double top() const { return task.corner ? 1.0 : std::numeric_limits<double>::infinity(); }
    bool bends(double f) const { return f > 0 && f < top(); }

    // f, s and S at the margins of now: by the rows that changed.
    void look() {
        const vd zero{}, one = splat(1.0), cap = splat(top()), by_width = splat(sigma);
        vd losses{}, gaps{};
        joined.clear(), left.clear(), moved.clear(), by.clear();
        for (int64_t i = 0; i < rows.N; i += kLanes) {
            const vd lack = one - load(&m[i]), u = load(&a[i]) + by_width * lack, weights = load(&c[i]);
            const vd low = u < zero ? zero : u, next = low > cap ? cap : low,
                     short_by = lack < zero ? zero : lack;
            losses += weights * (task.corner ? short_by : short_by * short_by);
            gaps += weights * (short_by - next * lack);
            const vd was = load(&f[i]);
            if (std::memcmp(&was, &next, sizeof was) != 0) changed(i, was, next);
            store(&f[i], next);
        }
        loss = total(losses);
        open = task.corner ? std::max(total(gaps), 0.0) : 0.0;
        rows.add(moved, by, s.data());
        if constexpr (Rows::kFactors) bend();
    }

    void changed(int64_t i, vd was, vd next) {
        for (int r = 0; r < kLanes && i + r < rows.n; ++r) {
            if (was[r] == next[r]) continue;
            moved.push_back(i + r);
            by.push_back(c[i + r] * t[i + r] * (next[r] - was[r]));
            if (bends(was[r]) == bends(next[r])) continue;
            (bends(next[r]) ? joined : left).push_back(i + r);
        }
    }

    // S, in the cheapest way: by the rows that joined or left, from nothing, or from the Gram matrix of
    // all.
    void bend() {
        const auto in = static_cast<int64_t>(joined.size()), out = static_cast<int64_t>(left.size());
        bent += in - out;
        const int64_t change = in + out, others = plain ? rows.n - bent : rows.n;
        if (change <= std::min(bent, others)) {
            MarginRows::Scatter scatter(rows, S);
            for (const int64_t i : joined) scatter.add(i, c[i]);
            for (const int64_t i : left) scatter.add(i, -c[i]);
        } else if (bent <= others) {
            std::fill(S.begin(), S.end(), 0.0);
            scatter_where(true);
        } else {
            S = rows.gram();
            scatter_where(false);
        }
    }

    void scatter_where(bool bending) {
        MarginRows::Scatter scatter(rows, S);
        for (int64_t i = 0; i < rows.n; ++i)
            if (bends(f[i]) == bending) scatter.add(i, bending ? c[i] : -c[i]);
    }

    // Newton's direction, and how near the optimum is.
    void direct() {
        const int64_t p = rows.p, q = p + (rows.intercept ? 1 : 0);
        double square = 0, penalty = 0;
        Buffer slope(rows.P);
        for (int64_t k = 0; k < p; ++k) {
            slope[k] = s[k] - lambda * w[k];
            square += slope[k] * slope[k];
            penalty += w[k] * w[k];
        }
        if (rows.intercept) slope[p] = s[p];
        if constexpr (Rows::kFactors)
            by_factor(slope, q);
        else
            by_products(slope, q);
        gain = 0;
        for (int64_t k = 0; k < q; ++k) gain += slope[k] * d[k];
        value = (loss + 0.5 * lambda * penalty) / weight;
        apart = 0.5 * square * task.inverse;
        const double rest = rows.intercept ? std::abs(s[p] * d[p]) : 0.0;
        norm = task.corner ? std::sqrt(2 * (open + apart + rest) / weight)
                           : std::sqrt(std::max(gain, 0.0) / weight);
    }

    // Where no row bends, the intercept has no curvature: as much as one row in a hundred would give it.
    double least_bend() const { return 1e-2 * sigma * weight / rows.n; }

    void by_factor(const Buffer& slope, int64_t q) {
        const int64_t p = rows.p, P = rows.P;
        for (int64_t i = 0; i < q; ++i)
            for (int64_t k = i / kLanes * kLanes; k < P; ++k) U[i * P + k] = sigma * S[i * P + k];
        for (int64_t i = 0; i < p; ++i) U[i * P + i] += lambda;
        if (rows.intercept) U[p * P + p] = std::max(U[p * P + p], least_bend()) * (1 + 1e-12);
        factor_upper(U.data(), q, P);
        std::copy(slope.begin(), slope.end(), d.begin());
        solve_upper(U.data(), q, P, d.data());
    }

    // By conjugate gradients, in units of the diagonal, to a share of the slope.
    void by_products(const Buffer& slope, int64_t q) {
        std::vector<int64_t> at;
        Buffer M(rows.P), r = slope, v(rows.P), Hv(rows.P);
        for (int64_t i = 0; i < rows.n; ++i)
            if (bends(f[i])) at.push_back(i), rows.add_squares(i, sigma * c[i], M.data());
        for (int64_t k = 0; k < rows.p; ++k) M[k] += lambda;
        if (rows.intercept) M[rows.p] = std::max(M[rows.p], least_bend());
        const double more = rows.intercept && at.empty() ? least_bend() : 0.0;
        std::fill(d.begin(), d.end(), 0.0);
        double size = 0;
        for (int64_t k = 0; k < q; ++k) v[k] = r[k] / M[k], size += r[k] * v[k];
        const double enough = kShare * kShare * size;
        for (int64_t turn = 0; turn < kMostProducts && size > enough; ++turn) {
            for (int64_t k = 0; k < rows.p; ++k) Hv[k] = lambda * v[k];
            if (rows.intercept) Hv[rows.p] = more * v[rows.p];
            for (const int64_t i : at) rows.add(i, sigma * c[i] * rows.dot(i, v.data()), Hv.data());
            double bend = 0;
            for (int64_t k = 0; k < q; ++k) bend += v[k] * Hv[k];
            if (!(bend > 0)) return;
            const double go = size / bend;
            double next = 0;
            for (int64_t k = 0; k < q; ++k) {
                d[k] += go * v[k];
                r[k] -= go * Hv[k];
                next += r[k] * r[k] / M[k];
            }
            for (int64_t k = 0; k < q; ++k) v[k] = r[k] / M[k] + next / size * v[k];
            size = next;
        }
    }

    double apart = 0;  // ‖λ w - s‖² / 2λ

    bool settled() const { return tired || (gain <= kInner * open && apart <= 0.5 * open); }

    // New multipliers.
    void renew() {
        a = f;
        if (open > kFast * before) sigma *= kSharper;
        before = open;
        tired = false;
        look();
        direct();
    }

    // The slope along d, s on the way.
    double slope_at(double at) const {
        const vd zero{}, one = splat(1.0), cap = splat(top()), by_width = splat(sigma), far = splat(at);
        vd sum{};
        for (int64_t i = 0; i < rows.N; i += kLanes) {
            const vd go = load(&ahead[i]), u = load(&a[i]) + by_width * (one - load(&m[i]) - far * go);
            const vd low = u < zero ? zero : u;
            sum += load(&c[i]) * go * (low > cap ? cap : low);
        }
        double bent_by = 0;
        for (int64_t k = 0; k < rows.p; ++k) bent_by += (w[k] + at * d[k]) * d[k];
        return lambda * bent_by - total(sum);
    }

    // How far to go: 1, or less where that is beyond the least value on the way. 0: rounding.
    double length() const {
        const double first = -gain;
        if (!(gain > 0)) return 0;
        double low = 0, high = 1, at_low = first, at_high = slope_at(1.0);
        if (at_high <= 0.1 * gain) return 1;
        for (int turn = 0; turn < 40; ++turn) {
            // By the chord, but no nearer to an end than a tenth.
            double share = at_low / (at_low - at_high);
            share = std::clamp(share, 0.1, 0.9);
            const double at = low + share * (high - low), slope = slope_at(at);
            if (std::abs(slope) <= 0.1 * gain) return at;
            if (slope < 0)
                low = at, at_low = slope;
            else
                high = at, at_high = slope;
        }
        return low;
    }
};

// Lines of the classes first, first + 1, .. to their end, or until `most` steps are done: a row (value,
// norm, step) of `trace` for each iterate, and their numbers.
struct MarginTrace {
    std::vector<double> rows;
    std::vector<int64_t> lengths;
    std::vector<uint8_t> ends;  // 0: most steps done, 1: converged, 2: stuck
};

template <class Rows>
MarginTrace solve_margins(const Rows& rows, MarginTask task, int64_t first, int64_t count,
                          const double* factors, int64_t most, double* theta) {
    MarginTrace trace;
    const int64_t width = rows.p + 1;
    for (int64_t k = 0; k < count; ++k) {
        MarginLine<Rows> line(rows, task, static_cast<int32_t>(first + k), factors ? factors[k] : 1.0,
                              theta + k * width);
        int64_t steps = 0;
        const auto noted = [&] { trace.rows.insert(trace.rows.end(), {line.value, line.norm, line.step}); };
        noted();
        while (!line.converged() && !line.stuck && steps < most) {
            line.advance();
            ++steps;
            noted();
        }
        trace.lengths.push_back(steps + 1);
        trace.ends.push_back(line.converged() ? 1 : line.stuck ? 2 : 0);
        std::copy(line.theta(), line.theta() + width, theta + k * width);
    }
    return trace;
}

}  // namespace likelier
