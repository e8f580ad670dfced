// A trace from a program's own records: needs the include path and nothing to link.
#include <cstdio>

#include <tracelens/analyze/timeline.hpp>
#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/model/trace_builder.hpp>

int main() {
    using namespace tracelens;
    TraceBuilder builder;
    Track track;
    track.on_device = true;
    track.device = 0;
    for (const std::int64_t start : {0, 50, 200}) {
        CompleteEvent kernel;
        kernel.start = start;
        kernel.duration = start == 200 ? 40 : 60;
        kernel.kind = EventKind::kernel;
        kernel.name = builder.strings().intern("gemm");
        kernel.track = builder.tracks().intern(track);
        builder.add(kernel);
    }
    const Trace trace = finish_trace(std::move(builder));
    const auto classes = classify_gpu_events(trace);
    const auto timeline = gpu_timeline(trace, timeline_events(trace, link_launches(trace), true), classes);
    std::printf("busy %lld\n", static_cast<long long>(timeline->busy));
}
