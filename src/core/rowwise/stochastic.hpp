// Stochastic gradient descent in epochs over shuffled rows, step for step as scikit-learn takes it:
//
//   w ← (1 - η λ₂) w - η c_i ℓ'(z_i) x_i,   b ← b - δ η c_i ℓ'(z_i)              (Bottou 2012)
//
// with η by one of several schedules, the mean of all weights where it is wanted, an end where nothing is
// gained any more, and a diary of the turns at which a step was taken.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "losses/step_losses.hpp"
#include "rowwise/plain_row.hpp"
#include "rowwise/row.hpp"
#include "rowwise/step_weights.hpp"

namespace likelier {

enum class Rate { constant, optimal, invscaling, adaptive, pa1, pa2, adagrad };

// What a fit is told.
struct Course {
    StepLoss loss;
    double epsilon;
    int64_t K;  // scores
    Rate rate;
    double eta0, power;
    double alpha, t0;         // optimal: η = 1 / (alpha (t0 + t - 1))
    double strength, l2, l1;  // of the penalty: strength (l2 ‖w‖²/2 + l1 ‖w‖₁)
    int64_t average;          // from this turn on; 0: never
    bool intercept;
    double decay;  // δ
    bool shuffle;
    uint32_t seed;
    double tol;        // minus infinity: no end but the last epoch
    int64_t patience;  // epochs without a gain of tol
    bool still;        // an epoch without a step is the last
    bool diary;
    bool in_order;   // sums cell by cell
    double refusal;  // what a held row of the other class adds to the score if told right
};

// What is known of the rows beside X.
struct StepRows {
    const int32_t* codes;    // below 0: of no class, and without a turn
    int32_t positive;        // the code of the class with a score; softmax: all have
    const double* weights;   // null: 1
    const uint8_t* held;     // rows to judge by, and not to learn from; null: none
    const double* by_class;  // weights of the other and of the positive class; softmax: of each
};

constexpr int kTurnsAhead = 8;  // rows that are fetched before their turn

// Marsaglia's xorshift (2003), of which scikit-learn keeps 31 bits.
inline uint32_t next_random(uint32_t& seed) {
    if (seed == 0) seed = 1;
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed & 0x7fffffffU;
}

// Σ x²
template <class Row>
double row_square(const Row& row) {
    double sum = 0;
    for (int64_t c = 0; c < row.cells(); ++c) sum += rounded(row.value(c) * row.value(c));
    return sum;
}

// Where steps have come to, with all that is left over from them: the scale of the weights, their mean, and
// what the l1 penalty has asked for and not got.
struct Stepped {
    StepWeights weights;
    double owed;
};

// Epochs of steps, and what has been seen in them.
class Stochastic {
  public:
    // θ (q, p + 1), intercepts last: where to begin. `mean` and `squares` likewise, if they are wanted. Or
    // `from`, where steps at other rows have come to: these go on from there, to the bit.
    Stochastic(const Matrix& X, const StepRows& rows, const Course& course, double t, const double* theta,
               const double* mean, const double* squares, const Stepped* from)
        : t(t),
          X(X),
          rows(rows),
          course(course),
          n(row_count(X)),
          p(column_count(X)),
          q(course.loss == StepLoss::softmax ? course.K : 1),
          places(with_plain_rows(X, course.in_order, [](auto& row) { return row.places(); })),
          weights(from ? from->weights : StepWeights(places.count, q == 1 ? 1 : padded(q))),
          eta(course.eta0),
          owed(from ? from->owed : 0.0) {
        if (n > std::numeric_limits<int32_t>::max())
            throw std::invalid_argument("rows to shuffle are at most 2^31 - 1");
        turns.reserve(n);
        for (int64_t i = 0; i < n; ++i) {
            if (rows.codes[i] < 0) continue;
            turns.push_back(static_cast<uint32_t>(2 * i + (rows.codes[i] == rows.positive)));
            learned += !rows.held || !rows.held[i];
        }
        if (turns.empty()) throw std::invalid_argument("no row is of a class");
        if (from) {
            const int64_t width = q == 1 ? 1 : padded(q);
            if (weights.width != width ||
                static_cast<int64_t>(weights.vector.size()) != places.count * width)
                throw std::invalid_argument("the steps so far were at rows of another kind");
            return;
        }
        set(theta, weights.vector, weights.bias);
        if (mean) set(mean, weights.past, weights.past_bias);
        if (squares) set(squares, weights.squares, weights.bias_squares);
        weights.begin(course.l1 > 0, now());
    }

    Stepped stepped() const { return {weights, owed}; }

