// Launchers: which call GPU work is charged to (spec 01, section 15.3; spec 02, section 8.1).

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/analyze/launchers.hpp>

#include "unit/grown_trace.hpp"

using namespace tracelens;
using fixture::GrownTrace;
using fixture::Random;
using fixture::TraceFixture;
using fixture::us;
using fixture::with_frames;

namespace {

constexpr ClassRules both_rules[] = {ClassRules::full, ClassRules::reference};
constexpr LauncherOptions with_collectives{
    .rules = ClassRules::full, .include_collectives = true, .excluded = {}};

LauncherOptions by_rules(ClassRules rules) {
    LauncherOptions options;
    options.rules = rules;
    return options;
}

/// The launchers in their order as "name kernels direct subtree", times in microseconds.
std::string charged(const GrownTrace& grown, const LauncherOptions& options = {}) {
    std::string text;
    const Launchers launchers = find_launchers(grown.tree, grown.links, options);
    for (const Launcher& each : launchers.rows) {
        if (!text.empty()) text += "; ";
        text += std::string(grown.tree.name_text(each.node)) + " " +
                std::to_string(launchers.kernels_of(each).size()) + " " +
                std::to_string(each.direct_time / 1000) + " " + std::to_string(each.subtree_time / 1000);
    }
    return text;
}

std::string charged(TraceFixture& file, const LauncherOptions& options = {}) {
    return charged(GrownTrace(file), options);
}

/// A check that holds under both class rules.
void check_charged(const GrownTrace& grown, std::string_view expected) {
    for (const ClassRules rules : both_rules) CHECK(charged(grown, by_rules(rules)) == expected);
}

void check_charged(TraceFixture& file, std::string_view expected) {
    check_charged(GrownTrace(file), expected);
}

std::string_view category_of_op(TraceFixture& file, ClassRules rules = ClassRules::full) {
    const GrownTrace grown(file);
    const Launchers launchers = find_launchers(grown.tree, grown.links, by_rules(rules));
    REQUIRE(launchers.rows.size() == 1);
    return launchers.rows[0].category;
}

}  // namespace

TEST_CASE("without GPU work there are no launchers") {
    TraceFixture file;
    check_charged(file, "");
    file = TraceFixture();
    file.op("op", 0, us(50)).call("cudaLaunchKernel", us(1), us(2), 1);
    check_charged(file, "");
}

TEST_CASE("op, runtime call, kernel: the op") {
    TraceFixture file;
    file.op("op", 0, us(50)).launched("k", us(110), us(160));
    check_charged(file, "op 1 50 50");
}

TEST_CASE("op, driver call, kernel: the op") {
    TraceFixture file;
    file.op("op", 0, us(50)).driver_call("cuLaunchKernel", us(1), us(2), 1);
    file.kernel("k", us(100), us(107), 1);
    check_charged(file, "op 1 7 7");
}

TEST_CASE("several launches of one op add up, overlapping kernels count once") {
    TraceFixture file;
    file.op("op", 0, us(50));
    SUBCASE("one after the other") {
        file.launched("a", us(110), us(140)).launched("b", us(140), us(180));
        check_charged(file, "op 2 70 70");
    }
    SUBCASE("on two streams") {
        file.launched("a", us(110), us(120)).on_stream(0, 8).launched("b", us(115), us(135));
        check_charged(file, "op 2 25 25");
    }
}

TEST_CASE("frames between op and call change nothing, in the tree or out of it") {
    for (const std::int64_t depth : {1, 3}) {
        for (const bool in_tree : {false, true}) {
            CAPTURE(depth);
            CAPTURE(in_tree);
            TraceFixture file;
            file.op("op", 0, us(50));
            for (std::int64_t i = 0; i < depth; ++i) file.frame("frame", us(1 + i), us(49 - i));
            file.launched("k", us(110), us(160));
            check_charged(GrownTrace(file, in_tree ? with_frames : CallTreeOptions{}), "op 1 50 50");
        }
    }
}

TEST_CASE("a call without an op is charged itself") {
    TraceFixture file;
    file.call("hipLaunchKernel", 0, 10, 1).kernel("k", us(100), us(150), 1);
    check_charged(file, "hipLaunchKernel 1 50 50");
}

TEST_CASE("frames are no ops: a call below them only is charged itself") {
    TraceFixture file;
    file.frame("train.py(1): main", 0, us(50)).launched("k", us(110), us(160));
    check_charged(GrownTrace(file, with_frames), "cudaLaunchKernel 1 50 50");
}

