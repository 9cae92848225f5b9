// Vectors of doubles as wide as the instruction level that this file is compiled for.
//
// The kernels are written once, in terms of `vd`; the three modules of the package compile them for
// 16, 32 and 64 bytes. Multiplications followed by additions are contracted to FMA by the compiler
// where the level has it. Nothing here may be compiled with -ffast-math: NaN has a meaning.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

namespace likelier {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kRegisters = 32;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
constexpr int kRegisters = 16;
#else
constexpr int kVectorBytes = 16;
constexpr int kRegisters = 16;
#endif

constexpr int kLanes = kVectorBytes / 8;

// Register tiles must end up in registers: loops over them unrolled, functions around them inlined.
#define LIKELIER_INLINE inline __attribute__((always_inline))
// Long functions that are called seldom beside what they do: compiled once, not into each of their callers.
#define LIKELIER_APART __attribute__((noinline))
#if defined(__clang__)
#define LIKELIER_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LIKELIER_UNROLL _Pragma("GCC unroll 16")
#endif

using vd = double __attribute__((vector_size(kVectorBytes)));
using vu = uint64_t __attribute__((vector_size(kVectorBytes)));  // bits: these may wrap round

// Memory that begins on a cache line: a vector that straddles two of them costs double.
template <class T>
struct OnLine {
    using value_type = T;
    static constexpr std::align_val_t kLine{64};

