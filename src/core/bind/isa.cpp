// The highest x86-64 level of this machine, asked for before any module that uses it is loaded.
#include <nanobind/nanobind.h>

static int level() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    // Not every compiler knows the names of all that a level contains; no machine has these without those.
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    return v4 ? 4 : v3 ? 3 : 2;
#else
    return 0;
#endif
}

NB_MODULE(isa, m) {
    m.def("level", &level, "4, 3 or 2 on x86-64; 0 elsewhere.");
}