TEST_CASE("calls with and without an op side by side; kernels without a call are charged to nothing") {
    TraceFixture file;
    file.op("op", 0, us(20)).launched("k", us(110), us(120)).launched("k", us(130), us(135));
    file.kernel("from before the window", us(1), us(2)).kernel("id of no call", us(3), us(4), 77);
    check_charged(file, "op 1 10 10; cudaLaunchKernel 1 5 5");
}

TEST_CASE("collectives are charged only where they are asked for, but lie in the subtree") {
    TraceFixture file;
    file.op("op", 0, us(50)).launched("gemm", us(110), us(140)).launched("ncclDevKernel", us(140), us(180));
    file.op("only nccl", us(50), us(60)).launched("RCCL kernel", us(152), us(153));
    const GrownTrace grown(file);
    check_charged(grown, "op 1 30 70");
    CHECK(charged(grown, with_collectives) == "op 2 70 70; only nccl 1 1 1");
}

TEST_CASE("collectives beyond the reference's patterns (spec 11, section 7)") {
    TraceFixture file;
    file.op("op", 0, us(50)).launched("mscclKernel", us(110), us(140));
    const GrownTrace grown(file);
    CHECK(charged(grown) == "");
    CHECK(charged(grown, by_rules(ClassRules::reference)) == "op 1 30 30");
}

TEST_CASE("graph launches are charged with all kernels of the graph") {
    for (const std::string_view name : {"cudaGraphLaunch", "hipGraphLaunch"}) {
        for (const LinkRule rule : {LinkRule::correlation, LinkRule::reference_flows}) {
            TraceFixture file;
            file.op("op", 0, us(50)).call(name, us(1), us(2), 5);
            for (std::int64_t i = 0; i < 3; ++i) file.kernel("k", us(100 + 30 * i), us(130 + 30 * i), 5);
            check_charged(GrownTrace(file, {}, rule), "op 3 90 90");
        }
    }
}

TEST_CASE("a graph launch without an op is one launcher") {
    TraceFixture file;
    file.call("cudaGraphLaunch", us(1), us(2), 5);
    file.kernel("g1", us(100), us(103), 5).kernel("g2", us(103), us(108), 5);
    check_charged(file, "cudaGraphLaunch 2 8 8");
}

TEST_CASE("the plumbing op `execute` passes its kernels on") {
    TraceFixture file;
    SUBCASE("to the op above it") {
        file.op("conv_bn_fused", 0, us(50)).op("execute", us(1), us(49)).launched("k", us(110), us(150));
        check_charged(file, "conv_bn_fused 1 40 40");
    }
    SUBCASE("through another one, and through frames") {
        file.op("op", 0, us(50)).op("execute", us(1), us(49)).frame("f", us(2), us(48));
        file.op("execute", us(3), us(47)).launched("k", us(110), us(150));
        check_charged(GrownTrace(file, with_frames), "op 1 40 40");
    }
    SUBCASE("to the call when nothing is above it") {
        file.op("execute", us(1), us(49)).launched("k", us(110), us(150));
        check_charged(file, "cudaLaunchKernel 1 40 40");
    }
    SUBCASE("the name is exact") {
        file.op("op", 0, us(50)).op("execute_2", us(1), us(49)).launched("k", us(110), us(150));
        check_charged(file, "execute_2 1 40 40");
    }
}

TEST_CASE("of nested ops the inner one, of siblings each") {
    TraceFixture file;
    file.op("outer", 0, us(50)).op("inner", us(1), us(20)).launched("k", us(110), us(150));
    file.op("sibling", us(20), us(40)).launched("k", us(125), us(150));
    check_charged(file, "inner 1 40 40; sibling 1 25 25");
}

TEST_CASE("own kernels and the subtree's (spec 02, section 22.2)") {
    TraceFixture file;
    file.op("my::parent", 0, us(50)).launched("own_k", us(101), us(109));
    file.op("aten::mm", us(20), us(40)).launched("gemm", us(125), us(135));
    check_charged(file, "my::parent 1 8 18; aten::mm 1 10 10");
}

TEST_CASE("a call inside another call: the op above both; the reference stops at the outer call") {
    TraceFixture file;
    file.op("weird::nested", 0, us(50)).call("hipModuleLaunchKernel", us(1), us(30));
    file.launched("k", us(110), us(117));
    const GrownTrace grown(file);
    CHECK(charged(grown) == "weird::nested 1 7 7");
    CHECK(charged(grown, by_rules(ClassRules::reference)) == "cudaLaunchKernel 1 7 7");
}

