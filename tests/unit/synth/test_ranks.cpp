// Several ranks: their own times and ids, common ends of collectives, one file or many.
#include <algorithm>
#include <set>
#include <vector>

#include "support.hpp"
#include "unit/synth/synth_support.hpp"

using namespace tracelens;
using namespace tracelens::synth_test;

namespace {

constexpr int ranks = 4;

synth::Options group_of(synth::Options options) {
    options.ranks = ranks;
    options.world_size = ranks;
    return options;
}

/// Absolute ends of the collectives in ns, in order.
std::vector<std::int64_t> collective_ends(const Trace& trace) {
    std::vector<std::int64_t> ends;
    for (EventId event = 0; event < trace.size(); ++event)
        if (is_collective(trace, event)) ends.push_back(trace.epoch + trace.end[event]);
    return ends;
}

Ticks computing(const Trace& trace) {
    Ticks total = 0;
    for (EventId event = 0; event < trace.size(); ++event)
        if (trace.kind[event] == EventKind::kernel && !is_collective(trace, event))
            total += trace.duration(event);
    return total;
}

}  // namespace

TEST_CASE("ranks: collectives end together, computing takes its own time") {
    for_each_kind([](const synth::Options& options) {
        std::vector<Trace> traces;
        for (int rank = 0; rank < ranks; ++rank) {
            synth::Options each = group_of(options);
            each.rank = rank;
            traces.push_back(read(generated(each)));
        }
        std::vector<std::vector<std::int64_t>> ends;
        std::set<Ticks> compute_times;
        for (int rank = 0; rank < ranks; ++rank) {
            const Trace& trace = traces[static_cast<std::size_t>(rank)];
            ends.push_back(collective_ends(trace));
            compute_times.insert(computing(trace));
            CHECK(trace.size() == traces.front().size());
            const nlohmann::json info = nlohmann::json::parse(trace.property("distributedInfo").value());
            CHECK(info.at("rank") == rank);
            CHECK(info.at("world_size") == ranks);
        }
        CHECK(compute_times.size() == ranks);
        CHECK(static_cast<double>(*compute_times.rbegin()) <
              1.1 * static_cast<double>(*compute_times.begin()));
        REQUIRE(ends.front().size() > 5);
        std::size_t apart = 0;
        for (std::size_t i = 0; i < ends.front().size(); ++i) {
            std::int64_t first = ends.front().at(i);
            std::int64_t last = first;
            for (const auto& each : ends) {
                first = std::min(first, each.at(i));
                last = std::max(last, each.at(i));
            }
            apart += last - first > 2'000;
        }
        CHECK(apart == 0);
    });
}

TEST_CASE("ranks: a merged trace holds all of them, with colliding ids that still link within a rank") {
    for_each_kind([](const synth::Options& options) {
        synth::Options merged = group_of(options);
        const Trace one = read(generated(merged));
        merged.merged = true;
        const std::string text = generated(merged);
        std::size_t unmarked = 0;
        const nlohmann::json document = nlohmann::json::parse(text);
        for (const nlohmann::json& event : document.at("traceEvents"))
            unmarked += !event.contains("args") || !event.at("args").contains("rank");
        CHECK(unmarked == 0);

        const Trace all = read(text);
        CHECK(all.size() == ranks * one.size());
        const Links links = link_launches(all);
        std::set<std::int64_t> correlations;
        std::size_t launched = 0;
        std::size_t wrong = 0;
        for (EventId event = 0; event < all.size(); ++event) {
            if (!is_gpu_work(all.kind[event])) continue;
            ++launched;
            correlations.insert(all.launch_fields(event).correlation);
            const EventId launch = links.launch_of(event);
            wrong += launch == no_event || all.track_of(launch).rank != all.track_of(event).rank;
        }
        CHECK(wrong == 0);
        CHECK(correlations.size() * ranks == launched);
    });
}

TEST_CASE("ranks: files that are written together are those that each rank gives alone") {
    const support::TemporaryFolder folder;
    const std::string path = (folder.path() / "run.json").string();
    synth::Options options = group_of(small(synth::Vendor::amd, synth::WorkloadKind::training));
    const std::vector<synth::Summary> written = synth::write_rank_files(options, path);
    CHECK(written.size() == ranks);
    CHECK(!support::fs::exists(path));
    for (int rank = 0; rank < ranks; ++rank) {
        options.rank = rank;
        CHECK(support::read_text(synth::rank_path(path, rank)) == generated(options));
    }
}

TEST_CASE("ranks: file names") {
    CHECK(synth::rank_path("trace.json", 0) == "trace-rank0.json");
    CHECK(synth::rank_path("run.1/trace.json.gz", 12) == "run.1/trace-rank12.json.gz");
    CHECK(synth::rank_path("run.1/trace", 3) == "run.1/trace-rank3");
    CHECK(synth::rank_path("/tmp/.hidden", 3) == "/tmp/.hidden-rank3");
}
