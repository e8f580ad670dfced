// However a trace is read - window sizes, threads, simdjson or the tolerant parser, plain or packed, pretty
// or compact - it is the same trace, and it holds what the generator says that it wrote.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "gzip_text.hpp"
#include "read_support.hpp"

using namespace tracelens;
using namespace tracelens::read_test;

namespace {

/// Hands out its bytes in pieces of changing sizes.
class Dripping final : public ByteSource {
  public:
    explicit Dripping(std::string_view bytes) : bytes_(bytes) {}
    std::size_t read(char* to, std::size_t size) override {
        step_ = step_ * 7 % 4099 + 1;
        const std::size_t taken = std::min({size, step_, bytes_.size() - at_});
        std::copy_n(bytes_.data() + at_, taken, to);
        at_ += taken;
        return taken;
    }
    std::uint64_t stored_position() const noexcept override { return at_; }
    std::uint64_t stored_size() const noexcept override { return bytes_.size(); }

  private:
    std::string_view bytes_;
    std::size_t at_ = 0;
    std::size_t step_ = 3;
};

/// Counts in the form of the generator's summary.
std::map<std::string, std::uint64_t> counts_of(const Trace& trace) {
    std::map<std::string, std::uint64_t> counts;
    for (EventId i = 0; i < trace.size(); ++i) ++counts[std::string(trace.text(trace.category[i]))];
    for (const Flow& flow : trace.flows) ++counts[std::string(trace.text(flow.category)) + " " + flow.phase];
    if (!trace.memory_events.empty()) counts["cpu_instant_event"] = trace.memory_events.size();
    if (!trace.instants.empty()) counts["i"] = trace.instants.size();
    if (!trace.metadata.empty()) counts["M"] = trace.metadata.size();
    return counts;
}

struct KernelCount {
    std::uint64_t count = 0;
    std::int64_t total_ns = 0;
    friend bool operator==(const KernelCount&, const KernelCount&) = default;
};

std::vector<synth::Options> flavours() {
    std::vector<synth::Options> list;
    for_each_flavour([&](const synth::Options& options) { list.push_back(options); });
    // One more that is not like the others: inference, several steps, no frames, no copies.
    synth::Options inference = list.back();
    inference.workload = synth::WorkloadKind::inference;
    inference.steps = 3;
    inference.layers = 2;
    inference.python_depth = 0;
    inference.copies = false;
    inference.seed = 99;
    list.push_back(inference);
    return list;
}

}  // namespace

TEST_CASE("equivalence: window sizes and threads") {
    for (const synth::Options& flavour : flavours()) {
        CAPTURE(describe(flavour));
        const std::string text = generated(flavour);
        for (const Timestamps timestamps : {Timestamps::exact, Timestamps::reference}) {
            const Trace whole = read(text, one_thread(std::size_t{1} << 24, timestamps));
            CHECK(whole.size() > 400);
            CHECK(codes(whole) == "");
            CHECK(whole.text_bytes == text.size());
            for (const std::size_t window :
                 {std::size_t{4} << 10, std::size_t{64} << 10, std::size_t{1} << 20}) {
                for (const unsigned threads : {1U, 2U, 4U}) {
                    if (timestamps == Timestamps::reference && threads == 1) continue;
                    CAPTURE(window);
                    CAPTURE(threads);
                    ReadOptions options = one_thread(window, timestamps);
                    options.threads = threads;
                    CHECK(difference(whole, read(text, options)) == "");
                }
            }
        }
    }
}

