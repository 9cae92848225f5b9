// The cells of dense rows that are not 0, as a compressed matrix has them: most of a table of indicators
// are.
#pragma once

#include <cstdint>

#include "kernels/matrix.hpp"

namespace likelier {

// How many cells of each row are not 0. NaN is not.
template <class T>
void count_stored(const Dense<T>& X, int64_t* counts) {
    for (int64_t i = 0; i < X.n; ++i) {
        const T* x = X.data + i * X.row;
        int64_t count = 0;
        if (X.column == 1)
            for (int64_t j = 0; j < X.p; ++j) count += x[j] != 0;
        else
            for (int64_t j = 0; j < X.p; ++j) count += x[j * X.column] != 0;
        counts[i] = count;
    }
}

// These cells, and their columns; room for all that were counted.
template <class T>
void store_cells(const Dense<T>& X, double* values, int32_t* columns) {
    constexpr int64_t kRun = 16;  // cells that are passed over at once
    for (int64_t i = 0; i < X.n; ++i) {
        const T* x = X.data + i * X.row;
        for (int64_t first = 0; first < X.p; first += kRun) {
            const int64_t last = first + kRun < X.p ? first + kRun : X.p;
            bool any = false;
            for (int64_t j = first; j < last; ++j) any |= x[j * X.column] != 0;
            for (int64_t j = first; any && j < last; ++j) {
                if (!(x[j * X.column] != 0)) continue;
                *values++ = static_cast<double>(x[j * X.column]);
                *columns++ = static_cast<int32_t>(j);
            }
        }
    }
}

}  // namespace likelier
