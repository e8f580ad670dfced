// The faults that users of GPU profilers report in traces, by name, for a generated trace to have.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tracelens::synth {

struct Options;

enum class Defect : std::uint8_t {
    control_characters,
    backslashes,
    not_finite_args,
    not_finite_durations,
    truncated,
    truncated_gzip,
    trailing_comma,
    no_closing_brackets,
    legacy_array,
    gzip_members,
    no_header_keys,
    string_times,
    merged_ranks,
    rocm_legacy_copies,
    absurd_duration,
    small_overlaps,
    duplicate_flows,
    graph_collapsed,
    negative_durations,
    wrapped_durations,
    sync_and_overhead,
    collective_names,
    cpu_only,
};

struct DefectFacts {
    Defect defect;
    std::string_view name;
    std::string_view about;
    bool is_placed;  ///< sits on single events, at a place; the others are everywhere in the trace
};

/// A defect that a trace is to have. `place` is where a placed one sits, from 0 (start) to 1 (end): counted
/// over those events of the array that it can sit on.
struct DefectChoice {
    Defect defect;
    double place = 0.5;
};

/// All defects, in the order of the enum.
std::span<const DefectFacts> all_defects();

/// Reads `NAME` or `NAME@PLACE`. Throws std::invalid_argument.
DefectChoice parse_defect(std::string_view text);

bool has(const Options& options, Defect defect);

/// `options` with what the chosen defects imply. Throws std::invalid_argument for defects that the other
/// options or each other rule out.
Options with_defects(Options options);

}  // namespace tracelens::synth
