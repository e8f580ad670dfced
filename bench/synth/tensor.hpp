// Shapes and arguments of dispatcher ops, as the profiler records them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tracelens::synth {

enum class Dtype : std::uint8_t { bf16, f32, i64, boolean };

std::string_view c10_name(Dtype dtype);         ///< `c10::BFloat16`, `float`, ...
std::string_view collective_name(Dtype dtype);  ///< `BFloat16`, `Float`, ...
std::int64_t size_of(Dtype dtype);              ///< bytes of one element

using Dims = std::vector<std::int64_t>;

struct Tensor {
    Dims dims;
    Dims strides;
    Dtype dtype = Dtype::bf16;
};

Tensor contiguous(Dims dims, Dtype dtype = Dtype::bf16);
Tensor transposed(const Tensor& tensor, std::size_t a, std::size_t b);
std::int64_t elements(const Tensor& tensor);
std::int64_t bytes(const Tensor& tensor);

/// One entry of the four parallel argument lists of a cpu_op.
struct Arg {
    std::string type;      ///< empty for None and undefined tensors
    std::string concrete;  ///< the value of scalars and scalar lists
    std::vector<Tensor> tensors;
    bool is_list = false;  ///< TensorList: the shapes are nested one level deeper
};

using Args = std::vector<Arg>;

Arg arg(const Tensor& tensor);
Arg scalar(std::string text);
Arg scalar_list(std::string text);
Arg scalar_list(const Dims& values);
Arg none();
Arg tensor_list(std::vector<Tensor> tensors);

std::string to_text(const Dims& values);  ///< `[1, 2]`

}  // namespace tracelens::synth
