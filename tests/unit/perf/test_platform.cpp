#include <tracelens/perf/platform.hpp>

// Platform files and recorded device names (spec 02, section 10.3; spec 11, section 6).
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

namespace fs = std::filesystem;

constexpr std::string_view whole_file = R"({
    "name": "Some\u0020GPU",
    "mem_bw_gbps": 5300,
    "memory_gb": 192.5,
    "freq_mhz": 2100,
    "num_cus": 304,
    "l1_bw_gbps": 1e4,
    "gemm_units_per_cu": 4,
    "max_achievable_tflops": {"matrix_bf16": 708, "vector_fp32": 81.5, "matrix_fp8": 0},
    "_reference": {"by": "hand", "of": ["what", 3], "kind": "datasheet"}
})";

std::string bundled_text(const std::string& name) {
    std::ifstream file(TRACELENS_SOURCE_DIR "/agents/platforms/" + name + ".json", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

Platform bundled(const std::string& name) {
    const Result<Platform> platform = parse_platform(bundled_text(name), name + ".json");
    REQUIRE(platform.ok());
    return *platform;
}

Platform parsed(std::string_view json) {
    const Result<Platform> platform = parse_platform(json, "platform.json");
    REQUIRE(platform.ok());
    return *platform;
}

/// The message of a file that must not be read.
std::string failure(std::string_view json) {
    const Result<Platform> platform = parse_platform(json, "dir/x.json");
    REQUIRE_FALSE(platform.ok());
    CHECK(platform.failure().code == ErrorCode::invalid_argument);
    CHECK(platform.failure().subject == "dir/x.json");
    return platform.failure().reason;
}

/// What the spec says of a platform; a negative figure is one that it leaves out.
struct Expected {
    std::string name;
    double bandwidth;
    double memory;
    std::array<double, 12> peaks;
};

constexpr std::array<std::string_view, 12> expected_specs = {
    "matrix_fp16", "matrix_bf16", "matrix_fp32", "matrix_fp64", "matrix_fp8",  "matrix_fp4",
    "matrix_fp6",  "matrix_int8", "vector_fp16", "vector_bf16", "vector_fp32", "vector_fp64"};

const std::array expected_platforms = {
    Expected{"MI300X", 5300, 192, {654, 708, 163, 81, 1273, -1, -1, 2600, 163, 163, 81, 40}},
    Expected{"MI325X", 6000, 256, {794, 843, 194, 97, 1519, -1, -1, 3094, 194, 194, 97, 48}},
    Expected{"MI350X", 7200, 288, {1345, 1445, 130, 65, 3028, 4630, -1, 2350, 117, 117, 128, 65}},
    Expected{"MI355X", 8000, 288, {1518, 1613, 93, 47, 2905, -1, -1, 2960, 157, 157, 157, 79}},
    Expected{"MI455X", 19600, 432, {2500, 2500, 1250, 625, 20000, 40000, -1, 20000, 625, 625, 312, 156}},
    Expected{"B200", 7476, 178, {1347, 1401, 66, 36, 2816, 5912, 0, 2927, 58, 47, 48, 24}},
    Expected{"Radeon8060S", 231, 120, {37, 36, 3, 0, 0, 5, 5, 37, 26, 11, 9, 0}},
};

}  // namespace

TEST_CASE("A platform file with every key") {
    const Platform platform = parsed(whole_file);
    CHECK(platform.name == "Some GPU");
    CHECK(platform.mem_bw_gbps == 5300);
    CHECK(platform.memory_gb == 192.5);
    CHECK(platform.compute_units == 304);
    CHECK(platform.peak_tflops("matrix_bf16") == 708);
    CHECK(platform.peak_tflops("vector_fp32") == 81.5);
    CHECK(platform.peak_tflops("matrix_fp8") == 0);
    CHECK_FALSE(platform.peak_tflops("matrix_fp16").has_value());
    CHECK(platform.source == "hand; datasheet");
    CHECK(platform.figures == FigureSource::datasheet);
}

TEST_CASE("No spec and strange specs have no peak") {
    const Platform platform = parsed(whole_file);
    for (const std::string_view spec : {"", "matrix_", "matrix_bfloat16", "MATRIX_BF16", "vector_bfloat16"})
        CHECK_FALSE(platform.peak_tflops(spec).has_value());
}

TEST_CASE("A platform without a name takes that of its file") {
    const auto name_from = [](const std::string& file) { return parse_platform("{}", file)->name; };
    CHECK(name_from("a/b.c/MI300X.json") == "MI300X");
    CHECK(name_from("MI300X") == "MI300X");
    CHECK(name_from("") == "");
    CHECK(name_from(".json") == ".json");
    CHECK(name_from("dir/") == "");
}

TEST_CASE("An empty platform file has no figures") {
    const Platform platform = parsed(" { } \n");
    CHECK_FALSE(platform.mem_bw_gbps.has_value());
    CHECK_FALSE(platform.memory_gb.has_value());
    CHECK_FALSE(platform.compute_units.has_value());
    for (const std::string_view spec : peak_specs) CHECK_FALSE(platform.peak_tflops(spec).has_value());
    CHECK(platform.figures == FigureSource::unknown);
    CHECK(platform.source == "");
}

TEST_CASE("The last of several equal keys holds") {
    const Platform platform = parsed(
        R"({"mem_bw_gbps": 1, "mem_bw_gbps": 2, "max_achievable_tflops": {"matrix_fp8": 3, "matrix_fp8": 4}})");
    CHECK(platform.mem_bw_gbps == 2);
    CHECK(platform.peak_tflops("matrix_fp8") == 4);
}

TEST_CASE("Where figures come from") {
    const auto figures = [](std::string_view member) {
        return to_string(parsed("{" + std::string(member) + "}").figures);
    };
    CHECK(figures(R"("source": "These are benchmark derived peak flops and bw")") == "measured");
    CHECK(figures(R"("_reference": "Datasheet of 2024")") == "datasheet");
    CHECK(figures(R"("source": "measured", "_reference": "beside the datasheet")") == "measured");
    CHECK(figures(R"("_reference": "datasheet", "source": "measured")") == "measured");
    CHECK(figures(R"("_reference": 7)") == "unknown");
    CHECK(figures(R"("_reference": {"a": {"b": "datasheet"}})") == "unknown");
}

TEST_CASE("Unknown keys of a platform file are named with their line") {
    CHECK(failure("{\n\"name\": \"x\",\n\"mem_bw\": 3}") ==
          "\"mem_bw\" is no key of a platform file (line 3)");
    CHECK(failure("{\"max_achievable_tflops\": {\n\n\"matrix_bf17\": 1}}") ==
          "\"matrix_bf17\" is no key of max_achievable_tflops (line 3)");
}

TEST_CASE("Figures that are negative or no numbers are named with their line") {
    CHECK(failure("{\n\"mem_bw_gbps\":\n-1}") == "\"mem_bw_gbps\" is negative (line 2)");
    for (const std::string_view value :
         {"\"5300\"", "null", "true", "[1]", "{}", "nan", "Infinity", "1e999", "x"})
        CHECK(failure("{\"memory_gb\": " + std::string(value) + "}") ==
              "\"memory_gb\" is no number (line 1)");
    CHECK(failure("{\"max_achievable_tflops\":\n{\"matrix_fp8\": -0.5}}") ==
          "\"matrix_fp8\" is negative (line 2)");
    CHECK(failure("{\"freq_mhz\": \"fast\"}") == "\"freq_mhz\" is no number (line 1)");
    CHECK(failure("{\"num_cus\": -3}") == "\"num_cus\" is negative (line 1)");
    CHECK(failure("{\"name\": 3}") == "\"name\" is no text (line 1)");
    CHECK(failure("{\n\"max_achievable_tflops\": 3}") ==
          "\"max_achievable_tflops\" is no JSON object (line 2)");
}

TEST_CASE("Text that is no platform file") {
    for (const std::string_view text : {"", "  ", "[]", "3", "\"x\"", "null"})
        CHECK(failure(text).substr(0, 26) == "the file is no JSON object");
    CHECK(failure("{} {}") == "there is text behind the closing bracket (line 1)");
    CHECK(failure("{\"name\": \"a\"\n\"num_cus\": 1}") == "a comma or a closing bracket is missing (line 2)");
    CHECK(failure("{\"name\": \"a\",\n}") == "there is no key (line 2)");
    CHECK(failure("{name: 1}") == "there is no key (line 1)");
    CHECK(failure("{\"name\": ") == "\"name\" has no value (line 1)");
    CHECK(failure("{\"name\": }") == "\"name\" has no value (line 1)");
}

TEST_CASE("A torn platform file is never read") {
    for (std::size_t size = 0; size < whole_file.size(); ++size)
        CHECK_FALSE(parse_platform(whole_file.substr(0, size), "x.json").ok());
}

TEST_CASE("Deep nesting in a reference does no harm") {
    const std::string deep = "{\"_reference\": " + std::string(100000, '[') + std::string(100000, ']') + "}";
    CHECK(parse_platform(deep, "x.json").ok());
}

TEST_CASE("Every bundled platform can be read and says where its figures come from") {
    std::set<std::string> names;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(TRACELENS_SOURCE_DIR "/agents/platforms")) {
        if (entry.path().extension() != ".json") continue;
        CAPTURE(entry.path().string());
        const Platform platform = bundled(entry.path().stem().string());
        CHECK(platform.name == entry.path().stem().string());
        CHECK(platform.figures != FigureSource::unknown);
        CHECK(platform.mem_bw_gbps.value_or(0) > 0);
        CHECK(platform.memory_gb.value_or(0) > 0);
        CHECK(platform.peak_tflops("matrix_bf16").value_or(0) > 0);
        names.insert(platform.name);
    }
    CHECK(names == std::set<std::string>{"A100", "B200", "GB200", "H100", "H200", "MI250X", "MI300X",
                                         "MI325X", "MI350X", "MI355X", "MI455X", "Radeon8060S"});
}

