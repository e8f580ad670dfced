// A trace does not depend on how the stretches of the file were spread over builders.

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/model/trace_builder.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::Random;

namespace {

/// One event of a file, of any phase; everything about it follows from three numbers.
struct Record {
    char phase;
    std::int64_t time;
    std::int64_t seed;
};

std::vector<Record> random_records(std::uint64_t seed, int count) {
    static constexpr char phases[] = {'X', 'X', 'X', 'X', 'B', 'E', 's', 'f',
                                      'i', 'm', 'C', 'b', 'P', 'N', 'M', '?'};
    Random random(seed);
    std::vector<Record> records;
    for (int i = 0; i < count; ++i) {
        records.push_back({phases[random.below(16)], 1'700'000'000'000'000 + random.below(1'000'000),
                           random.below(1 << 20)});
    }
    return records;
}

class RecordWriter {
  public:
    explicit RecordWriter(TraceBuilder& builder) : builder_(builder) {}

    void write(const Record& record) {
        builder_.next_event();
        if (record.phase == '?') return;  // an event that could not be read
        builder_.count_phase(record.phase);
        const TimeWord time = time_from_ns(builder_.timestamps(), record.time);
        switch (record.phase) {
            case 'X': builder_.add(complete(record, time)); break;
            case 'B': builder_.begin_span(complete(record, time)); break;
            case 'E': builder_.end_span(time, track(record.seed)); break;
            case 's':
            case 'f': {
                Flow flow;
                flow.phase = record.phase;
                flow.id = record.seed;
                flow.category = text("category ", record.seed % 3);
                flow.binds_enclosing = record.seed % 2 == 0;
                builder_.add(placed(flow, record, time));
                break;
            }
            case 'i': {
                Instant instant;
                instant.category = text("category ", record.seed % 4);
                instant.args = args(record.seed);
                builder_.add(placed(instant, record, time));
                break;
            }
            case 'm': {
                MemoryEvent memory;
                memory.time = time;
                memory.bytes = record.seed;
                memory.track = track(record.seed);
                builder_.add(memory);
                break;
            }
            case 'C': builder_.add_counter(other(record, time)); break;
            case 'b': builder_.add_async(other(record, time)); break;
            case 'P': builder_.add_sample(other(record, time)); break;
            case 'N': builder_.add_object(other(record, time)); break;
            default: {
                MetadataEvent metadata;
                metadata.name = text("metadata ", record.seed % 4);
                metadata.track = track(record.seed);
                metadata.args = args(record.seed);
                builder_.add(metadata);
            }
        }
    }

  private:
    StringId text(const char* prefix, std::int64_t number) {
        return builder_.strings().intern(prefix + std::to_string(number));
    }

    TrackId track(std::int64_t seed) {
        Track track;
        track.tid = TrackPart::integer(seed % 5);
        switch (seed % 4) {
            case 0: break;
            case 1: track.pid = TrackPart::text(text("process ", seed % 7)); break;
            case 2: track.pid = TrackPart::integer(seed % 3); break;
            default:
                track.on_device = true;
                track.device = seed % 2;
                track.stream = seed % 5;
                track.rank = seed % 3;
        }
        return builder_.tracks().intern(track);
    }

    ArgsId args(std::int64_t seed) {
        std::vector<Arg> list;
        for (std::int64_t i = 0; i < seed % 4; ++i)
            list.push_back({text("key ", seed % 6 + i), text("value ", seed % 40)});
        return builder_.signatures().intern(list);
    }

    CompleteEvent complete(const Record& record, TimeWord time) {
        CompleteEvent event;
        event.kind = static_cast<EventKind>(record.seed % 13);
        event.category = text("category ", record.seed % 13);
        event.duration = time_from_ns(builder_.timestamps(), record.seed % 1000);
        event.args = args(record.seed);
        event.op.external_id = event.frame.python_id = static_cast<std::int32_t>(record.seed);
        event.launch.correlation = -record.seed;
        event.start = time;
        event.name = text("name ", record.seed % 500);
        event.track = track(record.seed);
        return event;
    }

    OtherEvent other(const Record& record, TimeWord time) {
        OtherEvent event;
        event.phase = record.phase;
        event.id = record.seed;
        event.args = args(record.seed);
        event.category = text("category ", record.seed % 3);
        return placed(event, record, time);
    }

    template <class T>
    T placed(T event, const Record& record, TimeWord time) {
        event.time = time;
        event.name = text("name ", record.seed % 20);
        event.track = track(record.seed);
        return event;
    }

