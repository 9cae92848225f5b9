// Stochastic dual coordinate ascent: an epoch of exact steps, one dual variable of a row at a time.
//
//   min  Σ w_i ℓ(z_i, y_i) + ½ λ ‖W‖²,   W = (1/λ) Σ_i a_i x_i,   a_i = -∂(w_i ℓ)/∂z at the optimum
//
// Shalev-Shwartz & Zhang (2013); Yu, Huang & Lin (2011) for the logistic loss and maximum entropy. The
// intercept is a feature of value 1 with a penalty (1/2τ)(b - c)² about a centre c which the caller moves.
// A step changes the scores of its own row by -Q times the change of its variables, Q = ‖x‖²/λ + τ.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "losses/losses.hpp"
#include "rowwise/row.hpp"

namespace likelier {

struct DualTask {
    const int32_t* codes;
    const double* weights;  // null: 1
    const double* offset;   // (n, q); null: 0
    const int64_t* order;
    int64_t steps;
    const double* squares;  // ‖x_i‖²
    double inverse;         // 1/λ
    double tau;
    bool move;                              // else only the sums are wanted
    std::vector<int64_t>* moved = nullptr;  // the rows that a step moved, where that is wanted
};

// As the rows were met: Σ w ℓ, and Σ (w ℓ + (w ℓ)* - a z), which bounds the distance from the optimum
// (Fenchel): at 0 every dual variable is the slope of its row's loss.
struct DualSums {
    double loss = 0, gap = 0;
};

template <class Curve>
double value_at(double m) {
    return Curve::at(splat(m)).value[0];
}

template <class Curve>
double slope_at(double m) {
    return Curve::at(splat(m)).slope[0];
}

inline double x_log_x(double x) {
    return x > 0 ? x * std::log(x) : 0.0;
}

// ---- losses of the margin m = t z: W = (1/λ) Σ t_i a_i x_i ---------------------------------------
// Each: its part of the gap, for a weight w; and the step d of `a` that closes it when the margin is m + Q
// d.
constexpr double kMarginOff = 1e-3;  // what a step may leave to the row's next turn

struct DualLogistic : Logistic {
    static double gap(double m, double a, double w) {
        const double s = a / w;
        return w * (value_at<Logistic>(m) + x_log_x(s) + x_log_x(1 - s) + s * m);
    }

