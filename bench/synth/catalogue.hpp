// Every distinct thing a trace can mention (ops with their arguments, python frames, runtime calls, device
// work), stored once and named by a 32-bit index. Plans, records and text templates all refer to it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tensor.hpp"

namespace tracelens::synth {

using Index = std::uint32_t;
inline constexpr Index no_index = 0xffffffffU;

/// Numbers for the threads and streams of a trace; their real ids are the device's and writer's business.
inline constexpr std::uint8_t main_thread = 0;
inline constexpr std::uint8_t autograd_thread = 1;
inline constexpr std::uint8_t compute_stream = 0;
inline constexpr std::uint8_t collective_stream = 1;

struct Collective {
    std::string name;  ///< as in `Collective name`: allreduce, _allgather_base, ...
    Dtype dtype = Dtype::bf16;
    std::int64_t in_elements = 0;
    std::int64_t out_elements = 0;
};

/// How an op carries the autograd sequence number, and which end of a fwdbwd flow sits on it.
enum class SequenceUse : std::uint8_t { none, forward, forward_flow, backward, backward_flow };

struct OpInfo {
    std::string name;
    Args args;
    bool has_shapes = true;      ///< wrappers of autograd nodes have no argument lists
    bool is_annotation = false;  ///< user_annotation instead of cpu_op
    bool is_numbered = false;    ///< annotation whose name ends in the step number
    SequenceUse sequence = SequenceUse::none;
    std::optional<Collective> collective;
};

struct FrameInfo {
    std::string name;
    std::int64_t module_id = -1;  ///< `Python module id`, for nn.Module frames only
};

enum class WorkKind : std::uint8_t { kernel, memcpy, memset };

struct WorkInfo {
    WorkKind kind = WorkKind::kernel;
    std::string name;
    std::string copy_kind;   ///< DtoD, DtoH, HtoD
    bool is_legacy = false;  ///< a copy or fill that is recorded as a kernel
    std::array<std::int64_t, 3> grid{1, 1, 1};
    std::array<std::int64_t, 3> block{1, 1, 1};
    std::int64_t shared_memory = 0;
    std::int64_t registers = 0;
    std::int64_t bytes = 0;    ///< of copies and fills
    std::int64_t mean_ns = 0;  ///< the timeline varies around it
    std::uint8_t stream = compute_stream;
    std::optional<Collective> collective;
};

/// Runtime and driver entry points; each vendor has its own name and id for one.
enum class Api : std::uint8_t {
    launch,            // element-wise and reduction kernels
    launch_gemm,       // library kernels
    launch_attention,  // kernels loaded as modules
    launch_collective,
    copy,
    copy_blocking,
    fill,
    synchronize_device,
    synchronize_stream,
    wait_event,
    record_event,
    query_properties,
    query_capture,
    set_attribute,
    launch_graph,
    count,
};

struct CallInfo {
    Api api = Api::launch;
    Index work = no_index;
    bool has_external_id = true;  ///< calls outside every op carry none
};

class Catalogue {
  public:
    Index op(const OpInfo& info);
    Index frame(std::string_view name, std::int64_t module_id = -1);
    Index work(const WorkInfo& info);
    Index call(const CallInfo& info);

    [[nodiscard]] const std::vector<OpInfo>& ops() const { return ops_.items; }
    [[nodiscard]] const std::vector<FrameInfo>& frames() const { return frames_.items; }
    [[nodiscard]] const std::vector<WorkInfo>& works() const { return works_.items; }
    [[nodiscard]] const std::vector<CallInfo>& calls() const { return calls_.items; }

  private:
    // Lookup by string_view without building a string first.
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    template <class T>
    struct Pool {
        std::vector<T> items;
        std::unordered_map<std::string, Index, Hash, std::equal_to<>> indices;
        template <class Make>
        Index intern(std::string_view key, Make make) {
            if (const auto found = indices.find(key); found != indices.end()) return found->second;
            const auto index = static_cast<Index>(items.size());
            items.push_back(make());
            indices.emplace(key, index);
            return index;
        }
    };

    Pool<OpInfo> ops_;
    Pool<FrameInfo> frames_;
    Pool<WorkInfo> works_;
    Pool<CallInfo> calls_;
    std::string key_;  // scratch, so that a lookup seldom allocates
};

}  // namespace tracelens::synth
