/// `unified_perf_summary`: all GPU work of a trace in units that do not overlap, with cost and speed.
/// (Spec 02, section 12.)
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <tracelens/analyze/launchers.hpp>
#include <tracelens/analyze/op_costs.hpp>
#include <tracelens/analyze/op_metrics.hpp>
#include <tracelens/analyze/overlap_columns.hpp>
#include <tracelens/analyze/work_units.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/backward_links.hpp>
#include <tracelens/model/call_tree.hpp>
#include <tracelens/model/links.hpp>
#include <tracelens/perf/platform.hpp>

namespace tracelens {

/// What the performance tables are made from. Everything must outlive the call.
struct PerfInputs {
    const CallTree& tree;
    const Links& links;
    const BackwardLinks& backward;
    const Launchers& launchers;
    OpCosts& costs;
    const Platform* platform = nullptr;            ///< null: no rooflines
    const std::vector<bool>* recompute = nullptr;  ///< by node; adds the column and key `is_recompute`
    const std::vector<bool>* excluded =
        nullptr;  ///< by event: GPU events whose time does not count; may be null
    ClassRules rules = ClassRules::full;
    /// Adds what runs beside the kernels as a key and columns; null: not.
    const Overlaps* overlaps = nullptr;
    bool python_frames = false;  ///< the tree holds Python frames
    bool call_stacks = false;  ///< adds `entry_point` and `call_stack_full`; needs Python frames in the tree
};

/// One row a unit of work, in the order of `units`: what the reference calls the unified perf table.
Table unified_perf_table(const PerfInputs& inputs, std::span<const WorkUnit> units);

/// One row for all units of one op, place and arguments, by time; with `overlaps` the table is
/// `unified_perf_summary_kl_overlap`. O(n log n).
Table unified_perf_summary(const PerfInputs& inputs, std::span<const WorkUnit> units);

}  // namespace tracelens

#include <tracelens/analyze/unified_perf-inl.hpp>
