/// Overlapping kernels, for tests.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <tracelens/analyze/overlap.hpp>

#include "unit/grown_trace.hpp"

namespace tracelens::fixture {

inline constexpr ClassRules both_rules[] = {ClassRules::full, ClassRules::reference};

inline OverlapOptions overlap_by(ClassRules rules) {
    OverlapOptions options;
    options.rules = rules;
    return options;
}

inline std::vector<EventId> gpu_events(const Trace& trace) {
    std::vector<EventId> events;
    for (EventId event = 0; event < trace.size(); ++event) {
        if (is_gpu_work(trace.kind[event])) events.push_back(event);
    }
    return events;
}

inline Overlaps overlaps_of(const GrownTrace& grown, const OverlapOptions& options = {}) {
    return find_overlaps(grown.tree, gpu_events(grown.trace), options);
}

/// The kernel of an op on a thread and a stream of its own; times in microseconds.
inline void add_kernel(TraceFixture& file, std::string_view name, std::int64_t stream, std::int64_t start,
                       std::int64_t end) {
    file.on_thread(100, stream + 100).op(name, us(start - 100) - 1, us(start - 100) + 2);
    file.on_stream(0, stream).launched(name, us(start), us(end));
}

}  // namespace tracelens::fixture
