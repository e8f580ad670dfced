// Deterministic generator of realistic PyTorch (Kineto) profiler traces, for benchmarks, tests and samples.
//
// The same options always give the same bytes. Text is streamed through a sink, so memory does not grow with
// the size of the trace. Three parts, each of which knows nothing of the others' business:
//   workload  (workload.hpp, model_ops.hpp)  plans which host calls and device work one step consists of;
//   timeline  (timeline.hpp)                 gives every planned action its time, ids and place on a stream;
//   writer    (trace_writer.hpp)             turns the resulting records into JSON text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tracelens::synth {

enum class Vendor : std::uint8_t { amd, nvidia };
enum class WorkloadKind : std::uint8_t { training, inference };

/// pretty: two spaces a level and one list element a line, as Kineto traces are usually stored; compact: no
/// whitespace.
enum class JsonStyle : std::uint8_t { pretty, compact };

struct Options {
    Vendor vendor = Vendor::amd;
    WorkloadKind workload = WorkloadKind::training;
    std::uint64_t steps = 2;  ///< profiled steps; at least one is written
    std::uint64_t target_bytes =
        0;  ///< if not 0, `steps` is chosen to come near this size of (uncompressed) text
    std::uint64_t seed = 1;
    JsonStyle style = JsonStyle::pretty;
    int layers = 12;            ///< decoder layers of the model, at least 1
    int python_depth = 28;      ///< deepest nesting of python frames; 0 leaves them out
    bool collectives = false;   ///< gradient or tensor-parallel collectives on a second stream
    int world_size = 8;         ///< ranks of the process group when collectives are on
    int rank = 0;               ///< this process in the group
    bool copies = true;         ///< memcpys and memsets on the device
    bool memory_events = true;  ///< `[memory]` instants of the caching allocator
    bool gzip = false;          ///< only read by write_file()
};

struct KindCount {
    std::string
        kind;  ///< `cat`, with the phase for flows and events without category: `kernel`, `ac2g s`, `M`, ...
    std::uint64_t count = 0;
};

struct KernelTotal {
    std::string name;
    std::uint64_t count = 0;
    std::int64_t total_ns = 0;
};

struct Summary {
    std::uint64_t bytes = 0;   ///< uncompressed text
    std::uint64_t events = 0;  ///< elements of traceEvents
    std::uint64_t steps = 0;
    std::vector<KindCount> kinds;
    std::vector<KernelTotal> kernels;  ///< kernels, memcpys and memsets by name, longest total first
};

/// Writes one trace as plain JSON text to `sink`, in pieces of up to about a megabyte.
/// Throws std::invalid_argument for options that make no sense; passes on what the sink throws.
Summary generate(const Options& options, const std::function<void(std::string_view)>& sink);

/// Writes one trace to `path`: plain text, or gzip at level 6 without name and time, so that reruns are
/// identical. A regular file appears under its name only when complete. Throws std::runtime_error when it
/// cannot be written.
Summary write_file(const Options& options, const std::string& path);

}  // namespace tracelens::synth
