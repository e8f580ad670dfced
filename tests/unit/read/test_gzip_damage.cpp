// Damage to the compressed bytes of a trace: never a crash, and what could be decoded before it is kept.
#include <tracelens/config.hpp>

#if TRACELENS_WITH_ZLIB

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "damaged_sample.hpp"
#include "gzip_text.hpp"

using namespace tracelens;
using namespace tracelens::read_test;

namespace {

ReadOptions options_for(std::size_t trial) {
    ReadOptions options = one_thread(std::size_t{1} << (8 + trial % 8));
    if (trial % 16 == 5) options.threads = 2;
    return options;
}

std::string decoded(std::string_view packed) {
    Result<std::unique_ptr<ByteSource>> source = gunzip_source(memory_source(packed));
    REQUIRE(source.ok());
    std::string text;
    std::string piece(std::size_t{1} << 16, '\0');
    while (const std::size_t size = (*source)->read(piece.data(), piece.size())) text.append(piece, 0, size);
    return text;
}

/// What is wrong with the reading of damaged gzip data; empty when nothing is.
std::string judge_packed(const Sample& sample, std::string_view packed, const ReadOptions& options) {
    const std::string text = decoded(packed);
    const auto differs =
        std::mismatch(text.begin(), text.end(), sample.text.begin(), sample.text.end()).first;
    const auto intact = static_cast<std::size_t>(differs - text.begin());
    const Result<Trace> result = try_read_gzip(packed, options);
    if (!result) {
        const bool head_is_whole = intact > sample.array.begin;
        return head_is_whole ? "not read: " + result.failure().message() : "";
    }
    const std::vector<std::string> found = identities(*result);
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < sample.events.size() && sample.events[i].end <= intact; ++i) {
        if (!sample.identity[i].empty()) expected.push_back(sample.identity[i]);
    }
    std::sort(expected.begin(), expected.end());
    const std::size_t missing = count_missing(expected, found);
    const bool only_cut = intact == text.size();
    if (missing > (only_cut ? 0U : 2U))
        return std::to_string(missing) + " events missing that stand before the damage";
    if (only_cut && found != expected && intact < sample.text.size()) return "events invented";
    const bool lost = rows(*result) < sample.events.size();
    if (lost && result->diagnostics.worst() < Verdict::degraded)
        return "loss without a diagnostic; " + codes(*result);
    return "";
}

}  // namespace

TEST_CASE("gzip damage: cut anywhere") {
    const Sample sample = make_sample(synth::Vendor::amd, synth::JsonStyle::pretty, 120);
    std::string members;
    for (std::size_t at = 0; at < sample.text.size(); at += 10'007)
        members += gzip(std::string_view(sample.text).substr(at, 10'007));
    for (const std::string& packed : {gzip(sample.text), members}) {
        REQUIRE(judge_packed(sample, packed, one_thread()) == "");
        Trials trials;
        const std::size_t step = packed.size() / 250 + 1;
        for (std::size_t size = 0; size<packed.size(); size += size + 30> packed.size() ? 1 : step) {
            const std::string verdict =
                judge_packed(sample, std::string_view(packed).substr(0, size), options_for(size));
            trials.record(verdict, "cut at " + std::to_string(size) + " of " + std::to_string(packed.size()));
        }
        trials.check();
    }
}

TEST_CASE("gzip damage: bytes flipped and noise") {
    const Sample sample = make_sample(synth::Vendor::nvidia, synth::JsonStyle::compact, 120);
    std::string members;
    for (std::size_t at = 0; at < sample.text.size(); at += 10'007)
        members += gzip(std::string_view(sample.text).substr(at, 10'007));
    std::mt19937_64 random(31);
    for (const std::string& packed : {gzip(sample.text), members}) {
        Trials trials;
        for (std::size_t trial = 0; trial < 260; ++trial) {
            std::string damaged = packed;
            const std::size_t at = trial < 20 ? trial : static_cast<std::size_t>(random() % packed.size());
            const std::size_t length =
                trial % 5 == 0 ? std::min<std::size_t>(packed.size() - at, 1 + random() % 50) : 1;
            for (std::size_t i = at; i < at + length; ++i) {
                damaged[i] = static_cast<char>(length == 1 ? damaged[i] ^ (1 << random() % 8)
                                                           : static_cast<int>(random() % 256));
            }
            if (trial % 26 == 25) damaged.erase(at, length);
            trials.record(judge_packed(sample, damaged, options_for(trial)),
                          "byte " + std::to_string(at) + " +" + std::to_string(length));
        }
        trials.check();
    }
}

TEST_CASE("gzip damage: a torn stream says so") {
    const Sample sample = make_sample(synth::Vendor::amd, synth::JsonStyle::compact, 60);
    const std::string packed = gzip(sample.text);
    for (std::size_t size = packed.size() / 2; size < packed.size(); size += 1 + (packed.size() - size) / 5) {
        CAPTURE(size);
        const Result<Trace> trace = try_read_gzip(std::string_view(packed).substr(0, size));
        REQUIRE(trace.ok());
        CHECK(raised(*trace, "TRUNCATED", Verdict::degraded));
    }
}

#endif
