// What Python knows of characters: which are part of words, which are spaces, what they are in lower case
// and without accents. The tables come from the Python that runs, so that the two agree.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace likelier {

constexpr uint32_t kCodePoints = 0x110000;
constexpr size_t kPadding = 16;  // bytes behind a text that may be read
constexpr uint8_t kWord = 1, kSpace = 2, kCased = 4, kCaseIgnorable = 8;
constexpr uint8_t kStays = 16;  // whatever its neighbours are; found here
constexpr uint32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;

// The code point at `at`, which moves past it. The bytes are UTF-8 by Python's codec, surrogates included.
inline uint32_t next_code_point(const char*& at) {
    const auto byte = [&](int i) { return static_cast<uint32_t>(static_cast<uint8_t>(at[i])); };
    const uint32_t first = byte(0);
    if (first < 0x80) {
        at += 1;
        return first;
    }
    if (first < 0xE0) {
        const uint32_t code = (first & 0x1F) << 6 | (byte(1) & 0x3F);
        at += 2;
        return code;
    }
    if (first < 0xF0) {
        const uint32_t code = (first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
        at += 3;
        return code;
    }
    const uint32_t code =
        (first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
    at += 4;
    return code;
}

inline const char* previous_start(const char* at) {
    do --at;
    while ((static_cast<uint8_t>(*at) & 0xC0) == 0x80);
    return at;
}

// Writes a code point as UTF-8; gives where the next one goes.
inline char* put_code_point(uint32_t code, char* to) {
    const auto rest = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) {
        *to++ = static_cast<char>(code);
    } else if (code < 0x800) {
        *to++ = static_cast<char>(0xC0 | code >> 6);
        *to++ = rest(0);
    } else if (code < 0x10000) {
        *to++ = static_cast<char>(0xE0 | code >> 12);
        *to++ = rest(6);
        *to++ = rest(0);
    } else {
        *to++ = static_cast<char>(0xF0 | code >> 18);
        *to++ = rest(12);
        *to++ = rest(6);
        *to++ = rest(0);
    }
    return to;
}

// Text in the making. kPadding bytes behind it can be read.
class TextBuffer {
  public:
    char* data() { return bytes.data(); }
    const char* data() const { return bytes.data(); }
    size_t size() const { return used; }
    void resize(size_t to) { used = to; }

    // Room for so many bytes more; gives where they go.
    char* room(size_t more) {
        if (used + more + kPadding > bytes.size()) bytes.resize(2 * (used + more + kPadding));
        return bytes.data() + used;
    }

    void append(uint32_t code) {
        char* const to = room(4);
        used += static_cast<size_t>(put_code_point(code, to) - to);
    }

  private:
    std::vector<char> bytes;
    size_t used = 0;
};

// Properties of every code point, and what each becomes: one code point, or a run of several or none.
class Characters {
  public:
    // flags: kCodePoints of them; changed: code points that do not stay as they are; texts: what they
    // become, the i-th from ends[i - 1] to ends[i].
    Characters(std::vector<uint8_t> flags, const uint32_t* changed, const int64_t* ends, int64_t n,
               std::vector<uint32_t> texts, bool lower)
        : flags(std::move(flags)), texts(std::move(texts)), becomes(kCodePoints), lower(lower) {
        for (uint32_t code = 0; code < kCodePoints; ++code) becomes[code] = code;
        int64_t begin = 0;
        for (int64_t i = 0; i < n; ++i) {
            if (ends[i] - begin == 1) {
                becomes[changed[i]] = this->texts[static_cast<size_t>(begin)];
            } else if (ends[i] == begin) {
                becomes[changed[i]] = kNothing;
            } else {
                becomes[changed[i]] = kRun + static_cast<uint32_t>(runs.size());
                runs.emplace_back(begin, ends[i]);
            }
            begin = ends[i];
        }
        for (uint32_t code = 0; code < 0x80; ++code) ascii[code] = static_cast<uint8_t>(becomes[code]);
        check_ascii();
        for (uint32_t code = 0; code < kCodePoints; ++code)
            if (becomes[code] == code && !(lower && code == kCapitalSigma)) this->flags[code] |= kStays;
    }

    // The end of the letters from `at` on that stay as they are and are no ASCII; `count`: how many.
    const char* unchanged_letters(const char* at, const char* end, int64_t& count) const {
        constexpr uint8_t kBoth = kWord | kStays;
        for (count = 0; at < end && static_cast<uint8_t>(*at) >= 0x80; ++count) {
            const char* next = at;
            if ((flags[next_code_point(next)] & kBoth) != kBoth) break;
            at = next;
        }
        return at;
    }

    bool is(uint32_t code, uint8_t what) const { return flags[code] & what; }
    bool lowers_ascii() const { return ascii['A'] == 'a'; }

    // Hands `take` what the code point that starts at `at` becomes; gives where the next one starts.
    template <class Take>
    const char* convert(const char* begin, const char* at, const char* end, Take&& take) const {
        const char* const start = at;
        uint32_t code = next_code_point(at);
        if (lower && code == kCapitalSigma) code = sigma(begin, start, at, end);
        const uint32_t to = becomes[code];
        if (to < kCodePoints) {
            take(to);
            return at;
        }
        if (to == kNothing) return at;
        const auto [first, last] = runs[to - kRun];
        for (int64_t i = first; i < last; ++i) take(texts[static_cast<size_t>(i)]);
        return at;
    }

    std::vector<uint8_t> flags;
    uint8_t ascii[0x80];

  private:
    // Of ASCII many are looked at together: letters, digits and the underscore are part of words, and
    // letters become small ones, all or none.
    void check_ascii() const {
        for (uint32_t code = 0; code < 0x80; ++code) {
            const bool capital = code >= 'A' && code <= 'Z', small = code >= 'a' && code <= 'z';
            const bool word = capital || small || (code >= '0' && code <= '9') || code == '_';
            const uint32_t to = capital && lowers_ascii() ? code | 0x20 : code;
            if (becomes[code] != to || is(code, kWord) != word)
                throw std::invalid_argument("ASCII is not as Python has it");
        }
    }

    static constexpr uint32_t kRun = 0x80000000u, kNothing = kRun - 1;

    // The one letter whose lower case hangs on its neighbours: at the end of a word it has a form of its
    // own.
    uint32_t sigma(const char* begin, const char* start, const char* after, const char* end) const {
        bool cased = false;
        for (const char* at = start; at > begin;) {
            at = previous_start(at);
            const char* copy = at;
            const uint32_t code = next_code_point(copy);
            if (is(code, kCaseIgnorable)) continue;
            cased = is(code, kCased);
            break;
        }
        if (!cased) return kSigma;
        for (const char* at = after; at < end;) {
            const uint32_t code = next_code_point(at);
            if (is(code, kCaseIgnorable)) continue;
            return is(code, kCased) ? kSigma : kFinalSigma;
        }
        return kFinalSigma;
    }

    std::vector<uint32_t> texts;
    std::vector<uint32_t> becomes;
    std::vector<std::pair<int64_t, int64_t>> runs;
    bool lower;
};

}  // namespace likelier
