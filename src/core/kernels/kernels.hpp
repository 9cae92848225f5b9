// Sums of Gaussian kernels about kept rows: Z_k = b_k + ln Σ_i w_i Π_j N(x_j; c_ij, h_kj²).
//
// Lanes run over the rows that are asked; the points of a class come in blocks, whose exponents wait in
// the first-level cache until their maximum is known (a running log-sum-exp: nothing under- or overflows).
// Blocks that lie so far off that all their points together are less than a rounding error are passed by.
// What a tile of rows gets does not depend on other tiles: any number of threads gives the same bits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "kernels/scores.hpp"

namespace likelier {

// Runs `work(next)` here and in up to `most - 1` helpers; next() gives the numbers below `tasks`, each
// once, and then -1. The helpers of all calls together are never more than that either.
template <class Work>
void among_threads(int64_t tasks, int most, Work&& work) {
    static std::atomic<int> out{0};
    std::atomic<int64_t> taken{0};
    const auto run = [&] {
        work([&]() -> int64_t {
            const int64_t task = taken.fetch_add(1);
            return task < tasks ? task : -1;
        });
    };
    std::vector<std::thread> helpers;
    while (static_cast<int64_t>(helpers.size()) + 1 < tasks) {
        if (out.fetch_add(1) >= most - 1) {
            out.fetch_sub(1);
            break;
        }
        try {
            helpers.emplace_back(run);
        } catch (const std::system_error&) {  // no more threads to be had: fewer do the same
            out.fetch_sub(1);
            break;
        }
    }
    run();
    for (std::thread& helper : helpers) {
        helper.join();
        out.fetch_sub(1);
    }
}

constexpr int64_t kPoints = 32;  // of a block
constexpr int64_t kRowsAtOnce = kSpan * kLanes;
constexpr double kNone = -std::numeric_limits<double>::infinity();

// ln Σ e^a of kRowsAtOnce rows, over blocks of exponents.
class LogSum {
  public:
    LogSum() {
        LIKELIER_UNROLL
        for (int v = 0; v < kSpan; ++v) top[v] = splat(kNone), sum[v] = splat(0.0);
    }

    // e: (count, kRowsAtOnce).
    LIKELIER_INLINE void add(const double* e, int64_t count) {
        LIKELIER_UNROLL
        for (int v = 0; v < kSpan; ++v) {
            vd most = top[v];
            for (int64_t i = 0; i < count; ++i) {
                const vd a = load(e + i * kRowsAtOnce + v * kLanes);
                most = a > most ? a : most;
            }
            const vd shift = most == splat(kNone) ? splat(0.0) : most;
            vd s = sum[v] * exp(top[v] - shift);
            for (int64_t i = 0; i < count; ++i) s += exp(load(e + i * kRowsAtOnce + v * kLanes) - shift);
            top[v] = most;
            sum[v] = s;
        }
    }

    // The least of the maxima.
    LIKELIER_INLINE double least() const {
        vd low = top[0];
        LIKELIER_UNROLL
        for (int v = 1; v < kSpan; ++v) low = top[v] < low ? top[v] : low;
        double found = low[0];
        for (int i = 1; i < kLanes; ++i) found = std::min(found, low[i]);
        return found;
    }

    void write(double* z) const {
        for (int v = 0; v < kSpan; ++v)
            for (int i = 0; i < kLanes; ++i)
                z[v * kLanes + i] = sum[v][i] > 0 ? top[v][i] + std::log(sum[v][i]) : kNone;
    }

  private:
    vd top[kSpan], sum[kSpan];
};

// The points of K classes, one class after another. A cell that is infinite is missing: there the point
// has the density of that column alone, in its class.
struct Points {
    const double* cells;     // (m, p)
    const double* log_w;     // (m), ln of a point's share of its class
    const double* log_v;     // (m), the same for the densities of single columns
    const int64_t* start;    // (K + 1)
    const double* scale;     // (K, p), 1 / (√2 h)
    const double* constant;  // (K, p), -ln(h √2π)
    int64_t K, p;

