// Recomputed regions of activation checkpointing (spec 01, section 15.2; spec 02, section 18).

#include <cstdint>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <tracelens/analyze/recompute.hpp>
#include <tracelens/classify/gpu_class.hpp>

#include "unit/analyze/table_support.hpp"
#include "unit/grown_trace.hpp"

using namespace tracelens;
using fixture::column_text;
using fixture::GrownTrace;
using fixture::header_text;
using fixture::TraceFixture;
using fixture::us;
using fixture::with_frames;

namespace {

constexpr std::string_view root_name = "torch/utils/checkpoint.py(1123): recompute_fn";

/// The names of the marked nodes, in order of start.
std::string marked(const GrownTrace& grown) {
    const RecomputeMarks marks = mark_recompute(grown.tree);
    REQUIRE(marks.marked.size() == grown.tree.node_count());
    std::string text;
    std::size_t count = 0;
    for (NodeId node = 0; node < marks.marked.size(); ++node) {
        if (!marks.marked[node]) continue;
        ++count;
        text += (text.empty() ? "" : " | ") + std::string(grown.tree.name_text(node));
    }
    CHECK(marks.nodes == count);
    return text;
}

/// Forward work of 30 us and recomputed work of 10 us and 20 us, in [100, 130), [140, 150) and [160, 180).
TraceFixture checkpointed() {
    TraceFixture file;
    file.op("forward", 0, us(20)).launched("k", us(101), us(131));
    file.frame(root_name, us(30), us(90)).op("recomputed", us(40), us(80));
    file.launched("r1", us(141), us(151)).launched("r2", us(161), us(181));
    return file;
}

Table timeline(const GrownTrace& grown, std::optional<double> micro_idle_us = std::nullopt) {
    return recompute_timeline_table(grown.trace, timeline_events(grown.trace, grown.links, true),
                                    classify_gpu_events(grown.trace), mark_recompute(grown.tree),
                                    micro_idle_us);
}

}  // namespace

TEST_CASE("a root and all below it are marked, kernels included") {
    TraceFixture file;
    file.frame("outer", 0, us(100)).op("before", us(1), us(5));
    file.frame(root_name, us(10), us(50)).op("op", us(11), us(40)).frame("inner", us(12), us(35));
    file.launched("k", us(120), us(130));
    file.op("after", us(60), us(70)).on_thread(100, 2).op("other thread", us(20), us(30));
    const GrownTrace grown(file, with_frames);
    CHECK(marked(grown) == std::string(root_name) + " | op | inner | cudaLaunchKernel | k");
    CHECK(mark_recompute(grown.tree).regions == 1);
}

TEST_CASE("a root is a Python frame whose name holds both texts") {
    TraceFixture file;
    SUBCASE("the file alone") {
        file.frame("torch/utils/checkpoint.py(488): checkpoint", 0, us(50));
    }
    SUBCASE("the function alone") {
        file.frame("my/checkpoint.py(3): recompute_fn", 0, us(50));
    }
    SUBCASE("an op") {
        file.op(root_name, 0, us(50));
    }
    file.op("op", us(1), us(5));
    const GrownTrace grown(file, with_frames);
    CHECK(marked(grown) == "");
    CHECK(mark_recompute(grown.tree).regions == 0);
}

TEST_CASE("the texts may stand anywhere in the name") {
    TraceFixture file;
    file.frame("/usr/lib/torch/utils/checkpoint.py(1): _recompute_fn_impl", 0, us(50)).op("op", 1, 2);
    CHECK(mark_recompute(GrownTrace(file, with_frames).tree).nodes == 2);
}

TEST_CASE("a region in a region counts, its nodes are marked once") {
    TraceFixture file;
    file.frame(root_name, 0, us(50)).op("op", us(1), us(45)).frame(root_name, us(2), us(40));
    file.op("inner", us(3), us(5)).frame(root_name, us(60), us(70));
    const GrownTrace grown(file, with_frames);
    const RecomputeMarks marks = mark_recompute(grown.tree);
    CHECK(marks.regions == 3);
    CHECK(marks.nodes == 5);
}

TEST_CASE("without Python frames in the tree nothing is marked") {
    TraceFixture file = checkpointed();
    CHECK(marked(GrownTrace(file)) == "");
}

TEST_CASE("kernels without a launch are never marked") {
    TraceFixture file;
    file.frame(root_name, 0, us(50)).op("op", us(1), us(45)).kernel("k", us(10), us(20));
    CHECK(marked(GrownTrace(file, with_frames)) == std::string(root_name) + " | op");
}

