// The collectives of one rank in groups (spec 02, section 15).

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/analyze/collectives.hpp>

#include "unit/analyze/overlap_support.hpp"
#include "unit/analyze/table_support.hpp"

using namespace tracelens;
using fixture::both_rules;
using fixture::column_text;
using fixture::header_text;
using fixture::number_at;
using fixture::TraceFixture;
using fixture::us;

namespace {

constexpr std::string_view kernel_name = "ncclDevKernel_AllReduce_Sum_f32";

struct Field {
    std::string_view key;
    std::string_view json;
};

const std::vector<Field> all_fields = {{"Process Group Name", R"("0")"},
                                       {"Process Group Ranks", R"("[0, 1]")"},
                                       {"Collective name", R"("allreduce")"},
                                       {"Group size", "2"},
                                       {"dtype", R"("Float")"},
                                       {"In msg nelems", "1048576"},
                                       {"Out msg nelems", "524288"},
                                       {"In split size", "[]"},
                                       {"Out split size", "[1,2]"}};

/// A collective of `length` us with all fields but `changed`, which it has with another value, or, when that
/// is empty, not at all.
void add(TraceFixture& file, std::int64_t start, std::int64_t length, Field changed = {},
         std::string_view name = kernel_name) {
    for (const Field& field : all_fields) {
        const std::string_view json = field.key == changed.key ? changed.json : field.json;
        if (!json.empty()) file.with_arg(field.key, json);
    }
    file.kernel(name, us(start), us(start + length), start + 1);
}

Table summary(TraceFixture& file, ClassRules rules = ClassRules::full) {
    return collective_summary(file.finish(), rules);
}

/// One collective that lacks a field, or has it with another value.
Table one(Field changed, ClassRules rules, std::string_view name = kernel_name) {
    TraceFixture file;
    add(file, 0, 10, changed, name);
    return summary(file, rules);
}

}  // namespace

TEST_CASE("collectives: the columns in their order") {
    for (const ClassRules rules : both_rules) {
        CHECK(header_text(one({}, rules)) ==
              "rank | Process Group Name | Process Group Ranks | Collective name | Group size | dtype | "
              "In msg nelems | Out msg nelems | In split size | Out split size | stream | "
              "In msg size (MB)_first | Out msg size (MB)_first | dur_sum | dur_mean | dur_std | dur_min | "
              "dur_max | operation_count");
    }
}

TEST_CASE("collectives: what is recorded, sizes and times of one group") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        add(file, 0, 10);
        add(file, 100, 14);
        const Table table = summary(file, rules);
        REQUIRE(table.row_count() == 1);
        CHECK(column_text(table, "rank") == "0");
        CHECK(column_text(table, "Process Group Name") == "0");
        CHECK(column_text(table, "Collective name") == "allreduce");
        CHECK(column_text(table, "Group size") == "2");
        CHECK(column_text(table, "dtype") == "Float");
        CHECK(column_text(table, "Out split size") == "[1,2]");
        CHECK(column_text(table, "stream") == "7");
        CHECK(column_text(table, "In msg size (MB)_first") == "4.0");
        CHECK(column_text(table, "Out msg size (MB)_first") == "2.0");
        CHECK(column_text(table, "dur_sum") == "24.0");
        CHECK(column_text(table, "dur_mean") == "12.0");
        CHECK(number_at(table, "dur_std", 0) == doctest::Approx(std::sqrt(8.0)));
        CHECK(column_text(table, "dur_min") == "10.0");
        CHECK(column_text(table, "dur_max") == "14.0");
        CHECK(column_text(table, "operation_count") == "2");
    }
}

TEST_CASE("collectives: the deviation of one is missing") {
    for (const ClassRules rules : both_rules) CHECK(std::isnan(number_at(one({}, rules), "dur_std", 0)));
}

TEST_CASE("collectives: each recorded field, and the stream, parts groups") {
    constexpr Field others[] = {{"Process Group Name", R"("1")"},
                                {"Process Group Ranks", R"("[0, 2]")"},
                                {"Collective name", R"("broadcast")"},
                                {"Group size", "3"},
                                {"dtype", R"("Int")"},
                                {"In msg nelems", "7"},
                                {"Out msg nelems", "7"},
                                {"In split size", "[1]"},
                                {"Out split size", "[2,1]"}};
    for (const ClassRules rules : both_rules) {
        for (const Field& other : others) {
            CAPTURE(other.key);
            TraceFixture file;
            add(file, 0, 10);
            add(file, 100, 10, other);
            CHECK(summary(file, rules).row_count() == 2);
        }
        TraceFixture file;
        add(file, 0, 10);
        file.on_stream(0, 8);
        add(file, 100, 10);
        CHECK(column_text(summary(file, rules), "stream") == "7 | 8");
    }
}

TEST_CASE("collectives: bytes of an element by type") {
    constexpr std::pair<std::string_view, int> types[] = {
        {R"("Float")", 4}, {R"("Int")", 4},    {R"("Long")", 8}, {R"("BFloat16")", 2}, {R"("Bool")", 1},
        {R"("Byte")", 1},  {R"("Double")", 8}, {R"("Half")", 2}, {R"("Short")", 2}};
    for (const ClassRules rules : both_rules) {
        for (const auto& type : types) {
            CAPTURE(type.first);
            CHECK(number_at(one({"dtype", type.first}, rules), "In msg size (MB)_first", 0) == type.second);
        }
        CHECK(column_text(one({"dtype", R"("Complex")"}, rules), "In msg size (MB)_first") == "-");
        CHECK(column_text(one({"dtype", R"("Complex")"}, rules), "Out msg size (MB)_first") == "-");
    }
}

