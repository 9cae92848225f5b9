// X as it lies in memory: dense with any strides, or CSR; float32 or float64.
//
// The kernels never see these types. They ask for a tile of rows, and get doubles in a layout of
// their own choice; only the loaders below know where the doubles came from.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

#include "simd.hpp"

namespace likelier {

template <class T>
struct Dense {
    const T* data;
    int64_t n, p;
    int64_t row, column;  // strides, in elements
};

template <class T, class I>
struct Csr {
    const T* values;
    const I* columns;
    const I* starts;  // n + 1 of them; they need not begin at 0
    int64_t n, p;
};

using Matrix = std::variant<Dense<float>, Dense<double>, Csr<float, int32_t>, Csr<double, int32_t>,
                            Csr<float, int64_t>, Csr<double, int64_t>>;

inline int64_t row_count(const Matrix& X) {
    return std::visit([](const auto& m) { return m.n; }, X);
}

inline int64_t column_count(const Matrix& X) {
    return std::visit([](const auto& m) { return m.p; }, X);
}

// A cell that a model cannot use: NaN or infinite. row < 0: there is none.
struct Cell {
    int64_t row = -1, column = -1;
    bool found() const { return row >= 0; }
};

// `first` to `first + count` as rows of doubles, `stride` apart. Points into X itself where X already
// is that; otherwise copies to `scratch` (count * p).
struct Rows {
    const double* x;
    int64_t stride;
};

template <class T>
Rows rows(const Dense<T>& X, int64_t first, int64_t count, double* scratch) {
    const T* from = X.data + first * X.row;
    if constexpr (std::is_same_v<T, double>)
        if (X.column == 1 || X.p == 1) return {from, X.row};
    if (X.row < X.column) {  // Fortran order: walk down the columns, a few cache lines at a time
        constexpr int64_t kBlock = 8;
        for (int64_t r0 = 0; r0 < count; r0 += kBlock) {
            const int64_t r1 = std::min(count, r0 + kBlock);
            for (int64_t j = 0; j < X.p; ++j)
                for (int64_t r = r0; r < r1; ++r) scratch[r * X.p + j] = from[r * X.row + j * X.column];
        }
    } else {
        for (int64_t r = 0; r < count; ++r)
            for (int64_t j = 0; j < X.p; ++j) scratch[r * X.p + j] = from[r * X.row + j * X.column];
    }
    return {scratch, X.p};
}

template <class T, class I>
Rows rows(const Csr<T, I>& X, int64_t first, int64_t count, double* scratch) {
    std::fill(scratch, scratch + count * X.p, 0.0);
    for (int64_t r = 0; r < count; ++r)
        for (I i = X.starts[first + r]; i < X.starts[first + r + 1]; ++i)
            scratch[r * X.p + X.columns[i]] = X.values[i];
    return {scratch, X.p};
}

// kLanes rows of C order into the columns of a tile, in squares of kLanes by kLanes.
template <class T>
void turn_rows(const T* from, int64_t stride, int64_t p, int64_t height, double* tile) {
    int64_t j = 0;
    if constexpr (std::is_same_v<T, double>)
        for (; j + kLanes <= p; j += kLanes) {
            vd square[kLanes];
            LIKELIER_UNROLL
            for (int i = 0; i < kLanes; ++i) {
                square[i] = load(from + i * stride + j);
                // Eight streams a few hundred bytes apart are more than the hardware follows.
                __builtin_prefetch(from + (i + 4 * kLanes) * stride + j);
            }
            transpose(square);
            LIKELIER_UNROLL
            for (int i = 0; i < kLanes; ++i) store(tile + (j + i) * height, square[i]);
        }
    for (; j < p; ++j)
        for (int i = 0; i < kLanes; ++i) tile[j * height + i] = from[i * stride + j];
}

// The same rows turned over: tile[j * height + r], rows beyond `count` set to zero. `height` rows are
// what one tile holds; scores are computed on such tiles, a vector of rows at a time.
template <class T>
void columns(const Dense<T>& X, int64_t first, int64_t count, int64_t height, double* tile) {
    const T* from = X.data + first * X.row;
    int64_t r = 0;
    if (X.column == 1)  // C order: a few rows at a time, so that memory is read as it lies
        for (; r + kLanes <= count; r += kLanes) turn_rows(from + r * X.row, X.row, X.p, height, tile + r);
    for (int64_t j = 0; j < X.p; ++j) {
        double* to = tile + j * height;
        for (int64_t i = r; i < count; ++i) to[i] = from[i * X.row + j * X.column];
        std::fill(to + count, to + height, 0.0);
    }
}

template <class T, class I>
void columns(const Csr<T, I>& X, int64_t first, int64_t count, int64_t height, double* tile) {
    std::fill(tile, tile + X.p * height, 0.0);
    for (int64_t r = 0; r < count; ++r)
        for (I i = X.starts[first + r]; i < X.starts[first + r + 1]; ++i)
            tile[X.columns[i] * height + r] = X.values[i];
}

// The first cell of these rows for which `bad` holds. Slow, and called only once something is known to
// be wrong.
template <class Bad>
Cell find_cell(const Matrix& X, int64_t first, int64_t count, Bad&& bad) {
    return std::visit(
        [&](const auto& m) -> Cell {
            std::vector<double> row(m.p);
            for (int64_t r = first; r < first + count; ++r) {
                const double* x = rows(m, r, 1, row.data()).x;
                for (int64_t j = 0; j < m.p; ++j)
                    if (bad(x[j])) return {r, j};
            }
            return {};
        },
        X);
}

inline Cell find_bad(const Matrix& X, int64_t first, int64_t count) {
    return find_cell(X, first, count, [](double x) { return !std::isfinite(x); });
}

inline Cell find_infinite(const Matrix& X, int64_t first, int64_t count) {
    return find_cell(X, first, count, [](double x) { return std::isinf(x); });
}

}  // namespace likelier