    // a + d = w doubt(m + Q d), doubt = minus the slope: the difference rises with d, and changes its sign
    // between d = 0 and what d would be at Q = 0. Newton's steps, or halves where they leave this interval.
    static double step(double m, double a, double w, double Q) {
        double s = -slope_at<Logistic>(m), below = 0, above = w * s - a;
        if (above < 0) std::swap(below, above);
        double d = (w * s - a) / (1 + Q * w * s * (1 - s)), last = above - below;
        for (int turn = 0; turn < 60 && Q * last > kMarginOff; ++turn) {
            s = -slope_at<Logistic>(m + Q * d);
            const double h = d + a - w * s;
            (h < 0 ? below : above) = d;
            const double from = d;
            d -= h / (1 + Q * w * s * (1 - s));
            if (!(d > below && d < above)) d = 0.5 * (below + above);
            last = std::abs(d - from);
        }
        return d;
    }
};

struct DualHinge : Hinge {
    static double gap(double m, double a, double w) { return w * value_at<Hinge>(m) - a * (1 - m); }
    static double step(double m, double a, double w, double Q) {
        return std::clamp(a + (1 - m) / Q, 0.0, w) - a;
    }
};

struct DualSquaredHinge : SquaredHinge {
    static double gap(double m, double a, double w) {
        return w * value_at<SquaredHinge>(m) - a * (1 - m) + a * a / (4 * w);
    }
    static double step(double m, double a, double w, double Q) {
        return std::max(a + (1 - m - a / (2 * w)) / (Q + 1 / (2 * w)), 0.0) - a;
    }
};

struct DualSquared : Squared {
    static double gap(double m, double a, double w) {
        const double off = w * (1 - m) - a;
        return off * off / (2 * w);
    }
    static double step(double m, double a, double w, double Q) { return (w * (1 - m) - a) / (1 + Q * w); }
};

constexpr double kLeastCurvature = 1e-300;  // an empty row without an intercept: its step moves nothing

// W (p + 1,), a (n,)
template <class Curve, class Row>
DualSums dual_line(Row& row, const DualTask& task, int64_t p, double* W, double* a) {
    DualSums sums;
    double b = W[p];
    each_turn(row, task, [&](int64_t i, double w) {
        const double t = task.codes[i] == 1 ? 1.0 : -1.0;
        const double m = t * (row_dot(row, W) + b + (task.offset ? task.offset[i] : 0.0));
        const double Q = std::max(task.squares[i] * task.inverse + task.tau, kLeastCurvature);
        sums.loss += w * value_at<Curve>(m);
        sums.gap += Curve::gap(m, a[i], w);
        if (!task.move) return;
        const double d = Curve::step(m, a[i], w, Q);
        if (d == 0) return;  // at an end of its interval, and pushed against it
        if (task.moved) task.moved->push_back(i);
        a[i] += d;
        row_add(row, t * d * task.inverse, W);
        b += t * d * task.tau;
    });
    W[p] = b;
    return sums;
}

// The dual variables that go with the weights `from`, and the weights that go with these: at an optimum the
// same.
template <class Curve, class Row>
void begin_line(Row& row, const DualTask& task, int64_t p, const double* from, double* W, double* a) {
    each_turn(row, task, [&](int64_t i, double w) {
        const double t = task.codes[i] == 1 ? 1.0 : -1.0;
        const double m = t * (row_dot(row, from) + from[p] + (task.offset ? task.offset[i] : 0.0));
        a[i] = -w * slope_at<Curve>(m);
        row_add(row, t * a[i] * task.inverse, W);
        W[p] += t * a[i] * task.tau;
    });
}

// ---- softmax -----------------------------------------------------------------------------------
// The step of one row: μ' = softmax(z + Q (μ - μ')), that is ln μ'_k + Q μ'_k + ν = z_k + Q μ_k and
// Σ μ' = 1. Newton's steps in (ln μ', ν), whose matrix is a diagonal with a border.
class DualSoftmax {
  public:
    explicit DualSoftmax(int64_t K) : K(K), width(padded(K)), p(width), u(width), next(width) {}

    // p = softmax(z), and ln Σ e^z.
    double probabilities(double* z) {
        const double top = *std::max_element(z, z + K);
        std::fill(z + K, z + width, top - 1000);  // e to that is 0
        vd sum{};
        for (int64_t k = 0; k < width; k += kLanes) {
            const vd e = likelier::exp(load(z + k) - splat(top));
            store(&p[k], e);
            sum += e;
        }
        const double whole = total(sum), log_sum = top + std::log(whole);
        for (int64_t k = 0; k < width; k += kLanes) store(&p[k], load(&p[k]) * splat(1 / whole));
        return log_sum;
    }

    double chance(int64_t k) const { return p[k]; }

    // Σ μ (ln μ - ln p)
    double gap(const double* z, double log_sum, const double* mu) const {
        double sum = 0;
        for (int64_t k = 0; k < K; ++k) sum += x_log_x(mu[k]) - mu[k] * (z[k] - log_sum);
        return sum;
    }

    // μ' in `next`, after `probabilities(z)`.
    const double* solve(const double* z, double log_sum, const double* mu, double Q) {
        newton(z, log_sum, mu, Q);
        if (!ascends(z, mu, Q)) towards(z, log_sum, mu, Q);
        return next.data();
    }

  private:
    const int64_t K, width;
    Buffer p, u, next;

