#include "tensor.hpp"

#include <utility>

namespace tracelens::synth {

std::string_view c10_name(Dtype dtype) {
    switch (dtype) {
        case Dtype::bf16: return "c10::BFloat16";
        case Dtype::f32: return "float";
        case Dtype::i64: return "long int";
        case Dtype::boolean: return "bool";
    }
    return "";
}

std::string_view collective_name(Dtype dtype) {
    switch (dtype) {
        case Dtype::bf16: return "BFloat16";
        case Dtype::f32: return "Float";
        case Dtype::i64: return "Long";
        case Dtype::boolean: return "Bool";
    }
    return "";
}

std::int64_t size_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::bf16: return 2;
        case Dtype::f32: return 4;
        case Dtype::i64: return 8;
        case Dtype::boolean: return 1;
    }
    return 0;
}

Tensor contiguous(Dims dims, Dtype dtype) {
    Dims strides(dims.size(), 1);
    for (std::size_t i = dims.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * dims[i - 1];
    return {std::move(dims), std::move(strides), dtype};
}

Tensor transposed(const Tensor& tensor, std::size_t a, std::size_t b) {
    Tensor result = tensor;
    std::swap(result.dims[a], result.dims[b]);
    std::swap(result.strides[a], result.strides[b]);
    return result;
}

std::int64_t elements(const Tensor& tensor) {
    std::int64_t count = 1;
    for (const std::int64_t dim : tensor.dims) count *= dim;
    return count;
}

std::int64_t bytes(const Tensor& tensor) {
    return elements(tensor) * size_of(tensor.dtype);
}

Arg arg(const Tensor& tensor) {
    return {std::string(c10_name(tensor.dtype)), "", {tensor}, false};
}
Arg scalar(std::string text) {
    return {"Scalar", std::move(text), {}, false};
}
Arg scalar_list(std::string text) {
    return {"ScalarList", std::move(text), {}, false};
}
Arg scalar_list(const Dims& values) {
    return scalar_list(to_text(values));
}
Arg none() {
    return {};
}
Arg tensor_list(std::vector<Tensor> tensors) {
    return {"TensorList", "", std::move(tensors), true};
}

std::string to_text(const Dims& values) {
    std::string text = "[";
    for (const std::int64_t value : values) {
        if (text.size() > 1) text += ", ";
        text += std::to_string(value);
    }
    return text + "]";
}

}  // namespace tracelens::synth
