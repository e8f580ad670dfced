// Deterministic generator of realistic PyTorch (Kineto) profiler traces, for benchmarks, tests and samples.
//
// The same options always give the same bytes. Text is streamed through a sink, so memory does not grow with
// the size of the trace. Four parts, each of which knows nothing of the others' business:
//   workload  (workload.hpp, model_ops.hpp)  plans which host calls and device work one step consists of;
//   timeline  (timeline.hpp)                 gives every planned action its time, ids and place on a stream;
//   writer    (trace_writer.hpp)             turns the resulting records into JSON text;
//   faults    (defects.hpp, text_faults.hpp) are put into single events, or change how all are written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "defects.hpp"

namespace tracelens::synth {

enum class Vendor : std::uint8_t { amd, nvidia };
enum class WorkloadKind : std::uint8_t { training, inference };

/// pretty: two spaces a level and one list element a line, as Kineto traces are usually stored; compact: no
/// whitespace.
enum class JsonStyle : std::uint8_t { pretty, compact };

/// How a serving engine names the annotation around a step (spec 01, section 16).
enum class ServingNames : std::uint8_t { vllm, vllm_detailed, sglang, sglang_detailed, atom_detailed };

struct Options {
    Vendor vendor = Vendor::amd;
    WorkloadKind workload = WorkloadKind::training;
    std::uint64_t steps = 2;  ///< profiled steps; at least one is written
    /// If not 0, `steps` is chosen to come near this size of a file's (uncompressed) text.
    std::uint64_t target_bytes = 0;
    std::uint64_t target_events = 0;  ///< the same by elements of traceEvents; at most one of the two
    std::uint64_t seed = 1;
    JsonStyle style = JsonStyle::pretty;
    int layers = 12;           ///< decoder layers of the model, at least 1
    int python_depth = 28;     ///< deepest nesting of python frames; 0 leaves them out
    bool collectives = false;  ///< gradient or tensor-parallel collectives on a second stream
    int world_size = 8;        ///< ranks of the process group when there are collectives, at least `ranks`
    int rank = 0;              ///< the process in the group whose trace is written
    /// Ranks that run side by side: the times of each differ, and a collective ends on all of them once the
    /// last has joined. More than one implies collectives.
    int ranks = 1;
    bool merged = false;  ///< all `ranks` in one file, with args.rank on every event; their ids collide
    ServingNames serving_names = ServingNames::vllm;
    bool graphs = false;        ///< decode steps of the inference workload are graph replays
    bool copies = true;         ///< memcpys and memsets on the device
    bool memory_events = true;  ///< `[memory]` instants of the caching allocator
    bool gzip = false;          ///< only read by write_file() and write_rank_files()
    std::vector<DefectChoice> defects;
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

/// What was written. Kinds, names and times are those before a defect of the text.
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

/// Writes one file a rank, named by rank_path(); a single rank or a merged trace goes to `path` itself.
std::vector<Summary> write_rank_files(const Options& options, const std::string& path);

/// `run/trace.json.gz` to `run/trace-rank3.json.gz`.
std::string rank_path(const std::string& path, int rank);

}  // namespace tracelens::synth
