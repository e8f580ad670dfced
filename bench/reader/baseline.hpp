// The bare simdjson pass that the reader is measured against: the whole file in memory, On-Demand over the
// whole document, every event's phase, category, name, start, duration, process, thread and arguments
// touched, nothing stored.
//
// simdjson's own limit applies: a document must be smaller than 4 GB.
#pragma once

#include <cstdint>
#include <string>

namespace tracelens::bench {

/// What the pass saw; it exists so that no work can be optimised away, and to check that both readers saw the
/// same.
struct BaselineTotals {
    std::uint64_t file_bytes = 0;
    std::uint64_t events = 0;
    std::uint64_t complete_events = 0;  ///< ph == "X"
    std::uint64_t phase_bytes = 0;      ///< lengths of the strings as they are in the file, escapes included
    std::uint64_t category_bytes = 0;
    std::uint64_t name_bytes = 0;
    std::uint64_t track_bytes = 0;  ///< pid and tid, which may be numbers or strings (quotes included)
    std::uint64_t args_bytes = 0;   ///< raw JSON of args
    double start_sum = 0;           ///< us
    double duration_sum = 0;        ///< us
};

/// Throws simdjson::simdjson_error if the file cannot be read or is not a trace.
BaselineTotals baseline_pass(const std::string& path);

}  // namespace tracelens::bench
