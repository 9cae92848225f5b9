// Tables to hashed rows: columns of one type each, and rows of numbered numbers.
#pragma once

#include <charconv>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "online/hash.hpp"
#include "online/hashed.hpp"

namespace likelier {

// A column of a table: what it gives to row i.
class FeatureColumn {
  public:
    explicit FeatureColumn(int64_t n) : n(n) {}
    virtual ~FeatureColumn() = default;
    virtual void add(int64_t i, HashedRows& rows) const = 0;

    const int64_t n;
};

// Numbers of any type; 0 is absent. `step` in bytes: a column of an array in any order of memory is one.
template <class T>
class NumberColumn final : public FeatureColumn {
  public:
    NumberColumn(std::string_view name, const T* data, int64_t step, int64_t n)
        : FeatureColumn(n), key(name_key(name)), data(reinterpret_cast<const char*>(data)), step(step) {}

    void add(int64_t i, HashedRows& rows) const override {
        T value;
        std::memcpy(&value, data + i * step, sizeof value);
        rows.number(key, key, static_cast<double>(value));
    }

  private:
    uint64_t key;
    const char* data;
    int64_t step;
};

// Words by their places among levels, of which each is hashed once; -1: absent.
class CodedColumn final : public FeatureColumn {
  public:
    CodedColumn(std::string_view name, const int32_t* codes, int64_t n,
                const std::vector<std::string_view>& levels)
        : FeatureColumn(n), field(name_key(name)), codes(codes) {
        for (const auto level : levels) keys.push_back(word_key(field, level));
    }

    void add(int64_t i, HashedRows& rows) const override {
        const int32_t code = codes[i];
        if (code >= 0 && static_cast<size_t>(code) < keys.size()) rows.hashed_word(field, keys[code]);
    }

  private:
    uint64_t field;
    const int32_t* codes;
    std::vector<uint64_t> keys;
};

// Words one after the other in memory, word i from start i to start i + 1, as Arrow has them.
template <class Start>
class TextColumn final : public FeatureColumn {
  public:
    TextColumn(std::string_view name, const Start* starts, int64_t n, const char* text, const bool* there)
        : FeatureColumn(n), field(name_key(name)), starts(starts), text(text), there(there) {}

    void add(int64_t i, HashedRows& rows) const override {
        if (there != nullptr && !there[i]) return;
        rows.word(field, {text + starts[i], static_cast<size_t>(starts[i + 1] - starts[i])});
    }

  private:
    uint64_t field;
    const Start* starts;
    const char* text;
    const bool* there;  // nullptr: all are
};

// Labels and weights of rows to read; nullptr: none, and 1.
struct Marks {
    const int32_t* codes = nullptr;
    const double* weights = nullptr;

    void end(int64_t i, HashedRows& rows) const {
        rows.end(codes == nullptr ? kUnlabelled : codes[i], weights == nullptr ? 1.0 : weights[i]);
    }
};

// Where reading stopped: at a number that is not finite; row -1: nowhere.
struct Stopped {
    int64_t row = -1, column = -1;
};

// Rows from start to stop; their marks are counted from start.
inline Stopped read_columns(const std::vector<const FeatureColumn*>& columns, int64_t start, int64_t stop,
                            const Marks& marks, bool strict, HashedRows& rows) {
    for (int64_t i = start; i < stop; ++i) {
        for (size_t j = 0; j < columns.size(); ++j) {
            columns[j]->add(i, rows);
            if (strict && rows.skipped > 0) return {i, static_cast<int64_t>(j)};
        }
        marks.end(i - start, rows);
    }
    return {};
}

// The key of a column without a name: its number in text, as in svmlight.
inline uint64_t numbered_key(int64_t j) {
    char text[24];
    const auto end = std::to_chars(text, text + sizeof text, j).ptr;
    return name_key({text, static_cast<size_t>(end - text)});
}

// Compressed sparse rows. keys: of the columns; null: they go by number.
template <class T, class Index>
Stopped read_sparse(const Index* starts, const Index* places, const T* data, int64_t n,
                    const uint64_t* keys, const Marks& marks, bool strict, HashedRows& rows) {
    for (int64_t i = 0; i < n; ++i) {
        for (Index c = starts[i]; c < starts[i + 1]; ++c) {
            const uint64_t key = keys ? keys[places[c]] : numbered_key(places[c]);
            rows.number(key, key, static_cast<double>(data[c]));
            if (strict && rows.skipped > 0) return {i, static_cast<int64_t>(places[c])};
        }
        marks.end(i, rows);
    }
    return {};
}

}  // namespace likelier
