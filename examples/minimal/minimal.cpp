// Where does the GPU time of a trace go? The smallest useful program on top of the library.
#include <cstdio>

#include <tracelens/tracelens.hpp>

int main(int argc, char** argv) {
    if (argc != 2) return std::fputs("usage: minimal TRACE.json[.gz]\n", stderr), 2;
    const tracelens::Result<tracelens::Trace> read = tracelens::try_read_trace(argv[1]);
    if (!read) return std::fprintf(stderr, "%s\n", read.failure().message().c_str()), 3;
    const tracelens::Trace& trace = *read;

    const auto links = tracelens::link_launches(trace);
    const auto classes = tracelens::classify_gpu_events(trace);
    const auto events = tracelens::timeline_events(trace, links, /*include_unlinked=*/true);
    if (const auto timeline = tracelens::gpu_timeline(trace, events, classes)) {
        std::printf("window %.3f ms, busy %.1f %%\n", trace.to_us(timeline->total) / 1e3,
                    100 * trace.to_us(timeline->busy) / trace.to_us(timeline->total));
    }
    for (const auto& kernel : tracelens::kernel_totals(trace, events, classes)) {
        const auto name = trace.text(kernel.name).substr(0, 80);
        std::printf("%10.3f ms  %6llu  %.*s\n", trace.to_us(kernel.total) / 1e3,
                    static_cast<unsigned long long>(kernel.count), static_cast<int>(name.size()),
                    name.data());
    }
}
