// Text to hashed rows: what all formats share. Blocks come cut anywhere; a bad line is counted and passed
// over.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "online/hashed.hpp"
#include "text/numbers.hpp"

namespace likelier {

struct ByHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return hash_of(text, 0); }
};
using Names = std::unordered_set<std::string, ByHash, std::equal_to<>>;

// Labels as codes, in order of appearance.
class LabelCodes {
  public:
    std::vector<std::string> known;

    int32_t code(std::string_view label) {
        const auto at = codes.find(label);
        if (at != codes.end()) return at->second;
        const auto code = static_cast<int32_t>(known.size());
        known.emplace_back(label);
        codes.emplace(label, code);
        return code;
    }

  private:
    std::unordered_map<std::string, int32_t, ByHash, std::equal_to<>> codes;
};

// What is asked of a text, whatever its format.
struct Wanted {
    std::optional<std::string> target, weight;
    std::optional<Names> features;  // none: all but the ignored ones
    Names ignored;
    std::vector<std::vector<std::string>> crosses;
    bool finite = false;     // a row with a number that is not finite is a bad line
    bool weightless = true;  // labels of rows that weigh nothing are labels

    bool feature(std::string_view name) const {
        return (!features || features->contains(name)) && !ignores(name);
    }
    // Names are not hashed for a set that is empty, as it is for most.
    bool ignores(std::string_view name) const { return !ignored.empty() && ignored.contains(name); }
};

// As much of it as a message can show.
inline std::string shown(std::string_view text, size_t most = 80) {
    return std::string(text.substr(0, most));
}

struct BadLine {
    int64_t line;  // from 1
    std::string what, text;
};

class TextParser {
  public:
    static constexpr size_t kLongest = size_t{4} << 20;  // bytes that a row may have
    static constexpr size_t kShown = 80, kKept = 10;     // bytes of a bad line, and how many of them

    const Wanted wanted;
    LabelCodes labels;
    int64_t lines = 0, bad = 0;
    int64_t changed = 0;  // cells of number columns that were words
    std::vector<BadLine> first_bad;

    explicit TextParser(Wanted wanted) : wanted(std::move(wanted)) {
        for (const auto& cross : this->wanted.crosses) {
            crosses.emplace_back();
            for (const auto& name : cross) crosses.back().push_back(name_key(name));
        }
    }
    virtual ~TextParser() = default;

    // Adds the whole rows that have come. An empty block says that nothing has come for a while: what was
    // held back to learn more of the columns is handed on.
    void parse(std::string_view block, HashedRows& rows, bool last) {
        if (rows.crosses != crosses) rows.crosses = crosses;
        append(block);
        zeros = zeros || (!block.empty() && std::memchr(block.data(), 0, block.size()));
        if (last && used > 0 && text[used - 1] != '\n') append("\n");
        const char* at = text.data();
        const char* end = at + used;
        if (!begun && !(at = begin(at, end, last))) return;
        at = take(at, end, last || block.empty(), last, rows);
        used = end - at;
        std::memmove(text.data(), at, used);
    }

  protected:
    // Takes whole rows; where it stopped. `settle`: nothing is to be held back for long.
    virtual const char* take(const char* at, const char* end, bool settle, bool last, HashedRows& rows) = 0;

    void report(std::string what, std::string_view line) {
        ++bad;
        if (first_bad.size() >= kKept) return;
        line = line.substr(0, std::min(line.find('\n'), kShown));
        std::string text;
        for (const char c : line) text += c ? std::string(1, c) : "\\0";
        first_bad.push_back({lines, std::move(what), std::move(text)});
    }

    // Bytes that are 0 are no text. Blocks are asked for them at once, and their lines only if one has any.
    bool has_zero(std::string_view line) const { return zeros && line.find('\0') != line.npos; }
    static constexpr const char* kZero = "a zero byte, which is no text";

    int32_t code_of(std::string_view label, double weight) {
        return label.empty() || (weight == 0 && !wanted.weightless) ? kUnlabelled : labels.code(label);
    }

    std::string trouble;  // why the row that is being read is none
    bool fail(std::string what) {
        trouble = std::move(what);
        return false;
    }
    bool not_finite(std::string_view name, HashedRows& rows) {
        if (wanted.finite) return fail("'" + std::string(name) + "' is not a finite number");
        ++rows.skipped;
        return true;
    }
    bool read_weight(std::string_view cell, double& weight) {
        if (read_number(cell, weight) && weight >= 0 && std::isfinite(weight)) return true;
        return fail("the weight '" + shown(cell) + "' is not a number from 0 on");
    }

  private:
    // Reads of whole words may run past the end of the text.
    static constexpr size_t kPad = 64;
    std::vector<char> text = std::vector<char>(kPad);
    size_t used = 0;
    bool begun = false;
    bool zeros = false;  // a block had a zero byte
    std::vector<std::vector<uint64_t>> crosses;

    void append(std::string_view more) {
        if (used + more.size() + kPad > text.size()) text.resize(2 * (used + more.size()) + kPad);
        if (!more.empty()) std::memcpy(text.data() + used, more.data(), more.size());
        used += more.size();
    }

    // Behind the byte order mark, if there is one; null: that is not known yet.
    const char* begin(const char* at, const char* end, bool last) {
        constexpr std::string_view mark = "\xef\xbb\xbf";
        const std::string_view start(at, std::min<size_t>(end - at, mark.size()));
        if (start.size() < mark.size() && mark.starts_with(start) && !last) return nullptr;
        begun = true;
        return start == mark ? at + mark.size() : at;
    }
};

// Formats in which a row is a line.
class LineParser : public TextParser {
  public:
    using TextParser::TextParser;

  protected:
    // One line without its end. False: it is bad, `trouble` says why, and nothing of it is in rows.
    virtual bool line(std::string_view text, HashedRows& rows) = 0;

    const char* take(const char* at, const char* end, bool, bool, HashedRows& rows) final {
        while (at < end) {
            const auto* stop = static_cast<const char*>(std::memchr(at, '\n', end - at));
            if (overlong) {
                if (!stop) return end;
                overlong = false;
            } else if (static_cast<size_t>((stop ? stop : end) - at) > kLongest) {
                ++lines;
                report("longer than 4 MB", {at, kLongest});
                overlong = !stop;
                if (!stop) return end;
            } else {
                if (!stop) return at;
                ++lines;
                const std::string_view text(at, stop - at - (stop > at && stop[-1] == '\r'));
                if (has_zero(text)) {
                    report(kZero, text);
                } else if (text.find_first_not_of(" \t") != text.npos && !line(text, rows)) {
                    rows.drop();
                    report(trouble, text);
                }
            }
            at = stop + 1;
        }
        return at;
    }

  private:
    bool overlong = false;  // in the midst of a line that is too long
};

}  // namespace likelier
