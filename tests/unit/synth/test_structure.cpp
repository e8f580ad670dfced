// What every generated trace satisfies: same bytes each time, nesting, launches, steps to a size.
#include <cmath>
#include <cstdint>
#include <vector>

#include <tracelens/model/call_tree.hpp>

#include "unit/synth/synth_support.hpp"

using namespace tracelens;
using namespace tracelens::synth_test;

namespace {

bool is_host(EventKind kind) {
    return kind == EventKind::cpu_op || kind == EventKind::python_function ||
           kind == EventKind::user_annotation || is_runtime_call(kind);
}

/// Events that overlap an earlier one of their track without lying inside it.
std::size_t badly_nested(const Trace& trace) {
    std::vector<std::vector<Ticks>> open(trace.tracks.size());
    std::size_t wrong = 0;
    for (EventId event = 0; event < trace.size(); ++event) {
        if (!is_host(trace.kind[event])) continue;
        std::vector<Ticks>& ends = open[to_index(trace.track[event])];
        while (!ends.empty() && ends.back() <= trace.start[event]) ends.pop_back();
        wrong += !ends.empty() && ends.back() < trace.end[event];
        ends.push_back(trace.end[event]);
    }
    return wrong;
}

}  // namespace

TEST_CASE("the same options give the same bytes, another seed other times") {
    for_each_kind([](synth::Options options) {
        const std::string text = generated(options);
        CHECK(text == generated(options));
        options.seed = 2;
        const std::string other = generated(options);
        CHECK(text != other);
        CHECK(read(text).size() == read(other).size());
    });
}

TEST_CASE("generated text is JSON, and its counts are those of the summary") {
    for_each_kind([](synth::Options options) {
        options.collectives = true;
        for (const synth::JsonStyle style : {synth::JsonStyle::pretty, synth::JsonStyle::compact}) {
            options.style = style;
            synth::Summary summary;
            const std::string text = generated(options, &summary);
            CHECK(nlohmann::json::parse(text).at("traceEvents").size() == summary.events);
            CHECK(text.size() == summary.bytes);
        }
    });
}

TEST_CASE("host events nest") {
    for_each_kind([](synth::Options options) {
        CHECK(badly_nested(read(generated(options))) == 0);
        options.python_depth = 60;
        options.graphs = true;
        CHECK(badly_nested(read(generated(options))) == 0);
    });
}

TEST_CASE("the stack depth limits python frames") {
    for_each_kind([](synth::Options options) {
        for (const int depth : {0, 1, 5, 40}) {
            CAPTURE(depth);
            options.python_depth = depth;
            const Trace trace = read(generated(options));
            std::vector<std::vector<Ticks>> open(trace.tracks.size());
            std::size_t deepest = 0;
            for (EventId event = 0; event < trace.size(); ++event) {
                if (trace.kind[event] != EventKind::python_function) continue;
                std::vector<Ticks>& ends = open[to_index(trace.track[event])];
                while (!ends.empty() && ends.back() <= trace.start[event]) ends.pop_back();
                ends.push_back(trace.end[event]);
                deepest = std::max(deepest, ends.size());
            }
            CHECK(deepest == static_cast<std::size_t>(depth));
        }
    });
}

TEST_CASE("every piece of GPU work has a launch before it, and work of a stream does not overlap") {
    for_each_kind([](synth::Options options) {
        for (const bool graphs : {false, true}) {
            options.collectives = true;
            options.graphs = graphs;
            const Trace trace = read(generated(options));
            const Links links = link_launches(trace);
            std::vector<Ticks> stream_end(trace.tracks.size(), 0);
            std::size_t work = 0;
            std::size_t wrong = 0;
            for (EventId event = 0; event < trace.size(); ++event) {
                if (!is_gpu_work(trace.kind[event])) continue;
                ++work;
                const EventId launch = links.launch_of(event);
                wrong += launch == no_event || trace.start[launch] > trace.start[event];
                Ticks& end = stream_end[to_index(trace.track[event])];
                wrong += end > trace.start[event];
                end = trace.end[event];
            }
            CHECK(work > 100);
            CHECK(wrong == 0);
        }
    });
}

TEST_CASE("launches are under ops, and ops have shapes") {
    for_each_kind([](const synth::Options& options) {
        const Trace trace = read(generated(options));
        const Links links = link_launches(trace);
        const CallTree tree(trace, links);
        std::size_t wrong = 0;
        for (const EventId call : links.calls()) {
            const NodeId op = tree.enclosing_op(call);
            wrong += op == no_node || !trace.arg(op, "Input Dims");
        }
        CHECK(wrong == 0);
    });
}

TEST_CASE("training has forward and backward on two threads, with sequence numbers and flows") {
    const Trace trace = read(generated(small(synth::Vendor::nvidia, synth::WorkloadKind::training)));
    std::size_t starts = 0;
    std::size_t finishes = 0;
    for (const Flow& flow : trace.flows) {
        if (trace.text(flow.category) != "fwdbwd") continue;
        (flow.phase == 's' ? starts : finishes) += 1;
    }
    CHECK(starts > 50);
    CHECK(starts == finishes);
}

TEST_CASE("steps are chosen for a size in bytes or in events") {
    for_each_kind([](synth::Options options) {
        for (const std::uint64_t bytes : {std::uint64_t{4'000'000}, std::uint64_t{15'000'000}}) {
            options.target_bytes = bytes;
            options.target_events = 0;
            synth::Summary by_bytes;
            generated(options, &by_bytes);
            // The nearest number of steps is at most half a step off.
            const double half_step =
                0.5 * static_cast<double>(by_bytes.bytes) / static_cast<double>(by_bytes.steps);
            CHECK(std::abs(static_cast<double>(by_bytes.bytes) - static_cast<double>(bytes)) <
                  1.5 * half_step);

            options.target_bytes = 0;
            options.target_events = by_bytes.events;
            synth::Summary by_events;
            generated(options, &by_events);
            CHECK(by_events.steps == by_bytes.steps);
            CHECK(by_events.events == by_bytes.events);
        }
    });
}

TEST_CASE("options that make no sense are refused") {
    const auto refuses = [](auto change) {
        synth::Options options = small(synth::Vendor::amd, synth::WorkloadKind::training);
        change(options);
        CHECK_THROWS_AS(generated(options), std::invalid_argument);
    };
    refuses([](synth::Options& o) { o.layers = 0; });
    refuses([](synth::Options& o) { o.python_depth = -1; });
    refuses([](synth::Options& o) { o.rank = 8; });
    refuses([](synth::Options& o) { o.ranks = 0; });
    refuses([](synth::Options& o) { o.ranks = 9; });
    refuses([](synth::Options& o) { o.target_bytes = o.target_events = 1000; });
}
