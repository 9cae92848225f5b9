// Lines of svmlight's and of VW's format as compressed sparse rows, and a first look at lines.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "text/svmlight.hpp"
#include "text/vw.hpp"

namespace likelier {

constexpr double kNoLabel = std::numeric_limits<double>::quiet_NaN();

// Rows whose cells are sorted by their columns, each column once.
struct SparseRows {
    std::vector<double> labels, weights;  // NaN: a row without a label
    std::vector<int32_t> starts{0};
    Growing<int32_t> columns;
    Growing<double> values;

    void end(double label, double weight) {
        labels.push_back(label);
        weights.push_back(weight);
        starts.push_back(static_cast<int32_t>(columns.size()));
    }
};

// A column is the index as it is written, less `shift`. An index that comes twice makes a bad line. Without
// `cells`, labels alone are read.
class SparseSvmlight : public LineParser {
  public:
    static constexpr uint64_t kLargest = std::numeric_limits<int32_t>::max() - 1;
    SparseRows out;

    SparseSvmlight(int32_t shift, bool cells) : LineParser(Wanted{}), shift(shift), cells(cells) {}

  protected:
    bool line(std::string_view text, HashedRows&) override {
        const char* at = text.data();
        const char* end = at + std::min(text.find('#'), text.size());
        const std::string_view token = next_token(at, end);
        if (token.empty()) return true;
        double label = kNoLabel;
        if (token.find(':') != token.npos)
            at = token.data();
        else if (!read_number(token, label))
            return fail("the label '" + shown(token) + "' is not a number");
        const size_t first = out.columns.size();
        bool sorted = true;
        while (cells && (at = behind_spaces(at, end)) < end)
            if (!cell(at, end, first, sorted)) return undone(first);
        if (!sorted && !sort(first)) return undone(first);
        out.end(label, 1);
        return true;
    }

  private:
    const int32_t shift;
    const bool cells;
    std::vector<std::pair<int32_t, double>> unsorted;

    bool undone(size_t first) {
        out.columns.resize(first);
        out.values.resize(first);
        return false;
    }

    bool cell(const char*& at, const char* end, size_t first, bool& sorted) {
        uint64_t index = 0;
        const char* colon = take_digits(at, end, index);
        if (colon == at || colon == end || *colon != ':') return odd(at, end);
        if (colon - at > 19 || index > kLargest || index < static_cast<uint64_t>(shift))
            return fail("the index " + shown({at, static_cast<size_t>(colon - at)}) +
                        " is out of range: " + std::to_string(shift) + " to " + std::to_string(kLargest));
        const auto column = static_cast<int32_t>(index) - shift;
        const Decimal d = decimal(colon + 1, end);
        double x;
        if (d.stop && (d.stop == end || is_space(*d.stop))) {
            x = value_of(d, colon + 1);
            at = d.stop;
        } else {
            at = colon + 1;
            const char* from = at;
            const std::string_view written = from < end && is_space(*from) ? "" : next_token(at, end);
            if (!is_not_finite(written))
                return fail("the value '" + shown(written) + "' of index " + std::to_string(index) +
                            " is not a number");
            x = (written.back() | 0x20) == 'n' ? kNoLabel : std::numeric_limits<double>::infinity();
            if (written[0] == '-') x = -x;
        }
        sorted &= out.columns.size() == first || out.columns.back() < column;
        out.columns.push_back(column);
        out.values.push_back(x);
        return true;
    }

    // qid:... is passed over.
    bool odd(const char*& at, const char* end) {
        const std::string_view token = next_token(at, end);
        if (token.starts_with("qid:")) return true;
        const size_t colon = token.find(':');
        if (colon == token.npos) return fail("'" + shown(token) + "' is no index:value");
        return fail("the index '" + shown(token.substr(0, colon)) + "' is not a whole number from 0 on");
    }

    bool sort(size_t first) {
        unsorted.clear();
        for (size_t k = first; k < out.columns.size(); ++k)
            unsorted.emplace_back(out.columns[k], out.values[k]);
        std::ranges::sort(unsorted, {}, &std::pair<int32_t, double>::first);
        for (size_t k = 0; k < unsorted.size(); ++k) {
            if (k && unsorted[k].first == unsorted[k - 1].first)
                return fail("the index " + std::to_string(int64_t{unsorted[k].first} + shift) +
                            " comes twice");
            std::tie(out.columns[first + k], out.values[first + k]) = unsorted[k];
        }
        return true;
    }
};

// A column is the low bits of a feature's key, as a learner's slot is; features that meet there are added.
class SparseVW : public VWParser {
  public:
    SparseRows out;

    explicit SparseVW(int bits) : VWParser(Wanted{}), mask((uint64_t{1} << bits) - 1) {}

  protected:
    bool line(std::string_view text, HashedRows& rows) override {
        rows.clear();
        if (!VWParser::line(text, rows)) return false;
        double label = kNoLabel;
        if (rows.codes[0] != kUnlabelled && !number(labels.known[rows.codes[0]], label))
            return fail("the label '" + shown(labels.known[rows.codes[0]]) + "' is not a number");
        std::ranges::sort(rows.cells, {}, [&](const HashedCell& cell) { return cell.key & mask; });
        const size_t first = out.columns.size();
        for (const HashedCell& cell : rows.cells) {
            const auto column = static_cast<int32_t>(cell.key & mask);
            if (out.columns.size() > first && out.columns.back() == column) {
                out.values.back() += cell.value;
            } else {
                out.columns.push_back(column);
                out.values.push_back(cell.value);
            }
        }
        out.end(label, rows.weights[0]);
        rows.clear();
        return true;
    }

  private:
    const uint64_t mask;

    static bool number(std::string_view written, double& x) {
        char padded[64] = {};
        if (written.size() > 48) return false;
        std::copy(written.begin(), written.end(), padded);
        return read_number({padded, written.size()}, x);
    }
};

// What lines hold: how many rows, and of svmlight's format the smallest and largest index.
struct LineSurvey {
    int64_t rows = 0;
    uint64_t lowest = std::numeric_limits<uint64_t>::max(), highest = 0;

    // text: whole lines, after which 64 bytes more may be read.
    void look(std::string_view text, bool indices) {
        const char* at = text.data();
        const char* end = at + text.size();
        while (at < end) {
            const auto* stop = static_cast<const char*>(std::memchr(at, '\n', end - at));
            const char* last = stop ? stop : end;
            const std::string_view one(at, last - at - (last > at && last[-1] == '\r'));
            rows += indices ? indexed(one) : one.find_first_not_of(" \t") != one.npos;
            at = last + 1;
        }
    }

  private:
    bool indexed(std::string_view text) {
        const char* at = text.data();
        const char* end = at + std::min(text.find('#'), text.size());
        if ((at = behind_spaces(at, end)) == end) return false;
        while ((at = behind_spaces(at, end)) < end) {
            uint64_t index = 0;
            const char* colon = take_digits(at, end, index);
            if (colon > at && colon < end && *colon == ':') {
                if (colon - at > 19) index = std::numeric_limits<uint64_t>::max();
                lowest = std::min(lowest, index);
                highest = std::max(highest, index);
            }
            at = first_of<false, ' ', '\t'>(colon, end);
        }
        return true;
    }
};

}  // namespace likelier
