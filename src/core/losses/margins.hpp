// Losses as an online learner sees them: one margin m = t z, t = ±1, and how far a step moves it.
//
// A step of length h along the gradient of a row moves the row's own margin too. Taken in infinitely many
// parts, each at the margin that the last one left, the margin follows dm/ds = ψ(m), ψ = -loss', for s from
// 0 to h: no step is ever too long, and a row of weight 2 is the row twice (Karampatziakis and Langford,
// 2011, "Online importance weight aware updates").
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace likelier {

enum class OnlineLoss { log_loss, hinge, squared_hinge, perceptron, modified_huber };

constexpr double kFarthest = 50;  // scores are cut to ± this: σ is then 2e-22

inline double sigmoid(double z) {
    return 1 / (1 + std::exp(-z));
}

// t of score k, of q: the only score is that of class 1.
inline double side(int64_t q, int64_t k, int32_t code) {
    return code == (q == 1 ? 1 : k) ? 1 : -1;
}

// ψ(m), never negative.
inline double push(OnlineLoss loss, double m) {
    switch (loss) {
        case OnlineLoss::log_loss:
            return sigmoid(-m);
        case OnlineLoss::hinge:
            return m < 1 ? 1 : 0;
        case OnlineLoss::squared_hinge:
            return m < 1 ? 2 * (1 - m) : 0;
        case OnlineLoss::perceptron:
            return m <= 0 ? 1 : 0;
        case OnlineLoss::modified_huber:
            return m < -1 ? 4 : m < 1 ? 2 * (1 - m) : 0;
    }
    return 0;
}

// The d ≥ 0 with d + e^m (e^d - 1) = h: how far the margin of the logistic loss gets from where its push
// is ψ. The left side is convex, and both guesses (e^d cut after d²/2, and d left out) are above the root:
// Newton's steps only come down to it.
inline double logistic_move(double psi, double h) {
    const double all = 1 / psi, e = all - 1;
    double d = 2 * h / (all + std::sqrt(all * all + 2 * e * h));
    if (d > 1) d = std::min(d, std::log1p(h / e));
    for (int turn = 0; turn < 30; ++turn) {
        const double grown = e * std::exp(d), down = (d + grown - e - h) / (1 + grown);
        d -= down;
        if (!(down > 1e-4 * d)) break;  // quadratic: what is left is below 1e-8, and float32 has no more
    }
    return std::max(d, 0.0);
}

// How far a step of length h moves the margin m, whose push is ψ; a row of weight 1 has a step of length
// `whole`. The perceptron's steps are whole ones: they would end at its corner, 0, which weights of 0 never
// leave. So a row of weight 3 is taken three times, as long as it is mistaken.
inline double invariant_move(OnlineLoss loss, double m, double psi, double h, double whole) {
    switch (loss) {
        case OnlineLoss::log_loss:
            return logistic_move(psi, h);
        case OnlineLoss::hinge:
            return m < 1 ? std::min(h, 1 - m) : 0;
        case OnlineLoss::squared_hinge:
            return m < 1 ? (1 - m) * -std::expm1(-2 * h) : 0;
        case OnlineLoss::perceptron:
            return psi == 0 ? 0 : std::min(h, (std::floor(-m / whole) + 1) * whole);
        case OnlineLoss::modified_huber: {
            const double line = m < -1 ? std::min(4 * h, -1 - m) : 0, from = m + line;
            return line + (from < 1 ? (1 - from) * -std::expm1(-2 * (h - line / 4)) : 0);
        }
    }
    return 0;
}

// What a score says of its class, between 0 and 1. Modified Huber loss is least, on average, at a score of
// 2p - 1 (Zhang, 2004); the other margin losses say nothing of probabilities, and σ is only a convention.
inline double belief(OnlineLoss loss, double z) {
    return loss == OnlineLoss::modified_huber ? (std::clamp(z, -1.0, 1.0) + 1) / 2 : sigmoid(z);
}

// What a score z ≥ 0 says of its class, and of the other of two.
inline std::pair<double, double> beliefs(OnlineLoss loss, double z) {
    if (loss == OnlineLoss::modified_huber) return {belief(loss, z), belief(loss, -z)};
    const double e = std::exp(-z);
    return {1 / (1 + e), e / (1 + e)};
}

// K scores to probabilities: softmax for log-loss, otherwise beliefs that are made to sum to 1.
inline void link(OnlineLoss loss, const double* Z, int64_t K, double* P) {
    const double top = *std::max_element(Z, Z + K);
    double sum = 0;
    for (int64_t k = 0; k < K; ++k)
        sum += P[k] = loss == OnlineLoss::log_loss ? std::exp(Z[k] - top) : belief(loss, Z[k]);
    for (int64_t k = 0; k < K; ++k) P[k] = sum > 0 ? P[k] / sum : 1.0 / static_cast<double>(K);
}

// The scores of softmax after a step of lengths h, in place: dz_k/ds = h_k (y_k - P_k) for s from 0 to 1,
// by Runge and Kutta's rule in parts so short that no score moves by more than a half: good to 1e-3 for any
// length. `room` has 3 K numbers.
inline void softmax_move(double* Z, const double* h, int64_t K, int64_t own, double* room) {
    double *at = room, *speed = room + K, *sum = room + 2 * K;
    const auto go = [&](const double* z) {
        link(OnlineLoss::log_loss, z, K, speed);
        double fastest = 0;
        for (int64_t k = 0; k < K; ++k) {
            speed[k] = h[k] * ((k == own) - speed[k]);
            fastest = std::max(fastest, std::abs(speed[k]));
        }
        return fastest;
    };
    double left = 1;
    for (int part = 0; left > 0 && part < 400; ++part) {
        const double fastest = go(Z), ds = fastest * left > 0.5 ? 0.5 / fastest : left;
        std::copy(speed, speed + K, sum);
        for (const auto& [on, times] : {std::pair{0.5, 2.0}, std::pair{0.5, 2.0}, std::pair{1.0, 1.0}}) {
            for (int64_t k = 0; k < K; ++k) at[k] = Z[k] + on * ds * speed[k];
            go(at);
            for (int64_t k = 0; k < K; ++k) sum[k] += times * speed[k];
        }
        for (int64_t k = 0; k < K; ++k) Z[k] += ds / 6 * sum[k];
        left -= ds;
    }
}

}  // namespace likelier
