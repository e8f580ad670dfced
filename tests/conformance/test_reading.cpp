// Every trace of the corpus is read whole.
#include <map>

#include <tracelens/read/open.hpp>

#include "corpus.hpp"

using namespace tracelens;

namespace {

/// Counts measured in the corpus by other means (spec 01, section 3.1).
struct KnownCounts {
    const char* name;
    std::uint64_t events, cpu_op, python_function, runtime, driver, kernel, memcpy, memset, flow_starts,
        flow_ends;
};

constexpr KnownCounts known_counts[] = {
    {"b200_eager", 24656, 4809, 15230, 1151, 221, 768, 161, 0, 931, 1370},
    {"h100_nsfw", 5138, 1258, 2117, 334, 49, 154, 0, 2, 207, 332},
    {"h100_qwen", 18221, 4186, 4262, 1921, 1, 1465, 1, 241, 1201, 2428},
    {"h100_timesformer", 50125, 3540, 42330, 881, 48, 446, 2, 86, 538, 925},
    {"h100_bert", 2551, 479, 1385, 110, 22, 60, 1, 0, 86, 107},
    {"mi210_gpu_only", 2443, 0, 0, 631, 0, 562, 0, 0, 562, 631},
    {"mi300_nsfw", 5371, 1381, 2121, 437, 0, 155, 0, 0, 155, 437},
    {"mi300_qwen", 18090, 4619, 4266, 1707, 0, 1516, 1, 0, 1054, 2170},
    {"mi300_timesformer", 49950, 3591, 42334, 851, 0, 447, 2, 0, 449, 851},
    {"mi300_bert", 2653, 519, 1389, 161, 0, 60, 1, 0, 61, 161},
    {"mi300_owlv2", 130780, 24783, 65248, 8867, 0, 4255, 85, 0, 4340, 8867},
    {"mi300_resnet_ckpt", 56451, 8004, 34405, 3100, 0, 2995, 550, 108, 2817, 4362},
    {"norm_layers", 8500, 978, 6004, 236, 0, 168, 0, 5, 226, 285},
    {"compile_triton", 246, 41, 0, 59, 0, 12, 0, 0, 13, 58},
    {"inference/sglang_decode", 2058, 61, 821, 29, 0, 555, 3, 0, 14, 573},
    {"inference/sglang_prefilldecode", 60315, 3786, 53321, 1069, 0, 527, 7, 0, 534, 1069},
    {"inference/vllm_decode_full", 1993, 100, 984, 20, 0, 425, 9, 0, 13, 441},
    {"inference/xdit_flux_sage", 229459, 6409, 201328, 2958, 0, 7830, 36, 0, 1602, 9222},
};

void check_whole(const Trace& trace) {
    for (const char* code :
         {"CORRUPT_JSON", "TRUNCATED", "BAD_EVENTS", "UNKNOWN_PHASE", "NEGATIVE_DURATION"}) {
        CHECK_MESSAGE(trace.diagnostics.find(code) == nullptr, trace.path, ": ", code);
    }
    std::uint64_t kept = 0;
    for (const auto& [phase, count] : trace.phase_counts) kept += count;
    CHECK_MESSAGE(kept == trace.file_events, trace.path);
}

}  // namespace

TEST_CASE("every corpus trace is read with zero lost events, in both timestamp modes") {
    if (!corpus::present()) return;
    std::size_t traces = 0;
    std::uint64_t events = 0;
    for (const corpus::fs::path& path : corpus::all_traces()) {
        for (const Timestamps timestamps : {Timestamps::exact, Timestamps::reference}) {
            ReadOptions options;
            options.timestamps = timestamps;
            const Result<Trace> trace = try_read_trace(path.string(), options);
            REQUIRE_MESSAGE(trace.ok(), path.string());
            check_whole(*trace);
            events += trace->size();
        }
        ++traces;
    }
    CHECK(traces >= 40);
    MESSAGE(traces, " traces, ", events / 2, " complete events");
}

TEST_CASE("event counts are those that were measured by other means") {
    if (!corpus::present()) return;
    std::map<std::string, corpus::Case> by_name;
    for (const corpus::Case& each : corpus::cases()) by_name.emplace(each.name, each);
    for (const KnownCounts& known : known_counts) {
        CAPTURE(known.name);
        REQUIRE(by_name.count(known.name) == 1);
        const Result<Trace> read = try_read_trace(by_name.at(known.name).trace.string());
        REQUIRE(read.ok());
        std::map<EventKind, std::uint64_t> counts;
        for (const EventKind kind : read->kind) ++counts[kind];
        CHECK(read->file_events == known.events);
        CHECK(counts[EventKind::cpu_op] == known.cpu_op);
        CHECK(counts[EventKind::python_function] == known.python_function);
        CHECK(counts[EventKind::runtime] == known.runtime);
        CHECK(counts[EventKind::driver] == known.driver);
        CHECK(counts[EventKind::kernel] == known.kernel);
        CHECK(counts[EventKind::gpu_memcpy] == known.memcpy);
        CHECK(counts[EventKind::gpu_memset] == known.memset);
        std::uint64_t starts = 0;
        for (const Flow& flow : read->flows) starts += flow.phase == 's' ? 1 : 0;
        CHECK(starts == known.flow_starts);
        CHECK(read->flows.size() - starts == known.flow_ends);
    }
}
