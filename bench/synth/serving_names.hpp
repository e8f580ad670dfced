// What serving engines call the annotation around one step of a batch (spec 01, section 16).
#pragma once

#include <cstdint>
#include <string>

#include "synth.hpp"

namespace tracelens::synth {

/// One step of continuous batching: some requests are in their prompt (context), others generate a token
/// each.
struct Batch {
    std::int64_t context = 0;     ///< requests
    std::int64_t prompt = 0;      ///< tokens of each of them
    std::int64_t generation = 0;  ///< requests
    std::int64_t past = 0;        ///< tokens that each of them has in the cache

    [[nodiscard]] std::int64_t tokens() const { return context * prompt + generation; }
};

std::string annotation_name(ServingNames form, const Batch& batch);

}  // namespace tracelens::synth
