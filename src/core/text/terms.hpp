// Terms, each with a number: a hash table of short texts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "text/large_pages.hpp"
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

    void prefetch_slot(const TermKey& key) const { __builtin_prefetch(&slots[first_slot(key)]); }

    // How many slots there are; if it has changed, places in the table have, too.
    size_t room() const { return slots.size(); }
    size_t first_slot(const TermKey& key) const { return key.hash & mask(); }

    // The first slot from there on that has the same hash, or nothing.
    size_t likely_slot(const TermKey& key) const {
        size_t slot = first_slot(key);
        while (slots[slot].id >= 0 && slots[slot].hash != key.hash) slot = (slot + 1) & mask();
        return slot;
    }

    // The number in a slot, of which the term is about to be looked at; -1: there is none.
    int64_t prefetch_record(size_t slot) const {
        const int32_t id = slots[slot].id;
        if (id >= 0) __builtin_prefetch(&records[static_cast<size_t>(id)]);
        return id;
    }

    // The number of a term, -1 if it is unknown. slot: where to begin, if that is known.
    int64_t find(const char* text, const TermKey& key, size_t slot) const {
        return slots[slot_of(text, key, slot)].id;
    }
    int64_t find(const char* text, size_t length) const {
        const TermKey key = key_of(text, length);
        return find(text, key, first_slot(key));
    }

    int64_t find_or_add(const char* text, const TermKey& key, size_t slot) {
        slot = slot_of(text, key, slot);
        return slots[slot].id >= 0 ? slots[slot].id : added(text, key);
    }
    int64_t find_or_add(const char* text, const TermKey& key) {
        return find_or_add(text, key, first_slot(key));
    }

    // The numbers of all terms in the order of their bytes, which for UTF-8 is that of code points.
    std::vector<int32_t> sorted() const {
        std::vector<Place> places(records.size()), dealt(records.size());
        for (size_t i = 0; i < places.size(); ++i)
            places[i] = {{in_text_order(records[i].head[0]), in_text_order(records[i].head[1])},
                         static_cast<int32_t>(i),
                         records[i].length};
        // By their first two bytes, then those with the same ones by comparing them.
        constexpr int kShift = 48;
        std::vector<size_t> ends((size_t{1} << 16) + 1);
        for (const Place& place : places) ends[(place.head[0] >> kShift) + 1]++;
        for (size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
        for (const Place& place : places) dealt[ends[place.head[0] >> kShift]++] = place;
        size_t first = 0;
        for (size_t end : ends) {
            sort_places(dealt.data() + first, dealt.data() + end);
            first = end;
        }
        std::vector<int32_t> ids(dealt.size());
        for (size_t i = 0; i < ids.size(); ++i) ids[i] = dealt[i].id;
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
        [[no_unique_address]] Extra extra;
    };
    static_assert(64 % sizeof(Record) == 0, "a record lies in one cache line");

    // What terms are sorted by.
    struct Place {
        uint64_t head[2];
        int32_t id;
        uint32_t length;
    };

    void sort_places(Place* first, Place* last) const {
        std::sort(first, last, [&](const Place& a, const Place& b) {
            if (a.head[0] != b.head[0]) return a.head[0] < b.head[0];
            if (a.head[1] != b.head[1]) return a.head[1] < b.head[1];
            if (a.length <= kHead || b.length <= kHead) return a.length < b.length;
            return text(a.id) < text(b.id);
        });
    }

    size_t mask() const { return slots.size() - 1; }

    bool equal(const Record& one, const char* text, const TermKey& key) const {
        if (one.head[0] != key.head[0] || one.head[1] != key.head[1] || one.length != key.length)
            return false;
        return key.length <= kHead ||
               std::memcmp(texts.data() + one.start + kHead, text + kHead, key.length - kHead) == 0;
    }

    // Where a term is, or could be put; not before `slot`.
    size_t slot_of(const char* text, const TermKey& key, size_t slot) const {
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
        Slots before(2 * slots.size());
        before.swap(slots);
        for (const Slot& slot : before)
            if (slot.id >= 0) slots[free_slot(slot.hash)] = slot;
    }

    using Slots = std::vector<Slot, LargePages<Slot>>;
    Slots slots;
    std::vector<Record, LargePages<Record>> records;
    std::vector<char> texts;  // of terms longer than their heads, with padding behind the last
};

struct NothingElse {};
using Terms = TermTable<NothingElse>;

}  // namespace likelier
