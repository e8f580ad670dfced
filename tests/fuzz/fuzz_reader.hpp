// The reader and all that follows it, on any bytes.
#pragma once

#include <cstddef>
#include <string_view>

#include <tracelens/core/file.hpp>
#include <tracelens/read/kineto.hpp>

#include "analysis_checks.hpp"
#include "ensure.hpp"
#include "fuzz_parsers.hpp"
#include "same_trace.hpp"
#include "trace_checks.hpp"

namespace fuzz {

using namespace tracelens;

struct Windows {
    std::size_t bytes;
    std::size_t most_event_bytes;
};

/// All of a fuzzer's input at once.
inline constexpr Windows one_window = {std::size_t{1} << 15, std::size_t{1} << 20};
inline constexpr Windows small_windows = {192, std::size_t{1} << 20};
/// Giving up on a stretch without events comes within a fuzzer's reach.
inline constexpr Windows hasty_windows = {1, 256};

inline Result<Trace> read_bytes(std::string_view bytes, Timestamps timestamps, const Windows& windows) {
    ReadOptions options;
    options.threads = 1;
    options.timestamps = timestamps;
    options.window_bytes = windows.bytes;
    options.max_event_bytes = windows.most_event_bytes;
    return try_read_kineto(memory_source(bytes), "fuzz", options);
}

/// Reads the bytes in both timestamp modes and with windows of several sizes, and analyses what is a trace.
inline void fuzz_reader(std::string_view bytes) {
    const Result<Trace> whole = read_bytes(bytes, Timestamps::exact, one_window);
    const Result<Trace> parts = read_bytes(bytes, Timestamps::exact, small_windows);
    ensure(parts.ok() == whole.ok(), "the window size does not decide what is a trace");
    if (!whole) {
        ensure(!whole.failure().reason.empty(), "a failure has a reason");
        return;
    }
    check_trace(*whole);
    check_trace(*parts);
    if (whole->diagnostics.empty()) {
        ensure(parts->diagnostics.empty(), "no window size finds fault with a flawless trace");
        ensure_same_trace(*whole, *parts);
        ensure_same_properties(*whole, *parts);
    } else {
        // Where text is damaged, the cuts may decide what can be saved of it.
        const Result<Trace> hasty = read_bytes(bytes, Timestamps::exact, hasty_windows);
        if (hasty) check_trace(*hasty);
    }
    fuzz_parsers(bytes, *whole);
    analyse(*whole);
    const Result<Trace> reference = read_bytes(bytes, Timestamps::reference, small_windows);
    ensure(reference.ok(), "timestamps do not decide what is a trace");
    check_trace(*reference);
    analyse(*reference);
}

}  // namespace fuzz
