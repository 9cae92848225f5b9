// Rows where they lie, for loops that take them in any order: no copy, no shift.
//
// The weights of a dense row lie in whole vectors. The last vector of a row is read kLanes before its end;
// the cells that it shares with the one before it are 0 there, so that no cell is left to a loop of its
// own. A cell's place is where its weight lies.
//
// Sums over a row that is `InOrder` are taken cell by cell and every product is rounded, as a plain loop
// without vectors does it. Steps may enlarge any difference in rounding: where they do, only the same
// order of sums leads to the same weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

#include "kernels/matrix.hpp"
#include "kernels/simd.hpp"
#include "kernels/tile.hpp"
#include "rowwise/row.hpp"

namespace likelier {

// A product by itself, never contracted with the sum that it goes into.
LIKELIER_INLINE double rounded(double x) {
#if defined(__x86_64__)
    asm("" : "+x"(x));
#elif defined(__aarch64__)
    asm("" : "+w"(x));
#else
    asm("" : "+m"(x));
#endif
    return x;
}

// Where the weights of cells lie: as the cells do, from cell `shifted` on `by` places farther.
struct Places {
    int64_t count, shifted, by;
    LIKELIER_INLINE int64_t at(int64_t j) const { return j < shifted ? j : j + by; }
};

template <class T>
class PlainRow {
  public:
    explicit PlainRow(const Dense<T>& X)
        : X(X), vectors((X.p + kLanes - 1) / kLanes), short_by(vectors * kLanes - X.p) {
        if (X.column != 1 && X.p > 1) throw std::invalid_argument("rows that adjoin");
        for (int64_t k = 0; k < kLanes; ++k) kept[k] = X.p < kLanes ? k < X.p : k >= short_by;
    }

    Places places() const {
        return {vectors * kLanes, X.p < kLanes ? X.p : (vectors - 1) * kLanes, short_by};
    }

    void open(int64_t i) {
        x = X.data + i * X.row;
        if (X.p < kLanes) {
            std::copy(x, x + X.p, room);
            x = room;
        }
    }

    void fetch(int64_t i) const {
        const char* from = reinterpret_cast<const char*>(X.data + i * X.row);
        const char* end = from + X.p * static_cast<int64_t>(sizeof(T));
        for (; from < end; from += 64) __builtin_prefetch(from);
        __builtin_prefetch(end - 1);
    }
    void announce(int64_t) const {}

    int64_t cells() const { return X.p; }
    double value(int64_t c) const { return static_cast<double>(x[c]); }
    int64_t column(int64_t c) const { return places().at(c); }

    // f(place, a vector of cells)
    template <class F>
    LIKELIER_INLINE void each_vector(F&& f) const {
        const int64_t last = (vectors - 1) * kLanes;
        for (int64_t c = 0; c < last; c += kLanes) f(c, lanes(x + c));
        const vd tail = lanes(X.p < kLanes ? x : x + X.p - kLanes);
        f(last, kept != splat(0.0) ? tail : splat(0.0));
    }

  private:
    const Dense<T>& X;
    const int64_t vectors, short_by;
    vd kept;  // 0: a lane of the last vector that is another's
    const T* x = nullptr;
    T room[kLanes] = {};

    LIKELIER_INLINE static vd lanes(const T* from) {
        if constexpr (std::is_same_v<T, double>) {
            return load(from);
        } else {
            typedef T Narrow __attribute__((vector_size(kLanes * sizeof(T))));
            Narrow v;
            std::memcpy(&v, from, sizeof v);
            return __builtin_convertvector(v, vd);
        }
    }
};

// The same of a compressed row; where it begins is fetched before the row is.
template <class T, class I>
class PlainSparseRow : public SparseRow<T, I> {
  public:
    explicit PlainSparseRow(const Csr<T, I>& X) : SparseRow<T, I>(X, nullptr), X(X) {}
    Places places() const { return {X.p, X.p, 0}; }
    void announce(int64_t i) const { __builtin_prefetch(X.starts + i); }