TEST_CASE("copies and fills are charged like kernels, linked by External id where no launch is in the file") {
    for (const LinkRule rule : {LinkRule::correlation, LinkRule::reference_flows}) {
        TraceFixture file;
        file.with_external_id(5).op("copy", 0, us(10));
        file.with_external_id(5).call("hipMemcpyWithStream", us(1), us(2)).flow_start(5, us(1));
        file.with_external_id(5).memcpy("Memcpy HtoD", us(100), us(103)).flow_finish(5, us(100));
        file.with_external_id(6).op("fill", us(20), us(30));
        file.with_external_id(6).call("hipMemsetAsync", us(21), us(22)).flow_start(6, us(21));
        file.with_external_id(6).memset("Memset (Device)", us(110), us(114)).flow_finish(6, us(110));
        const GrownTrace grown(file, {}, rule);
        check_charged(grown, "copy 1 3 3; fill 1 4 4");
        const Launchers launchers = find_launchers(grown.tree, grown.links);
        CHECK(grown.trace.text(launchers.first_kernel_name(grown.trace, grown.node("copy"))) ==
              "Memcpy HtoD");
        CHECK(grown.trace.text(launchers.first_kernel_name(grown.trace, grown.node("fill"))) ==
              "Memset (Device)");
    }
}

TEST_CASE("in traces without runtime calls the op that a flow starts at is charged") {
    TraceFixture file;
    file.op("outer", 0, us(90)).op("aten::mm", us(10), us(50)).flow_start(7, us(10), "cpu_to_cuda");
    file.kernel("k", us(100), us(110)).flow_finish(7, us(100), "cpu_to_cuda");
    CHECK(charged(file) == "aten::mm 1 10 10");
}

TEST_CASE("a call that was left out of the tree still owns its kernels") {
    TraceFixture file;
    file.op("op", 0, us(50)).call("cudaLaunchKernel", us(10), us(60), 1).kernel("k", us(100), us(105), 1);
    const CallTreeOptions drop{.python_frames = false, .overrun = OverrunRule::drop};
    check_charged(GrownTrace(file, drop), "cudaLaunchKernel 1 5 5");
}

TEST_CASE("order: by start, ties by the first kernel in the file") {
    TraceFixture file;
    file.op("second", us(10), us(20)).call("cudaLaunchKernel", us(11), us(12), 1);
    file.op("first", us(1), us(9)).call("cudaLaunchKernel", us(2), us(3), 2);
    file.on_thread(100, 2).op("tie", us(10), us(20)).call("cudaLaunchKernel", us(11), us(12), 3);
    file.kernel("k", us(130), us(140), 3).kernel("k", us(120), us(130), 1).kernel("k", us(140), us(150), 2);
    check_charged(file, "first 1 10 10; tie 1 10 10; second 1 10 10");
}

TEST_CASE("kernels of a launcher stand in order of start; rows are found by node") {
    TraceFixture file;
    file.op("op", 0, us(50)).op("idle", us(40), us(45));
    file.launched("late", us(130), us(140)).on_stream(0, 8).launched("early", us(110), us(120));
    const GrownTrace grown(file);
    const Launchers launchers = find_launchers(grown.tree, grown.links);
    REQUIRE(launchers.rows.size() == 1);
    const std::span<const EventId> kernels = launchers.kernels_of(launchers.rows[0]);
    REQUIRE(kernels.size() == 2);
    CHECK(grown.trace.name_of(kernels[0]) == "early");
    CHECK(grown.trace.name_of(kernels[1]) == "late");
    CHECK(launchers.row_of_node[grown.node("op")] == 0);
    CHECK(launchers.row_of_node[grown.node("idle")] == Launchers::no_row);
    CHECK(grown.trace.text(launchers.first_kernel_name(grown.trace, grown.node("op"))) == "early");
    CHECK(launchers.first_kernel_name(grown.trace, grown.node("idle")) == StringId::empty);
}

