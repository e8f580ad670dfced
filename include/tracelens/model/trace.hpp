/// `Trace`: everything that a profile recorded, as columns. One row per complete event, ordered by start time
/// (ties keep the file's order); instants, counters, flows and metadata in tables of their own. A finished
/// trace never changes and may be read from any number of threads.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracelens/core/diagnostics.hpp>
#include <tracelens/core/interval.hpp>
#include <tracelens/core/string_pool.hpp>
#include <tracelens/model/args.hpp>
#include <tracelens/model/event_kind.hpp>
#include <tracelens/model/track.hpp>

namespace tracelens {

/// A row of the event table.
using EventId = std::uint32_t;
inline constexpr EventId no_event = 0xffffffffU;

/// A missing 32-bit id.
inline constexpr std::int32_t no_small_number = std::numeric_limits<std::int32_t>::min();

/// How times are kept.
enum class Timestamps : std::uint8_t {
    exact,      ///< from the decimal text, 1000 ticks a microsecond
    reference,  ///< as IEEE doubles of absolute microseconds round them, for comparison with the reference
};

/// Numeric fields of ops and annotations.
struct OpFields {
    std::int64_t external_id = no_number;
    std::int64_t sequence_number = no_number;
    std::int64_t record_function_id = no_number;
    std::int32_t forward_thread = no_small_number;  ///< `Fwd thread id`
    std::int32_t ev_idx = no_small_number;
};

/// Numeric fields of Python frames. Ids beyond 32 bits count as missing.
struct FrameFields {
    std::int32_t python_id = no_small_number;
    std::int32_t parent_id = no_small_number;  ///< `Python parent id`
    std::int32_t module_id = no_small_number;  ///< `Python module id`, on nn.Module frames
    std::int32_t ev_idx = no_small_number;
};

/// Numeric fields of runtime calls and of what runs on a device.
struct LaunchFields {
    std::int64_t correlation = no_number;
    std::int64_t external_id = no_number;
};

struct Flow {
    std::int64_t time = 0;  ///< ticks
    std::int64_t id = 0;    ///< ids that are no 64-bit integers are hashed
    TrackId track{};
    StringId category = StringId::empty;
    StringId name = StringId::empty;
    std::uint32_t file_index = 0;
    char phase = 's';  ///< s start, t step, f finish
    bool binds_enclosing = false;
};

struct Instant {
    std::int64_t time = 0;  ///< ticks
    StringId name = StringId::empty;
    StringId category = StringId::empty;
    TrackId track{};
    ArgsId args = ArgsId::empty;
    std::uint32_t file_index = 0;
    char scope = 't';  ///< t thread, p process, g global
};

/// An allocator event (`[memory]` instants of PyTorch).
struct MemoryEvent {
    std::int64_t time = 0;  ///< ticks
    std::int64_t address = no_number;
    std::int64_t bytes = no_number;            ///< negative for a release
    std::int64_t total_allocated = no_number;  ///< bytes, after the event
    std::int64_t total_reserved = no_number;   ///< bytes, after the event
    std::int32_t device_type = no_small_number;
    std::int32_t device = no_small_number;
    TrackId track{};
    std::uint32_t file_index = 0;
};

/// Counters, asynchronous events, samples and object events: kept as they are.
struct OtherEvent {
    std::int64_t time = 0;  ///< ticks
    std::int64_t id = no_number;
    StringId name = StringId::empty;
    StringId category = StringId::empty;
    TrackId track{};
    ArgsId args = ArgsId::empty;
    std::uint32_t file_index = 0;
    char phase = '?';
};

/// A metadata event (`ph` = M), such as `process_name`. Its track carries the pid and tid that it describes.
struct MetadataEvent {
    StringId name = StringId::empty;
    TrackId track{};
    ArgsId args = ArgsId::empty;
    std::uint32_t file_index = 0;
};

/// A top-level key of the file beside the events, as JSON text.
struct Property {
    std::string key;
    std::string json;
};

struct Trace {
    // --- time ---
    std::int64_t ticks_per_us = 1000;
    std::int64_t epoch = 0;  ///< absolute time of tick 0, in ticks
    Timestamps timestamps = Timestamps::exact;

