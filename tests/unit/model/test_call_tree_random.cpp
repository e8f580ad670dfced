// The call tree against naive re-implementations of its rules, on random and on very deep traces.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/model/call_tree.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::Random;
using fixture::TraceFixture;

namespace {

/// Random calls of two threads, nested and overlapping, with launches and kernels.
Trace random_trace(std::uint64_t seed, int events, std::int64_t length) {
    Random random(seed);
    TraceFixture file;
    for (int i = 0; i < events; ++i) {
        file.on_thread(100, random.below(2)).on_stream(0, random.below(3));
        const std::int64_t start = random.below(length);
        const std::int64_t end = start + random.below(4) * random.below(length / 8 + 1);
        const std::string name = "event " + std::to_string(i);
        switch (random.below(5)) {
            case 0: file.frame(name, start, end); break;
            case 1: file.call(name, start, end, random.below(events / 6 + 1) + 1); break;
            case 2: file.kernel(name, start, end, random.below(events / 6 + 1) + 1); break;
            default: file.op(name, start, end); break;
        }
    }
    return file.finish();
}

/// What spec 01, section 6, says step by step, on lists of event numbers.
struct NaiveTree {
    std::vector<NodeId> parent;
    std::vector<std::vector<NodeId>> children;
    std::vector<bool> dropped;
    std::vector<bool> clipped;
    std::vector<NodeId> cpu_roots;

    NaiveTree(const Trace& trace, const Links& links, const CallTreeOptions& options)
        : parent(trace.size(), no_node),
          children(trace.size()),
          dropped(trace.size()),
          clipped(trace.size()) {
        struct Open {
            NodeId node;
            Ticks end;
        };
        std::map<std::int64_t, std::vector<Open>> stacks;
        for (EventId e = 0; e < trace.size(); ++e) {
            const EventKind kind = trace.kind[e];
            const bool host = kind == EventKind::cpu_op || is_runtime_call(kind) ||
                              (kind == EventKind::python_function && options.python_frames);
            if (!host) continue;
            std::vector<Open>& stack = stacks[trace.track_of(e).tid.value];
            const Ticks start = trace.start[e];
            Ticks end = trace.end[e];
            while (!stack.empty() && start >= stack.back().end) stack.pop_back();
            if (!stack.empty() && end > stack.back().end && options.overrun == OverrunRule::drop) {
                if (stack.back().end - start < 1000 && stack.size() >= 2) {
                    stack.pop_back();
                } else {
                    dropped[e] = true;
                    continue;
                }
            } else if (options.overrun == OverrunRule::clip) {
                while (!stack.empty() && end > stack.back().end && stack.back().end - start < 1000)
                    stack.pop_back();
                if (!stack.empty() && end > stack.back().end) {
                    clipped[e] = true;
                    end = stack.back().end;
                }
            }
            if (!stack.empty()) {
                parent[e] = stack.back().node;
                children[stack.back().node].push_back(e);
            }
            if (kind == EventKind::cpu_op) {
                bool under_op = false;
                for (const Open& open : stack)
                    under_op = under_op || trace.kind[open.node] == EventKind::cpu_op;
                if (!under_op) cpu_roots.push_back(e);
            }
            stack.push_back({e, end});
        }
        for (EventId call = 0; call < trace.size(); ++call) {
            for (const EventId gpu : links.launched_by(call)) {
                parent[gpu] = call;
                children[call].push_back(gpu);
            }
        }
    }

    /// GPU events below a node, depth first.
    std::vector<EventId> gpu_events(const Trace& trace, NodeId node) const {
        std::vector<EventId> result;
        if (is_gpu_work(trace.kind[node])) result.push_back(node);
        for (const NodeId child : children[node]) {
            const std::vector<EventId> below = gpu_events(trace, child);
            result.insert(result.end(), below.begin(), below.end());
        }
        return result;
    }
};

}  // namespace

