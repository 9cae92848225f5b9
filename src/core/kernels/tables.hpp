// Cells as places in a table: counted by class, looked up, and found among edges.
//
// A column j of codes has rows first_j to first_j + size_j of a table (L, K), in which the classes of a
// cell adjoin; one row more, the last, stands for cells that are missing. Lanes run over rows of X where
// codes become places, and over classes where tables are read.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/matrix.hpp"
#include "kernels/moments.hpp"
#include "kernels/scores.hpp"
#include "kernels/tile.hpp"

namespace likelier {

// Where the codes of each column are: (p) each. Whole numbers held as doubles, as the cells are.
struct Slots {
    const double* first;
    const double* size;
    const double* other;  // the row of the table for codes from size on
    const double* low;    // -1 where codes below 0 say that a cell is missing, else 0
    int64_t rows;         // of the table, without the last one
};

// A cell that is no code: below `low`, between whole numbers, or infinite. NaN is none: it is missing.
inline bool no_code(double x, double low) {
    return x < low || std::isinf(x) || (x != std::floor(x) && !std::isnan(x));
}

// The same of a vector: lanes of all bits set.
LIKELIER_INLINE auto no_codes(vd x, double low) {
    const vd whole = splat(4503599627370496.0);  // 2^52: from there on all numbers are whole
    const vd rounded = (x + whole) - whole;
    return (x < splat(low)) | ((x < whole) & (rounded != x)) |
           (x > splat(std::numeric_limits<double>::max()));
}

template <class Mask>
LIKELIER_INLINE bool any(Mask mask) {
    int64_t found = 0;
    for (int i = 0; i < kLanes; ++i) found |= mask[i];
    return found != 0;
}

// The first cell that is no code in rows that count.
template <class Counts>
Cell find_no_code(const Matrix& X, int64_t first, int64_t count, const double* low, Counts&& counts) {
    return std::visit(
        [&](const auto& m) -> Cell {
            Buffer row(padded(m.p));
            for (int64_t r = first; r < first + count; ++r) {
                if (!counts(r)) continue;
                const double* x = rows(m, r, 1, row.data()).x;
                for (int64_t j = 0; j < m.p; ++j)
                    if (no_code(x[j], low[j])) return {r, j};
            }
            return {};
        },
        X);
}

// A tile of codes, turned, as rows of the table.
class PlaceTile {
  public:
    explicit PlaceTile(int64_t p) : p(p), at(p * kHeight), x(p * kHeight) {}

    // False if a cell is no code.
    bool load_from(const Matrix& X, int64_t first, int64_t count, const Slots& slots) {
        std::visit([&](const auto& m) { columns(m, first, count, kHeight, x.data()); }, X);
        using vi = int32_t __attribute__((vector_size(kVectorBytes / 2)));
        const vd missing = splat(static_cast<double>(slots.rows));
        bool good = true;
        for (int64_t j = 0; j < p; ++j) {
            const vd from = splat(slots.first[j]), size = splat(slots.size[j]);
            const vd other = splat(slots.other[j]);
            auto bad = no_codes(load(&x[j * kHeight]), slots.low[j]);
            for (int64_t r = 0; r < kHeight; r += kLanes) {
                const vd code = load(&x[j * kHeight + r]);
                bad |= no_codes(code, slots.low[j]);
                const vd known = code < size ? code + from : other;
                const vi place = __builtin_convertvector(code >= splat(0.0) ? known : missing, vi);
                std::memcpy(&at[j * kHeight + r], &place, sizeof place);
            }
            good = good && !any(bad);
        }
        return good;
    }

    const int32_t* column(int64_t j) const { return &at[j * kHeight]; }

    const int64_t p;

