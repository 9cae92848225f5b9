// Numbers in decimal, read exactly: the float64 that is nearest to what is written.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>

#if defined(__APPLE__)
#include <xlocale.h>

#include <cstdlib>
#include <string>
#endif

#include "online/hash.hpp"

namespace likelier {

inline bool is_digit(char c) {
    return static_cast<unsigned char>(c - '0') < 10;
}

// Eight characters as the bytes of a number: how many digits they begin with.
inline unsigned leading_digits(uint64_t c) {
    constexpr uint64_t high = 0xf0f0f0f0f0f0f0f0;
    // A carry goes to bytes behind one that is no digit: the first of those is found all the same.
    const uint64_t others =
        ((c & high) ^ 0x3030303030303030) | (((c + 0x0606060606060606) & high) ^ 0x3030303030303030);
    return static_cast<unsigned>(std::countr_zero(others)) / 8;
}

// The number that the first n of eight characters are, all of them digits; none are 0.
inline uint64_t digits_in(uint64_t c, unsigned n) {
    constexpr uint64_t zeros = 0x3030303030303030;
    // Leading zeros fill it up; the last digit is the highest byte. In two steps: a word cannot be shifted
    // by its length.
    const unsigned there = 4 * n, lacking = 32 - there;
    c = (c << lacking << lacking) | (zeros >> there >> there);
    c -= zeros;
    c = c * 10 + (c >> 8);  // pairs, then fours and eight
    return ((c & 0x000000ff000000ff) * 0x000f424000000064 +
            (c >> 16 & 0x000000ff000000ff) * 0x0000271000000001) >>
           32;
}

// The digits at `at`, added behind those that came before; where they end. Eight bytes past `end` may be
// read, here and below.
inline const char* take_digits(const char* at, const char* end, uint64_t& digits) {
    static constexpr uint64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    while (true) {
        const uint64_t c = little_endian<uint64_t>(at);
        const auto n = static_cast<unsigned>(std::min<int64_t>(leading_digits(c), end - at));
        digits = digits * tens[n] + digits_in(c, n);
        at += n;
        if (n < 8) return at;
    }
}

// What is written at `at`, taken apart.
struct Decimal {
    const char* stop = nullptr;  // null: no number begins here
    bool negative = false;
    bool all = false;  // `digits` are all that there are, and fit
    uint64_t digits = 0;
    int64_t exponent = 0;
};

// [+-] digits [. digits] [e [+-] digits], with a digit before or after the point.
inline Decimal decimal(const char* at, const char* end) {
    Decimal d;
    if (at < end && (*at == '-' || *at == '+')) d.negative = *at++ == '-';
    const char* first = at;
    // Few stand before the point as a rule, many behind it.
    for (; at < end && is_digit(*at); ++at) d.digits = 10 * d.digits + static_cast<uint64_t>(*at - '0');
    int64_t count = at - first;
    if (at < end && *at == '.') {
        const char* point = ++at;
        at = take_digits(at, end, d.digits);
        d.exponent = point - at;
        count += at - point;
    }
    if (count == 0) return d;
    d.all = count <= 19;
    d.stop = at;
    if (at < end && (*at | 0x20) == 'e') {
        const bool sign = at + 1 < end && (at[1] == '-' || at[1] == '+');
        const char* power = at + 1 + sign;
        int64_t e = 0;
        for (at = power; at < end && is_digit(*at); ++at)
            if (e < 1000000000000) e = 10 * e + (*at - '0');
        if (at > power) {
            d.exponent += power[-1] == '-' ? -e : e;
            d.stop = at;
        }
    }
    return d;
}

// Past the range of float64: infinite or 0, by where the first digit that is not 0 stands.
inline double out_of_range(const Decimal& d, const char* at) {
    int64_t significant = 0;
    for (; at < d.stop && (*at | 0x20) != 'e'; ++at)
        significant += is_digit(*at) && (significant > 0 || *at != '0');
    return significant + d.exponent > 0 ? std::numeric_limits<double>::infinity() : 0;
}

// The number that is nearest to what stands in [at, stop), which has no sign. The library of Apple reads no
// float64 before macOS 26, but in the locale of C (null) its older function is right, too.
inline double nearest(const Decimal& d, const char* at) {
#if defined(__APPLE__)
    return strtod_l(std::string(at, d.stop).c_str(), nullptr, nullptr);
#else
    double x = 0;
    if (std::from_chars(at, d.stop, x).ec == std::errc::result_out_of_range) x = out_of_range(d, at);
    return x;
#endif
}

// A whole number of up to 2^53 times or over an exact power of ten is rounded once (Clinger 1990).
inline double value_of(const Decimal& d, const char* at) {
    static constexpr double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d.all && d.digits <= (uint64_t{1} << 53) && d.exponent >= -22 && d.exponent <= 22) {
        const double m = static_cast<double>(d.digits);
        const double x = d.exponent < 0 ? m / tens[-d.exponent] : m * tens[d.exponent];
        return d.negative ? -x : x;
    }
    if (*at == '+' || *at == '-') ++at;
    const double x = nearest(d, at);
    return d.negative ? -x : x;
}

// The number that all of the text is; false: it is none.
inline bool read_number(std::string_view text, double& x) {
    const Decimal d = decimal(text.data(), text.data() + text.size());
    if (d.stop != text.data() + text.size() || d.stop == nullptr) return false;
    x = value_of(d, text.data());
    return true;
}

// Up to eight digits and nothing else, without a branch that depends on their number; none are 0.
inline bool read_digits(std::string_view text, double& x) {
    if (text.size() > 8) return false;
    const uint64_t c = little_endian<uint64_t>(text.data());
    const auto n = static_cast<unsigned>(text.size());
    x = static_cast<double>(digits_in(c, n));
    return leading_digits(c) >= n;
}

// What stands for a number that is none: nan, inf and infinity, in any case, with a sign or without.
inline bool is_not_finite(std::string_view text) {
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
    for (std::string_view word : {"nan", "inf", "infinity"}) {
        size_t k = 0;
        if (text.size() != word.size()) continue;
        while (k < word.size() && (text[k] | 0x20) == word[k]) ++k;
        if (k == word.size()) return true;
    }
    return false;
}

}  // namespace likelier
