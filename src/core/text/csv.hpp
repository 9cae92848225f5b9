// Delimited text to hashed rows: CSV and TSV, with a line of names or without.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/marks.hpp"
#include "text/record.hpp"
#include "text/schema.hpp"
#include "text/text.hpp"

namespace likelier {

class CSVParser : public TextParser {
  public:
    static constexpr int64_t kSurveyRows = 1000;
    static constexpr size_t kSurveyBytes = size_t{1} << 20;

    Schema schema;
    bool settled = false;  // the types of all columns are known

    CSVParser(Wanted wanted, Dialect dialect)
        : TextParser(std::move(wanted)),
          dialect(std::move(dialect)),
          marks(this->dialect.delimiter, '\n', this->dialect.quotes ? '"' : '\n') {}

  protected:
    const char* take(const char* at, const char* end, bool settle, bool last, HashedRows& rows) override {
        if (overlong && !(at = behind_line(at, end))) return end;
        overlong = false;
        if (schema.columns.empty()) at = begin_columns(at, end, last);
        if (!schema.columns.empty() && !settled) survey(at, end, settle, last);
        if (!settled) return at;
        // Marks are looked for in as much text as stays in the first-level cache, and in some rows at
        // least.
        const size_t window = std::min(kWindow + 64 * schema.columns.size(), kLongest);
        while (at < end) {
            const char* stop = records(at, at + std::min<size_t>(window, end - at), end, last, rows);
            if (stop == at) stop = irregular(at, end, last, rows);
            if (!stop) break;
            at = stop;
        }
        return at;
    }

  private:
    static constexpr size_t kWindow = size_t{1} << 15;

    const Dialect dialect;
    AnyOf marks;
    std::vector<uint32_t> places;
    Record record;
    bool overlong = false;  // in the midst of a line that is too long
    size_t surveyed = 0;    // bytes
    int64_t survey_rows = 0, survey_lines = 0;

    // Null: the line goes on.
    static const char* behind_line(const char* at, const char* end) {
        const auto* stop = static_cast<const char*>(std::memchr(at, '\n', end - at));
        return stop ? stop + 1 : nullptr;
    }

    // The first record that is not blank says which columns there are.
    const char* begin_columns(const char* at, const char* end, bool last) {
        while (at < end) {
            const auto state = record.split(at, end, dialect, last);
            if (state == Record::cut) return at;
            if (state == Record::endless)
                throw std::invalid_argument("the first line does not end: is this CSV?");
            if (state == Record::whole) {
                if (has_zero({at, static_cast<size_t>(record.stop - at)}))
                    throw std::invalid_argument("line " + std::to_string(lines + record.newlines) + ": " +
                                                kZero + ": is this CSV?");
                schema = Schema(record.cells, wanted, dialect);
                settled = !schema.is_open();
                if (!schema.header) return at;
            }
            lines += record.newlines;
            at = record.stop;
            if (state == Record::whole) return at;
        }
        return at;
    }

    // The first rows, which are read again afterwards, settle what is number and what is word.
    void survey(const char* at, const char* end, bool settle, bool last) {
        const int64_t first = lines;
        while (survey_rows < kSurveyRows && surveyed < kSurveyBytes && at + surveyed < end) {
            const auto state = record.split(at + surveyed, end, dialect, last);
            if (state == Record::cut) break;
            if (state == Record::endless) {
                const char* next = behind_line(at + surveyed, end);
                surveyed = next ? next - at : kSurveyBytes;
                ++survey_lines;
                continue;
            }
            const std::string_view text(at + surveyed, record.stop - (at + surveyed));
            surveyed = record.stop - at;
            survey_lines += record.newlines;
            if (state != Record::whole || record.cells.size() != schema.columns.size() || has_zero(text))
                continue;
            ++survey_rows;
            schema.survey(record.cells, first + survey_lines, dialect.missing);
        }
        settled =
            survey_rows == kSurveyRows || surveyed >= kSurveyBytes || (settle && survey_rows > 0) || last;
        if (settled) schema.settle();
    }

    // Takes the records whose marks are before `reach`.
    const char* records(const char* at, const char* reach, const char* end, bool last, HashedRows& rows) {
        const size_t found = find_marks(marks, at, static_cast<uint32_t>(reach - at), places);
        const size_t p = schema.columns.size();
        const char* base = at;
        for (size_t k = 0; k + p <= found;) {
            const uint32_t* place = places.data() + k;
            if (regular(base, place)) {
                const char* start = at;
                const char* stop = base + place[p - 1];
                const bool carriage = stop > at && stop[-1] == '\r';
                ++lines;
                row(rows, {start, stop}, [&](size_t c) {
                    const char* first = c ? base + place[c - 1] + 1 : start;
                    return std::string_view(first, base + place[c] - (carriage && c + 1 == p) - first);
                });
                at = stop + 1;
                k += p;
                continue;
            }
            if (const size_t taken = enclosed(base, at, k, found)) {
                const char* stop = base + places[(k += taken) - 1];
                ++lines;
                row(rows, {at, stop}, [&](size_t c) { return record.cells[c]; });
                at = stop + 1;
                continue;
            }
            const char* stop = irregular(at, end, last, rows);
            if (!stop) return at;
            at = stop;
            while (k < found && base + places[k] < at) ++k;
        }
        return at;
    }

