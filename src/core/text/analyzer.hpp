// Documents to terms, as scikit-learn's analyzers define them: words and runs of words, runs of characters,
// runs of characters within words.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

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

// The terms of one document after another. Holds buffers: one for each thread.
class Analyzer {
  public:
    explicit Analyzer(const Analysis& analysis) : analysis(analysis), characters(analysis.characters) {}

    template <class Take>
    void each_term(std::string_view document, Take&& take) {
        if (analysis.unit == Unit::word)
            words(document, take);
        else
            runs_of_characters(document, take);
    }

  private:
    template <class Take>
    void words(std::string_view document, Take& take) {
        const bool alone = analysis.most == 1;
        text.resize(0);
        starts.clear();
        const auto ended = [&](size_t start) {
            const size_t length = text.size() - start;
            const bool ignored =
                analysis.ignored.size() > 0 && analysis.ignored.find(text.data() + start, length) >= 0;
            if (alone && !ignored) take(text.data() + start, length);
            if (alone || ignored) {
                text.resize(start);
                return;
            }
            text.append(' ');  // between words, so that a run of words is a piece of the text
            starts.push_back(start);
        };
        split_words(document, ended);
        if (alone) return;
        const auto count = static_cast<int64_t>(starts.size());
        starts.push_back(text.size());
        for (int64_t n = analysis.least; n <= std::min(analysis.most, count); ++n)
            for (int64_t i = 0; i + n <= count; ++i) {
                const size_t start = starts[static_cast<size_t>(i)];
                take(text.data() + start, starts[static_cast<size_t>(i + n)] - start - 1);
            }
    }

    // Appends each word to `text`, and tells `ended` where it starts. Words are as long as can be.
    template <class Ended>
    void split_words(std::string_view document, Ended& ended) {
        const char *at = document.data(), *const begin = at, *const end = at + document.size();
        int64_t length = 0;
        size_t start = 0;
        const auto take = [&](uint32_t code) {
            if (!characters.is(code, kWord)) {
                close(start, length, ended);
                return;
            }
            if (length++ == 0) start = text.size();
            text.append(code);
        };
        while (at < end) {
            if (static_cast<uint8_t>(*at) >= 0x80) {
                at = characters.convert(begin, at, end, take);
                continue;
            }
            if (length == 0) start = text.size();
            char *const from = text.room(static_cast<size_t>(end - at)), *to = from;
            while (at < end && (*to = characters.in_words[static_cast<uint8_t>(*at)])) ++to, ++at;
            length += to - from;
            text.resize(text.size() + static_cast<size_t>(to - from));
            if (at < end && static_cast<uint8_t>(*at) >= 0x80) continue;
            close(start, length, ended);
            if (at < end) ++at;
        }
        close(start, length, ended);
    }

    template <class Ended>
    void close(size_t start, int64_t& length, Ended& ended) {
        if (length >= analysis.shortest)
            ended(start);
        else if (length > 0)
            text.resize(start);
        length = 0;
    }

    template <class Take>
    void runs_of_characters(std::string_view document, Take& take) {
        condense(document);
        if (analysis.unit == Unit::character) {
            const auto count = static_cast<int64_t>(starts.size()) - 1;
            for (int64_t n = analysis.least; n <= std::min(analysis.most, count); ++n)
                runs(0, count, n, take);
            return;
        }
        const auto count = static_cast<int64_t>(starts.size()) - 1;
        for (int64_t first = 0; first < count;) {
            // From the space before a word to the space behind it.
            int64_t last = first + 1;
            while (!spaces[static_cast<size_t>(last)]) ++last;
            const int64_t all = last - first + 1;
            for (int64_t n = analysis.least; n <= analysis.most; ++n) {
                runs(first, last + 1, std::min(n, all), take);
                if (n >= all) break;  // a short word counts once
            }
            first = last;
            if (first == count - 1) break;
        }
    }

    template <class Take>
    void runs(int64_t first, int64_t last, int64_t n, Take& take) {
        for (int64_t i = first; i + n <= last; ++i) {
            const size_t start = starts[static_cast<size_t>(i)];
            take(text.data() + start, starts[static_cast<size_t>(i + n)] - start);
        }
    }

    // The document with one space for several, and where its characters start. For runs within words there
    // is one space before and behind each word, and nothing else between them.
    void condense(std::string_view document) {
        const bool within = analysis.unit == Unit::within_words;
        text.resize(0);
        starts.clear();
        spaces.clear();
        uint32_t space = 0;  // the last one
        int64_t pending = within ? 1 : 0;
        const auto add = [&](uint32_t code, bool is_space) {
            starts.push_back(text.size());
            spaces.push_back(is_space);
            text.append(code);
        };
        const auto take = [&](uint32_t code) {
            if (characters.is(code, kSpace)) {
                space = code;
                ++pending;
                return;
            }
            if (pending > 0) add(within || pending > 1 ? ' ' : space, true);
            pending = 0;
            add(code, false);
        };
        const char *at = document.data(), *const begin = at, *const end = at + document.size();
        while (at < end) {
            if (static_cast<uint8_t>(*at) < 0x80)
                take(characters.ascii[static_cast<uint8_t>(*at++)]);
            else
                at = characters.convert(begin, at, end, take);
        }
        if (within ? !starts.empty() : pending > 0) add(within || pending > 1 ? ' ' : space, true);
        starts.push_back(text.size());
    }

    const Analysis& analysis;
    const Characters& characters;
    TextBuffer text;
    std::vector<size_t> starts;
    std::vector<char> spaces;
};

}  // namespace likelier