TEST_CASE("collectives: types of one byte that the reference does not know") {
    for (const std::string_view type : {R"("Float8_e4m3fn")", R"("Float8_e5m2")", R"("Char")"}) {
        CHECK(column_text(one({"dtype", type}, ClassRules::full), "In msg size (MB)_first") == "1.0");
        CHECK(column_text(one({"dtype", type}, ClassRules::reference), "In msg size (MB)_first") == "-");
    }
}

TEST_CASE("collectives: longest first; groups of equal time in the order of their fields") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        add(file, 0, 10, {"Collective name", R"("b")"});
        add(file, 100, 10, {"Collective name", R"("a")"});
        add(file, 200, 30, {"Collective name", R"("c")"});
        add(file, 300, 10, {"Group size", "10"});
        add(file, 400, 10, {"Group size", "9"});
        const Table table = summary(file, rules);
        CHECK(column_text(table, "Collective name") == "c | a | allreduce | allreduce | b");
        CHECK(column_text(table, "Group size") == "2 | 2 | 9 | 10 | 2");
    }
}

TEST_CASE("collectives: only kernels whose name says so and which are linked to a launch") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        add(file, 0, 10, {}, "gemm");
        file.gpu(EventKind::gpu_memset, kernel_name, us(20), us(30), 5).op(kernel_name, us(20), us(30));
        file.kernel(kernel_name, us(40), us(50));  // neither correlation nor external id
        CHECK(summary(file, rules).column_count() == 0);
    }
}

TEST_CASE("collectives: an external id is as good as a correlation") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        file.with_external_id(3);
        for (const Field& field : all_fields) file.with_arg(field.key, field.json);
        file.kernel("RCCL_kernel", 0, us(10));
        CHECK(column_text(summary(file, rules), "operation_count") == "1");
    }
}

TEST_CASE("collectives without a kind: all-reduce by the name of the kernel") {
    for (const ClassRules rules : both_rules) {
        const Table table = one({"Collective name", ""}, rules, "void CROSS_DEVICE_reduce_1stage<bf16>");
        CHECK(column_text(table, "Collective name") == "allreduce");
        const Table recorded = one({"Collective name", R"("x")"}, rules, "cross_device_reduce");
        CHECK(column_text(recorded, "Collective name") == "x");
    }
}

TEST_CASE("collectives without the name of a group") {
    for (const ClassRules rules : both_rules) {
        const Field unnamed = {"Process Group Name", ""};
        CHECK(column_text(one(unnamed, rules), "Process Group Name") == "all");
        CHECK(column_text(one({"Process Group Name", "null"}, rules), "Process Group Name") == "all");

        TraceFixture two_streams;
        add(two_streams, 0, 20, unnamed);
        two_streams.on_stream(0, 8);
        add(two_streams, 100, 10, unnamed);
        CHECK(column_text(summary(two_streams, rules), "Process Group Name") ==
              "Unknown_Group | Unknown_Group");

        TraceFixture one_is_named;
        add(one_is_named, 0, 20, unnamed);
        add(one_is_named, 100, 10);
        CHECK(column_text(summary(one_is_named, rules), "Process Group Name") == "Unknown_Group | 0");
    }
}

TEST_CASE("collectives that lack a field: left out by the reference, kept as a key otherwise") {
    for (const std::string_view key :
         {"Process Group Ranks", "Collective name", "Group size", "dtype", "In msg nelems", "Out msg nelems",
          "In split size", "Out split size"}) {
        CAPTURE(key);
        CHECK(one({key, ""}, ClassRules::reference).column_count() == 0);
        CHECK(one({key, "null"}, ClassRules::reference).column_count() == 0);
        const Table table = one({key, ""}, ClassRules::full);
        CHECK(column_text(table, key) == "-");
        CHECK(column_text(table, "operation_count") == "1");
    }
}

TEST_CASE("collectives without a recorded stream: left out by the reference") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        file.on_assumed_stream(0, 7);
        add(file, 0, 10);
        CHECK(summary(file, rules).row_count() == (rules == ClassRules::full ? 1 : 0));
    }
}

TEST_CASE("collectives that lack a field are groups of their own") {
    TraceFixture file;
    add(file, 0, 10);
    add(file, 100, 20, {"In split size", ""});
    add(file, 200, 20, {"In split size", ""});
    const Table table = summary(file);
    CHECK(column_text(table, "In split size") == "- | []");
    CHECK(column_text(table, "dur_sum") == "40.0 | 10.0");
}

TEST_CASE("collectives: no size without a count") {
    const Table no_input = one({"In msg nelems", ""}, ClassRules::full);
    CHECK(column_text(no_input, "In msg size (MB)_first") == "-");
    CHECK(column_text(no_input, "Out msg size (MB)_first") == "-");
    const Table no_output = one({"Out msg nelems", ""}, ClassRules::full);
    CHECK(column_text(no_output, "In msg size (MB)_first") == "4.0");
    CHECK(column_text(no_output, "Out msg size (MB)_first") == "-");
}

TEST_CASE("collectives of several ranks in one trace: one rank to the reference") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        for (const std::int64_t rank : {1, 0}) {
            file.on_stream(0, 7, rank);
            add(file, 100 * rank, 10);
        }
        CHECK(column_text(summary(file, rules), "rank") == (rules == ClassRules::full ? "0 | 1" : "0"));
    }
}

TEST_CASE("a trace without collectives has no table") {
    TraceFixture file;
    CHECK(summary(file).column_count() == 0);
}
