// Faults in the times and the order of records.
#pragma once

#include <vector>

#include "timeline.hpp"

namespace tracelens::synth {

/// Kernels that follow each other closely on a stream end 27 ns after the next has started, and pairs of them
/// swap places in the file together with their launches.
void overlap_neighbours(std::vector<Record>& records);

}  // namespace tracelens::synth
