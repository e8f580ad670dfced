// Names of python frames, as facts about PyTorch and the programs that use it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tracelens::synth {

/// `<built-in method M of T object at 0x...>`; the profiler keeps one address for all objects of a type.
std::string builtin_method(std::string_view method, std::string_view type = "Tensor");
std::string builtin_function(std::string_view function);

/// Short frames that surround real work: attribute lookups, configuration, containers, guards.
const std::vector<std::string>& chatter_pool();

/// Frames that span the whole trace, outermost first: `count` of them, ending in the loop over the steps.
std::vector<std::string> entry_frames(std::size_t count, bool is_training);

}  // namespace tracelens::synth
