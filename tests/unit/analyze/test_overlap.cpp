// Kernels that run at the same time (spec 01, section 14; spec 02, section 17.1).

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "unit/analyze/overlap_support.hpp"

using namespace tracelens;
using fixture::add_kernel;
using fixture::both_rules;
using fixture::gpu_events;
using fixture::GrownTrace;
using fixture::overlap_by;
using fixture::overlaps_of;
using fixture::Random;
using fixture::TraceFixture;
using fixture::us;

namespace {

/// What overlaps each GPU event, as "a: b c; b: a; c: a", in order of start.
std::string pairs(const GrownTrace& grown, const OverlapOptions& options = {}) {
    const Overlaps overlaps = overlaps_of(grown, options);
    std::string text;
    for (const EventId event : gpu_events(grown.trace)) {
        if (overlaps.of(event).empty()) continue;
        if (!text.empty()) text += "; ";
        text += std::string(grown.trace.name_of(event)) + ":";
        for (const EventId other : overlaps.of(event)) text += " " + std::string(grown.trace.name_of(other));
    }
    return text;
}

/// A check that holds under both rules.
void check_pairs(TraceFixture& file, std::string_view expected) {
    const GrownTrace grown(file);
    for (const ClassRules rules : both_rules) CHECK(pairs(grown, overlap_by(rules)) == expected);
}

/// The definition, pair by pair.
bool overlap(const GrownTrace& grown, EventId a, EventId b, const OverlapOptions& options) {
    const Trace& trace = grown.trace;
    const Ticks common = std::min(trace.end[a], trace.end[b]) - std::max(trace.start[a], trace.start[b]);
    if (common <= 0 || trace.to_us(common) < options.least_us) return false;
    const Track& x = trace.track_of(a);
    const Track& y = trace.track_of(b);
    if (options.rules == ClassRules::reference) {
        return x.stream != y.stream &&
               (options.parts == nullptr || (*options.parts)[a] == (*options.parts)[b]);
    }
    const auto nearest_op = [&](NodeId node) {
        while (node != no_node && grown.tree.kind(node) != EventKind::cpu_op) node = grown.tree.parent(node);
        return node;
    };
    const NodeId op = nearest_op(a);
    const bool same_stream = x.stream == y.stream && x.device == y.device && x.rank == y.rank;
    return !same_stream && (op == no_node || op != nearest_op(b));
}

/// Ops with a few kernels on a few streams, some kernels without a launch, on two devices and ranks.
TraceFixture random_file(Random& random) {
    TraceFixture file;
    std::int64_t correlation = 0;
    const std::int64_t ops = 1 + random.below(12);
    for (std::int64_t i = 0; i < ops; ++i) {
        const std::int64_t rank = random.below(2);
        const std::int64_t start = 100 * i;
        file.on_thread(10 + rank, 1, rank);
        if (random.below(4) > 0) file.op("op", start, start + 90);
        for (std::int64_t k = random.below(4); k > 0; --k) {
            file.call("cudaLaunchKernel", start + 10 * k, start + 10 * k + 5, ++correlation);
            const std::int64_t at = 5000 + random.below(12'000);
            const std::int64_t length = random.below(4) * random.below(3) * 500 + random.below(2) * 250;
            file.on_stream(random.below(2), random.below(3), rank)
                .kernel("k", at, at + length, random.below(5) > 0 ? correlation : no_number);
        }
    }
    return file;
}

}  // namespace

TEST_CASE("no event, one event") {
    const Trace trace;
    const Links links = link_launches(trace);
    CHECK(find_overlaps(CallTree(trace, links), {}).pair_count() == 0);
    TraceFixture file;
    file.kernel("a", 0, us(10));
    check_pairs(file, "");
}

TEST_CASE("pairs of two streams") {
    TraceFixture file;
    const auto with_b = [&](std::int64_t start, std::int64_t end) -> TraceFixture& {
        return file.on_stream(0, 1).kernel("a", 0, us(10)).on_stream(0, 2).kernel("b", us(start), us(end));
    };
    SUBCASE("apart") {
        check_pairs(with_b(20, 30), "");
    }
    SUBCASE("overlapping") {
        check_pairs(with_b(5, 15), "a: b; b: a");
    }
    SUBCASE("touching") {
        check_pairs(with_b(10, 20), "");
    }
    SUBCASE("equal") {
        check_pairs(with_b(0, 10), "a: b; b: a");
    }
    SUBCASE("a kernel and a copy") {
        file.on_stream(0, 1).kernel("a", 0, us(10)).on_stream(0, 2).memcpy("b", us(5), us(15));
        check_pairs(file, "a: b; b: a");
    }
}

TEST_CASE("all pairs of three, each once, in file order") {
    TraceFixture file;
    file.on_stream(0, 3).kernel("c", us(15), us(25)).on_stream(0, 1).kernel("a", 0, us(100));
    file.on_stream(0, 2).kernel("b", us(10), us(20));
    const GrownTrace grown(file);
    CHECK(pairs(grown) == "a: c b; b: c a; c: a b");
    CHECK(overlaps_of(grown).pair_count() == 3);
}

TEST_CASE("events of one stream never overlap, not even those of two ops") {
    TraceFixture file;
    add_kernel(file, "a", 7, 100, 110);
    add_kernel(file, "b", 7, 105, 115);
    check_pairs(file, "");
}

TEST_CASE("an event whose stream is unknown overlaps those on streams") {
    TraceFixture file;
    file.on_stream(0, no_number).kernel("a", 0, us(10)).on_stream(0, 7).kernel("b", us(5), us(15));
    check_pairs(file, "a: b; b: a");
}

TEST_CASE("events whose streams are unknown overlap each other") {
    TraceFixture file;
    file.on_stream(0, no_number).kernel("a", 0, us(10)).kernel("b", us(5), us(15));
    check_pairs(file, "a: b; b: a");
}

TEST_CASE("equal streams of two devices are two streams, but not to the reference") {
    TraceFixture file;
    file.on_stream(0, 7).kernel("a", 0, us(10)).on_stream(1, 7).kernel("b", us(5), us(15));
    const GrownTrace grown(file);
    CHECK(pairs(grown) == "a: b; b: a");
    CHECK(pairs(grown, overlap_by(ClassRules::reference)) == "");
}

TEST_CASE("kernels of one op do not overlap each other, but do to the reference") {
    TraceFixture file;
    file.op("op", 0, us(50));
    file.on_stream(0, 1).launched("k1", us(110), us(130)).on_stream(0, 2).launched("k2", us(115), us(125));
    SUBCASE("alone") {
        const GrownTrace grown(file);
        CHECK(pairs(grown) == "");
        CHECK(pairs(grown, overlap_by(ClassRules::reference)) == "k1: k2; k2: k1");
    }
    SUBCASE("beside that of another op") {
        add_kernel(file, "k3", 3, 120, 125);
        const GrownTrace grown(file);
        CHECK(pairs(grown) == "k1: k3; k2: k3; k3: k1 k2");
        CHECK(pairs(grown, overlap_by(ClassRules::reference)) == "k1: k2 k3; k2: k1 k3; k3: k1 k2");
    }
}

TEST_CASE("kernels of two ops below one op overlap") {
    TraceFixture file;
    file.op("outer", 0, us(50));
    file.op("inner a", us(9), us(12)).on_stream(0, 1).launched("a", us(110), us(120));
    file.op("inner b", us(14), us(17)).on_stream(0, 2).launched("b", us(115), us(125));
    check_pairs(file, "a: b; b: a");
}

TEST_CASE("kernels that one op launched without runtime calls do not overlap") {
    TraceFixture file;
    file.op("op", us(10), us(50)).flow_start(7, us(10), "cpu_to_cuda").flow_start(8, us(10), "cpu_to_cuda");
    file.on_stream(0, 1).kernel("a", us(100), us(110)).flow_finish(7, us(100), "cpu_to_cuda");
    file.on_stream(0, 2).kernel("b", us(105), us(115)).flow_finish(8, us(105), "cpu_to_cuda");
    const GrownTrace grown(file);
    REQUIRE(grown.links.size() == 2);
    CHECK(pairs(grown) == "");
}

TEST_CASE("the least common time: 1 us counts, less does not") {
    for (const std::int64_t common : {500, 999, 1000, 2000}) {
        CAPTURE(common);
        TraceFixture file;
        file.on_stream(0, 1).kernel("a", 0, us(10)).on_stream(0, 2).kernel("b", us(10) - common, us(20));
        const GrownTrace grown(file);
        for (const ClassRules rules : both_rules) {
            OverlapOptions options = overlap_by(rules);
            CHECK(pairs(grown, options) == (common < 1000 ? "" : "a: b; b: a"));
            options.least_us = 0;
            CHECK(pairs(grown, options) == "a: b; b: a");
            options.least_us = 2;
            CHECK(pairs(grown, options) == (common < 2000 ? "" : "a: b; b: a"));
        }
    }
}

TEST_CASE("the least common time may lie between two ticks") {
    TraceFixture file;
    file.on_stream(0, 1).kernel("a", 0, us(10)).on_stream(0, 2).kernel("b", us(9), us(20));
    OverlapOptions options;
    options.least_us = 1.0005;
    CHECK(pairs(GrownTrace(file), options) == "");
}

TEST_CASE("events without length overlap nothing and hide nothing") {
    for (const double least_us : {0.0, 1.0}) {
        TraceFixture file;
        file.on_stream(0, 1).kernel("a", 0, us(10)).on_stream(0, 2).kernel("b", us(5), us(15));
        file.on_stream(0, 3).memcpy("empty copy", us(7), us(7)).kernel("empty", us(5), us(5));
        const GrownTrace grown(file);
        OverlapOptions options;
        options.least_us = least_us;
        CHECK(pairs(grown, options) == "a: b; b: a");
    }
    TraceFixture empty;
    empty.on_stream(0, 1).kernel("a", us(5), us(5)).on_stream(0, 2).kernel("b", us(5), us(5));
    check_pairs(empty, "");
}

TEST_CASE("the reference seeks within each part only; by default parts do not matter") {
    TraceFixture file;
    file.on_stream(0, 1).kernel("a", 0, us(10)).on_stream(0, 2).kernel("b", us(5), us(15));
    file.on_stream(0, 3).kernel("c", us(5), us(15));
    const GrownTrace grown(file);
    std::vector<bool> parts(grown.tree.node_count(), false);
    parts[grown.node("a")] = true;
    OverlapOptions options;
    options.parts = &parts;
    CHECK(pairs(grown, options) == "a: b c; b: a c; c: a b");
    options.rules = ClassRules::reference;
    CHECK(pairs(grown, options) == "b: c; c: b");
}

TEST_CASE("random events: the pairs are those of the definition") {
    std::size_t total = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        TraceFixture file = random_file(random);
        const GrownTrace grown(file);
        std::vector<EventId> events = gpu_events(grown.trace);
        std::erase_if(events, [&](EventId) { return random.below(8) == 0; });
        std::vector<bool> parts;
        for (NodeId node = 0; node < grown.tree.node_count(); ++node) parts.push_back(random.below(2) == 0);
        for (int variant = 0; variant < 8; ++variant) {
            CAPTURE(variant);
            OverlapOptions options = overlap_by(both_rules[variant % 2]);
            options.least_us = variant / 2 % 2;
            options.parts = variant / 4 == 0 ? nullptr : &parts;
            const Overlaps overlaps = find_overlaps(grown.tree, events, options);
            std::size_t count = 0;
            for (EventId event = 0; event < grown.trace.size(); ++event) {
                std::vector<EventId> expected;
                const bool given = std::binary_search(events.begin(), events.end(), event);
                std::copy_if(events.begin(), events.end(), std::back_inserter(expected), [&](EventId other) {
                    return given && other != event && overlap(grown, event, other, options);
                });
                std::sort(expected.begin(), expected.end(), [&](EventId a, EventId b) {
                    return grown.trace.file_index[a] < grown.trace.file_index[b];
                });
                count += expected.size();
                const auto found = overlaps.of(event);
                CHECK(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
            }
            CHECK(overlaps.pair_count() * 2 == count);
            total += count;
        }
    }
    CHECK(total > 1000);
}
