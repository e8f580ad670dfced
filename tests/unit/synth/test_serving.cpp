// The inference workload: annotations around steps, and graph replays.
#include <map>
#include <regex>
#include <set>

#include "unit/synth/synth_support.hpp"

using namespace tracelens;
using namespace tracelens::synth_test;

namespace {

synth::Options serving() {
    synth::Options options = small(synth::Vendor::nvidia, synth::WorkloadKind::inference);
    options.steps = 6;
    return options;
}

std::set<std::string> annotations(const Trace& trace) {
    std::set<std::string> names;
    for (EventId event = 0; event < trace.size(); ++event) {
        const std::string_view name = trace.name_of(event);
        if (trace.kind[event] == EventKind::user_annotation && !name.starts_with("ProfilerStep#"))
            names.emplace(name);
    }
    return names;
}

}  // namespace

TEST_CASE("serving: steps are named as the engines name them") {
    struct Case {
        synth::ServingNames form;
        const char* pattern;  // spec 01, section 16
        const char* prefill;  // of four prompts of 512 tokens
    };
    const char* const detailed =
        R"(execute_\d+_context_\d+\(sq\d+sk\d+sqsq\d+sqsk\d+\)_generation_\d+\(sq\d+sk\d+sqsq\d+sqsk\d+\))";
    for (const Case& each :
         {Case{synth::ServingNames::vllm, R"(execute_context_\d+\(\d+\)_generation_\d+\(\d+\))",
               "execute_context_4(2048)_generation_0(0)"},
          Case{synth::ServingNames::vllm_detailed, detailed,
               "execute_2048_context_4(sq2048sk2048sqsq1048576sqsk1048576)_generation_0(sq0sk0sqsq0sqsk0)"},
          Case{synth::ServingNames::sglang, R"(step\[(\w+)\s+bs=(\d+)(?:\s+toks=(\d+))?\])",
               "step[EXTEND bs=4 toks=2048]"},
          Case{synth::ServingNames::sglang_detailed,
               R"(step\[(?:EXTEND|DECODE|MIXED)\b[^\]]*sqsq=\d+[^\]]*\])",
               "step[EXTEND bs=4 toks=2048 c=4 c_sq=2048 c_sk=2048 c_sqsq=1048576 c_sqsk=1048576 g=0 g_sq=0 "
               "g_sk=0 g_sqsq=0 g_sqsk=0]"},
          Case{synth::ServingNames::atom_detailed, R"((prefill|decode)\[.*sqsq=\d+.*\])",
               "prefill[bs=4 tok=2048 sk=2048 sqsq=1048576 sqsk=1048576]"}}) {
        synth::Options options = serving();
        options.serving_names = each.form;
        const std::set<std::string> names = annotations(read(generated(options)));
        CHECK(names.size() >= 3);  // prefill, decode, mixed
        CHECK(names.contains(each.prefill));
        for (const std::string& name : names)
            CHECK_MESSAGE(std::regex_match(name, std::regex(each.pattern)), name);
    }
}

TEST_CASE("serving: a replayed decode step is one launch with all its kernels") {
    for (const synth::Vendor vendor : {synth::Vendor::amd, synth::Vendor::nvidia}) {
        synth::Options options = serving();
        options.vendor = vendor;
        const Trace eager = read(generated(options));
        options.graphs = true;
        const Trace trace = read(generated(options));
        const Links links = link_launches(trace);
        const char* const name = vendor == synth::Vendor::amd ? "hipGraphLaunch" : "cudaGraphLaunch";
        std::size_t replays = 0;
        for (EventId event = 0; event < trace.size(); ++event) {
            if (trace.name_of(event) != name) continue;
            ++replays;
            const auto launched = links.launched_by(event);
            CHECK(launched.size() > 50);
            for (const EventId each : launched)
                CHECK(trace.launch_fields(each).correlation == trace.launch_fields(event).correlation);
        }
        CHECK(replays == 4);  // of six steps one is a prefill and one a mixed step
        // The device does the same either way.
        const auto work = [](const Trace& of) {
            std::map<std::string, std::size_t> counts;
            for (EventId event = 0; event < of.size(); ++event)
                if (is_gpu_work(of.kind[event])) ++counts[std::string(of.name_of(event))];
            return counts;
        };
        CHECK(work(trace) == work(eager));
    }
}
