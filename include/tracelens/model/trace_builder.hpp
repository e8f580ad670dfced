/// `TraceBuilder` collects events in any order; `finish_trace` turns one or more builders into a `Trace`. A
/// reader with several threads gives each thread a builder and marks the part that comes from one stretch of
/// the file as a *segment*, so that the finished trace does not depend on which thread read what.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <tracelens/core/chunked.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

/// A time or duration on its way into a trace. With `Timestamps::exact`: nanoseconds. With
/// `Timestamps::reference`: the bits of a double of microseconds. `time_from_ns` and `time_from_us` make
/// them.
using TimeWord = std::int64_t;

/// One complete event. Only the fields of the family of `kind` are kept.
struct CompleteEvent {
    TimeWord start = 0;
    TimeWord duration = 0;  ///< not negative
    StringId name = StringId::empty;
    StringId category = StringId::empty;
    EventKind kind = EventKind::other;
    TrackId track{};
    ArgsId args = ArgsId::empty;
    OpFields op;
    FrameFields frame;
    LaunchFields launch;
};

/// Runs `task(i)` for i in [0, count), possibly at the same time. The default runs them one after the other.
using TaskRunner = std::function<void(std::size_t count, const std::function<void(std::size_t)>& task)>;

class TraceBuilder {
  public:
    explicit TraceBuilder(Timestamps timestamps = Timestamps::exact) : timestamps_(timestamps) {}

    // --- shared values: ids of this builder ---
    StringPool& strings() noexcept { return strings_; }
    TrackTable& tracks() noexcept { return tracks_; }
    ArgsTable& signatures() noexcept { return signatures_; }
    Timestamps timestamps() const noexcept { return timestamps_; }

    // --- segments ---

    /// All that follows belongs to stretch `sequence` of the file. Without a call everything is stretch 0.
    void begin_segment(std::uint64_t sequence) { segments_.push_back({sequence, sizes(), 0, {}}); }

    /// Forgets the events since `begin_segment`. Interned values stay.
    void roll_back_segment() {
        Segment& segment = current();
        truncate(segment.begin);
        segment.file_events = 0;
        segment.phase_counts.fill(0);
    }

    /// Counts one more event of the file; the rows added until the next call carry its position.
    void next_event() { ++current().file_events; }

    /// Counts the current event as kept.
    void count_phase(char phase) { ++current().phase_counts[static_cast<unsigned char>(phase) & 127]; }

    // --- events ---

    void add(const CompleteEvent& event) {
        file_index_.push_back(position());
        start_.push_back(event.start);
        duration_.push_back(event.duration);
        name_.push_back(event.name);
        category_.push_back(event.category);
        kind_.push_back(event.kind);
        track_.push_back(event.track);
        args_.push_back(event.args);
        std::size_t row = 0;
        switch (field_family(event.kind)) {
            case FieldFamily::op: row = append(ops_, event.op); break;
            case FieldFamily::frame: row = append(frames_, event.frame); break;
            case FieldFamily::launch: row = append(launches_, event.launch); break;
            case FieldFamily::none: break;
        }
        fields_.push_back(static_cast<std::uint32_t>(row));
    }

    /// A `B` event: complete once its `E` event is known. `event.duration` is ignored.
    void begin_span(CompleteEvent event) {
        current();
        event.duration = 0;
        span_begins_.push_back(static_cast<std::uint32_t>(start_.size()));
        add(event);
    }

    /// An `E` event.
    void end_span(TimeWord time, TrackId track) { span_ends_.push_back({time, track, position()}); }

    void add(Flow flow) { add_positioned(flows_, flow); }
    void add(Instant instant) { add_positioned(instants_, instant); }
    void add(MemoryEvent event) { add_positioned(memory_events_, event); }
    void add(MetadataEvent event) { add_positioned(metadata_, event); }
    void add_counter(OtherEvent event) { add_positioned(counters_, event); }
    void add_async(OtherEvent event) { add_positioned(async_events_, event); }
    void add_sample(OtherEvent event) { add_positioned(samples_, event); }
    void add_object(OtherEvent event) { add_positioned(object_events_, event); }

    std::size_t event_count() const noexcept { return start_.size(); }

  private:
    friend class TraceAssembler;

    struct SpanEnd {
        TimeWord time;
        TrackId track;
        std::uint32_t file_index;
    };

    /// Lengths of everything that grows.
    struct Sizes {
        std::size_t events, ops, frames, launches, span_begins, span_ends, flows, instants, memory_events,
            counters, async_events, samples, object_events, metadata, strings, tracks, signatures;
    };

