// Where separators stand in text: 64 bytes at a time become the bits of a word.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace likelier {

// Bit k: byte k is one of three.
class AnyOf {
  public:
    AnyOf(char a, char b, char c) : a(a), b(b), c(c) {}

    uint64_t operator()(const char* at) const {
#if defined(__AVX512BW__)
        const __m512i v = _mm512_loadu_si512(at);
        return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(a)) |
               _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(b)) |
               _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(c));
#elif defined(__AVX2__)
        uint64_t bits = 0;
        for (int k = 0; k < 64; k += 32) {
            const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + k));
            const __m256i found =
                _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(a)),
                                _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(b)),
                                                _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c))));
            bits |= uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(found))} << k;
        }
        return bits;
#elif defined(__SSE2__)
        uint64_t bits = 0;
        for (int k = 0; k < 64; k += 16) {
            const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + k));
            const __m128i found = _mm_or_si128(
                _mm_cmpeq_epi8(v, _mm_set1_epi8(a)),
                _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(b)), _mm_cmpeq_epi8(v, _mm_set1_epi8(c))));
            bits |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(found))} << k;
        }
        return bits;
#else
        uint64_t bits = 0;
        for (int k = 0; k < 64; ++k) bits |= uint64_t{at[k] == a || at[k] == b || at[k] == c} << k;
        return bits;
#endif
    }

  private:
    char a, b, c;
};

// Where the first of these bytes, or, if `control`, of those below a space, stands; `end`: there is none.
// Sixteen are looked at together, past the end too.
template <bool control, char... stops>
inline const char* first_of(const char* at, const char* end) {
    for (; at < end; at += 16) {
#if defined(__SSE2__)
        const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        __m128i found =
            control ? _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v) : _mm_setzero_si128();
        ((found = _mm_or_si128(found, _mm_cmpeq_epi8(v, _mm_set1_epi8(stops)))), ...);
        const auto bits = static_cast<uint32_t>(_mm_movemask_epi8(found));
#else
        uint32_t bits = 0;
        for (int k = 0; k < 16; ++k)
            bits |=
                uint32_t{(control && static_cast<unsigned char>(at[k]) < 0x20) || ((at[k] == stops) || ...)}
                << k;
#endif
        if (bits) return std::min(at + std::countr_zero(bits), end);
    }
    return end;
}

// The places of bytes of a kind in [at, at + n), counted from `at`; 64 bytes past the end may be read. They
// are written eight at a time, whether or not there are so many: a branch for each would often be guessed
// wrong.
inline size_t find_marks(const AnyOf& any, const char* at, uint32_t n, std::vector<uint32_t>& places) {
    if (places.size() < n + 64u) places.resize(n + 64u);
    uint32_t* out = places.data();
    for (uint32_t k = 0; k < n; k += 64) {
        uint64_t bits = any(at + k);
        if (n - k < 64) bits &= ~uint64_t{0} >> (64 - (n - k));
        uint32_t* next = out + std::popcount(bits);
        while (out < next) {
            for (int j = 0; j < 8; ++j) {
                out[j] = k + static_cast<uint32_t>(std::countr_zero(bits));
                bits &= bits - 1;
            }
            out += 8;
        }
        out = next;
    }
    return out - places.data();
}

}  // namespace likelier
