// Vowpal Wabbit's text format to hashed rows: label weight base 'tag|namespace:scale name:value ...
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "text/marks.hpp"
#include "text/svmlight.hpp"
#include "text/text.hpp"

namespace likelier {

// A namespace is a field, a feature a word of it, with its value times the namespace's scale; crosses are
// of namespaces, and so are the features that are wanted or ignored. A value that is no number makes the
// feature the word name:value. The base of the score is passed over.
class VWParser : public LineParser {
  public:
    using LineParser::LineParser;

  protected:
    bool line(std::string_view text, HashedRows& rows) override {
        const size_t bar = text.find('|');
        if (bar == text.npos) return fail("no | begins the features");
        std::string_view label;
        double weight = 1;
        if (!head(text.substr(0, bar), label, weight)) return false;
        const char* at = text.data() + bar;
        const char* end = text.data() + text.size();
        while (at < end)
            if (!features(at, end, rows)) return false;
        char room[32];
        rows.end(code_of(label.empty() ? label : canonical(label, room), weight), weight);
        return true;
    }

  private:
    // What touches the bar, or begins with ', is a tag.
    bool head(std::string_view text, std::string_view& label, double& weight) {
        std::string_view tokens[4];
        size_t count = 0;
        const char* at = text.data();
        const char* end = at + text.size();
        for (auto token = next_token(at, end); !token.empty(); token = next_token(at, end)) {
            if (count == 4) return fail("more than label, weight, base and tag before the |");
            tokens[count++] = token;
        }
        if (count == 0) return true;
        const auto& back = tokens[count - 1];
        if (back.data() + back.size() == end || back[0] == '\'') --count;
        if (count == 4) return fail("more than label, weight, base and tag before the |");
        if (count > 0) label = tokens[0];
        if (label.find(':') != label.npos)
            return fail("the label '" + shown(label) + "' has costs: plain labels can be read");
        return count < 2 || read_weight(tokens[1], weight);
    }

    static bool ends_value(char c) { return is_space(c) || c == '|'; }

    static std::string_view read_name(const char*& at, const char* end) {
        const char* first = at;
        at = first_of<false, ' ', '\t', ':', '|'>(at, end);
        return {first, static_cast<size_t>(at - first)};
    }
    static std::string_view read_value(const char*& at, const char* end) {
        const char* first = at;
        at = first_of<false, ' ', '\t', '|'>(at, end);
        return {first, static_cast<size_t>(at - first)};
    }

    // A namespace, from its bar to the next.
    bool features(const char*& at, const char* end, HashedRows& rows) {
        const std::string_view space = read_name(++at, end);
        double scale = 1;
        if (at < end && *at == ':') {
            const std::string_view written = read_value(++at, end);
            if (!read_number(written, scale) || !std::isfinite(scale))
                return fail("the scale '" + shown(written) + "' of " + std::string(space) +
                            " is not a number");
        }
        const bool wants = wanted.feature(space);
        const uint64_t field = name_key(space);
        while (true) {
            at = behind_spaces(at, end);
            if (at == end || *at == '|') return true;
            if (!feature(at, end, field, scale, wants, rows)) return false;
        }
    }

    bool feature(const char*& at, const char* end, uint64_t field, double scale, bool wants,
                 HashedRows& rows) {
        const std::string_view name = read_name(at, end);
        uint64_t key = hash_of_padded(name, field);
        double x = 1;
        if (at < end && *at == ':') {
            const Decimal d = decimal(++at, end);
            if (d.stop && (d.stop == end || ends_value(*d.stop))) {
                x = value_of(d, at);
                at = d.stop;
            } else {
                const std::string_view written = read_value(at, end);
                if (!wants) return true;
                if (is_not_finite(written)) return not_finite(name, rows);
                key = hash_of_padded(written, key);
                ++changed;
            }
        }
        if (!wants) return true;
        if (!std::isfinite(x)) return not_finite(name, rows);
        rows.number(field, key, x * scale);
        return true;
    }
};

}  // namespace likelier
