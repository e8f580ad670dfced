// What differs between the vendors: ids, runtime entry points, device properties, kernel names and their
// speed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "catalogue.hpp"
#include "synth.hpp"

namespace tracelens::synth {

struct ApiFacts {
    std::string_view name;
    int id = 0;                ///< cid (AMD) or cbid (NVIDIA)
    bool is_driver = false;    ///< category cuda_driver
    bool starts_flow = false;  ///< an `ac2g` s event sits on the call
};

struct DeviceFacts {
    std::string_view name;
    std::int64_t global_memory = 0;
    int compute_major = 0;
    int compute_minor = 0;
    int warp_size = 0;
    int processors = 0;
    std::int64_t shared_per_block = 0;
    int first_process = 0;         ///< pid of the events of a node's first device
    std::array<int, 2> streams{};  ///< ids of compute_stream and collective_stream
    int memory_type = 0;           ///< `Device Type` of allocator instants
    double flops_per_ns = 0;       ///< dense bf16
    double bytes_per_ns = 0;
    double link_bytes_per_ns = 0;        ///< host link
    double collective_bytes_per_ns = 0;  ///< ring bandwidth of one rank
    std::int64_t launch_latency_ns = 0;  ///< from the end of the launch call to the start of the kernel
};

enum class GemmLayout : std::uint8_t { forward, input_gradient, weight_gradient };

/// Names and costs of kernels. Costs follow a plain roofline (work over a typical share of the peak, plus a
/// floor).
class Device {
  public:
    explicit Device(const Options& options);

    [[nodiscard]] bool is_amd() const { return vendor_ == Vendor::amd; }
    [[nodiscard]] const DeviceFacts& facts() const { return facts_; }
    [[nodiscard]] ApiFacts api(Api api) const;

    [[nodiscard]] WorkInfo gemm(std::int64_t m, std::int64_t n, std::int64_t k, GemmLayout layout) const;
    /// `functor` as in the template argument; `operands` counts tensors, the output included.
    [[nodiscard]] WorkInfo elementwise(std::string_view functor, int operands, std::int64_t elements,
                                       std::int64_t moved_bytes) const;
    /// The slower variant for inputs that are not contiguous or broadcast.
    [[nodiscard]] WorkInfo strided(std::string_view functor, std::int64_t elements,
                                   std::int64_t moved_bytes) const;
    [[nodiscard]] WorkInfo reduction(std::string_view op, std::int64_t rows, std::int64_t moved_bytes) const;
    [[nodiscard]] WorkInfo plain(std::string_view name, std::int64_t blocks, std::int64_t threads,
                                 std::int64_t moved_bytes) const;
    [[nodiscard]] WorkInfo attention(bool is_backward, int part, std::int64_t batch_heads,
                                     std::int64_t queries, std::int64_t keys, std::int64_t head_dim) const;
    [[nodiscard]] WorkInfo convolution(std::int64_t flops, std::int64_t blocks, int pass) const;
    [[nodiscard]] WorkInfo multi_tensor(std::string_view functor, int lists, std::int64_t elements) const;
    /// `variant` picks the kernel's name where a trace is to have several (Defect::collective_names).
    [[nodiscard]] WorkInfo collective(const Collective& what, int world_size, std::size_t variant) const;
    /// kind: HtoD, DtoH or DtoD; pinned only matters for the name on NVIDIA.
    [[nodiscard]] WorkInfo copy(std::string_view kind, std::int64_t bytes, bool is_pinned) const;
    [[nodiscard]] WorkInfo fill(std::int64_t bytes) const;

  private:
    [[nodiscard]] WorkInfo kernel(std::string name, std::int64_t blocks, std::int64_t threads,
                                  double ns) const;
    [[nodiscard]] double moving(std::int64_t bytes) const;

    Vendor vendor_;
    DeviceFacts facts_;
    bool has_legacy_copies_;
    bool has_collective_variants_;
};

/// Functors of ATen's element-wise kernels, for Device::elementwise() and Device::strided().
namespace functors {
inline constexpr std::string_view add = "at::native::CUDAFunctor_add<c10::BFloat16>";
inline constexpr std::string_view add_scalar = "at::native::CUDAFunctorOnSelf_add<float>";
inline constexpr std::string_view mul =
    "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
    "at::native::binary_internal::MulFunctor<float> >";
inline constexpr std::string_view mul_float =
    "at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >";
inline constexpr std::string_view mul_scalar =
    "at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
    "at::native::binary_internal::MulFunctor<float> >";
inline constexpr std::string_view div_true =
    "at::native::BUnaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<float> >";
inline constexpr std::string_view to_bfloat16 =
    "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}";
inline constexpr std::string_view to_float =
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
    "const::{lambda()#7}::operator()() "
    "const::{lambda(float)#1}";
inline constexpr std::string_view copy_bfloat16 =
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
    "const::{lambda()#12}::operator()() "
    "const::{lambda(c10::BFloat16)#1}";
inline constexpr std::string_view square =
    "at::native::(anonymous namespace)::pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, "
    "float)::{lambda(float)#1}";
inline constexpr std::string_view rsqrt =
    "at::native::rsqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() "
    "const::{lambda()#2}::operator()() "
    "const::{lambda(float)#1}";
inline constexpr std::string_view neg =
    "at::native::neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() "
    "const::{lambda()#9}::operator()() "
    "const::{lambda(c10::BFloat16)#1}";
inline constexpr std::string_view silu =
    "at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() "
    "const::{lambda()#4}::operator()() "
    "const::{lambda(c10::BFloat16)#1}";
inline constexpr std::string_view silu_backward =
    "at::native::(anonymous "
    "namespace)::silu_backward_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() "
    "const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16, c10::BFloat16)#1}";
inline constexpr std::string_view fill = "at::native::FillFunctor<c10::BFloat16>";
}  // namespace functors

}  // namespace tracelens::synth