    // --- the event table: equal lengths, index by EventId ---
    std::vector<Ticks> start;
    std::vector<Ticks> end;  ///< never before `start`
    std::vector<StringId> name;
    std::vector<StringId> category;
    std::vector<EventKind> kind;
    std::vector<TrackId> track;
    std::vector<ArgsId> args;
    std::vector<std::uint32_t> fields;      ///< row of the side table that `field_family(kind)` names
    std::vector<std::uint32_t> file_index;  ///< position among all events of the file
    std::vector<double> duration_us;        ///< the recorded `dur`; only with `Timestamps::reference`

    // --- numeric fields, in event order ---
    std::vector<OpFields> ops;
    std::vector<FrameFields> frames;
    std::vector<LaunchFields> launches;

    // --- side tables, in file order ---
    std::vector<Flow> flows;
    std::vector<Instant> instants;
    std::vector<MemoryEvent> memory_events;
    std::vector<OtherEvent> counters;
    std::vector<OtherEvent> async_events;
    std::vector<OtherEvent> samples;
    std::vector<OtherEvent> object_events;
    std::vector<MetadataEvent> metadata;
    std::vector<Property> properties;

    // --- shared values ---
    StringPool strings;
    TrackTable tracks;
    ArgsTable signatures;

    // --- about the reading ---
    std::string path;
    std::string format;                          ///< such as "kineto-json"
    std::uint64_t stored_bytes = 0;              ///< of the file as it is on disk; 0 when unknown
    std::uint64_t text_bytes = 0;                ///< after decompression
    std::uint64_t file_events = 0;               ///< events of every phase, readable or not
    std::map<char, std::uint64_t> phase_counts;  ///< events that were kept, by `ph`
    Diagnostics diagnostics;

    std::size_t size() const noexcept { return start.size(); }
    Ticks duration(EventId event) const noexcept { return end[event] - start[event]; }
    double to_us(Ticks ticks) const noexcept {
        return static_cast<double>(ticks) / static_cast<double>(ticks_per_us);
    }

    /// The recorded duration in microseconds. With reference timestamps this is `dur` as written, which
    /// differs from end - start by rounding.
    double recorded_us(EventId event) const noexcept {
        return duration_us.empty() ? to_us(duration(event)) : duration_us[event];
    }

    std::string_view text(StringId id) const noexcept { return strings[id]; }
    std::string_view name_of(EventId event) const noexcept { return strings[name[event]]; }
    const Track& track_of(EventId event) const noexcept { return tracks[track[event]]; }

    /// The JSON text of an argument, when the event has it. Ids with columns of their own are not arguments.
    std::optional<std::string_view> arg(EventId event, std::string_view key) const noexcept {
        return find_arg(signatures, strings, args[event], key);
    }

    /// The event's fields. Precondition: its kind has that family.
    const OpFields& op_fields(EventId event) const noexcept { return ops[fields[event]]; }
    const FrameFields& frame_fields(EventId event) const noexcept { return frames[fields[event]]; }
    const LaunchFields& launch_fields(EventId event) const noexcept { return launches[fields[event]]; }

    /// The JSON text of a top-level key, when the file has it.
    std::optional<std::string_view> property(std::string_view key) const noexcept {
        for (const Property& each : properties) {
            if (each.key == key) return std::string_view(each.json);
        }
        return std::nullopt;
    }

    /// The earliest start and latest end of all complete events, in ticks; nothing without events. O(n).
    std::optional<Interval> span() const noexcept {
        if (start.empty()) return std::nullopt;
        Interval whole{start.front(), end.front()};
        for (const Ticks each : end) whole.end = each > whole.end ? each : whole.end;
        return whole;
    }
};

}  // namespace tracelens
