// The highest x86-64 level of this machine, asked for before any module that uses it is loaded.
#include <nanobind/nanobind.h>

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstdint>

namespace {

// The processor is asked directly: what compilers offer for it (__builtin_cpu_supports) needs a part of
// their runtime that not every one of them can link into a shared module.
struct Registers {
    uint32_t a = 0, b = 0, c = 0, d = 0;
};

Registers answer(uint32_t leaf, uint32_t part = 0) {
    Registers r;
    if (__get_cpuid_count(leaf, part, &r.a, &r.b, &r.c, &r.d) == 0) return {};
    return r;
}

// Which registers the operating system keeps from one program to the next.
uint32_t kept_registers() {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

bool has(uint32_t word, uint32_t bits) {
    return (word & bits) == bits;
}

// Not all that a level contains is asked for: no machine has the rest without these.
int level() {
    const Registers one = answer(1), seven = answer(7);
    const uint32_t v2 =
        1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23;  // SSE3 to 4.2, POPCNT
    if (!has(one.c, v2)) return 1;
    const bool saved = has(one.c, 1u << 27);                                   // OSXSAVE
    const uint32_t vectors = 1u << 12 | 1u << 28 | 1u << 29;                   // FMA, AVX, F16C
    const uint32_t v3 = 1u << 3 | 1u << 5 | 1u << 8;                           // BMI1, AVX2, BMI2
    const uint32_t v4 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;  // AVX-512 F, DQ, CD, BW, VL
    if (!saved || !has(one.c, vectors) || !has(seven.b, v3) || !has(kept_registers(), 0x6)) return 2;
    return has(seven.b, v4) && has(kept_registers(), 0xe6) ? 4 : 3;
}

}  // namespace
#else
static int level() {
    return 0;
}
#endif

NB_MODULE(isa, m) {
    m.def("level", &level, "4, 3, 2 or, where likelier cannot run, 1 on x86-64; 0 elsewhere.");
}
