// Numbers in decimal, read exactly: the float64 that is nearest to what is written.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>

#include "hash.hpp"

namespace likelier {

inline bool is_digit(char c) {
    return static_cast<unsigned char>(c - '0') < 10;
}

// What is written at `at`, taken apart.
struct Decimal {
    const char* stop = nullptr;  // null: no number begins here
    bool negative = false;
    uint64_t digits = 0;  // the first nineteen significant ones
    int64_t exponent = 0;
    bool all = true;  // no further digits were left out
};

// [+-] digits [. digits] [e [+-] digits], with a digit before or after the point.
inline Decimal decimal(const char* at, const char* end) {
    Decimal d;
    if (at < end && (*at == '-' || *at == '+')) d.negative = *at++ == '-';
    const char* first = at;
    int count = 0;
    const auto take = [&](char c) {
        if (count < 19) {
            d.digits = 10 * d.digits + static_cast<uint64_t>(c - '0');
            count += d.digits > 0;
            return true;
        }
        d.all = d.all && c == '0';
        return false;
    };
    for (; at < end && is_digit(*at); ++at) d.exponent += !take(*at);
    int64_t seen = at - first;
    if (at < end && *at == '.') {
        const char* point = ++at;
        for (; at < end && is_digit(*at); ++at) d.exponent -= take(*at);
        seen += at - point;
    }
    if (seen == 0) return d;
    d.stop = at;
    if (at < end && (*at | 0x20) == 'e') {
        const bool sign = at + 1 < end && (at[1] == '-' || at[1] == '+');
        const char* power = at + 1 + sign;
        int64_t e = 0;
        for (at = power; at < end && is_digit(*at); ++at)
            if (e < 1000000) e = 10 * e + (*at - '0');
        if (at > power) {
            d.exponent += power[-1] == '-' ? -e : e;
            d.stop = at;
        }
    }
    return d;
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
    double x = 0;
    if (*at == '+' || *at == '-') ++at;
    if (std::from_chars(at, d.stop, x).ec == std::errc::result_out_of_range)
        x = d.digits > 0 && d.exponent > 0 ? std::numeric_limits<double>::infinity() : 0;
    return d.negative ? -x : x;
}

// The number that all of the text is; false: it is none.
inline bool read_number(std::string_view text, double& x) {
    const Decimal d = decimal(text.data(), text.data() + text.size());
    if (d.stop != text.data() + text.size() || d.stop == nullptr) return false;
    x = value_of(d, text.data());
    return true;
}

// Up to eight digits at once, without a branch that depends on their number; none are 0. Eight bytes may be
// read whatever the text's length.
inline bool read_digits(std::string_view text, double& x) {
    if (text.size() > 8) return false;
    constexpr uint64_t zeros = 0x3030303030303030, high = 0xf0f0f0f0f0f0f0f0;
    // Leading zeros fill it up; the last digit is the highest byte. In two steps: none is as long as a
    // word.
    const unsigned there = 4 * static_cast<unsigned>(text.size()), lacking = 32 - there;
    uint64_t c = (little_endian<uint64_t>(text.data()) << lacking << lacking) | (zeros >> there >> there);
    if (((c & high) | (((c + 0x0606060606060606) & high) >> 4)) != 0x3333333333333333) return false;
    c -= zeros;
    c = c * 10 + (c >> 8);  // pairs, then fours and eight
    c = (c & 0x000000ff000000ff) * 0x000f424000000064 + (c >> 16 & 0x000000ff000000ff) * 0x0000271000000001;
    x = static_cast<double>(c >> 32);
    return true;
}

// The same as read_number, for text after which eight bytes more may be read.
inline bool read_padded_number(std::string_view text, double& x) {
    return (!text.empty() && read_digits(text, x)) || read_number(text, x);
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
