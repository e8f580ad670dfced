// `tracelens synth`: writes realistic traces of any size, on demand with faults.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "synth/synth.hpp"

namespace CLI {
class App;
}

namespace driver {

struct SynthOptions {
    tracelens::synth::Options trace;  ///< all but what follows
    std::string output;
    std::optional<int> world_size;     ///< default: the ranks, or 8 when there is one
    std::vector<std::string> defects;  ///< as given: NAME or NAME@PLACE
    bool list_defects = false;
    bool summary = false;
    bool quiet = false;
};

void add_synth_options(CLI::App& command, SynthOptions& options);

/// Writes one file, or one a rank. Returns the exit code.
int run_synth(const SynthOptions& options);

}  // namespace driver
