// The hash of names and values: 64 bits, the same on every platform and in every version.
//
// Eight bytes at a time, read as little-endian numbers, are folded in by the two halves of a 128-bit
// product, as in Wang Yi's wyhash. Models in files rely on these bits: they never change.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace likelier {

constexpr uint64_t kHashA = 0x9e3779b97f4a7c15, kHashB = 0xd6e8feb86659fd93, kHashC = 0xa0761d6478bd642f;

inline uint64_t folded(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t little_endian(const char* from, size_t n) {
    uint64_t x = 0;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(&x, from, n);
    } else {
        for (size_t k = 0; k < n; ++k)
            x |= static_cast<uint64_t>(static_cast<unsigned char>(from[k])) << (8 * k);
    }
    return x;
}

inline uint64_t hash_of(std::string_view text, uint64_t seed) {
    const char* at = text.data();
    size_t left = text.size();
    uint64_t h = seed ^ (left * kHashA);
    for (; left >= 8; at += 8, left -= 8) h = folded(h ^ little_endian(at, 8), kHashB ^ seed);
    h = folded(h ^ little_endian(at, left), kHashC);
    return folded(h ^ kHashA, kHashB);
}

// Of a feature: a number goes by its name alone, a word by name and value.
inline uint64_t name_key(std::string_view name) {
    return hash_of(name, 0);
}
inline uint64_t word_key(uint64_t name, std::string_view value) {
    return hash_of(value, name);
}

// Of two features together; their order counts.
inline uint64_t cross_key(uint64_t a, uint64_t b) {
    return folded(a ^ kHashC, std::rotl(b, 32) ^ kHashA);
}

}  // namespace likelier