    OnLine() = default;
    template <class U>
    OnLine(const OnLine<U>&) {}
    T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
    void deallocate(T* p, size_t) { ::operator delete(p, kLine); }
    bool operator==(const OnLine&) const { return true; }
};

using Buffer = std::vector<double, OnLine<double>>;

LIKELIER_INLINE vd load(const double* from) {
    vd v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

LIKELIER_INLINE void store(double* to, vd v) {
    std::memcpy(to, &v, sizeof v);
}

// x - 0 is x, also for -0 and NaN, and the compiler knows it: one broadcast.
LIKELIER_INLINE vd splat(double x) {
    return x - vd{};
}

// Lanes chosen from two vectors, numbered on through both. (A builtin that GCC and Clang share.)
template <class Choose, size_t... I>
LIKELIER_INLINE vd shuffled(vd a, vd b, Choose, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, Choose::lane(static_cast<int>(I))...);
}

template <class Choose>
LIKELIER_INLINE vd shuffled(vd a, vd b) {
    return shuffled(a, b, Choose{}, std::make_index_sequence<kLanes>{});
}

// Of rows a and b, Step apart, the halves that belong to a and to b when the square is turned over.
template <int Step>
struct ToUpper {
    static constexpr int lane(int i) { return (i & Step) ? i - Step + kLanes : i; }
};
template <int Step>
struct ToLower {
    static constexpr int lane(int i) { return (i & Step) ? i + kLanes : i + Step; }
};

// The square of vectors v[0 .. kLanes) turned over its diagonal: log2(kLanes) rounds of exchanging
// halves, quarters and so on between pairs of rows.
template <int Step>
LIKELIER_INLINE void exchange(vd* v) {
    if constexpr (Step > 0) {
        LIKELIER_UNROLL
        for (int i = 0; i < kLanes; ++i)
            if ((i & Step) == 0) {
                const vd a = v[i], b = v[i + Step];
                v[i] = shuffled<ToUpper<Step>>(a, b);
                v[i + Step] = shuffled<ToLower<Step>>(a, b);
            }
        exchange<Step / 2>(v);
    }
}

LIKELIER_INLINE void transpose(vd (&v)[kLanes]) {
    exchange<kLanes / 2>(v);
}

// The upper half of the lanes in place of the lower one.
template <int Lanes>
struct UpperHalf {
    static constexpr int lane(int i) { return (i + Lanes / 2) % kLanes; }
};

// The sum over the lanes, in halves.
template <int Lanes = kLanes>
LIKELIER_INLINE double total(vd v) {
    if constexpr (Lanes == 1)
        return v[0];
    else
        return total<Lanes / 2>(v + shuffled<UpperHalf<Lanes>>(v, v));
}

// The sums over the lanes of v[0 .. kLanes), each in its lane: of rows Step apart, halves are added up,
// until one vector is left.
template <int Step = kLanes / 2>
LIKELIER_INLINE vd totals(vd (&v)[kLanes]) {
    if constexpr (Step == 0) {
        return v[0];
    } else {
        LIKELIER_UNROLL
        for (int i = 0; i < Step; ++i)
            v[i] = shuffled<ToUpper<Step>>(v[i], v[i + Step]) + shuffled<ToLower<Step>>(v[i], v[i + Step]);
        return totals<Step / 2>(v);
    }
}

// e^x to about one unit in the last place, for x <= 709; zero below -708 (no denormals).
//
// x = n ln 2 + r with |r| <= ln 2 / 2 (Cody and Waite 1980); Taylor to the 13th power of r leaves
// 4e-18; 2^n goes straight into the exponent bits. NaN stays NaN.
LIKELIER_INLINE vd exp(vd x) {
    const vd shift = splat(6755399441055744.0);  // 1.5 * 2^52: the sum holds the rounded integer
    const vd t = x * splat(1.4426950408889634) + shift;
    const vd n = t - shift;
    vd r = x - n * splat(6.93145751953125e-1);
    r = r - n * splat(1.42860682030941723212e-6);
    vd q = splat(1.0 / 6227020800.0);
    for (const double c :
         {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0,
          1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0})
        q = q * r + splat(c);
    vu bits, scale;
    std::memcpy(&bits, &t, sizeof bits);
    std::memcpy(&scale, &q, sizeof scale);
    scale += bits << 52;
    vd e;
    std::memcpy(&e, &scale, sizeof e);
    return x < splat(-708.0) ? splat(0.0) : (x != x ? x : e);
}

// ln(1 + u) to about one unit in the last place, for u >= 0 that is finite. NaN stays NaN.
//
// 1 + u = 2^k (1 + f) with 1 + f in [√½, √2): f = (x - 1 + what rounding x = 1 + u has lost) is exact for a
// small u. With s = f / (2 + f), ln(1 + f) = 2 artanh s = f - s (f - Σ 2 s^{2i} / (2i + 1)), in which f
// stands alone and only a correction to it is rounded; 10 terms of the sum leave 1e-18.
LIKELIER_INLINE vd log1p(vd u) {
    const vd x = splat(1.0) + u, back = x - splat(1.0);
    const vd lost = (splat(1.0) - (x - back)) + (u - back);
    vu bits;
    std::memcpy(&bits, &x, sizeof bits);
    const vu root = vu{} + 0x3fe6a09e667f3bcdULL;    // √½
    const vu power = (bits - root) >> 52;            // k: x >= 1, so it is not negative
    const vu whole = power + 0x4330000000000000ULL;  // 2^52 + k as a number
    const vu mantissa = bits - (power << 52), scale = (1023 - power) << 52;  // 2^-k
    vd k, m, down;
    std::memcpy(&k, &whole, sizeof k);
    std::memcpy(&m, &mantissa, sizeof m);
    std::memcpy(&down, &scale, sizeof down);
    k -= splat(4503599627370496.0);
    const vd f = (m - splat(1.0)) + lost * down, s = f / (splat(2.0) + f), t = s * s;
    vd q = splat(2.0 / 21.0);
    for (const double c : {2.0 / 19.0, 2.0 / 17.0, 2.0 / 15.0, 2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0,
                           2.0 / 5.0, 2.0 / 3.0})
        q = q * t + splat(c);
    return k * splat(6.93145751953125e-1) + (f - (s * (f - q * t) - k * splat(1.42860682030941723212e-6)));
}

}  // namespace likelier
