#include "decoder.hpp"

#include <array>
#include <utility>

namespace tracelens::synth {
namespace {

constexpr std::array<LayerKind, 4> layer_kinds{
    {{16, 16, 5632}, {16, 8, 5632}, {16, 4, 8192}, {16, 16, 7168}}};

/// (batch, tokens, heads * head_size) to (batch, heads, tokens, head_size).
Tensor split_heads(ModelOps& ops, const Tensor& x, std::int64_t heads) {
    Tensor split;
    {
        auto frame = ops.builder.function(builtin_method("view"));
        split = ops.view(x, {x.dims[0], x.dims[1], heads, head_size});
    }
    auto frame = ops.builder.function(builtin_method("transpose"));
    return ops.transpose(split, 1, 2);
}

/// Views of a table (rotary angles, a mask) that a layer takes: `table[:n, None]`.
void view_table(ModelOps& ops, const Tensor& table) {
    auto frame = ops.builder.frame(builtin_method("__getitem__"));
    {
        auto op = ops.plain("aten::slice", {arg(table), scalar("0"), scalar("0"),
                                            scalar("9223372036854775807"), scalar("1")});
        ops.leaf("aten::as_strided",
                 {arg(table), scalar_list(table.dims), scalar_list(table.strides), scalar("0")});
    }
    auto op = ops.plain("aten::unsqueeze", {arg(table), scalar("1")});
    ops.leaf("aten::as_strided", {arg(table), scalar_list(table.dims), scalar_list(table.strides), none()});
}

/// Appends to the cache and returns all of it.
Tensor update_cache(ModelOps& ops, const Tensor& fresh, std::int64_t past) {
    auto frame = ops.builder.frame("project/model/cache.py(118): update");
    ops.builder.chatter(911, 15);
    const std::int64_t tokens = fresh.dims[2];
    const Tensor all = contiguous({fresh.dims[0], fresh.dims[1], past + tokens, fresh.dims[3]});
    {
        auto index = ops.builder.function(builtin_method("index_copy_"));
        auto op = ops.plain("aten::slice", {arg(all), scalar("2"), scalar(std::to_string(past)),
                                            scalar(std::to_string(past + tokens)), scalar("1")});
        ops.leaf("aten::as_strided", {arg(all), scalar_list(fresh.dims), scalar_list(all.strides),
                                      scalar(std::to_string(past * head_size))});
    }
    auto copy = ops.plain("aten::copy_", {arg(fresh), arg(fresh), scalar("False")});
    if (ops.options.copies && tokens == 1) {
        ops.builder.launch(Api::copy, ops.device.copy("DtoD", bytes(fresh), true));
    } else {
        ops.builder.launch(Api::launch,
                           ops.device.strided(functors::copy_bfloat16, elements(fresh), 2 * bytes(fresh)));
    }
    return all;
}

Tensor self_attention(ModelOps& ops, const Tensor& x, int layer, bool has_cache, CacheState cache) {
    ProgramBuilder& b = ops.builder;
    const LayerKind kind = layer_kind(layer);
    const auto site = static_cast<std::size_t>(layer % 4);
    auto module = b.module("DecoderAttention", "project/model/attention.py(102): forward");
    b.leaves("torch/nn/modules/module.py(1915): __getattr__", 6);
    b.chatter(site * 7 + 3, 48);
    Tensor q = split_heads(ops, ops.linear(x, kind.heads * head_size), kind.heads);
    Tensor k = split_heads(ops, ops.linear(x, kind.kv_heads * head_size), kind.kv_heads);
    Tensor v = split_heads(ops, ops.linear(x, kind.kv_heads * head_size), kind.kv_heads);
    {
        auto frame = b.frame("project/model/rotary.py(58): apply_rotary");
        b.chatter(site * 5 + 60, 32);
        const Tensor table = contiguous({x.dims[0], 1, x.dims[1], head_size});
        for (int i = 0; i < 2; ++i) view_table(ops, contiguous({x.dims[0], x.dims[1], head_size}));
        q = ops.rotary(q, table, table);
        k = ops.rotary(k, table, table);
    }
    if (has_cache) {
        k = update_cache(ops, k, cache.past);
        v = update_cache(ops, v, cache.past);
    }
    Tensor mixed;
    {
        auto frame = b.frame("project/model/attention.py(31): run_attention");
        b.chatter(site * 3 + 200, 32);
        view_table(ops, contiguous({x.dims[0], x.dims[1], cache.past + x.dims[1]}, Dtype::boolean));
        {
            auto function = b.function(builtin_method("contiguous"));
            q = ops.clone(q);
        }
        mixed = ops.attention(q, k, v);
        auto transposing = b.function(builtin_method("transpose"));
        mixed = ops.clone(ops.transpose(mixed, 1, 2));
    }
    {
        auto frame = b.function(builtin_method("reshape"));
        mixed = ops.reshape(mixed, {x.dims[0], x.dims[1], kind.heads * head_size});
    }
    return ops.linear(mixed, hidden_size);
}

Tensor feed_forward(ModelOps& ops, const Tensor& x, int layer) {
    ProgramBuilder& b = ops.builder;
    const std::int64_t width = layer_kind(layer).intermediate;
    auto module = b.module("DecoderMLP", "project/model/decoder.py(57): forward");
    b.leaves("torch/nn/modules/module.py(1915): __getattr__", 3);
    b.chatter(static_cast<std::size_t>(layer % 4) + 310, 28);
    const Tensor gate = ops.activation(ops.linear(x, width));
    const Tensor up = ops.linear(x, width);
    return ops.linear(ops.mul(gate, up), hidden_size);
}

}  // namespace

LayerKind layer_kind(int layer) {
    return layer_kinds[static_cast<std::size_t>(layer) % layer_kinds.size()];
}

Tensor decoder_layer(ModelOps& ops, const Tensor& x, int layer, bool has_cache, CacheState cache) {
    ProgramBuilder& b = ops.builder;
    const bool is_tensor_parallel = has_cache && ops.options.collectives;
    const auto reduce = [&](const Tensor& partial) {
        if (is_tensor_parallel) ops.collective("allreduce_", "allreduce", partial, partial);
    };
    auto module = b.module("DecoderLayer", "project/model/decoder.py(121): forward");
    b.leaves("torch/nn/modules/module.py(1915): __getattr__", 4);
    b.chatter(static_cast<std::size_t>(layer) * 11 + 77, 54);
    const Tensor attended = self_attention(ops, ops.norm(x, true), layer, has_cache, cache);
    reduce(attended);
    // The attention's all-reduce is waited for at once, so it is exposed.
    if (is_tensor_parallel) ops.wait_for_collectives();
    const Tensor residual = ops.add(x, attended);
    const Tensor mixed = feed_forward(ops, ops.norm(residual, false), layer);
    // The other one may overlap with the next layer's first ops.
    reduce(mixed);
    const Tensor result = ops.add(residual, mixed);
    if (is_tensor_parallel && layer % 4 == 3) ops.wait_for_collectives();
    return result;
}

}  // namespace tracelens::synth