TEST_CASE("calls that were left out of the tree are not marked, nor is their work") {
    TraceFixture file;
    file.frame(root_name, 0, us(50)).call("cudaLaunchKernel", us(10), us(60), 1);
    file.kernel("k", us(100), us(105), 1);
    const CallTreeOptions drop{.python_frames = true, .overrun = OverrunRule::drop};
    CHECK(marked(GrownTrace(file, drop)) == root_name);
}

TEST_CASE("pseudo ops below a root are marked") {
    for (const bool set_parent : {true, false}) {
        TraceFixture file;
        file.frame(root_name, 0, us(50)).op("op", us(1), us(45)).launched("k", us(110), us(120));
        GrownTrace grown(file, with_frames);
        const NodeId op = grown.node("op");
        const NodeId call = grown.node("cudaLaunchKernel");
        const NodeId pseudo = grown.tree.add_overlay({.name = grown.trace.name[op]});
        grown.tree.remove_child(op, call);
        grown.tree.append_child(op, pseudo);
        grown.tree.append_child(pseudo, call, set_parent);
        grown.tree.refresh();
        const RecomputeMarks marks = mark_recompute(grown.tree);
        CHECK(marks.nodes == 5);
        CHECK(marks.marked[pseudo]);
        CHECK(marks.marked[grown.node("k")]);
    }
}

TEST_CASE("stacks of a hundred thousand frames") {
    constexpr std::int64_t depth = 100'000;
    TraceFixture file;
    file.frame(root_name, 0, 2 * depth);
    for (std::int64_t i = 1; i < depth; ++i) file.frame("frame", i, 2 * depth - i);
    CHECK(mark_recompute(GrownTrace(file, with_frames).tree).nodes == depth);
}

TEST_CASE("timeline: a block without and a block with the mark, each of its own total") {
    TraceFixture file = checkpointed();
    const Table table = timeline(GrownTrace(file, with_frames));
    CHECK(header_text(table) == "type | time ms | percent | is_recompute");
    CHECK(column_text(table, "type") ==
          "computation_time | exposed_comm_time | exposed_memcpy_time | busy_time | idle_time | "
          "total_time | total_comm_time | total_memcpy_time | "
          "computation_time | exposed_comm_time | exposed_memcpy_time | busy_time | idle_time | "
          "total_time | total_comm_time | total_memcpy_time");
    CHECK(column_text(table, "is_recompute") ==
          "False | False | False | False | False | False | False | False | "
          "True | True | True | True | True | True | True | True");
    CHECK(column_text(table, "time ms") ==
          "0.03 | 0.0 | 0.0 | 0.03 | 0.0 | 0.03 | 0.0 | 0.0 | "
          "0.03 | 0.0 | 0.0 | 0.03 | 0.01 | 0.04 | 0.0 | 0.0");
    CHECK(column_text(table, "percent") ==
          "100.0 | 0.0 | 0.0 | 100.0 | 0.0 | 100.0 | 0.0 | 0.0 | "
          "75.0 | 0.0 | 0.0 | 75.0 | 25.0 | 100.0 | 0.0 | 0.0");
}

TEST_CASE("timeline: idle time is split in both blocks on demand") {
    TraceFixture file = checkpointed();
    const Table table = timeline(GrownTrace(file, with_frames), 10);
    REQUIRE(table.row_count() == 18);
    CHECK(fixture::cell_text(table, "type", 13) == "micro_idle_time");
    CHECK(fixture::cell_text(table, "time ms", 13) == "0.0");
    CHECK(fixture::cell_text(table, "type", 14) == "macro_idle_time");
    CHECK(fixture::cell_text(table, "time ms", 14) == "0.01");
}

TEST_CASE("timeline: a block without events is left out") {
    TraceFixture file;
    SUBCASE("no events at all") {
        const Table table = timeline(GrownTrace(file, with_frames));
        CHECK(header_text(table) == "type | time ms | percent | is_recompute");
        CHECK(table.row_count() == 0);
    }
    SUBCASE("nothing recomputed") {
        file.op("op", 0, us(20)).launched("k", us(101), us(131));
        CHECK(column_text(timeline(GrownTrace(file, with_frames)), "is_recompute") ==
              "False | False | False | False | False | False | False | False");
    }
    SUBCASE("all recomputed") {
        file.frame(root_name, 0, us(20)).launched("k", us(101), us(131));
        CHECK(column_text(timeline(GrownTrace(file, with_frames)), "is_recompute") ==
              "True | True | True | True | True | True | True | True");
    }
}
