// Memory for large tables that are looked up at random places.
#pragma once

#include <cstddef>
#include <cstdlib>
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
        void* const at = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
        if (at == nullptr) throw std::bad_alloc();
#ifdef __linux__
        madvise(at, bytes, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(at);
    }

    void deallocate(T* at, size_t n) {
        if (n * sizeof(T) < kLarge)
            ::operator delete(at, kLine);
        else
            std::free(at);
    }

    bool operator==(const LargePages&) const { return true; }

  private:
    static constexpr size_t kPage = size_t{1} << 21, kLarge = 2 * kPage;
    static constexpr std::align_val_t kLine{64};
};

}  // namespace likelier
