// Documents as rows of counts: by a vocabulary that grows, by one that is given, or by hashes of the terms.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "kernels/kernels.hpp"
#include "text/analyzer.hpp"

namespace likelier {

constexpr int64_t kDocumentsAtOnce = 64;
constexpr const char* kTooMany = "there are more than 2147483647 terms";

// MurmurHash3 of 32 bits with seed 0 (Appleby): scikit-learn's columns are by it.
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
        word = 0;
        std::memcpy(&word, text, left);
        hash ^= mixed(word);
    }
    hash ^= static_cast<uint32_t>(length);
    hash = (hash ^ hash >> 16) * 0x85EBCA6Bu;
    hash = (hash ^ hash >> 13) * 0xC2B2AE35u;
    return static_cast<int32_t>(hash ^ hash >> 16);
}

// Cells of a row, one after the other: how many, and for each the number of its term and its count.
struct CountedRows {
    std::vector<int64_t> sizes;
    std::vector<int32_t> terms;
    std::vector<int32_t> counts;
};

// What one thread has counted.
struct Share {
    struct Seen {
        int64_t document = -1;
        size_t cell = 0;
        int64_t documents = 0, times = 0;
    };

    Terms own;
    std::vector<Seen> seen;
};

// How often each document has each term. Documents are handed in batch by batch.
class DocumentCounts {
  public:
    // vocabulary: null if it is to be found.
    DocumentCounts(const Analysis& analysis, const Terms* vocabulary)
        : analysis(analysis), vocabulary(vocabulary) {}
    DocumentCounts(const DocumentCounts&) = delete;

    void add(const std::vector<std::string_view>& documents, int threads) {
        const auto n = static_cast<int64_t>(documents.size());
        const int64_t tasks = (n + kDocumentsAtOnce - 1) / kDocumentsAtOnce;
        const size_t before = blocks.size();
        blocks.resize(before + static_cast<size_t>(tasks));
        std::atomic<int> workers{0};
        std::atomic<bool> full{false};
        reserve_shares(static_cast<size_t>(std::max<int64_t>(1, std::min<int64_t>(threads, tasks))));
        among_threads(tasks, threads, [&](auto&& next) {
            const int mine = workers.fetch_add(1);
            Share& share = *shares[static_cast<size_t>(mine)];
            Analyzer analyzer(analysis);
            for (int64_t task = next(); task >= 0; task = next()) {
                Block& block = blocks[before + static_cast<size_t>(task)];
                block.share = mine;
                const int64_t first = task * kDocumentsAtOnce;
                for (int64_t i = first; i < std::min(n, first + kDocumentsAtOnce); ++i)
                    if (!count(analyzer, documents[static_cast<size_t>(i)], rows + i, share, block.rows))
                        full = true;
            }
        });
        if (full) throw std::length_error(kTooMany);
        rows += n;
    }

    // All terms in the order of their code points; the documents that have each, and how often they do.
    void finish() {
        if (vocabulary != nullptr || shares.empty()) return;
        merge_terms();
        sort_terms();
    }

    struct Total {
        std::string_view text;
        int64_t documents, times;
    };
    const std::vector<Total>& found() const { return totals; }

    int64_t terms() const {
        return vocabulary != nullptr ? vocabulary->size() : static_cast<int64_t>(totals.size());
    }

    // The number of cells in each row if term j is column columns[j], -1: it is left out.
    void row_sizes(const int64_t* columns, int64_t* sizes, int threads) const {
        each_block(threads, [&](const Block& block, int64_t row) {
            const int32_t* term = block.rows.terms.data();
            for (int64_t size : block.rows.sizes) {
                int64_t kept = 0;
                for (int64_t i = 0; i < size; ++i) kept += column(columns, block, *term++) >= 0;
                sizes[row++] = kept;
            }
        });
    }

    template <class T, class Index>
    void fill(const int64_t* columns, const Index* starts, Index* indices, T* values, bool binary,
              int threads) const {
        each_block(threads, [&](const Block& block, int64_t row) {
            std::vector<uint64_t> cells;
            size_t at = 0;
            for (int64_t size : block.rows.sizes) {
                cells.clear();
                for (int64_t i = 0; i < size; ++i, ++at) {
                    const int64_t to = column(columns, block, block.rows.terms[at]);
                    if (to >= 0)
                        cells.push_back(static_cast<uint64_t>(to) << 32 |
                                        static_cast<uint32_t>(block.rows.counts[at]));
                }
                std::sort(cells.begin(), cells.end());
                auto out = starts[row++];
                for (uint64_t cell : cells) {
                    indices[out] = static_cast<Index>(cell >> 32);
                    values[out++] = binary ? T{1} : static_cast<T>(static_cast<uint32_t>(cell));
                }
            }
        });
    }

    int64_t rows = 0;

  private:
    struct Block {
        int share = 0;
        CountedRows rows;
    };

    void reserve_shares(size_t count) {
        while (shares.size() < count) {
            shares.push_back(std::make_unique<Share>());
            if (vocabulary != nullptr) shares.back()->seen.resize(static_cast<size_t>(vocabulary->size()));
        }
    }

