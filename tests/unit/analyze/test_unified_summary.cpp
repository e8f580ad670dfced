// Units of work by op, place and arguments (spec 02, sections 12.4 to 12.6 and 22.5).

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "unit/analyze/perf_support.hpp"

using namespace tracelens;
using fixture::add_op;
using fixture::both_rules;
using fixture::cell_text;
using fixture::column_text;
using fixture::header_text;
using fixture::mm_shapes;
using fixture::number_at;
using fixture::PerfTrace;
using fixture::PerfTraceOptions;
using fixture::platform_of;
using fixture::TraceFixture;
using fixture::us;

namespace {

constexpr std::string_view time_sum = "Kernel Time (\xc2\xb5s)_sum";

Table summary(PerfTrace& trace, const Platform* platform = nullptr) {
    PerfInputs inputs = trace.inputs();
    inputs.platform = platform;
    return unified_perf_summary(inputs, trace.units());
}

Table summary(TraceFixture file, ClassRules rules = ClassRules::full, const Platform* platform = nullptr) {
    PerfTrace trace(std::move(file), rules);
    return summary(trace, platform);
}

TraceFixture& add_mm(TraceFixture& file, std::int64_t start, std::int64_t length) {
    return add_op(mm_shapes(file), "aten::mm", start, length, "gemm_k");
}

TraceFixture one_mm() {
    TraceFixture file;
    add_mm(file, 0, 10);
    return file;
}

/// Launches of one product that take 40, 44 and 30 us.
TraceFixture three_products() {
    TraceFixture file;
    add_mm(file, 0, 40);
    add_mm(file, 200, 44);
    add_mm(file, 400, 30);
    return file;
}

/// The summary of a trace with Python frames, with call stacks.
Table with_stacks(TraceFixture file, ClassRules rules) {
    PerfTrace trace(std::move(file), PerfTraceOptions{.rules = rules, .python_frames = true});
    PerfInputs inputs = trace.inputs();
    inputs.call_stacks = true;
    return unified_perf_summary(inputs, trace.units());
}

/// An op below two frames, with one kernel or two.
TraceFixture below_frames(int kernels) {
    TraceFixture file;
    file.frame("net/model.py(10): forward", 0, us(90)).frame("torch/_ops.py(3): __call__", 1, us(89));
    file.op("my::op", us(1), us(80)).launched("k_1", us(110), us(120));
    if (kernels == 2) file.call("ns::launch_2", us(30), us(40)).launched("k_2", us(135), us(150));
    return file;
}

std::string joined(std::initializer_list<std::string_view> parts) {
    std::string out;
    for (const std::string_view part : parts) out += part;
    return out;
}

constexpr std::string_view keys =
    "name | op category | process_name | process_label | thread_name | Input Dims | Input type | "
    "Input Strides | Concrete Inputs | ";
constexpr std::string_view host_times =
    "ex_UID | operation_count | total_duration_us | mean_duration_us | std_duration_us | ";
constexpr std::string_view time_statistics =
    "Kernel Time (\xc2\xb5s)_mean | Kernel Time (\xc2\xb5s)_std | Kernel Time (\xc2\xb5s)_sum | "
    "duration_us_median | duration_us_min | duration_us_max | ";
constexpr std::string_view rate_statistics =
    "TB/s_median | TB/s_min | TB/s_max | TFLOPS/s_median | TFLOPS/s_min | TFLOPS/s_max | ";
constexpr std::string_view last =
    "Kernel Time (\xc2\xb5s)_median | Kernel Time (\xc2\xb5s)_min | Kernel Time (\xc2\xb5s)_max | "
    "kernel_details_summary | trunc_kernel_details | perf_params | has_perf_model | ";
constexpr std::string_view shares = "Percentage (%) | Cumulative Percentage (%)";

}  // namespace

