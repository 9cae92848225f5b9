// Rows one at a time, for solvers that step at every row: scores against weights, and steps back to them.
//
// Weights are turned over: `width` adjoining numbers for each column (one, or one for each score padded to
// whole vectors), so that a cell of a row touches one run of memory, which is still in cache when the
// step comes back to it. The intercepts follow the last column.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/matrix.hpp"
#include "kernels/sample.hpp"
#include "kernels/simd.hpp"
#include "kernels/tile.hpp"

namespace likelier {

constexpr int kRowAhead = 2;   // rows that are fetched before their turn
constexpr int kCellAhead = 6;  // cells whose weights are
constexpr int kRowVectorsHeld = 4;

template <class T, class I>
class SparseRow {
  public:
    SparseRow(const Csr<T, I>& X, const double*) : X(X) {}

    void open(int64_t i) {
        x = X.values + X.starts[i];
        j = X.columns + X.starts[i];
        count = X.starts[i + 1] - X.starts[i];
    }

    void fetch(int64_t i) const {
        const int64_t from = X.starts[i], to = X.starts[i + 1];
        for (int64_t c = from; c < to; c += 64 / static_cast<int64_t>(sizeof(T)))
            __builtin_prefetch(X.values + c);
        for (int64_t c = from; c < to; c += 64 / static_cast<int64_t>(sizeof(I)))
            __builtin_prefetch(X.columns + c);
    }

    int64_t cells() const { return count; }
    int64_t column(int64_t c) const { return j[c]; }
    double value(int64_t c) const { return static_cast<double>(x[c]); }

  private:
    const Csr<T, I>& X;
    const T* x = nullptr;
    const I* j = nullptr;
    int64_t count = 0;
};

template <class T>
class DenseRow {
  public:
    DenseRow(const Dense<T>& X, const double* shift) : X(X), shift(shift), x(X.p) {}

    void open(int64_t i) {
        const T* from = X.data + i * X.row;
        double* to = x.data();
        if (X.column == 1)  // by itself, so that the compiler makes vectors of it
            for (int64_t k = 0; k < X.p; ++k) to[k] = static_cast<double>(from[k]) - shift[k];
        else
            for (int64_t k = 0; k < X.p; ++k) to[k] = static_cast<double>(from[k * X.column]) - shift[k];
    }

    const double* data() const { return x.data(); }

    void fetch(int64_t i) const {
        const T* from = X.data + i * X.row;
        if (X.column == 1)
            for (int64_t k = 0; k < X.p; k += 64 / static_cast<int64_t>(sizeof(T)))
                __builtin_prefetch(from + k);
    }

    int64_t cells() const { return X.p; }
    int64_t column(int64_t c) const { return c; }
    double value(int64_t c) const { return x[c]; }
    const double* line() const { return x.data(); }

