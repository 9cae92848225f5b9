// Documents to terms, as scikit-learn's analyzers define them: words and runs of words, runs of characters,
// runs of characters within words.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "text/terms.hpp"
#include "text/unicode.hpp"

namespace likelier {

enum class Unit { word, character, within_words };

struct Analysis {
    Unit unit;
    int64_t least, most;  // how many units a term has
    int64_t shortest;     // characters of a word
    const Characters& characters;
    Terms ignored;  // words
};

// A piece of a text: a term.
struct Piece {
    size_t start, length;
};

constexpr size_t kPieces = 128;    // that are handed on together
constexpr size_t kText = 1 << 16;  // bytes of a document that are held, as far as terms allow
constexpr int kAsciiRun = 64;      // bytes that are looked at together

// ASCII as words see it: which of the first `count` bytes are part of words; and all of them in lower case,
// if they are to be. Stops at the first byte that is no ASCII.
struct AsciiRun {
    uint64_t words;
    int count;
};

inline AsciiRun ascii_run(const char* from, int count, bool lower, char* to) {
    uint64_t words = 0, others = 0;
#if defined(__SSE2__)
    const auto all = [](int c) { return _mm_set1_epi8(static_cast<char>(c)); };
    // Bytes from 0x80 on are negative numbers: they are in no range.
    const auto within = [&](__m128i x, int first, int last) {
        return _mm_and_si128(_mm_cmpgt_epi8(x, all(first - 1)), _mm_cmplt_epi8(x, all(last + 1)));
    };
    for (int i = 0; i < kAsciiRun; i += 16) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        const __m128i upper = within(x, 'A', 'Z'), bit = _mm_and_si128(upper, all(0x20));
        const __m128i small = _mm_or_si128(x, bit);
        const __m128i word = _mm_or_si128(_mm_or_si128(within(small, 'a', 'z'), within(x, '0', '9')),
                                          _mm_cmpeq_epi8(x, all('_')));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), lower ? small : x);
        words |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(word))) << i;
        others |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(x))) << i;
    }
#else
    for (int i = 0; i < kAsciiRun; ++i) {
        const auto x = static_cast<uint8_t>(from[i]);
        const bool upper = x >= 'A' && x <= 'Z';
        const uint8_t small = upper ? x | 0x20 : x;
        const bool word = (small >= 'a' && small <= 'z') || (x >= '0' && x <= '9') || x == '_';
        to[i] = static_cast<char>(lower ? small : x);
        words |= static_cast<uint64_t>(word) << i;
        others |= static_cast<uint64_t>(x >= 0x80) << i;
    }
#endif
    if (others != 0) count = std::min(count, std::countr_zero(others));
    return {count == kAsciiRun ? words : words & ((1ull << count) - 1), count};
}

// The terms of one document after another. Holds buffers: one for each thread.
class Analyzer {
  public:
    explicit Analyzer(const Analysis& analysis) : analysis(analysis), characters(analysis.characters) {}

    // Hands `take` all terms, some at a time: take(text, pieces, count), the pieces being in the text.
    template <class Take>
    void each_term(std::string_view document, Take&& take) {
        text.resize(0);
        joined.resize(0);
        starts.clear();
        pieces = 0;
        if (analysis.unit == Unit::word)
            words(document, take);
        else if (analysis.unit == Unit::within_words)
            runs_within_words(document, take);
        else
            runs_of_characters(document, take);
    }

  private:
    template <class Take>
    void add(const TextBuffer& of, size_t start, size_t length, Take& take) {
        batch[pieces++] = {start, length};
        if (pieces == kPieces) flush(of, take);
    }

    template <class Take>
    void flush(const TextBuffer& of, Take& take) {
        if (pieces > 0) take(of.data(), batch, pieces);
        pieces = 0;
    }

