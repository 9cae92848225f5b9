// How well probabilities that were given before the labels came foretold them: sums over rows.
//
// Two classes are judged by p, the probability of the second: it comes to pass where the label is that
// class. More classes are judged by the probability of the likeliest: it comes to pass where that is right.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace likelier {

constexpr double kClip = 1e-15;   // what the logarithm takes a smaller probability for
constexpr double kSumOff = 1e-4;  // probabilities sum to 1 up to this
constexpr int kFineBits = 6;      // bits of the fraction that a bin keeps
constexpr int64_t kHalfBins = 32 << kFineBits;
constexpr int64_t kBins = 2 * kHalfBins;

// What is added up. Weights, not rows, are counted in all but the first of `totals`.
struct FigureSums {
    double* totals;   // rows, weight, loss, mistakes, squares, clipped
    double* classes;  // (K, 3): weight, Σ w p_k, mistakes
    double* bins;     // (kBins, 3): weight where it did not come to pass, where it did, Σ w p
};

struct Judged {
    const double* P;  // (n, q)
    int64_t n, q;
    const int32_t* codes;   // negative: not judged
    const double* weights;  // null: all 1; 0: not judged

    double weight(int64_t i) const { return codes[i] < 0 ? 0.0 : weights ? weights[i] : 1.0; }
};

// Where q <= 1/2 is among kHalfBins levels: the leading bits of a float are its logarithm, piecewise
// linear, so that a level is at most 1/64 of q wide, and the same on every machine. Below 2^-33 is one
// level.
inline int64_t level(double q) {
    constexpr int64_t half = int64_t{1022} << kFineBits;  // those bits of 1/2
    const int64_t bits = std::bit_cast<int64_t>(q) >> (52 - kFineBits);
    return std::clamp(bits - (half - kHalfBins), int64_t{0}, kHalfBins - 1);
}

// Levels of p up to 1/2, then those of 1 - p downwards.
inline int64_t bin_of(double p, double rest, bool upper) {
    const int64_t found = level(std::min(p, rest));
    return upper ? kBins - 1 - found : found;
}

// The first row that cannot be judged: probabilities that are none, a weight that is none; -1: there is
// none.
inline int64_t unjudgeable(const Judged& rows) {
    for (int64_t i = 0; i < rows.n; ++i) {
        const double w = rows.weight(i), *p = rows.P + i * rows.q;
        if (w == 0) continue;
        double sum = 0, least = 0;
        for (int64_t k = 0; k < rows.q; ++k) {
            sum += p[k];
            least = std::min(least, p[k]);
        }
        if (!(std::abs(sum - 1) <= kSumOff && least == 0 && w > 0 && std::isfinite(w))) return i;
    }
    return -1;
}

// Σ -w ln p. Rows that weigh 1 are multiplied first, sixteen at a time, which stays above 1e-240: one
// logarithm for all of them.
class LogLoss {
  public:
    void add(double p, double w) {
        if (w != 1) {
            sum -= w * std::log(p);
            return;
        }
        product *= p;
        if (++held == 16) settle();
    }

    double total() {
        settle();
        return sum;
    }

  private:
    double sum = 0, product = 1;
    int held = 0;

    void settle() {
        sum -= std::log(product);
        product = 1;
        held = 0;
    }
};

// All rows into the sums. several: by the likeliest class, otherwise by the second of two. Q: columns of P,
// where the compiler is to know them.
template <int64_t Q = 0>
void judge(const Judged& rows, bool several, const FigureSums& sums) {
    const int64_t q = Q ? Q : rows.q;
    double n = 0, weight = 0, mistakes = 0, squares = 0, clipped = 0;
    LogLoss loss;
    for (int64_t i = 0; i < rows.n; ++i) {
        const double w = rows.weight(i), *p = rows.P + i * q;
        if (w == 0) continue;
        const int64_t code = rows.codes[i];
        int64_t best = 0;
        double square = 0;
        for (int64_t k = 0; k < q; ++k) {
            best = p[k] > p[best] ? k : best;
            square += p[k] * p[k];
            sums.classes[3 * k + 1] += w * p[k];
        }
        const double own = code < q ? p[code] : 0.0;
        const int64_t event = several ? best : 1;
        double rest = 0;
        for (int64_t k = 0; k < q; ++k) rest += k == event ? 0.0 : p[k];
        const double wrong = best == code ? 0.0 : w;
        double* bin = sums.bins + 3 * bin_of(p[event], rest, several ? p[event] >= rest : best == 1);
        bin[code == event] += w;
        bin[2] += w * p[event];
        sums.classes[3 * code] += w;
        sums.classes[3 * code + 2] += wrong;
        n += 1;
        weight += w;
        loss.add(std::max(own, kClip), w);
        mistakes += wrong;
        squares += w * (square - 2 * own + 1);
        clipped += own < kClip ? w : 0.0;
    }
    const double added[] = {n, weight, loss.total(), mistakes, squares, clipped};
    for (int k = 0; k < 6; ++k) sums.totals[k] += added[k];
}

}  // namespace likelier
