#include <tracelens/core/interval.hpp>

// Interval algebra: the table "Interval subtraction" of spec 01, section 22, and sets against a bitmap.
#include <algorithm>
#include <bitset>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace tracelens;

template <>
struct doctest::StringMaker<IntervalSet> {
    static String convert(const IntervalSet& set) {
        std::string text = "{";
        for (const Interval& each : set) {
            text += " (" + std::to_string(each.start) + "," + std::to_string(each.end) + ")";
        }
        return (text + " }").c_str();
    }
};

namespace {

constexpr Ticks universe = 128;
using Bits = std::bitset<universe>;

Bits bits_of(const IntervalSet& intervals) {
    Bits bits;
    for (const Interval& each : intervals) {
        for (Ticks at = each.start; at < each.end; ++at) bits.set(static_cast<std::size_t>(at));
    }
    return bits;
}

bool is_set(const IntervalSet& set) {
    for (std::size_t i = 0; i < set.size(); ++i) {
        if (set[i].start >= set[i].end) return false;
        if (i > 0 && set[i].start <= set[i - 1].end) return false;
    }
    return true;
}

IntervalSet random_intervals(std::mt19937& random, Ticks shortest) {
    IntervalSet intervals(random() % 12);
    for (Interval& each : intervals) {
        const Ticks longest = random() % 4 == 0 ? 40 : 8;
        const Ticks length = shortest + static_cast<Ticks>(random() % static_cast<unsigned>(longest));
        each.start = static_cast<Ticks>(random() % static_cast<unsigned>(universe - length));
        each.end = each.start + length;
    }
    return intervals;
}

IntervalSet sorted_by_start(IntervalSet intervals) {
    std::stable_sort(intervals.begin(), intervals.end(),
                     [](const Interval& a, const Interval& b) { return a.start < b.start; });
    return intervals;
}

}  // namespace

TEST_CASE("subtract: the table of spec 01, section 22") {
    struct Row {
        IntervalSet a;
        IntervalSet b;
        IntervalSet expected;  // b without a
    };
    const std::vector<Row> rows = {
        {{}, {{10, 20}}, {{10, 20}}},
        {{{5, 15}}, {}, {}},
        {{}, {}, {}},
        {{{15, 16}}, {{10, 20}}, {{10, 15}, {16, 20}}},
        {{{15, 16}, {17, 18}}, {{10, 20}}, {{10, 15}, {16, 17}, {18, 20}}},
        {{{15, 16}, {16, 18}}, {{10, 20}}, {{10, 15}, {18, 20}}},
        {{{9, 12}}, {{10, 20}}, {{12, 20}}},
        {{{15, 22}}, {{10, 20}}, {{10, 15}}},
        {{{15, 17}, {16, 18}}, {{10, 20}}, {{10, 15}, {18, 20}}},
        {{{10, 20}}, {{10, 20}}, {}},
        {{{0, 30}}, {{10, 20}}, {}},
        {{{15, 35}}, {{10, 20}, {30, 40}}, {{10, 15}, {35, 40}}},
    };
    for (const Row& row : rows) {
        CAPTURE(row.a);
        CAPTURE(row.b);
        CHECK(subtract(row.b, row.a) == row.expected);
    }
}

TEST_CASE("subtract: a cut that touches, or ends before, or is nested in an earlier one") {
    CHECK(subtract(IntervalSet{{10, 20}}, IntervalSet{{0, 10}, {20, 30}}) == IntervalSet{{10, 20}});
    CHECK(subtract(IntervalSet{{10, 20}}, IntervalSet{{0, 15}, {1, 2}, {3, 4}, {18, 19}}) ==
          IntervalSet{{15, 18}, {19, 20}});
    CHECK(subtract(IntervalSet{{10, 20}, {21, 30}, {31, 40}}, IntervalSet{{0, 35}, {5, 6}}) ==
          IntervalSet{{35, 40}});
}

TEST_CASE("subtract: an empty interval cuts nothing, so that the result has no touching members") {
    CHECK(subtract(IntervalSet{{10, 20}}, IntervalSet{{12, 12}}) == IntervalSet{{10, 20}});
    CHECK(subtract(IntervalSet{{10, 20}}, IntervalSet{{10, 10}, {20, 20}}) == IntervalSet{{10, 20}});
}