    void newton(const double* z, double log_sum, const double* mu, double Q) {
        const vd one = splat(1.0), q = splat(Q);
        double nu = log_sum;
        for (int64_t k = 0; k < width; k += kLanes) {
            store(&u[k], load(z + k) - splat(log_sum));
            store(&next[k], load(&p[k]));
        }
        for (int turn = 0; turn < 40; ++turn) {
            vd held{}, asked{}, mass{};
            for (int64_t k = 0; k < width; k += kLanes) {
                const vd m = load(&next[k]), share = m / (one + q * m);
                const vd off = load(z + k) - load(&u[k]) + q * (load(mu + k) - m) - splat(nu);
                held += share;
                asked += share * off;
                mass += m;
            }
            const double change = (total(asked) - (1 - total(mass))) / total(held);
            nu += change;
            vd most{};
            for (int64_t k = 0; k < width; k += kLanes) {
                const vd m = load(&next[k]);
                const vd off = load(z + k) - load(&u[k]) + q * (load(mu + k) - m) - splat(nu);
                const vd full = load(&u[k]) + off / (one + q * m);
                const vd at = full > vd{} ? vd{} : full;  // no probability is more than 1
                const vd d = at - load(&u[k]), e = likelier::exp(at);
                const vd large = e > m ? e : m, moved = large * (one + q * large) * d * d;
                most = moved > most ? moved : most;
                store(&u[k], at);
                store(&next[k], e);
            }
            double far = 0;
            for (int i = 0; i < kLanes; ++i) far = std::max(far, most[i]);
            if (far * (1 + Q) < kNear) break;
        }
        scale();
    }

    // Σ μ' = 1, what Newton's last step left of it.
    void scale() {
        vd sum{};
        for (int64_t k = 0; k < width; k += kLanes) sum += load(&next[k]);
        const double whole = total(sum), log_whole = std::log(whole);
        for (int64_t k = 0; k < width; k += kLanes) {
            store(&next[k], load(&next[k]) * splat(1 / whole));
            store(&u[k], load(&u[k]) - splat(log_whole));
        }
    }

    // Whether the dual objective, which is concave, rises from μ to μ': d·(z - ln μ' - Q d), its slope at
    // the end, has not fallen below -¼ Q ‖d‖². (NaN: it does not.)
    bool ascends(const double* z, const double* mu, double Q) const {
        vd slope{}, square{};
        for (int64_t k = 0; k < width; k += kLanes) {
            const vd d = load(&next[k]) - load(mu + k);
            slope += d * (load(z + k) - load(&u[k]));
            square += d * d;
        }
        return total(slope) - Q * total(square) >= -0.25 * Q * total(square) - 1e-15;
    }

    // Some way towards p, which is a way up: the first of 1, ½, ¼, .. that does not go too far.
    void towards(const double* z, double log_sum, const double* mu, double Q) {
        for (double s = 1; s > 1e-12; s *= 0.5) {
            for (int64_t k = 0; k < width; ++k) {
                next[k] = mu[k] + s * (p[k] - mu[k]);
                u[k] = next[k] > 0 ? std::log(next[k]) : z[k] - log_sum;
            }
            if (ascends(z, mu, Q)) return;
        }
        std::copy(mu, mu + width, next.begin());
    }

