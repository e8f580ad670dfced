// The ids that the events of one rank carry.
#pragma once

#include <array>

#include "device.hpp"

namespace tracelens::synth {

struct Process {
    int rank = 0;
    int host = 0;                  ///< pid of host events
    std::array<int, 2> threads{};  ///< by lane: main, autograd
    int ordinal = 0;               ///< of the device on its node
    int device = 0;                ///< pid of device events
};

inline Process process_of(const Device& device, int rank) {
    constexpr int first_host = 6240;
    constexpr int host_stride = 37;
    constexpr int devices_of_node = 8;
    Process process;
    process.rank = rank;
    process.host = first_host + host_stride * rank;
    process.threads = {process.host, process.host + 172};
    process.ordinal = rank % devices_of_node;
    process.device = device.facts().first_process + process.ordinal;
    return process;
}

}  // namespace tracelens::synth
