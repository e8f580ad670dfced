#include "defects.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <string>
#include <utility>

#include "synth.hpp"

namespace tracelens::synth {
namespace {

constexpr std::array defects{
    DefectFacts{Defect::control_characters, "control-characters", "raw tabs, newlines and 0x01 inside names",
                true},
    DefectFacts{Defect::backslashes, "backslashes", "Windows paths with single backslashes in names", true},
    DefectFacts{Defect::not_finite_args, "not-finite-args", "bare words such as inf and nan as arguments",
                true},
    DefectFacts{Defect::not_finite_durations, "not-finite-durations",
                "bare words such as inf and nan as durations", true},
    DefectFacts{Defect::truncated, "truncated", "the file ends inside an event", true},
    DefectFacts{Defect::truncated_gzip, "truncated-gzip", "the gzip stream ends inside an event", true},
    DefectFacts{Defect::trailing_comma, "trailing-comma", "a comma after the last event", false},
    DefectFacts{Defect::no_closing_brackets, "no-closing-brackets", "the file ends after the last event",
                false},
    DefectFacts{Defect::legacy_array, "legacy-array", "the autograd profiler's array of events at top level",
                false},
    DefectFacts{Defect::gzip_members, "gzip-members", "a gzip file of many members, one of them empty",
                false},
    DefectFacts{Defect::no_header_keys, "no-header-keys", "nothing but traceEvents, and no metadata events",
                false},
    DefectFacts{Defect::string_times, "string-times",
                "times as strings since 1970, and correlation ids beyond the precision of a double", false},
    DefectFacts{Defect::merged_ranks, "merged-ranks", "several ranks in one file, whose ids collide", false},
    DefectFacts{Defect::rocm_legacy_copies, "rocm-legacy-copies",
                "copies and fills recorded as kernels (AMD)", false},
    DefectFacts{Defect::absurd_duration, "absurd-duration",
                "a kernel that lasts across much later work of its stream", true},
    DefectFacts{Defect::small_overlaps, "small-overlaps",
                "kernels that overlap the next of their stream by 27 ns, out of order in the file", false},
    DefectFacts{Defect::duplicate_flows, "duplicate-flows",
                "each launch recorded as two nested calls, with a flow start each (AMD)", false},
    DefectFacts{Defect::graph_collapsed, "graph-collapsed",
                "all steps but the first replayed from a graph, without ops", false},
    DefectFacts{Defect::negative_durations, "negative-durations", "events that end before they start", true},
    DefectFacts{Defect::wrapped_durations, "wrapped-durations",
                "negative durations written as unsigned numbers", true},
    DefectFacts{Defect::sync_and_overhead, "sync-and-overhead",
                "idle gaps filled with cuda_sync and overhead events (NVIDIA)", false},
    DefectFacts{Defect::collective_names, "collective-names",
                "collective kernels under the names of several libraries and versions", false},
    DefectFacts{Defect::cpu_only, "cpu-only", "no GPU activity, only ops and frames", false},
};

constexpr bool is_in_order() {
    for (std::size_t i = 0; i < defects.size(); ++i)
        if (static_cast<std::size_t>(defects[i].defect) != i) return false;
    return defects.size() == static_cast<std::size_t>(Defect::cpu_only) + 1;
}
static_assert(is_in_order());

std::string name_of(Defect defect) {
    return std::string(defects[static_cast<std::size_t>(defect)].name);
}

constexpr std::array exclusive{std::pair{Defect::truncated_gzip, Defect::gzip_members},
                               std::pair{Defect::legacy_array, Defect::merged_ranks},
                               std::pair{Defect::legacy_array, Defect::cpu_only},
                               std::pair{Defect::graph_collapsed, Defect::cpu_only},
                               std::pair{Defect::sync_and_overhead, Defect::cpu_only}};

}  // namespace

std::span<const DefectFacts> all_defects() {
    return defects;
}

DefectChoice parse_defect(std::string_view text) {
    const std::size_t at = text.find('@');
    const std::string_view name = text.substr(0, at);
    const auto* const found = std::find_if(defects.begin(), defects.end(),
                                           [&](const DefectFacts& facts) { return facts.name == name; });
    if (found == defects.end())
        throw std::invalid_argument("there is no defect '" + std::string(name) +
                                    "'; --list-defects lists them");
    DefectChoice choice{found->defect};
    if (at == std::string_view::npos) return choice;
    if (!found->is_placed)
        throw std::invalid_argument(std::string(name) + " is everywhere in the trace and takes no place");
    const std::string_view place = text.substr(at + 1);
    const auto [end, error] = std::from_chars(place.data(), place.data() + place.size(), choice.place);
    const bool is_number = error == std::errc{} && end == place.data() + place.size();
    if (!is_number || !(choice.place >= 0 && choice.place <= 1))
        throw std::invalid_argument("the place of " + std::string(name) + " is a number from 0 to 1, not '" +
                                    std::string(place) + "'");
    return choice;
}

bool has(const Options& options, Defect defect) {
    return std::any_of(options.defects.begin(), options.defects.end(),
                       [&](const DefectChoice& choice) { return choice.defect == defect; });
}

Options with_defects(Options options) {
    for (const auto& [a, b] : exclusive)
        if (has(options, a) && has(options, b))
            throw std::invalid_argument(name_of(a) + " and " + name_of(b) + " exclude each other");
    for (const Defect defect : {Defect::rocm_legacy_copies, Defect::duplicate_flows})
        if (has(options, defect) && options.vendor != Vendor::amd)
            throw std::invalid_argument(name_of(defect) + " happens on AMD only");
    if (has(options, Defect::sync_and_overhead) && options.vendor != Vendor::nvidia)
        throw std::invalid_argument("sync-and-overhead happens on NVIDIA only");
    if (has(options, Defect::rocm_legacy_copies) && !options.copies)
        throw std::invalid_argument("rocm-legacy-copies needs copies");
    if (has(options, Defect::merged_ranks)) {
        options.merged = true;
        options.ranks = std::max(options.ranks, 2);
    }
    if (has(options, Defect::collective_names)) options.collectives = true;
    if (has(options, Defect::truncated_gzip) || has(options, Defect::gzip_members)) options.gzip = true;
    return options;
}

}  // namespace tracelens::synth
