#include "text_faults.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace tracelens::synth {
namespace {

using Types = std::uint32_t;  // a set of event types

constexpr Types only(EventType type) {
    return Types{1} << static_cast<unsigned>(type);
}
constexpr Types frames = only(EventType::python_function);
constexpr Types ops = only(EventType::cpu_op);
constexpr Types kernels = only(EventType::kernel);
constexpr Types copies = only(EventType::gpu_memcpy);
constexpr Types all = ~Types{0};

constexpr bool contains(Types types, EventType type) {
    return (types & only(type)) != 0;
}

/// The whole trace must be short against an absurd duration, which is measured against its stream's work.
constexpr std::int64_t least_absurd_ns = 2'000'000'000;

}  // namespace

/// One edit of one event; `nth` counts on from the place of the defect.
struct TextFaults::Fault {
    Defect defect;
    Types types;
    std::uint64_t nth;
    Edit edit;
    std::string_view text;
    std::string_view key = {};
};

// Only prefixes whose backslashes start no valid escape, so that the name that was meant is known.
constexpr TextFaults::Fault TextFaults::faults[] = {
    {Defect::control_characters, frames, 0, Edit::prefix_name, "\x01\x02"},
    {Defect::control_characters, ops, 0, Edit::prefix_name, "first line\nsecond\t"},
    {Defect::control_characters, kernels, 0, Edit::prefix_name, "fused<bf16,\n\t4> "},
    {Defect::backslashes, frames, 0, Edit::prefix_name, R"(C:\code\site-packages\_lib\)"},
    {Defect::backslashes, ops, 0, Edit::prefix_name, R"(C:\src\_ops\)"},
    {Defect::backslashes, kernels, 0, Edit::prefix_name, R"(C:\Users\dev\Temp\k\c5x.py: )"},
    {Defect::not_finite_args, copies, 0, Edit::set_argument, "inf", "memory bandwidth (GB/s)"},
    {Defect::not_finite_args, kernels, 0, Edit::set_argument, "nan", "est. achieved occupancy %"},
    {Defect::not_finite_args, kernels, 1, Edit::set_argument, "-inf", "blocks per SM"},
    {Defect::not_finite_args, kernels, 2, Edit::set_argument, "Infinity", "warps per SM"},
    {Defect::not_finite_args, kernels, 3, Edit::set_argument, "-Infinity", "est. achieved occupancy %"},
    {Defect::not_finite_args, kernels, 4, Edit::set_argument, "NaN", "blocks per SM"},
    {Defect::not_finite_args, kernels, 5, Edit::set_argument, "-nan", "warps per SM"},
    {Defect::not_finite_durations, frames, 0, Edit::set_duration, "-inf"},
    {Defect::not_finite_durations, ops, 0, Edit::set_duration, "Infinity"},
    {Defect::not_finite_durations, kernels, 0, Edit::set_duration, "nan"},
    {Defect::not_finite_durations, kernels, 1, Edit::set_duration, "inf"},
    {Defect::truncated, all, 0, Edit::end_file, ""},
    {Defect::truncated_gzip, all, 0, Edit::end_file, ""},
    {Defect::absurd_duration, kernels, 0, Edit::set_duration, ""},
    {Defect::negative_durations, kernels, 0, Edit::set_duration, "-3.250"},
    {Defect::negative_durations, kernels, 1, Edit::set_duration, "-0.001"},
    {Defect::negative_durations, ops, 0, Edit::set_duration, "-12.500"},
    {Defect::negative_durations, frames, 0, Edit::set_duration, "-1.000"},
    {Defect::wrapped_durations, kernels, 0, Edit::set_duration, "18446744073709548.366"},
    {Defect::wrapped_durations, frames, 0, Edit::set_duration, "18446744073709551.615"},
};

TextFaults::TextFaults(const Options& options, const EventCounts& totals, std::int64_t span_ns)
    : style_(options.style),
      absurd_duration_(std::to_string(std::max(least_absurd_ns, span_ns / 2) / 1000) + ".000") {
    for (const DefectChoice& choice : options.defects) {
        const std::size_t before = pending_.size();
        bool is_placed = false;
        for (const Fault& fault : faults) {
            if (fault.defect != choice.defect) continue;
            is_placed = true;
            std::uint64_t total = 0;
            for (std::size_t i = 0; i < totals.size(); ++i)
                if (contains(fault.types, static_cast<EventType>(i))) total += totals[i];
            if (total == 0) continue;
            // Room for the followers; one more, so that even an absurd duration has later work to run over.
            const std::uint64_t last = total - std::min<std::uint64_t>(total, 8);
            const auto place =
                static_cast<std::uint64_t>(std::llround(choice.place * static_cast<double>(last)));
            pending_.push_back({&fault, std::min(place + fault.nth, total - 1)});
        }
        if (is_placed && pending_.size() == before)
            throw std::invalid_argument(
                "the trace holds no event for the defect " +
                std::string(all_defects()[static_cast<std::size_t>(choice.defect)].name));
    }
}

bool TextFaults::is_next(EventType type) {
    bool is_any = false;
    for (Pending& each : pending_) {
        each.is_due = contains(each.fault->types, type) && each.seen++ == each.target;
        is_any = is_any || each.is_due;
    }
    return is_any;
}

bool TextFaults::edit(std::string& text) const {
    const std::string colon = style_ == JsonStyle::pretty ? "\": " : "\":";
    bool goes_on = true;
    for (const Pending& each : pending_) {
        if (!each.is_due) continue;
        const Fault& fault = *each.fault;
        switch (fault.edit) {
            case Edit::prefix_name: {
                const std::string key = "\"name" + colon + '"';
                text.insert(text.find(key) + key.size(), fault.text);
                break;
            }
            case Edit::set_duration:
                set(text, "dur", fault.text.empty() ? std::string_view(absurd_duration_) : fault.text);
                break;
            case Edit::set_argument: set(text, fault.key, fault.text); break;
            case Edit::end_file: {
                const std::string key = "\"dur" + colon;
                const std::size_t duration = text.find(key);
                text.resize(duration == std::string::npos ? text.size() / 2 : duration + key.size() + 2);
                goes_on = false;
                break;
            }
        }
    }
    return goes_on;
}

void TextFaults::set(std::string& text, std::string_view key, std::string_view value) const {
    const std::string colon = style_ == JsonStyle::pretty ? "\": " : "\":";
    const std::string quoted = '"' + std::string(key) + colon;
    std::size_t at = text.find(quoted);
    if (at != std::string::npos) {
        at += quoted.size();
        text.replace(at, text.find_first_of(",}\n", at) - at, value);
        return;
    }
    const std::string args = "\"args" + colon + '{';
    const std::size_t begin = text.find(args);
    text.insert(begin + args.size(), quoted + std::string(value) + ',');
}

}  // namespace tracelens::synth
