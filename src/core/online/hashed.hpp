// Rows of hashed features: what dicts, tables and text become, and all that an online learner sees.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "online/hash.hpp"

namespace likelier {

// A feature that is there: its key, of which the low bits name a weight, and its value.
struct HashedCell {
    uint64_t key;
    double value;
};

constexpr int32_t kUnlabelled = -1;

// A vector that grows without being filled: what is new in it is written next.
template <class T>
struct Unfilled : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = Unfilled<U>;
    };
    template <class U>
    void construct(U* at) {
        ::new (static_cast<void*>(at)) U;
    }
    template <class U, class... With>
    void construct(U* at, With&&... with) {
        ::new (static_cast<void*>(at)) U{std::forward<With>(with)...};
    }
};
template <class T>
using Growing = std::vector<T, Unfilled<T>>;

// Writes cells of a row for which there is room, and whether one is there or not costs no branch.
struct CellWriter {
    HashedCell* cells;
    uint64_t* fields;
    size_t count = 0;

    void add(uint64_t of, uint64_t key, double value, bool there = true) {
        cells[count] = {key, value};
        fields[count] = of;
        count += there;
    }
};

// Rows are begun, given cells, and ended; crosses are added to them there. Memory is kept from batch to
// batch.
class HashedRows {
  public:
    // Fields, by the keys of their names, whose features are taken together: two or more each.
    std::vector<std::vector<uint64_t>> crosses;

    Growing<HashedCell> cells;
    std::vector<int64_t> starts{0};
    std::vector<int32_t> codes;   // of labels; kUnlabelled: there is none
    std::vector<double> weights;  // of rows

    int64_t skipped = 0;  // cells that were no finite numbers

    int64_t size() const { return static_cast<int64_t>(codes.size()); }
    const HashedCell* row(int64_t i) const { return cells.data() + starts[i]; }
    int64_t count(int64_t i) const { return starts[i + 1] - starts[i]; }

    void clear() {
        cells.clear();
        starts.assign(1, 0);
        codes.clear();
        weights.clear();
        fields.clear();
        skipped = 0;
    }

    // `field` is the key of the column or namespace that the feature belongs to.
    void number(uint64_t field, uint64_t key, double value) {
        if (!std::isfinite(value)) {
            ++skipped;
        } else if (value != 0) {
            add(field, key, value);
        }
    }

    void word(uint64_t field, std::string_view value) { add(field, word_key(field, value), 1); }
    void hashed_word(uint64_t field, uint64_t key) { add(field, key, 1); }

    // The row is whole. A row without cells is one: the intercept alone speaks for it.
    void end(int32_t code, double weight) {
        for (const auto& cross : crosses) add_cross(cross, 0, 0, 1);
        fields.clear();
        starts.push_back(static_cast<int64_t>(cells.size()));
        codes.push_back(code);
        weights.push_back(weight);
    }

    // One more row, as another batch has it: its crosses are among its cells.
    void take(const HashedRows& from, int64_t i) {
        cells.insert(cells.end(), from.row(i), from.row(i) + from.count(i));
        starts.push_back(static_cast<int64_t>(cells.size()));
        codes.push_back(from.codes[i]);
        weights.push_back(from.weights[i]);
    }

    // What has come of a row that turned out to be none.
    void drop() {
        cells.resize(starts.back());
        fields.clear();
    }

    // For up to so many cells of the open row, which come at once; `written` ends that.
    CellWriter writer(size_t most) {
        const size_t n = cells.size(), c = fields.size();
        cells.resize(n + most + 1);
        fields.resize(c + most + 1);
        return {cells.data() + n, fields.data() + c};
    }
    void written(const CellWriter& writer) {
        cells.resize(writer.cells + writer.count - cells.data());
        fields.resize(writer.fields + writer.count - fields.data());
    }

  private:
    Growing<uint64_t> fields;  // of the cells of the open row, if crosses want to know

    void add(uint64_t field, uint64_t key, double value) {
        cells.push_back({key, value});
        if (!crosses.empty()) fields.push_back(field);
    }

    void add_cross(const std::vector<uint64_t>& cross, size_t depth, uint64_t key, double value) {
        if (depth == cross.size()) {
            cells.push_back({key, value});
            return;
        }
        const size_t first = starts.back();
        for (size_t c = 0; c < fields.size(); ++c) {
            if (fields[c] != cross[depth]) continue;
            const HashedCell cell = cells[first + c];
            add_cross(cross, depth + 1, depth ? cross_key(key, cell.key) : cell.key, value * cell.value);
        }
    }
};

}  // namespace likelier
