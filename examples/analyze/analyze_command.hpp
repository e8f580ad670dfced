// `tracelens analyze`: a trace in, a folder with the report out.
#pragma once

#include "command_line.hpp"

namespace driver {

/// Writes the report folder. Returns the exit code.
int run_analyze(const AnalyzeOptions& options);

}  // namespace driver
