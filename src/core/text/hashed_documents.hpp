// Documents as rows of counts, the column of each term being a hash of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "text/documents.hpp"

namespace likelier {

// MurmurHash3 of 32 bits with seed 0 (Appleby): scikit-learn's columns are by it. kPadding bytes behind the
// text can be read.
inline int32_t murmur(const char* text, size_t length) {
    const auto turned = [](uint32_t x, int by) { return x << by | x >> (32 - by); };
    const auto mixed = [&](uint32_t word) { return turned(word * 0xCC9E2D51u, 15) * 0x1B873593u; };
    uint32_t hash = 0, word;
    size_t left = length;
    for (; left >= 4; left -= 4, text += 4) {
        std::memcpy(&word, text, 4);
        hash = turned(hash ^ mixed(word), 13) * 5 + 0xE6546B64u;
    }
    if (left > 0) {
        std::memcpy(&word, text, 4);
        hash ^= mixed(word & ((1u << 8 * left) - 1));
    }
    hash ^= static_cast<uint32_t>(length);
    hash = (hash ^ hash >> 16) * 0x85EBCA6Bu;
    hash = (hash ^ hash >> 13) * 0xC2B2AE35u;
    return static_cast<int32_t>(hash ^ hash >> 16);
}

enum class Norm { none, l1, l2 };

// How values are made of the sums of signs, in the order of scikit-learn's operations.
struct Finish {
    bool binary;
    Norm norm;

    // The values of a row, all of them together divided by its norm.
    template <class T>
    void row(T* values, int64_t n) const {
        if (norm == Norm::none) return;
        double sum = 0.0;
        for (int64_t i = 0; i < n; ++i) {
            const double x = values[i];
            sum += norm == Norm::l1 ? std::fabs(x) : x * x;
        }
        if (sum == 0.0) return;
        if (norm == Norm::l2) sum = std::sqrt(sum);
        for (int64_t i = 0; i < n; ++i) values[i] = static_cast<T>(values[i] / sum);
    }
};

// Cells that are multiplied with a factor for each column, if there are any, and divided by the norm of
// their row.
template <class T, class Index>
struct WeighedRows {
    T* values;
    const Index* indices;
    const Index* starts;
    int64_t rows;
    const T* factors;
    int64_t columns;

    // Whether rows lie within so many cells, and columns have factors.
    bool sound(int64_t cells) const {
        for (int64_t i = 0; i < rows; ++i)
            if (starts[i] < 0 || starts[i] > starts[i + 1]) return false;
        if (rows > 0 && starts[rows] > cells) return false;
        if (factors == nullptr) return true;
        bool good = true;
        for (int64_t i = rows > 0 ? starts[0] : 0; i < (rows > 0 ? starts[rows] : 0); ++i)
            good &= indices[i] >= 0 && indices[i] < columns;
        return good;
    }

    void weigh(const Finish& finish, int threads) const {
        constexpr int64_t kRows = 256;
        among_threads((rows + kRows - 1) / kRows, threads, [&](auto&& next) {
            for (int64_t task = next(); task >= 0; task = next())
                for (int64_t i = task * kRows; i < std::min(rows, (task + 1) * kRows); ++i) {
                    T* const row = values + starts[i];
                    const auto size = static_cast<int64_t>(starts[i + 1] - starts[i]);
                    if (factors != nullptr)
                        for (int64_t j = 0; j < size; ++j) row[j] *= factors[indices[starts[i] + j]];
                    finish.row(row, size);
                }
        });
    }
};

// Documents are handed in batch by batch.
class HashedDocuments {
  public:
    HashedDocuments(const Analysis& analysis, int64_t columns, bool alternate)
        : analysis(analysis), columns(columns), alternate(alternate) {}
    HashedDocuments(const HashedDocuments&) = delete;

    void add(const std::vector<Document>& documents, int threads) {
        const auto n = static_cast<int64_t>(documents.size());
        const size_t before = blocks.size();
        blocks.resize(before + static_cast<size_t>((n + kDocumentsAtOnce - 1) / kDocumentsAtOnce));
        among_threads(static_cast<int64_t>(blocks.size() - before), threads, [&](auto&& next) {
            Worker worker(analysis);
            for (int64_t task = next(); task >= 0; task = next()) {
                const int64_t first = task * kDocumentsAtOnce;
                worker.made.clear();
                for (int64_t i = first; i < std::min(n, first + kDocumentsAtOnce); ++i) {
                    hash(documents[static_cast<size_t>(i)], worker);
                    if (worker.sort.cells.size() >= kCellsAtOnce) count(worker);
                }
                count(worker);
                blocks[before + static_cast<size_t>(task)] = worker.made;
            }
        });
        rows += n;
    }

