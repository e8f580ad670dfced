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
        body(0);
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
    std::vector<std::thread> threads;
    threads.reserve(workers - 1);
    for (unsigned worker = 1; worker < workers; ++worker) threads.emplace_back(guarded, worker);
    guarded(0);
    for (std::thread& thread : threads) thread.join();
#if TRACELENS_EXCEPTIONS
    if (first) std::rethrow_exception(first);
#endif
}

TRACELENS_INLINE void parallel_for(std::size_t count, std::size_t grain, unsigned threads,
                                   const std::function<void(std::size_t, std::size_t)>& body) {
    if (count == 0) return;
    const std::size_t most = (count + std::max<std::size_t>(grain, 1) - 1) / std::max<std::size_t>(grain, 1);
    const auto workers = static_cast<unsigned>(std::min<std::size_t>(resolve_threads(threads), most));
    if (workers <= 1) {
        body(0, count);
        return;
    }
    run_workers(workers, [&](unsigned worker) {
        const std::size_t begin = count * worker / workers;
        const std::size_t end = count * (worker + 1) / workers;
        if (begin < end) body(begin, end);
    });
}

}  // namespace tracelens
