// The GPUs whose limits the driver knows: those of agents/platforms, compiled in, and files that the user
// gives.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracelens/core/error.hpp>
#include <tracelens/perf/platform.hpp>

namespace driver {

/// Names of the built-in platforms, sorted.
std::vector<std::string_view> platform_names();

/// The platform that the user asks for, by name or file; with an empty request the one of a recorded device,
/// or none when that is not known. Fails for unknown names and for files that cannot be read.
tracelens::Result<std::optional<tracelens::Platform>> find_platform(const std::string& request,
                                                                    const std::string& device);

}  // namespace driver
