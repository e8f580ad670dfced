// `tracelens info`: what is in a trace, and its quality.
#pragma once

#include "command_line.hpp"

namespace driver {

/// Prints the overview on stdout and diagnostics on stderr. Returns the exit code.
int run_info(const InfoOptions& options);

}  // namespace driver
