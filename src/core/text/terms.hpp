// Terms, each with a number: a hash table of short texts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "text/unicode.hpp"

namespace likelier {

inline uint64_t folded_product(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// The first `length` of 8 bytes as a number, all of them if it is more, 0 if it is below 1.
inline uint64_t few_bytes(const char* text, int64_t length) {
    uint64_t word;
    std::memcpy(&word, text, 8);
    if (length >= 8) return word;
    return length <= 0 ? 0 : word & ((1ull << 8 * length) - 1);
}

constexpr size_t kHead = 16;  // bytes of a term that are compared as numbers
static_assert(kHead <= kPadding);

// What a term is looked up by. kPadding bytes behind it can be read.
struct TermKey {
    uint64_t head[2];
    uint32_t hash;
    uint32_t length;
};

inline TermKey key_of(const char* text, size_t length) {
    if (length > UINT32_MAX) throw std::length_error("a term is longer than 4294967295 bytes");
    constexpr uint64_t kOdd = 0x9E3779B97F4A7C15ull, kOther = 0xD1B54A32D192ED03ull;
    const auto n = static_cast<int64_t>(length);
    TermKey key{{few_bytes(text, n), few_bytes(text + 8, n - 8)}, 0, static_cast<uint32_t>(length)};
    uint64_t hash = folded_product(key.head[0] ^ kOdd, key.head[1] ^ kOther ^ length << 56);
    for (int64_t at = kHead; at < n; at += 8)
        hash = folded_product(hash ^ few_bytes(text + at, n - at), kOdd);
    key.hash = static_cast<uint32_t>(hash ^ hash >> 32);
    return key;
}

inline uint64_t in_text_order(uint64_t bytes) {
    return __builtin_bswap64(bytes);
}

// Extra: what is kept of each term beside its text.
template <class Extra>
class TermTable {
  public:
    TermTable() : slots(1024) {}

    int64_t size() const { return static_cast<int64_t>(records.size()); }
    Extra& extra(int64_t id) { return records[static_cast<size_t>(id)].extra; }
    const Extra& extra(int64_t id) const { return records[static_cast<size_t>(id)].extra; }

    // The bytes of a term; kPadding bytes behind them can be read. No longer valid once a term is added.
    std::string_view text(int64_t id) const {
        const Record& record = records[static_cast<size_t>(id)];
        const char* const head = reinterpret_cast<const char*>(record.head);
        return {record.length > kHead ? texts.data() + record.start : head, record.length};
    }

    void prefetch_slot(const TermKey& key) const { __builtin_prefetch(&slots[key.hash & mask()]); }
    void prefetch_record(const TermKey& key) const {
        const int32_t id = slots[key.hash & mask()].id;
        if (id >= 0) __builtin_prefetch(&records[static_cast<size_t>(id)]);
    }

    // The number of a term, -1 if it is unknown.
    int64_t find(const char* text, const TermKey& key) const { return slots[slot_of(text, key)].id; }
    int64_t find(const char* text, size_t length) const { return find(text, key_of(text, length)); }

    int64_t find_or_add(const char* text, const TermKey& key) {
        const size_t slot = slot_of(text, key);
        return slots[slot].id >= 0 ? slots[slot].id : added(text, key);
    }

    // The numbers of all terms in the order of their bytes, which for UTF-8 is that of code points.
    std::vector<int32_t> sorted() const {
        struct Place {
            uint64_t head[2];
            int32_t id;
            uint32_t length;
        };
        std::vector<Place> places(records.size());
        for (size_t i = 0; i < places.size(); ++i)
            places[i] = {{in_text_order(records[i].head[0]), in_text_order(records[i].head[1])},
                         static_cast<int32_t>(i),
                         records[i].length};
        std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
            if (a.head[0] != b.head[0]) return a.head[0] < b.head[0];
            if (a.head[1] != b.head[1]) return a.head[1] < b.head[1];
            if (a.length <= kHead || b.length <= kHead) return a.length < b.length;
            return text(a.id) < text(b.id);
        });
        std::vector<int32_t> ids(places.size());
        for (size_t i = 0; i < ids.size(); ++i) ids[i] = places[i].id;
        return ids;
    }

  private:
    struct Slot {
        uint32_t hash = 0;
        int32_t id = -1;
    };
    struct Record {
        uint64_t head[2];
        uint64_t start;  // in `texts`, of a term longer than its head
        uint32_t length;
        Extra extra;
    };

    size_t mask() const { return slots.size() - 1; }

    bool equal(const Record& one, const char* text, const TermKey& key) const {
        if (one.head[0] != key.head[0] || one.head[1] != key.head[1] || one.length != key.length)
            return false;
        return key.length <= kHead ||
               std::memcmp(texts.data() + one.start + kHead, text + kHead, key.length - kHead) == 0;
    }

    // Where a term is, or could be put.
    size_t slot_of(const char* text, const TermKey& key) const {
        size_t slot = key.hash & mask();
        while (slots[slot].id >= 0 && (slots[slot].hash != key.hash ||
                                       !equal(records[static_cast<size_t>(slots[slot].id)], text, key)))
            slot = (slot + 1) & mask();
        return slot;
    }

    __attribute__((noinline)) int64_t added(const char* text, const TermKey& key) {
        if (8 * (records.size() + 1) > 5 * slots.size()) grow();
        const auto id = static_cast<int32_t>(records.size());
        uint64_t start = 0;
        if (key.length > kHead) {
            if (!texts.empty()) texts.resize(texts.size() - kPadding);
            start = texts.size();
            texts.insert(texts.end(), text, text + key.length);
            texts.resize(texts.size() + kPadding);
        }
        records.push_back({{key.head[0], key.head[1]}, start, key.length, Extra{}});
        slots[free_slot(key.hash)] = {key.hash, id};
        return id;
    }

    size_t free_slot(uint32_t hash) const {
        size_t slot = hash & mask();
        while (slots[slot].id >= 0) slot = (slot + 1) & mask();
        return slot;
    }

    void grow() {
        std::vector<Slot> before(2 * slots.size());
        before.swap(slots);
        for (const Slot& slot : before)
            if (slot.id >= 0) slots[free_slot(slot.hash)] = slot;
    }

    std::vector<Slot> slots;
    std::vector<Record> records;
    std::vector<char> texts;  // of terms longer than their heads, with padding behind the last
};

struct NothingElse {};
using Terms = TermTable<NothingElse>;

}  // namespace likelier
