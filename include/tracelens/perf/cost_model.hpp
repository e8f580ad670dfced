/// What a cost model is: a function from an op's arguments to its cost. Models keep no state, so each
/// distinct use of an op is priced once, however often it runs.
#pragma once

#include <cstdint>
#include <string_view>

#include <tracelens/perf/cost.hpp>
#include <tracelens/perf/dtypes.hpp>
#include <tracelens/perf/op_arguments.hpp>

namespace tracelens {

/// Of which pass the cost is asked. `backward` means: the gradient work of a forward op, priced from the
/// forward op's arguments. Ops that are backward ops themselves are priced as `forward`.
enum class Pass : std::uint8_t { forward, backward };

using CostModel = Cost (*)(const OpArguments& args, Pass pass, CostRules rules);

/// An op's model, by the op's exact name.
struct ModelRow {
    std::string_view name;
    CostModel model;
};

}  // namespace tracelens
