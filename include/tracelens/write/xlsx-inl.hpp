/// Bodies of write/xlsx.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include <tracelens/core/ascii.hpp>
#include <tracelens/core/inline.hpp>
#include <tracelens/core/text.hpp>
#include <tracelens/write/xlsx.hpp>

#if TRACELENS_WITH_XLSX
#include <xlsxwriter.h>
#endif

namespace tracelens {

TRACELENS_INLINE std::vector<std::string> worksheet_names(std::span<const Worksheet> sheets) {
    constexpr std::size_t longest = 31;
    constexpr std::string_view forbidden = "[]:*?/\\";
    const auto lower = [](std::string text) {
        for (char& c : text) c = detail::to_lower(c);
        return text;
    };
    std::vector<std::string> names;
    std::set<std::string> taken;
    for (const Worksheet& sheet : sheets) {
        std::string base(sheet.name.empty() ? std::string_view("sheet") : sheet.name);
        for (char& c : base) {
            if (forbidden.find(c) != std::string_view::npos) c = '_';
        }
        std::string name = shortened(base, longest, "");
        for (int number = 2; !taken.insert(lower(name)).second; ++number) {
            const std::string ending = "~" + std::to_string(number);
            name = shortened(base, longest - ending.size(), "") + ending;
        }
        names.push_back(std::move(name));
    }
    return names;
}

#if TRACELENS_WITH_XLSX

namespace detail {

/// Text as a cell takes it: cut, and without control characters.
inline std::string cell_text(std::string_view text) {
    constexpr std::size_t longest = 32767;
    std::string out;
    for (const char c : shortened(text, longest, "")) {
        const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
        if (!control) out += c;
    }
    return out;
}

class WorkbookWriter {
  public:
    WorkbookWriter(lxw_workbook* workbook, NestedForm form, WorkbookStyle style)
        : workbook_(workbook), form_(form), style_(style), header_(workbook_add_format(workbook)) {
        format_set_bold(header_);
        format_set_align(header_, LXW_ALIGN_CENTER);
        format_set_align(header_, LXW_ALIGN_VERTICAL_TOP);
        format_set_border(header_, LXW_BORDER_THIN);
        if (style_ == WorkbookStyle::plain) return;
        whole_ = workbook_add_format(workbook);
        format_set_num_format(whole_, "#,##0");
        real_ = workbook_add_format(workbook);
        format_set_num_format(real_, "#,##0.000");
        percent_ = workbook_add_format(workbook);
        format_set_num_format(percent_, "0.00");
    }

    /// False when the sheet cannot be added or is too large for one.
    bool add(const std::string& name, const Table& table) {
        constexpr std::size_t most_rows = 1'048'575;
        constexpr std::size_t most_columns = 16'384;
        lxw_worksheet* const sheet = workbook_add_worksheet(workbook_, name.c_str());
        if (sheet == nullptr || table.row_count() > most_rows || table.column_count() > most_columns)
            return false;
        for (std::size_t i = 0; i < table.column_count(); ++i) {
            worksheet_write_string(sheet, 0, static_cast<lxw_col_t>(i), table.column(i).name.c_str(),
                                   header_);
            if (style_ == WorkbookStyle::readable) set_width(sheet, table, i);
        }
        for (std::size_t row = 0; row < table.row_count(); ++row) {
            for (std::size_t i = 0; i < table.column_count(); ++i) write_cell(sheet, table, i, row);
        }
        if (style_ == WorkbookStyle::plain || table.column_count() == 0) return true;
        worksheet_freeze_panes(sheet, 1, 1);
        worksheet_autofilter(sheet, 0, 0, static_cast<lxw_row_t>(table.row_count()),
                             static_cast<lxw_col_t>(table.column_count() - 1));
        return true;
    }

  private:
    lxw_format* format_of(const Table::Column& column) const {
        if (column.type == ColumnType::integer) return whole_;
        if (column.type != ColumnType::real) return nullptr;
        const bool percent = column.name.find('%') != std::string::npos ||
                             column.name.find("Pct") != std::string::npos ||
                             column.name.find("percent") != std::string::npos;
        return percent ? percent_ : real_;
    }

