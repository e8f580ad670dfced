// Workbooks (spec 02, section 5.3): names of sheets, cells, files that open, failures.

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/write/xlsx.hpp>

#include "support.hpp"

using namespace tracelens;
using support::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

std::string names(std::initializer_list<std::string_view> wanted) {
    std::vector<Worksheet> sheets;
    for (const std::string_view name : wanted) sheets.push_back({name, nullptr});
    std::string text;
    for (const std::string& name : worksheet_names(sheets)) text += (text.empty() ? "" : "|") + name;
    return text;
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

std::size_t files_in(const fs::path& folder) {
    std::size_t count = 0;
    for ([[maybe_unused]] const fs::directory_entry& entry : fs::directory_iterator(folder)) ++count;
    return count;
}

/// Columns `n` (integer), `x` (real), `t` (text), `b` (boolean), `l` (tuple).
Table typed(std::initializer_list<std::array<Cell, 5>> rows) {
    Table table;
    table.add_column("n", ColumnType::integer);
    table.add_column("x %", ColumnType::real);
    table.add_column("t", ColumnType::text);
    table.add_column("b", ColumnType::boolean);
    table.add_column("l", ColumnType::nested_tuple);
    for (const std::array<Cell, 5>& row : rows) table.append_row(row);
    return table;
}

Table text_column(std::string_view text) {
    Table table;
    table.add_column("t", ColumnType::text);
    table.append_row({Cell{text}});
    return table;
}

/// What Python's zipfile finds in a workbook: every part is tested for damage, then one is printed.
std::string part_of(const fs::path& path, const std::string& part) {
    const std::string script =
        "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; "
        "sys.stdout.buffer.write(z.read(sys.argv[2]))";
    const support::CommandResult result =
        support::run("python3 -c " + support::quoted(script) + " " + support::quoted(path.string()) + " " +
                     support::quoted(part));
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
    return result.out;
}

bool have_python() {
    if (support::run("python3 -c 'import zipfile'").exit_code == 0) return true;
    MESSAGE("skipped: no python3");
    return false;
}

/// A workbook of one table, and its parts.
struct Written {
    TemporaryFolder folder;
    fs::path path = folder.path() / "book.xlsx";

    Written(const Table& table, WorkbookStyle style, NestedForm form = NestedForm::python) {
        const std::array sheets = {Worksheet{"one", &table}};
        CHECK(write_xlsx(path.string(), sheets, form, style).ok());
    }
    std::string sheet() const { return part_of(path, "xl/worksheets/sheet1.xml"); }
    std::string strings() const { return part_of(path, "xl/sharedStrings.xml"); }
    std::string styles() const { return part_of(path, "xl/styles.xml"); }
};

}  // namespace

TEST_CASE("worksheet names: as they are, when Excel takes them") {
    CHECK(names({}) == "");
    CHECK(names({"gpu_timeline", "GEMM"}) == "gpu_timeline|GEMM");
}

TEST_CASE("worksheet names: at most 31 characters, not bytes") {
    const std::string exact(31, 'x');
    CHECK(names({exact}) == exact);
    CHECK(names({exact + "y"}) == exact);
    std::string accents;
    for (int i = 0; i < 40; ++i) accents += "\xc3\xa9";
    CHECK(names({accents}) == accents.substr(0, 62));
}

TEST_CASE("worksheet names: no forbidden characters, no empty name") {
    CHECK(names({"[a]:*?/\\b"}) == "_a______b");
    CHECK(names({""}) == "sheet");
}

TEST_CASE("worksheet names: no two equal but for letter case") {
    CHECK(names({"a", "A", "a", "b"}) == "a|A~2|a~3|b");
    CHECK(names({"a~2", "a", "a"}) == "a~2|a|a~3");
    CHECK(names({"x/y", "x?y"}) == "x_y|x_y~2");
}

TEST_CASE("worksheet names: cut ones stay within 31 characters and differ") {
    const std::string base(31, 'x');
    std::vector<std::string> many(12, base + "tail");
    std::vector<Worksheet> sheets;
    for (const std::string& name : many) sheets.push_back({name, nullptr});
    const std::vector<std::string> cut = worksheet_names(sheets);
    CHECK(cut[0] == base);
    CHECK(cut[1] == base.substr(0, 29) + "~2");
    CHECK(cut[11] == base.substr(0, 28) + "~12");
}

#if TRACELENS_WITH_XLSX