TEST_CASE("merge") {
    struct Row {
        const char* what;
        IntervalSet input;
        IntervalSet expected;
    };
    const std::vector<Row> rows = {
        {"nothing", {}, {}},
        {"one", {{3, 5}}, {{3, 5}}},
        {"disjoint", {{1, 2}, {4, 6}}, {{1, 2}, {4, 6}}},
        {"touching", {{1, 2}, {2, 6}}, {{1, 6}}},
        {"overlapping", {{1, 4}, {3, 6}}, {{1, 6}}},
        {"nested", {{1, 10}, {2, 3}, {4, 5}}, {{1, 10}}},
        {"nested, then reaching over the end", {{1, 10}, {2, 3}, {9, 12}}, {{1, 12}}},
        {"equal", {{1, 4}, {1, 4}, {1, 4}}, {{1, 4}}},
        {"equal start", {{1, 2}, {1, 9}, {1, 4}}, {{1, 9}}},
        {"unsorted", {{30, 40}, {10, 20}, {15, 25}}, {{10, 25}, {30, 40}}},
        {"descending, touching", {{3, 4}, {2, 3}, {1, 2}}, {{1, 4}}},
        {"negative", {{-5, -1}, {-10, -5}, {0, 1}}, {{-10, -1}, {0, 1}}},
        {"empty ones next to others", {{1, 1}, {1, 3}, {3, 3}, {2, 2}}, {{1, 3}}},
    };
    for (const Row& row : rows) {
        CAPTURE(row.what);
        CHECK(merge(row.input) == row.expected);
    }
}

TEST_CASE("append_merged joins with the last member only") {
    IntervalSet set;
    append_merged(set, {1, 5});
    append_merged(set, {2, 3});
    append_merged(set, {5, 7});
    append_merged(set, {8, 9});
    CHECK(set == IntervalSet{{1, 7}, {8, 9}});
}

TEST_CASE("intersect") {
    CHECK(intersect(IntervalSet{}, IntervalSet{{1, 2}}).empty());
    CHECK(intersect(IntervalSet{{1, 2}}, IntervalSet{}).empty());
    CHECK(intersect(IntervalSet{{1, 5}}, IntervalSet{{5, 9}}).empty());
    CHECK(intersect(IntervalSet{{0, 10}, {20, 30}}, IntervalSet{{5, 25}}) == IntervalSet{{5, 10}, {20, 25}});
    CHECK(intersect(IntervalSet{{0, 10}}, IntervalSet{{1, 2}, {4, 5}, {9, 12}}) ==
          IntervalSet{{1, 2}, {4, 5}, {9, 10}});
    CHECK(intersect(IntervalSet{{0, 4}, {6, 9}}, IntervalSet{{0, 4}, {6, 9}}) == IntervalSet{{0, 4}, {6, 9}});
}

TEST_CASE("measure and gaps") {
    CHECK(measure(IntervalSet{}) == 0);
    CHECK(measure(IntervalSet{{3, 5}, {7, 17}}) == 12);
    CHECK(measure(IntervalSet{{-4, -1}, {0, 1}}) == 4);
    CHECK(gaps(IntervalSet{}).empty());
    CHECK(gaps(IntervalSet{{3, 5}}).empty());
    CHECK(gaps(IntervalSet{{3, 5}, {7, 17}, {20, 21}}) == IntervalSet{{5, 7}, {17, 20}});
}

TEST_CASE("absolute nanoseconds of today's clocks are exact") {
    const Ticks now = 1'760'000'000'123'456'789;
    const IntervalSet busy = {{now, now + 1}, {now + 2, now + 5}};
    CHECK(merge(busy) == busy);
    CHECK(measure(busy) == 4);
    CHECK(gaps(busy) == IntervalSet{{now + 1, now + 2}});
    CHECK(subtract(busy, IntervalSet{{now + 3, now + 4}}) ==
          IntervalSet{{now, now + 1}, {now + 2, now + 3}, {now + 4, now + 5}});
}

