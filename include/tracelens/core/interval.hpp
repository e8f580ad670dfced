/// Interval algebra on integer ticks: the one implementation behind every busy, idle and exposed time.
/// Intervals are half open, [start, end). A *set* is sorted by start and disjoint, with no touching members.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace tracelens {

using Ticks = std::int64_t;

struct Interval {
    Ticks start = 0;
    Ticks end = 0;
    friend bool operator==(const Interval&, const Interval&) = default;
};

using IntervalSet = std::vector<Interval>;

/// The sum of two lengths, kept within the range of `Ticks`: durations of damaged traces may add up to more.
constexpr Ticks saturated_sum(Ticks a, Ticks b) noexcept {
    Ticks sum = 0;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return a < 0 ? std::numeric_limits<Ticks>::min() : std::numeric_limits<Ticks>::max();
}

/// Adds an interval whose start is not before the last one's start; touching and overlapping intervals join.
inline void append_merged(IntervalSet& set, Interval next) {
    if (!set.empty() && next.start <= set.back().end) {
        set.back().end = std::max(set.back().end, next.end);
    } else {
        set.push_back(next);
    }
}

/// The union of `intervals`, in any order. O(n log n), O(n) when they are sorted by start.
inline IntervalSet merge(std::span<const Interval> intervals) {
    const auto by_start = [](const Interval& a, const Interval& b) { return a.start < b.start; };
    IntervalSet set;
    if (std::is_sorted(intervals.begin(), intervals.end(), by_start)) {
        for (const Interval& each : intervals) append_merged(set, each);
        return set;
    }
    IntervalSet sorted(intervals.begin(), intervals.end());
    std::stable_sort(sorted.begin(), sorted.end(), by_start);
    for (const Interval& each : sorted) append_merged(set, each);
    return set;
}

/// The parts of `from` that `cut` does not cover. `from` is a set; `cut` is sorted by start and may overlap
/// itself or touch. O(|from| + |cut|) for sets.
inline IntervalSet subtract(std::span<const Interval> from, std::span<const Interval> cut) {
    IntervalSet rest;
    std::size_t first = 0;
    for (const Interval& whole : from) {
        while (first < cut.size() && cut[first].end <= whole.start) ++first;
        Ticks at = whole.start;
        for (std::size_t i = first; i < cut.size() && cut[i].start < whole.end && at < whole.end; ++i) {
            if (cut[i].end <= cut[i].start) continue;
            if (cut[i].start > at) rest.push_back({at, cut[i].start});
            at = std::max(at, cut[i].end);
        }
        if (at < whole.end) rest.push_back({at, whole.end});
    }
    return rest;
}

/// The parts that are in both sets. O(|a| + |b|).
inline IntervalSet intersect(std::span<const Interval> a, std::span<const Interval> b) {
    IntervalSet both;
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const Ticks start = std::max(a[i].start, b[j].start);
        const Ticks end = std::min(a[i].end, b[j].end);
        if (start < end) both.push_back({start, end});
        if (a[i].end < b[j].end) {
            ++i;
        } else {
            ++j;
        }
    }
    return both;
}

/// The total length of a set, in ticks.
inline Ticks measure(std::span<const Interval> set) {
    Ticks total = 0;
    for (const Interval& each : set) total += each.end - each.start;
    return total;
}

/// A contiguous part of a sequence: `[begin, end)`.
struct IndexRange {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

/// The length of the union of each range of `intervals`, in any order and however the ranges overlap.
/// O((n + m) log n) for n intervals and m ranges: a sweep over the intervals keeps, for every stretch of
/// time, the last interval that covers it, and a Fenwick tree sums stretches by that interval's index.
inline std::vector<Ticks> measure_ranges(std::span<const Interval> intervals,
                                         std::span<const IndexRange> ranges) {
    std::vector<Ticks> tree(intervals.size() + 1, 0);
    const auto add = [&](std::size_t index, Ticks length) {
        for (std::size_t i = index + 1; i < tree.size(); i += i & (0 - i)) tree[i] += length;
    };
    const auto total_before = [&](std::size_t index) {
        Ticks total = 0;
        for (std::size_t i = index; i > 0; i -= i & (0 - i)) total += tree[i];
        return total;
    };
    struct Stretch {
        Ticks end;
        std::uint32_t last;  // index of the interval
    };
    std::map<Ticks, Stretch> stretches;  // by start; disjoint
    const auto cut_at = [&](Ticks time) {
        auto after = stretches.lower_bound(time);
        if (after == stretches.begin()) return after;
        const auto before = std::prev(after);
        if (before->second.end <= time) return after;
        const Stretch rest = before->second;
        before->second.end = time;
        return stretches.emplace_hint(after, time, rest);
    };
    const auto cover = [&](std::uint32_t index) {
        const auto [start, end] = intervals[index];
        if (start >= end) return;
        cut_at(end);
        auto at = cut_at(start);
        while (at != stretches.end() && at->first < end) {
            add(at->second.last, at->first - at->second.end);
            at = stretches.erase(at);
        }
        stretches.emplace_hint(at, start, Stretch{end, index});
        add(index, end - start);
    };

    std::vector<std::uint32_t> order(ranges.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return ranges[a].end < ranges[b].end; });
    std::vector<Ticks> lengths(ranges.size(), 0);
    std::uint32_t covered = 0;
    for (const std::uint32_t i : order) {
        for (; covered < ranges[i].end; ++covered) cover(covered);
        if (ranges[i].begin < ranges[i].end)
            lengths[i] = total_before(ranges[i].end) - total_before(ranges[i].begin);
    }
    return lengths;
}

/// The gaps between the members of a set.
inline IntervalSet gaps(std::span<const Interval> set) {
    IntervalSet result;
    for (std::size_t i = 1; i < set.size(); ++i) result.push_back({set[i - 1].end, set[i].start});
    return result;
}

}  // namespace tracelens
