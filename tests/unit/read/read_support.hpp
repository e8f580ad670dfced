// What the tests of the reader share: short ways to read a text, documents around events, generated traces,
// and the comparison of two traces in everything they hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/core/file.hpp>
#include <tracelens/model/trace.hpp>
#include <tracelens/model/trace_builder.hpp>
#include <tracelens/read/kineto.hpp>
#include <tracelens/read/kineto_event.hpp>
#include <tracelens/read/tolerant_events.hpp>

#include "synth/synth.hpp"

namespace tracelens::read_test {

inline ReadOptions one_thread(std::size_t window_bytes = std::size_t{1} << 19,
                              Timestamps timestamps = Timestamps::exact) {
    ReadOptions options;
    options.threads = 1;
    options.window_bytes = window_bytes;
    options.timestamps = timestamps;
    return options;
}

inline Result<Trace> try_read(std::string_view text, const ReadOptions& options = one_thread()) {
    return try_read_kineto(memory_source(text), "test.json", options);
}

/// Reads a text that must be a trace.
inline Trace read(std::string_view text, const ReadOptions& options = one_thread()) {
    Result<Trace> result = try_read(text, options);
    if (!result) FAIL(result.failure().message());
    return *std::move(result);
}

/// A document in object form around the inside of an event array.
inline std::string document(std::string_view events) {
    return R"({"schemaVersion": 1, "traceEvents": [)" + std::string(events) + R"(], "traceName": "t.json"})";
}

/// The inside of an event array through the tolerant parser alone.
inline Trace read_tolerantly(std::string_view events, Timestamps timestamps = Timestamps::exact) {
    TraceBuilder builder(timestamps);
    KinetoEvent event(builder);
    TolerantEventParser(event, builder).parse(events, 0, WindowEnd::end_of_input, false);
    Trace trace = finish_trace(std::move(builder));
    add_diagnostics(trace.diagnostics, event.tally);
    return trace;
}

inline std::string generated(const synth::Options& options, synth::Summary* summary = nullptr) {
    std::string text;
    const synth::Summary made = synth::generate(options, [&](std::string_view piece) { text += piece; });
    if (summary != nullptr) *summary = made;
    return text;
}

/// Small generated traces of both vendors and both styles, with everything that the generator can write.
inline synth::Options small_options(synth::Vendor vendor, synth::JsonStyle style) {
    synth::Options options;
    options.vendor = vendor;
    options.style = style;
    options.steps = 1;
    options.layers = 1;
    options.python_depth = 6;
    options.collectives = true;
    return options;
}

inline std::string describe(const synth::Options& options) {
    return std::string(options.vendor == synth::Vendor::amd ? "amd" : "nvidia") +
           (options.style == synth::JsonStyle::pretty ? " pretty" : " compact");
}

template <class Use>
void for_each_flavour(const Use& use) {
    for (const synth::Vendor vendor : {synth::Vendor::amd, synth::Vendor::nvidia}) {
        for (const synth::JsonStyle style : {synth::JsonStyle::pretty, synth::JsonStyle::compact}) {
            use(small_options(vendor, style));
        }
    }
}

/// The span of the inside of the event array of a well-formed document.
inline std::pair<std::size_t, std::size_t> array_span(std::string_view text) {
    const std::size_t key = text.find("\"traceEvents\"");
    const std::size_t open = text.find('[', key);
    JsonScanner scanner(text, open);
    std::string_view array;
    const bool whole = scanner.value(array) == JsonScanner::Outcome::ok;
    REQUIRE(whole);
    return {open + 1, scanner.position() - 1};
}

inline std::uint64_t diagnosed(const Trace& trace, std::string_view code) {
    const Diagnostic* found = trace.diagnostics.find(code);
    return found == nullptr ? 0 : found->count;
}

/// Whether `code` was raised with exactly this verdict.
inline bool raised(const Trace& trace, std::string_view code, Verdict verdict) {
    const Diagnostic* found = trace.diagnostics.find(code);
    return found != nullptr && found->verdict == verdict;
}

inline std::string codes(const Trace& trace) {
    std::string text;
    for (const Diagnostic& each : trace.diagnostics.entries()) {
        text += each.code + " " + to_string(each.verdict) + "; ";
    }
    return text;
}

/// Rows of every kind.
inline std::size_t rows(const Trace& trace) {
    return trace.size() + trace.flows.size() + trace.instants.size() + trace.memory_events.size() +
           trace.counters.size() + trace.async_events.size() + trace.samples.size() +
           trace.object_events.size() + trace.metadata.size();
}

inline std::vector<std::string> names(const Trace& trace) {
    std::vector<std::string> list;
    for (EventId i = 0; i < trace.size(); ++i) list.emplace_back(trace.name_of(i));
    return list;
}

/// The only event called `name`.
inline EventId named(const Trace& trace, std::string_view name) {
    EventId found = no_event;
    for (EventId i = 0; i < trace.size(); ++i) {
        if (trace.name_of(i) != name) continue;
        INFO("name: ", name);
        REQUIRE(found == no_event);
        found = i;
    }
    INFO("name: ", name);
    REQUIRE(found != no_event);
    return found;
}

namespace comparing {

inline auto key(const OpFields& f) {
    return std::tuple(f.external_id, f.sequence_number, f.record_function_id, f.forward_thread, f.ev_idx);
}
inline auto key(const FrameFields& f) {
    return std::tuple(f.python_id, f.parent_id, f.module_id, f.ev_idx);
}
inline auto key(const LaunchFields& f) {
    return std::tuple(f.correlation, f.external_id);
}
inline auto key(const Flow& f) {
    return std::tuple(f.time, f.id, f.track, f.category, f.name, f.file_index, f.phase, f.binds_enclosing);
}
inline auto key(const Instant& i) {
    return std::tuple(i.time, i.name, i.category, i.track, i.args, i.file_index, i.scope);
}
inline auto key(const MemoryEvent& m) {
    return std::tuple(m.time, m.address, m.bytes, m.total_allocated, m.total_reserved, m.device_type,
                      m.device, m.track, m.file_index);
}
inline auto key(const OtherEvent& o) {
    return std::tuple(o.time, o.id, o.name, o.category, o.track, o.args, o.file_index, o.phase);
}
inline auto key(const MetadataEvent& m) {
    return std::tuple(m.name, m.track, m.args, m.file_index);
}
inline auto key(const Property& p) {
    return std::tuple(p.key, p.json);
}
template <class T>
requires std::is_arithmetic_v<T> || std::is_enum_v<T> T key(T value) {
    return value;
}

template <class T>
void compare(std::string& result, const char* what, const std::vector<T>& a, const std::vector<T>& b) {
    if (!result.empty()) return;
    if (a.size() != b.size()) {
        result = std::string(what) + ": " + std::to_string(a.size()) + " and " + std::to_string(b.size()) +
                 " rows";
        return;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (key(a[i]) == key(b[i])) continue;
        result = std::string(what) + " row " + std::to_string(i);
        return;
    }
}

template <class Pool, class Id, class Equal>
void compare_pools(std::string& result, const char* what, const Pool& a, const Pool& b, Id,
                   const Equal& equal) {
    if (!result.empty()) return;
    if (a.size() != b.size()) {
        result = std::string(what) + ": " + std::to_string(a.size()) + " and " + std::to_string(b.size());
        return;
    }
    for (std::uint32_t i = 0; i < a.size(); ++i) {
        if (equal(a[Id{i}], b[Id{i}])) continue;
        result = std::string(what) + " " + std::to_string(i);
        return;
    }
}

}  // namespace comparing

/// What differs first between two traces, in the events and everything that belongs to them; empty when
/// nothing does.
inline std::string difference_of_events(const Trace& a, const Trace& b) {
    std::string result;
    if (std::tie(a.ticks_per_us, a.epoch, a.timestamps) != std::tie(b.ticks_per_us, b.epoch, b.timestamps)) {
        return "clock";
    }
    comparing::compare(result, "start", a.start, b.start);
    comparing::compare(result, "end", a.end, b.end);
    comparing::compare(result, "name", a.name, b.name);
    comparing::compare(result, "category", a.category, b.category);
    comparing::compare(result, "kind", a.kind, b.kind);
    comparing::compare(result, "track", a.track, b.track);
    comparing::compare(result, "args", a.args, b.args);
    comparing::compare(result, "fields", a.fields, b.fields);
    comparing::compare(result, "file_index", a.file_index, b.file_index);
    comparing::compare(result, "duration_us", a.duration_us, b.duration_us);
    comparing::compare(result, "ops", a.ops, b.ops);
    comparing::compare(result, "frames", a.frames, b.frames);
    comparing::compare(result, "launches", a.launches, b.launches);
    comparing::compare(result, "flows", a.flows, b.flows);
    comparing::compare(result, "instants", a.instants, b.instants);
    comparing::compare(result, "memory_events", a.memory_events, b.memory_events);
    comparing::compare(result, "counters", a.counters, b.counters);
    comparing::compare(result, "async_events", a.async_events, b.async_events);
    comparing::compare(result, "samples", a.samples, b.samples);
    comparing::compare(result, "object_events", a.object_events, b.object_events);
    comparing::compare(result, "metadata", a.metadata, b.metadata);
    const auto equal = [](const auto& x, const auto& y) { return x == y; };
    const auto equal_lists = [](const auto& x, const auto& y) {
        return std::equal(x.begin(), x.end(), y.begin(), y.end());
    };
    comparing::compare_pools(result, "string", a.strings, b.strings, StringId{}, equal);
    comparing::compare_pools(result, "track entry", a.tracks, b.tracks, TrackId{}, equal);
    comparing::compare_pools(result, "signature", a.signatures, b.signatures, ArgsId{}, equal_lists);
    if (!result.empty()) return result;
    if (a.file_events != b.file_events) return "file_events";
    if (a.phase_counts != b.phase_counts) return "phase_counts";
    return codes(a) == codes(b) ? "" : "diagnostics: " + codes(a) + "| " + codes(b);
}

/// As above, with what surrounds the events.
inline std::string difference(const Trace& a, const Trace& b) {
    std::string result = difference_of_events(a, b);
    comparing::compare(result, "properties", a.properties, b.properties);
    if (!result.empty()) return result;
    if (a.format != b.format || a.path != b.path) return "format or path";
    return a.text_bytes == b.text_bytes && a.stored_bytes == b.stored_bytes ? ""
                                                                            : "text_bytes or stored_bytes";
}

/// Reads events inside a document, and checks that small windows and the tolerant parser see the same.
inline Trace read_events(std::string_view events, Timestamps timestamps = Timestamps::exact) {
    const std::string text = document(events);
    Trace trace = read(text, one_thread(std::size_t{1} << 19, timestamps));
    CHECK(difference(trace, read(text, one_thread(64, timestamps))) == "");
    const std::string from_tolerant = difference_of_events(trace, read_tolerantly(events, timestamps));
    CHECK_MESSAGE(from_tolerant == "", "tolerant parser: ", from_tolerant, " in ", events.substr(0, 300));
    return trace;
}

}  // namespace tracelens::read_test
