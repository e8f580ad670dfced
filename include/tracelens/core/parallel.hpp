/// Loops over worker threads. Threads exist only inside a call, and never more than asked for.
#pragma once

#include <cstddef>
#include <functional>

#include <tracelens/config.hpp>

namespace tracelens {

/// How many workers `requested` means: itself, or the machine's hardware threads for 0. At least 1.
unsigned resolve_threads(unsigned requested) noexcept;

/// Runs `body(worker)` once for each worker in [0, workers) at the same time, the calling thread being worker
/// 0. Returns when all are done. The first exception that a worker throws is rethrown here after that.
void run_workers(unsigned workers, const std::function<void(unsigned)>& body);

/// Runs `body(begin, end)` over disjoint ranges that cover [0, count), on at most `threads` workers (0: all).
/// Ranges shorter than `grain` are not split further, so small loops stay on the calling thread.
void parallel_for(std::size_t count, std::size_t grain, unsigned threads,
                  const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace tracelens

#if !defined(TRACELENS_COMPILED)
#include <tracelens/core/parallel-inl.hpp>
#endif