TEST_CASE("random sets agree with a bitmap") {
    std::mt19937 random(20240901);
    for (int round = 0; round < 2000; ++round) {
        const IntervalSet raw_a = random_intervals(random, 1);
        const IntervalSet raw_b = random_intervals(random, 1);
        const IntervalSet a = merge(raw_a);
        const IntervalSet b = merge(raw_b);
        const Bits bits_a = bits_of(raw_a);
        const Bits bits_b = bits_of(raw_b);
        CAPTURE(raw_a);
        CAPTURE(raw_b);

        REQUIRE(is_set(a));
        REQUIRE(bits_of(a) == bits_a);
        REQUIRE(merge(a) == a);
        REQUIRE(measure(a) == static_cast<Ticks>(bits_a.count()));

        const IntervalSet only_a = subtract(a, b);
        REQUIRE(is_set(only_a));
        REQUIRE(bits_of(only_a) == (bits_a & ~bits_b));
        REQUIRE(subtract(a, sorted_by_start(raw_b)) == only_a);  // a cut may overlap itself

        const IntervalSet both = intersect(a, b);
        REQUIRE(is_set(both));
        REQUIRE(bits_of(both) == (bits_a & bits_b));
        REQUIRE(intersect(b, a) == both);

        IntervalSet either = raw_a;
        either.insert(either.end(), raw_b.begin(), raw_b.end());
        REQUIRE(measure(only_a) + measure(both) == measure(a));
        REQUIRE(measure(merge(either)) == measure(a) + measure(b) - measure(both));

        const IntervalSet idle = gaps(a);
        const Ticks span = a.empty() ? 0 : a.back().end - a.front().start;
        REQUIRE(is_set(idle));
        REQUIRE(intersect(idle, a).empty());
        REQUIRE(measure(idle) == span - measure(a));
    }
}

TEST_CASE("measure_ranges is the union of each range") {
    std::mt19937 random(17);
    for (int round = 0; round < 1000; ++round) {
        IntervalSet intervals = random_intervals(random, 0);
        const IntervalSet more = random_intervals(random, 0);
        intervals.insert(intervals.end(), more.begin(), more.end());
        CAPTURE(intervals);
        std::vector<IndexRange> ranges;
        for (std::uint32_t begin = 0; begin <= intervals.size(); ++begin) {
            for (std::uint32_t end = begin; end <= intervals.size(); ++end) ranges.push_back({begin, end});
        }
        std::shuffle(ranges.begin(), ranges.end(), random);
        const std::vector<Ticks> lengths = measure_ranges(intervals, ranges);
        REQUIRE(lengths.size() == ranges.size());
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            const IntervalSet part(intervals.begin() + ranges[i].begin, intervals.begin() + ranges[i].end);
            REQUIRE(lengths[i] == measure(merge(part)));
        }
    }
    CHECK(measure_ranges({}, {}).empty());
}

TEST_CASE("saturated_sum stays at the ends of the range") {
    constexpr Ticks most = std::numeric_limits<Ticks>::max();
    constexpr Ticks least = std::numeric_limits<Ticks>::min();
    CHECK(saturated_sum(3, 4) == 7);
    CHECK(saturated_sum(most - 1, 1) == most);
    CHECK(saturated_sum(most, 1) == most);
    CHECK(saturated_sum(most, most) == most);
    CHECK(saturated_sum(least, -1) == least);
    CHECK(saturated_sum(most, least) == -1);
}

TEST_CASE("empty intervals do not change what is covered") {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        const IntervalSet raw_a = random_intervals(random, 0);
        const IntervalSet raw_b = random_intervals(random, 0);
        const Bits bits_a = bits_of(raw_a);
        const Bits bits_b = bits_of(raw_b);
        const IntervalSet a = merge(raw_a);
        const IntervalSet b = merge(raw_b);
        CAPTURE(raw_a);
        CAPTURE(raw_b);
        REQUIRE(bits_of(a) == bits_a);
        REQUIRE(measure(a) == static_cast<Ticks>(bits_a.count()));
        REQUIRE(measure(subtract(a, b)) == static_cast<Ticks>((bits_a & ~bits_b).count()));
        REQUIRE(measure(intersect(a, b)) == static_cast<Ticks>((bits_a & bits_b).count()));
    }
}
