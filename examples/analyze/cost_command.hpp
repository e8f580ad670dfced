// `tracelens cost`: what an op costs, from its shapes alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "command_line.hpp"

namespace CLI {
class App;
}

namespace driver {

struct CostOptions {
    std::string op;  ///< a registered op, or `gemm` or `sdpa`
    std::string dtype;
    std::string platform;  ///< name or file; empty: no roofline
    std::string extension_file;
    Compat compat = Compat::none;
    bool backward = false;
    bool list = false;
    bool json = false;

    /// JSON lists, one element an argument; for registered ops.
    std::string dims;
    std::string strides;
    std::string concrete;

    /// Sizes; for `gemm` and `sdpa`.
    std::optional<std::int64_t> batch;
    std::optional<std::int64_t> m;
    std::optional<std::int64_t> n;
    std::optional<std::int64_t> k;
    bool bias = false;
    std::optional<std::int64_t> heads_q;
    std::optional<std::int64_t> n_q;
    std::optional<std::int64_t> heads_kv;
    std::optional<std::int64_t> n_kv;
    std::optional<std::int64_t> head_dim;
    bool causal = false;
};

void add_cost_options(CLI::App& command, CostOptions& options);

/// Prints the cost. Returns the exit code.
int run_cost(const CostOptions& options);

}  // namespace driver
