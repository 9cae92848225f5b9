// Rows drawn by a hash of their numbers.
#pragma once

#include <cstdint>

namespace likelier {

// splitmix64 (Steele, Lea & Flood 2014) of a row's number.
inline uint64_t row_key(uint64_t number, uint64_t seed) {
    uint64_t z = (number + 1) * 0x9E3779B97F4A7C15u + seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// Of n rows, from number `first` on, those with keys up to `top`: their places, and how many they are.
inline int64_t drawn(uint64_t first, int64_t n, uint64_t seed, uint64_t top, int64_t* places) {
    constexpr int64_t block = 64;  // keys in vectors first, then a look at each
    uint64_t keys[block];
    int64_t count = 0;
    for (int64_t start = 0; start < n; start += block) {
        const int64_t m = n - start < block ? n - start : block;
        for (int64_t i = 0; i < block; ++i)
            keys[i] = row_key(first + static_cast<uint64_t>(start + i), seed);
        for (int64_t i = 0; i < m; ++i) {
            places[count] = start + i;  // without a branch, which nothing could foresee
            count += keys[i] <= top;
        }
    }
    return count;
}

}  // namespace likelier
