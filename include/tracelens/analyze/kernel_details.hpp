/// Kernel statistics cells: what the kernels of several launches of one op have in common, position by
/// position. (Spec 02, section 9.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/core/decimal.hpp>
#include <tracelens/core/json_text.hpp>
#include <tracelens/core/statistics.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/core/text.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

/// How launches are brought together in one cell.
enum class DetailRule : std::uint8_t {
    by_sequence,  ///< launches with the most frequent sequence of kernel names; in order of execution
    positional,   ///< as the reference: launches with as many kernels as the first; by total time, ascending
};

/// One kernel of one launch, or work that runs beside one.
struct KernelEntry {
    StringId name = StringId::empty;
    std::int64_t stream = no_number;
    double us = 0;                        ///< as recorded
    std::optional<double> overlap_share;  ///< in cells about overlap only
    EventId event = no_event;             ///< the kernel itself, where it is one
};

/// The kernels of a launch as entries. The reference knows a stream only where the kernel itself names it.
inline std::vector<KernelEntry> kernel_entries(const Trace& trace, std::span<const EventId> kernels,
                                               DetailRule rule) {
    std::vector<KernelEntry> entries;
    for (const EventId kernel : kernels) {
        const Track& track = trace.track_of(kernel);
        const std::int64_t stream = rule == DetailRule::positional ? track.recorded_stream() : track.stream;
        entries.push_back({trace.name[kernel], stream, trace.recorded_us(kernel), {}, kernel});
    }
    return entries;
}

/// One position of the kernel sequence.
struct KernelDetail {
    KernelEntry model;              ///< of the first launch in the cell
    std::vector<double> durations;  ///< us
    double total() const noexcept { return pairwise_sum(durations); }
};

struct KernelDetails {
    std::vector<KernelDetail> positions;
    std::uint64_t skipped = 0;  ///< launches that are not in the cell
};

namespace detail {

inline bool same_kernel_names(std::span<const KernelEntry> a, std::span<const KernelEntry> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const KernelEntry& x, const KernelEntry& y) { return x.name == y.name; });
}

/// The launch that the others are held against.
inline std::span<const KernelEntry> model_launch(std::span<const std::vector<KernelEntry>> launches,
                                                 DetailRule rule) {
    struct Sequence {
        std::span<const KernelEntry> launch;
        std::size_t count = 0;
    };
    std::vector<Sequence> sequences;
    KeyGrouper prefixes;  // of kernel names: (prefix before it, name)
    std::vector<std::size_t> sequence_of_prefix;
    constexpr std::size_t none = ~std::size_t{0};
    for (const std::span<const KernelEntry> launch : launches) {
        if (launch.empty()) continue;
        if (rule == DetailRule::positional) return launch;
        std::uint64_t prefix = 0;
        for (const KernelEntry& entry : launch)
            prefix = std::uint64_t{prefixes.group_of(prefix, to_index(entry.name))} + 1;
        sequence_of_prefix.resize(prefixes.size() + 1, none);
        std::size_t& sequence = sequence_of_prefix[prefix];
        if (sequence == none) {
            sequence = sequences.size();
            sequences.push_back({launch, 0});
        }
        ++sequences[sequence].count;
    }
    // Of equally frequent sequences the one seen first.
    const auto most =
        std::max_element(sequences.begin(), sequences.end(),
                         [](const Sequence& a, const Sequence& b) { return a.count < b.count; });
    return most == sequences.end() ? std::span<const KernelEntry>{} : most->launch;
}

}  // namespace detail

/// Brings the kernel lists of several launches together. O(kernels log kernels).
inline KernelDetails kernel_details(const Trace& trace, std::span<const std::vector<KernelEntry>> launches,
                                    DetailRule rule) {
    KernelDetails result;
    const std::span<const KernelEntry> model = detail::model_launch(launches, rule);
    for (const KernelEntry& entry : model) result.positions.push_back({entry, {}});
    for (const std::vector<KernelEntry>& launch : launches) {
        const bool fits = rule == DetailRule::positional ? launch.size() == model.size()
                                                         : detail::same_kernel_names(launch, model);
        if (!fits) {
            ++result.skipped;
            continue;
        }
        for (std::size_t i = 0; i < launch.size(); ++i) result.positions[i].durations.push_back(launch[i].us);
    }
    if (rule == DetailRule::positional) {
        std::stable_sort(result.positions.begin(), result.positions.end(),
                         [&](const KernelDetail& a, const KernelDetail& b) {
                             const double a_total = a.total();
                             const double b_total = b.total();
                             return a_total != b_total ? a_total < b_total
                                                       : trace.text(a.model.name) < trace.text(b.model.name);
                         });
    }
    return result;
}

namespace detail {

inline void append_number_member(std::string& out, std::string_view key, double value) {
    out += ",\"";
    out += key;
    out += "\":";
    append_double(out, value);
}

inline void append_stream_member(std::string& out, std::int64_t stream) {
    out += ",\"stream\":";
    if (stream == no_number)
        out += "null";
    else
        append_integer(out, stream);
}

}  // namespace detail

/// Text that stands in a cell between a kernel's stream and its figures: members of a JSON object, each with
/// a comma before it.
using ExtraMembers = std::function<std::string(const KernelEntry&)>;

/// The cell as JSON: a list of {name, stream, count, total_duration_us, mean, median, std_dev (population),
/// min, max}.
inline std::string to_json(const Trace& trace, const KernelDetails& details, const ExtraMembers& extra = {}) {
    std::string out = "[";
    for (const KernelDetail& each : details.positions) {
        if (out.size() > 1) out += ',';
        out += "{\"name\":";
        append_json_string(out, trace.text(each.model.name));
        detail::append_stream_member(out, each.model.stream);
        if (extra) out += extra(each.model);
        if (each.model.overlap_share)
            detail::append_number_member(out, "overlap_pct", *each.model.overlap_share);
        out += ",\"count\":";
        append_integer(out, static_cast<std::int64_t>(each.durations.size()));
        detail::append_number_member(out, "total_duration_us", each.total());
        if (!each.durations.empty()) {
            detail::append_number_member(out, "mean_duration_us", mean(each.durations));
            detail::append_number_member(out, "median_duration_us", median(each.durations));
            detail::append_number_member(out, "std_dev_duration_us",
                                         standard_deviation(each.durations, Ddof::population));
            const auto [low, high] = std::minmax_element(each.durations.begin(), each.durations.end());
            detail::append_number_member(out, "min_duration_us", *low);
            detail::append_number_member(out, "max_duration_us", *high);
        }
        out += '}';
    }
    return out + "]";
}

/// The short form of the cell: {name cut to 64 characters, stream, mean_duration_us to 2 decimals}. Empty for
/// no kernel.
inline std::string to_short_json(const Trace& trace, const KernelDetails& details) {
    constexpr std::size_t name_length = 64;
    if (details.positions.empty()) return {};
    std::string out = "[";
    for (const KernelDetail& each : details.positions) {
        if (out.size() > 1) out += ',';
        out += "{\"name\":";
        append_json_string(out, shortened(trace.text(each.model.name), name_length));
        detail::append_stream_member(out, each.model.stream);
        const double average = each.durations.empty() ? 0 : mean(each.durations);
        detail::append_number_member(out, "mean_duration_us", std::nearbyint(average * 100) / 100);
        out += '}';
    }
    return out + "]";
}

}  // namespace tracelens