  private:
    const Dense<T>& X;
    const double* shift;
    Buffer x;
};

// f(row reader); tables of columns have no rows that adjoin, and are turned over by the caller.
template <class F>
auto with_rows(const Matrix& X, const double* shift, F&& f) {
    return std::visit(
        [&]<class M>(const M& m) -> decltype(f(std::declval<DenseRow<double>&>())) {
            if constexpr (requires { m.starts; }) {
                SparseRow row(m, shift);
                return f(row);
            } else if constexpr (requires { m.data; }) {
                DenseRow row(m, shift);
                return f(row);
            } else {
                throw std::invalid_argument("rows that adjoin");
            }
        },
        X);
}

// Σ_j x_j w_j of runs of memory, in vectors that do not wait for each other.
inline double dot(const double* x, const double* w, int64_t n) {
    vd sum[kRowVectorsHeld] = {};
    int64_t c = 0;
    for (; c + kRowVectorsHeld * kLanes <= n; c += kRowVectorsHeld * kLanes) {
        LIKELIER_UNROLL
        for (int v = 0; v < kRowVectorsHeld; ++v)
            sum[v] += load(x + c + v * kLanes) * load(w + c + v * kLanes);
    }
    double rest = 0;
    for (; c < n; ++c) rest += x[c] * w[c];
    return total((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

// Σ_j x_j w_j, in four sums that do not wait for each other.
template <class Row>
LIKELIER_INLINE double row_dot(const Row& row, const double* w) {
    const int64_t n = row.cells();
    if constexpr (requires { row.line(); }) return dot(row.line(), w, n);
    double s[4] = {};
    int64_t c = 0;
    for (; c + 4 <= n; c += 4)
        for (int k = 0; k < 4; ++k) s[k] += row.value(c + k) * w[row.column(c + k)];
    for (; c < n; ++c) s[0] += row.value(c) * w[row.column(c)];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

// The same of cells that adjoin, in four vectors of sums: one of them would wait for itself.
template <class T>
LIKELIER_INLINE double row_dot(const DenseRow<T>& row, const double* w) {
    const double* x = row.data();
    const int64_t n = row.cells();
    vd s[4] = {};
    int64_t c = 0;
    for (; c + 4 * kLanes <= n; c += 4 * kLanes) LIKELIER_UNROLL
    for (int v = 0; v < 4; ++v) s[v] += load(x + c + v * kLanes) * load(w + c + v * kLanes);
    for (; c + kLanes <= n; c += kLanes) s[0] += load(x + c) * load(w + c);
    double rest = 0;
    for (; c < n; ++c) rest += x[c] * w[c];
    return total((s[0] + s[1]) + (s[2] + s[3])) + rest;
}

// ‖x‖²
template <class Row>
LIKELIER_INLINE double square_of(const Row& row) {
    double s = 0;
    for (int64_t c = 0; c < row.cells(); ++c) s += row.value(c) * row.value(c);
    return s;
}

template <class T>
LIKELIER_INLINE double square_of(const DenseRow<T>& row) {
    return row_dot(row, row.data());
}

// w_j += a x_j
template <class Row>
LIKELIER_INLINE void row_add(const Row& row, double a, double* w) {
    const int64_t n = row.cells();
    for (int64_t c = 0; c < n; ++c) w[row.column(c)] += a * row.value(c);
}

template <class T>
LIKELIER_INLINE void row_add(const DenseRow<T>& row, double a, double* w) {
    const double* x = row.data();
    const int64_t n = row.cells();
    const vd step = splat(a);
    int64_t c = 0;
    for (; c + kLanes <= n; c += kLanes) store(w + c, load(w + c) + step * load(x + c));
    for (; c < n; ++c) w[c] += a * x[c];
}

// f(first vector, count) over the vectors of a line, in groups that registers hold.
template <class F>
LIKELIER_INLINE void each_group(int64_t width, F&& f) {
    for (int64_t k = 0; k < width; k += kRowVectorsHeld * kLanes)
        with_count<kRowVectorsHeld>(std::min<int64_t>(kRowVectorsHeld, (width - k) / kLanes),
                                    [&](auto count) { f(k, count); });
}

// z_k = Σ_j x_j W_jk
template <class Row>
__attribute__((noinline)) void row_dots(const Row& row, const double* W, int64_t width, double* z) {
    const int64_t n = row.cells();
    each_group(width, [&](int64_t k, auto count) {
        constexpr int V = decltype(count)::value;
        vd s[V] = {};
        for (int64_t c = 0; c < n; ++c) {
            const double* w = W + row.column(c) * width + k;
            const double* next = W + row.column(std::min(c + kCellAhead, n - 1)) * width + k;
            const vd x = splat(row.value(c));
            LIKELIER_UNROLL
            for (int v = 0; v < V; ++v) {
                __builtin_prefetch(next + v * kLanes);
                s[v] += x * load(w + v * kLanes);
            }
        }
        for (int v = 0; v < V; ++v) store(z + k + v * kLanes, s[v]);
    });
}

// W_jk += x_j d_k
template <class Row>
__attribute__((noinline)) void row_add(const Row& row, const double* d, double* W, int64_t width) {
    const int64_t n = row.cells();
    each_group(width, [&](int64_t k, auto count) {
        constexpr int V = decltype(count)::value;
        vd step[V];
        for (int v = 0; v < V; ++v) step[v] = load(d + k + v * kLanes);
        for (int64_t c = 0; c < n; ++c) {
            double* w = W + row.column(c) * width + k;
            const vd x = splat(row.value(c));
            LIKELIER_UNROLL
            for (int v = 0; v < V; ++v) store(w + v * kLanes, load(w + v * kLanes) + x * step[v]);
        }
    });
}

// The rows that weigh something, in their order, fetched before their turn: f(row number, weight).
template <class Row, class Task, class F>
LIKELIER_INLINE void each_turn(Row& row, const Task& task, F&& f) {
    for (int64_t s = 0; s < task.steps; ++s) {
        if (s + kRowAhead < task.steps) row.fetch(task.order[s + kRowAhead]);
        const int64_t i = task.order[s];
        const double w = task.weights ? task.weights[i] : 1.0;
        if (w == 0) continue;
        row.open(i);
        f(i, w);
    }
}

// ‖x_i‖² of every row.
inline void square_norms(const Matrix& X, const double* shift, double* out) {
    with_rows(X, shift, [&](auto& row) {
        for (int64_t i = 0; i < row_count(X); ++i) {
            row.open(i);
            out[i] = square_of(row);
        }
    });
}

// 0 to n - 1 in an order drawn by `seed`: Fisher and Yates's, with a hash for each exchange.
template <class T>
inline void shuffle(T* order, int64_t n, uint64_t seed) {
    for (int64_t i = n - 1; i > 0; --i) {
        const auto key = static_cast<unsigned __int128>(row_key(static_cast<uint64_t>(i), seed));
        std::swap(order[i], order[static_cast<int64_t>((key * static_cast<uint64_t>(i + 1)) >> 64)]);
    }
}

// The order in which n rows take their turn: runs of rows drawn at random, and the rows of some runs at a
// time mixed. Rows drawn singly from all over X would each cost a miss of the translation buffer, which is
// more than the arithmetic of a sparse row.
inline void deal(int64_t* order, int64_t n, uint64_t seed) {
    constexpr int64_t kRun = 32, kMixed = 1024;
    std::vector<int64_t> runs((n + kRun - 1) / kRun);
    std::iota(runs.begin(), runs.end(), int64_t{0});
    shuffle(runs.data(), static_cast<int64_t>(runs.size()), seed);
    int64_t s = 0;
    for (const int64_t run : runs)
        for (int64_t i = run * kRun; i < std::min(n, (run + 1) * kRun); ++i) order[s++] = i;
    for (int64_t from = 0; from < n; from += kMixed)
        shuffle(order + from, std::min(kMixed, n - from), row_key(static_cast<uint64_t>(from), seed));
}

}  // namespace likelier
