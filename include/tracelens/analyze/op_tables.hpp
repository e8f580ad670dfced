/// The op tables: what the launching ops of a trace cost, by category, by name, and by name and arguments.
/// (Spec 02, section 8.)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <tracelens/analyze/kernel_details.hpp>
#include <tracelens/analyze/launchers.hpp>
#include <tracelens/analyze/overlap.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/call_tree.hpp>

namespace tracelens {

struct OpTableOptions {
    const std::vector<bool>* recompute = nullptr;  ///< by node; adds the column and key `is_recompute`
    bool first_occurrence = false;      ///< adds `first_occurrence_time`, in us from the earliest row
    bool group_by_num_kernels = false;  ///< launches with other kernel counts are other rows
    ClassRules rules =
        ClassRules::full;  ///< `reference`: kernel cells and order of ties as the reference has them
};

/// `ops_summary_by_category`: categories by time, with their share. O(launchers log launchers).
Table ops_summary_by_category(const CallTree& tree, const Launchers& launchers,
                              const OpTableOptions& options = {});

/// `ops_summary`: op names by time. O(launchers log launchers).
Table ops_summary(const CallTree& tree, const Launchers& launchers, const OpTableOptions& options = {});

/// `ops_unique_args_kl_overlap`: as `ops_unique_args`, with what runs beside the kernels as a further key and
/// in columns of its own.
Table ops_unique_args_overlap(const CallTree& tree, const Launchers& launchers, const Overlaps& overlaps,
                              const OpTableOptions& options = {});

/// `ops_unique_args`: op names with shapes, types, strides and concrete inputs, by time. O(n log n) in
/// launched kernels.
Table ops_unique_args(const CallTree& tree, const Launchers& launchers, const OpTableOptions& options = {});

/// Adds the columns `Percentage (%)` and `Cumulative Percentage (%)` of an existing time column, in row
/// order.
void add_percentages(Table& table, std::string_view time_column);

}  // namespace tracelens

#include <tracelens/analyze/op_tables-inl.hpp>