    // ---- words -----------------------------------------------------------------------------------
    template <class Take>
    void words(std::string_view document, Take& take) {
        const bool alone = analysis.most == 1, some_ignored = analysis.ignored.size() > 0;
        const auto word = [&](size_t start, size_t length) {
            if (some_ignored && analysis.ignored.find(text.data() + start, length) >= 0) return;
            if (alone)
                add(text, start, length, take);
            else
                run_of_words(start, length, take);
        };
        const auto tidy = [&] {  // between words: what was read is not needed any more
            if (text.size() < kText) return;
            if (alone) flush(text, take);
            text.resize(0);
        };
        split_words(document, word, tidy);
        flush(alone ? text : joined, take);
    }

    // All runs of words that end with this one.
    template <class Take>
    void run_of_words(size_t start, size_t length, Take& take) {
        if (joined.size() >= kText) forget_words(take);
        starts.push_back(joined.size());
        char* const to = joined.room(length + 1);
        std::memcpy(to, text.data() + start, length);
        to[length] = ' ';
        joined.resize(joined.size() + length + 1);
        const auto count = static_cast<int64_t>(starts.size());
        for (int64_t n = analysis.least; n <= std::min(analysis.most, count); ++n) {
            const size_t first = starts[static_cast<size_t>(count - n)];
            add(joined, first, joined.size() - 1 - first, take);
        }
    }

    // Keeps the words that runs to come begin with.
    template <class Take>
    void forget_words(Take& take) {
        flush(joined, take);
        const auto kept = std::min(static_cast<size_t>(analysis.most - 1), starts.size());
        const size_t first = kept > 0 ? starts[starts.size() - kept] : joined.size();
        if (first < joined.size() / 2) return;  // hardly anything would be gained
        starts.erase(starts.begin(), starts.end() - static_cast<std::ptrdiff_t>(kept));
        for (size_t& start : starts) start -= first;
        std::memmove(joined.data(), joined.data() + first, joined.size() - first);
        joined.resize(joined.size() - first);
    }

    // Tells `word` where in `text` each word is. Words are as long as can be.
    template <class Word, class Tidy>
    void split_words(std::string_view document, Word& word, Tidy& tidy) {
        const char *at = document.data(), *const begin = at, *const end = at + document.size();
        int64_t length = 0;  // of the word that has begun, in characters
        size_t start = 0;
        const auto close = [&] {
            if (length >= analysis.shortest) word(start, text.size() - start);
            length = 0;
        };
        const auto take = [&](uint32_t code) {
            if (!characters.is(code, kWord)) return close();
            if (length++ == 0) start = text.size();
            text.append(code);
        };
        while (at < end) {
            if (length == 0) tidy();
            if (static_cast<uint8_t>(*at) >= 0x80) {
                int64_t more = 0;
                const char* const run = characters.unchanged_letters(at, end, more);
                if (more == 0) {
                    at = characters.convert(begin, at, end, take);
                    continue;
                }
                if (length == 0) start = text.size();
                length += more;
                const auto size = static_cast<size_t>(run - at);
                std::memcpy(text.room(size), at, size);
                text.resize(text.size() + size);
                at = run;
                continue;
            }
            at += ascii_words(at, end, length, start, word);
        }
        close();
    }

    // The words of some ASCII, of which the first goes on from before and the last may go on; gives how
    // many bytes were read.
    template <class Word>
    int ascii_words(const char* at, const char* end, int64_t& length, size_t& start, Word& word) {
        char last[kAsciiRun];
        const int left = static_cast<int>(std::min<std::ptrdiff_t>(end - at, kAsciiRun));
        if (left < kAsciiRun) {
            std::memset(last, 0, sizeof last);
            std::memcpy(last, at, static_cast<size_t>(left));
            at = last;
        }
        const size_t first = text.size();
        const auto [all, count] = ascii_run(at, left, characters.lowers_ascii(), text.room(kAsciiRun));
        uint64_t words = all;
        if (length > 0) {
            const int more = std::countr_one(words);
            length += more;
            if (more == count) {
                text.resize(first + static_cast<size_t>(count));
                return count;
            }
            if (length >= analysis.shortest) word(start, first + static_cast<size_t>(more) - start);
            length = 0;
            if (more > 0) words &= words + 1;
        }
        while (words != 0) {
            const int from = std::countr_zero(words), size = std::countr_one(words >> from);
            if (from + size == count) {  // it may go on
                start = first + static_cast<size_t>(from);
                length = size;
                break;
            }
            if (size >= analysis.shortest)
                word(first + static_cast<size_t>(from), static_cast<size_t>(size));
            words &= words + (1ull << from);
        }
        text.resize(first + static_cast<size_t>(count));
        return count;
    }

