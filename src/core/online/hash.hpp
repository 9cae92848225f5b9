// The hash of names and values: 64 bits, the same on every platform and in every version.
//
// Sixteen bytes at a time, read as two little-endian numbers and filled up with zeros at the end, are
// folded in by the two halves of a 128-bit product, as in Wang Yi's wyhash; the length comes last. Models
// in files rely on these bits: they never change.
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

template <class T>
inline uint64_t little_endian(const char* from) {
    T x;
    std::memcpy(&x, from, sizeof x);
    if constexpr (std::endian::native == std::endian::big) {
        if constexpr (sizeof x == 8) return __builtin_bswap64(x);
        return __builtin_bswap32(x);
    }
    return x;
}

// The first n bytes, at most 8, as a number. Pieces that overlap agree where they do.
inline uint64_t first_bytes(const char* at, size_t n) {
    if (n >= 8) return little_endian<uint64_t>(at);
    if (n >= 4) return little_endian<uint32_t>(at) | little_endian<uint32_t>(at + n - 4) << (8 * (n - 4));
    uint64_t x = 0;
    for (size_t k = 0; k < n; ++k) x |= uint64_t{static_cast<unsigned char>(at[k])} << (8 * k);
    return x;
}

// The same where eight bytes may be read whatever n is: without a branch.
inline uint64_t first_padded_bytes(const char* at, size_t n) {
    static constexpr uint64_t kept[] = {0,           0xff,        0xffff,     0xffffff, 0xffffffff,
                                        ~0ull >> 24, ~0ull >> 16, ~0ull >> 8, ~0ull};
    return little_endian<uint64_t>(at) & kept[n < 8 ? n : 8];
}

template <uint64_t (*bytes)(const char*, size_t)>
inline uint64_t hash_by(std::string_view text, uint64_t seed) {
    const char* at = text.data();
    size_t left = text.size();
    uint64_t h = seed ^ kHashA;
    for (; left > 16; at += 16, left -= 16)
        h = folded(little_endian<uint64_t>(at) ^ h, little_endian<uint64_t>(at + 8) ^ kHashB);
    const uint64_t more = left > 8 ? bytes(at + 8, left - 8) : 0;
    h = folded(bytes(at, left) ^ h, more ^ kHashB);
    return folded(h ^ text.size(), kHashC);
}

inline uint64_t hash_of(std::string_view text, uint64_t seed) {
    return hash_by<first_bytes>(text, seed);
}

// Of text after which sixteen bytes more may be read.
inline uint64_t hash_of_padded(std::string_view text, uint64_t seed) {
    return hash_by<first_padded_bytes>(text, seed);
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