    void set_width(lxw_worksheet* sheet, const Table& table, std::size_t index) const {
        constexpr std::size_t looked_at = 100;
        constexpr double narrowest = 8;
        constexpr double widest = 60;
        std::size_t longest = table.column(index).name.size();
        for (std::size_t row = 0; row < std::min(table.row_count(), looked_at); ++row) {
            std::string text;
            append_csv_cell(text, table.cell(index, row), ColumnType::text, form_);
            constexpr std::size_t digits_shown = 12;  // of a number in its format
            const bool number = !is_text_like(table.column(index).type);
            longest = std::max(longest, number ? std::min(text.size(), digits_shown) : text.size());
        }
        const double width = std::clamp(static_cast<double>(longest) + 2, narrowest, widest);
        const auto column = static_cast<lxw_col_t>(index);
        worksheet_set_column(sheet, column, column, width, nullptr);
    }

    void write_cell(lxw_worksheet* sheet, const Table& table, std::size_t index, std::size_t row) const {
        const auto line = static_cast<lxw_row_t>(row + 1);
        const auto column = static_cast<lxw_col_t>(index);
        const Cell cell = table.cell(index, row);
        if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
            worksheet_write_number(sheet, line, column, static_cast<double>(*whole),
                                   format_of(table.column(index)));
        } else if (const auto* real = std::get_if<double>(&cell); real != nullptr && std::isfinite(*real)) {
            worksheet_write_number(sheet, line, column, *real, format_of(table.column(index)));
        } else if (real != nullptr) {
            if (std::isinf(*real))
                worksheet_write_string(sheet, line, column, *real < 0 ? "-inf" : "inf", nullptr);
        } else if (const auto* flag = std::get_if<bool>(&cell)) {
            worksheet_write_boolean(sheet, line, column, *flag ? 1 : 0, nullptr);
        } else if (std::holds_alternative<std::string_view>(cell)) {
            std::string text;
            append_nested_text(text, std::get<std::string_view>(cell), table.column(index).type, form_);
            worksheet_write_string(sheet, line, column, cell_text(text).c_str(), nullptr);
        }
    }

    lxw_workbook* workbook_;
    NestedForm form_;
    WorkbookStyle style_;
    lxw_format* header_;
    lxw_format* whole_ = nullptr;
    lxw_format* real_ = nullptr;
    lxw_format* percent_ = nullptr;
};

}  // namespace detail

TRACELENS_INLINE Result<Done> write_xlsx(const std::string& path, std::span<const Worksheet> sheets,
                                         NestedForm form, WorkbookStyle style) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path target(path);
    if (target.has_parent_path()) fs::create_directories(target.parent_path(), error);
    const std::string temporary = path + ".tmp" + std::to_string(::getpid());
    const auto fail = [&](const std::string& reason) -> Result<Done> {
        fs::remove(temporary, error);
        return Failure{ErrorCode::file_unwritable, path, reason, "choose another file", {}, {}};
    };
    lxw_workbook* const workbook = workbook_new(temporary.c_str());
    if (workbook == nullptr) return fail("cannot create it");
    detail::WorkbookWriter writer(workbook, form, style);
    const std::vector<std::string> names = worksheet_names(sheets);
    std::string too_large;
    for (std::size_t i = 0; i < sheets.size(); ++i) {
        if (!writer.add(names[i], *sheets[i].table)) too_large = names[i];
    }
    const lxw_error written = workbook_close(workbook);
    if (!too_large.empty()) return fail("the table " + too_large + " does not fit a worksheet");
    if (written != LXW_NO_ERROR) return fail(std::string("cannot write it: ") + lxw_strerror(written));
    fs::rename(temporary, target, error);
    if (error) return fail("cannot rename the finished file to it: " + error.message());
    return Done{};
}

#else

TRACELENS_INLINE Result<Done> write_xlsx(const std::string& path, std::span<const Worksheet>, NestedForm,
                                         WorkbookStyle) {
    return Failure{ErrorCode::unsupported,
                   path,
                   "this build cannot write Excel workbooks",
                   "build with TRACELENS_WITH_XLSX, or write CSV or JSON",
                   {},
                   {}};
}

#endif

}  // namespace tracelens
