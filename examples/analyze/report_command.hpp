// `tracelens report`: the reference's tables as CSV or JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "command_line.hpp"

namespace driver {

struct ReportOptions {
    CommonOptions common;
    std::string csv_folder;      ///< empty: no CSV files
    std::string json_file;       ///< empty: no JSON file
    std::string xlsx_file;       ///< empty: no workbook
    std::string platform;        ///< name or file; empty: what the trace names, as far as it is known
    std::string extension_file;  ///< cost models of the user's own; empty: none
    bool include_unlinked = false;
    std::optional<double> micro_idle_us;
    bool kernel_summary = false;
    bool short_kernels = false;
    double short_threshold_us = 10;
    std::size_t short_bins = 100;
    std::optional<std::size_t> short_top_k;
    std::optional<std::size_t> ops_top_k;
    bool group_by_num_kernels = false;
    bool overlap = false;
    bool recompute = false;
    bool first_occurrence = false;
    bool call_stacks = false;
    bool no_collectives = false;
    std::optional<std::size_t> roofline_top_k;
};

/// Writes one CSV file a table, all tables as one JSON file, as one workbook, or several of these. Returns
/// the exit code.
int run_report(const ReportOptions& options);

}  // namespace driver
