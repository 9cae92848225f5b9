// Rows of hashed features: what dicts, tables and text become, and all that an online learner sees.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "hash.hpp"

namespace likelier {

// A feature that is there: its key, of which the low bits name a weight, and its value.
struct HashedCell {
    uint64_t key;
    double value;
};

constexpr int32_t kUnlabelled = -1;

// Rows are begun, given cells, and ended; crosses are added to them there. Memory is kept from batch to
// batch.
class HashedRows {
  public:
    // Fields, by the keys of their names, whose features are taken together: two or more each.
    std::vector<std::vector<uint64_t>> crosses;

    std::vector<HashedCell> cells;
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

    // The row is whole. A row without cells is one: the intercept alone speaks for it.
    void end(int32_t code, double weight) {
        for (const auto& cross : crosses) add_cross(cross, 0, 0, 1);
        fields.clear();
        starts.push_back(static_cast<int64_t>(cells.size()));
        codes.push_back(code);
        weights.push_back(weight);
    }

    // What has come of a row that turned out to be none.
    void drop() {
        cells.resize(starts.back());
        fields.clear();
    }

    void add(uint64_t field, uint64_t key, double value) {
        cells.push_back({key, value});
        if (!crosses.empty()) fields.push_back(field);
    }

  private:
    std::vector<uint64_t> fields;  // of the cells of the open row, if crosses want to know

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
