// Whether two traces hold the same, by their texts: ids of strings, tracks and signatures are not compared.
#pragma once

#include <cstddef>
#include <vector>

#include <tracelens/model/trace.hpp>

#include "ensure.hpp"

namespace fuzz {

using namespace tracelens;

inline bool same_part(const Trace& a, const TrackPart& x, const Trace& b, const TrackPart& y) {
    if (x.form != y.form || x.form != TrackPart::Form::text) return x == y;
    const auto text = [](const Trace& trace, const TrackPart& part) {
        return trace.text(StringId{static_cast<std::uint32_t>(part.value)});
    };
    return text(a, x) == text(b, y);
}

inline bool same_track(const Trace& a, TrackId x, const Trace& b, TrackId y) {
    const Track& left = a.tracks[x];
    const Track& right = b.tracks[y];
    return left.on_device == right.on_device && left.device == right.device && left.stream == right.stream &&
           left.rank == right.rank && same_part(a, left.pid, b, right.pid) &&
           same_part(a, left.tid, b, right.tid);
}

inline bool same_args(const Trace& a, ArgsId x, const Trace& b, ArgsId y) {
    const auto left = a.signatures[x];
    const auto right = b.signatures[y];
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (a.text(left[i].key) != b.text(right[i].key)) return false;
        if (a.text(left[i].value) != b.text(right[i].value)) return false;
    }
    return true;
}

inline bool same_fields(const Trace& a, const Trace& b, EventId event) {
    switch (field_family(a.kind[event])) {
        case FieldFamily::op: {
            const OpFields& x = a.op_fields(event);
            const OpFields& y = b.op_fields(event);
            return x.external_id == y.external_id && x.sequence_number == y.sequence_number &&
                   x.record_function_id == y.record_function_id && x.forward_thread == y.forward_thread &&
                   x.ev_idx == y.ev_idx;
        }
        case FieldFamily::frame: {
            const FrameFields& x = a.frame_fields(event);
            const FrameFields& y = b.frame_fields(event);
            return x.python_id == y.python_id && x.parent_id == y.parent_id && x.module_id == y.module_id &&
                   x.ev_idx == y.ev_idx;
        }
        case FieldFamily::launch: {
            const LaunchFields& x = a.launch_fields(event);
            const LaunchFields& y = b.launch_fields(event);
            return x.correlation == y.correlation && x.external_id == y.external_id;
        }
        case FieldFamily::none: break;
    }
    return true;
}

template <class Row>
bool same_table(const Trace& a, const std::vector<Row>& left, const Trace& b, const std::vector<Row>& right) {
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
        const Row& x = left[i];
        const Row& y = right[i];
        if (x.file_index != y.file_index || !same_track(a, x.track, b, y.track)) return false;
        if constexpr (requires { x.time; }) {
            if (x.time != y.time) return false;
        }
        if constexpr (requires { x.name; }) {
            if (a.text(x.name) != b.text(y.name)) return false;
        }
        if constexpr (requires { x.args; }) {
            if (!same_args(a, x.args, b, y.args)) return false;
        }
        if constexpr (requires { x.id; }) {
            if (x.id != y.id) return false;
        }
        if constexpr (requires { x.bytes; }) {
            if (x.bytes != y.bytes || x.address != y.address) return false;
        }
    }
    return true;
}

inline void ensure_same_trace(const Trace& a, const Trace& b) {
    ensure(a.size() == b.size() && a.file_events == b.file_events, "both readings find as many events");
    ensure(a.phase_counts == b.phase_counts, "both readings keep as many events of each phase");
    ensure(a.start == b.start && a.end == b.end && a.epoch == b.epoch, "both readings find the same times");
    ensure(a.kind == b.kind && a.file_index == b.file_index, "both readings find the same kinds and order");
    for (EventId event = 0; event < a.size(); ++event) {
        ensure(a.name_of(event) == b.name_of(event), "both readings find the same names");
        ensure(a.text(a.category[event]) == b.text(b.category[event]), "and the same categories");
        ensure(same_track(a, a.track[event], b, b.track[event]), "and the same tracks");
        ensure(same_args(a, a.args[event], b, b.args[event]), "and the same arguments");
        ensure(same_fields(a, b, event), "and the same fields");
    }
    ensure(same_table(a, a.flows, b, b.flows) && same_table(a, a.instants, b, b.instants) &&
               same_table(a, a.memory_events, b, b.memory_events) &&
               same_table(a, a.counters, b, b.counters) && same_table(a, a.async_events, b, b.async_events) &&
               same_table(a, a.samples, b, b.samples) && same_table(a, a.object_events, b, b.object_events) &&
               same_table(a, a.metadata, b, b.metadata),
           "both readings find the same side tables");
}

inline void ensure_same_properties(const Trace& a, const Trace& b) {
    ensure(a.properties.size() == b.properties.size(), "both readings find as many top-level keys");
    for (std::size_t i = 0; i < a.properties.size(); ++i) {
        ensure(a.properties[i].key == b.properties[i].key && a.properties[i].json == b.properties[i].json,
               "both readings find the same top-level keys");
    }
}

inline void ensure_same_diagnostics(const Trace& a, const Trace& b) {
    const std::vector<Diagnostic>& left = a.diagnostics.entries();
    const std::vector<Diagnostic>& right = b.diagnostics.entries();
    ensure(left.size() == right.size(), "both readings find as many faults");
    for (std::size_t i = 0; i < left.size(); ++i) {
        ensure(left[i].code == right[i].code && left[i].count == right[i].count &&
                   left[i].verdict == right[i].verdict && left[i].first == right[i].first,
               "both readings find the same faults");
    }
}

}  // namespace fuzz
