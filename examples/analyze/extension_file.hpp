// Cost models of the user's own, from the file of `--extension-file`.
#pragma once

#include <string>
#include <vector>

#include <tracelens/core/error.hpp>
#include <tracelens/perf/registry.hpp>

namespace driver {

/// Adds the models of a file (tracelens/perf/user_models.hpp) to `registry`; without a path none. Returns the
/// names of their ops. Fails when the file cannot be read or holds something else.
tracelens::Result<std::vector<std::string>> add_extension_file(tracelens::ModelRegistry& registry,
                                                               const std::string& path);

}  // namespace driver
