/// Builds small traces for tests, event by event in file order. Times are integer nanoseconds.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/model/trace.hpp>
#include <tracelens/model/trace_builder.hpp>

namespace tracelens::fixture {

constexpr std::int64_t us(std::int64_t microseconds) {
    return microseconds * 1000;
}

/// The `cat` of a kind.
constexpr std::string_view category_of(EventKind kind) {
    for (const EventKindInfo& info : event_kinds) {
        if (info.kind == kind) return info.category;
    }
    return "unknown_category";
}

/// Host events go to the thread of the last `on_thread`, GPU events to the stream of the last `on_stream`.
/// `with_*` calls concern the next complete event only; `with_arg` also the next metadata event.
class TraceFixture {
  public:
    explicit TraceFixture(Timestamps timestamps = Timestamps::exact) : builder_(timestamps) {
        on_thread(100, 1);
        on_stream(0, 7);
    }

    TraceFixture& on_thread(std::int64_t pid, std::int64_t tid, std::int64_t rank = no_number) {
        thread_ = {.on_device = false,
                   .pid = TrackPart::integer(pid),
                   .tid = TrackPart::integer(tid),
                   .device = no_number,
                   .stream = no_number,
                   .rank = rank};
        return *this;
    }

    TraceFixture& on_stream(std::int64_t device, std::int64_t stream, std::int64_t rank = no_number) {
        stream_ = {.on_device = true,
                   .pid = TrackPart::integer(device),
                   .tid = TrackPart::integer(stream),
                   .device = device,
                   .stream = stream,
                   .rank = rank};
        return *this;
    }

    /// The stream of GPU work that does not name one.
    TraceFixture& on_assumed_stream(std::int64_t device, std::int64_t thread) {
        on_stream(device, thread);
        stream_.stream_is_assumed = true;
        return *this;
    }

    /// `json` is compact JSON text.
    TraceFixture& with_arg(std::string_view key, std::string_view json) {
        args_.push_back({builder_.strings().intern(key), builder_.strings().intern(json)});
        return *this;
    }

    TraceFixture& with_external_id(std::int64_t id) {
        next_.op.external_id = next_.launch.external_id = id;
        return *this;
    }

    TraceFixture& with_sequence_number(std::int64_t number) {
        next_.op.sequence_number = number;
        return *this;
    }

    // --- host ---

    TraceFixture& op(std::string_view name, std::int64_t start, std::int64_t end) {
        return add(EventKind::cpu_op, name, start, end);
    }
    TraceFixture& frame(std::string_view name, std::int64_t start, std::int64_t end) {
        return add(EventKind::python_function, name, start, end);
    }
    TraceFixture& annotation(std::string_view name, std::int64_t start, std::int64_t end) {
        return add(EventKind::user_annotation, name, start, end);
    }
    TraceFixture& call(std::string_view name, std::int64_t start, std::int64_t end,
                       std::int64_t correlation = no_number) {
        next_.launch.correlation = correlation;
        return add(EventKind::runtime, name, start, end);
    }
    TraceFixture& driver_call(std::string_view name, std::int64_t start, std::int64_t end,
                              std::int64_t correlation = no_number) {
        next_.launch.correlation = correlation;
        return add(EventKind::driver, name, start, end);
    }

    // --- device ---

    TraceFixture& kernel(std::string_view name, std::int64_t start, std::int64_t end,
                         std::int64_t correlation = no_number) {
        return gpu(EventKind::kernel, name, start, end, correlation);
    }
    TraceFixture& memcpy(std::string_view name, std::int64_t start, std::int64_t end,
                         std::int64_t correlation = no_number) {
        return gpu(EventKind::gpu_memcpy, name, start, end, correlation);
    }
    TraceFixture& memset(std::string_view name, std::int64_t start, std::int64_t end,
                         std::int64_t correlation = no_number) {
        return gpu(EventKind::gpu_memset, name, start, end, correlation);
    }
    TraceFixture& gpu(EventKind kind, std::string_view name, std::int64_t start, std::int64_t end,
                      std::int64_t correlation = no_number) {
        next_.launch.correlation = correlation;
        return add(kind, name, start, end);
    }

    // --- both ---

