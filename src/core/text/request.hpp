// Bodies of requests that carry rows of features in JSON, to hashed rows.
//
// What is read here is the plain case: an object of rows whose cells are numbers, strings, booleans and
// null. Everything else (lists and objects as cells, names that are given twice, whatever is not allowed)
// is left to the caller, who reads the body in his own way and knows what to say about it. A body that is
// read here means the same there.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "online/hashed.hpp"
#include "text/marks.hpp"
#include "text/numbers.hpp"
#include "text/utf8.hpp"

namespace likelier {

// Which cells a column has, if that is known.
enum class CellKind : uint8_t { any, number, word };

// The columns that rows may have. A name that is in `kinds` has cells of that kind.
struct RequestColumns {
    bool closed = false;  // no other names than those in `kinds`
    std::unordered_map<uint64_t, CellKind> kinds;
};

// A row of a body: where its parts lie in it.
struct RequestRow {
    bool has_id = false, has_x = false, has_y = false;
    std::string id;
    size_t x = 0, x_size = 0, y = 0, y_size = 0;
};

class RequestParser {
  public:
    static constexpr size_t kPadding = 80;  // bytes that may be read past the end
    static constexpr size_t kLongestCell = 10'000, kLongestName = 1000, kLongestId = 256;
    static constexpr int64_t kLargestId = int64_t{1} << 53;

    const RequestColumns* columns = nullptr;
    std::vector<RequestRow> marks;
    bool many = false;  // the body was {"rows": [...]}

    // A whole body; false: it is left to the caller. labels: whether rows have y.
    bool body(std::string_view text, bool labels, HashedRows& rows) {
        begin(text);
        marks.clear();
        many = false;
        if (!is_utf8(at, end) || !next('{')) return false;
        if (peek("\"rows\"")) {
            at += 6;
            many = true;
            if (!next(':') || !next('[')) return false;
            do {
                if (!next('{') || !row(labels, rows)) return false;
            } while (next(','));
            if (!next(']') || !next('}')) return false;
        } else if (!row(labels, rows)) {
            return false;
        }
        space();
        return at == end;
    }

    // The features of one row, an object of its own.
    bool features(std::string_view text, HashedRows& rows) {
        begin(text);
        if (!is_utf8(at, end) || !next('{') || !cells(rows)) return false;
        space();
        if (at != end) return false;
        rows.end(kUnlabelled, 1.0);
        return true;
    }

  private:
    std::string buffer, unescaped;
    const char *at = nullptr, *end = nullptr;
    // The names of the open row, to find those that are given twice: by their keys, in open addressing.
    std::vector<uint64_t> seen = std::vector<uint64_t>(128);
    size_t names = 0;

    void begin(std::string_view text) {
        buffer.resize(text.size() + kPadding);
        std::memcpy(buffer.data(), text.data(), text.size());
        std::memset(buffer.data() + text.size(), 0, kPadding);
        at = buffer.data();
        end = at + text.size();
    }

    void space() {
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')) ++at;
    }
    bool next(char c) {
        space();
        if (at == end || *at != c) return false;
        ++at;
        return true;
    }
    bool peek(std::string_view word) {
        space();
        return std::string_view(at, end - at).starts_with(word);
    }

    // ---- rows

    // What follows the brace of a row, its own brace included.
    bool row(bool labels, HashedRows& rows) {
        RequestRow found;
        do {
            std::string_view name;
            space();
            if (!string(name) || !next(':')) return false;
            space();
            if (name == "x" && !found.has_x) {
                if (!features_of(found, rows)) return false;
            } else if (name == "id" && !found.has_id) {
                if (!literal("null") && !id(found)) return false;
            } else if (name == "y" && labels && !found.has_y) {
                if (!label(found)) return false;
            } else {
                return false;
            }
        } while (next(','));
        if (!next('}')) return false;
        if (labels ? !found.has_y || !(found.has_x || found.has_id) : !found.has_x) return false;
        rows.end(kUnlabelled, 1.0);
        marks.push_back(std::move(found));
        return true;
    }

    bool features_of(RequestRow& found, HashedRows& rows) {
        const char* first = at;
        if (!next('{') || !cells(rows)) return false;
        found.has_x = true;
        found.x = first - buffer.data();
        found.x_size = at - first;
        return true;
    }

    bool id(RequestRow& found) {
        found.has_id = true;
        if (*at == '"') {
            std::string_view text;
            if (!string(text) || text.empty() || text.size() > kLongestId) return false;
            for (const char c : text)
                if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
            found.id = text;
            return true;
        }
        const char* first = at;
        double value;
        bool whole;
        if (!number(value, whole) || !whole || std::abs(value) > static_cast<double>(kLargestId))
            return false;
        found.id.assign(first, at);
        return found.id != "-0";
    }

    bool label(RequestRow& found) {
        const char* first = at;
        double value;
        bool whole;
        std::string_view text;
        const bool good = *at == '"' ? string(text) && text.size() <= kLongestId
                                     : literal("true") || literal("false") || number(value, whole);
        found.has_y = true;
        found.y = first - buffer.data();
        found.y_size = at - first;
        return good;
    }

    // ---- cells

