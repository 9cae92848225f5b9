// Losses, pointwise in the scores of a tile of rows: z (q, height), lanes run over rows.
//
// Of two classes there is one score, and a loss is a function of the margin m = t z, t = ±1; softmax has a
// score for each class. Every loss gives its value, its slope by the scores, and its bend: the second
// derivative, which softmax has as a matrix, diag(p) - p pᵀ. All are times the row's weight, and a row that
// weighs nothing adds nothing, whatever its scores are.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "kernels/simd.hpp"
#include "kernels/tile.hpp"

namespace likelier {

enum class Loss { logistic, softmax, hinge, squared_hinge, perceptron, squared, mistakes, smooth_hinge };

// What is known of the rows beside X. A negative code: the row does not count.
struct Targets {
    const int32_t* codes;
    const double* weights;  // null: all 1
    const double* offset;   // (n, q), added to the scores; null: none
    int32_t positive;       // the code whose rows have t = +1
    int64_t q;
};

// The same of one tile of at most `height` rows, whole vectors; rows that do not count, or are not there,
// weigh nothing.
class TileTargets {
  public:
    TileTargets(const Targets& all, int64_t height)
        : height(height), w(height), t(height), own(height), code(height), all(all) {}

    void open(int64_t first, int64_t count) {
        this->first = first;
        this->count = count;
        for (int64_t r = 0; r < height; ++r) {
            const int32_t found = r < count ? all.codes[first + r] : -1;
            w[r] = found < 0 ? 0.0 : all.weights ? all.weights[first + r] : 1.0;
            t[r] = found == all.positive ? 1.0 : -1.0;
            code[r] = found < 0 ? 0 : found;
        }
    }

    void add_offset(double* z) const {
        if (!all.offset) return;
        for (int64_t r = 0; r < count; ++r)
            for (int64_t k = 0; k < all.q; ++k) z[k * height + r] += all.offset[(first + r) * all.q + k];
    }

    // z_y of each row, into `own`.
    void pick(const double* z) {
        for (int64_t r = 0; r < height; ++r) own[r] = z[code[r] * height + r];
    }

    const int64_t height;
    Buffer w, t, own;  // (height)
    std::vector<int32_t> code;

  private:
    const Targets all;
    int64_t first = 0, count = 0;
};

// w x, and 0 where w is, even if x is no number.
LIKELIER_INLINE vd weighed(vd w, vd x) {
    return w != splat(0.0) ? w * x : splat(0.0);
}

// ---- functions of a margin -----------------------------------------------------------------------
struct At {
    vd value, slope, bend;  // by m
};

// ln(1 + e^-m), whose slope is -1 / (1 + e^m). The exponential is of -|m|: nothing overflows.
struct Logistic {
    LIKELIER_INLINE static At at(vd m) {
        const vd zero = splat(0.0), e = exp(m < zero ? m : -m), near = splat(1.0) / (splat(1.0) + e);
        const vd far = e * near;
        return {log1p(e) + (m < zero ? -m : zero), m < zero ? -near : -far, far * near};
    }
};

// (1 - m)₊; at the corner, of all slopes: -1.
struct Hinge {
    LIKELIER_INLINE static At at(vd m) {
        const vd zero = splat(0.0), gap = splat(1.0) - m;
        return {gap < zero ? zero : gap, gap < zero ? zero : splat(-1.0), zero};
    }
};

struct SquaredHinge {
    LIKELIER_INLINE static At at(vd m) {
        const vd zero = splat(0.0), gap = splat(1.0) - m, short_by = gap < zero ? zero : gap;
        return {short_by * short_by, splat(-2.0) * short_by, gap > zero ? splat(2.0) : zero};
    }
};

// (-m)₊, whose slope at 0 is that of a mistake: or weights of 0 would never be left.
struct Perceptron {
    LIKELIER_INLINE static At at(vd m) {
        const vd zero = splat(0.0);
        return {m > zero ? zero : -m, m > zero ? zero : splat(-1.0), zero};
    }
};

// ½ (z - t)² = ½ (m - 1)², as t² = 1.
struct Squared {
    LIKELIER_INLINE static At at(vd m) {
        const vd d = m - splat(1.0);
        return {splat(0.5) * d * d, d, splat(1.0)};
    }
};

// The hinge with its corner rounded: ½ (1 - m)² from m = 0 to 1, a line before.
struct SmoothHinge {
    LIKELIER_INLINE static At at(vd m) {
        const vd zero = splat(0.0), one = splat(1.0), gap = one - m, short_by = gap < zero ? zero : gap;
        const vd round = short_by < one ? short_by : one;
        return {round * (short_by - splat(0.5) * round), -round, m < zero ? zero : gap > zero ? one : zero};
    }
};

struct Mistakes {
    LIKELIER_INLINE static vd value(vd m) { return m > splat(0.0) ? splat(0.0) : splat(1.0); }
};

// f(r, its margins) for the vectors of rows of a tile.
template <class F>
LIKELIER_INLINE void each_margin(const double* z, const TileTargets& rows, F&& f) {
    for (int64_t r = 0; r < rows.height; r += kLanes) f(r, load(&rows.t[r]) * load(z + r));
}

template <class Curve>
vd margin_values(const double* z, const TileTargets& rows) {
    vd sum = splat(0.0);
    each_margin(z, rows, [&](int64_t r, vd m) { sum += weighed(load(&rows.w[r]), Curve::at(m).value); });
    return sum;
}

template <class Curve>
vd margin_slopes(double* z, const TileTargets& rows, double* bend) {
    vd sum = splat(0.0);
    each_margin(z, rows, [&](int64_t r, vd m) {
        const vd w = load(&rows.w[r]);
        const At at = Curve::at(m);
        sum += weighed(w, at.value);
        store(z + r, load(&rows.t[r]) * weighed(w, at.slope));
        if (bend) store(bend + r, weighed(w, at.bend));
    });
    return sum;
}

template <class Curve>
void margin_bent(const double* z, const TileTargets& rows, double* s) {
    each_margin(z, rows, [&](int64_t r, vd m) {
        store(s + r, weighed(load(&rows.w[r]), Curve::at(m).bend * load(s + r)));
    });
}

// ---- softmax -------------------------------------------------------------------------------------
// e^{z_k - top} of a vector of rows into e, top = max z. The sum is 1 + rest: a small loss, ln(1 + rest) of
// the likeliest class, keeps its digits.
struct Exponentials {
    vd top, rest;

