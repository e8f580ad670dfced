// The call tree has the reference's shape: roots, links and dropped frames (spec 01, section 6.1).
#include <map>

#include <tracelens/model/call_tree.hpp>
#include <tracelens/model/links.hpp>
#include <tracelens/read/open.hpp>

#include "corpus.hpp"

using namespace tracelens;

namespace {

struct KnownTree {
    const char* name;
    std::size_t roots, kernels, memcpys, memsets;
    std::size_t unlinked_kernels, unlinked_memcpys, unlinked_memsets;
    std::size_t roots_with_frames, parentless_hosts, dropped_frames, dropped_ops;
};

constexpr KnownTree known_trees[] = {
    {"b200_eager", 921, 768, 161, 0, 0, 0, 0, 921, 4, 3, 0},
    {"h100_nsfw", 276, 154, 0, 2, 0, 0, 0, 276, 2, 2, 0},
    {"h100_qwen", 1378, 1029, 1, 168, 436, 0, 73, 1378, 2, 8, 0},
    {"h100_timesformer", 964, 446, 2, 86, 0, 0, 0, 964, 2, 14, 0},
    {"h100_bert", 104, 60, 1, 0, 0, 0, 0, 104, 2, 5, 0},
    {"inference/sglang_decode", 26, 555, 3, 0, 0, 0, 0, 26, 5, 0, 0},
    {"inference/sglang_prefilldecode", 950, 527, 7, 0, 0, 0, 0, 950, 5, 1, 0},
    {"inference/vllm_decode_full", 52, 425, 9, 0, 0, 0, 0, 52, 4, 0, 0},
    {"inference/xdit_flux_sage", 1903, 7830, 36, 0, 0, 0, 0, 1903, 2, 24, 0},
    {"mi210_gpu_only", 0, 562, 0, 0, 0, 0, 0, 0, 631, 0, 0},
    {"mi300_nsfw", 276, 155, 0, 0, 0, 0, 0, 276, 2, 5, 0},
    {"mi300_qwen", 1378, 1053, 1, 0, 463, 0, 0, 1378, 2, 10, 0},
    {"mi300_timesformer", 964, 447, 2, 0, 0, 0, 0, 964, 2, 7, 0},
    {"mi300_bert", 104, 60, 1, 0, 0, 0, 0, 104, 2, 13, 0},
    {"mi300_owlv2", 7472, 4255, 85, 0, 0, 0, 0, 7472, 2, 9, 0},
    {"mi300_resnet_ckpt", 1278, 2238, 366, 0, 757, 184, 108, 1278, 778, 0, 0},
    {"norm_layers", 126, 168, 0, 0, 0, 0, 5, 126, 79, 3, 0},
    {"compile_triton", 2, 12, 0, 0, 0, 0, 0, 2, 4, 0, 0},
};

}  // namespace

TEST_CASE("reference trees: roots, linked and unlinked work, dropped frames") {
    if (!corpus::present()) return;
    std::map<std::string, corpus::Case> by_name;
    for (const corpus::Case& each : corpus::cases()) by_name.emplace(each.name, each);
    for (const KnownTree& known : known_trees) {
        CAPTURE(known.name);
        REQUIRE(by_name.count(known.name) == 1);
        ReadOptions reading;
        reading.timestamps = Timestamps::reference;
        const Result<Trace> trace = try_read_trace(by_name.at(known.name).trace.string(), reading);
        REQUIRE(trace.ok());
        const Links links = link_launches(*trace, LinkRule::reference_flows);

        std::map<EventKind, std::size_t> linked;
        std::map<EventKind, std::size_t> unlinked;
        for (EventId event = 0; event < trace->size(); ++event) {
            if (!is_gpu_work(trace->kind[event])) continue;
            ++(links.launch_of(event) == no_event ? unlinked : linked)[trace->kind[event]];
        }
        CHECK(linked[EventKind::kernel] == known.kernels);
        CHECK(linked[EventKind::gpu_memcpy] == known.memcpys);
        CHECK(linked[EventKind::gpu_memset] == known.memsets);
        CHECK(unlinked[EventKind::kernel] == known.unlinked_kernels);
        CHECK(unlinked[EventKind::gpu_memcpy] == known.unlinked_memcpys);
        CHECK(unlinked[EventKind::gpu_memset] == known.unlinked_memsets);

        CallTreeOptions options;
        options.overrun = OverrunRule::drop;
        const CallTree ops(*trace, links, options);
        CHECK(ops.cpu_roots().size() == known.roots);
        CHECK(ops.dropped_count() == 0);

        options.python_frames = true;
        const CallTree frames(*trace, links, options);
        CHECK(frames.cpu_roots().size() == known.roots_with_frames);
        CHECK(frames.roots().size() == known.parentless_hosts);
        std::size_t dropped_frames = 0;
        std::size_t dropped_ops = 0;
        for (NodeId node = 0; node < frames.node_count(); ++node) {
            if (!frames.was_dropped(node)) continue;
            ++(frames.kind(node) == EventKind::python_function ? dropped_frames : dropped_ops);
        }
        CHECK(dropped_frames == known.dropped_frames);
        CHECK(dropped_ops == known.dropped_ops);
    }
}

TEST_CASE("exact time links everything that the reference links, and drops nothing") {
    if (!corpus::present()) return;
    for (const corpus::Case& each : corpus::cases()) {
        CAPTURE(each.name);
        const Result<Trace> trace = try_read_trace(each.trace.string());
        REQUIRE(trace.ok());
        const Links ours = link_launches(*trace);
        const Links theirs = link_launches(*trace, LinkRule::reference_flows);
        for (EventId event = 0; event < trace->size(); ++event) {
            if (theirs.launch_of(event) != no_event) CHECK(ours.launch_of(event) == theirs.launch_of(event));
        }
        CallTreeOptions options;
        options.python_frames = true;
        const CallTree tree(*trace, ours, options);
        CHECK(tree.dropped_count() == 0);
        std::size_t below_roots = 0;
        for (const NodeId root : tree.roots()) below_roots += tree.gpu_events(root).size();
        CHECK(below_roots == ours.size());
    }
}
