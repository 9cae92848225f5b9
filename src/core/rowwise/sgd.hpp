// Stochastic gradient descent: a step against the slope of each row's loss, in the order that is given.
//
//   W -= η_t w_i ℓ'(z_i) x_i,   η_t = η_0 / (1 + t/T)^power      (Robbins & Monro 1951; Bottou 2010)
//
// A smooth loss takes no step beyond 1 / (its bound on the bend · ‖x‖²), where its row would be overshot.
// The penalty acts on all weights at once, every so many rows, by its proximal step for the way that the
// rows have gone since; there the mean of the iterates (Polyak & Juditsky 1992) is taken as well.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "rowwise/dual.hpp"
#include "rowwise/row.hpp"

namespace likelier {

struct SgdTask {
    const int32_t* codes;
    const double* weights;  // null: 1
    const double* offset;   // (n, q); null: 0
    const int64_t* order;
    int64_t steps;
    const double* squares;  // ‖x_i‖²
    double rate, power, horizon;
    double bound;  // of the bend; 0: there is none
    bool intercept;
    const double* l2;  // (p,)
    const double* l1;  // (p,)
    int64_t every;     // rows, at most, between the penalty's steps
};

// W and the mean of its past, (p + 1, width) both; `taken` steps were taken before.
class Descent {
  public:
    Descent(const SgdTask& task, int64_t p, int64_t width, double* W, double* mean, int64_t taken)
        : task(task), p(p), width(width), W(W), mean(mean), taken(taken) {}

    // η of this step, for a row of weight w.
    double pace(int64_t i, double w) {
        double rate = w * task.rate * std::pow(1 + static_cast<double>(taken) / task.horizon, -task.power);
        way += rate;
        const double square = task.squares[i] + task.intercept;
        if (task.bound * square * rate > 1) rate = 1 / (task.bound * square);
        return rate;
    }

    void stepped() {
        ++taken;
        if (++since == task.every) sweep();
    }

    int64_t finish() {
        if (since > 0) sweep();
        return taken;
    }

  private:
    const SgdTask& task;
    const int64_t p, width;
    double *W, *mean;
    int64_t taken, since = 0, averaged = 0;
    double way = 0;  // Σ η since the last sweep

    void sweep() {
        averaged += since;
        const double share = static_cast<double>(since) / static_cast<double>(averaged);
        for (int64_t j = 0; j <= p; ++j) {
            const double less = j < p ? way * task.l1[j] : 0.0, shrunk = j < p ? 1 + way * task.l2[j] : 1.0;
            for (int64_t k = j * width; k < (j + 1) * width; ++k) {
                if (less > 0) W[k] = std::copysign(std::max(std::abs(W[k]) - less, 0.0), W[k]);
                W[k] /= shrunk;
                mean[k] += share * (W[k] - mean[k]);
            }
        }
        since = 0;
        way = 0;
    }
};

// Before each step: Σ w ℓ; and how many steps have been taken by now.
struct SgdSums {
    double loss = 0;
    int64_t taken = 0;
};

template <class Curve, class Row>
SgdSums sgd_line(Row& row, const SgdTask& task, int64_t p, double* W, double* mean, int64_t taken) {
    SgdSums sums;
    Descent descent(task, p, 1, W, mean, taken);
    each_turn(row, task, [&](int64_t i, double w) {
        const double t = task.codes[i] == 1 ? 1.0 : -1.0;
        const double m = t * (row_dot(row, W) + W[p] + (task.offset ? task.offset[i] : 0.0));
        sums.loss += w * value_at<Curve>(m);
        const double d = -descent.pace(i, w) * t * slope_at<Curve>(m);
        if (d != 0) row_add(row, d, W);
        if (task.intercept) W[p] += d;
        descent.stepped();
    });
    sums.taken = descent.finish();
    return sums;
}

template <class Row>
SgdSums sgd_softmax(Row& row, const SgdTask& task, int64_t p, int64_t K, double* W, double* mean,
                    int64_t taken) {
    SgdSums sums;
    const int64_t width = padded(K);
    Descent descent(task, p, width, W, mean, taken);
    DualSoftmax one(K);
    double* b = W + p * width;
    Buffer z(width), d(width);
    each_turn(row, task, [&](int64_t i, double w) {
        row_dots(row, W, width, z.data());
        for (int64_t k = 0; k < K; ++k) z[k] += b[k] + (task.offset ? task.offset[i * K + k] : 0.0);
        sums.loss += w * (one.probabilities(z.data()) - z[task.codes[i]]);
        const double rate = descent.pace(i, w);
        for (int64_t k = 0; k < width; ++k) {
            d[k] = rate * ((k == task.codes[i]) - one.chance(k));
            if (task.intercept) b[k] += d[k];
        }
        row_add(row, d.data(), W, width);
        descent.stepped();
    });
    sums.taken = descent.finish();
    return sums;
}

inline SgdSums sgd_epoch(const Matrix& X, const double* shift, const SgdTask& task, Loss loss, int64_t K,
                         double* W, double* mean, int64_t taken) {
    const int64_t p = column_count(X);
    return with_rows(X, shift, [&](auto& row) -> SgdSums {
        switch (loss) {
            case Loss::logistic:
                return sgd_line<Logistic>(row, task, p, W, mean, taken);
            case Loss::softmax:
                return sgd_softmax(row, task, p, K, W, mean, taken);
            case Loss::hinge:
                return sgd_line<Hinge>(row, task, p, W, mean, taken);
            case Loss::squared_hinge:
                return sgd_line<SquaredHinge>(row, task, p, W, mean, taken);
            case Loss::perceptron:
                return sgd_line<Perceptron>(row, task, p, W, mean, taken);
            case Loss::squared:
                return sgd_line<Squared>(row, task, p, W, mean, taken);
            default:
                break;
        }
        no_slope();
    });
}

}  // namespace likelier