    bool count(Analyzer& analyzer, std::string_view document, int64_t number, Share& share,
               CountedRows& out) {
        const size_t before = out.terms.size();
        bool room = true;
        analyzer.each_term(document, [&](const char* text, size_t length) {
            int64_t term;
            if (vocabulary != nullptr) {
                term = vocabulary->find(text, length);
                if (term < 0) return;
            } else {
                if (share.own.size() == INT32_MAX) {
                    room = false;
                    return;
                }
                term = share.own.find_or_add(text, length);
                if (static_cast<size_t>(term) == share.seen.size()) share.seen.emplace_back();
            }
            Share::Seen& seen = share.seen[static_cast<size_t>(term)];
            seen.times++;
            if (seen.document == number) {
                out.counts[seen.cell]++;
                return;
            }
            seen.document = number;
            seen.cell = out.terms.size();
            seen.documents++;
            out.terms.push_back(static_cast<int32_t>(term));
            out.counts.push_back(1);
        });
        out.sizes.push_back(static_cast<int64_t>(out.terms.size() - before));
        return room;
    }

    // One table of all terms, that of the first share; numbers[s][t]: the place in it of term t of share s.
    void merge_terms() {
        Terms& all = shares[0]->own;
        numbers.resize(shares.size());
        for (int32_t t = 0; t < static_cast<int32_t>(all.size()); ++t) numbers[0].push_back(t);
        for (size_t s = 1; s < shares.size(); ++s)
            for (int64_t t = 0; t < shares[s]->own.size(); ++t) {
                if (all.size() == INT32_MAX) throw std::length_error(kTooMany);
                const std::string_view text = shares[s]->own.text(t);
                numbers[s].push_back(static_cast<int32_t>(all.find_or_add(text.data(), text.size())));
            }
    }

    void sort_terms() {
        const Terms& all = shares[0]->own;
        std::vector<int32_t> order(static_cast<size_t>(all.size()));
        std::iota(order.begin(), order.end(), 0);
        // Bytes of UTF-8 are in the order of their code points.
        std::sort(order.begin(), order.end(),
                  [&](int32_t a, int32_t b) { return all.text(a) < all.text(b); });
        std::vector<int32_t> place(order.size());
        totals.resize(order.size());
        for (size_t i = 0; i < order.size(); ++i) {
            place[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
            totals[i] = {all.text(order[i]), 0, 0};
        }
        for (size_t s = 0; s < shares.size(); ++s)
            for (size_t t = 0; t < numbers[s].size(); ++t) {
                numbers[s][t] = place[static_cast<size_t>(numbers[s][t])];
                Total& total = totals[static_cast<size_t>(numbers[s][t])];
                total.documents += shares[s]->seen[t].documents;
                total.times += shares[s]->seen[t].times;
            }
    }

    int64_t column(const int64_t* columns, const Block& block, int32_t term) const {
        if (vocabulary != nullptr) return columns[term];
        return columns[numbers[static_cast<size_t>(block.share)][static_cast<size_t>(term)]];
    }

    template <class Work>
    void each_block(int threads, Work&& work) const {
        std::vector<int64_t> firsts;
        int64_t row = 0;
        for (const Block& block : blocks) {
            firsts.push_back(row);
            row += static_cast<int64_t>(block.rows.sizes.size());
        }
        among_threads(static_cast<int64_t>(blocks.size()), threads, [&](auto&& next) {
            for (int64_t b = next(); b >= 0; b = next())
                work(blocks[static_cast<size_t>(b)], firsts[static_cast<size_t>(b)]);
        });
    }

    const Analysis& analysis;
    const Terms* vocabulary;
    std::vector<std::unique_ptr<Share>> shares;
    std::vector<Block> blocks;
    std::vector<std::vector<int32_t>> numbers;
    std::vector<Total> totals;
};

// The sum of signs of the terms that fall into each column.
inline void hash_documents(const Analysis& analysis, const std::vector<std::string_view>& documents,
                           int64_t columns, bool alternate, int threads, std::vector<int64_t>& ends,
                           std::vector<int32_t>& indices, std::vector<int32_t>& values) {
    const auto n = static_cast<int64_t>(documents.size());
    std::vector<CountedRows> blocks(static_cast<size_t>((n + kDocumentsAtOnce - 1) / kDocumentsAtOnce));
    among_threads(static_cast<int64_t>(blocks.size()), threads, [&](auto&& next) {
        Analyzer analyzer(analysis);
        std::vector<uint32_t> cells;  // a column, and whether its sign is positive
        for (int64_t task = next(); task >= 0; task = next()) {
            CountedRows& out = blocks[static_cast<size_t>(task)];
            const int64_t first = task * kDocumentsAtOnce;
            for (int64_t i = first; i < std::min(n, first + kDocumentsAtOnce); ++i) {
                cells.clear();
                analyzer.each_term(documents[static_cast<size_t>(i)], [&](const char* text, size_t length) {
                    const int32_t hash = murmur(text, length);
                    const int64_t size = hash < 0 ? -static_cast<int64_t>(hash) : hash;
                    cells.push_back(static_cast<uint32_t>(size % columns) << 1 |
                                    static_cast<uint32_t>(!alternate || hash >= 0));
                });
                std::sort(cells.begin(), cells.end());
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
        }
    });
    auto cells = static_cast<int64_t>(indices.size());
    for (const CountedRows& block : blocks) {
        for (int64_t size : block.sizes) ends.push_back(cells += size);
        indices.insert(indices.end(), block.terms.begin(), block.terms.end());
        values.insert(values.end(), block.counts.begin(), block.counts.end());
    }
}

}  // namespace likelier
