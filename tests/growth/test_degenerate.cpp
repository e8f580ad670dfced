// No step is worse than O(n log n) on traces of odd shape either: one id for everything, deep nests, one
// crowded stream, thousands of keys. How that is shown: growth_check.hpp.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/analyze/kernel_details.hpp>
#include <tracelens/analyze/launchers.hpp>
#include <tracelens/analyze/overlap.hpp>
#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/model/backward_links.hpp>
#include <tracelens/model/call_tree.hpp>
#include <tracelens/model/links.hpp>
#include <tracelens/read/kineto.hpp>

#include "growth/growth_check.hpp"
#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::TraceFixture;
using growth::Run;

namespace {

/// Runs `measure(run, n)` for three sizes and checks the growth.
template <class Measure>
void check_growth(const Measure& measure) {
    std::vector<Run> runs;
    for (const std::int64_t n : {2'000, 8'000, 32'000}) {
        runs.emplace_back();
        runs.back().size = static_cast<double>(n);
        measure(runs.back(), n);
    }
    growth::check(runs);
}

Trace read(const std::string& text) {
    ReadOptions options;
    options.threads = 1;
    return *try_read_kineto(memory_source(text), "generated", options);
}

}  // namespace

TEST_CASE("one id for all calls and kernels") {
    check_growth([](Run& run, std::int64_t n) {
        TraceFixture file;
        for (std::int64_t i = 0; i < n; ++i) {
            file.on_thread(100 + i % 2, 1).call("cudaGraphLaunch", 10 * i, 10 * i + 5, 1);
            file.kernel("k", 10 * i + 3, 10 * i + 8, 1);
        }
        const Trace trace = file.finish();
        Links links;
        run.count("link", [&] { links = link_launches(trace); });
        CHECK(links.size() == trace.size() / 2);
        run.count("link as the reference", [&] { links = link_launches(trace, LinkRule::reference_flows); });
        CHECK(links.size() == trace.size() / 2);
    });
}

TEST_CASE("all flows at one place") {
    check_growth([](Run& run, std::int64_t n) {
        TraceFixture file;
        for (std::int64_t i = 0; i < n; ++i) {
            file.call("cudaLaunchKernel", 0, 1).kernel("k", 10, 20);
            file.flow_start(i, 0).flow_finish(i, 10);
        }
        const Trace trace = file.finish();
        Links links;
        run.count("link", [&] { links = link_launches(trace); });
        CHECK(links.size() == trace.size() / 2);
    });
}

TEST_CASE("ops in each other, each with a kernel") {
    check_growth([](Run& run, std::int64_t n) {
        TraceFixture file;
        for (std::int64_t i = 0; i < n; ++i) {
            file.op("op", 10 * i, 40 * n - 10 * i);
            file.call("cudaLaunchKernel", 10 * i + 1, 10 * i + 2, i + 1);
            file.kernel("k", 10 * i + 5, 10 * i + 25, i + 1);
        }
        const Trace trace = file.finish();
        const Links links = link_launches(trace);
        std::unique_ptr<CallTree> tree;
        run.count("tree", [&] { tree = std::make_unique<CallTree>(trace, links); });
        Launchers launchers;
        run.count("launchers", [&] { launchers = find_launchers(*tree, links); });
        CHECK(launchers.rows.size() == static_cast<std::size_t>(n));
        CHECK(launchers.rows.front().subtree_time == 10 * (n - 1) + 20);
    });
}

TEST_CASE("kernels of one stream that all overlap") {
    check_growth([](Run& run, std::int64_t n) {
        TraceFixture file;
        for (std::int64_t i = 0; i < n; ++i) file.kernel("k", 2'000 * i, 2'000 * (n + i));
        file.on_stream(0, 8);
        for (std::int64_t i = 0; i < n; ++i)
            file.kernel("later", 2'000 * (2 * n + i), 2'000 * (2 * n + i + 1));
        const Trace trace = file.finish();
        const Links links = link_launches(trace);
        const CallTree tree(trace, links);
        std::vector<EventId> events(trace.size());
        for (EventId event = 0; event < events.size(); ++event) events[event] = event;
        run.count("overlap", [&] { CHECK(find_overlaps(tree, events).pair_count() == 0); });
    });
}

TEST_CASE("kernels of as many streams") {
    check_growth([](Run& run, std::int64_t n) {
        TraceFixture file;
        for (std::int64_t i = 0; i < n; ++i) file.on_stream(0, i).kernel("k", 2'000 * i, 2'000 * i + 4'000);
        const Trace trace = file.finish();
        const Links links = link_launches(trace);
        const CallTree tree(trace, links);
        std::vector<EventId> events(trace.size());
        for (EventId event = 0; event < events.size(); ++event) events[event] = event;
        run.count("overlap", [&] {
            CHECK(find_overlaps(tree, events).pair_count() == static_cast<std::size_t>(n - 1));
        });
    });
}

TEST_CASE("launches of one op that all have other kernels") {
    check_growth([](Run& run, std::int64_t n) {
        TraceFixture file;
        std::vector<std::vector<KernelEntry>> launches;
        for (std::int64_t i = 0; i < n; ++i) {
            KernelEntry entry;
            entry.name = file.builder().strings().intern("k" + std::to_string(i));
            launches.push_back({entry, entry});
        }
        const Trace trace = file.finish();
        run.count("kernel details", [&] {
            CHECK(kernel_details(trace, launches, DetailRule::by_sequence).skipped == launches.size() - 1);
        });
    });
}

TEST_CASE("backward wrappers, half of them with flows") {
    check_growth([](Run& run, std::int64_t n) {
        TraceFixture file;
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t start = 1'000 * i;
            file.on_thread(100, 1).with_sequence_number(i).op("aten::mm", start, start + 10);
            if (i % 2 == 0) file.flow_start(i, start, "fwdbwd");
            file.on_thread(100, 2);
            if (i % 2 == 0) file.flow_finish_on_host(i, start + 500, "fwdbwd");
            file.with_sequence_number(i).op("autograd::engine::evaluate_function: MmBackward0", start + 500,
                                            start + 510);
        }
        const Trace trace = file.finish();
        run.count("backward links", [&] { link_backward(trace); });
    });
}

TEST_CASE("thousands of keys") {
    check_growth([](Run& run, std::int64_t n) {
        std::string members;
        for (std::int64_t i = 0; i < n; ++i) members += "\"key " + std::to_string(i) + "\": 1, ";
        const std::string event =
            R"({"ph": "X", "name": "op", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {)" + members +
            R"("last": 1}})";
        run.count("read many arguments", [&] { CHECK(read("[" + event + "]").size() == 1); });
        run.count("read many properties", [&] {
            const Trace trace = read("{" + members + R"("traceEvents": []})");
            CHECK(trace.properties.size() == static_cast<std::size_t>(n));
        });
    });
}