TEST_CASE("unified summary: the columns in their order") {
    const Platform platform = platform_of(708, 5300);
    for (const ClassRules rules : both_rules) {
        CHECK(header_text(summary(one_mm(), rules, &platform)) ==
              joined({keys, host_times,
                      "GFLOPS | Data Moved (MB) | FLOPS/Byte | Compute Spec | Roofline Bound | "
                      "TB/s_mean | TB/s_std | TFLOPS/s_mean | TFLOPS/s_std | ",
                      time_statistics, rate_statistics,
                      "Roofline Time (\xc2\xb5s)_first | Pct Roofline_mean | Pct Roofline_median | "
                      "Pct Roofline_std | Pct Roofline_min | Pct Roofline_max | ",
                      last, shares}));
    }
}

TEST_CASE("unified summary: columns of rooflines and metrics need a row that has them") {
    TraceFixture unpriced;
    add_op(unpriced, "my::op", 0, 10);
    for (const ClassRules rules : both_rules) {
        CHECK(header_text(summary(one_mm(), rules)) ==
              joined({keys, host_times,
                      "GFLOPS | Data Moved (MB) | FLOPS/Byte | Compute Spec | "
                      "TB/s_mean | TB/s_std | TFLOPS/s_mean | TFLOPS/s_std | ",
                      time_statistics, rate_statistics, last, shares}));
    }
    CHECK(header_text(summary(std::move(unpriced))) ==
          joined({keys, host_times, time_statistics, last, shares}));
}

TEST_CASE("unified summary: marks and call stacks have columns of their own") {
    PerfTrace trace(one_mm());
    const std::vector<bool> marks(trace.tree.node_count(), false);
    PerfInputs inputs = trace.inputs();
    inputs.recompute = &marks;
    inputs.call_stacks = true;
    const std::string header = header_text(unified_perf_summary(inputs, trace.units()));
    CHECK(header.starts_with(joined({keys, "is_recompute | ", host_times})));
    CHECK(header.ends_with(joined({"has_perf_model | entry_point | call_stack_full | ", shares})));
}

TEST_CASE("unified summary: no units, no table") {
    for (const ClassRules rules : both_rules) CHECK(summary(TraceFixture{}, rules).column_count() == 0);
}

TEST_CASE("unified summary: statistics of one group (section 4.2)") {
    for (const ClassRules rules : both_rules) {
        const Table table = summary(three_products(), rules);
        REQUIRE(table.row_count() == 1);
        CHECK(column_text(table, "ex_UID") == "0");
        CHECK(column_text(table, "operation_count") == "3");
        CHECK(column_text(table, "total_duration_us") == "1.5");
        CHECK(column_text(table, "mean_duration_us") == "0.5");
        CHECK(column_text(table, "duration_us_max") == "0.5");
        CHECK(column_text(table, time_sum) == "114.0");
        CHECK(column_text(table, "Kernel Time (\xc2\xb5s)_mean") == "38.0");
        CHECK(column_text(table, "Kernel Time (\xc2\xb5s)_median") == "40.0");
        CHECK(number_at(table, "Kernel Time (\xc2\xb5s)_std", 0) == doctest::Approx(7.211102550927978));
        CHECK(column_text(table, "Kernel Time (\xc2\xb5s)_min") == "30.0");
        CHECK(column_text(table, "Kernel Time (\xc2\xb5s)_max") == "44.0");
        // Means of rates, not the rate of the means.
        const double rate = 65536 / 1e12 * (1 / 40e-6 + 1 / 44e-6 + 1 / 30e-6) / 3;
        CHECK(number_at(table, "TFLOPS/s_mean", 0) == doctest::Approx(rate));
        CHECK(number_at(table, "TB/s_max", 0) == doctest::Approx(7168 / 1e12 / 30e-6));
        CHECK(column_text(table, "has_perf_model") == "True");
        CHECK(cell_text(table, "kernel_details_summary", 0).find("\"std_dev_duration_us\":5.8878405775518") !=
              std::string::npos);
        CHECK(column_text(table, "trunc_kernel_details") ==
              R"([{"name":"gemm_k","stream":7,"mean_duration_us":38.0}])");
    }
}

