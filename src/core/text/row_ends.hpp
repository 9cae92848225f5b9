// Where the rows of delimited text end. A line end within quotation marks is none, and a blank line no row.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "text/marks.hpp"

namespace likelier {

// closing: the last byte was a quotation mark within quotes, which ends them or is half of two for one.
enum class Quotes : int { outside = 0, inside = 1, closing = 2 };

// Counts the rows that end in consecutive blocks. Either of \n and \r ends a line, so that the second byte
// of \r\n ends a blank one. A quotation mark opens quotes only where a cell begins.
class RowEnds {
  public:
    int64_t rows = 0;
    int64_t first = -1;  // the byte behind the first row that ends here
    Quotes quotes;

    RowEnds(char delimiter, char before, Quotes quotes)
        : quotes(quotes),
          delimiter(delimiter),
          before(before),
          ends_line('\n', '\r', '\n'),
          is_mark('"', '"', '"') {}

    void scan(const char* text, int64_t n) {
        for (int64_t k = 0; k + 64 <= n; k += 64) word(text + k, 64, k);
        if (const int rest = static_cast<int>(n % 64)) {
            char padded[64] = {};
            std::memcpy(padded, text + (n - rest), static_cast<size_t>(rest));
            word(padded, rest, n - rest);
        }
    }

  private:
    char delimiter;
    char before;  // the byte before those that come
    AnyOf ends_line;
    AnyOf is_mark;

    static bool line_end(char c) { return c == '\n' || c == '\r'; }

    // Bits from `from` up to `to`.
    static uint64_t between(int from, int to) {
        return (to == 64 ? ~uint64_t{0} : (uint64_t{1} << to) - 1) & (~uint64_t{0} << from);
    }

    void word(const char* at, int size, int64_t place) {
        const uint64_t ends = ends_line(at);  // what is padded has neither
        const uint64_t marks = is_mark(at);
        const uint64_t behind = ends << 1 | static_cast<uint64_t>(line_end(before));
        const uint64_t of_rows = ends & ~behind;
        if (marks == 0 && quotes != Quotes::closing) {
            if (quotes == Quotes::outside) count(of_rows, place);
        } else {
            by_marks(at, size, place, marks, of_rows);
        }
        before = at[size - 1];
    }

    void by_marks(const char* at, int size, int64_t place, uint64_t marks, uint64_t of_rows) {
        for (int from = 0; from < size; marks &= marks - 1) {
            const int next = marks ? std::countr_zero(marks) : size;
            const bool twice = quotes == Quotes::closing && next == from;
            if (quotes == Quotes::closing && !twice) quotes = Quotes::outside;
            if (quotes == Quotes::outside) count(of_rows & between(from, next), place);
            if (next == size) return;
            if (twice) {
                quotes = Quotes::inside;
            } else if (quotes == Quotes::inside) {
                quotes = Quotes::closing;
            } else if (const char c = next ? at[next - 1] : before; c == delimiter || line_end(c)) {
                quotes = Quotes::inside;
            }
            from = next + 1;
        }
    }

    void count(uint64_t of_rows, int64_t place) {
        if (first < 0 && of_rows) first = place + std::countr_zero(of_rows) + 1;
        rows += std::popcount(of_rows);
    }
};

}  // namespace likelier
