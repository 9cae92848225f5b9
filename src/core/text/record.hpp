// A record of delimited text (RFC 4180), taken apart into cells.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "text/text.hpp"

namespace likelier {

// How a file of this kind is to be read, as far as that is known.
struct Dialect {
    char delimiter = ',';
    bool quotes = true;          // a cell that begins with a quotation mark ends with one
    std::optional<bool> header;  // none: the first line is one if the target is among its cells
    Names numbers, words;        // columns whose type is known
    Names missing;               // cells that stand for none; none: NA and its like, of numbers alone
};

// A record taken apart. Cells that stood in quotation marks are in `unquoted`, the others in the text.
class Record {
  public:
    enum State { whole, blank, endless, cut };

    const char* stop;  // behind the end of its line, if it is whole or blank
    std::vector<std::string_view> cells;
    int64_t newlines;

    // As Python's csv module reads it: a quotation mark counts where a cell begins, and within such a cell.
    // A record that has not come to its end is cut, or, if no more text may help, endless.
    State split(const char* at, const char* end, const Dialect& dialect, bool last) {
        begin = at;
        cells.clear();
        newlines = 0;
        if (static_cast<size_t>(end - at) > TextParser::kLongest)
            end = at + TextParser::kLongest + 1, last = true;
        if (unquoted.size() < static_cast<size_t>(end - at) + 64) unquoted.resize(end - at + 64);
        out = unquoted.data();
        do {
            at = dialect.quotes && at < end && *at == '"' ? quoted(at + 1, end, dialect)
                                                          : plain(at, end, dialect);
            if (at == end) return last ? endless : cut;
        } while (*at++ == dialect.delimiter);
        stop = at;
        ++newlines;
        return cells.size() == 1 && cells[0].empty() && begin[0] != '"' ? blank : whole;
    }

  private:
    const char* begin;
    std::vector<char> unquoted;
    char* out;

    const char* plain(const char* at, const char* end, const Dialect& dialect) {
        const char* first = at;
        while (at < end && *at != dialect.delimiter && *at != '\n') ++at;
        cells.emplace_back(first, trimmed(first, at, end) - first);
        return at;
    }

    // Two marks are one; what follows the closing one belongs to the cell.
    const char* quoted(const char* at, const char* end, const Dialect& dialect) {
        char* first = out;
        for (; at < end; ++at) {
            if (*at == '"') {
                if (++at == end || *at != '"') break;
            }
            newlines += *at == '\n';
            *out++ = *at;
        }
        const char* rest = at;
        while (at < end && *at != dialect.delimiter && *at != '\n') ++at;
        const size_t more = trimmed(rest, at, end) - rest;
        std::memcpy(out, rest, more);
        out += more;
        cells.emplace_back(first, out - first);
        return at;
    }

    static const char* trimmed(const char* first, const char* at, const char* end) {
        return at < end && *at == '\n' && at > first && at[-1] == '\r' ? at - 1 : at;
    }
};

}  // namespace likelier
