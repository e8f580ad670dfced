/// Tables as CSV (spec 02, section 5.1): UTF-8, comma, `\n`, a header row, no rounding.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <tracelens/core/decimal.hpp>
#include <tracelens/core/table.hpp>

namespace tracelens {

/// Appends one field, quoted when it has to be.
inline void append_csv_field(std::string& out, std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
        out += text;
        return;
    }
    out += '"';
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    out += '"';
}

/// Appends a cell's value: shortest decimals, `True` and `False`, nothing for missing values and NaN.
inline void append_csv_cell(std::string& out, const Cell& cell) {
    if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
        append_integer(out, *integer);
    } else if (const auto* real = std::get_if<double>(&cell)) {
        if (*real == *real) append_double(out, *real);
    } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
        append_csv_field(out, *text);
    } else if (const auto* boolean = std::get_if<bool>(&cell)) {
        out += *boolean ? "True" : "False";
    }
}

/// The whole table. O(cells).
inline std::string to_csv(const Table& table) {
    std::string out;
    for (std::size_t column = 0; column < table.column_count(); ++column) {
        if (column != 0) out += ',';
        append_csv_field(out, table.column(column).name);
    }
    out += '\n';
    for (std::size_t row = 0; row < table.row_count(); ++row) {
        const std::size_t begin = out.size();
        for (std::size_t column = 0; column < table.column_count(); ++column) {
            if (column != 0) out += ',';
            append_csv_cell(out, table.cell(column, row));
        }
        if (out.size() == begin && table.column_count() == 1) out += "\"\"";  // else the row would be no row
        out += '\n';
    }
    return out;
}

}  // namespace tracelens