    // These marks are those of a record with as many cells as there should be, none in quotation marks.
    // Where there is but one column, an empty line looks like a record.
    bool regular(const char* base, const uint32_t* place) const {
        const size_t p = schema.columns.size();
        for (size_t c = 0; c + 1 < p; ++c)
            if (base[place[c]] != dialect.delimiter) return false;
        return base[place[p - 1]] == '\n' && p > 1;
    }

    // The same with cells in quotation marks, which enclose no mark: its cells are in `record`, and it has
    // so many marks; 0: it is another record.
    size_t enclosed(const char* base, const char* at, size_t k, size_t found) {
        record.cells.clear();
        for (const size_t first = k; k < found;) {
            const char* mark = base + places[k];
            const bool quoted = *mark == '"';
            if (quoted) {
                if (mark != at || k + 2 >= found || base[places[k + 1]] != '"') return 0;
                mark = base + places[k += 2];
            }
            const char* stop = mark - (*mark == '\n' && mark > at && mark[-1] == '\r');
            if (*mark == '"' || (quoted && stop != base + places[k - 1] + 1)) return 0;
            record.cells.emplace_back(at + quoted, stop - quoted - (at + quoted));
            ++k;
            at = mark + 1;
            const size_t count = record.cells.size(), p = schema.columns.size();
            if (*mark == '\n') return count == p && p > 1 ? k - first : 0;
            if (count == p) return 0;
        }
        return 0;
    }

    // Any other record: behind its end; null: that has not come yet.
    const char* irregular(const char* at, const char* end, bool last, HashedRows& rows) {
        const auto state = record.split(at, end, dialect, last);
        if (state == Record::cut) return nullptr;
        ++lines;
        if (state == Record::endless) {
            const char* next = behind_line(at, end);
            overlong = !next;
            if (overlong) next = end;
            const std::string_view text(at, next - at);
            report(text.size() > kLongest + 1 ? "longer than 4 MB" : "a quotation mark is not closed",
                   text);
            return next;
        }
        const std::string_view text(at, record.stop - at);
        if (state == Record::whole) {
            if (record.cells.size() == schema.columns.size()) {
                row(rows, text, [&](size_t c) { return record.cells[c]; });
            } else {
                report(std::to_string(record.cells.size()) + " cells where there should be " +
                           std::to_string(schema.columns.size()),
                       text);
            }
        }
        lines += record.newlines - 1;
        return record.stop;
    }

    template <class Cell>
    void row(HashedRows& rows, std::string_view text, const Cell& cell) {
        if (has_zero(text)) {
            report(kZero, text);
        } else if (!fill(rows, cell)) {
            rows.drop();
            report(trouble, text);
        }
    }

    template <class Cell>
    bool fill(HashedRows& rows, const Cell& cell) {
        std::string_view label;
        double weight = 1;
        CellWriter writer = rows.writer(schema.columns.size());
        for (size_t c = 0; c < schema.columns.size(); ++c) {
            const std::string_view value = cell(c);
            const TableColumn& column = schema.columns[c];
            if (!dialect.missing.empty() && dialect.missing.contains(value)) {
                if (column.role != Role::weight) continue;
                return fail("the weight is missing");
            }
            switch (column.role) {
                case Role::number: {
                    double x;
                    if (read_digits(value, x)) {
                        writer.add(column.key, column.key, x, x != 0);
                    } else if (!number(rows, writer, c, value)) {
                        return false;
                    }
                    break;
                }
                case Role::word:
                    writer.add(column.key, hash_of_padded(value, column.key), 1, !value.empty());
                    break;
                case Role::target:
                    label = value;
                    break;
                case Role::weight:
                    if (!read_weight(without_spaces(value), weight)) return false;
                    break;
                case Role::ignored:
                    break;
            }
        }
        rows.written(writer);
        rows.end(code_of(label, weight), weight);
        return true;
    }

    // A cell of a number column that is not just a few digits.
    bool number(HashedRows& rows, CellWriter& writer, size_t c, std::string_view cell) {
        const uint64_t key = schema.columns[c].key;
        const std::string_view bare = without_spaces(cell);
        double x = 0;
        if (read_number(bare, x)) {
            if (!std::isfinite(x)) return not_finite(schema.names[c], rows);
            writer.add(key, key, x, x != 0);
        } else if (is_not_finite(bare)) {
            return not_finite(schema.names[c], rows);
        } else if (dialect.missing.empty() ? !is_missing(bare) : !bare.empty()) {
            writer.add(key, word_key(key, cell), 1);
            ++changed;
        }
        return true;
    }
};

}  // namespace likelier