  private:
    std::vector<int32_t> at;
    Buffer x;
};

// Whether a row adds anything.
inline bool counts_row(const Labels& labels, int64_t r) {
    bool found = false;
    labels.each(r, [&](int64_t, double w) { found = found || w > 0; });
    return found;
}

// Weights by class n (K), and of each cell's place counts (L, K): both are added to.
inline Cell count_cells(const Matrix& X, const Labels& labels, const Slots& slots, double* n,
                        double* counts) {
    constexpr int64_t kAbreast = 8;  // columns at once: a run of equal codes does not wait for itself
    const int64_t rows = row_count(X), p = column_count(X), K = labels.K;
    Buffer table((slots.rows + 1) * K, 0.0), weight(K, 0.0);
    PlaceTile tile(p);
    for (int64_t first = 0; first < rows; first += kHeight) {
        const int64_t count = std::min(kHeight, rows - first);
        if (!tile.load_from(X, first, count, slots)) {
            const Cell bad =
                find_no_code(X, first, count, slots.low, [&](int64_t r) { return counts_row(labels, r); });
            if (bad.found()) return bad;
        }
        for (int64_t r = first; r < first + count; ++r)
            labels.each(r, [&](int64_t k, double w) { weight[k] += w; });
        for (int64_t j0 = 0; j0 < p; j0 += kAbreast) {
            const int64_t j1 = std::min(p, j0 + kAbreast);
            for (int64_t r = 0; r < count; ++r) {
                if (labels.R) {
                    const double w = labels.weight(first + r);
                    const double* share = labels.R + (first + r) * K;
                    if (w == 0) continue;
                    for (int64_t j = j0; j < j1; ++j) {
                        double* to = &table[tile.column(j)[r] * K];
                        for (int64_t k = 0; k < K; ++k) to[k] += w * share[k];
                    }
                } else if (const int32_t k = labels.codes[first + r]; k >= 0) {
                    const double w = labels.weight(first + r);
                    for (int64_t j = j0; j < j1; ++j) table[tile.column(j)[r] * K + k] += w;
                }
            }
        }
    }
    for (int64_t k = 0; k < K; ++k) n[k] += weight[k];
    for (int64_t i = 0; i < slots.rows * K; ++i) counts[i] += table[i];
    return {};
}

// The largest cell of each column (p) in rows that count; what is in `top` if none is larger.
inline void largest(const Matrix& X, const Labels& labels, double* top) {
    const int64_t rows = row_count(X), p = column_count(X);
    Buffer x(p * kHeight), counts(kHeight);
    for (int64_t first = 0; first < rows; first += kHeight) {
        const int64_t count = std::min(kHeight, rows - first);
        std::visit([&](const auto& m) { columns(m, first, count, kHeight, x.data()); }, X);
        for (int64_t r = 0; r < kHeight; ++r)
            counts[r] = r < count && counts_row(labels, first + r) ? 1.0 : 0.0;
        for (int64_t j = 0; j < p; ++j) {
            vd best = splat(top[j]);
            for (int64_t r = 0; r < kHeight; r += kLanes) {
                const vd cell = load(&x[j * kHeight + r]);
                best = ((cell > best) & (load(&counts[r]) > splat(0.0))) ? cell : best;
            }
            for (int i = 0; i < kLanes; ++i) top[j] = std::max(top[j], best[i]);
        }
    }
}

// The first cell that is no code.
inline Cell first_no_code(const Matrix& X, const double* low) {
    const int64_t rows = row_count(X), p = column_count(X);
    Buffer x(p * kHeight);
    for (int64_t first = 0; first < rows; first += kHeight) {
        const int64_t count = std::min(kHeight, rows - first);
        std::visit([&](const auto& m) { columns(m, first, count, kHeight, x.data()); }, X);
        auto bad = no_codes(splat(0.0), 0.0);
        for (int64_t j = 0; j < p; ++j)
            for (int64_t r = 0; r < kHeight; r += kLanes)
                bad |= no_codes(load(&x[j * kHeight + r]), low[j]);
        if (any(bad)) return find_no_code(X, first, count, low, [](int64_t) { return true; });
    }
    return {};
}

// ---- scores ------------------------------------------------------------------------------------
// z_k = b_k + Σ_j table[place_j][k] of one row. Few classes: all of them in registers.
template <int K>
LIKELIER_INLINE void look_up_few(const PlaceTile& tile, int64_t r, const double* table, const double* b,
                                 double* z) {
    double sum[K];
    LIKELIER_UNROLL
    for (int k = 0; k < K; ++k) sum[k] = b[k];
    for (int64_t j = 0; j < tile.p; ++j) {
        const double* t = table + static_cast<int64_t>(tile.column(j)[r]) * K;
        LIKELIER_UNROLL
        for (int k = 0; k < K; ++k) sum[k] += t[k];
    }
    LIKELIER_UNROLL
    for (int k = 0; k < K; ++k) z[k] = sum[k];
}

// Many classes (at least kLanes): vectors side by side, the last of them overlapping the one before.
inline void look_up_many(const PlaceTile& tile, int64_t r, const double* table, const double* b, int64_t K,
                         double* z) {
    const int64_t vectors = (K + kLanes - 1) / kLanes;
    for (int64_t v = 0; v < vectors; v += kSpan)
        with_count<kSpan>(std::min<int64_t>(kSpan, vectors - v), [&](auto some) {
            constexpr int count = decltype(some)::value;
            int64_t k[count];
            vd sum[count];
            LIKELIER_UNROLL
            for (int i = 0; i < count; ++i) {
                k[i] = std::min((v + i) * kLanes, K - kLanes);
                sum[i] = load(b + k[i]);
            }
            for (int64_t j = 0; j < tile.p; ++j) {
                const double* t = table + tile.column(j)[r] * K;
                LIKELIER_UNROLL
                for (int i = 0; i < count; ++i) sum[i] += load(t + k[i]);
            }
            LIKELIER_UNROLL
            for (int i = 0; i < count; ++i) store(z + k[i], sum[i]);
        });
}

// b_k + Σ_j table[place of x_j][k]; the last row of the table is what a missing cell adds.
inline Cell look_up(const Matrix& X, const Slots& slots, const double* table, const double* b, int64_t K,
                    double* Z, bool add) {
    constexpr int kFew = 8;
    const int64_t rows = row_count(X);
    PlaceTile tile(column_count(X));
    Buffer sums(K * kHeight);
    for (int64_t first = 0; first < rows; first += kHeight) {
        const int64_t count = std::min(kHeight, rows - first);
        if (!tile.load_from(X, first, count, slots))
            return find_no_code(X, first, count, slots.low, [](int64_t) { return true; });
        double* z = add ? sums.data() : Z + first * K;
        if (K <= kFew)
            with_count<kFew>(K, [&](auto some) {
                constexpr int k = decltype(some)::value;
                for (int64_t r = 0; r < count; ++r) look_up_few<k>(tile, r, table, b, z + r * k);
            });
        else
            for (int64_t r = 0; r < count; ++r) look_up_many(tile, r, table, b, K, z + r * K);
        if (add)
            for (int64_t i = 0; i < count * K; ++i) Z[first * K + i] += sums[i];
    }
    return {};
}

// ---- edges -------------------------------------------------------------------------------------
// out[j][r]: how many of column j's sorted cuts (start_j to start_j+1) are at most x, -1 if it is missing.
inline Cell find_bins(const Matrix& X, const double* cuts, const int64_t* start, int32_t* out) {
    const int64_t rows = row_count(X), p = column_count(X);
    TurnedTile tile(p);
    int32_t at[kHeight];
    for (int64_t first = 0; first < rows; first += kHeight) {
        const int64_t count = std::min(kHeight, rows - first);
        const Cell bad = tile.load_from<Cells::some>(X, first, count);
        if (bad.found()) return bad;
        for (int64_t j = 0; j < p; ++j) {
            const double* x = &tile.x[j * kHeight];
            const double* c = cuts + start[j];
            std::fill(at, at + kHeight, 0);
            // One step of all rows' searches after another: none waits for its neighbour.
            int64_t left = start[j + 1] - start[j];
            for (; left > 1; left -= left / 2) {
                const auto half = static_cast<int32_t>(left / 2);
                for (int64_t r = 0; r < kHeight; ++r) at[r] += c[at[r] + half - 1] <= x[r] ? half : 0;
            }
            if (left == 1)
                for (int64_t r = 0; r < kHeight; ++r) at[r] += c[at[r]] <= x[r] ? 1 : 0;
            int32_t* to = out + j * rows + first;
            for (int64_t r = 0; r < count; ++r) to[r] = x[r] == x[r] ? at[r] : -1;
        }
    }
    return {};
}

}  // namespace likelier