TEST_CASE("Bundled platforms that the spec lists have its figures") {
    for (const Expected& expected : expected_platforms) {
        CAPTURE(expected.name);
        const Platform platform = bundled(expected.name);
        CHECK(platform.mem_bw_gbps == expected.bandwidth);
        CHECK(platform.memory_gb == expected.memory);
        std::size_t listed = 0;
        for (std::size_t i = 0; i < expected_specs.size(); ++i) {
            CAPTURE(expected_specs[i]);
            if (expected.peaks[i] >= 0) ++listed;
            CHECK(platform.peak_tflops(expected_specs[i]).value_or(-1) == expected.peaks[i]);
        }
        std::size_t given = 0;
        for (const std::optional<double>& peak : platform.peaks) given += peak ? 1 : 0;
        CHECK(given == listed);
    }
}

TEST_CASE("Datasheet platforms keep the ratios between precisions") {
    for (const std::string name : {"A100", "H100", "H200", "MI250X"}) {
        CAPTURE(name);
        const Platform platform = bundled(name);
        CHECK(platform.figures == FigureSource::datasheet);
        const double half = *platform.peak_tflops("matrix_bf16");
        CHECK(platform.peak_tflops("matrix_fp16") == half);
        CHECK(*platform.peak_tflops("matrix_fp32") < half);
        CHECK(*platform.peak_tflops("vector_fp32") < half);
        CHECK(*platform.peak_tflops("vector_fp64") <= *platform.peak_tflops("matrix_fp64"));
        if (const std::optional<double> quarter = platform.peak_tflops("matrix_fp8"))
            CHECK(*quarter / half == doctest::Approx(2).epsilon(0.001));
    }
    CHECK(bundled("H100").mem_bw_gbps == 3350);
    CHECK(bundled("H200").mem_bw_gbps == 4800);
    CHECK(bundled("A100").peak_tflops("matrix_bf16") == 312);
    CHECK(bundled("H100").peak_tflops("matrix_bf16") == 989.4);
}

