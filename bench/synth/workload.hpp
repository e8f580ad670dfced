// What the traced program does in a step. A new workload is a class of its own and a row in make_workload().
#pragma once

#include <cstddef>
#include <memory>

#include "device.hpp"
#include "program.hpp"

namespace tracelens::synth {

class Workload {
  public:
    virtual ~Workload() = default;
    /// Steps after which the plans repeat.
    [[nodiscard]] virtual std::size_t period() const = 0;
    virtual Program plan(std::size_t phase) = 0;

  protected:
    Workload() = default;
    Workload(const Workload&) = default;
    Workload& operator=(const Workload&) = default;
};

/// Python frames that stay open around every step; what is left of `python_depth` is for the frames inside.
std::size_t entry_depth(const Options& options);

std::unique_ptr<Workload> make_workload(const Options& options, Catalogue& catalogue, const Device& device);
std::unique_ptr<Workload> make_training(const Options& options, Catalogue& catalogue, const Device& device);
std::unique_ptr<Workload> make_inference(const Options& options, Catalogue& catalogue, const Device& device);

/// The last thing that a profiled program does: the profiler waits for the device.
Program plan_epilogue(const Options& options, Catalogue& catalogue);
/// Calls that block the host for a good third of a step while the device has nothing to do.
Program plan_idle_gap(Catalogue& catalogue);

}  // namespace tracelens::synth
