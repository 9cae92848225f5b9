// Documents as rows of counts of their terms: by a vocabulary that grows, or by one that is given.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <queue>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "kernels/kernels.hpp"
#include "text/analyzer.hpp"
#include "text/row_sort.hpp"

namespace likelier {

constexpr int64_t kDocumentsAtOnce = 64;
constexpr const char* kTooMany = "there are more than 2147483647 terms";

// A text: UTF-8 (size 0), or code points of 1, 2 or 4 bytes, as Python has them.
struct Document {
    const void* data;
    size_t length;
    int size;
};

template <class Code>
void append_codes(const void* data, size_t length, TextBuffer& to) {
    const auto* codes = static_cast<const Code*>(data);
    char* const begin = to.room(4 * length);
    char* at = begin;
    for (size_t i = 0; i < length; ++i) at = put_code_point(codes[i], at);
    to.resize(to.size() + static_cast<size_t>(at - begin));
}

// The text as UTF-8, of which lone surrogates are three bytes; `buffer` holds it if it must be made.
inline std::string_view utf8_of(const Document& document, TextBuffer& buffer) {
    if (document.size == 0) return {static_cast<const char*>(document.data), document.length};
    buffer.resize(0);
    if (document.size == 1) append_codes<uint8_t>(document.data, document.length, buffer);
    if (document.size == 2) append_codes<uint16_t>(document.data, document.length, buffer);
    if (document.size == 4) append_codes<uint32_t>(document.data, document.length, buffer);
    return {buffer.data(), buffer.size()};
}

// Cells of a row, one after the other: how many, and for each the number of its term and its count.
struct CountedRows {
    std::vector<int64_t> sizes;
    std::vector<int32_t> terms;
    std::vector<int32_t> counts;

    void clear() {
        sizes.clear();
        terms.clear();
        counts.clear();
    }
};

// Looks the pieces of a text up in a table, in three rounds, so that memory is waited for once for many.
// soon: what else of a term will be needed; each: handed its key, and where in the table to begin.
template <class Table, class Soon, class Each>
void look_up(const Table& table, const char* text, const Piece* pieces, size_t n, Soon&& soon,
             Each&& each) {
    TermKey keys[kPieces];
    size_t slots[kPieces];
    for (size_t i = 0; i < n; ++i) {
        keys[i] = key_of(text + pieces[i].start, pieces[i].length);
        table.prefetch_slot(keys[i]);
    }
    const size_t room = table.room();
    for (size_t i = 0; i < n; ++i) {
        slots[i] = table.likely_slot(keys[i]);
        const int64_t term = table.prefetch_record(slots[i]);
        if (term >= 0) soon(term);
    }
    for (size_t i = 0; i < n; ++i)
        each(text + pieces[i].start, keys[i], table.room() == room ? slots[i] : table.first_slot(keys[i]));
}

// Rows of counted terms, of which some at a time are put in the order of their columns.
class RowsInOrder {
  public:
    // columns: of each term, -1: it is left out.
    RowsInOrder(const CountedRows& rows, const std::vector<int32_t>& columns)
        : rows(rows), columns(columns) {}

    // Takes rows from `first` on, up to one that it gives: a few, or one that is long.
    size_t load(size_t first) {
        sort.cells.clear();
        row_of.clear();
        base = at;
        uint64_t width = 1;
        size_t row = first;
        do {
            const auto size = static_cast<size_t>(rows.sizes[row]);
            row_of.resize(row_of.size() + size, static_cast<uint32_t>(row - first));
            for (size_t i = at; i < at + size; ++i) {
                const int32_t to = columns[static_cast<size_t>(rows.terms[i])];
                if (to < 0) continue;
                const auto column = static_cast<uint32_t>(to);
                width = std::max<uint64_t>(width, uint64_t{column} + 1);
                sort.cells.push_back({column, static_cast<uint32_t>(i - base)});
            }
            at += size;
            ++row;
        } while (row < rows.sizes.size() &&
                 at - base + static_cast<size_t>(rows.sizes[row]) <= kCellsAtOnce);
        sort.sort(width);
        return row;
    }

    // The cells that were loaded, of `count` rows, to where these start.
    template <class T, class Index>
    void write(const Index* starts, size_t count, Index* indices, T* values, bool binary) {
        next.assign(starts, starts + count);
        for (const ColumnCell& cell : sort.cells) {
            const int64_t to = next[row_of[cell.place]]++;
            indices[to] = static_cast<Index>(cell.column);
            values[to] = binary ? T{1} : static_cast<T>(rows.counts[base + cell.place]);
        }
    }