    // At most so many epochs more.
    void run(int64_t most) {
        with_plain_rows(X, course.in_order, [&](auto& row) {
            with_scores(course.loss, course.epsilon, course.K, [&](auto& scores) {
                for (int64_t e = 0; e < most && !ended && bad < 0; ++e) {
                    if (course.shuffle) shuffle();
                    epoch(row, scores);
                    if (bad < 0) judge(row, scores);
                }
                clipped += scores.clipped;
            });
        });
    }

    // The diary begins anew: whoever reads it after each epoch needs room for one.
    void forget() {
        diary_turns.clear();
        diary_rows.clear();
    }

    // (q, p + 1)
    void theta(double* out) const {
        get(out, [&](int64_t at) { return weights.weight(at); }, weights.bias);
    }
    void mean(double* out) const {
        get(out, [&](int64_t at) { return weights.mean(at); }, weights.past_bias);
    }
    void squares(double* out) const {
        get(out, [&](int64_t at) { return weights.squares[at]; }, weights.bias_squares);
    }

    bool ended = false;
    int64_t clipped = 0;                 // steps whose slope was cut to what is bearable
    int64_t bad = -1;                    // a row whose score is no finite number: what was learned is void
    std::vector<double> losses, judged;  // by epoch: mean loss before each step; the score of held rows
    double objective = 0;  // of the last epoch: Σ of losses and, where somebody asks, of penalties
    std::vector<int64_t> mistakes, steps;  // by epoch
    std::vector<int64_t> diary_turns, diary_rows;
    double t;  // of the next turn

  private:
    const Matrix& X;
    const StepRows rows;
    const Course course;
    const int64_t n, p, q;
    const Places places;
    StepWeights weights;
    double eta;
    std::vector<uint32_t> turns;  // 2 × row + whether it is of the positive class
    int64_t learned = 0, idle = 0;
    double owed;
    double best = std::numeric_limits<double>::infinity();

    bool adagrad() const { return course.rate == Rate::adagrad; }
    bool penalised() const { return course.l2 > 0 || course.l1 > 0; }
    double ridge() const { return course.strength * course.l2; }
    double lasso() const { return course.strength * course.l1; }
    int64_t now() const { return static_cast<int64_t>(t); }

    template <class F>
    void each_place(F&& f) const {
        for (int64_t k = 0; k < q; ++k)
            for (int64_t j = 0; j < p; ++j) f(k * (p + 1) + j, places.at(j) * weights.width + k);
    }

    void set(const double* from, Buffer& vector, Buffer& bias) const {
        vector.assign(weights.vector.size(), 0.0);
        bias.assign(weights.width, 0.0);
        each_place([&](int64_t j, int64_t at) { vector[at] = from[j]; });
        for (int64_t k = 0; k < q; ++k) bias[k] = from[k * (p + 1) + p];
    }

    template <class F>
    void get(double* out, F&& f, const Buffer& bias) const {
        each_place([&](int64_t j, int64_t at) { out[j] = f(at); });
        for (int64_t k = 0; k < q; ++k) out[k * (p + 1) + p] = bias[k];
    }

    void shuffle() {
        uint32_t seed = course.seed;
        const auto n = static_cast<uint32_t>(turns.size());
        for (uint32_t i = 0; i + 1 < n; ++i) std::swap(turns[i], turns[i + next_random(seed) % (n - i)]);
    }

    template <class Row>
    LIKELIER_INLINE void fetch(const Row& row, int64_t s, int64_t last) const {
        if (s + 2 * kTurnsAhead < last) row.announce(turns[s + 2 * kTurnsAhead] >> 1);
        if (s + kTurnsAhead < last) {
            const int64_t i = turns[s + kTurnsAhead] >> 1;
            row.fetch(i);
            if (rows.weights) __builtin_prefetch(rows.weights + i);
        }
    }

    int32_t own(uint32_t turn) const {
        return q > 1 ? rows.codes[turn >> 1] : static_cast<int32_t>(turn & 1);
    }

