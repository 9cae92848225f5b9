// What a step asks of a loss: the scores of one row, whether they are right, their value and their slope.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "losses/losses.hpp"
#include "rowwise/dual.hpp"
#include "rowwise/plain_row.hpp"
#include "rowwise/row.hpp"

namespace likelier {

// ---- losses of the margin, beside those of losses.hpp --------------------------------------------
// (1 - m)₊², a line of slope -4 where m < -1 (Zhang 2004).
struct ModifiedHuber {
    LIKELIER_INLINE static At at(vd m) {
        const vd zero = splat(0.0), gap = splat(1.0) - m, short_by = gap < zero ? zero : gap;
        const vd two = splat(2.0), near = short_by < two ? short_by : two;
        return {near * (splat(2.0) * short_by - near), splat(-2.0) * near, zero};
    }
};

// The rest are of the residual r = |y - z| = |1 - m|, as y² = 1: ½ r² up to ε, a line beyond (Huber 1964),
struct Huber {
    double epsilon;
    LIKELIER_INLINE At at(vd m) const {
        const vd zero = splat(0.0), d = m - splat(1.0), e = splat(epsilon), r = d < zero ? -d : d;
        const vd near = r < e ? r : e;
        return {near * (r - splat(0.5) * near), d < zero ? -near : near, zero};
    }
};

// (r - ε)₊,
struct Insensitive {
    double epsilon;
    LIKELIER_INLINE At at(vd m) const {
        const vd zero = splat(0.0), one = splat(1.0), d = m - one;
        const vd over = (d < zero ? -d : d) - splat(epsilon);
        return {over > zero ? over : zero, over > zero ? (d < zero ? -one : one) : zero, zero};
    }
};

// (r - ε)₊².
struct SquaredInsensitive {
    double epsilon;
    LIKELIER_INLINE At at(vd m) const {
        const vd zero = splat(0.0), d = m - splat(1.0), over = (d < zero ? -d : d) - splat(epsilon);
        const vd left = over > zero ? over : zero, slope = splat(2.0) * left;
        return {left * left, d < zero ? -slope : slope, zero};
    }
};

enum class StepLoss {
    logistic,
    softmax,
    hinge,
    squared_hinge,
    perceptron,
    squared,
    modified_huber,
    huber,
    insensitive,
    squared_insensitive
};

constexpr double kSteepest = 1e12;

// ∂ℓ/∂z, t = ±1 being the label.
template <class Curve>
LIKELIER_INLINE double slope_by_score(const Curve& curve, double z, double t) {
    return t * curve.at(splat(t * z)).slope[0];
}

// σ(z) less the label (1 or 0), with the C library's exponential, whose latency is the least; and from -37
// on down without the sum, as scikit-learn has it: then the bits are the same.
LIKELIER_INLINE double slope_by_score(const Logistic&, double z, double t) {
    if (z <= -37) return std::exp(z) - (t > 0 ? 1.0 : 0.0);
    const double e = std::exp(-z);
    return (t > 0 ? -e : 1.0) / (1 + e);
}

// What a loss adds to a sum.
template <class Curve>
LIKELIER_INLINE double plus_value(const Curve& curve, double m, double sum) {
    return sum + curve.at(splat(m)).value[0];
}

template <class Curve>
LIKELIER_INLINE vd plus_values(const Curve& curve, vd m, vd sums) {
    return sums + curve.at(m).value;
}

// (c - m)₊: the hinge, or with c = 0 the perceptron's loss. At the corner, of all slopes: -1.
struct Corner {
    double c;
    LIKELIER_INLINE At at(vd m) const {
        const vd zero = splat(0.0), gap = splat(c) - m;
        return {gap < zero ? zero : gap, gap < zero ? zero : splat(-1.0), zero};
    }
};

// Any of the others: asked at every row, and always foreseen. The loops over rows are compiled once for all
// of them, and by themselves for a corner alone, whose steps cost so little that the question shows.
struct AnyCurve {
    StepLoss loss;
    double epsilon;