TEST_CASE("cells have their types; missing ones are not there") {
    if (!have_python()) return;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const Table table =
        typed({{std::int64_t{-7}, 1.5, std::string_view("word"), true, std::string_view(R"([1,["a"]])")},
               {Cell{}, none, Cell{}, false, Cell{}}});
    for (const WorkbookStyle style : {WorkbookStyle::plain, WorkbookStyle::readable}) {
        const Written book(table, style);
        const std::string sheet = book.sheet();
        CHECK(contains(sheet, "<v>-7</v>"));
        CHECK(contains(sheet, "<v>1.5</v>"));
        CHECK(contains(sheet, "<c r=\"D2\" t=\"b\"><v>1</v></c>"));
        CHECK(contains(sheet, "<c r=\"D3\" t=\"b\"><v>0</v></c>"));
        for (const std::string_view missing : {"r=\"A3\"", "r=\"B3\"", "r=\"C3\"", "r=\"E3\""})
            CHECK_FALSE(contains(sheet, missing));
        CHECK(contains(book.strings(), "<t>word</t>"));
        CHECK(contains(book.strings(), "<t>(1, ('a',))</t>"));
    }
}

TEST_CASE("lists as JSON") {
    if (!have_python()) return;
    const Table table = typed({{Cell{}, Cell{}, Cell{}, Cell{}, std::string_view("[1,[2]]")}});
    CHECK(contains(Written(table, WorkbookStyle::plain, NestedForm::json).strings(), "<t>[1,[2]]</t>"));
}

TEST_CASE("infinities are text") {
    if (!have_python()) return;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const Table table =
        typed({{Cell{}, infinity, Cell{}, Cell{}, Cell{}}, {Cell{}, -infinity, Cell{}, Cell{}, Cell{}}});
    const Written book(table, WorkbookStyle::plain);
    CHECK(contains(book.strings(), "<t>inf</t>"));
    CHECK(contains(book.strings(), "<t>-inf</t>"));
    CHECK(contains(book.sheet(), "<c r=\"B2\" t=\"s\">"));
}

TEST_CASE("the header row: bold, centred, on top, framed") {
    if (!have_python()) return;
    const Written book(typed({}), WorkbookStyle::plain);
    CHECK(contains(book.sheet(), "<c r=\"A1\" s=\"1\" t=\"s\">"));
    CHECK(contains(book.strings(), "<t>x %</t>"));
    const std::string styles = book.styles();
    CHECK(contains(styles, "<b/>"));
    CHECK(contains(styles, "horizontal=\"center\" vertical=\"top\""));
    for (const std::string_view side : {"left", "right", "top", "bottom"})
        CHECK(contains(styles, "<" + std::string(side) + " style=\"thin\">"));
}

TEST_CASE("the plain style has no widths, panes, filters and number formats; the readable one has") {
    if (!have_python()) return;
    const Table table = typed({{std::int64_t{1}, 2.0, std::string_view("t"), true, Cell{}}});
    const Written plain(table, WorkbookStyle::plain);
    const Written readable(table, WorkbookStyle::readable);
    for (const std::string_view part : {"<cols>", "<pane ", "<autoFilter "}) {
        CHECK_FALSE(contains(plain.sheet(), part));
        CHECK(contains(readable.sheet(), part));
    }
    CHECK(contains(readable.sheet(), "<c r=\"B2\" s="));
    CHECK(contains(readable.sheet(), "topLeftCell=\"B2\""));
    CHECK(contains(plain.sheet(), "<c r=\"A2\"><v>1</v></c>"));
}

TEST_CASE("the readable style: thousands and decimals, shares apart from other numbers") {
    if (!have_python()) return;
    Table table;
    for (const char* const name : {"ms", "Pct Roofline", "Percentage (%)"})
        table.add_column(name, ColumnType::real);
    table.append_row({1.0, 2.0, 3.0});
    const Written plain(table, WorkbookStyle::plain);
    const Written readable(table, WorkbookStyle::readable);
    CHECK(contains(readable.styles(), "formatCode=\"#,##0.000\""));
    CHECK_FALSE(contains(plain.styles(), "formatCode"));
    const auto style_of = [sheet = readable.sheet()](const std::string& cell) {
        const std::size_t at = sheet.find("<c r=\"" + cell + "\" s=\"");
        REQUIRE(at != std::string::npos);
        return sheet.substr(sheet.find(" s=", at), 6);
    };
    CHECK(style_of("A2") != style_of("B2"));
    CHECK(style_of("B2") == style_of("C2"));
}