  private:
    const Csr<T, I>& X;
};

// A dense row, a cell after another.
template <class T>
class PlainCells {
  public:
    explicit PlainCells(const Dense<T>& X) : X(X) {
        if (X.column != 1 && X.p > 1) throw std::invalid_argument("rows that adjoin");
    }
    Places places() const { return {X.p, X.p, 0}; }
    void open(int64_t i) { x = X.data + i * X.row; }
    void fetch(int64_t i) const { __builtin_prefetch(X.data + i * X.row); }
    void announce(int64_t) const {}
    int64_t cells() const { return X.p; }
    double value(int64_t c) const { return static_cast<double>(x[c]); }
    int64_t column(int64_t c) const { return c; }

  private:
    const Dense<T>& X;
    const T* x = nullptr;
};

template <class Row>
struct InOrder : Row {
    using Row::Row;
};

// f(row reader). In order only doubles are read: of narrower cells nobody else takes the same steps.
template <class F>
auto with_plain_rows(const Matrix& X, bool in_order, F&& f) {
    return std::visit(
        [&]<class M>(const M& m) -> decltype(f(std::declval<PlainRow<double>&>())) {
            if constexpr (requires { m.starts; }) {
                using Row = decltype(PlainSparseRow(m));
                if constexpr (requires { requires std::is_same_v<decltype(m.values), const double*>; })
                    if (in_order) {
                        InOrder<Row> row(m);
                        return f(row);
                    }
                Row row(m);
                return f(row);
            } else if constexpr (requires { m.data; }) {
                if constexpr (std::is_same_v<M, Dense<double>>)
                    if (in_order) {
                        InOrder<PlainCells<double>> row(m);
                        return f(row);
                    }
                PlainRow row(m);
                return f(row);
            } else {
                throw std::invalid_argument("rows that adjoin");
            }
        },
        X);
}

// Σ_j x_j w_j, in two sums that do not wait for each other.
template <class T>
LIKELIER_INLINE double row_dot(const PlainRow<T>& row, const double* w) {
    vd even = splat(0.0), odd = splat(0.0);
    row.each_vector([&](int64_t at, vd x) {
        const vd s = odd;
        odd = even + x * load(w + at);
        even = s;
    });
    return total(even + odd);
}

// w_j += a x_j
template <class T>
LIKELIER_INLINE void row_add(const PlainRow<T>& row, double a, double* w) {
    const vd step = splat(a);
    row.each_vector([&](int64_t at, vd x) { store(w + at, load(w + at) + step * x); });
}

template <class Row>
LIKELIER_INLINE double row_dot(const InOrder<Row>& row, const double* w) {
    double sum = 0;
    for (int64_t c = 0; c < row.cells(); ++c) sum += rounded(row.value(c) * w[row.column(c)]);
    return sum;
}

template <class Row>
LIKELIER_INLINE void row_add(const InOrder<Row>& row, double a, double* w) {
    for (int64_t c = 0; c < row.cells(); ++c) w[row.column(c)] += rounded(a * row.value(c));
}

// w_j -= a b x_j
template <class Row>
LIKELIER_INLINE void row_take(const Row& row, double a, double b, double* w) {
    row_add(row, -a * b, w);
}

template <class Row>
LIKELIER_INLINE void row_take(const InOrder<Row>& row, double a, double b, double* w) {
    for (int64_t c = 0; c < row.cells(); ++c) w[row.column(c)] -= rounded(a * row.value(c) * b);
}

// a / scale, of which the inverse is known.
template <class Row>
LIKELIER_INLINE double unscaled(const Row&, double a, double, double inverse) {
    return a * inverse;
}

template <class Row>
LIKELIER_INLINE double unscaled(const InOrder<Row>&, double a, double scale, double) {
    return a / scale;
}

}  // namespace likelier
