// A table as the columns of a design: numbers shifted and scaled, categories as indicators.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/matrix.hpp"

namespace likelier {

// What becomes of the columns of a table, p of each. A number goes to column `to` as (x - shift) / scale,
// `fill` where it is missing, which column `missing` then says (-1: no such column). Of a category, whose
// `to` is -1, table[at[j] + 1 + code] is the column that is 1 (-1: none of them is).
struct DesignPlan {
    const int32_t *to, *missing;
    const double *shift, *scale, *fill;
    const int64_t* at;  // p + 1
    const int32_t* table;
    int64_t P;  // columns of the design
};

// The cells of a design that are not 0, f(row within the tile, column, value), column by column for a few
// rows at a time. Returns the first infinite cell, if there is one.
template <class F, class Tile>
Cell each_design_cell(const Columns& X, const DesignPlan& plan, Tile&& begin_tile, F&& f) {
    constexpr int64_t kRows = 64;  // whose cells in the design stay in the cache
    double room[kRows];
    for (int64_t first = 0; first < X.n; first += kRows) {
        const int64_t count = std::min(kRows, X.n - first);
        begin_tile(first, count);
        for (int64_t j = 0; j < X.p; ++j) {
            const double* x = adjoining(X.column[j], first, count, room);
            const int32_t to = plan.to[j], missing = plan.missing[j];
            if (to < 0) {
                const int32_t* place = plan.table + plan.at[j] + 1;
                if (plan.at[j + 1] == plan.at[j]) continue;  // a column that is left out
                for (int64_t r = 0; r < count; ++r) {
                    const int32_t column = place[static_cast<int64_t>(x[r])];
                    if (column >= 0) f(r, column, 1.0);
                }
                continue;
            }
            const double shift = plan.shift[j], scale = plan.scale[j], fill = plan.fill[j];
            for (int64_t r = 0; r < count; ++r) {
                if (std::isinf(x[r])) return {first + r, j};
                const bool gone = std::isnan(x[r]);
                const double value = gone ? fill : (x[r] - shift) / scale;
                if (value != 0.0) f(r, to, value);
                if (gone && missing >= 0) f(r, missing, 1.0);
            }
        }
    }
    return {};
}

// Rows of the design, which are 0 as yet, in C order.
inline Cell design_rows(const Columns& X, const DesignPlan& plan, double* out) {
    double* tile = out;
    return each_design_cell(
        X, plan, [&](int64_t first, int64_t) { tile = out + first * plan.P; },
        [&](int64_t r, int32_t column, double value) { tile[r * plan.P + column] = value; });
}

// How many cells of each row are not 0.
inline Cell design_counts(const Columns& X, const DesignPlan& plan, int64_t* counts) {
    int64_t* tile = counts;
    return each_design_cell(
        X, plan,
        [&](int64_t first, int64_t count) {
            tile = counts + first;
            std::fill(tile, tile + count, 0);
        },
        [&](int64_t r, int32_t, double) { ++tile[r]; });
}

// The same cells as rows of CSR, each row from its start on.
template <class I>
Cell design_cells(const Columns& X, const DesignPlan& plan, const I* starts, double* values, I* columns) {
    I next[64];
    return each_design_cell(
        X, plan, [&](int64_t first, int64_t count) { std::copy_n(starts + first, count, next); },
        [&](int64_t r, int32_t column, double value) {
            values[next[r]] = value;
            columns[next[r]++] = static_cast<I>(column);
        });
}

}  // namespace likelier
