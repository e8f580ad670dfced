/// Bodies of core/parallel.hpp.
#pragma once

#include <algorithm>
#include <thread>
#include <vector>
#if TRACELENS_EXCEPTIONS
#include <exception>
#include <mutex>
#endif

#include <tracelens/core/inline.hpp>
#include <tracelens/core/parallel.hpp>

namespace tracelens {

TRACELENS_INLINE unsigned resolve_threads(unsigned requested) noexcept {
    if (requested != 0) return requested;
    return std::max(1U, std::thread::hardware_concurrency());
}

TRACELENS_INLINE void run_workers(unsigned workers, const std::function<void(unsigned)>& body) {
    if (workers <= 1) {
        if (workers == 1) body(0);
        return;
    }
#if TRACELENS_EXCEPTIONS
    std::exception_ptr first;
    std::mutex guard;
    const auto guarded = [&](unsigned worker) {
        try {
            body(worker);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(guard);
            if (!first) first = std::current_exception();
        }
    };
#else
    const auto& guarded = body;
#endif
    // Joins what was started, also when the system refuses another thread.
    struct Joiner {
        std::vector<std::thread> threads;
        ~Joiner() {
            for (std::thread& thread : threads) thread.join();
        }
    };
    {
        Joiner joiner;
        joiner.threads.reserve(workers - 1);
        for (unsigned worker = 1; worker < workers; ++worker) joiner.threads.emplace_back(guarded, worker);
        guarded(0);
    }
#if TRACELENS_EXCEPTIONS
    if (first) std::rethrow_exception(first);
#endif
}

TRACELENS_INLINE void parallel_for(std::size_t count, std::size_t grain, unsigned threads,
                                   const std::function<void(std::size_t, std::size_t)>& body) {
    if (count == 0) return;
    grain = std::max<std::size_t>(grain, 1);
    const std::size_t most = count / grain + (count % grain != 0 ? 1 : 0);
    const auto workers = static_cast<unsigned>(std::min<std::size_t>(resolve_threads(threads), most));
    if (workers <= 1) {
        body(0, count);
        return;
    }
    run_workers(workers, [&](unsigned worker) {
        const std::size_t share = count / workers;
        const std::size_t extra = count % workers;  // the first workers take one more
        const std::size_t begin = worker * share + std::min<std::size_t>(worker, extra);
        const std::size_t end = begin + share + (worker < extra ? 1 : 0);
        if (begin < end) body(begin, end);
    });
}

}  // namespace tracelens