TEST_CASE("random trees equal the naive ones under every option") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const std::int64_t length = seed % 3 == 0 ? 3'000 : seed % 3 == 1 ? 60'000 : 2'000'000;
        const Trace trace = random_trace(seed, 200, length);
        const Links links = link_launches(trace);
        for (const bool frames : {false, true}) {
            for (const OverrunRule rule : {OverrunRule::clip, OverrunRule::drop}) {
                CAPTURE(seed);
                CAPTURE(frames);
                const CallTreeOptions options{.python_frames = frames, .overrun = rule};
                const CallTree tree(trace, links, options);
                const NaiveTree naive(trace, links, options);
                std::vector<NodeId> roots;
                std::size_t dropped = 0;
                std::size_t clipped = 0;
                for (NodeId node = 0; node < trace.size(); ++node) {
                    CAPTURE(node);
                    REQUIRE(tree.parent(node) == naive.parent[node]);
                    REQUIRE(tree.was_dropped(node) == naive.dropped[node]);
                    REQUIRE(tree.was_clipped(node) == naive.clipped[node]);
                    std::vector<NodeId> children;
                    for (NodeId at = tree.first_child(node); at != no_node; at = tree.next_sibling(at))
                        children.push_back(at);
                    REQUIRE(children == naive.children[node]);
                    dropped += naive.dropped[node] ? 1 : 0;
                    clipped += naive.clipped[node] ? 1 : 0;
                    if (tree.contains(node) && naive.parent[node] == no_node && !naive.dropped[node])
                        roots.push_back(node);
                    if (!tree.contains(node)) continue;
                    const std::vector<EventId> expected = naive.gpu_events(trace, node);
                    const std::span<const EventId> gpu = tree.gpu_events(node);
                    REQUIRE(std::vector<EventId>(gpu.begin(), gpu.end()) == expected);
                    Ticks ticks = 0;
                    for (const EventId each : expected) ticks += trace.duration(each);
                    REQUIRE(tree.gpu_ticks(node) == ticks);
                }
                REQUIRE(tree.dropped_count() == dropped);
                REQUIRE(tree.clipped_count() == clipped);
                REQUIRE(std::vector<NodeId>(tree.roots().begin(), tree.roots().end()) == roots);
                REQUIRE(std::vector<NodeId>(tree.cpu_roots().begin(), tree.cpu_roots().end()) ==
                        naive.cpu_roots);
            }
        }
    }
}

TEST_CASE("the clip rule keeps every event within its parent's time") {
    for (std::uint64_t seed = 100; seed < 110; ++seed) {
        const Trace trace = random_trace(seed, 400, 500'000);
        const CallTree tree(trace, link_launches(trace),
                            {.python_frames = true, .overrun = OverrunRule::clip});
        CHECK(tree.dropped_count() == 0);
        for (NodeId node = 0; node < trace.size(); ++node) {
            const NodeId above = tree.parent(node);
            if (above == no_node || is_gpu_work(trace.kind[node])) continue;
            CHECK(trace.start[node] >= trace.start[above]);
            CHECK(trace.start[node] < trace.end[above]);
            CHECK((tree.was_clipped(node) || trace.end[node] <= trace.end[above] || tree.was_clipped(above)));
        }
    }
}

TEST_CASE("a stack of 100,000 calls") {
    constexpr std::int64_t depth = 100'000;
    TraceFixture file;
    for (std::int64_t i = 0; i < depth; ++i) file.frame("frame", i, 3 * depth - i);
    file.op("op", depth, depth + 100).call("cudaLaunchKernel", depth + 1, depth + 2, 7);
    file.kernel("k", 4 * depth, 4 * depth + 50, 7);
    const Trace trace = file.finish();
    const CallTree tree(trace, link_launches(trace), {.python_frames = true, .overrun = OverrunRule::drop});
    CHECK(tree.roots().size() == 1);
    CHECK(tree.cpu_roots().size() == 1);
    CHECK(tree.dropped_count() == 0);
    CHECK(tree.gpu_events(0).size() == 1);
    CHECK(tree.gpu_ticks(0) == 50);
    CHECK(tree.gpu_ticks(depth - 1) == 50);
    CHECK(tree.enclosing_op(fixture::event_named(trace, "k")) == fixture::event_named(trace, "op"));
}
