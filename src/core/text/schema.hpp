// The columns of a delimited text: what they are named, what they are for, and whether they are numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/record.hpp"
#include "text/text.hpp"

namespace likelier {

inline std::string_view without_spaces(std::string_view cell) {
    while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
    while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
    return cell;
}

// Of a number column, without spaces around it, where nobody says what stands for a missing one.
inline bool is_missing(std::string_view cell) {
    return cell.empty() || cell == "NA" || cell == "N/A" || cell == "n/a" || cell == "null" ||
           cell == "NULL";
}

enum class Role : uint8_t { ignored, number, word, target, weight };

struct TableColumn {
    uint64_t key;
    Role role;
    bool open;  // whether it is numbers or words is not known yet
};

// What the first rows hold in a column that may be numbers.
struct Surveyed {
    int64_t numbers = 0, others = 0;  // cells that are there
    int64_t line = 0;                 // of the first that is no number,
    std::string cell;                 // and what it says
};

class Schema {
  public:
    std::vector<std::string> names;
    std::vector<TableColumn> columns;
    bool header = false;  // the first line names the columns
    std::vector<Surveyed> surveyed;

    Schema() = default;

    // By the first line.
    Schema(const std::vector<std::string_view>& line, const Wanted& wanted, const Dialect& dialect)
        : header(dialect.header.value_or(looks_like_header(line, wanted.target))) {
        for (size_t c = 0; c < line.size(); ++c) {
            names.push_back(header ? std::string(line[c]) : std::to_string(c));
            columns.push_back(column(names.back(), wanted, dialect));
        }
        surveyed.resize(columns.size());
        check(wanted);
    }

    bool is_open() const {
        return std::any_of(columns.begin(), columns.end(), [](const TableColumn& c) { return c.open; });
    }

    // A column is of numbers if all cells of the first rows can be read as such.
    void survey(const std::vector<std::string_view>& cells, int64_t line, const Names& missing) {
        for (size_t c = 0; c < columns.size(); ++c) {
            if (!columns[c].open || missing.contains(cells[c])) continue;
            Surveyed& found = surveyed[c];
            const std::string_view bare = without_spaces(cells[c]);
            if (missing.empty() ? is_missing(bare) : bare.empty()) continue;
            const bool number = like_a_number(bare);
            ++(number ? found.numbers : found.others);
            if (number || found.others > 1) continue;
            found.line = line;
            found.cell = shown(cells[c]);
        }
    }

    // What was surveyed is settled.
    void settle() {
        for (size_t c = 0; c < columns.size(); ++c) {
            if (columns[c].open && surveyed[c].others > 0) columns[c].role = Role::word;
            columns[c].open = false;
        }
    }

    std::vector<std::string> names_of(Role role) const {
        std::vector<std::string> found;
        for (size_t c = 0; c < columns.size(); ++c)
            if (columns[c].role == role) found.push_back(names[c]);
        return found;
    }

  private:
    // A line that names the target. One of numbers is a row, unless it counts the columns.
    static bool looks_like_header(const std::vector<std::string_view>& line,
                                  const std::optional<std::string>& target) {
        if (!target) return true;
        bool found = false, place = false, all_numbers = true, counting = true;
        Names seen;
        for (size_t c = 0; c < line.size(); ++c) {
            const std::string number = std::to_string(c);
            double x;
            found = found || line[c] == *target;
            place = place || number == *target;
            all_numbers = all_numbers && (line[c].empty() || read_number(line[c], x));
            counting = counting && line[c] == number;
            if (place && !seen.emplace(line[c]).second) return false;
        }
        return found ? counting || !all_numbers : !place;
    }

    static TableColumn column(const std::string& name, const Wanted& wanted, const Dialect& dialect) {
        const uint64_t key = name_key(name);
        if (name == wanted.target) return {key, Role::target, false};
        if (name == wanted.weight) return {key, Role::weight, false};
        if (!wanted.feature(name)) return {key, Role::ignored, false};
        if (dialect.words.contains(name)) return {key, Role::word, false};
        return {key, Role::number, !dialect.numbers.contains(name)};
    }

    void check(const Wanted& wanted) const {
        Names seen;
        for (const auto& name : names)
            if (!seen.insert(name).second)
                throw std::invalid_argument("two columns are named '" + name + "': rename one of them.");
        const auto must_be_there = [&](const std::string& name, const char* as) {
            if (!seen.contains(name))
                throw std::invalid_argument("no column '" + name + "', which is to be " + as +
                                            ": there are " + all_names() + ".");
        };
        if (wanted.target) must_be_there(*wanted.target, "the target");
        if (wanted.weight) must_be_there(*wanted.weight, "the weight");
        if (wanted.features)
            for (const auto& name : *wanted.features) must_be_there(name, "a feature");
        for (const auto& name : wanted.ignored) must_be_there(name, "ignored");
        for (const auto& cross : wanted.crosses)
            for (const auto& name : cross) must_be_there(name, "crossed");
    }

    std::string all_names() const {
        std::string all;
        for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
        return all.size() > 400 ? all.substr(0, 400) + "..." : all;
    }

    static bool like_a_number(std::string_view cell) {
        double x;
        return read_number(cell, x) || is_not_finite(cell);
    }
};

}  // namespace likelier