  private:
    const CountedRows& rows;
    const std::vector<int32_t>& columns;
    ColumnSort sort;
    std::vector<uint32_t> row_of;  // of each cell that was loaded
    std::vector<int64_t> next;
    size_t at = 0, base = 0;
};

// How often each document has each term. Documents are handed in batch by batch.
class DocumentCounts {
  public:
    // vocabulary: null if it is to be found; rows: whether they are kept, or the vocabulary is all.
    DocumentCounts(const Analysis& analysis, const Terms* vocabulary, bool rows_kept)
        : analysis(analysis), vocabulary(vocabulary), rows_kept(rows_kept) {}
    DocumentCounts(const DocumentCounts&) = delete;

    void add(const std::vector<Document>& documents, int threads) {
        const auto n = static_cast<int64_t>(documents.size());
        const int64_t tasks = (n + kDocumentsAtOnce - 1) / kDocumentsAtOnce;
        const size_t before = blocks.size();
        if (rows_kept) blocks.resize(before + static_cast<size_t>(tasks));
        std::atomic<int> workers{0};
        std::atomic<bool> full{false};
        reserve_shares(static_cast<size_t>(std::max<int64_t>(1, std::min<int64_t>(threads, tasks))));
        among_threads(tasks, threads, [&](auto&& next) {
            const int mine = workers.fetch_add(1);
            Share& share = *shares[static_cast<size_t>(mine)];
            for (int64_t task = next(); task >= 0; task = next()) {
                const int64_t first = task * kDocumentsAtOnce;
                share.made.clear();
                for (int64_t i = first; i < std::min(n, first + kDocumentsAtOnce); ++i)
                    if (!count(documents[static_cast<size_t>(i)], rows + i, share)) full = true;
                if (rows_kept) blocks[before + static_cast<size_t>(task)] = {mine, share.made};
            }
        });
        if (full) throw std::length_error(kTooMany);
        rows += n;
    }

    // All terms in the order of their code points; the documents that have each, and how often they do.
    void finish() {
        if (vocabulary != nullptr || !totals.empty()) return;
        std::vector<std::vector<int32_t>> sorted(shares.size());
        const auto count = static_cast<int64_t>(shares.size());
        among_threads(count, static_cast<int>(count), [&](auto&& next) {
            for (int64_t s = next(); s >= 0; s = next())
                sorted[static_cast<size_t>(s)] = shares[static_cast<size_t>(s)]->own.sorted();
        });
        merge_terms(sorted);
    }

    struct Total {
        std::string_view text;
        int64_t documents, times;
    };
    const std::vector<Total>& found() const { return totals; }

    int64_t terms() const {
        return vocabulary != nullptr ? vocabulary->size() : static_cast<int64_t>(totals.size());
    }

    // The columns of the terms, each of so many, -1: it is left out; and from it the sizes of rows.
    void choose(const int64_t* chosen, int64_t* sizes, int threads) {
        const auto n = static_cast<size_t>(terms());
        const bool all = std::all_of(chosen, chosen + n, [](int64_t to) { return to >= 0; });
        columns.assign(std::max<size_t>(1, vocabulary != nullptr ? 1 : shares.size()), {});
        for (size_t s = 0; s < columns.size(); ++s) {
            if (vocabulary != nullptr) {
                columns[s].assign(chosen, chosen + n);
                continue;
            }
            if (s >= numbers.size()) continue;
            columns[s].resize(numbers[s].size());
            for (size_t t = 0; t < numbers[s].size(); ++t)
                columns[s][t] = static_cast<int32_t>(chosen[numbers[s][t]]);
        }
        each_block(threads, [&](const Block& block, int64_t row) {
            if (all) {
                std::copy(block.rows.sizes.begin(), block.rows.sizes.end(), sizes + row);
                return;
            }
            const std::vector<int32_t>& to = columns_of(block);
            const int32_t* term = block.rows.terms.data();
            for (int64_t size : block.rows.sizes) {
                int64_t kept = 0;
                for (int64_t i = 0; i < size; ++i) kept += to[static_cast<size_t>(*term++)] >= 0;
                sizes[row++] = kept;
            }
        });
    }

    // The cells of all rows, which are forgotten.
    template <class T, class Index>
    void fill(const Index* starts, Index* indices, T* values, bool binary, int threads) {
        each_block(threads, [&](Block& block, int64_t row) {
            RowsInOrder in_order(block.rows, columns_of(block));
            for (size_t first = 0; first < block.rows.sizes.size();) {
                const size_t last = in_order.load(first);
                in_order.write(starts + row + static_cast<int64_t>(first), last - first, indices, values,
                               binary);
                first = last;
            }
            block.rows = {};
        });
    }

    int64_t rows = 0;

  private:
    struct Block {
        int share = 0;
        CountedRows rows;
    };

