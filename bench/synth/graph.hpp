// Graph replays: one launch stands for the device work of many ops.
#pragma once

#include <vector>

#include "program.hpp"

namespace tracelens::synth {

/// What `program` launches, in order: the nodes of its graph.
std::vector<Index> device_work(const Program& program, const Catalogue& catalogue);

/// `program` as a server with captured graphs runs it: the same up to its first kernel, then one launch for
/// all other device work, under no op.
Program collapsed(const Program& program, Catalogue& catalogue);

}  // namespace tracelens::synth
