// Memory for large tables that are looked up at random places.
#pragma once

#include <cstddef>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace likelier {

// An allocator of whole cache lines. What is large lies on large pages, where the system has them: fewer
// addresses of pages to look up, and fewer faults while a table grows.
template <class T>
struct LargePages {
    using value_type = T;

    LargePages() = default;
    template <class U>
    LargePages(const LargePages<U>&) {}

    T* allocate(size_t n) {
        const size_t bytes = n * sizeof(T);
        if (bytes < kLarge) return static_cast<T*>(::operator new(bytes, kLine));
        void* const at = ::operator new(bytes, kPage);
#ifdef __linux__
        madvise(at, bytes, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(at);
    }

    void deallocate(T* at, size_t n) { ::operator delete(at, n * sizeof(T) < kLarge ? kLine : kPage); }

    bool operator==(const LargePages&) const { return true; }

  private:
    static constexpr std::align_val_t kLine{64}, kPage{1 << 21};
    static constexpr size_t kLarge = size_t{1} << 22;
};

}  // namespace likelier
