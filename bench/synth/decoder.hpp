// The transformer decoder that both workloads run. Layers come in four kinds, so that shapes vary within a
// model.
#pragma once

#include <cstdint>

#include "model_ops.hpp"

namespace tracelens::synth {

inline constexpr std::int64_t hidden_size = 2048;
inline constexpr std::int64_t head_size = 128;
inline constexpr std::int64_t vocabulary_size = 32000;

struct LayerKind {
    std::int64_t heads = 16;
    std::int64_t kv_heads = 16;
    std::int64_t intermediate = 5632;
};

LayerKind layer_kind(int layer);

/// Keys and values of earlier tokens; 0 without a cache.
struct CacheState {
    std::int64_t past = 0;
};

/// Plans one decoder layer with the python frames around it; `x` is (batch, tokens, hidden).
Tensor decoder_layer(ModelOps& ops, const Tensor& x, int layer, bool has_cache, CacheState cache);

}  // namespace tracelens::synth