    bool lacks(int64_t i, int64_t j) const { return std::isinf(cells[i * p + j]); }
};

// Rows that are asked about without one of the points: of row r, point own[r] weighs e^less[r] as much,
// in the sum over points as in the densities of single columns.
struct LeftOut {
    const int64_t* own = nullptr;
    const double* less = nullptr;
};

class KernelSums {
  public:
    KernelSums(const Points& points, const LeftOut& out) : P(points), out(out), base(P.K * P.p, kNone) {
        gappy.resize(P.K);
        for (int64_t k = 0; k < P.K; ++k) {
            block.push_back(static_cast<int64_t>(heaviest.size()));
            for (int64_t i = P.start[k]; i < P.start[k + 1]; i += kPoints)
                bound(i, std::min(i + kPoints, P.start[k + 1]));
            for (int64_t i = P.start[k]; i < P.start[k + 1]; ++i)
                for (int64_t j = 0; j < P.p; ++j) gappy[k] = gappy[k] || P.lacks(i, j);
            if (gappy[k])
                for (int64_t j = 0; j < P.p; ++j) base[k * P.p + j] = share(k, j);
        }
    }

    // z (K, kHeight) of the rows of a tile.
    void tile(const TurnedTile& x, int64_t first, int64_t count, double* z) const {
        bool some = false;  // cells of the rows are missing
        for (double cell : x.x) some = some || cell != cell;
        Buffer g(P.p * kHeight), e(kPoints * kRowsAtOnce);
        for (int64_t k = 0; k < P.K; ++k) {
            for (int64_t r = 0; r < count; r += kRowsAtOnce) {
                double* to = z + k * kHeight + r;
                if (gappy[k]) {
                    alone(k, &x.x[r], first + r, count - r, g.data() + r, e.data());
                    joint<true, true>(k, &x.x[r], g.data() + r, first + r, count - r, e.data(), to);
                } else if (some) {
                    joint<true, false>(k, &x.x[r], nullptr, first + r, count - r, e.data(), to);
                } else {
                    joint<false, false>(k, &x.x[r], nullptr, first + r, count - r, e.data(), to);
                }
            }
            for (int64_t j = 0; j < P.p; ++j)
                for (int64_t r = 0; r < count; ++r)
                    if (x.x[j * kHeight + r] == x.x[j * kHeight + r])
                        z[k * kHeight + r] += P.constant[k * P.p + j];
        }
    }

  private:
    // ln of the share of a class that has column j.
    double share(int64_t k, int64_t j) const {
        double total = 0;
        for (int64_t i = P.start[k]; i < P.start[k + 1]; ++i)
            if (!P.lacks(i, j)) total += std::exp(P.log_v[i]);
        return std::log(total);
    }

    // ln of what is left of that share if point i, which has column j, weighs e^less as much: of the share.
    // Where nothing else has the column nothing is left, and its density is 0 whatever this is: 0.
    double share_left(int64_t k, int64_t j, int64_t i, double less) const {
        const double own = std::exp(P.log_v[i] - base[k * P.p + j]);
        double left = 1 - own;
        if (left < 0.5) {  // digits are lost: the others one by one
            left = 0;
            for (int64_t o = P.start[k]; o < P.start[k + 1]; ++o)
                if (o != i && !P.lacks(o, j)) left += std::exp(P.log_v[o] - base[k * P.p + j]);
        }
        left += own * std::exp(less);
        return left > 0 ? std::log(left) : 0.0;
    }

    // The box around some points (a missing cell is everywhere), and the weight of the heaviest.
    void bound(int64_t first, int64_t end) {
        heaviest.push_back(*std::max_element(P.log_w + first, P.log_w + end));
        for (int64_t j = 0; j < P.p; ++j) {
            double least = -kNone, most = kNone;
            for (int64_t i = first; i < end; ++i) {
                const double c = P.cells[i * P.p + j];
                least = std::min(least, std::isinf(c) ? kNone : c);
                most = std::max(most, c);
            }
            low.push_back(least);
            high.push_back(most);
        }
    }