    template <class F>
    LIKELIER_INLINE auto ask(F&& f) const {
        switch (loss) {
            case StepLoss::logistic:
                return f(Logistic{});
            case StepLoss::squared_hinge:
                return f(SquaredHinge{});
            case StepLoss::squared:
                return f(Squared{});
            case StepLoss::modified_huber:
                return f(ModifiedHuber{});
            case StepLoss::huber:
                return f(Huber{epsilon});
            case StepLoss::insensitive:
                return f(Insensitive{epsilon});
            default:
                return f(SquaredInsensitive{epsilon});
        }
    }
};

LIKELIER_APART inline double plus_value(const AnyCurve& any, double m, double sum) {
    return any.ask([&](const auto& curve) { return plus_value(curve, m, sum); });
}

LIKELIER_APART inline vd plus_values(const AnyCurve& any, vd m, vd sums) {
    return any.ask([&](const auto& curve) { return plus_values(curve, m, sums); });
}

LIKELIER_INLINE double slope_by_score(const AnyCurve& any, double z, double t) {
    return any.ask([&](const auto& curve) { return slope_by_score(curve, z, t); });
}

// One score. Losses are added up by vectors of margins: no step waits for their logarithms.
template <class Curve>
class OneScore {
  public:
    using Force = double;

    explicit OneScore(const Curve& curve) : curve(curve) {}

    // Whether the score of a row is a finite number; `own`: the row is of the positive class.
    template <class Row>
    LIKELIER_INLINE bool look(const Row& row, const double* w, double scale, const double* b, int32_t own) {
        z = rounded(scale * row_dot(row, w)) + b[0];
        t = own ? 1.0 : -1.0;
        m = t * z;
        return std::abs(z) <= std::numeric_limits<double>::max();
    }

    LIKELIER_INLINE bool mistaken() const { return m <= 0; }
    LIKELIER_INLINE bool told() const { return (z > 0) == (t > 0); }
    LIKELIER_INLINE double value() const { return plus_value(curve, m, 0.0); }

    LIKELIER_INLINE void count() {
        margins[counted] = m;
        if (++counted == kLanes) {
            sums = plus_values(curve, load(margins), sums);
            counted = 0;
        }
    }

    // The losses counted so far, added up.
    double counted_up() {
        double sum = total(std::exchange(sums, splat(0.0)));
        for (; counted > 0; --counted) sum = plus_value(curve, margins[counted - 1], sum);
        return sum;
    }

    // -pace ℓ'(z), for a row of weight w.
    LIKELIER_INLINE Force force(double pace, double w) {
        double slope = slope_by_score(curve, z, t);
        if (std::abs(slope) > kSteepest) {
            slope = std::copysign(kSteepest, slope);
            ++clipped;
        }
        return -pace * slope * w;
    }

    int64_t clipped = 0;

  private:
    const Curve curve;
    double z = 0, t = 0, m = 0;
    vd sums = splat(0.0);
    double margins[kLanes];
    int counted = 0;
};

// A score for each class: -ln P(y). A step adds η (1 - P) x to the weights of the row's class, and takes
// η P x from those of the others.
class ManyScores {
  public:
    using Force = const double*;

    explicit ManyScores(int64_t K) : K(K), width(padded(K)), one(K), z(width), d(width) {}

    template <class Row>
    bool look(const Row& row, const double* W, double scale, const double* b, int32_t own) {
        row_dots(row, W, width, z.data());
        this->own = own;
        double sum = 0;
        for (int64_t k = 0; k < K; ++k) {
            z[k] = scale * z[k] + b[k];
            sum += std::abs(z[k]);
        }
        log_sum = one.probabilities(z.data());
        return sum <= std::numeric_limits<double>::max();
    }

    bool told() const { return std::max_element(z.begin(), z.begin() + K) - z.begin() == own; }
    bool mistaken() const { return !told(); }
    double value() const { return log_sum - z[own]; }
    void count() { sum += value(); }
    double counted_up() { return std::exchange(sum, 0.0); }

    Force force(double pace, double w) {
        for (int64_t k = 0; k < width; ++k) d[k] = pace * w * ((k == own) - one.chance(k));
        return d.data();
    }

    int64_t clipped = 0;  // never: no slope is more than 1

  private:
    const int64_t K, width;
    DualSoftmax one;
    Buffer z, d;
    int32_t own = 0;
    double log_sum = 0, sum = 0;
};

// f(what a step asks of this loss)
template <class F>
void with_scores(StepLoss loss, double epsilon, int64_t K, F&& f) {
    if (loss == StepLoss::softmax) {
        ManyScores scores(K);
        f(scores);
    } else if (loss == StepLoss::hinge || loss == StepLoss::perceptron) {
        OneScore scores(Corner{loss == StepLoss::hinge ? 1.0 : 0.0});
        f(scores);
    } else {
        OneScore scores(AnyCurve{loss, epsilon});
        f(scores);
    }
}

}  // namespace likelier
