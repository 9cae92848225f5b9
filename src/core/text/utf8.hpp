// Whether bytes are UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace likelier {

// Surrogates, code points beyond the last and longer forms than needed are none.
inline bool is_utf8(const char* at, const char* end) {
    constexpr uint64_t kHigh = 0x8080808080808080ull;
    while (at < end) {
        uint64_t word;
        if (end - at >= 8 && (std::memcpy(&word, at, 8), (word & kHigh) == 0)) {
            at += 8;
            continue;
        }
        const auto first = static_cast<uint8_t>(*at);
        if (first < 0x80) {
            ++at;
            continue;
        }
        const std::ptrdiff_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
        if (first < 0xC2 || first > 0xF4 || end - at < length) return false;
        const auto second = static_cast<uint8_t>(at[1]);
        const uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
        const uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
        if (second < low || second > high) return false;
        for (std::ptrdiff_t i = 2; i < length; ++i)
            if ((static_cast<uint8_t>(at[i]) & 0xC0) != 0x80) return false;
        at += length;
    }
    return true;
}

}  // namespace likelier