TEST_CASE("Platforms of recorded device names") {
    struct Row {
        std::string_view device;
        std::string_view platform;
    };
    for (const Row& row :
         {Row{"AMD Instinct MI300X", "MI300X"}, Row{"AMD Instinct MI300X VF", "MI300X"},
          Row{"AMD_Instinct_MI325X", "MI325X"}, Row{"AMD Instinct MI350X", "MI350X"},
          Row{"AMD Instinct MI355X", "MI355X"}, Row{"AMD Instinct MI455X", "MI455X"},
          Row{"AMD Instinct MI250X / MI250", "MI250X"}, Row{"AMD Radeon 8060S Graphics", "Radeon8060S"},
          Row{"NVIDIA A100-SXM4-80GB", "A100"}, Row{"NVIDIA H100 80GB HBM3", "H100"},
          Row{"nvidia h200", "H200"}, Row{"NVIDIA B200", "B200"}, Row{"NVIDIA GB200", "GB200"}}) {
        CAPTURE(row.device);
        CHECK(platform_of_device(row.device) == row.platform);
    }
}

TEST_CASE("Devices that no platform file describes") {
    for (const std::string_view device :
         {"", "AMD Instinct MI210", "AMD Instinct MI300A", "AMD Instinct MI308X", "NVIDIA GH200 480GB",
          "NVIDIA A100-SXM4-40GB", "NVIDIA A100 80GB PCIe", "NVIDIA A100-PCIE-40GB", "NVIDIA H100 PCIe",
          "NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA H800", "NVIDIA A100-SXM4-80GB MIG 1g.10gb", "gfx942",
          "gfx950:sramecc+:xnack-", "gfx90a", "sm_90", "AMD EPYC 9575F 64-Core Processor", "NVIDIA XH100X"}) {
        CAPTURE(device);
        CHECK(platform_of_device(device) == "");
    }
}

TEST_CASE("Every platform of the table of devices is bundled, and every bundled one is in it") {
    std::set<std::string> named;
    for (const DeviceWord& row : device_words) {
        if (!row.platform.empty()) named.insert(std::string(row.platform));
    }
    for (const std::string& name : named) CHECK(bundled(name).name == name);
    for (const fs::directory_entry& entry : fs::directory_iterator(TRACELENS_SOURCE_DIR "/agents/platforms"))
        CHECK(named.count(entry.path().stem().string()) == 1);
}
