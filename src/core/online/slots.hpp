// The table of an online learner: 2^bits slots and one for the intercept, each with what is known of the
// feature that took it and a pair of numbers for each score.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace likelier {

// A weight and the squared gradients that it has met; of FTRL, its z and n.
struct Pair {
    float w, G;
};

struct Slot {
    float most;    // the largest |x| so far
    uint32_t tag;  // of the feature that came first; 0: none has
    float seen;    // the weight of the rows that had it
    float mean;    // of x in those rows
    float square;  // the mean of x² in those rows
    uint32_t
        renewal;  // how often the table's sums had been scaled down when it was last brought up to date

    // One more value, in a row of weight a.
    void count(double x, double a) {
        const double all = seen + a, part = a / all;
        most = std::max(most, static_cast<float>(std::abs(x)));
        mean = static_cast<float>(mean + part * (x - mean));
        square = static_cast<float>((1 - part) * square + part * x * x);
        seen = static_cast<float>(all);
    }

    Pair* pairs() { return reinterpret_cast<Pair*>(this + 1); }
    const Pair* pairs() const { return reinterpret_cast<const Pair*>(this + 1); }
};

constexpr int64_t kMostBytes = int64_t{1} << 35;

class NoRoom : public std::bad_alloc {
  public:
    const char* what() const noexcept override {
        return "there is no memory for the weights: use fewer bits, or fewer classes";
    }
};

// Zeros, of which pages that nothing was written to take no memory.
class Zeros {
  public:
    explicit Zeros(size_t bytes) : bytes(bytes) {
#ifdef __linux__
        at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw NoRoom();
        madvise(at, bytes, MADV_HUGEPAGE);  // rows reach all over the table: fewer pages to look up
#else
        at = std::calloc(bytes, 1);
        if (!at) throw NoRoom();
#endif
    }
    Zeros(Zeros&& other) noexcept : at(nullptr), bytes(0) { *this = std::move(other); }
    Zeros& operator=(Zeros&& other) noexcept {
        std::swap(at, other.at);
        std::swap(bytes, other.bytes);
        return *this;
    }
    ~Zeros() {
#ifdef __linux__
        if (at) munmap(at, bytes);
#else
        std::free(at);
#endif
    }

    char* begin() const { return static_cast<char*>(at); }

  private:
    void* at;
    size_t bytes;
};

class SlotTable {
  public:
    SlotTable(SlotTable&&) = default;
    SlotTable& operator=(SlotTable&&) = default;
    SlotTable(int bits, int64_t room)
        : bits(bits),
          room(room),
          size(checked(bits, room)),
          stride(bytes(room)),
          memory((size + 1) * stride) {}

    Slot& of(uint64_t key) const { return at(static_cast<int64_t>(key & (size - 1))); }
    Slot& intercept() const { return at(size); }
    Slot& at(int64_t number) const { return *reinterpret_cast<Slot*>(memory.begin() + number * stride); }

    // Whether anything was written there: what was not stays without memory.
    bool holds(int64_t number) const { return number == size || at(number).tag != 0; }

    // Pairs for at least `q` scores; those that are new are zeros.
    void widen(int64_t q) {
        if (q <= room) return;
        SlotTable wide(bits, wide_enough(q));
        for (int64_t s = 0; s <= size; ++s) {
            if (!holds(s)) continue;
            wide.at(s) = at(s);
            std::copy(at(s).pairs(), at(s).pairs() + room, wide.at(s).pairs());
        }
        *this = std::move(wide);
    }

    // Throws if so many scores are too many.
    void check(int64_t q) const { checked(bits, wide_enough(q)); }

    int64_t count() const { return size; }

  private:
    int bits;
    int64_t room;    // pairs in a slot
    int64_t size;    // slots beside the intercept's
    int64_t stride;  // bytes
    Zeros memory;

    static int64_t bytes(int64_t room) { return static_cast<int64_t>(sizeof(Slot) + room * sizeof(Pair)); }

    int64_t wide_enough(int64_t q) const {
        int64_t wide = room;
        while (wide < q) wide *= 2;
        return wide;
    }

    static int64_t checked(int bits, int64_t room) {
        const int64_t size = int64_t{1} << bits;
        if (bytes(room) > kMostBytes / size)
            throw std::length_error("a table of 2^" + std::to_string(bits) + " slots with room for " +
                                    std::to_string(room) + " scores takes more than " +
                                    std::to_string(kMostBytes >> 30) +
                                    " GB: use fewer bits, or fewer classes");
        return size;
    }
};

}  // namespace likelier
