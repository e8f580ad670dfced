// CSV, JSON and Markdown output.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/write/csv.hpp>
#include <tracelens/write/json.hpp>
#include <tracelens/write/markdown.hpp>

using namespace tracelens;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::string csv_of(double value) {
    Table table;
    table.add_column("a", ColumnType::real);
    table.add_column("b", ColumnType::boolean);
    table.append_row({value, true});
    const std::string text = to_csv(table);
    REQUIRE(text.substr(0, 4) == "a,b\n");
    REQUIRE(text.substr(text.size() - 6) == ",True\n");
    return text.substr(4, text.size() - 10);
}

std::string csv_field(std::string_view text) {
    std::string out;
    append_csv_field(out, text);
    return out;
}

}  // namespace

TEST_CASE("CSV: header, rows and types (spec 02, section 5.1)") {
    Table table;
    table.add_column("name", ColumnType::text);
    table.add_column("Count", ColumnType::integer);
    table.add_column("time \u00b5s", ColumnType::real);
    table.add_column("is_recompute", ColumnType::boolean);
    table.append_row({std::string_view("aten::mm"), std::int64_t{-3}, 0.25, false});
    table.append_row({});
    table.append_row({std::string_view(""), std::numeric_limits<std::int64_t>::min(), 100.0, true});
    CHECK(to_csv(table) ==
          "name,Count,time "
          "\xc2\xb5s,is_recompute\naten::mm,-3,0.25,False\n,,,\n,-9223372036854775808,100.0,True\n");
}

TEST_CASE("CSV: numbers") {
    CHECK(csv_of(0.0) == "0.0");
    CHECK(csv_of(100.0) == "100.0");
    CHECK(csv_of(-2.5) == "-2.5");
    CHECK(csv_of(0.1 + 0.2) == "0.30000000000000004");
    CHECK(csv_of(1e-7) == "1e-07");
    CHECK(csv_of(0.0001) == "0.0001");
    CHECK(csv_of(0.00001234) == "1.234e-05");
    CHECK(csv_of(1e15) == "1000000000000000.0");
    CHECK(csv_of(1e16) == "1e+16");
    CHECK(csv_of(1e22) == "1e+22");
    CHECK(csv_of(not_a_number) == "");
    CHECK(csv_of(infinity) == "inf");
    CHECK(csv_of(-infinity) == "-inf");
}

TEST_CASE("CSV: a field is quoted only when it contains a comma, a quote or a line end") {
    CHECK(csv_field("plain text; with 'quotes' | and\ttabs") == "plain text; with 'quotes' | and\ttabs");
    CHECK(csv_field("a,b") == "\"a,b\"");
    CHECK(csv_field("say \"x\"") == "\"say \"\"x\"\"\"");
    CHECK(csv_field("two\nlines") == "\"two\nlines\"");
    CHECK(csv_field("two\rlines") == "\"two\rlines\"");
    CHECK(csv_field("") == "");
    Table table;
    table.add_column("a,b", ColumnType::text);
    table.append_row({std::string_view("x\ny")});
    CHECK(to_csv(table) == "\"a,b\"\n\"x\ny\"\n");
}

TEST_CASE("CSV: empty tables and empty rows") {
    CHECK(to_csv(Table{}) == "\n");
    Table table;
    table.add_column("only", ColumnType::text);
    CHECK(to_csv(table) == "only\n");
    table.append_row({});
    table.append_row({std::string_view("")});
    table.append_row({std::string_view("x")});
    CHECK(to_csv(table) == "only\n\"\"\n\"\"\nx\n");
}

TEST_CASE("CSV: nested cells as JSON and as Python literals (spec 02, section 5.2)") {
    Table table;
    table.add_column("list", ColumnType::nested);
    table.add_column("tuple", ColumnType::nested_tuple);
    const std::string_view dims = "[[768],[788,768],[]]";
    table.append_row({dims, dims});
    table.append_row({std::string_view("[\"c10::BFloat16\",null,true,0.5]"), std::string_view("[1]")});
    table.append_row({std::string_view("\"a, b\""), std::string_view("[]")});
    table.append_row({});
    CHECK(to_csv(table) ==
          "list,tuple\n\"[[768],[788,768],[]]\",\"[[768],[788,768],[]]\"\n"
          "\"[\"\"c10::BFloat16\"\",null,true,0.5]\",[1]\n\"\"\"a, b\"\"\",[]\n,\n");
    CHECK(to_csv(table, NestedForm::python) ==
          "list,tuple\n\"[[768], [788, 768], []]\",\"((768,), (788, 768), ())\"\n"
          "\"['c10::BFloat16', None, True, 0.5]\",\"(1,)\"\n\"a, b\",()\n,\n");
}

TEST_CASE("JSON: nesting, order and indentation") {
    JsonWriter json;
    json.begin_object();
    json.key("z").integer(1);
    json.key("a").begin_array().string("x").number(0.5).boolean(true).boolean(false).null().end_array();
    json.key("empty object").begin_object().end_object();
    json.key("empty array").begin_array().end_array();
    json.key("deep")
        .begin_object()
        .key("list")
        .begin_array()
        .begin_object()
        .key("k")
        .integer(-2)
        .end_object();
    json.begin_array().integer(3).end_array().end_array().end_object();
    json.end_object();
    CHECK(json.take() == R"({
  "z": 1,
  "a": [
    "x",
    0.5,
    true,
    false,
    null
  ],
  "empty object": {},
  "empty array": [],
  "deep": {
    "list": [
      {
        "k": -2
      },
      [
        3
      ]
    ]
  }
}
)");
}