    /// A kernel and a launch of its own, 100 us before it.
    TraceFixture& launched(std::string_view kernel_name, std::int64_t start, std::int64_t end) {
        ++last_correlation_;
        call("cudaLaunchKernel", start - us(100), start - us(100) + 1, last_correlation_);
        return kernel(kernel_name, start, end, last_correlation_);
    }

    /// The same with an op around the launch, with or without `Input Dims`.
    TraceFixture& launched_by_op(std::string_view op_name, bool with_dims, std::int64_t start,
                                 std::int64_t end) {
        if (with_dims) with_arg("Input Dims", "[[2,3]]");
        op(op_name, start - us(100) - 1, start - us(100) + 2);
        return launched("kernel", start, end);
    }

    // --- side tables ---

    /// A flow start on the current thread.
    TraceFixture& flow_start(std::int64_t id, std::int64_t time, std::string_view category = "ac2g") {
        return flow('s', id, time, category, thread_);
    }
    /// A flow finish on the current stream, as the file has it: process and thread, but no device.
    TraceFixture& flow_finish(std::int64_t id, std::int64_t time, std::string_view category = "ac2g") {
        Track track = stream_;
        track.on_device = false;
        track.device = track.stream = no_number;
        return flow('f', id, time, category, track);
    }
    TraceFixture& flow_finish_on_host(std::int64_t id, std::int64_t time,
                                      std::string_view category = "ac2g") {
        return flow('f', id, time, category, thread_);
    }

    TraceFixture& instant(std::string_view name, std::int64_t time) {
        start_event('i');
        Instant instant;
        instant.time = time_from_ns(builder_.timestamps(), time);
        instant.name = builder_.strings().intern(name);
        instant.track = builder_.tracks().intern(thread_);
        builder_.add(instant);
        return *this;
    }

    TraceFixture& metadata(std::string_view name) {
        start_event('M');
        MetadataEvent event;
        event.name = builder_.strings().intern(name);
        event.track = builder_.tracks().intern(thread_);
        event.args = builder_.signatures().intern(args_);
        args_.clear();
        builder_.add(event);
        return *this;
    }

    /// A complete event of any kind; on the current stream for kinds that live on a device, else on the
    /// thread.
    TraceFixture& add(EventKind kind, std::string_view name, std::int64_t start, std::int64_t end) {
        start_event('X');
        next_.kind = kind;
        next_.start = time_from_ns(builder_.timestamps(), start);
        next_.duration = time_from_ns(builder_.timestamps(), end - start);
        next_.name = builder_.strings().intern(name);
        next_.category = builder_.strings().intern(category_of(kind));
        next_.track = builder_.tracks().intern(is_on_device(kind) ? stream_ : thread_);
        next_.args = builder_.signatures().intern(args_);
        builder_.add(next_);
        next_ = {};
        args_.clear();
        return *this;
    }

    TraceBuilder& builder() noexcept { return builder_; }

    Trace finish() { return finish_trace(std::move(builder_)); }

  private:
    void start_event(char phase) {
        builder_.next_event();
        builder_.count_phase(phase);
    }

    TraceFixture& flow(char phase, std::int64_t id, std::int64_t time, std::string_view category,
                       const Track& track) {
        start_event(phase);
        Flow flow;
        flow.phase = phase;
        flow.id = id;
        flow.time = time_from_ns(builder_.timestamps(), time);
        flow.category = builder_.strings().intern(category);
        flow.name = flow.category;
        flow.track = builder_.tracks().intern(track);
        flow.binds_enclosing = phase == 'f';
        builder_.add(flow);
        return *this;
    }

    TraceBuilder builder_;
    Track thread_;
    Track stream_;
    CompleteEvent next_;
    std::vector<Arg> args_;
    std::int64_t last_correlation_ = 1'000'000;
};

/// The only complete event of that name.
inline EventId event_named(const Trace& trace, std::string_view name) {
    EventId found = no_event;
    for (EventId event = 0; event < trace.size(); ++event) {
        if (trace.name_of(event) != name) continue;
        REQUIRE_MESSAGE(found == no_event, "several events are named ", name);
        found = event;
    }
    REQUIRE_MESSAGE(found != no_event, "no event is named ", name);
    return found;
}

/// A small generator with the same numbers on every platform.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}

    /// In [0, bound).
    std::int64_t below(std::int64_t bound) {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(bound));
    }

  private:
    std::uint64_t state_;
};

}  // namespace tracelens::fixture
