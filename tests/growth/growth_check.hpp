// Growth shown by counting operations and not by time: the files that use this are compiled with
// -fsanitize-coverage=trace-pc, so every basic block that their code (all of the library's headers) runs is
// counted.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include "growth/operation_counter.hpp"

namespace growth {

struct Step {
    const char* name;
    std::uint64_t operations;
};

/// Steps on one input, with the operations that each took.
struct Run {
    double size = 0;  ///< n of the input
    std::vector<Step> steps;

    void count(const char* name, const std::function<void()>& work) {
        const std::uint64_t before = operations();
        work();
        steps.push_back({name, operations() - before});
    }
};

/// Checks that every step grows from the first run to the others no faster than n log n. Constant costs only
/// make the small run look slower, so little is allowed on top.
inline void check(const std::vector<Run>& runs) {
    const auto n_log_n = [](const Run& run) { return run.size * std::log(run.size); };
    for (std::size_t step = 0; step < runs.front().steps.size(); ++step) {
        const Step& small = runs.front().steps[step];
        for (const Run& run : runs) {
            const double allowed =
                static_cast<double>(small.operations) * n_log_n(run) / n_log_n(runs.front());
            CHECK_MESSAGE(static_cast<double>(run.steps[step].operations) <= allowed * 1.1, small.name, ": ",
                          small.operations, " operations for n = ", runs.front().size, ", ",
                          run.steps[step].operations, " for n = ", run.size);
        }
    }
}

}  // namespace growth
