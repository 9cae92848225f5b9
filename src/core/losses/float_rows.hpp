// Copies of rows in single precision, for the many passes of a solver that asks doubles only in the end.
//
// Half the bytes, so half the time of passes that wait for memory. Weights lie as suits the rows: of dense
// rows a line for each class, of sparse ones the classes of a column side by side. The intercept is a last
// column of ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/matrix.hpp"
#include "kernels/simd.hpp"
#include "kernels/tile.hpp"

namespace likelier {

using Floats = std::vector<float, OnLine<float>>;

// Memory that is first touched by whoever fills it.
template <class T>
struct Unset : OnLine<T> {
    template <class U>
    struct rebind {
        using other = Unset<U>;
    };
    Unset() = default;
    template <class U>
    Unset(const Unset<U>&) {}
    template <class U>
    void construct(U* at) {
        ::new (static_cast<void*>(at)) U;
    }
};

// Vectors of floats: of a whole register, and of half a line, for few classes.
template <int Lanes>
using FloatVector __attribute__((vector_size(4 * Lanes))) = float;

constexpr int kFloats = kVectorBytes / 4;
constexpr int kClasses = kFloats < 8 ? kFloats : 8;  // of sparse rows, side by side in a vector
constexpr int64_t kTileRows = 64;

template <int Lanes>
LIKELIER_INLINE FloatVector<Lanes> load_floats(const float* from) {
    FloatVector<Lanes> v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

template <int Lanes>
LIKELIER_INLINE void store_floats(float* to, FloatVector<Lanes> v) {
    std::memcpy(to, &v, sizeof v);
}

// Sizes of columns between which squares and products of floats keep their digits.
constexpr double kSmallestColumn = 1e-8, kLargestColumn = 1e8;

inline bool fits_floats(double largest) {
    return largest == 0 || (largest >= kSmallestColumn && largest <= kLargestColumn);
}

class DenseFloats {
  public:
    const int64_t n, p, q, P;

    DenseFloats(const Matrix& X, const double*, int64_t q)
        : n(row_count(X)),
          p(column_count(X)),
          q(q),
          P((p + kFloats) / kFloats * kFloats),
          x(n * P),
          squares(n) {}

    // Some of the rows; largest (p,): the sizes of their columns.
    void copy(const Matrix& X, const double* shift, int64_t from, int64_t to, double* largest) {
        const int64_t span = tile_rows(p);
        Buffer scratch(span * padded(p));
        for (int64_t first = from; first < to; first += span) {
            const int64_t count = std::min(span, to - first);
            const Rows block =
                std::visit([&](const auto& m) { return rows(m, first, count, scratch.data()); }, X);
            for (int64_t r = 0; r < count; ++r) {
                float* row = &x[(first + r) * P];
                copy(block.x + r * block.stride, shift, row, largest);
                squares[first + r] = square(row);
            }
        }
    }

    // ‖x‖² of a row with its 1, and of how many sums each number in a product, and in a sum over rows, is.
    double square_of(int64_t i) const { return static_cast<double>(squares[i]); }
    int64_t terms() const { return P / kFloats + kFloats + 4; }
    static constexpr int64_t kSummed = kTileRows + 2;

    int64_t size() const { return q * P; }
    int64_t at(int64_t k, int64_t j) const { return k * P + j; }
    double work() const { return static_cast<double>(n * P * q); }
    int64_t step() const { return kBlock; }  // rows that stay in the first-level cache between two passes

    // s (q, kTileRows) = V x of some rows, from `first` on, a whole number of blocks unless they are the
    // last.
    void dots(int64_t first, int64_t count, const float* V, float* s) const {
        for (int64_t r = 0; r < count; r += kBlock)
            with_count<kBlock>(std::min<int64_t>(kBlock, count - r), [&](auto some) {
                for (int64_t k = 0; k < q; ++k)
                    dot<decltype(some)::value>(&x[(first + r) * P], V + k * P, s + k * kTileRows + r);
            });
    }

    // out += Σ b x, b (q, kTileRows)
    void add(int64_t first, int64_t count, const float* b, float* out) const {
        for (int64_t r = 0; r < count; r += kBlock)
            with_count<kBlock>(std::min<int64_t>(kBlock, count - r), [&](auto some) {
                for (int64_t k = 0; k < q; ++k)
                    add<decltype(some)::value, false>(&x[(first + r) * P], b + k * kTileRows + r,
                                                      out + k * P);
            });
    }

    // The same of squares.
    void add_squares(int64_t first, int64_t count, const float* b, float* out) const {
        for (int64_t r = 0; r < count; r += kBlock)
            with_count<kBlock>(std::min<int64_t>(kBlock, count - r), [&](auto some) {
                for (int64_t k = 0; k < q; ++k)
                    add<decltype(some)::value, true>(&x[(first + r) * P], b + k * kTileRows + r,
                                                     out + k * P);
            });
    }

    static constexpr int64_t kFlush = 256;  // rows after which sums go on in doubles
    bool fits = true;

  private:
    static constexpr int kBlock = 4;
    using Vector = FloatVector<kFloats>;

    float square(const float* row) const {
        Vector sum = {};
        for (int64_t j = 0; j < P; j += kFloats)
            sum += load_floats<kFloats>(row + j) * load_floats<kFloats>(row + j);
        float whole = 0;
        for (int i = 0; i < kFloats; ++i) whole += sum[i];
        return whole;
    }

    void copy(const double* from, const double* shift, float* to, double* largest) const {
        for (int64_t j = 0; j < p; ++j) {
            const double cell = from[j] - shift[j], size = std::abs(cell);
            largest[j] = size > largest[j] || size != size ? size : largest[j];  // NaN stays
            to[j] = static_cast<float>(cell);
        }
        to[p] = 1;
        std::fill(to + p + 1, to + P, 0.0f);
    }

    template <int Count>
    LIKELIER_INLINE void dot(const float* rows, const float* V, float* s) const {
        Vector sum[Count] = {};
        for (int64_t j = 0; j < P; j += kFloats) {
            const Vector v = load_floats<kFloats>(V + j);
            LIKELIER_UNROLL
            for (int r = 0; r < Count; ++r) sum[r] += v * load_floats<kFloats>(rows + r * P + j);
        }
        for (int r = 0; r < Count; ++r) {
            float total = 0;
            for (int i = 0; i < kFloats; ++i) total += sum[r][i];
            s[r] = total;
        }
    }

    template <int Count, bool Squared>
    LIKELIER_INLINE void add(const float* rows, const float* b, float* out) const {
        for (int64_t j = 0; j < P; j += kFloats) {
            Vector sum = load_floats<kFloats>(out + j);
            LIKELIER_UNROLL
            for (int r = 0; r < Count; ++r) {
                const Vector cells = load_floats<kFloats>(rows + r * P + j);
                sum += b[r] * (Squared ? cells * cells : cells);
            }
            store_floats<kFloats>(out + j, sum);
        }
    }

    std::vector<float, Unset<float>> x;        // (n, P)
    std::vector<float, Unset<float>> squares;  // (n,)
};

class SparseFloats {
  public:
    const int64_t n, p, q, width;

    SparseFloats(const Matrix& X, const double*, int64_t q)
        : n(row_count(X)),
          p(column_count(X)),
          q(q),
          width(q == 1   ? 1
                : q <= 4 ? 4
                         : (q + 7) / 8 * 8) {
        std::visit(
            [&](const auto& m) {
                if constexpr (requires { m.starts; }) copy(m);
            },
            X);
    }

    int64_t size() const { return (p + 1) * width; }
    int64_t at(int64_t k, int64_t j) const { return j * width + k; }
    double work() const { return static_cast<double>(values.size()) * static_cast<double>(width); }
    int64_t step() const { return kTileRows; }

    void dots(int64_t first, int64_t count, const float* V, float* s) const {
        if (width == 1) return single_dots(first, count, V, s);
        if (width == 4) return several_dots<4>(first, count, V, s);
        several_dots<kClasses>(first, count, V, s);
    }

    void add(int64_t first, int64_t count, const float* b, float* out) const {
        if (width == 1) return single_add<false>(first, count, b, out);
        if (width == 4) return several_add<4, false>(first, count, b, out);
        several_add<kClasses, false>(first, count, b, out);
    }

    void add_squares(int64_t first, int64_t count, const float* b, float* out) const {
        if (width == 1) return single_add<true>(first, count, b, out);
        if (width == 4) return several_add<4, true>(first, count, b, out);
        several_add<kClasses, true>(first, count, b, out);
    }

    static constexpr int64_t kFlush = int64_t{1} << 15;
    bool fits = true;

  private:
    template <class M>
    void copy(const M& m) {
        const int64_t from = m.starts[0], count = m.starts[m.n] - from;
        values.resize(count);
        columns.resize(count);
        starts.resize(n + 1);
        Buffer largest(p, 0.0);
        for (int64_t i = 0; i <= n; ++i) starts[i] = m.starts[i] - from;
        for (int64_t i = 0; i < count; ++i) {
            const auto j = static_cast<int32_t>(m.columns[from + i]);
            const double cell = static_cast<double>(m.values[from + i]), size = std::abs(cell);
            largest[j] = size > largest[j] || size != size ? size : largest[j];
            values[i] = static_cast<float>(cell);
            columns[i] = j;
        }
        fits = std::all_of(largest.begin(), largest.end(), fits_floats);
    }

    void single_dots(int64_t first, int64_t count, const float* V, float* s) const {
        for (int64_t r = 0; r < count; ++r) {
            float sum[4] = {V[p]};
            int64_t i = starts[first + r];
            const int64_t stop = starts[first + r + 1];
            for (; i + 4 <= stop; i += 4) LIKELIER_UNROLL
            for (int k = 0; k < 4; ++k) sum[k] += values[i + k] * V[columns[i + k]];
            for (; i < stop; ++i) sum[0] += values[i] * V[columns[i]];
            s[r] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
    }

    template <bool Squared>
    void single_add(int64_t first, int64_t count, const float* b, float* out) const {
        for (int64_t r = 0; r < count; ++r) {
            const float each = b[r];
            if (each == 0) continue;
            for (int64_t i = starts[first + r]; i < starts[first + r + 1]; ++i)
                out[columns[i]] += each * (Squared ? values[i] * values[i] : values[i]);
            out[p] += each;
        }
    }

    template <int Lanes>
    void several_dots(int64_t first, int64_t count, const float* V, float* s) const {
        using Vector = FloatVector<Lanes>;
        const float* x = values.data();
        const int32_t* column = columns.data();
        const int64_t* begin = &starts[first];
        const int64_t wide = width, scores = q;
        for (int64_t k0 = 0; k0 < wide; k0 += Lanes) {
            const float* from = V + k0;
            for (int64_t r = 0; r < count; ++r) {
                Vector sum = load_floats<Lanes>(from + p * wide), other = {};
                int64_t i = begin[r];
                const int64_t stop = begin[r + 1];
                for (; i + 2 <= stop; i += 2) {
                    sum += x[i] * load_floats<Lanes>(from + column[i] * wide);
                    other += x[i + 1] * load_floats<Lanes>(from + column[i + 1] * wide);
                }
                if (i < stop) sum += x[i] * load_floats<Lanes>(from + column[i] * wide);
                sum += other;
                for (int64_t k = k0; k < std::min(scores, k0 + Lanes); ++k)
                    s[k * kTileRows + r] = sum[k - k0];
            }
        }
    }

    template <int Lanes, bool Squared>
    void several_add(int64_t first, int64_t count, const float* b, float* out) const {
        // Members are read once: the compiler cannot know that what is stored leaves them as they are.
        using Vector = FloatVector<Lanes>;
        const float* x = values.data();
        const int32_t* column = columns.data();
        const int64_t* begin = &starts[first];
        const int64_t wide = width, scores = q, last = p;
        for (int64_t k0 = 0; k0 < wide; k0 += Lanes)
            for (int64_t r = 0; r < count; ++r) {
                Vector each = {};
                for (int64_t k = k0; k < std::min(scores, k0 + Lanes); ++k)
                    each[k - k0] = b[k * kTileRows + r];
                const auto to = [=](int64_t j, float by) {
                    float* at = out + j * wide + k0;
                    store_floats<Lanes>(at, load_floats<Lanes>(at) + by * each);
                };
                const int64_t stop = begin[r + 1];
                for (int64_t i = begin[r]; i < stop; ++i) to(column[i], Squared ? x[i] * x[i] : x[i]);
                to(last, 1);
            }
    }

    Floats values;
    std::vector<int32_t> columns;
    std::vector<int64_t> starts;
};

}  // namespace likelier