    struct Segment {
        std::uint64_t sequence;
        Sizes begin;
        std::uint32_t file_events;
        std::array<std::uint32_t, 128> phase_counts;  // by character
    };

    Segment& current() {
        if (segments_.empty()) begin_segment(0);
        return segments_.back();
    }

    std::uint32_t position() {
        const std::uint32_t events = current().file_events;
        return events == 0 ? 0 : events - 1;
    }

    template <class T>
    static std::size_t append(ChunkedColumn<T>& column, const T& value) {
        column.push_back(value);
        return column.size() - 1;
    }

    template <class T>
    void add_positioned(ChunkedColumn<T>& column, T& value) {
        value.file_index = position();
        column.push_back(value);
    }

    Sizes sizes() const noexcept {
        return {start_.size(),         ops_.size(),       frames_.size(),       launches_.size(),
                span_begins_.size(),   span_ends_.size(), flows_.size(),        instants_.size(),
                memory_events_.size(), counters_.size(),  async_events_.size(), samples_.size(),
                object_events_.size(), metadata_.size(),  strings_.size(),      tracks_.size(),
                signatures_.size()};
    }

    void truncate(const Sizes& to) noexcept {
        start_.truncate(to.events);
        duration_.truncate(to.events);
        name_.truncate(to.events);
        category_.truncate(to.events);
        kind_.truncate(to.events);
        track_.truncate(to.events);
        args_.truncate(to.events);
        fields_.truncate(to.events);
        file_index_.truncate(to.events);
        ops_.truncate(to.ops);
        frames_.truncate(to.frames);
        launches_.truncate(to.launches);
        span_begins_.truncate(to.span_begins);
        span_ends_.truncate(to.span_ends);
        flows_.truncate(to.flows);
        instants_.truncate(to.instants);
        memory_events_.truncate(to.memory_events);
        counters_.truncate(to.counters);
        async_events_.truncate(to.async_events);
        samples_.truncate(to.samples);
        object_events_.truncate(to.object_events);
        metadata_.truncate(to.metadata);
    }

    Timestamps timestamps_;
    StringPool strings_;
    TrackTable tracks_;
    ArgsTable signatures_;
    std::vector<Segment> segments_;

    ChunkedColumn<TimeWord> start_;
    ChunkedColumn<TimeWord> duration_;
    ChunkedColumn<StringId> name_;
    ChunkedColumn<StringId> category_;
    ChunkedColumn<EventKind> kind_;
    ChunkedColumn<TrackId> track_;
    ChunkedColumn<ArgsId> args_;
    ChunkedColumn<std::uint32_t> fields_;
    ChunkedColumn<std::uint32_t> file_index_;
    ChunkedColumn<OpFields> ops_;
    ChunkedColumn<FrameFields> frames_;
    ChunkedColumn<LaunchFields> launches_;
    ChunkedColumn<std::uint32_t> span_begins_;
    ChunkedColumn<SpanEnd> span_ends_;
    ChunkedColumn<Flow> flows_;
    ChunkedColumn<Instant> instants_;
    ChunkedColumn<MemoryEvent> memory_events_;
    ChunkedColumn<OtherEvent> counters_;
    ChunkedColumn<OtherEvent> async_events_;
    ChunkedColumn<OtherEvent> samples_;
    ChunkedColumn<OtherEvent> object_events_;
    ChunkedColumn<MetadataEvent> metadata_;
};

/// Nanoseconds as a `TimeWord` for a builder of this kind.
TimeWord time_from_ns(Timestamps timestamps, std::int64_t nanoseconds) noexcept;

/// Microseconds as a `TimeWord` for a builder of this kind; exact timestamps round to the nanosecond.
TimeWord time_from_us(Timestamps timestamps, double microseconds) noexcept;

/// Merges the builders' segments in ascending sequence and orders the events. All builders must have the same
/// `Timestamps`. Strings, tracks and signatures are numbered by first appearance in the file. Adds
/// diagnostics for unmatched B and E events, for clamped reference ticks and for clock restarts. O(n) radix
/// passes. Precondition: fewer than 2^32 events.
Trace finish_trace(std::vector<TraceBuilder> builders, const TaskRunner& run = {});

/// The same for one builder.
Trace finish_trace(TraceBuilder builder);

}  // namespace tracelens

#include <tracelens/model/trace_builder-inl.hpp>