    // The last document that had a term, and which of its cells that is.
    struct Place {
        int64_t document = -1;
        uint32_t cell = 0;
    };

    struct Seen {
        Place place;
        int64_t documents = 0, times = 0;
    };

    // What one thread has counted, and works with.
    struct Share {
        explicit Share(const Analysis& analysis) : analyzer(analysis) {}
        TermTable<Seen> own;
        std::vector<Place, LargePages<Place>> places;  // of a vocabulary that is given
        Analyzer analyzer;
        TextBuffer encoded;
        CountedRows made;
    };

    void reserve_shares(size_t count) {
        while (shares.size() < count) {
            shares.push_back(std::make_unique<Share>(analysis));
            if (vocabulary != nullptr)
                shares.back()->places.resize(static_cast<size_t>(vocabulary->size()));
        }
    }

    bool count(const Document& document, int64_t number, Share& share) {
        const size_t before = share.made.terms.size();
        bool room = true;
        const auto met = [&](Place& place, int64_t term) {
            if (place.document == number) {
                if (rows_kept) share.made.counts[before + place.cell]++;
                return false;
            }
            place.document = number;
            if (rows_kept) {
                place.cell = static_cast<uint32_t>(share.made.terms.size() - before);
                share.made.terms.push_back(static_cast<int32_t>(term));
                share.made.counts.push_back(1);
            }
            return true;
        };
        const auto find = [&](const char* text, const TermKey& key, size_t slot) {
            const int64_t term = vocabulary->find(text, key, slot);
            if (term >= 0) met(share.places[static_cast<size_t>(term)], term);
        };
        const auto add = [&](const char* text, const TermKey& key, size_t slot) {
            if (share.own.size() == INT32_MAX) {
                room = false;
                return;
            }
            const int64_t term = share.own.find_or_add(text, key, slot);
            Seen& seen = share.own.extra(term);
            seen.times++;
            seen.documents += met(seen.place, term);
        };
        const auto nothing_soon = [](int64_t) {};  // it lies beside the term
        const auto place_soon = [&](int64_t term) {
            __builtin_prefetch(&share.places[static_cast<size_t>(term)], 1);
        };
        share.analyzer.each_term(utf8_of(document, share.encoded),
                                 [&](const char* text, const Piece* pieces, size_t n) {
                                     if (vocabulary != nullptr)
                                         look_up(*vocabulary, text, pieces, n, place_soon, find);
                                     else
                                         look_up(share.own, text, pieces, n, nothing_soon, add);
                                 });
        if (rows_kept) share.made.sizes.push_back(static_cast<int64_t>(share.made.terms.size() - before));
        return room;
    }

    // The terms of all shares, each once; numbers[s][t]: the place among them of term t of share s.
    void merge_terms(const std::vector<std::vector<int32_t>>& sorted) {
        struct Head {
            std::string_view text;
            size_t share;
            bool operator<(const Head& other) const { return other.text < text; }  // the least is on top
        };
        std::priority_queue<Head> heads;
        std::vector<size_t> at(sorted.size());
        const auto advance = [&](size_t s) {
            if (at[s] < sorted[s].size()) heads.push({shares[s]->own.text(sorted[s][at[s]]), s});
        };
        numbers.resize(sorted.size());
        size_t most = 0;
        for (size_t s = 0; s < sorted.size(); ++s) {
            numbers[s].resize(sorted[s].size());
            most = std::max(most, sorted[s].size());
            advance(s);
        }
        totals.reserve(most + most / 4);
        while (!heads.empty()) {
            const Head head = heads.top();
            heads.pop();
            if (totals.empty() || totals.back().text != head.text) {
                if (totals.size() == INT32_MAX) throw std::length_error(kTooMany);
                totals.push_back({head.text, 0, 0});
            }
            const auto term = static_cast<size_t>(sorted[head.share][at[head.share]++]);
            const Seen& seen = shares[head.share]->own.extra(static_cast<int64_t>(term));
            totals.back().documents += seen.documents;
            totals.back().times += seen.times;
            numbers[head.share][term] = static_cast<int32_t>(totals.size() - 1);
            advance(head.share);
        }
    }

    const std::vector<int32_t>& columns_of(const Block& block) const {
        return columns[vocabulary != nullptr ? 0 : static_cast<size_t>(block.share)];
    }

    template <class Work>
    void each_block(int threads, Work&& work) {
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
    const bool rows_kept;
    std::vector<std::unique_ptr<Share>> shares;
    std::vector<Block> blocks;
    std::vector<std::vector<int32_t>> numbers;
    std::vector<std::vector<int32_t>> columns;
    std::vector<Total> totals;
};

}  // namespace likelier
