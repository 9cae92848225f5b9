// JSON lines to hashed rows: an object a line.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "text/marks.hpp"
#include "text/text.hpp"

namespace likelier {

// Numbers are numbers, strings words, true and false the words True and False, null is absent. The members
// of an object go by its name, a dot, and theirs; so does all that is in an array, counted from 0, but for
// its strings, which are words of the array's name. A name that is given twice counts twice; as target, the
// last counts.
class JSONParser : public LineParser {
  public:
    static constexpr int kDeepest = 64;

    using LineParser::LineParser;

  protected:
    bool line(std::string_view text, HashedRows& rows) override {
        at = text.data();
        end = at + text.size();
        out = &rows;
        label.reset();
        weight = wanted.weight ? -1 : 1;
        name.clear();
        space();
        if (at == end || *at != '{') return fail("not an object: {\"name\": value, ...} is needed");
        if (!object(0, true)) return false;
        space();
        if (at < end) return wrong("nothing more");
        if (weight < 0) return fail("no weight '" + *wanted.weight + "'");
        rows.end(label ? code_of(*label, weight) : kUnlabelled, weight);
        return true;
    }

  private:
    const char* at;
    const char* end;
    HashedRows* out;
    std::string name;  // of the value that is being read, with the names of all that it is in
    std::optional<std::string> label;
    double weight;
    std::string unescaped;

    bool wrong(const char* expected) {
        if (at == end) return fail(std::string("the line ends where there should be ") + expected);
        return fail("'" + shown({at, static_cast<size_t>(end - at)}, 20) + "' where there should be " +
                    expected);
    }

    void space() {
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
    }
    bool next(char c) {
        space();
        if (at == end || *at != c) return false;
        ++at;
        return true;
    }

    // ---- what is in what

    bool object(int depth, bool wants) {
        ++at;
        if (next('}')) return true;
        const size_t prefix = name.size();
        do {
            space();
            std::string_view key;
            if (at == end || *at != '"') return wrong("a name in quotation marks");
            if (!string(key)) return false;
            if (depth > 0) name += '.';
            name += key;
            if (!next(':')) return wrong("a colon");
            space();
            if (!(depth == 0 ? member() : value(depth, nested(wants)))) return false;
            name.resize(prefix);
        } while (next(','));
        return next('}') || wrong("a comma or }");
    }

    // A member is wanted if what it is in is, or if it is named itself.
    bool nested(bool wants) const {
        return (wants || (wanted.features && wanted.features->contains(name))) && !wanted.ignores(name);
    }

    // A member of the row: its target, its weight, or a feature.
    bool member() {
        if (name == wanted.target) return target();
        if (name == wanted.weight) {
            const char* first = at;
            double x;
            if (!number(x)) return fail("the weight is not a number");
            return read_weight({first, static_cast<size_t>(at - first)}, weight);
        }
        return value(0, wanted.feature(name));
    }

    // As text: numbers as they are written, so that 1 and 1.0 differ.
    bool target() {
        const char* first = at;
        double x;
        if (at < end && *at == '"') {
            std::string_view text;
            if (!string(text)) return false;
            label = text;
        } else if (literal("true")) {
            label = "True";
        } else if (literal("false")) {
            label = "False";
        } else if (literal("null")) {
            label.reset();
        } else if (number(x)) {
            label = std::string(first, at);
        } else {
            return wrong("a label: text, a number, true, false or null");
        }
        if (label && label->empty()) label.reset();
        return true;
    }

    bool value(int depth, bool wants) {
        if (at == end) return wrong("a value");
        if (*at == '"') {
            std::string_view text;
            if (!string(text)) return false;
            return word(text, wants);
        }
        if (*at == '{' || *at == '[') {
            if (depth == kDeepest) return fail("more than 64 objects and arrays in one another");
            return *at == '{' ? object(depth + 1, wants) : array(depth + 1, wants);
        }
        double x;
        if (!number(x)) {
            if (literal("true")) return word("True", wants);
            if (literal("false")) return word("False", wants);
            return literal("null") || wrong("a value");
        }
        if (!wants) return true;
        if (!std::isfinite(x)) return not_finite(name, *out);
        const uint64_t key = name_key(name);
        out->number(key, key, x);
        return true;
    }

