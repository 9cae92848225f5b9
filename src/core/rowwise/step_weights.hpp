// Weights that a step moves in the cells of one row, though a penalty and a mean concern all of them.
//
// They are a scale times a vector, so that an l2 penalty costs one product. The mean of all weights so far
// is (past + a · vector) / grown, of which a step changes its own cells (Bottou 2012). The l1 penalty is
// cumulative: a cell that is met owes what all turns so far would have cut from it (Tsuruoka, Tsujii &
// Ananiadou 2009). With adagrad every weight has a pace of its own, η₀ / √Σg² (Duchi, Hazan & Singer 2011),
// and pays its l2 penalty by proximal steps when it is met: between two meetings its pace stands still.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/simd.hpp"
#include "rowwise/plain_row.hpp"
#include "rowwise/row.hpp"

namespace likelier {

constexpr double kLeastScale = 1e-9;

class StepWeights {
  public:
    StepWeights(int64_t places, int64_t width) : width(width), vector(places * width), bias(width) {}

    const int64_t width;
    Buffer vector;                             // (places, width)
    Buffer bias;                               // (width,)
    Buffer past, past_bias;                    // empty: no mean is wanted
    Buffer squares, bias_squares;              // Σg²; empty: no adagrad
    Buffer cut;                                // by the l1 penalty; empty: there is none
    double scale = 1, square = 0, length = 0;  // ‖w‖² and ‖w‖₁, of the cells of the last step

    // Before the first turn, once they are set.
    void begin(bool cutting, int64_t now) {
        for (const double w : vector) {
            square += w * w;
            length += std::abs(w);
        }
        if (cutting) cut.assign(vector.size(), 0.0);
        if (squares.empty()) return;
        paid.assign(vector.size() / width, now);
        owed = cut;
    }

    void shrink(double by) {
        scale *= by;
        inverse = 1 / scale;
        square *= by * by;
        length *= by;
        if (scale < kLeastScale) fold();
    }

    // w += force x
    template <class Row>
    LIKELIER_INLINE void add(const Row& row, double force, bool measured) {
        const double step = unscaled(row, force, scale, inverse);
        row_add(row, step, vector.data());
        if (a != 0) row_take(row, a, step, past.data());
        if (measured) measure(row);
    }

    // W += x force, a force for each score
    template <class Row>
    void add(const Row& row, const double* force, bool measured) {
        row_add(row, times(force, inverse), vector.data(), width);
        if (a != 0) row_add(row, times(force, -a * inverse), past.data(), width);
        if (measured) measure(row);
    }

    template <class Force>
    LIKELIER_INLINE void add_bias(Force force, double by) {
        for (int64_t k = 0; k < width; ++k) bias[k] += rounded(by * lane(force, k));
    }

    // The mean of `count` turns, with what the weights are now.
    LIKELIER_INLINE void average(double count) {
        const double share = 1 / count;
        if (count > 1) grown /= 1 - share;
        a += rounded(share * grown * scale);
        for (int64_t k = 0; k < width; ++k) past_bias[k] += (bias[k] - past_bias[k]) / count;
    }

    // Cut towards 0 what the cells of a row owe of u, the l1 penalty of all turns so far.
    template <class Row>
    LIKELIER_APART void clip(const Row& row, double u) {
        each_weight(row, [&](int64_t at, double, int64_t) { clip(at, u); });
    }

    // ---- adagrad: the scale stays 1 ----
    template <class Row>
    LIKELIER_APART void pay(const Row& row, int64_t now, double eta, double l2, double l1) {
        for (int64_t c = 0; c < row.cells(); ++c) pay(row.column(c), now, eta, l2, l1);
    }

    LIKELIER_APART void pay_all(int64_t now, double eta, double l2, double l1) {
        for (int64_t j = 0; j < static_cast<int64_t>(vector.size()) / width; ++j) pay(j, now, eta, l2, l1);
    }

    template <class Row, class Force>
    void add_adagrad(const Row& row, Force force, double eta, bool measured) {
        each_weight(row, [&](int64_t at, double x, int64_t k) {
            const double g = x * lane(force, k);
            if (g == 0) return;
            squares[at] += g * g;
            const double step = eta * g / std::sqrt(squares[at]);
            vector[at] += step;
            if (!past.empty()) past[at] -= a * step;
        });
        if (measured) measure(row);
    }

    template <class Force>
    void add_bias_adagrad(Force force, double eta) {
        for (int64_t k = 0; k < width; ++k) {
            const double g = lane(force, k);
            if (g == 0) continue;
            bias_squares[k] += g * g;
            bias[k] += eta * g / std::sqrt(bias_squares[k]);
        }
    }

    // ---- what they are ----
    double weight(int64_t at) const { return scale * vector[at]; }
    double mean(int64_t at) const { return (past[at] + a * vector[at]) / grown; }

    LIKELIER_APART bool finite() const {
        const auto all = [](const Buffer& some) {
            return std::all_of(some.begin(), some.end(), [](double w) { return std::isfinite(w); });
        };
        return all(vector) && all(bias);
    }

    static double lane(double force, int64_t) { return force; }
    static double lane(const double* force, int64_t k) { return force[k]; }

  private:
    double inverse = 1, a = 0, grown = 1;
    std::vector<int64_t> paid;  // (places,), the turn up to which penalties are paid
    Buffer owed;                // of the l1 penalty, by each weight at its own pace
    Buffer scaled = Buffer(width);

    LIKELIER_INLINE void clip(int64_t at, double u) {
        double& w = vector[at];
        const double before = w;
        if (w > 0)
            w = std::max(0.0, w - (u + cut[at]) / scale);
        else if (w < 0)
            w = std::min(0.0, w + (u - cut[at]) / scale);
        cut[at] += rounded(scale * (w - before));
    }

    LIKELIER_APART void fold() {
        for (size_t at = 0; at < past.size(); ++at) past[at] = (past[at] + a * vector[at]) / grown;
        for (double& w : vector) w *= scale;
        a = 0;
        grown = scale = inverse = 1;
    }

    const double* times(const double* force, double by) {
        for (int64_t k = 0; k < width; ++k) scaled[k] = force[k] * by;
        return scaled.data();
    }

    // f(where a weight lies, the cell that it multiplies, of which score it is)
    template <class Row, class F>
    LIKELIER_INLINE void each_weight(const Row& row, F&& f) const {
        for (int64_t c = 0; c < row.cells(); ++c)
            for (int64_t k = 0; k < width; ++k) f(row.column(c) * width + k, row.value(c), k);
    }

    template <class Row>
    LIKELIER_APART void measure(const Row& row) {
        double sum = 0, sizes = 0;
        each_weight(row, [&](int64_t at, double, int64_t) {
            sum += vector[at] * vector[at];
            sizes += std::abs(vector[at]);
        });
        square = sum * scale * scale;
        length = sizes * scale;
    }

    void pay(int64_t j, int64_t now, double eta, double l2, double l1) {
        const auto turns = static_cast<double>(now - paid[j]);
        paid[j] = now;
        if (turns == 0) return;
        for (int64_t at = j * width; at < (j + 1) * width; ++at) {
            if (squares[at] == 0) continue;
            const double pace = eta / std::sqrt(squares[at]), before = vector[at];
            const double less = 1 + pace * l2;
            vector[at] /= turns == 1 ? less : std::pow(less, turns);
            if (l1 > 0) {
                owed[at] += turns * pace * l1;
                clip(at, owed[at]);
            }
            if (!past.empty()) past[at] -= a * (vector[at] - before);
        }
    }
};

}  // namespace likelier