    // What follows the brace of a row's features, their own brace included.
    bool cells(HashedRows& rows) {
        forget_names();
        if (next('}')) return true;
        do {
            std::string_view name;
            space();
            if (!string(name) || name.size() > kLongestName) return false;
            const uint64_t key = name_key(name);
            if (!is_new(key) || !next(':')) return false;
            space();
            if (!cell(key, rows)) return false;
        } while (next(','));
        return next('}');
    }

    bool cell(uint64_t key, HashedRows& rows) {
        CellKind kind = CellKind::any;
        if (columns != nullptr && (columns->closed || !columns->kinds.empty())) {
            const auto known = columns->kinds.find(key);
            if (known == columns->kinds.end() && columns->closed) return false;
            if (known != columns->kinds.end()) kind = known->second;
        }
        if (*at == '"') {
            std::string_view text;
            if (kind == CellKind::number || !string(text) || text.size() > kLongestCell) return false;
            rows.word(key, text);
            return true;
        }
        if (literal("null")) return true;
        if (literal("true")) return word(key, "True", rows);
        if (literal("false")) return word(key, "False", rows);
        double value;
        bool whole;
        if (kind == CellKind::word || !number(value, whole)) return false;
        rows.number(key, key, value);
        return true;
    }

    static bool word(uint64_t key, std::string_view text, HashedRows& rows) {
        rows.word(key, text);
        return true;
    }

    void forget_names() {
        if (names > 0) std::fill(seen.begin(), seen.end(), 0);
        names = 0;
    }

    // Whether this name has not been given in this row; where two names have one key it is said to have.
    bool is_new(uint64_t key) {
        if (key == 0) return false;
        if (2 * ++names > seen.size()) widen();
        return put(key);
    }
    bool put(uint64_t key) {
        const size_t mask = seen.size() - 1;
        size_t place = key & mask;
        for (; seen[place] != 0; place = (place + 1) & mask)
            if (seen[place] == key) return false;
        seen[place] = key;
        return true;
    }
    void widen() {
        std::vector<uint64_t> old(2 * seen.size());
        old.swap(seen);
        for (const uint64_t key : old)
            if (key != 0) put(key);
    }

    // ---- scalars

    bool literal(std::string_view word) {
        if (!std::string_view(at, end - at).starts_with(word)) return false;
        at += word.size();
        return true;
    }

    // As JSON has them; whole numbers of up to eighteen digits, and finite ones.
    bool number(double& value, bool& whole) {
        const char* first = at + (*at == '-');
        if (first >= end || !is_digit(*first)) return false;
        const Decimal d = decimal(at, end);
        if (d.stop == nullptr || (*first == '0' && first + 1 < end && is_digit(first[1]))) return false;
        const char* c = first;
        while (c < d.stop && is_digit(*c)) ++c;
        whole = c == d.stop;
        if (whole && c - first > 18) return false;
        if (c < d.stop && *c == '.' && (c + 1 == d.stop || !is_digit(c[1]))) return false;
        // What stands behind a number must not belong to it, as in 1e or 1.
        if (d.stop < end && (*d.stop == '.' || (*d.stop | 0x20) == 'e')) return false;
        value = value_of(d, at);
        at = d.stop;
        return std::isfinite(value);
    }

    // A string that begins here, without its marks.
    bool string(std::string_view& text) {
        if (at == end || *at != '"') return false;
        const char* first = ++at;
        at = first_of<true, '"', '\\'>(at, end);
        if (at < end && *at == '"') {
            text = {first, static_cast<size_t>(at++ - first)};
            return true;
        }
        unescaped.assign(first, at);
        while (at < end && *at == '\\') {
            if (!escape()) return false;
            const char* more = at;
            at = first_of<true, '"', '\\'>(at, end);
            unescaped.append(more, at);
        }
        if (at == end || *at != '"') return false;
        ++at;
        text = unescaped;
        return true;
    }

    // Surrogates are left to the caller.
    bool escape() {
        constexpr std::string_view written = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        if (++at >= end) return false;
        if (*at == 'u') return code_point();
        const size_t k = written.find(*at);
        if (k == written.npos) return false;
        unescaped += meant[k];
        ++at;
        return true;
    }

    bool code_point() {
        if (end - at < 5) return false;
        uint32_t c = 0;
        for (int k = 1; k <= 4; ++k) {
            const char digit = at[k], lower = static_cast<char>(digit | 0x20);
            if (!is_digit(digit) && !(lower >= 'a' && lower <= 'f')) return false;
            c = 16 * c + static_cast<uint32_t>(is_digit(digit) ? digit - '0' : lower - 'a' + 10);
        }
        if (c >= 0xd800 && c < 0xe000) return false;
        at += 5;
        const auto put = [&](uint32_t byte) { unescaped += static_cast<char>(byte); };
        if (c < 0x80) {
            put(c);
            return true;
        }
        if (c < 0x800) {
            put(0xc0 | c >> 6);
        } else {
            put(0xe0 | c >> 12);
            put(0x80 | (c >> 6 & 0x3f));
        }
        put(0x80 | (c & 0x3f));
        return true;
    }
};

}  // namespace likelier