    bool word(std::string_view text, bool wants) {
        if (wants) out->word(name_key(name), text);
        return true;
    }

    bool array(int depth, bool wants) {
        ++at;
        if (next(']')) return true;
        const size_t prefix = name.size();
        int64_t place = 0;
        do {
            space();
            const bool placed = at < end && *at != '"';
            if (placed) name += '.' + std::to_string(place);
            if (!value(depth, wants)) return false;
            name.resize(prefix);
            ++place;
        } while (next(','));
        return next(']') || wrong("a comma or ]");
    }

    // ---- scalars

    bool literal(std::string_view word) {
        if (!std::string_view(at, end - at).starts_with(word)) return false;
        at += word.size();
        return true;
    }

    // NaN, Infinity and -Infinity, as many write them.
    bool not_a_number(const char* first, bool minus, double& x) {
        const std::string_view rest(first, end - first);
        const size_t length = rest.starts_with("Infinity") ? 8 : rest.starts_with("NaN") && !minus ? 3 : 0;
        if (length > 0) at = first + length;
        x = std::numeric_limits<double>::quiet_NaN();
        return length > 0;
    }

    // As JSON has them, and those.
    bool number(double& x) {
        const bool minus = at < end && *at == '-';
        const char* first = at + minus;
        if (first == end || !is_digit(*first)) return not_a_number(first, minus, x);
        const Decimal d = decimal(at, end);
        const bool leading_zero = *first == '0' && first + 1 < end && is_digit(first[1]);
        if (leading_zero || d.stop[-1] == '.') return false;
        for (const char* c = first + 1; c < d.stop; ++c)
            if (*c == '.' && !is_digit(c[1])) return false;
        x = value_of(d, at);
        at = d.stop;
        return true;
    }

    // A string that begins here. Without escapes it is looked at where it stands.
    bool string(std::string_view& text) {
        const char* first = ++at;
        at = first_of<true, '"', '\\'>(at, end);
        if (at < end && *at == '"') {
            text = {first, static_cast<size_t>(at++ - first)};
            return true;
        }
        unescaped.assign(first, at);
        while (at < end && *at != '"') {
            if (static_cast<unsigned char>(*at) < 0x20) return fail("a control character in a string");
            if (*at == '\\' && !escape()) return false;
            const char* more = at;
            at = first_of<true, '"', '\\'>(at, end);
            unescaped.append(more, at);
        }
        if (at == end) return fail("a string is not closed");
        ++at;
        text = unescaped;
        return true;
    }

    bool escape() {
        constexpr std::string_view written = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        if (++at == end) return fail("a string is not closed");
        if (*at == 'u') {
            uint32_t c;
            if (!hex(c)) return false;
            uint32_t low;
            const char* before = at;
            if (c >= 0xd800 && c < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
                ++at;
                if (!hex(low)) return false;
                if (low >= 0xdc00 && low < 0xe000) {
                    c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                } else {
                    at = before;
                }
            }
            utf8(c);
            return true;
        }
        const size_t k = written.find(*at);
        if (k == written.npos) return fail("an unknown escape in a string");
        unescaped += meant[k];
        ++at;
        return true;
    }

    // The four digits behind a u.
    bool hex(uint32_t& c) {
        c = 0;
        if (end - at < 5) return fail("\\u needs four digits");
        for (int k = 0; k < 4; ++k) {
            const char d = *++at;
            const char lower = static_cast<char>(d | 0x20);
            if (!is_digit(d) && !(lower >= 'a' && lower <= 'f')) return fail("\\u needs four digits");
            c = 16 * c + static_cast<uint32_t>(is_digit(d) ? d - '0' : lower - 'a' + 10);
        }
        ++at;
        return true;
    }

    void utf8(uint32_t c) {
        const auto put = [&](uint32_t byte) { unescaped += static_cast<char>(byte); };
        if (c < 0x80) {
            put(c);
            return;
        }
        if (c < 0x800) {
            put(0xc0 | c >> 6);
        } else {
            if (c < 0x10000) {
                put(0xe0 | c >> 12);
            } else {
                put(0xf0 | c >> 18);
                put(0x80 | (c >> 12 & 0x3f));
            }
            put(0x80 | (c >> 6 & 0x3f));
        }
        put(0x80 | (c & 0x3f));
    }
};

}  // namespace likelier