TEST_CASE("JSON: single values") {
    CHECK(JsonWriter().begin_array().end_array().take() == "[]\n");
    CHECK(JsonWriter().begin_object().end_object().take() == "{}\n");
    CHECK(JsonWriter().string("x").take() == "\"x\"\n");
    CHECK(JsonWriter().null().take() == "null\n");
}

TEST_CASE("JSON: numbers read back, what is not finite is null") {
    CHECK(JsonWriter().number(0.1).take() == "0.1\n");
    CHECK(JsonWriter().number(1e300).take() == "1e+300\n");
    CHECK(JsonWriter().number(-0.0).take() == "-0.0\n");
    CHECK(JsonWriter().number(3).take() == "3.0\n");
    CHECK(JsonWriter().integer(std::numeric_limits<std::int64_t>::min()).take() == "-9223372036854775808\n");
    for (const double value : {not_a_number, infinity, -infinity}) {
        CHECK(JsonWriter().begin_object().key("v").number(value).end_object().take() ==
              "{\n  \"v\": null\n}\n");
    }
}

TEST_CASE("JSON: strings and keys are escaped, invalid UTF-8 is replaced") {
    CHECK(JsonWriter().string("quote \" backslash \\ \n\t\r \x01").take() ==
          "\"quote \\\" backslash \\\\ \\n\\t\\r \\u0001\"\n");
    CHECK(JsonWriter().string("\u00b5s \u4e2d \U0001f600").take() == "\"\u00b5s \u4e2d \U0001f600\"\n");
    CHECK(JsonWriter().string("cut \xe4\xb8").take() == "\"cut \xef\xbf\xbd\xef\xbf\xbd\"\n");
    CHECK(JsonWriter().begin_object().key("a\"b").integer(1).end_object().take() ==
          "{\n  \"a\\\"b\": 1\n}\n");
}

TEST_CASE("JSON: diagnostics have the keys of spec 11, section 7") {
    Diagnostics diagnostics;
    Diagnostic first;
    first.area = "profiling";
    first.code = "TRACE_SIZE";
    first.verdict = Verdict::degraded;
    first.count = 2;
    first.first = "12 complete events";
    first.remedy = "record more";
    first.value = 12.0;
    first.unit = "events";
    first.limit = 100.0;
    diagnostics.add(first);
    Diagnostic second;
    second.code = "NO_CALL_STACK";
    second.first = "no \"Python\" frames";
    diagnostics.add(second);
    JsonWriter json;
    write_diagnostics(json, diagnostics);
    CHECK(json.take() == R"([
  {
    "code": "TRACE_SIZE",
    "area": "profiling",
    "verdict": "degraded",
    "count": 2,
    "first": "12 complete events",
    "remedy": "record more",
    "value": 12.0,
    "unit": "events",
    "limit": 100.0
  },
  {
    "code": "NO_CALL_STACK",
    "area": "trace_quality",
    "verdict": "note",
    "count": 1,
    "first": "no \"Python\" frames",
    "remedy": "",
    "value": null,
    "unit": "",
    "limit": null
  }
]
)");
    JsonWriter empty;
    write_diagnostics(empty, Diagnostics{});
    CHECK(empty.take() == "[]\n");
}

TEST_CASE("Markdown: cells stay cells") {
    CHECK(markdown_cell("plain") == "plain");
    CHECK(markdown_cell("") == "");
    CHECK(markdown_cell("a|b") == "a\\|b");
    CHECK(markdown_cell("two\nlines\r\tend") == "two lines  end");
    CHECK(markdown_cell("vector<float> <script>") == "vector&lt;float> &lt;script>");
    CHECK(markdown_cell("\u00b5 \u4e2d") == "\u00b5 \u4e2d");
}

TEST_CASE("Markdown: a backslash before a pipe does not free the pipe") {
    // A pipe behind an even number of backslashes ends the cell (GitHub's table rules).
    for (const std::string_view text : {"a\\|b", "\\\\|", "|", "a||b", "x\\"}) {
        CAPTURE(text);
        std::size_t backslashes = 0;
        std::size_t ends = 0;
        for (const char c : markdown_cell(text)) {
            if (c == '|' && backslashes % 2 == 0) ++ends;
            backslashes = c == '\\' ? backslashes + 1 : 0;
        }
        CHECK(ends == 0);
    }
}

TEST_CASE("Markdown: tables") {
    const std::vector<std::string_view> header = {"Name", "Count"};
    const bool numeric[] = {false, true};
    MarkdownTable table(header, numeric);
    table.row({"gemm", "3"});
    table.row({"short"});
    table.row(std::vector<std::string>{"a", "b", "too many"});
    CHECK(table.text() == "| Name | Count |\n|---|---:|\n| gemm | 3 |\n| short |  |\n| a | b |\n");
    CHECK(MarkdownTable(header).text() == "| Name | Count |\n|---|---|\n");
}