TEST_CASE("unified summary: rooflines of a group") {
    const Platform platform = platform_of(708, 5300);
    for (const ClassRules rules : both_rules) {
        const Table table = summary(three_products(), rules, &platform);
        const double roofline = 7168 / 5300e9 * 1e6;
        CHECK(number_at(table, "Roofline Time (\xc2\xb5s)_first", 0) == doctest::Approx(roofline));
        CHECK(column_text(table, "Roofline Bound") == "MEMORY_BOUND");
        CHECK(number_at(table, "Pct Roofline_median", 0) == doctest::Approx(roofline / 40 * 100));
        CHECK(number_at(table, "Pct Roofline_max", 0) == doctest::Approx(roofline / 30 * 100));
    }
}

TEST_CASE("unified summary: longest first, then by number; shares of the sum") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        add_op(file, "b", 0, 20);
        add_op(file, "a", 100, 20);
        add_op(file, "c", 200, 30);
        add_op(file, "c", 300, 30);
        const Table table = summary(std::move(file), rules);
        CHECK(column_text(table, "name") == "c | b | a");
        CHECK(column_text(table, "ex_UID") == "6 | 0 | 3");
        CHECK(column_text(table, time_sum) == "60.0 | 20.0 | 20.0");
        CHECK(column_text(table, "Percentage (%)") == "60.0 | 20.0 | 20.0");
        CHECK(column_text(table, "Cumulative Percentage (%)") == "60.0 | 80.0 | 100.0");
    }
}

TEST_CASE("unified summary: arguments and places part groups, missing ones are equal") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        add_op(file, "my::op", 0, 1);
        add_op(file, "my::op", 100, 1);
        const std::pair<std::string_view, std::string_view> arguments[] = {{"Input Dims", "[[1]]"},
                                                                           {"Input type", R"(["a"])"},
                                                                           {"Input Strides", "[[1]]"},
                                                                           {"Concrete Inputs", R"(["1"])"}};
        std::int64_t start = 200;
        for (const auto& [key, json] : arguments) {
            add_op(file.with_arg(key, json), "my::op", start, 1);
            start += 100;
        }
        file.on_thread(100, 9).with_arg("name", R"("other")").metadata("thread_name");
        add_op(file, "my::op", start, 1);
        add_op(file, "my::op", start + 100, 1, "void at::native::reduce_kernel<1>(x)");
        CHECK(column_text(summary(std::move(file), rules), "operation_count") == "2 | 1 | 1 | 1 | 1 | 1 | 1");
    }
}

TEST_CASE("unified summary: the mark is a key") {
    PerfTrace trace(three_products());
    std::vector<bool> marks(trace.tree.node_count(), false);
    marks[trace.launchers.rows[1].node] = true;
    PerfInputs inputs = trace.inputs();
    inputs.recompute = &marks;
    const Table table = unified_perf_summary(inputs, trace.units());
    CHECK(column_text(table, "is_recompute") == "False | True");
    CHECK(column_text(table, "operation_count") == "2 | 1");
    CHECK(column_text(table, time_sum) == "70.0 | 44.0");
}

TEST_CASE("unified summary: launches with other kernels (section 22.5)") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        file.op("my::two", 0, us(50)).launched("a_k", us(101), us(111));
        file.on_stream(0, 8).launched("b_k", us(106), us(126)).on_stream(0, 7);
        file.op("my::two", us(500), us(550)).launched("a_k", us(601), us(613));
        const Table table = summary(std::move(file), rules);
        CHECK(column_text(table, "operation_count") == "2");
        CHECK(column_text(table, time_sum) == "37.0");
        CHECK(number_at(table, "Kernel Time (\xc2\xb5s)_std", 0) == doctest::Approx(9.192388155425117));
        const std::string cell = cell_text(table, "kernel_details_summary", 0);
        CHECK(cell.find(R"("name":"a_k","stream":7)") != std::string::npos);
        CHECK(cell.find(R"("count":1,"total_duration_us":10.0)") != std::string::npos);
        CHECK(cell.find(R"("count":1,"total_duration_us":20.0)") != std::string::npos);
        CHECK(cell.find("12.0") == std::string::npos);
    }
}