    LIKELIER_INLINE Exponentials(const double* z, int64_t q, int64_t height, double* e) {
        const vd zero = splat(0.0), one = splat(1.0);
        top = load(z);
        for (int64_t k = 1; k < q; ++k) {
            const vd x = load(z + k * height);
            top = x > top ? x : top;
        }
        vd others = zero, ties = -one;
        for (int64_t k = 0; k < q; ++k) {
            const vd d = load(z + k * height) - top, x = exp(d);
            ties += d == zero ? one : zero;
            others += d == zero ? zero : x;
            store(e + k * height, x);
        }
        rest = others + ties;
    }
};

// ln Σ e^z - z_y. z becomes e^{z - top}.
inline vd softmax_values(double* z, int64_t q, TileTargets& rows) {
    const int64_t height = rows.height;
    rows.pick(z);
    vd sum = splat(0.0);
    for (int64_t r = 0; r < height; r += kLanes) {
        const Exponentials e(z + r, q, height, z + r);
        sum += weighed(load(&rows.w[r]), (e.top - load(&rows.own[r])) + log1p(e.rest));
    }
    return sum;
}

// bend (q + 1, height): the probabilities, and the weights.
inline vd softmax_slopes(double* z, int64_t q, TileTargets& rows, double* bend) {
    const int64_t height = rows.height;
    rows.pick(z);
    vd sum = splat(0.0);
    for (int64_t r = 0; r < height; r += kLanes) {
        const vd w = load(&rows.w[r]);
        const Exponentials e(z + r, q, height, z + r);
        sum += weighed(w, (e.top - load(&rows.own[r])) + log1p(e.rest));
        const vd scale = splat(1.0) / (splat(1.0) + e.rest);
        for (int64_t k = 0; k < q; ++k) {
            const vd p = load(z + k * height + r) * scale;
            store(z + k * height + r, weighed(w, p));
            if (bend) store(bend + k * height + r, w != splat(0.0) ? p : w);
        }
        if (bend) store(bend + q * height + r, w);
    }
    for (int64_t r = 0; r < height; ++r) z[rows.code[r] * height + r] -= rows.w[r];
    return sum;
}

// s_k becomes w p_k (s_k - Σ_l p_l s_l), z becomes e^{z - top}.
inline void softmax_bent(double* z, int64_t q, const TileTargets& rows, double* s) {
    const int64_t height = rows.height;
    for (int64_t r = 0; r < height; r += kLanes) {
        const vd w = load(&rows.w[r]);
        const Exponentials e(z + r, q, height, z + r);
        const vd scale = splat(1.0) / (splat(1.0) + e.rest);
        vd mean = splat(0.0);
        for (int64_t k = 0; k < q; ++k) mean += load(z + k * height + r) * load(s + k * height + r);
        mean *= scale;
        for (int64_t k = 0; k < q; ++k) {
            const vd p = load(z + k * height + r) * scale;
            store(s + k * height + r, weighed(w, p * (load(s + k * height + r) - mean)));
        }
    }
}

// ---- any loss ------------------------------------------------------------------------------------
// What a tile adds to the sum of losses, a part in each lane. What stands in z afterwards is not to be
// read.
inline vd tile_values(Loss loss, double* z, int64_t q, TileTargets& rows) {
    switch (loss) {
        case Loss::logistic:
            return margin_values<Logistic>(z, rows);
        case Loss::softmax:
            return softmax_values(z, q, rows);
        case Loss::hinge:
            return margin_values<Hinge>(z, rows);
        case Loss::squared_hinge:
            return margin_values<SquaredHinge>(z, rows);
        case Loss::smooth_hinge:
            return margin_values<SmoothHinge>(z, rows);
        case Loss::perceptron:
            return margin_values<Perceptron>(z, rows);
        case Loss::squared:
            return margin_values<Squared>(z, rows);
        case Loss::mistakes:
            break;
    }
    vd sum = splat(0.0);
    each_margin(z, rows, [&](int64_t r, vd m) { sum += weighed(load(&rows.w[r]), Mistakes::value(m)); });
    return sum;
}

[[noreturn]] inline void no_slope() {
    throw std::invalid_argument("mistakes have a number, and no slope: ask for loss_values");
}

// The same; z becomes the slopes. `bend`, unless null, gets what `bend_of` reads: (bend_rows, height).
inline vd tile_slopes(Loss loss, double* z, int64_t q, TileTargets& rows, double* bend) {
    switch (loss) {
        case Loss::logistic:
            return margin_slopes<Logistic>(z, rows, bend);
        case Loss::softmax:
            return softmax_slopes(z, q, rows, bend);
        case Loss::hinge:
            return margin_slopes<Hinge>(z, rows, bend);
        case Loss::squared_hinge:
            return margin_slopes<SquaredHinge>(z, rows, bend);
        case Loss::smooth_hinge:
            return margin_slopes<SmoothHinge>(z, rows, bend);
        case Loss::perceptron:
            return margin_slopes<Perceptron>(z, rows, bend);
        case Loss::squared:
            return margin_slopes<Squared>(z, rows, bend);
        case Loss::mistakes:
            break;
    }
    no_slope();
}

// s (q, height) becomes the bend at z times s. What stands in z afterwards is not to be read.
inline void tile_bent(Loss loss, double* z, int64_t q, const TileTargets& rows, double* s) {
    switch (loss) {
        case Loss::logistic:
            return margin_bent<Logistic>(z, rows, s);
        case Loss::softmax:
            return softmax_bent(z, q, rows, s);
        case Loss::hinge:
            return margin_bent<Hinge>(z, rows, s);
        case Loss::squared_hinge:
            return margin_bent<SquaredHinge>(z, rows, s);
        case Loss::smooth_hinge:
            return margin_bent<SmoothHinge>(z, rows, s);
        case Loss::perceptron:
            return margin_bent<Perceptron>(z, rows, s);
        case Loss::squared:
            return margin_bent<Squared>(z, rows, s);
        case Loss::mistakes:
            break;
    }
    no_slope();
}

inline int64_t bend_rows(Loss loss, int64_t q) {
    return loss == Loss::softmax ? q + 1 : 1;
}

// |c| for the cell c (k, l) of the bend of a vector of rows, out of what `tile_slopes` left, `height`
// apart. Off the diagonal softmax has c < 0, everything else is c >= 0.
LIKELIER_INLINE vd bend_of(Loss loss, const double* bend, int64_t height, int64_t q, int64_t k, int64_t l) {
    if (loss != Loss::softmax) return load(bend);
    const vd p = load(bend + k * height), w = load(bend + q * height);
    return w * (p * (k == l ? splat(1.0) - p : load(bend + l * height)));
}

}  // namespace likelier
