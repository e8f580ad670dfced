// Counts the basic blocks that instrumented code has run.
#pragma once

#include <cstdint>

namespace growth {

std::uint64_t operations();

}  // namespace growth
