// X as it lies in memory: dense with any strides or CSR, float32 or float64; or columns of their own.
//
// The kernels never see these types. They ask for a tile of rows, and get doubles in a layout of
// their own choice; only the loaders below know where the doubles came from.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

#include "kernels/simd.hpp"
#include "kernels/tile.hpp"

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

// A column of a table, wherever it lies; its type is asked for once in each tile.
struct Column {
    std::variant<const double*, const float*, const int64_t*, const int32_t*, const int16_t*, const int8_t*,
                 const uint64_t*, const uint32_t*, const uint16_t*, const uint8_t*>
        data;
    int64_t stride;  // in elements
};

struct Columns {
    std::vector<Column> column;
    int64_t n, p;
};

using Matrix = std::variant<Dense<float>, Dense<double>, Csr<float, int32_t>, Csr<double, int32_t>,
                            Csr<float, int64_t>, Csr<double, int64_t>, Columns>;

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
// is that; otherwise copies to `scratch` (count * padded(p)).
struct Rows {
    const double* x;
    int64_t stride;
};

// `count` numbers, `stride` apart, as doubles that adjoin.
template <class T>
LIKELIER_INLINE void gather(const T* from, int64_t stride, int64_t count, double* to) {
    if (stride == 1)
        for (int64_t r = 0; r < count; ++r) to[r] = static_cast<double>(from[r]);
    else
        for (int64_t r = 0; r < count; ++r) to[r] = static_cast<double>(from[r * stride]);
}

inline void gather(const Column& c, int64_t first, int64_t count, double* to) {
    std::visit([&](const auto* data) { gather(data + first * c.stride, c.stride, count, to); }, c.data);
}

// Where doubles from row `first` on lie: in the column itself if it is doubles that adjoin, or in `room`.
inline const double* adjoining(const Column& c, int64_t first, int64_t count, double* room) {
    if (const auto* data = std::get_if<const double*>(&c.data); data && c.stride == 1) return *data + first;
    gather(c, first, count, room);
    return room;
}

template <class T>
const double* adjoining(const Dense<T>& X, int64_t j, int64_t first, int64_t count, double* room) {
    return adjoining(Column{X.data + j * X.column, X.row}, first, count, room);
}

inline const double* adjoining(const Columns& X, int64_t j, int64_t first, int64_t count, double* room) {
    return adjoining(X.column[j], first, count, room);
}

// kLanes columns side by side, over some rows: a vector for each row.
template <class M>
class Strip {
  public:
    Strip(const M& X, int64_t most) : X(X), most(most), room(kLanes * most) {}

    // Columns from j on (what is missing to kLanes of them, column j again), `count` rows from `first` on.
    void open(int64_t j, int64_t first, int64_t count) {
        const int64_t wide = std::min<int64_t>(kLanes, X.p - j);
        for (int64_t i = 0; i < kLanes; ++i)
            from[i] = i < wide ? adjoining(X, j + i, first, count, &room[i * most]) : from[0];
        this->count = count;
    }

    // f(row, its cells), in squares of kLanes by kLanes.
    template <class F>
    LIKELIER_INLINE void each_row(F&& f) const {
        int64_t r = 0;
        for (; r + kLanes <= count; r += kLanes) {
            vd square[kLanes];
            LIKELIER_UNROLL
            for (int i = 0; i < kLanes; ++i) square[i] = load(from[i] + r);
            transpose(square);
            LIKELIER_UNROLL
            for (int i = 0; i < kLanes; ++i) f(r + i, square[i]);
        }
        for (; r < count; ++r) {
            vd x;
            LIKELIER_UNROLL
            for (int i = 0; i < kLanes; ++i) x[i] = from[i][r];
            f(r, x);
        }
    }

  private:
    const M& X;
    const int64_t most;  // rows at once
    Buffer room;         // for columns that are not doubles that adjoin
    const double* from[kLanes];
    int64_t count = 0;
};

// Columns into rows, in squares of kLanes by kLanes. Rows are padded to whole vectors, so that none
// straddles two cache lines; what stands in the padding is not to be read. Many rows at a time: the
// hardware foresees long runs only.
template <class M>
Rows turn_columns(const M& X, int64_t first, int64_t count, double* scratch) {
    constexpr int64_t kSlab = 1024;
    const int64_t P = padded(X.p);
    Strip<M> strip(X, kSlab);
    for (int64_t r0 = 0; r0 < count; r0 += kSlab)
        for (int64_t j = 0; j < X.p; j += kLanes) {
            double* to = scratch + r0 * P + j;
            strip.open(j, first + r0, std::min(kSlab, count - r0));
            strip.each_row([&](int64_t r, vd x) { store(to + r * P, x); });
        }
    return {scratch, P};
}

// Whether columns are runs of memory, rather than rows.
template <class T>
bool by_columns(const Dense<T>& X) {
    return X.row < X.column;
}

inline bool by_columns(const Columns&) {
    return true;
}

template <class T>
Rows rows(const Dense<T>& X, int64_t first, int64_t count, double* scratch) {
    const T* from = X.data + first * X.row;
    if constexpr (std::is_same_v<T, double>)
        if (X.column == 1 || X.p == 1) return {from, X.row};
    if (by_columns(X)) return turn_columns(X, first, count, scratch);
    for (int64_t r = 0; r < count; ++r)
        for (int64_t j = 0; j < X.p; ++j) scratch[r * X.p + j] = from[r * X.row + j * X.column];
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

inline Rows rows(const Columns& X, int64_t first, int64_t count, double* scratch) {
    return turn_columns(X, first, count, scratch);
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

inline void columns(const Columns& X, int64_t first, int64_t count, int64_t height, double* tile) {
    for (int64_t j = 0; j < X.p; ++j) {
        double* to = tile + j * height;
        const Column& c = X.column[j];
        std::visit(
            [&](const auto* data) {
                const auto* from = data + first * c.stride;
                gather(from, c.stride, count, to);
                // A few lines of each column: too few for the hardware to foresee the next tile.
                if (c.stride == 1)
                    for (int64_t r = 0; r < height; r += 64 / sizeof *from)
                        __builtin_prefetch(from + height + r);
            },
            c.data);
        std::fill(to + count, to + height, 0.0);
    }
}

// The first cell of these rows for which `bad` holds. Slow, and called only once something is known to
// be wrong.
template <class Bad>
Cell find_cell(const Matrix& X, int64_t first, int64_t count, Bad&& bad) {
    return std::visit(
        [&](const auto& m) -> Cell {
            Buffer row(padded(m.p));
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
