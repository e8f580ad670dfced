/// Interval algebra on integer ticks: the one implementation behind every busy, idle and exposed time.
/// Intervals are half open, [start, end). A *set* is sorted by start and disjoint, with no touching members.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tracelens {

using Ticks = std::int64_t;

struct Interval {
    Ticks start = 0;
    Ticks end = 0;
    friend bool operator==(const Interval&, const Interval&) = default;
};

using IntervalSet = std::vector<Interval>;

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

/// The gaps between the members of a set.
inline IntervalSet gaps(std::span<const Interval> set) {
    IntervalSet result;
    for (std::size_t i = 1; i < set.size(); ++i) result.push_back({set[i - 1].end, set[i].start});
    return result;
}

}  // namespace tracelens