    template <class Row, class Scores>
    void epoch(Row& row, Scores& scores) {
        const bool watched = course.tol > -std::numeric_limits<double>::infinity() && !rows.held &&
                             course.rate != Rate::pa1 && course.rate != Rate::pa2;
        const bool measured = watched && penalised();
        mistakes.push_back(0);
        steps.push_back(0);
        objective = 0;
        const auto last = static_cast<int64_t>(turns.size());
        for (int64_t s = 0; s < last; ++s) {
            fetch(row, s, last);
            const int64_t i = turns[s] >> 1;
            if (rows.held && rows.held[i]) continue;
            const int32_t label = own(turns[s]);
            row.open(i);
            if (adagrad() && penalised()) weights.pay(row, now(), course.eta0, ridge(), lasso());
            if (!scores.look(row, weights.vector.data(), weights.scale, weights.bias.data(), label)) {
                bad = i;
                return;
            }
            scores.count();
            mistakes.back() += scores.mistaken();
            if (measured) objective += 0.5 * ridge() * weights.square + lasso() * weights.length;
            const double w = rows.by_class[label] * (rows.weights ? rows.weights[i] : 1.0);
            if (adagrad())
                step_adagrad(row, scores, i, w, measured);
            else
                step(row, scores, i, w, measured);
        }
        if (adagrad() && penalised()) weights.pay_all(now(), course.eta0, ridge(), lasso());
        const double loss = scores.counted_up();
        objective += loss;
        losses.push_back(loss / static_cast<double>(learned));
        if (!weights.finite()) bad = turns.back() >> 1;
    }

    template <class Row, class Scores>
    LIKELIER_INLINE void step(Row& row, Scores& scores, int64_t i, double w, bool measured) {
        double pace = eta;
        switch (course.rate) {
            case Rate::optimal:
                pace = eta = 1 / (course.alpha * (course.t0 + t - 1));
                break;
            case Rate::invscaling:
                pace = eta = course.eta0 / std::pow(t, course.power);
                break;
            case Rate::pa1: {
                const double square = row_square(row);
                if (square == 0) return;
                pace = std::min(course.eta0, scores.value() / square);
                break;
            }
            case Rate::pa2:
                pace = scores.value() / (row_square(row) + 0.5 / course.eta0);
                break;
            default:
                break;
        }
        if (course.l2 > 0) weights.shrink(std::max(0.0, 1 - rounded(course.l2 * eta * course.strength)));
        const auto force = scores.force(pace, w);
        if (moves(force)) {
            weights.add(row, force, measured);
            if (course.intercept) weights.add_bias(force, course.decay);
            took(i);
        }
        average();
        if (course.l1 > 0) {
            owed += rounded(course.l1 * eta * course.strength);
            weights.clip(row, owed);
        }
        t += 1;
    }

    template <class Row, class Scores>
    LIKELIER_APART void step_adagrad(Row& row, Scores& scores, int64_t i, double w, bool measured) {
        const auto force = scores.force(1.0, w);
        if (moves(force)) {
            weights.add_adagrad(row, force, course.eta0, measured);
            if (course.intercept) weights.add_bias_adagrad(force, course.eta0);
            took(i);
        }
        average();
        t += 1;
    }

    static bool moves(double force) { return force != 0; }
    bool moves(const double* force) const {
        return std::any_of(force, force + q, [](double d) { return d != 0; });
    }

    LIKELIER_INLINE void took(int64_t i) {
        ++steps.back();
        if (course.diary) {
            diary_turns.push_back(now());
            diary_rows.push_back(i);
        }
    }

    LIKELIER_INLINE void average() {
        const auto from = static_cast<double>(course.average);
        if (from > 0 && from <= t) weights.average(t - from + 1);
    }

    // The share of held rows that are told right.
    template <class Row, class Scores>
    double score(Row& row, Scores& scores) {
        double right = 0, all = 0;
        for (int64_t i = 0; i < n && bad < 0; ++i) {
            if (!rows.held[i]) continue;
            const int32_t label = q > 1 ? rows.codes[i] : rows.codes[i] == rows.positive;
            row.open(i);
            // By the vector without its scale: what scikit-learn judges by.
            if (!scores.look(row, weights.vector.data(), 1.0, weights.bias.data(), label)) bad = i;
            const double w = rows.weights ? rows.weights[i] : 1.0;
            right += scores.told() ? w * (label || q > 1 ? 1.0 : course.refusal) : 0.0;
            all += w;
        }
        return right / all;
    }

    // Whether there is an end to it; the schedule `adaptive` goes on at a fifth of the pace.
    template <class Row, class Scores>
    void judge(Row& row, Scores& scores) {
        double cost = objective / static_cast<double>(learned);
        if (rows.held) {
            judged.push_back(score(row, scores));
            cost = -judged.back();
        }
        const bool gained = rows.held ? !(-cost < -best + course.tol) : !(cost > best - course.tol);
        idle = course.tol == -std::numeric_limits<double>::infinity() || gained ? 0 : idle + 1;
        best = std::min(best, cost);
        if (idle >= course.patience) {
            if (course.rate == Rate::adaptive && eta > 1e-6) {
                eta /= 5;
                idle = 0;
            } else {
                ended = true;
            }
        }
        if (course.still && steps.back() == 0) ended = true;
    }
};

}  // namespace likelier