    // No exponent of a block, for rows within a box, is above this: reach (blocks of class k). NaN, which
    // a row that lacks a cell makes of its box, compares as not apart.
    void reaches(int64_t k, const double* x, int64_t rows, std::vector<double>& reach) const {
        const int64_t blocks = (P.start[k + 1] - P.start[k] + kPoints - 1) / kPoints;
        reach.assign(heaviest.begin() + block[k], heaviest.begin() + block[k] + blocks);
        for (int64_t j = 0; j < P.p; ++j) {
            double least = x[j * kHeight], most = least;
            for (int64_t r = 1; r < rows; ++r) {
                const double cell = x[j * kHeight + r];
                least = cell < least || cell != cell ? cell : least;
                most = cell > most || cell != cell ? cell : most;
                if (cell != cell) break;
            }
            const double s = P.scale[k * P.p + j];
            for (int64_t i = 0; i < blocks; ++i) {
                const int64_t at = (block[k] + i) * P.p + j;
                const double apart = std::max({0.0, least - high[at], low[at] - most});
                if (apart > 0) reach[i] -= (apart * s) * (apart * s);
            }
        }
    }

    // a -= ((x - c) s)², for kRowsAtOnce rows.
    template <bool some>
    LIKELIER_INLINE static void nearer(const double* x, double c, double s, vd (&a)[kSpan]) {
        const vd at = splat(c), by = splat(s);
        LIKELIER_UNROLL
        for (int v = 0; v < kSpan; ++v) {
            const vd cell = load(x + v * kLanes);
            vd d = (cell - at) * by;
            if constexpr (some) d = cell == cell ? d : splat(0.0);
            a[v] -= d * d;
        }
    }

    LIKELIER_INLINE static void keep(const vd (&a)[kSpan], double* e) {
        LIKELIER_UNROLL
        for (int v = 0; v < kSpan; ++v) store(e + v * kLanes, a[v]);
    }

    // Calls of(r, i) for each row r, of those from `row` on, that leaves out a point i from i0 to end.
    template <class Of>
    LIKELIER_INLINE void each_left_out(int64_t row, int64_t rows, int64_t i0, int64_t end, Of&& of) const {
        if (out.own == nullptr) return;
        for (int64_t r = 0; r < rows; ++r) {
            const int64_t i = out.own[row + r];
            if (i >= i0 && i < end) of(r, i);
        }
    }

    // g_j = ln f_kj(x_j) - constant_kj: the density of each column by itself.
    void alone(int64_t k, const double* x, int64_t row, int64_t rows, double* g, double* e) const {
        rows = std::min(rows, kRowsAtOnce);
        const int64_t start = P.start[k], end = P.start[k + 1];
        int64_t place[kPoints];  // of a block's points among those that have the cell
        for (int64_t j = 0; j < P.p; ++j) {
            LogSum sum;
            for (int64_t i0 = start; i0 < end; i0 += kPoints) {
                const int64_t stop = std::min(i0 + kPoints, end);
                int64_t held = 0;
                for (int64_t i = i0; i < stop; ++i) {
                    place[i - i0] = held;
                    if (P.lacks(i, j)) continue;
                    vd a[kSpan];
                    LIKELIER_UNROLL
                    for (int v = 0; v < kSpan; ++v) a[v] = splat(P.log_v[i] - base[k * P.p + j]);
                    nearer<true>(x + j * kHeight, P.cells[i * P.p + j], P.scale[k * P.p + j], a);
                    keep(a, e + held++ * kRowsAtOnce);
                }
                each_left_out(row, rows, i0, stop, [&](int64_t r, int64_t i) {
                    if (!P.lacks(i, j)) e[place[i - i0] * kRowsAtOnce + r] += out.less[row + r];
                });
                sum.add(e, held);
            }
            double* to = g + j * kHeight;
            sum.write(to);
            each_left_out(row, rows, start, end, [&](int64_t r, int64_t i) {
                if (!P.lacks(i, j)) to[r] -= share_left(k, j, i, out.less[row + r]);
            });
        }
    }

