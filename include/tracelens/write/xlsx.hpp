/// Tables as an Excel workbook, one worksheet a table. (Spec 02, section 5.3.)
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <tracelens/core/error.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/write/csv.hpp>

namespace tracelens {

struct Worksheet {
    std::string_view name;
    const Table* table = nullptr;
};

enum class WorkbookStyle : std::uint8_t {
    plain,     ///< bold framed headers and nothing else, as the reference writes it
    readable,  ///< frozen header, filters, column widths and number formats, too
};

/// Names that Excel takes: at most 31 characters, none of `[]:*?/\`, no two equal but for letter case.
/// Element i stands for sheet i.
std::vector<std::string> worksheet_names(std::span<const Worksheet> sheets);

/// Writes a workbook through a temporary file and a rename. Numbers and booleans are typed cells, missing
/// values empty ones, lists their text in `form`. Text beyond 32,767 characters is cut, control characters
/// are dropped. Errors: `file_unwritable`; `unsupported` without TRACELENS_WITH_XLSX.
Result<Done> write_xlsx(const std::string& path, std::span<const Worksheet> sheets, NestedForm form,
                        WorkbookStyle style);

}  // namespace tracelens

#if !defined(TRACELENS_COMPILED)
#include <tracelens/write/xlsx-inl.hpp>
#endif
