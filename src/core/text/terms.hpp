// Terms, each with a number: a hash table of short texts that lie one after the other.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "text/unicode.hpp"

namespace likelier {

inline uint64_t folded_product(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Up to 8 bytes as a number. At least 8 bytes can be read.
inline uint64_t few_bytes(const char* text, size_t length) {
    uint64_t word;
    std::memcpy(&word, text, 8);
    return length >= 8 ? word : word & ((1ull << 8 * length) - 1);
}

inline uint64_t hash_of(const char* text, size_t length) {
    constexpr uint64_t kOdd = 0x9E3779B97F4A7C15ull, kOther = 0xD1B54A32D192ED03ull;
    uint64_t hash = length * kOdd ^ kOther;
    while (length > 8) {
        hash = folded_product(hash ^ few_bytes(text, 8), kOdd);
        text += 8;
        length -= 8;
    }
    return folded_product(hash ^ (length > 0 ? few_bytes(text, length) : 0), kOther);
}

class Terms {
  public:
    Terms() : slots(1024, kFree) {}

    int64_t size() const { return static_cast<int64_t>(records.size()); }

    std::string_view text(int64_t id) const {
        const Record& record = records[static_cast<size_t>(id)];
        return {texts.data() + record.start, record.length};
    }

    // The number of a term, -1 if it is unknown. kPadding bytes behind it can be read.
    int64_t find(const char* text, size_t length) const {
        return slots[slot_of(text, length, hash_of(text, length))];
    }

    int64_t find_or_add(const char* text, size_t length) {
        const uint64_t hash = hash_of(text, length);
        size_t slot = slot_of(text, length, hash);
        if (slots[slot] != kFree) return slots[slot];
        if (2 * (records.size() + 1) > slots.size()) {
            grow();
            slot = slot_of(text, length, hash);
        }
        slots[slot] = static_cast<int32_t>(records.size());
        add(text, length, hash);
        return slots[slot];
    }

    // The bytes of all terms, one after the other, with padding behind the last.
    const std::vector<char>& bytes() const { return texts; }

  private:
    static constexpr int32_t kFree = -1;

    // Short terms are compared without a look at `texts`.
    struct Record {
        uint64_t hash;
        uint64_t head[2];
        uint64_t start;
        size_t length;
    };

    static Record record_of(const char* text, size_t length, uint64_t hash) {
        return {
            hash, {few_bytes(text, length), length > 8 ? few_bytes(text + 8, length - 8) : 0}, 0, length};
    }

    bool equal(const Record& one, const char* text, size_t length, uint64_t hash) const {
        if (one.hash != hash || one.length != length) return false;
        if (length > 16) return std::memcmp(texts.data() + one.start, text, length) == 0;
        return one.head[0] == few_bytes(text, length) &&
               (length <= 8 || one.head[1] == few_bytes(text + 8, length - 8));
    }

    size_t slot_of(const char* text, size_t length, uint64_t hash) const {
        const size_t mask = slots.size() - 1;
        size_t slot = hash & mask;
        while (slots[slot] != kFree &&
               !equal(records[static_cast<size_t>(slots[slot])], text, length, hash))
            slot = (slot + 1) & mask;
        return slot;
    }

    void add(const char* text, size_t length, uint64_t hash) {
        Record record = record_of(text, length, hash);
        if (!texts.empty()) texts.resize(texts.size() - kPadding);
        record.start = texts.size();
        texts.insert(texts.end(), text, text + length);
        texts.resize(texts.size() + kPadding);
        records.push_back(record);
    }

    void grow() {
        slots.assign(2 * slots.size(), kFree);
        const size_t mask = slots.size() - 1;
        for (size_t id = 0; id < records.size(); ++id) {
            size_t slot = records[id].hash & mask;
            while (slots[slot] != kFree) slot = (slot + 1) & mask;
            slots[slot] = static_cast<int32_t>(id);
        }
    }

    std::vector<int32_t> slots;
    std::vector<Record> records;
    std::vector<char> texts;
};

}  // namespace likelier
