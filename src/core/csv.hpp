// Delimited text (RFC 4180) to hashed rows: CSV and TSV, with a line of names or without.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "marks.hpp"
#include "text.hpp"

namespace likelier {

// How a file of this kind is to be read, as far as that is known.
struct Dialect {
    char delimiter = ',';
    bool quotes = true;          // a cell that begins with a quotation mark ends with one
    std::optional<bool> header;  // none: the first line is one if the target is among its cells
    Names numbers, words;        // columns whose type is known
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

class CSVParser : public TextParser {
  public:
    static constexpr int64_t kSurveyRows = 1000;
    static constexpr size_t kSurveyBytes = size_t{1} << 20;

    std::vector<std::string> names;
    bool header = false;   // the first line was one
    bool settled = false;  // the types of all columns are known

    CSVParser(Wanted wanted, Dialect dialect)
        : TextParser(std::move(wanted)),
          dialect(std::move(dialect)),
          marks(this->dialect.delimiter, '\n', this->dialect.quotes ? '"' : '\n') {}

    // Feature columns of numbers, or of words.
    std::vector<std::string> columns_of(bool numbers) const {
        std::vector<std::string> found;
        for (size_t c = 0; c < columns.size(); ++c)
            if (columns[c].role == (numbers ? Role::number : Role::word)) found.push_back(names[c]);
        return found;
    }

  protected:
    const char* take(const char* at, const char* end, bool settle, bool last, HashedRows& rows) override {
        if (overlong && !(at = behind_line(at, end))) return end;
        overlong = false;
        if (columns.empty()) at = begin_columns(at, end, last);
        if (!columns.empty() && !settled) survey(at, end, settle, last);
        if (!settled) return at;
        // Marks are looked for in as much text as stays in the first-level cache, and in some rows at
        // least.
        const size_t window = std::min(kWindow + 64 * columns.size(), kLongest);
        while (at < end) {
            const char* stop = records(at, at + std::min<size_t>(window, end - at), end, last, rows);
            if (stop == at) stop = irregular(at, end, last, rows);
            if (!stop) break;
            at = stop;
        }
        return at;
    }

  private:
    enum class Role : uint8_t { ignored, number, word, target, weight };
    struct Column {
        uint64_t key;
        Role role;
        bool open;  // its type is not known yet
    };

    static constexpr size_t kWindow = size_t{1} << 15;

    const Dialect dialect;
    std::vector<Column> columns;
    AnyOf marks;
    std::vector<uint32_t> places;
    Record record;
    bool overlong = false;  // in the midst of a line that is too long
    size_t surveyed = 0;    // bytes
    int64_t survey_rows = 0;

    // Null: the line goes on.
    static const char* behind_line(const char* at, const char* end) {
        const auto* stop = static_cast<const char*>(std::memchr(at, '\n', end - at));
        return stop ? stop + 1 : nullptr;
    }

    // ---- the columns

    const char* begin_columns(const char* at, const char* end, bool last) {
        while (at < end) {
            const auto state = record.split(at, end, dialect, last);
            if (state == Record::cut) return at;
            if (state == Record::endless)
                throw std::invalid_argument("the first line does not end: is this CSV?");
            if (state == Record::whole) {
                header = dialect.header.value_or(looks_like_header());
                make_columns();
                if (!header) return at;
            }
            lines += record.newlines;
            at = record.stop;
            if (state == Record::whole) return at;
        }
        return at;
    }

    // A line that names the target. One of numbers is a row, unless it counts the columns.
    bool looks_like_header() const {
        if (!wanted.target) return true;
        bool found = false, all_numbers = true, counting = true;
        Names seen;
        for (size_t c = 0; c < record.cells.size(); ++c) {
            const auto cell = record.cells[c];
            double x;
            found = found || cell == *wanted.target;
            all_numbers = all_numbers && (cell.empty() || read_number(cell, x));
            counting = counting && cell == std::to_string(c);
            if (!seen.emplace(cell).second) return false;
        }
        return found ? counting || !all_numbers : !is_place(*wanted.target);
    }

    bool is_place(const std::string& name) const {
        for (size_t c = 0; c < record.cells.size(); ++c)
            if (name == std::to_string(c)) return true;
        return false;
    }

