/// Traces of ops with one kernel each, and their tables.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <tracelens/analyze/op_tables.hpp>

#include "unit/analyze/overlap_support.hpp"
#include "unit/analyze/table_support.hpp"

namespace tracelens::fixture {

/// An op that starts at `start` and launches one kernel of `length`; in microseconds. Ops need 1 us of
/// distance.
inline TraceFixture& add_op(TraceFixture& file, std::string_view name, std::int64_t start,
                            std::int64_t length, std::string_view kernel = "kernel") {
    file.op(name, us(start), us(start) + 500);
    return file.launched(kernel, us(start + 100), us(start + 100 + length));
}

/// A trace with its launchers; the tables of its ops.
struct OpTables : GrownTrace {
    Launchers launchers;

    explicit OpTables(TraceFixture& file) : GrownTrace(file), launchers(find_launchers(tree, links)) {}

    Table by_category(const OpTableOptions& options = {}) const {
        return ops_summary_by_category(tree, launchers, options);
    }
    Table summary(const OpTableOptions& options = {}) const { return ops_summary(tree, launchers, options); }
    Table unique_args(const OpTableOptions& options = {}) const {
        return ops_unique_args(tree, launchers, options);
    }
    Table unique_args_overlap(const OpTableOptions& options = {}) const {
        const Overlaps overlaps = overlaps_of(*this, overlap_by(options.rules));
        return ops_unique_args_overlap(tree, launchers, overlaps, options);
    }

    /// A mark on one launcher, by node.
    std::vector<bool> marks(std::size_t row) const {
        std::vector<bool> result(tree.node_count(), false);
        result[launchers.rows[row].node] = true;
        return result;
    }
};

inline OpTableOptions table_by(ClassRules rules) {
    OpTableOptions options;
    options.rules = rules;
    return options;
}

}  // namespace tracelens::fixture