TEST_CASE("unified summary: kernels in the order of their launches; by total time in the reference") {
    const auto file = [] {
        TraceFixture made;
        made.op("my::op", 0, us(50)).call("cudaLaunchKernel", us(1), us(2), 1);
        made.call("cudaLaunchKernel", us(3), us(4), 2);
        made.kernel("second", us(100), us(110), 2).on_stream(0, 8).kernel("first", us(105), us(125), 1);
        return made;
    };
    const std::string full = cell_text(summary(file()), "trunc_kernel_details", 0);
    CHECK(full.find("first") < full.find("second"));
    const std::string reference =
        cell_text(summary(file(), ClassRules::reference), "trunc_kernel_details", 0);
    CHECK(reference.find("second") < reference.find("first"));
}

TEST_CASE("unified summary: leftover kernels without a time on the host") {
    TraceFixture file;
    file.call("cudaGraphLaunch", us(70), us(75), 2).kernel("g", us(170), us(175), 2);
    file.kernel("g", us(175), us(178), 2);
    TraceFixture same;
    same.call("cudaGraphLaunch", us(70), us(75), 2).kernel("g", us(170), us(175), 2);
    same.kernel("g", us(175), us(178), 2);
    const Table full = summary(std::move(file));
    CHECK(column_text(full, "operation_count") == "2");
    CHECK(column_text(full, "total_duration_us") == "0.0");
    CHECK(column_text(full, "mean_duration_us") == "-");
    CHECK(column_text(full, time_sum) == "8.0");
    CHECK(column_text(summary(std::move(same), ClassRules::reference), "total_duration_us") == "10.0");
}

// --- call stacks ---

TEST_CASE("unified summary: the stack of one kernel is flat") {
    const Table full = with_stacks(below_frames(1), ClassRules::full);
    CHECK(column_text(full, "call_stack_full") ==
          R"(["net/model.py(10): forward","torch/_ops.py(3): __call__","my::op","k_1"])");
    CHECK(column_text(full, "entry_point") == "net/model.py(10): forward");
    const Table reference = with_stacks(below_frames(1), ClassRules::reference);
    CHECK(column_text(reference, "call_stack_full") ==
          "['net/model.py(10): forward', 'torch/_ops.py(3): __call__', 'my::op', 'k_1']");
    CHECK(column_text(reference, "entry_point") == "net/model.py(10): forward");
}

TEST_CASE("unified summary: several kernels share a stack up to where they part") {
    const Table full = with_stacks(below_frames(2), ClassRules::full);
    CHECK(column_text(full, "call_stack_full") ==
          R"(["net/model.py(10): forward","torch/_ops.py(3): __call__","my::op",["k_1"],)"
          R"(["ns::launch","k_2"]])");
    const Table reference = with_stacks(below_frames(2), ClassRules::reference);
    CHECK(column_text(reference, "call_stack_full") ==
          "['net/model.py(10): forward', 'torch/_ops.py(3): __call__', 'my::op', ['k_1'], "
          "['ns::launch', 'k_2']]");
}

TEST_CASE("unified summary: no entry point") {
    const auto file = [] {
        TraceFixture made;
        made.frame("torch/_ops.py(3): __call__", 0, us(90)).op("my::op", us(1), us(80));
        made.launched("k", us(110), us(120));
        return made;
    };
    CHECK(column_text(with_stacks(file(), ClassRules::full), "entry_point") == "-");
    CHECK(column_text(with_stacks(file(), ClassRules::reference), "entry_point") == "Not found");
}

TEST_CASE("unified summary: without the option there are no stacks, not even in the kernel cells") {
    for (const ClassRules rules : both_rules) {
        PerfTrace trace(below_frames(1), PerfTraceOptions{.rules = rules, .python_frames = true});
        const Table table = summary(trace);
        CHECK_FALSE(table.find_column("call_stack_full").has_value());
        CHECK(cell_text(table, "kernel_details_summary", 0).find("call_stack") == std::string::npos);
    }
}
