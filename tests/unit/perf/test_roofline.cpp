#include <tracelens/perf/roofline.hpp>

// Rooflines (spec 02, section 10.2; spec 03, sections 3.2.2, 3.17.1, 3.19 and 3.20 rows 7 and 72).
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

constexpr std::array both_rules = {CostRules::reference, CostRules::full};

Platform platform_of(std::string_view json) {
    const Result<Platform> platform = parse_platform(json, "platform.json");
    REQUIRE(platform.ok());
    return *platform;
}

Platform mi300x() {
    return platform_of(R"({"mem_bw_gbps": 5300, "max_achievable_tflops":
        {"matrix_bf16": 708, "vector_bf16": 163, "vector_fp32": 81, "matrix_int8": 2600}})");
}

Cost cost(double flops, std::optional<double> bytes, ComputeUnit unit = ComputeUnit::matrix,
          std::string_view precision = "bf16") {
    Cost result;
    result.flops = flops;
    result.bytes = bytes;
    result.unit = unit;
    result.precision = std::string(precision);
    return result;
}

void check_none(const Cost& of, const Platform& platform, CostRules rules) {
    CHECK_FALSE(roofline_of(of, platform, rules).has_value());
    CHECK_FALSE(roofline_fails(of, platform, rules));
}

}  // namespace

TEST_CASE("Roofline of a matrix product, with the reference's digits") {
    for (const CostRules rules : both_rules) {
        const std::optional<Roofline> roofline = roofline_of(cost(930167808, 3601920), mi300x(), rules);
        REQUIRE(roofline.has_value());
        CHECK(roofline->compute_us == 1.313796338983051);
        CHECK(roofline->memory_us == doctest::Approx(0.6796));
        CHECK(roofline->time_us == 1.313796338983051);
        CHECK(to_string(roofline->bound) == "COMPUTE_BOUND");
    }
}

TEST_CASE("Rooflines of real traces") {
    struct Row {
        std::string_view op;
        double gflops;
        double mebibytes;
        ComputeUnit unit;
        std::string_view precision;
        double time_us;
        std::string_view bound;
    };
    constexpr auto matrix = ComputeUnit::matrix;
    constexpr auto vector = ComputeUnit::vector;
    const std::array rows = {
        Row{"mm", 51.581550592, 71.0078125, matrix, "bf16", 72.85529744632768, "COMPUTE_BOUND"},
        Row{"thin mm", 0.01024, 1.005401611328125, matrix, "bf16", 0.19891320754716982, "MEMORY_BOUND"},
        Row{"attention", 10.239377408, 69.875, matrix, "bf16", 14.462397468926554, "COMPUTE_BOUND"},
        Row{"convolution", 0.924844032, 3.421875, matrix, "bf16", 1.3062768813559322, "COMPUTE_BOUND"},
        Row{"its gradients", 4.62422016, 15.453125, matrix, "bf16", 6.531384406779661, "COMPUTE_BOUND"},
        Row{"mul", 0.009158656, 69.90911865234375, vector, "fp32", 13.831136603773585, "MEMORY_BOUND"},
        Row{"copy", 0.009158656, 52.40625, vector, "fp32", 10.368289811320754, "MEMORY_BOUND"},
        Row{"layer norm", 0.003030528, 2.3173828125, vector, "bf16", 0.45848150943396226, "MEMORY_BOUND"},
        Row{"batch norm", 0.000655456, 1.0003662109375, vector, "fp32", 0.19791698113207545, "MEMORY_BOUND"},
        Row{"group norm", 0.001179648, 1.50006103515625, vector, "fp32", 0.2967788679245283, "MEMORY_BOUND"}};
    for (const Row& row : rows) {
        CAPTURE(row.op);
        const Cost priced =
            cost(std::round(row.gflops * 1e9), row.mebibytes * 1048576, row.unit, row.precision);
        const std::optional<Roofline> roofline = roofline_of(priced, mi300x(), CostRules::reference);
        REQUIRE(roofline.has_value());
        CHECK(roofline->time_us == row.time_us);
        CHECK(to_string(roofline->bound) == row.bound);
    }
}

TEST_CASE("A roofline from shapes alone") {
    const double flops = 2.0 * 40960 * 6144 * 1536;
    const double bytes = 648019968;
    CHECK(flops == 773094113280);
    CHECK(flops / bytes == doctest::Approx(1193.01).epsilon(1e-5));
    CHECK(roofline_knee(708, 5300) == doctest::Approx(133.58).epsilon(1e-4));
    const Roofline roofline = make_roofline(compute_time_us(flops, 708), memory_time_us(bytes, 5300));
    CHECK(roofline.time_us == doctest::Approx(1091.94).epsilon(1e-5));
    CHECK(roofline.bound == RooflineBound::compute);
}

TEST_CASE("A tie is bound by compute") {
    CHECK(make_roofline(2, 2).bound == RooflineBound::compute);
    CHECK(make_roofline(2, 2.5).bound == RooflineBound::memory);
    CHECK(make_roofline(2, 2.5).time_us == 2.5);
}

TEST_CASE("The knee separates both bounds") {
    const double knee = roofline_knee(708, 5300);
    for (const double bytes : {1e6, 1e9}) {
        CHECK(roofline_of(cost(knee * bytes * 1.01, bytes), mi300x(), CostRules::full)->bound ==
              RooflineBound::compute);
        CHECK(roofline_of(cost(knee * bytes * 0.99, bytes), mi300x(), CostRules::full)->bound ==
              RooflineBound::memory);
    }
}

