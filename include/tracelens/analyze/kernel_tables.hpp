/// Tables of single kernels: by op, name and stream, and the study of short kernels. (Spec 02, sections 13
/// and 14.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tracelens/analyze/launchers.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/call_tree.hpp>
#include <tracelens/model/links.hpp>

namespace tracelens {

struct KernelTableOptions {
    ClassRules rules =
        ClassRules::full;  ///< `reference`: the op above a kernel may be `execute`, and keys may not be null
    double total_time_us = 0;    ///< base of the shares of total time
    std::vector<bool> excluded;  ///< by event: left out; may be empty
};

/// `kernel_summary`: kernels by op category, op, name and stream, by time. Kernels without an op are put down
/// to the call that launched them. Copies and fills are not in it. O(n log n).
Table kernel_summary(const CallTree& tree, const Links& links, const Launchers& launchers,
                     const KernelTableOptions& options);

/// `kernel_summary_by_category`: the same kernels by op category alone. O(n log n).
Table kernel_summary_by_category(const CallTree& tree, const Links& links, const Launchers& launchers,
                                 const KernelTableOptions& options);

struct ShortKernelOptions {
    double threshold_us = 10;          ///< kernels shorter than this
    std::size_t bins = 100;            ///< of the histogram
    std::optional<std::size_t> top_k;  ///< rows of the summary to keep
};

/// `short_kernel_histogram`: `bin_start`, `bin_end`, `count` over equal bins from the shortest to the longest
/// short kernel; no rows without a short kernel. O(n log bins).
Table short_kernel_histogram(const Trace& trace, const KernelTableOptions& options,
                             const ShortKernelOptions& wanted);

/// `short_kernels_summary`: short kernels by op, shapes and name, by time. O(n log n).
Table short_kernels_summary(const CallTree& tree, const Links& links, const KernelTableOptions& options,
                            const ShortKernelOptions& wanted);

}  // namespace tracelens

#include <tracelens/analyze/kernel_tables-inl.hpp>
