// Generated traces look like recorded ones: shares of event kinds, lengths of names, sizes of arguments.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "unit/synth/synth_support.hpp"

using namespace tracelens::synth_test;
namespace synth = tracelens::synth;
using nlohmann::json;

namespace {

/// The eager traces with python stacks of spec 01, section 3.1: rows 1 to 6 (NVIDIA) and 19 to 24 (AMD).
struct Row {
    std::uint64_t events, cpu_op, frames, calls, kernels, copies, fills, starts, finishes, memory;
};
constexpr std::array rows{Row{24656, 4809, 15230, 1151 + 221, 768, 161, 0, 931, 1370, 0},
                          Row{5138, 1258, 2117, 334 + 49, 154, 0, 2, 207, 332, 620},
                          Row{18221, 4186, 4262, 1921 + 1, 1465, 1, 241, 1201, 2428, 2450},
                          Row{50125, 3540, 42330, 881 + 48, 446, 2, 86, 538, 925, 1264},
                          Row{2551, 479, 1385, 110 + 22, 60, 1, 0, 86, 107, 236},
                          Row{132152, 24378, 65313, 8567 + 725, 4330, 85, 750, 5552, 8905, 13474},
                          Row{5371, 1381, 2121, 437, 155, 0, 0, 155, 437, 620},
                          Row{18090, 4619, 4266, 1707, 1516, 1, 0, 1054, 2170, 2692},
                          Row{49950, 3591, 42334, 851, 447, 2, 0, 449, 851, 1360},
                          Row{2653, 519, 1389, 161, 60, 1, 0, 61, 161, 236},
                          Row{130780, 24783, 65248, 8867, 4255, 85, 0, 4340, 8867, 14264},
                          Row{56451, 8004, 34405, 3100, 2995, 550, 108, 2604, 4149, 0}};

/// How far a share of a generated trace may be from that of all rows together, either way. Single rows lie
/// between a quarter and three times it.
constexpr double share_factor = 1.75;

/// Mean length of names and of arguments as compact JSON text, over the traces of those rows that are in the
/// corpus: b200_eager, h100_{nsfw,qwen,timesformer,bert} and
/// mi300_{nsfw,qwen,timesformer,bert,owlv2,resnet_ckpt}.
struct Means {
    const char* category;
    double amd_name, amd_args;
    double nvidia_name, nvidia_args;
};
constexpr std::array means{
    Means{"cpu_op", 13.4, 239.1, 13.1, 230.0},          Means{"python_function", 42.6, 71.2, 43.7, 60.7},
    Means{"cuda_runtime", 21.7, 314.8, 18.2, 51.6},     Means{"kernel", 413.4, 116.0, 364.5, 244.5},
    Means{"cpu_instant_event", 8.0, 156.4, 8.0, 139.1}, Means{"gpu_memcpy", 29.7, 110.9, 30.0, 131.9},
    Means{"gpu_memset", 15.0, 72.2, 15.0, 124.8}};
constexpr double length_factor = 1.5;

synth::Options full_size(synth::Options options) {
    options.layers = 12;
    options.target_bytes = 15'000'000;
    return options;
}

struct Sizes {
    double count = 0, name = 0, args = 0;
};

}  // namespace

TEST_CASE("distribution: shares of event kinds are those of recorded eager traces") {
    const auto pooled = [](std::uint64_t Row::*column) {
        double part = 0;
        double whole = 0;
        for (const Row& row : rows) {
            part += static_cast<double>(row.*column);
            whole += static_cast<double>(row.events);
        }
        return part / whole;
    };
    for_each_kind([&](const synth::Options& options) {
        synth::Summary summary;
        generated(full_size(options), &summary);
        std::map<std::string, double> shares;
        for (const synth::KindCount& kind : summary.kinds)
            shares[kind.kind] = static_cast<double>(kind.count) / static_cast<double>(summary.events);
        const auto check = [&](const char* what, double share, std::uint64_t Row::*column) {
            CAPTURE(what);
            CHECK(share <= pooled(column) * share_factor);
            CHECK(share >= pooled(column) / share_factor);
        };
        check("cpu_op", shares["cpu_op"], &Row::cpu_op);
        check("python_function", shares["python_function"], &Row::frames);
        check("cuda_runtime and cuda_driver", shares["cuda_runtime"] + shares["cuda_driver"], &Row::calls);
        check("kernel", shares["kernel"], &Row::kernels);
        check("ac2g s", shares["ac2g s"], &Row::starts);
        check("ac2g f", shares["ac2g f"], &Row::finishes);
        check("memory", shares["cpu_instant_event"], &Row::memory);
        // Copies and fills depend on the program: some rows have none, so only the largest share is a limit.
        const auto largest = [](std::uint64_t Row::*column) {
            double share = 0;
            for (const Row& row : rows)
                share = std::max(share, static_cast<double>(row.*column) / static_cast<double>(row.events));
            return share;
        };
        CHECK(shares["gpu_memcpy"] > 0);
        CHECK(shares["gpu_memcpy"] <= largest(&Row::copies));
        CHECK(shares["gpu_memset"] <= largest(&Row::fills));
    });
}

TEST_CASE("distribution: names and arguments are about as long as recorded ones") {
    for_each_kind([&](const synth::Options& options) {
        const json document = json::parse(generated(full_size(options)));
        std::map<std::string, Sizes> sizes;
        for (const json& event : document.at("traceEvents")) {
            if (event.at("ph") != "X" && event.at("ph") != "i") continue;
            if (!event.contains("cat")) continue;
            Sizes& size = sizes[event.at("cat")];
            size.count += 1;
            size.name += static_cast<double>(event.at("name").get_ref<const std::string&>().size());
            size.args += static_cast<double>(event.at("args").dump().size());
        }
        const bool is_amd = options.vendor == synth::Vendor::amd;
        for (const Means& expected : means) {
            if (!sizes.contains(expected.category)) continue;  // the inference workload fills nothing
            CAPTURE(expected.category);
            const Sizes& size = sizes[expected.category];
            const auto check = [](double mean, double recorded) {
                CHECK(mean <= recorded * length_factor);
                CHECK(mean >= recorded / length_factor);
            };
            check(size.name / size.count, is_amd ? expected.amd_name : expected.nvidia_name);
            check(size.args / size.count, is_amd ? expected.amd_args : expected.nvidia_args);
        }
    });
}