TEST_CASE("The share of the roofline") {
    const Roofline roofline = make_roofline(50, 20);
    CHECK(roofline.percent(100) == 50);
    CHECK(roofline.percent(25) == 200);
    CHECK_FALSE(roofline.percent(0).has_value());
    CHECK_FALSE(roofline.percent(-1).has_value());
    CHECK_FALSE(roofline.percent(std::numeric_limits<double>::quiet_NaN()).has_value());
}

TEST_CASE("An op without arithmetic takes the time of its bytes in full only") {
    const Cost dispatch = cost(0, 53e9, ComputeUnit::none, "");
    check_none(dispatch, mi300x(), CostRules::reference);
    const std::optional<Roofline> roofline = roofline_of(dispatch, mi300x(), CostRules::full);
    REQUIRE(roofline.has_value());
    CHECK(roofline->time_us == doctest::Approx(1e4));
    CHECK(roofline->compute_us == 0);
    CHECK(to_string(roofline->bound) == "MEMORY_BOUND");
}

TEST_CASE("An op without arithmetic needs no peak in full") {
    const Platform bandwidth_only = platform_of(R"({"mem_bw_gbps": 5300})");
    CHECK(roofline_of(cost(0, 5300), bandwidth_only, CostRules::full).has_value());
    CHECK_FALSE(roofline_of(cost(1, 5300), bandwidth_only, CostRules::full).has_value());
}

TEST_CASE("Something missing means no roofline") {
    for (const CostRules rules : both_rules) {
        check_none(cost(100, std::nullopt), mi300x(), rules);
        check_none(cost(0, std::nullopt), mi300x(), rules);
        check_none(cost(100, 100, ComputeUnit::none), mi300x(), rules);
        check_none(cost(100, 100, ComputeUnit::matrix, ""), mi300x(), rules);
        check_none(cost(100, 100, ComputeUnit::vector, "bfloat16"), mi300x(), rules);
        check_none(cost(100, 100, ComputeUnit::matrix, "fp4"), mi300x(), rules);
        check_none(cost(100, 100), platform_of("{}"), rules);
        check_none(cost(100, 100), platform_of(R"({"mem_bw_gbps": 5300})"), rules);
        check_none(cost(100, 100), platform_of(R"({"max_achievable_tflops": {"matrix_bf16": 708}})"), rules);
        check_none(Cost::bad("reason"), mi300x(), rules);
        check_none(Cost::unsupported("reason"), mi300x(), rules);
    }
}

TEST_CASE("A zero of the platform file is unavailable in full and a failure in the reference") {
    const Platform no_peak =
        platform_of(R"({"mem_bw_gbps": 5300, "max_achievable_tflops": {"matrix_bf16": 0}})");
    const Platform no_bandwidth =
        platform_of(R"({"mem_bw_gbps": 0, "max_achievable_tflops": {"matrix_bf16": 708}})");
    for (const Platform* const platform : {&no_peak, &no_bandwidth}) {
        check_none(cost(100, 100), *platform, CostRules::full);
        CHECK_FALSE(roofline_of(cost(100, 100), *platform, CostRules::reference).has_value());
        CHECK(roofline_fails(cost(100, 100), *platform, CostRules::reference));
    }
    check_none(cost(0, 100), no_bandwidth, CostRules::full);
}

TEST_CASE("The reference fails only where it would divide") {
    const Platform no_peak =
        platform_of(R"({"mem_bw_gbps": 5300, "max_achievable_tflops": {"matrix_bf16": 0}})");
    check_none(cost(0, 100), no_peak, CostRules::reference);
    check_none(cost(100, std::nullopt), no_peak, CostRules::reference);
    check_none(cost(100, 100, ComputeUnit::matrix, "fp8"), no_peak, CostRules::reference);
    CHECK_FALSE(roofline_fails(Cost::bad("reason"), no_peak, CostRules::reference));
}

TEST_CASE("int8 work has a roofline once its type has a precision") {
    const Cost reference =
        cost(1e9, 1e6, ComputeUnit::matrix, precision_of("signed char", CostRules::reference));
    const Cost full = cost(1e9, 1e6, ComputeUnit::matrix, precision_of("signed char", CostRules::full));
    check_none(reference, mi300x(), CostRules::reference);
    CHECK(full.compute_spec() == "matrix_int8");
    CHECK(roofline_of(full, mi300x(), CostRules::full).has_value());
}

TEST_CASE("Costs beyond all reason give no roofline or a harmless one") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (const CostRules rules : both_rules) {
        check_none(cost(nan, 100), mi300x(), rules);
        check_none(cost(-100, 100), mi300x(), rules);
        CHECK(roofline_of(cost(infinity, 100), mi300x(), rules)->time_us == infinity);
        CHECK(roofline_of(cost(100, -1e9), mi300x(), rules)->bound == RooflineBound::compute);
        CHECK(roofline_of(cost(100, nan), mi300x(), rules).has_value());
    }
    check_none(cost(0, nan), mi300x(), CostRules::full);
    check_none(cost(0, 0), mi300x(), CostRules::full);
    check_none(cost(0, -5), mi300x(), CostRules::full);
}

TEST_CASE("Rooflines grow with work and bytes and shrink with the platform's rates") {
    CHECK(compute_time_us(2e12, 100) > compute_time_us(1e12, 100));
    CHECK(compute_time_us(1e12, 200) < compute_time_us(1e12, 100));
    CHECK(memory_time_us(2e9, 1000) > memory_time_us(1e9, 1000));
    CHECK(memory_time_us(1e9, 2000) < memory_time_us(1e9, 1000));
}