    // e (count, kRowsAtOnce) of the points from i0 on.
    template <bool some, bool holes>
    LIKELIER_INLINE void exponents(int64_t k, int64_t i0, int64_t count, const double* x, const double* g,
                                   double* e) const {
        for (int64_t i = 0; i < count; ++i) {
            vd a[kSpan];
            LIKELIER_UNROLL
            for (int v = 0; v < kSpan; ++v) a[v] = splat(P.log_w[i0 + i]);
            for (int64_t j = 0; j < P.p; ++j) {
                if constexpr (holes)
                    if (P.lacks(i0 + i, j)) {
                        LIKELIER_UNROLL
                        for (int v = 0; v < kSpan; ++v) a[v] += load(g + j * kHeight + v * kLanes);
                        continue;
                    }
                nearer<some>(x + j * kHeight, P.cells[(i0 + i) * P.p + j], P.scale[k * P.p + j], a);
            }
            keep(a, e + i * kRowsAtOnce);
        }
    }

    template <bool some, bool holes>
    void joint(int64_t k, const double* x, const double* g, int64_t row, int64_t rows, double* e,
               double* z) const {
        LogSum sum;
        rows = std::min(rows, kRowsAtOnce);
        const int64_t size = P.start[k + 1] - P.start[k];
        const double spare = 37 + std::log(static_cast<double>(size));  // e^-37 is half a unit of rounding
        std::vector<double> reach;
        reaches(k, x, rows, reach);
        const auto nearest = std::max_element(reach.begin(), reach.end()) - reach.begin();
        const auto take = [&](int64_t which) {
            const int64_t i0 = P.start[k] + which * kPoints;
            const int64_t count = std::min(kPoints, P.start[k + 1] - i0);
            exponents<some, holes>(k, i0, count, x, g, e);
            each_left_out(row, rows, i0, i0 + count, [&](int64_t r, int64_t i) {
                e[(i - i0) * kRowsAtOnce + r] += out.less[row + r];
            });
            sum.add(e, count);
            return sum.least() - spare;
        };
        double least = take(nearest);
        for (int64_t i = 0; i < static_cast<int64_t>(reach.size()); ++i)
            if (i != nearest && !(reach[i] < least)) least = take(i);
        sum.write(z);
    }

    const Points P;
    const LeftOut out;
    Buffer base;                    // (K, p)
    std::vector<char> gappy;        // (K)
    std::vector<int64_t> block;     // (K), the number of a class's first block
    std::vector<double> heaviest;   // (blocks)
    std::vector<double> low, high;  // (blocks, p)
};

inline Cell kernels(const Matrix& X, const Points& points, const LeftOut& out, const double* b, double* Z,
                    bool add, int threads) {
    const int64_t n = row_count(X), K = points.K;
    const KernelSums sums(points, out);
    Cell worst;
    std::mutex one;
    among_threads((n + kHeight - 1) / kHeight, threads, [&](auto&& next) {
        TurnedTile tile(points.p);
        Buffer z(K * kHeight);
        for (int64_t t = next(); t >= 0; t = next()) {
            const int64_t first = t * kHeight, count = std::min(kHeight, n - first);
            const Cell bad = tile.template load_from<Cells::some>(X, first, count);
            if (bad.found()) {
                const std::lock_guard<std::mutex> mine(one);
                if (!worst.found() || bad.row < worst.row) worst = bad;
                continue;
            }
            sums.tile(tile, first, count, z.data());
            for (int64_t r = 0; r < count; ++r)
                for (int64_t k = 0; k < K; ++k) {
                    double& to = Z[(first + r) * K + k];
                    to = (add ? to : 0.0) + (z[k * kHeight + r] + b[k]);
                }
        }
    });
    return worst;
}

}  // namespace likelier
