// A few threads for work that is shared out again and again, each time for less than a millisecond.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace likelier {

// Whoever has a core takes the next share: where another program holds a core, the thread that waits for
// it is not waited for, as long as it has taken nothing. Those who wait for the next call, or for the
// others to end their shares, give way to whoever else wants the core: most wait too short a time to be
// worth waking by the system. Those who wait longer sleep.
class Team {
  public:
    explicit Team(int64_t size) {
        for (int64_t k = 1; k < size; ++k) others.emplace_back([this] { follow(); });
    }

    ~Team() {
        ended = true;
        call(0);
        for (std::thread& each : others) each.join();
    }

    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int64_t size() const { return static_cast<int64_t>(others.size()) + 1; }

    // f(0), .., f(count - 1), on whichever threads are at hand.
    template <class F>
    void run(int64_t count, F&& f) {
        if (others.empty() || count == 1) {
            for (int64_t i = 0; i < count; ++i) f(i);
            return;
        }
        share = std::ref(f);
        done.store(0, std::memory_order_relaxed);
        call(count);
        take();
        await([&] { return done.load(std::memory_order_acquire) == count; });
    }

  private:
    std::vector<std::thread> others;
    std::function<void(int64_t)> share;
    std::atomic<int64_t> called{0};  // calls
    std::atomic<int64_t> next{0};    // of the call of this number, the first share that nobody has taken
    std::atomic<int64_t> shares{0}, done{0};
    std::atomic<bool> ended{false};

    static constexpr int64_t kOfCall = int64_t{1} << 32;

    void call(int64_t count) {
        const int64_t number = called.load(std::memory_order_relaxed) + 1;
        shares.store(count, std::memory_order_relaxed);
        next.store(number * kOfCall, std::memory_order_release);
        called.store(number, std::memory_order_release);
        called.notify_all();
    }

    // Shares, until none is left. One that is taken belongs to the call that was seen before, or `next`
    // would have moved on; that call does not return before the share is done.
    void take() {
        int64_t seen = next.load(std::memory_order_acquire);
        for (;;) {
            const int64_t i = seen % kOfCall;
            if (i >= shares.load(std::memory_order_acquire)) return;
            if (!next.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) continue;
            share(i);
            done.fetch_add(1, std::memory_order_release);
            seen = next.load(std::memory_order_acquire);
        }
    }

    void follow() {
        for (int64_t heard = 0;;) {
            await([&] { return called.load(std::memory_order_acquire) != heard; },
                  [&] { called.wait(heard, std::memory_order_acquire); });
            heard = called.load(std::memory_order_acquire);
            if (ended) return;
            take();
        }
    }

    template <class Ready>
    static void await(Ready&& ready) {
        await(ready, [] { std::this_thread::yield(); });
    }

    template <class Ready, class Sleep>
    static void await(Ready&& ready, Sleep&& sleep) {
        for (int turn = 0; !ready(); ++turn) {
            if (turn > kYields)
                sleep();
            else if (turn > kSpins)
                std::this_thread::yield();
        }
    }

    static constexpr int kSpins = 1000, kYields = 1500;
};

// Cuts 0 = c_0 <= .. <= c_size = n between rows, with about as many stored cells in each share.
template <class I>
std::vector<int64_t> even_cuts(const I* starts, int64_t n, int64_t size) {
    std::vector<int64_t> cuts(size + 1, n);
    for (int64_t k = 0; k < size; ++k) {
        const auto cell = static_cast<I>(starts[0] + (starts[n] - starts[0]) / size * k);
        cuts[k] = std::lower_bound(starts, starts + n, cell) - starts;
    }
    cuts[0] = 0;
    return cuts;
}

}  // namespace likelier
