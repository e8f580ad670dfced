// How close do the ops of a trace come to the limits of a GPU, an op of one's own among them?
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <tracelens/analyze/launchers.hpp>
#include <tracelens/analyze/work_units.hpp>
#include <tracelens/perf/roofline.hpp>
#include <tracelens/tracelens.hpp>

using namespace tracelens;

// silu(a) * b of the halves a and b of one tensor (tokens, 2 * width).
Cost fused_swiglu(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return Cost::unsupported("its gradients are another op");
    ArgReader reader(args, rules);
    const Shape x = reader.shape(0);
    const double outputs = product(x) / 2;
    const auto bytes = reader.bytes_per_element(reader.type_if(0));
    Cost cost;
    cost.flops = 6 * outputs;
    if (bytes) cost.bytes = 3 * outputs * *bytes;
    cost.unit = ComputeUnit::vector;
    cost.precision = reader.precision(reader.type_if(0));
    cost.params = {{"tokens", ParamValue::integer(reader.dim(x, 0))}};
    return reader.finish(std::move(cost));
}

int main(int argc, char** argv) {
    if (argc != 3) return std::fputs("usage: custom_model TRACE.json[.gz] PLATFORM.json\n", stderr), 2;
    const Result<Trace> read = try_read_trace(argv[1]);
    if (!read) return std::fprintf(stderr, "%s\n", read.failure().message().c_str()), 3;
    const Result<std::string> file = read_file(argv[2]);
    const Result<Platform> platform = file ? parse_platform(*file, argv[2]) : file.failure();
    if (!platform) return std::fprintf(stderr, "%s\n", platform.failure().message().c_str()), 2;

    ModelRegistry models;
    models.add("my_lib::fused_swiglu", {fused_swiglu, "elementwise", "", "UnaryElementwise"});
    const Links links = link_launches(*read);
    const CallTree tree(*read, links);
    OpCosts costs(tree, models, CostRules::full);
    std::map<std::string, std::pair<double, double>> times;  // by op: of the roofline, and of the kernels
    for (const WorkUnit& unit : find_work_units(tree, link_backward(*read), costs)) {
        if (!unit.has_model || unit.forward != no_node) continue;
        const auto roofline = roofline_of(costs.cost(unit.node), *platform, CostRules::full);
        if (!roofline) continue;
        auto& [roofline_us, kernel_us] = times[std::string(tree.name_text(unit.node))];
        roofline_us += roofline->time_us;
        kernel_us += read->to_us(busy_ticks(*read, tree.gpu_events(unit.node)));
    }
    std::vector<std::pair<double, std::string>> shares;
    for (const auto& [name, us] : times)
        if (us.second > 0) shares.emplace_back(100 * us.first / us.second, name);
    std::sort(shares.rbegin(), shares.rend());
    for (const auto& [share, name] : shares) std::printf("%6.1f %%  %s\n", share, name.c_str());
}
