// Labels to codes in one pass: no sort of the rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace likelier {

// Codes by first appearance, and the row in which each label first stood.
struct Coding {
    std::vector<int64_t> first;

    int32_t fresh(int64_t row) {
        first.push_back(row);
        return static_cast<int32_t>(first.size()) - 1;
    }
};

// Whole numbers. A small range is looked up in a table, any other in a hash map.
template <class T>
Coding code_integers(const T* y, int64_t n, int32_t* codes) {
    Coding coding;
    if (n == 0) return coding;
    const auto [low, high] = std::minmax_element(y, y + n);
    const T base = *low;
    const uint64_t range = static_cast<uint64_t>(*high) - static_cast<uint64_t>(base);
    if (range < static_cast<uint64_t>(std::max<int64_t>(1024, 4 * n))) {
        std::vector<int32_t> table(range + 1, -1);
        for (int64_t r = 0; r < n; ++r) {
            int32_t& code = table[static_cast<uint64_t>(y[r]) - static_cast<uint64_t>(base)];
            if (code < 0) code = coding.fresh(r);
            codes[r] = code;
        }
        return coding;
    }
    std::unordered_map<T, int32_t> table;
    for (int64_t r = 0; r < n; ++r) {
        const auto [at, added] = table.try_emplace(y[r], 0);
        if (added) at->second = coding.fresh(r);
        codes[r] = at->second;
    }
    return coding;
}

// Labels of a fixed number of bytes: NumPy's strings, or the bits of floats.
inline Coding code_bytes(const char* y, int64_t n, int64_t width, int32_t* codes) {
    Coding coding;
    std::unordered_map<std::string_view, int32_t> table;
    for (int64_t r = 0; r < n; ++r) {
        const char* at_row = y + r * width;
        // Labels come in runs: the one before is a good guess.
        if (r > 0 && std::memcmp(at_row, at_row - width, width) == 0) {
            codes[r] = codes[r - 1];
            continue;
        }
        const auto [at, added] = table.try_emplace(std::string_view(at_row, width), 0);
        if (added) at->second = coding.fresh(r);
        codes[r] = at->second;
    }
    return coding;
}

}  // namespace likelier
