// The eager PyTorch ops that models are made of: which dispatcher ops nest inside which, what they launch and
// allocate, and, while recording, the autograd nodes that backward() replays in reverse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device.hpp"
#include "frames.hpp"
#include "program.hpp"

namespace tracelens::synth {

class ModelOps {
  public:
    using Scope = ProgramBuilder::Scope;
    using Body = std::function<void()>;

    ModelOps(ProgramBuilder& plan, const Device& on, const Options& with)
        : builder(plan), device(on), options(with) {}

    // --- building blocks ---

    /// An op that only calls others. With autograd on it shows the sequence number of the next node.
    [[nodiscard]] Scope composite(std::string_view name, Args args);
    /// An op that creates an autograd node named `node`; `body` plans what the node's backward does.
    [[nodiscard]] Scope differentiable(std::string_view name, Args args, const Tensor& output,
                                       std::string_view node, Body body = {});
    /// An op without autograd: allocations, views inside other ops, optimizer work.
    [[nodiscard]] Scope plain(std::string_view name, Args args);
    void leaf(std::string_view name, Args args) { auto op = plain(name, std::move(args)); }
    /// Allocates `output` and launches `work` inside the op that is open.
    void produce(const Tensor& output, const WorkInfo& work, Api api = Api::launch);
    /// Allocation as an op of its own (`aten::empty`).
    void empty(const Tensor& tensor);
    void empty_strided(const Tensor& tensor);

    // --- tensor functions ---

    Tensor view(const Tensor& x, Dims dims);
    Tensor reshape(const Tensor& x, Dims dims);
    Tensor transpose(const Tensor& x, int a, int b);
    Tensor slice(const Tensor& x, int dim, std::int64_t begin, std::int64_t end);
    Tensor add(const Tensor& a, const Tensor& b);
    Tensor mul(const Tensor& a, const Tensor& b);
    Tensor silu(const Tensor& x);
    Tensor to(const Tensor& x, Dtype dtype);
    Tensor clone(const Tensor& x);                                ///< contiguous copy through a kernel
    Tensor matmul_linear(const Tensor& x, const Tensor& weight);  ///< aten::linear without bias
    Tensor embedding(const Tensor& ids, std::int64_t vocabulary, std::int64_t hidden);
    Tensor rms_norm(const Tensor& x);
    Tensor layer_norm(const Tensor& x);
    Tensor rotary(const Tensor& x, const Tensor& cosine, const Tensor& sine);
    Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v);
    Tensor patch_embedding(std::int64_t batch, std::int64_t side, std::int64_t channels);
    Tensor cross_entropy(const Tensor& logits, const Tensor& labels);
    /// Host to device or back; a blocking copy makes the host wait for it.
    Tensor copy_to(const Tensor& x, std::string_view kind, bool is_blocking);
    /// `aten::item`: copies one element and waits.
    void item(const Tensor& x);
    void zero(const Tensor& x);

    // --- modules (python frames around the functions) ---

    Tensor linear(const Tensor& x, std::int64_t out_features);
    Tensor norm(const Tensor& x, bool is_rms);
    Tensor activation(const Tensor& x);

    // --- autograd and collectives ---

    void record(bool on) { is_recording_ = on; }
    /// Plans the nodes recorded so far, last first, on the thread the builder is on.
    void backward();
    void collective(std::string_view op, std::string_view name, const Tensor& input, const Tensor& output);
    /// Compute waits for the collectives issued so far.
    void wait_for_collectives();
    /// Frees what inference ops allocated, but for the last `keep` allocations.
    void drop_temporaries(std::size_t keep = 0);

    [[nodiscard]] const std::vector<Tensor>& parameters() const { return parameters_; }

    ProgramBuilder& builder;
    const Device& device;
    const Options& options;

  private:
    struct Node {
        std::string name;
        Tensor gradient;
        std::int32_t sequence = -1;  // none for AccumulateGrad
        Body body;
        std::vector<std::int64_t> saved;  // allocations that live until the node has run
    };

    void parameter(const Tensor& weight);
    void accumulate(const Tensor& weight);
    void pack_hooks();
    void unpack_hooks();
    void mm(const Tensor& a, const Tensor& b, const Tensor& out, GemmLayout layout, std::string_view node,
            Body body);
    void elementwise(std::string_view name, Args args, const Tensor& out, std::string_view functor,
                     int operands, std::string_view node = {}, Body body = {});

    bool is_recording_ = false;
    std::vector<Node> tape_;
    std::vector<std::int64_t> temporaries_;
    std::vector<Tensor> parameters_;
    std::int64_t bucket_elements_ = 0;
    std::size_t collective_count_ = 0;
};

}  // namespace tracelens::synth
