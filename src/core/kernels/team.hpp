// A few threads for work that is shared out again and again, each time for less than a millisecond.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace likelier {

// Those who wait for the next share, or for the others to end theirs, give way to whoever else wants the
// core: most wait too short a time to be worth waking by the system. Those who wait longer sleep.
class Team {
  public:
    explicit Team(int64_t size) {
        for (int64_t k = 1; k < size; ++k) others.emplace_back([this, k] { follow(k); });
    }

    ~Team() {
        ended = true;
        called.fetch_add(1, std::memory_order_release);
        called.notify_all();
        for (std::thread& each : others) each.join();
    }

    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int64_t size() const { return static_cast<int64_t>(others.size()) + 1; }

    // f(0), .., f(size - 1), each on a thread of its own; f(0) on this one.
    template <class F>
    void run(F&& f) {
        if (others.empty()) return f(0);
        share = std::ref(f);
        done.store(0, std::memory_order_relaxed);
        called.fetch_add(1, std::memory_order_release);
        called.notify_all();
        f(0);
        await([&] { return done.load(std::memory_order_acquire) == static_cast<int64_t>(others.size()); });
    }

  private:
    std::vector<std::thread> others;
    std::function<void(int64_t)> share;
    std::atomic<int64_t> called{0}, done{0};
    std::atomic<bool> ended{false};

    void follow(int64_t k) {
        for (int64_t heard = 0;;) {
            await([&] { return called.load(std::memory_order_acquire) != heard; },
                  [&] { called.wait(heard, std::memory_order_acquire); });
            ++heard;
            if (ended) return;
            share(k);
            done.fetch_add(1, std::memory_order_release);
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