    TraceBuilder& builder_;
};

/// The whole trace as text, ids included.
std::string dump(const Trace& trace) {
    std::ostringstream out;
    out << trace.ticks_per_us << ' ' << trace.epoch << ' ' << trace.file_events << '\n';
    for (const auto& [phase, count] : trace.phase_counts) out << phase << count << ' ';
    for (const Diagnostic& each : trace.diagnostics.entries())
        out << each.code << each.count << each.first << '\n';
    for (EventId event = 0; event < trace.size(); ++event) {
        out << trace.start[event] << ' ' << trace.end[event] << ' ' << to_index(trace.name[event]) << ' '
            << to_index(trace.category[event]) << ' ' << static_cast<int>(trace.kind[event]) << ' '
            << to_index(trace.track[event]) << ' ' << to_index(trace.args[event]) << ' '
            << trace.fields[event] << ' ' << trace.file_index[event] << ' ' << trace.recorded_us(event)
            << '\n';
    }
    for (const OpFields& each : trace.ops)
        out << 'o' << each.external_id << ' ' << each.sequence_number << '\n';
    for (const FrameFields& each : trace.frames)
        out << 'p' << each.python_id << ' ' << each.parent_id << '\n';
    for (const LaunchFields& each : trace.launches)
        out << 'l' << each.correlation << ' ' << each.external_id << '\n';
    for (const Flow& each : trace.flows) {
        out << each.phase << each.time << ' ' << each.id << ' ' << to_index(each.track) << ' '
            << to_index(each.category) << ' ' << to_index(each.name) << ' ' << each.file_index
            << each.binds_enclosing << '\n';
    }
    for (const Instant& each : trace.instants) {
        out << 'i' << each.time << ' ' << to_index(each.name) << ' ' << to_index(each.category) << ' '
            << to_index(each.track) << ' ' << to_index(each.args) << ' ' << each.file_index << '\n';
    }
    for (const MemoryEvent& each : trace.memory_events) {
        out << 'm' << each.time << ' ' << each.bytes << ' ' << to_index(each.track) << ' ' << each.file_index
            << '\n';
    }
    for (const auto* table : {&trace.counters, &trace.async_events, &trace.samples, &trace.object_events}) {
        for (const OtherEvent& each : *table) {
            out << each.phase << each.time << ' ' << each.id << ' ' << to_index(each.name) << ' '
                << to_index(each.category) << ' ' << to_index(each.track) << ' ' << to_index(each.args) << ' '
                << each.file_index << '\n';
        }
    }
    for (const MetadataEvent& each : trace.metadata) {
        out << 'M' << to_index(each.name) << ' ' << to_index(each.track) << ' ' << to_index(each.args) << ' '
            << each.file_index << '\n';
    }
    for (std::uint32_t i = 0; i < trace.strings.size(); ++i) out << trace.strings[StringId{i}] << '\n';
    for (std::uint32_t i = 0; i < trace.tracks.size(); ++i) {
        const Track& each = trace.tracks[TrackId{i}];
        out << each.on_device << static_cast<int>(each.pid.form) << ' ' << each.pid.value << ' '
            << static_cast<int>(each.tid.form) << each.tid.value << ' ' << each.device << each.stream
            << each.rank << '\n';
    }
    for (std::uint32_t i = 0; i < trace.signatures.size(); ++i) {
        for (const Arg& arg : trace.signatures[ArgsId{i}])
            out << to_index(arg.key) << ':' << to_index(arg.value) << ' ';
        out << '\n';
    }
    return out.str();
}

Trace from_one_builder(const std::vector<Record>& records, Timestamps timestamps = Timestamps::exact) {
    TraceBuilder builder(timestamps);
    RecordWriter writer(builder);
    for (const Record& record : records) writer.write(record);
    return finish_trace(std::move(builder));
}

/// Cuts the file into `cuts + 1` stretches and gives each to a random builder.
std::vector<TraceBuilder> spread(const std::vector<Record>& records, std::size_t builder_count, int cuts,
                                 std::uint64_t seed, Timestamps timestamps = Timestamps::exact) {
    Random random(seed);
    std::vector<std::size_t> ends = {records.size()};
    for (int i = 0; i < cuts; ++i) {
        ends.push_back(static_cast<std::size_t>(random.below(static_cast<std::int64_t>(records.size()))));
    }
    std::sort(ends.begin(), ends.end());
    std::vector<TraceBuilder> builders;
    for (std::size_t i = 0; i < builder_count; ++i) builders.emplace_back(timestamps);
    std::size_t begin = 0;
    for (std::size_t stretch = 0; stretch < ends.size(); ++stretch) {
        TraceBuilder& builder =
            builders[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(builder_count)))];
        builder.begin_segment(stretch * 10);
        RecordWriter writer(builder);
        if (random.below(3) == 0) {  // a first try that fails half way
            for (std::size_t i = begin; i < begin + (ends[stretch] - begin) / 2; ++i)
                writer.write(records[i]);
            builder.roll_back_segment();
        }
        for (std::size_t i = begin; i < ends[stretch]; ++i) writer.write(records[i]);
        begin = ends[stretch];
    }
    return builders;
}

}  // namespace

