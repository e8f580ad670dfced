/// The per-category sheets: every use of the ops of one category, by the parameters of their cost models.
/// (Spec 02, section 11.)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tracelens/analyze/unified_perf.hpp>
#include <tracelens/core/table.hpp>

namespace tracelens {

struct CategorySheetOptions {
    bool group_by_num_kernels = false;  ///< uses with other kernel counts are other rows
};

struct CategorySheet {
    std::string name;      ///< `GEMM`, `SDPA_fwd`, `SDPA_bwd` ...
    std::string category;  ///< `GEMM`, `SDPA` ...
    Table table;
};

/// All sheets that have rows, in the order of the op tables; with `overlaps` of the inputs, what runs beside
/// an op is a further key. O(n log n).
std::vector<CategorySheet> category_sheets(const PerfInputs& inputs,
                                           const CategorySheetOptions& options = {});

}  // namespace tracelens

#include <tracelens/analyze/category_sheets-inl.hpp>
