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

// Numbers in rising order; many of them by three rounds over their digits.
inline void sort_numbers(std::vector<uint32_t>& numbers, std::vector<uint32_t>& other) {
    if (numbers.size() < 512) {
        std::sort(numbers.begin(), numbers.end());
        return;
    }
    constexpr int kDigits = 11;
    constexpr uint32_t kAll = (1u << kDigits) - 1;
    other.resize(numbers.size());
    for (int shift = 0; shift < 32; shift += kDigits) {
        size_t places[kAll + 2] = {};
        for (uint32_t number : numbers) places[(number >> shift & kAll) + 1]++;
        if (std::find(places, places + kAll + 2, numbers.size()) != places + kAll + 2)
            continue;  // one digit
        for (size_t i = 1; i <= kAll; ++i) places[i] += places[i - 1];
        for (uint32_t number : numbers) other[places[number >> shift & kAll]++] = number;
        numbers.swap(other);
    }
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
                for (int64_t i = first; i < std::min(n, first + kDocumentsAtOnce); ++i)
                    count(documents[static_cast<size_t>(i)], worker);
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
        std::vector<uint32_t> cells, other;  // a column, and whether its sign is positive
        CountedRows made;
    };

    void count(const Document& document, Worker& worker) const {
        std::vector<uint32_t>& cells = worker.cells;
        CountedRows& out = worker.made;
        const bool power = (columns & (columns - 1)) == 0;
        cells.clear();
        worker.analyzer.each_term(
            utf8_of(document, worker.encoded), [&](const char* text, const Piece* pieces, size_t n) {
                for (size_t i = 0; i < n; ++i) {
                    const int32_t hash = murmur(text + pieces[i].start, pieces[i].length);
                    const int64_t size = hash < 0 ? -static_cast<int64_t>(hash) : hash;
                    const int64_t column = power ? size & (columns - 1) : size % columns;
                    cells.push_back(static_cast<uint32_t>(column) << 1 |
                                    static_cast<uint32_t>(!alternate || hash >= 0));
                }
            });
        sort_numbers(cells, worker.other);
        const size_t before = out.terms.size();
        for (uint32_t cell : cells) {
            const auto column = static_cast<int32_t>(cell >> 1);
            if (out.terms.size() == before || out.terms.back() != column) {
                out.terms.push_back(column);
                out.counts.push_back(0);
            }
            out.counts.back() += cell & 1 ? 1 : -1;
        }
        out.sizes.push_back(static_cast<int64_t>(out.terms.size() - before));
    }

    const Analysis& analysis;
    const int64_t columns;
    const bool alternate;
    std::vector<CountedRows> blocks;
};

}  // namespace likelier