TEST_CASE("equivalence: windows smaller than an event") {
    const std::string text =
        generated(small_options(synth::Vendor::nvidia, synth::JsonStyle::compact)).substr(0, 60'000);
    const std::string whole_text = text.substr(0, find_last_event_start(text, 0) - 1) + "]}";
    const Trace whole = read(whole_text);
    CHECK(whole.size() > 100);
    for (const std::size_t window : {1U, 7U, 64U, 65U, 127U, 128U, 200U, 333U}) {
        CAPTURE(window);
        CHECK(difference(whole, read(whole_text, one_thread(window))) == "");
    }
}

TEST_CASE("equivalence: the tolerant parser reads the event array as simdjson does") {
    for (const synth::Options& flavour : flavours()) {
        CAPTURE(describe(flavour));
        const std::string text = generated(flavour);
        const auto [begin, end] = array_span(text);
        const std::string_view events = std::string_view(text).substr(begin, end - begin);
        for (const Timestamps timestamps : {Timestamps::exact, Timestamps::reference}) {
            const Trace fast = read(text, one_thread(std::size_t{1} << 20, timestamps));
            CHECK(difference_of_events(fast, read_tolerantly(events, timestamps)) == "");
        }
    }
}

TEST_CASE("equivalence: pretty and compact text give the same events") {
    for (const synth::Vendor vendor : {synth::Vendor::amd, synth::Vendor::nvidia}) {
        const Trace pretty = read(generated(small_options(vendor, synth::JsonStyle::pretty)));
        const Trace compact = read(generated(small_options(vendor, synth::JsonStyle::compact)));
        CHECK(difference_of_events(pretty, compact) == "");
        std::vector<std::pair<std::string, std::string>> properties[2];
        for (const Property& each : pretty.properties) properties[0].emplace_back(each.key, each.json);
        for (const Property& each : compact.properties) properties[1].emplace_back(each.key, each.json);
        CHECK(properties[0] == properties[1]);
    }
}

TEST_CASE("equivalence: sources that give few bytes at a time") {
    const std::string text = generated(small_options(synth::Vendor::amd, synth::JsonStyle::compact));
    const Trace whole = read(text);
    for (const unsigned threads : {1U, 3U}) {
        ReadOptions options = one_thread(std::size_t{16} << 10);
        options.threads = threads;
        const Result<Trace> dripped = try_read_kineto(std::make_unique<Dripping>(text), "test.json", options);
        REQUIRE(dripped.ok());
        CHECK(difference(whole, *dripped) == "");
    }
}

#if TRACELENS_WITH_ZLIB

TEST_CASE("equivalence: gzip, in one member and in many") {
    for (const synth::Vendor vendor : {synth::Vendor::amd, synth::Vendor::nvidia}) {
        const std::string text = generated(small_options(vendor, synth::JsonStyle::pretty));
        const Trace whole = read(text);
        std::string members;
        for (std::size_t at = 0; at < text.size(); at += 100'003)
            members += gzip(std::string_view(text).substr(at, 100'003));
        for (const std::string& packed : {gzip(text), members}) {
            for (const unsigned threads : {1U, 4U}) {
                ReadOptions options = one_thread(std::size_t{32} << 10);
                options.threads = threads;
                Trace trace = read_gzip(packed, options);
                CHECK(trace.stored_bytes == packed.size());
                CHECK(trace.text_bytes == text.size());
                CHECK(difference_of_events(whole, trace) == "");
            }
        }
    }
}

#endif

TEST_CASE("equivalence: counts are those of the generator") {
    for (const synth::Options& flavour : flavours()) {
        CAPTURE(describe(flavour));
        synth::Summary summary;
        const std::string text = generated(flavour, &summary);
        const Trace trace = read(text, one_thread(std::size_t{8} << 10));
        CHECK(summary.bytes == text.size());
        CHECK(trace.file_events == summary.events);
        CHECK(rows(trace) == summary.events);
        std::map<std::string, std::uint64_t> expected;
        for (const synth::KindCount& kind : summary.kinds) {
            if (kind.count != 0) expected[kind.kind] += kind.count;
        }
        const std::map<std::string, std::uint64_t> found = counts_of(trace);
        for (const auto& each : expected) {
            CAPTURE(each.first);
            CHECK((found.contains(each.first) ? found.at(each.first) : 0) == each.second);
        }
        CHECK(found.size() == expected.size());
        std::map<std::string, KernelCount> kernels;
        for (EventId i = 0; i < trace.size(); ++i) {
            if (!is_gpu_work(trace.kind[i])) continue;
            KernelCount& kernel = kernels[std::string(trace.name_of(i))];
            ++kernel.count;
            kernel.total_ns += trace.duration(i);
        }
        std::map<std::string, KernelCount> kernels_expected;
        for (const synth::KernelTotal& kernel : summary.kernels)
            kernels_expected[kernel.name] = {kernel.count, kernel.total_ns};
        CHECK(kernels.size() == kernels_expected.size());
        CHECK(kernels == kernels_expected);
    }
}

TEST_CASE("equivalence: what every generated trace must satisfy") {
    for (const synth::Options& flavour : flavours()) {
        CAPTURE(describe(flavour));
        const Trace trace = read(generated(flavour), one_thread(std::size_t{8} << 10));
        std::vector<bool> seen(trace.file_events, false);
        std::size_t wrong = 0;
        for (EventId i = 0; i < trace.size(); ++i) {
            wrong += trace.end[i] < trace.start[i];
            if (i > 0) {
                const bool ordered =
                    trace.start[i - 1] < trace.start[i] ||
                    (trace.start[i - 1] == trace.start[i] && trace.file_index[i - 1] < trace.file_index[i]);
                wrong += !ordered;
            }
            wrong += seen.at(trace.file_index[i]);
            seen.at(trace.file_index[i]) = true;
            if (!is_on_device(trace.kind[i])) continue;
            // Spec 01, 3.4: tid is the stream and pid the device.
            const Track& track = trace.track_of(i);
            wrong += !track.on_device || track.pid != TrackPart::integer(track.device) ||
                     track.tid != TrackPart::integer(track.stream);
        }
        for (const Flow& flow : trace.flows) {
            wrong += seen.at(flow.file_index);
            seen.at(flow.file_index) = true;
        }
        CHECK(wrong == 0);
        CHECK(trace.start.front() == 0);
    }
}

TEST_CASE("equivalence: reference times are the double sums of exact ones") {
    const std::string text = generated(small_options(synth::Vendor::amd, synth::JsonStyle::pretty));
    const Trace exact = read(text);
    const Trace reference = read(text, one_thread(std::size_t{1} << 20, Timestamps::reference));
    REQUIRE(exact.size() == reference.size());
    std::map<std::uint32_t, EventId> by_file_index;
    for (EventId i = 0; i < exact.size(); ++i) by_file_index[exact.file_index[i]] = i;
    std::size_t wrong = 0;
    for (EventId i = 0; i < reference.size(); ++i) {
        const EventId same = by_file_index.at(reference.file_index[i]);
        const double ts = static_cast<double>(exact.start[same] + exact.epoch) / 1000.0;
        const double dur = static_cast<double>(exact.duration(same)) / 1000.0;
        wrong += static_cast<double>(reference.start[i] + reference.epoch) /
                     static_cast<double>(reference.ticks_per_us) !=
                 ts;
        wrong += static_cast<double>(reference.end[i] + reference.epoch) /
                     static_cast<double>(reference.ticks_per_us) !=
                 ts + dur;
        wrong += reference.duration_us[i] != dur;
    }
    CHECK(wrong == 0);
}