    // Where rows start, of which there is one more than there are rows.
    std::vector<int64_t> starts() const {
        std::vector<int64_t> found{0};
        found.reserve(static_cast<size_t>(rows) + 1);
        for (const CountedRows& block : blocks)
            for (int64_t size : block.sizes) found.push_back(found.back() + size);
        return found;
    }

    // The cells of all rows, which are forgotten.
    template <class T, class Index>
    void fill(const Index* starts, Index* indices, T* values, const Finish& finish, int threads) {
        std::vector<int64_t> firsts;
        int64_t row = 0;
        for (const CountedRows& block : blocks) {
            firsts.push_back(row);
            row += static_cast<int64_t>(block.sizes.size());
        }
        among_threads(static_cast<int64_t>(blocks.size()), threads, [&](auto&& next) {
            for (int64_t b = next(); b >= 0; b = next()) {
                CountedRows& block = blocks[static_cast<size_t>(b)];
                auto at = starts[firsts[static_cast<size_t>(b)]];
                std::copy(block.terms.begin(), block.terms.end(), indices + at);
                for (size_t i = 0; i < block.counts.size(); ++i)
                    values[at + static_cast<Index>(i)] =
                        finish.binary ? T{1} : static_cast<T>(block.counts[i]);
                for (int64_t size : block.sizes) {
                    finish.row(values + at, size);
                    at += static_cast<Index>(size);
                }
                block = {};
            }
        });
    }

    int64_t rows = 0;

  private:
    struct Worker {
        explicit Worker(const Analysis& analysis) : analyzer(analysis) {}
        Analyzer analyzer;
        TextBuffer encoded;
        ColumnSort
            sort;  // of a cell for each term, whose place says its row and whether its sign is positive
        std::vector<size_t> starts;  // of the rows of these cells
        std::vector<size_t> ends;    // of what is left of them
        CountedRows made, sorted;
    };

    // Another row of cells.
    void hash(const Document& document, Worker& worker) const {
        std::vector<ColumnCell>& cells = worker.sort.cells;
        const auto row = static_cast<uint32_t>(worker.starts.size());
        const bool power = (columns & (columns - 1)) == 0;
        worker.starts.push_back(cells.size());
        worker.analyzer.each_term(
            utf8_of(document, worker.encoded), [&](const char* text, const Piece* pieces, size_t n) {
                for (size_t i = 0; i < n; ++i) {
                    const int32_t hash = murmur(text + pieces[i].start, pieces[i].length);
                    const int64_t size = hash < 0 ? -static_cast<int64_t>(hash) : hash;
                    const int64_t column = power ? size & (columns - 1) : size % columns;
                    cells.push_back({static_cast<uint32_t>(column),
                                     row << 1 | static_cast<uint32_t>(!alternate || hash >= 0)});
                }
            });
    }

    // Sorts the cells and adds those of one row and column up.
    void count(Worker& worker) const {
        CountedRows &sorted = worker.sorted, &out = worker.made;
        worker.ends = worker.starts;
        sorted.terms.resize(worker.sort.cells.size());
        sorted.counts.resize(worker.sort.cells.size());
        worker.sort.sort(static_cast<uint64_t>(columns));
        for (const ColumnCell& cell : worker.sort.cells) {
            const size_t row = cell.place >> 1;
            const auto column = static_cast<int32_t>(cell.column);
            const int32_t sign = cell.place & 1 ? 1 : -1;
            size_t& end = worker.ends[row];
            if (end > worker.starts[row] && sorted.terms[end - 1] == column) {
                sorted.counts[end - 1] += sign;
            } else {
                sorted.terms[end] = column;
                sorted.counts[end++] = sign;
            }
        }
        for (size_t row = 0; row < worker.starts.size(); ++row) {
            const auto first = static_cast<std::ptrdiff_t>(worker.starts[row]),
                       last = static_cast<std::ptrdiff_t>(worker.ends[row]);
            out.terms.insert(out.terms.end(), sorted.terms.begin() + first, sorted.terms.begin() + last);
            out.counts.insert(out.counts.end(), sorted.counts.begin() + first,
                              sorted.counts.begin() + last);
            out.sizes.push_back(last - first);
        }
        worker.sort.cells.clear();
        worker.starts.clear();
    }

    const Analysis& analysis;
    const int64_t columns;
    const bool alternate;
    std::vector<CountedRows> blocks;
};

}  // namespace likelier
