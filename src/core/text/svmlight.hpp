// svmlight's format to hashed rows: a label, then index:value for each cell that is there.
#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "text/text.hpp"

namespace likelier {

// A label that is a number by its value: +1, 1 and 1.0 are one label.
inline std::string_view canonical(std::string_view label, char (&room)[32]) {
    if (label.size() == 1) return label;
    double x;
    if (!read_number(label, x) || !std::isfinite(x)) return label;
    char* stop = std::abs(x) < 1e15 && x == std::floor(x)
                     ? std::to_chars(room, room + sizeof room, static_cast<long long>(x)).ptr
                     : std::to_chars(room, room + sizeof room, x).ptr;
    return {room, static_cast<size_t>(stop - room)};
}

inline bool is_space(char c) {
    return c == ' ' || c == '\t';
}

inline const char* behind_spaces(const char* at, const char* end) {
    while (at < end && is_space(*at)) ++at;
    return at;
}

// The next run of characters that are no spaces; empty: there is none.
inline std::string_view next_token(const char*& at, const char* end) {
    const char* first = behind_spaces(at, end);
    for (at = first; at < end && !is_space(*at);) ++at;
    return {first, static_cast<size_t>(at - first)};
}

// A feature goes by its index as it is written, as column j of an array goes by j. A row without a label
// begins with its first cell. qid:... is passed over, and so is all after #.
class SvmlightParser : public LineParser {
  public:
    using LineParser::LineParser;

  protected:
    bool line(std::string_view text, HashedRows& rows) override {
        const char* at = text.data();
        const char* end = at + std::min(text.find('#'), text.size());
        const std::string_view token = next_token(at, end);
        if (token.empty()) return true;
        std::string_view label;
        char room[32];
        if (token.find(':') == token.npos) {
            double x;
            if (!read_number(token, x)) return fail("the label '" + shown(token) + "' is not a number");
            label = canonical(token, room);
        } else {
            at = token.data();
        }
        while ((at = behind_spaces(at, end)) < end)
            if (!plain_cell(at, end, rows) && !cell(next_token(at, end), rows)) return false;
        rows.end(code_of(label, 1), 1);
        return true;
    }

  private:
    // A cell of digits and a number, which is nearly every one; false: it is something else.
    bool plain_cell(const char*& at, const char* end, HashedRows& rows) {
        uint64_t place = 0;
        const char* colon = take_digits(at, end, place);
        if (colon == at || colon == end || *colon != ':' || *at == '0') return false;
        const Decimal d = decimal(colon + 1, end);
        if (!d.stop || (d.stop < end && !is_space(*d.stop))) return false;
        const std::string_view index(at, colon - at);
        const double x = value_of(d, colon + 1);
        if (!std::isfinite(x) || !wanted.feature(index)) return false;
        at = d.stop;
        const uint64_t key = hash_of_padded(index, 0);
        rows.number(key, key, x);
        return true;
    }

    bool cell(std::string_view token, HashedRows& rows) {
        const size_t colon = token.find(':');
        if (colon == token.npos) return fail("'" + shown(token) + "' is no index:value");
        std::string_view index = token.substr(0, colon);
        const std::string_view written = token.substr(colon + 1);
        if (index == "qid") return true;
        for (char c : index)
            if (!is_digit(c)) return fail("the index '" + shown(index) + "' is not a number");
        if (index.empty()) return fail("'" + shown(token) + "' has no index");
        while (index.size() > 1 && index[0] == '0') index.remove_prefix(1);
        double x;
        const bool number = read_number(written, x);
        if (!number && !is_not_finite(written))
            return fail("the value '" + shown(written) + "' of " + std::string(index) + " is not a number");
        if (!wanted.feature(index)) return true;
        if (!number || !std::isfinite(x)) return not_finite(index, rows);
        const uint64_t key = hash_of_padded(index, 0);
        rows.number(key, key, x);
        return true;
    }
};

}  // namespace likelier