TEST_CASE("the category comes from the op's name, failing that from its earliest own kernel") {
    constexpr std::string_view reduce = "void at::native::reduce_kernel<512>(x)";
    constexpr std::string_view elementwise = "void at::native::vectorized_elementwise_kernel<4>(x)";
    TraceFixture file;
    SUBCASE("by name") {
        file.op("aten::mm", 0, us(50)).launched(reduce, us(110), us(120));
        CHECK(category_of_op(file) == "GEMM");
    }
    SUBCASE("the earliest kernel, not the first of the file") {
        file.op("my::op", 0, us(50)).launched(reduce, us(130), us(140));
        file.on_stream(0, 8).launched(elementwise, us(110), us(120));
        CHECK(category_of_op(file) == "elementwise");
    }
    SUBCASE("collectives are no own kernels") {
        file.op("my::op", 0, us(50)).launched("ncclDevKernel", us(105), us(109));
        file.launched(reduce, us(110), us(120));
        CHECK(category_of_op(file) == "reduce");
    }
    SUBCASE("launchers of attention are attention, but not to the reference") {
        file.op("aten::_flash_attention_forward", 0, us(50)).launched("flash_fwd", us(110), us(120));
        SUBCASE("full") {
            CHECK(category_of_op(file) == "SDPA_fwd");
        }
        SUBCASE("reference") {
            CHECK(category_of_op(file, ClassRules::reference) == "other");
        }
    }
    SUBCASE("calls") {
        file.launched("my_kernel", us(110), us(120));
        CHECK(category_of_op(file) == "other");
    }
}

TEST_CASE("excluded events cost nothing") {
    TraceFixture file;
    file.op("outer", 0, us(50)).launched("kept", us(110), us(120));
    file.op("inner", us(20), us(40)).launched("corrupt", us(125), us(900));
    const GrownTrace grown(file);
    LauncherOptions options;
    options.excluded.assign(grown.trace.size(), false);
    options.excluded[grown.node("corrupt")] = true;
    check_charged(grown, "outer 1 10 785; inner 1 775 775");
    CHECK(charged(grown, options) == "outer 1 10 10");
}

TEST_CASE("a pseudo op above a call is its launcher") {
    TraceFixture file;
    file.op("op", 0, us(50)).launched("k", us(110), us(120));
    GrownTrace grown(file);
    const NodeId pseudo = grown.tree.add_overlay(
        {.name = grown.trace.name[grown.node("k")], .kind = EventKind::cpu_op, .start = us(5), .end = us(9)});
    grown.tree.insert_above(grown.node("cudaLaunchKernel"), pseudo);
    grown.tree.refresh();
    check_charged(grown, "k 1 10 10");
}

TEST_CASE("the busy time of events in any order is their union") {
    TraceFixture file;
    file.kernel("a", 0, us(10)).on_stream(0, 8).kernel("b", us(5), us(12)).kernel("c", us(20), us(21));
    const Trace trace = file.finish();
    const EventId backwards[] = {2, 1, 0};
    CHECK(busy_ticks(trace, backwards) == us(13));
    CHECK(busy_ticks(trace, {}) == 0);
}

TEST_CASE("subtree times of ops in ops equal counted nanoseconds") {
    constexpr std::int64_t window = 4000;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        TraceFixture file;
        // Each op lies in the one before it; few kernels below the inner ones, hundreds below the outer ones.
        std::int64_t correlation = 0;
        std::int64_t start = 0;
        for (std::int64_t end = 1'000'000; end - start > 2000; start += 1 + random.below(40)) {
            file.op("op", start, end);
            for (std::int64_t i = random.below(4); i > 0; --i) {
                file.call("cudaLaunchKernel", start, start + 1, ++correlation);
                const std::int64_t at = random.below(window - 50);
                file.kernel("k", at, at + random.below(50), correlation);
            }
            end -= 1 + random.below(9000);
        }
        const GrownTrace grown(file);
        LauncherOptions options;
        for (EventId event = 0; event < grown.trace.size(); ++event)
            options.excluded.push_back(random.below(10) == 0);
        const Launchers launchers = find_launchers(grown.tree, grown.links, options);
        REQUIRE(launchers.rows.size() > 20);
        for (const Launcher& each : launchers.rows) {
            std::vector<bool> busy(static_cast<std::size_t>(window), false);
            for (const EventId event : grown.tree.gpu_events(each.node)) {
                if (options.excluded[event]) continue;
                std::fill(busy.begin() + grown.trace.start[event], busy.begin() + grown.trace.end[event],
                          true);
            }
            CHECK(each.subtree_time == std::count(busy.begin(), busy.end(), true));
        }
    }
}