TEST_CASE("segments over several builders give exactly the trace of one builder") {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        CAPTURE(seed);
        const std::vector<Record> records = random_records(seed, 600);
        const std::string whole = dump(from_one_builder(records));
        for (std::size_t builders = 1; builders <= 4; ++builders) {
            CAPTURE(builders);
            CHECK((dump(finish_trace(spread(records, builders, 9, seed * 10 + builders))) == whole));
        }
    }
}

TEST_CASE("the same with reference timestamps") {
    const std::vector<Record> records = random_records(99, 600);
    const std::string whole = dump(from_one_builder(records, Timestamps::reference));
    CHECK((dump(finish_trace(spread(records, 3, 8, 5, Timestamps::reference))) == whole));
}

TEST_CASE("columns of many blocks, with tasks at the same time") {
    const std::vector<Record> records = random_records(3, 120'000);
    const std::string whole = dump(from_one_builder(records));
    const TaskRunner threads = [](std::size_t count, const std::function<void(std::size_t)>& task) {
        std::vector<std::thread> running;
        for (std::size_t i = 0; i < count; ++i) running.emplace_back([&task, i] { task(i); });
        for (std::thread& each : running) each.join();
    };
    CHECK((dump(finish_trace(spread(records, 3, 20, 8), threads)) == whole));
}

TEST_CASE("builders without a segment and without events change nothing") {
    const std::vector<Record> records = random_records(4, 100);
    std::vector<TraceBuilder> builders;
    builders.emplace_back();
    builders.emplace_back();
    RecordWriter writer(builders[1]);
    for (const Record& record : records) writer.write(record);
    builders.emplace_back();
    CHECK((dump(finish_trace(std::move(builders))) == dump(from_one_builder(records))));
}

TEST_CASE("segments count by their sequence, not by the order in which a builder met them") {
    const std::vector<Record> records = random_records(6, 300);
    TraceBuilder builder;
    RecordWriter writer(builder);
    for (std::size_t part = 3; part-- > 0;) {
        builder.begin_segment(part);
        for (std::size_t i = part * 100; i < part * 100 + 100; ++i) writer.write(records[i]);
    }
    const Trace trace = finish_trace(std::move(builder));
    const Trace whole = from_one_builder(records);
    REQUIRE(trace.size() == whole.size());
    CHECK(trace.start == whole.start);
    CHECK(trace.file_index == whole.file_index);
    CHECK(trace.file_events == whole.file_events);
    for (EventId event = 0; event < trace.size(); ++event) {
        CAPTURE(event);
        REQUIRE(trace.name_of(event) == whole.name_of(event));
        const auto args = trace.signatures[trace.args[event]];
        const auto expected = whole.signatures[whole.args[event]];
        REQUIRE(args.size() == expected.size());
        for (std::size_t i = 0; i < args.size(); ++i) {
            REQUIRE(trace.text(args[i].key) == whole.text(expected[i].key));
            REQUIRE(trace.text(args[i].value) == whole.text(expected[i].value));
        }
        if (trace.track_of(event).pid.form != TrackPart::Form::text) continue;
        REQUIRE(trace.text(StringId{static_cast<std::uint32_t>(trace.track_of(event).pid.value)}) ==
                whole.text(StringId{static_cast<std::uint32_t>(whole.track_of(event).pid.value)}));
    }
    CHECK(trace.end == whole.end);
}

TEST_CASE(
    "strings, tracks and signatures are numbered by first appearance, values from before the first segment "
    "first") {
    TraceBuilder first;
    TraceBuilder second;
    first.strings().intern("early");
    first.begin_segment(4);
    first.strings().intern("d");
    second.begin_segment(2);
    second.strings().intern("b");
    second.strings().intern("early");
    second.begin_segment(3);
    second.strings().intern("c");
    second.strings().intern("d");
    std::vector<TraceBuilder> builders;
    builders.push_back(std::move(first));
    builders.push_back(std::move(second));
    const Trace trace = finish_trace(std::move(builders));
    REQUIRE(trace.strings.size() == 5);
    std::vector<std::string> texts;
    for (std::uint32_t i = 1; i < trace.strings.size(); ++i) texts.emplace_back(trace.strings[StringId{i}]);
    CHECK(texts == std::vector<std::string>{"early", "b", "c", "d"});
}
