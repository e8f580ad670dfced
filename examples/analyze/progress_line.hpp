// Progress on the terminal.
#pragma once

#include <tracelens/core/progress.hpp>

namespace driver {

/// A callback that keeps one line of stderr up to date; nothing when stderr is no terminal or `quiet` is set.
tracelens::ProgressCallback progress_line(bool quiet);

/// Clears the line, if there is one.
void clear_progress_line(const tracelens::ProgressCallback& progress);

}  // namespace driver
