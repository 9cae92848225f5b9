// Cells of a few rows, put in the order of their columns within each row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace likelier {

// A cell: its column, and a number by which whoever made it finds the rest of it.
struct ColumnCell {
    uint32_t column, place;
};

constexpr size_t kCellsAtOnce = 1 << 14;  // of several rows: they stay in the cache

// Sorts by column, digit by digit; cells of one column stay in their order. Rows of some tens of cells are
// sorted faster together, and then dealt out, than each by comparisons.
class ColumnSort {
  public:
    std::vector<ColumnCell> cells;

    // width: one more than the largest column.
    void sort(uint64_t width) {
        if (cells.size() < 48) {
            std::stable_sort(cells.begin(), cells.end(),
                             [](const ColumnCell& a, const ColumnCell& b) { return a.column < b.column; });
            return;
        }
        const int bits = std::bit_width(width - 1);
        const int most = std::min(kMostBits, std::max(4, static_cast<int>(std::bit_width(cells.size()))));
        const int rounds = (bits + most - 1) / most;
        if (rounds == 0) return;
        const int each = (bits + rounds - 1) / rounds;
        other.resize(cells.size());
        for (int round = 0; round < rounds; ++round) deal(round * each, each);
    }

  private:
    static constexpr int kMostBits = 11;

    void deal(int shift, int bits) {
        const uint32_t all = (1u << bits) - 1;
        size_t counts[(1 << kMostBits) + 1];
        std::fill(counts, counts + all + 2, 0);
        for (const ColumnCell& cell : cells) counts[(cell.column >> shift & all) + 1]++;
        for (size_t i = 1; i <= all; ++i) counts[i] += counts[i - 1];
        for (const ColumnCell& cell : cells) other[counts[cell.column >> shift & all]++] = cell;
        cells.swap(other);
    }

    std::vector<ColumnCell> other;
};

}  // namespace likelier