    static constexpr double kNear = 1e-6;  // of a step, by what it does to the gap
};

// W (p + 1, width), mu (n, width); both 0 beyond K
template <class Row>
DualSums dual_softmax(Row& row, const DualTask& task, int64_t p, int64_t K, double* W, double* mu) {
    DualSums sums;
    DualSoftmax one(K);
    const int64_t width = padded(K);
    double* b = W + p * width;
    Buffer z(width), d(width);
    each_turn(row, task, [&](int64_t i, double w) {
        double* m = mu + i * width;
        row_dots(row, W, width, z.data());
        for (int64_t k = 0; k < K; ++k) z[k] += b[k] + (task.offset ? task.offset[i * K + k] : 0.0);
        const double log_sum = one.probabilities(z.data());
        sums.loss += w * (log_sum - z[task.codes[i]]);
        sums.gap += w * one.gap(z.data(), log_sum, m);
        if (!task.move) return;
        if (task.moved) task.moved->push_back(i);
        const double Q = w * (task.squares[i] * task.inverse + task.tau);
        const double* to = one.solve(z.data(), log_sum, m, Q);
        for (int64_t k = 0; k < width; ++k) {
            const double change = w * (m[k] - to[k]);
            d[k] = change * task.inverse;
            b[k] += change * task.tau;
            m[k] = to[k];
        }
        row_add(row, d.data(), W, width);
    });
    return sums;
}

template <class Row>
void begin_softmax(Row& row, const DualTask& task, int64_t p, int64_t K, const double* from, double* W,
                   double* mu) {
    DualSoftmax one(K);
    const int64_t width = padded(K);
    Buffer z(width), d(width);
    each_turn(row, task, [&](int64_t i, double w) {
        row_dots(row, from, width, z.data());
        for (int64_t k = 0; k < K; ++k)
            z[k] += from[p * width + k] + (task.offset ? task.offset[i * K + k] : 0.0);
        one.probabilities(z.data());
        for (int64_t k = 0; k < width; ++k) {
            const double change = w * ((k == task.codes[i]) - one.chance(k));
            mu[i * width + k] = one.chance(k);
            d[k] = change * task.inverse;
            W[p * width + k] += change * task.tau;
        }
        row_add(row, d.data(), W, width);
    });
}

// f(the dual of a loss of one margin).
template <class F>
auto with_dual(Loss loss, F&& f) {
    switch (loss) {
        case Loss::logistic:
            return f(DualLogistic{});
        case Loss::hinge:
            return f(DualHinge{});
        case Loss::squared_hinge:
            return f(DualSquaredHinge{});
        case Loss::squared:
            return f(DualSquared{});
        default:
            throw std::invalid_argument("no dual of this loss");
    }
}

inline DualSums dual_epoch(const Matrix& X, const double* shift, const DualTask& task, Loss loss, int64_t K,
                           double* W, double* a) {
    const int64_t p = column_count(X);
    return with_rows(X, shift, [&](auto& row) -> DualSums {
        if (loss == Loss::softmax) return dual_softmax(row, task, p, K, W, a);
        return with_dual(loss, [&]<class Curve>(Curve) { return dual_line<Curve>(row, task, p, W, a); });
    });
}

// The centre of the intercepts' penalty follows them: b = c + τ Σ a stays true.
inline void move_centre(double* b, double* centre, int64_t width) {
    for (int64_t k = 0; k < width; ++k) {
        const double before = b[k];
        b[k] += before - centre[k];
        centre[k] = before;
    }
}

// An epoch over the rows in their order, and others over those that the one before it has moved: a hinge
// leaves most rows at an end of their interval (Hsieh et al. 2008). The sums are those of the first, which
// meets all rows.
inline DualSums dual_round(const Matrix& X, const double* shift, DualTask task, Loss loss, int64_t K,
                           int64_t epochs, uint64_t seed, double* W, double* a, double* centre) {
    constexpr int64_t kMixed = 1024;  // as `deal` mixes rows: near each other in memory
    const int64_t width = loss == Loss::softmax ? padded(K) : 1;
    double* b = W + column_count(X) * width;
    std::vector<int64_t> rows, moved;
    task.moved = &moved;
    DualSums first;
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
        if (task.tau > 0) move_centre(b, centre, width);
        const DualSums met = dual_epoch(X, shift, task, loss, K, W, a);
        if (epoch == 0) first = met;
        if (moved.empty()) break;
        rows.swap(moved);
        moved.clear();
        const auto left = static_cast<int64_t>(rows.size());
        for (int64_t from = 0; from < left; from += kMixed)
            shuffle(rows.data() + from, std::min(kMixed, left - from),
                    row_key(static_cast<uint64_t>(epoch * left + from), seed));
        task.order = rows.data();
        task.steps = left;
    }
    return first;
}

inline void dual_begin(const Matrix& X, const double* shift, const DualTask& task, Loss loss, int64_t K,
                       const double* from, double* W, double* a) {
    const int64_t p = column_count(X);
    with_rows(X, shift, [&](auto& row) {
        if (loss == Loss::softmax) return begin_softmax(row, task, p, K, from, W, a);
        with_dual(loss, [&]<class Curve>(Curve) { begin_line<Curve>(row, task, p, from, W, a); });
    });
}

}  // namespace likelier
