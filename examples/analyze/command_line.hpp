// What the user asked for.
#pragma once

#include <string>

#include <tracelens/model/trace.hpp>

namespace driver {

/// Exit codes of every command (spec 11, section 3).
enum ExitCode : int {
    exit_ok = 0,        ///< the asked result was produced, whatever the trace's quality
    exit_internal = 1,  ///< a fault of the program or of the machine
    exit_usage = 2,     ///< wrong usage
    exit_no_trace = 3,  ///< nothing to analyse
};

enum class Compat { none, reference };

struct CommonOptions {
    std::string trace_path;
    Compat compat = Compat::none;
    tracelens::Timestamps timestamps = tracelens::Timestamps::exact;
    unsigned jobs = 0;
    bool quiet = false;
};

struct InfoOptions {
    CommonOptions common;
    bool json = false;
};

struct AnalyzeOptions {
    CommonOptions common;
    std::string output = "tracelens_report";
    bool include_unlinked = false;
    double micro_idle_us = -1;  ///< negative: no threshold
};

/// Parses the arguments and runs the command they name. Returns the exit code.
int run_command_line(int argc, char** argv);

}  // namespace driver