    void make_columns() {
        Names seen;
        for (size_t c = 0; c < record.cells.size(); ++c) {
            names.push_back(header ? std::string(record.cells[c]) : std::to_string(c));
            const auto& name = names.back();
            if (!seen.insert(name).second)
                throw std::invalid_argument("two columns are named '" + name + "': rename one of them.");
            Column column{name_key(name), Role::ignored, false};
            if (name == wanted.target) {
                column.role = Role::target;
            } else if (name == wanted.weight) {
                column.role = Role::weight;
            } else if (wanted.feature(name)) {
                column.role = dialect.words.contains(name) ? Role::word : Role::number;
                column.open = !dialect.words.contains(name) && !dialect.numbers.contains(name);
            }
            columns.push_back(column);
        }
        if (wanted.target) must_be_there(seen, *wanted.target, "target");
        if (wanted.weight) must_be_there(seen, *wanted.weight, "weight");
        if (wanted.features)
            for (const auto& name : *wanted.features) must_be_there(seen, name, "feature");
        for (const auto& name : wanted.ignored) must_be_there(seen, name, "ignored");
        for (const auto& cross : wanted.crosses)
            for (const auto& name : cross) must_be_there(seen, name, "crossed");
        settled = std::none_of(columns.begin(), columns.end(), [](const Column& c) { return c.open; });
    }

    void must_be_there(const Names& seen, const std::string& name, const char* as) const {
        if (seen.contains(name)) return;
        std::string all;
        for (const auto& known : names) all += (all.empty() ? "" : ", ") + known;
        if (all.size() > 400) all = all.substr(0, 400) + "...";
        throw std::invalid_argument("no column '" + name + "', which is to be the " + as +
                                    " column: there are " + all + ".");
    }

    // The first rows decide: a column is of numbers if all of its cells can be read as such.
    void survey(const char* at, const char* end, bool settle, bool last) {
        while (survey_rows < kSurveyRows && surveyed < kSurveyBytes && at + surveyed < end) {
            const auto state = record.split(at + surveyed, end, dialect, last);
            if (state == Record::cut) break;
            if (state == Record::endless) {
                const char* next = behind_line(at + surveyed, end);
                surveyed = next ? next - at : kSurveyBytes;
                continue;
            }
            surveyed = record.stop - at;
            if (state != Record::whole || record.cells.size() != columns.size()) continue;
            ++survey_rows;
            for (size_t c = 0; c < columns.size(); ++c)
                if (columns[c].open && !number_like(record.cells[c]))
                    columns[c] = {columns[c].key, Role::word, false};
        }
        settled =
            survey_rows == kSurveyRows || surveyed >= kSurveyBytes || (settle && survey_rows > 0) || last;
    }

    static bool number_like(std::string_view cell) {
        double x;
        return is_missing(cell) || read_number(bare(cell), x) || is_not_finite(bare(cell));
    }

    static bool is_missing(std::string_view cell) {
        cell = bare(cell);
        return cell.empty() || cell == "NA" || cell == "N/A" || cell == "n/a" || cell == "null" ||
               cell == "NULL";
    }

    static std::string_view bare(std::string_view cell) {
        while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
        while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
        return cell;
    }

    // ---- the rows

    // Takes the records whose marks are before `reach`.
    const char* records(const char* at, const char* reach, const char* end, bool last, HashedRows& rows) {
        const size_t found = find_marks(marks, at, static_cast<uint32_t>(reach - at), places);
        const size_t p = columns.size();
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
        const size_t p = columns.size();
        for (size_t c = 0; c + 1 < p; ++c)
            if (base[place[c]] != dialect.delimiter) return false;
        return base[place[p - 1]] == '\n' && p > 1;
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
            if (record.cells.size() == columns.size()) {
                row(rows, text, [&](size_t c) { return record.cells[c]; });
            } else {
                report(std::to_string(record.cells.size()) + " cells where there should be " +
                           std::to_string(columns.size()),
                       text);
            }
        }
        lines += record.newlines - 1;
        return record.stop;
    }

    template <class Cell>
    void row(HashedRows& rows, std::string_view text, const Cell& cell) {
        if (!fill(rows, cell)) {
            rows.drop();
            report(trouble, text);
        }
    }

    template <class Cell>
    bool fill(HashedRows& rows, const Cell& cell) {
        std::string_view label;
        double weight = 1;
        CellWriter writer = rows.writer(columns.size());
        for (size_t c = 0; c < columns.size(); ++c) {
            const std::string_view value = cell(c);
            const Column& column = columns[c];
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
                    if (!read_weight(bare(value), weight)) return false;
                    break;
                case Role::ignored:
                    break;
            }
        }
        rows.written(writer);
        rows.end(label.empty() ? kUnlabelled : labels.code(label), weight);
        return true;
    }

    // A cell of a number column that is not just a few digits.
    bool number(HashedRows& rows, CellWriter& writer, size_t c, std::string_view cell) {
        const uint64_t key = columns[c].key;
        double x = 0;
        if (read_number(bare(cell), x)) {
            if (!std::isfinite(x)) return not_finite(names[c], rows);
            writer.add(key, key, x, x != 0);
        } else if (is_not_finite(bare(cell))) {
            return not_finite(names[c], rows);
        } else if (!is_missing(cell)) {
            writer.add(key, word_key(key, cell), 1);
            ++changed;
        }
        return true;
    }
};

}  // namespace likelier
