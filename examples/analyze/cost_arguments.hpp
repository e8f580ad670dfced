// What `tracelens cost` prices: the command's options as arguments of an op, or as sizes.
#pragma once

#include <string>

#include <tracelens/core/error.hpp>
#include <tracelens/perf/cost_model.hpp>
#include <tracelens/perf/op_arguments.hpp>

#include "cost_command.hpp"

namespace driver {

/// Wrong usage; `what` says what to do.
tracelens::Failure usage_failure(std::string what);

/// The arguments of a registered op. Fails when shapes or types are missing or malformed.
tracelens::Result<tracelens::OpArguments> op_arguments(const CostOptions& options, const std::string& op);

/// The cost of `gemm` and `sdpa`. Fails when sizes are missing or contradict each other.
tracelens::Result<tracelens::Cost> shape_cost(const CostOptions& options, tracelens::Pass pass,
                                              tracelens::CostRules rules);

}  // namespace driver