TEST_CASE("text is cut at 32,767 characters") {
    if (!have_python()) return;
    const std::string longest(32767, 'x');
    const std::string strings = Written(text_column(longest + "yz"), WorkbookStyle::plain).strings();
    CHECK(contains(strings, "<t>" + longest + "</t>"));
    CHECK_FALSE(contains(strings, "xy"));
    CHECK(contains(Written(text_column(longest), WorkbookStyle::plain).strings(), longest));
}

TEST_CASE("cut text ends with a whole character") {
    if (!have_python()) return;
    std::string text(32766, 'x');
    text += "\xc3\xa9\xc3\xa9";
    const std::string strings = Written(text_column(text), WorkbookStyle::plain).strings();
    CHECK(contains(strings, "x\xc3\xa9</t>"));
}

TEST_CASE("control characters are dropped, tabs and line ends stay; markup is text") {
    if (!have_python()) return;
    const std::string strings = Written(text_column(std::string_view("a\0b\x01"
                                                                     "c\td\ne<&>",
                                                                     12)),
                                        WorkbookStyle::plain)
                                    .strings();
    CHECK(contains(strings, ">abc\td\ne&lt;&amp;&gt;</t>"));
}

TEST_CASE("tables without rows or columns are sheets, too; sheets come in order") {
    if (!have_python()) return;
    const Table empty;
    const Table no_rows = typed({});
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "book.xlsx";
    const std::array sheets = {Worksheet{"b", &no_rows}, Worksheet{"a/c", &empty}};
    for (const WorkbookStyle style : {WorkbookStyle::plain, WorkbookStyle::readable}) {
        REQUIRE(write_xlsx(path.string(), sheets, NestedForm::python, style).ok());
        const std::string book = part_of(path, "xl/workbook.xml");
        CHECK(contains(book, "<sheet name=\"b\" sheetId=\"1\""));
        CHECK(contains(book, "<sheet name=\"a_c\" sheetId=\"2\""));
        CHECK(contains(part_of(path, "xl/worksheets/sheet2.xml"), "<sheetData/>"));
    }
}

TEST_CASE("folders are made, and a file of the name is replaced") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "deep" / "er" / "book.xlsx";
    const Table table = typed({});
    const std::array sheets = {Worksheet{"s", &table}};
    for (int i = 0; i < 2; ++i)
        REQUIRE(write_xlsx(path.string(), sheets, NestedForm::json, WorkbookStyle::plain).ok());
    CHECK(files_in(path.parent_path()) == 1);
    CHECK(support::read_text(path).substr(0, 2) == "PK");
}

TEST_CASE("a path that cannot be written") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "file";
    std::ofstream(file) << "text";
    const Table table = typed({});
    const std::array sheets = {Worksheet{"s", &table}};
    const std::string below = (file / "book.xlsx").string();
    const auto result = write_xlsx(below, sheets, NestedForm::json, WorkbookStyle::plain);
    REQUIRE_FALSE(result.ok());
    CHECK(result.failure().code == ErrorCode::file_unwritable);
    CHECK(result.failure().subject == below);
    CHECK(support::read_text(file) == "text");
}

TEST_CASE("a folder of the final name stays, and no other file is left") {
    const TemporaryFolder folder;
    fs::create_directories(folder.path() / "book.xlsx" / "inside");
    const Table table = typed({});
    const std::array sheets = {Worksheet{"s", &table}};
    const auto result =
        write_xlsx((folder.path() / "book.xlsx").string(), sheets, NestedForm::json, WorkbookStyle::plain);
    REQUIRE_FALSE(result.ok());
    CHECK(result.failure().code == ErrorCode::file_unwritable);
    CHECK(files_in(folder.path()) == 1);
    CHECK(fs::exists(folder.path() / "book.xlsx" / "inside"));
}

TEST_CASE("a table that fits no worksheet: the file of before stays, and no half-written one") {
    Table wide;
    for (int i = 0; i < 16385; ++i) wide.add_column("c", ColumnType::integer);
    const Table narrow = typed({});
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "book.xlsx";
    std::ofstream(path) << "old";
    const std::array sheets = {Worksheet{"ok", &narrow}, Worksheet{"wide", &wide}};
    const auto result = write_xlsx(path.string(), sheets, NestedForm::json, WorkbookStyle::plain);
    REQUIRE_FALSE(result.ok());
    CHECK(result.failure().code == ErrorCode::file_unwritable);
    CHECK(contains(result.failure().reason, "wide"));
    CHECK(support::read_text(path) == "old");
    CHECK(files_in(folder.path()) == 1);
}

#endif