    // ---- characters ------------------------------------------------------------------------------
    // Hands on the runs that begin at the first `count` of all characters.
    template <class Take>
    void runs(size_t count, Take& take) {
        const size_t all = starts.size() - 1;
        for (int64_t n = analysis.least; n <= analysis.most; ++n)
            for (size_t i = 0, run = static_cast<size_t>(n); i < count && i + run <= all; ++i)
                add(text, starts[i], starts[i + run] - starts[i], take);
    }

    template <class Code>
    void each_code(std::string_view document, Code&& take) {
        const char *at = document.data(), *const begin = at, *const end = at + document.size();
        while (at < end) {
            if (static_cast<uint8_t>(*at) < 0x80)
                take(characters.ascii[static_cast<uint8_t>(*at++)]);
            else
                at = characters.convert(begin, at, end, take);
        }
    }

    void append(uint32_t code) {
        starts.push_back(text.size());
        text.append(code);
    }

    // Of a document with one space for several.
    template <class Take>
    void runs_of_characters(std::string_view document, Take& take) {
        uint32_t space = 0;  // the last one
        int64_t pending = 0;
        const auto spaced = [&] {
            if (pending > 0) append(pending > 1 ? ' ' : space);
            pending = 0;
        };
        each_code(document, [&](uint32_t code) {
            if (characters.is(code, kSpace)) {
                space = code;
                ++pending;
                return;
            }
            spaced();
            if (starts.size() >= kText + 2 * static_cast<size_t>(analysis.most)) forget_characters(take);
            append(code);
        });
        spaced();
        starts.push_back(text.size());
        runs(starts.size(), take);
        flush(text, take);
    }

    // Hands on the runs that are complete, and keeps the characters that others to come begin with.
    template <class Take>
    void forget_characters(Take& take) {
        const size_t kept = static_cast<size_t>(analysis.most) - 1, gone = starts.size() - kept;
        starts.push_back(text.size());
        runs(gone, take);
        flush(text, take);
        starts.pop_back();
        const size_t first = gone < starts.size() ? starts[gone] : text.size();
        starts.erase(starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(gone));
        for (size_t& start : starts) start -= first;
        std::memmove(text.data(), text.data() + first, text.size() - first);
        text.resize(text.size() - first);
    }

    // Of each word with a space before and behind it.
    template <class Take>
    void runs_within_words(std::string_view document, Take& take) {
        append(' ');
        each_code(document, [&](uint32_t code) {
            if (!characters.is(code, kSpace)) return append(code);
            if (starts.size() > 1) close_word(take);
        });
        if (starts.size() > 1) close_word(take);
        flush(text, take);
    }

    template <class Take>
    void close_word(Take& take) {
        append(' ');
        const size_t all = starts.size();
        starts.push_back(text.size());
        for (int64_t n = analysis.least; n <= analysis.most; ++n) {
            const size_t run = std::min(static_cast<size_t>(n), all);
            for (size_t i = 0; i + run <= all; ++i) add(text, starts[i], starts[i + run] - starts[i], take);
            if (run == all) break;  // a short word counts once
        }
        starts.clear();
        if (text.size() >= kText) {
            flush(text, take);
            text.resize(0);
            append(' ');
        } else {
            starts.push_back(text.size() - 1);  // the space is that before the next word, too
        }
    }

    const Analysis& analysis;
    const Characters& characters;
    TextBuffer text, joined;
    std::vector<size_t> starts;  // of characters, or words
    Piece batch[kPieces];
    size_t pieces = 0;
};

}  // namespace likelier
