/// Per-category sheets, for tests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/analyze/category_sheets.hpp>

#include "unit/analyze/perf_support.hpp"

namespace tracelens::fixture {

using Sheets = std::vector<CategorySheet>;

inline Sheets sheets_of(TraceFixture file, PerfTraceOptions options = {}) {
    PerfTrace trace(std::move(file), std::move(options));
    return category_sheets(trace.inputs());
}

inline Sheets sheets_of(TraceFixture file, ClassRules rules) {
    return sheets_of(std::move(file), PerfTraceOptions{.rules = rules});
}

inline Sheets sheets_on(TraceFixture file, ClassRules rules, const Platform& platform) {
    PerfTrace trace(std::move(file), rules);
    PerfInputs inputs = trace.inputs();
    inputs.platform = &platform;
    return category_sheets(inputs);
}

inline std::string sheet_names(const Sheets& sheets) {
    std::string text;
    for (const CategorySheet& sheet : sheets) text += (text.empty() ? "" : " | ") + sheet.name;
    return text;
}

inline const Table& sheet_named(const Sheets& sheets, std::string_view name) {
    for (const CategorySheet& sheet : sheets) {
        if (sheet.name == name) return sheet.table;
    }
    FAIL("no sheet ", name, " among ", sheet_names(sheets));
    return sheets.front().table;
}

inline Table sheet_named(Sheets&& sheets, std::string_view name) {
    for (CategorySheet& sheet : sheets) {
        if (sheet.name == name) return std::move(sheet.table);
    }
    FAIL("no sheet ", name, " among ", sheet_names(sheets));
    return {};
}

/// `op time` of each row of a sheet; empty when there is no such sheet.
inline std::string sheet_rows(const Sheets& sheets, std::string_view name) {
    std::string text;
    for (const CategorySheet& sheet : sheets) {
        if (sheet.name != name) continue;
        for (std::size_t row = 0; row < sheet.table.row_count(); ++row) {
            text += (row == 0 ? "" : " | ") + cell_text(sheet.table, "name", row) + " " +
                    cell_text(sheet.table, "Kernel Time (\xc2\xb5s)_sum", row);
        }
    }
    return text;
}

inline TraceFixture& add_mm(TraceFixture& file, std::int64_t start, std::int64_t length,
                            std::string_view kernel = "gemm_k") {
    return add_op(mm_shapes(file), "aten::mm", start, length, kernel);
}

}  // namespace tracelens::fixture
