// Generated damage: whatever is done to the bytes of a trace, the reader neither crashes nor hangs nor
// throws, loses no more than the events that the damage touches and two more a spot, and says so (design.md,
// "The reader").
#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "damaged_sample.hpp"
#include "read_support.hpp"

using namespace tracelens;
using namespace tracelens::read_test;

namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) {
    return static_cast<std::size_t>(random() % limit);
}

/// Window sizes so small that damage meets their borders, and sometimes more threads.
ReadOptions options_for(std::size_t trial) {
    static constexpr std::size_t windows[] = {512, 1000, 4096, 2048, 64, std::size_t{1} << 20, 300};
    ReadOptions options = one_thread(windows[trial % std::size(windows)]);
    if (trial % 16 == 5) options.threads = 2;
    return options;
}

struct Case {
    synth::Vendor vendor;
    synth::JsonStyle style;
    std::size_t events;
};

constexpr Case large[] = {{synth::Vendor::amd, synth::JsonStyle::pretty, 300},
                          {synth::Vendor::nvidia, synth::JsonStyle::compact, 300}};
constexpr Case small[] = {{synth::Vendor::nvidia, synth::JsonStyle::pretty, 30},
                          {synth::Vendor::amd, synth::JsonStyle::compact, 30}};

template <class Cases, class Use>
void for_each_sample(const Cases& cases, const Use& use) {
    for (const Case& each : cases) {
        const std::string style = each.style == synth::JsonStyle::pretty ? "pretty" : "compact";
        CAPTURE(style);
        use(make_sample(each.vendor, each.style, each.events));
    }
}

/// Reads the first `size` bytes. A cut loses exactly what is not whole before it.
std::string judge_cut(const Sample& sample, std::size_t size, std::size_t trial) {
    const Result<Trace> result = try_read(std::string_view(sample.text).substr(0, size), options_for(trial));
    if (!result) {
        if (size > sample.array.begin) return "not read: " + result.failure().message();
        return result.failure().code == ErrorCode::not_a_trace ? "" : "wrong code";
    }
    const Trace& trace = *result;
    std::vector<std::string> expected;
    std::size_t whole = 0;
    for (std::size_t i = 0; i < sample.events.size() && sample.events[i].end <= size; ++i) {
        ++whole;
        if (!sample.identity[i].empty()) expected.push_back(sample.identity[i]);
    }
    std::sort(expected.begin(), expected.end());
    if (rows(trace) != whole || identities(trace) != expected) {
        return std::to_string(rows(trace)) + " events kept of " + std::to_string(whole) + " whole ones; " +
               codes(trace);
    }
    const bool is_whole =
        std::string_view(sample.text).find_first_not_of(" \n", size) == std::string_view::npos;
    if (!is_whole && !raised(trace, "TRUNCATED", Verdict::degraded)) return "no TRUNCATED; " + codes(trace);
    return "";
}

std::string noise(Random& random, std::size_t size) {
    static constexpr std::string_view pieces[] = {"\"", "\\",  "{",       "}",         "[",    "]",  ",",
                                                  ":",  "},{", "\"ph\":", "{\"x\":1}", "null", "\n", "\\\""};
    std::string text;
    const std::size_t style = below(random, 3);
    while (text.size() < size) {
        if (style == 0 || (style == 2 && random() % 2 == 0))
            text += static_cast<char>(random());
        else
            text += pieces[below(random, std::size(pieces))];
    }
    return text.substr(0, size);
}

/// Damages a span of `text` in place; returns what was done.
std::string damage(std::string& text, Span span, Random& random) {
    const std::size_t size = span.end - span.begin;
    switch (below(random, 5)) {
        case 0: text.erase(span.begin, size); return "deleted";
        case 1: text.insert(span.end, text.substr(span.begin, size)); return "duplicated";
        case 2: text.replace(span.begin, size, noise(random, size)); return "noise in place";
        case 3: text.insert(span.begin, noise(random, 1 + below(random, 60))); return "noise inserted";
        default: text.replace(span.begin, size, std::string(size, '\0')); return "zeroed";
    }
}

/// Ascending spans inside the event array, apart from each other.
std::vector<Span> random_spans(const Sample& sample, std::size_t count, Random& random) {
    std::vector<Span> spans;
    const std::size_t stretch = (sample.array.end - sample.array.begin) / count;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t longest = random() % 4 == 0 ? 3000 : random() % 2 == 0 ? 200 : 12;
        const std::size_t begin = sample.array.begin + i * stretch + below(random, stretch / 2);
        spans.push_back({begin, begin + 1 + below(random, std::min(longest, stretch / 2))});
    }
    return spans;
}

}  // namespace

TEST_CASE("damage: cut anywhere") {
    std::size_t step = 7;
    for_each_sample(small, [&](const Sample& sample) {
        Trials trials;
        for (std::size_t size = 0; size <= sample.text.size(); size += 1 + step % 41, step = step * 5 + 3) {
            trials.record(judge_cut(sample, size, step), context(sample.text, size));
        }
        trials.check();
    });
    for_each_sample(large, [&](const Sample& sample) {
        Trials trials;
        for (std::size_t size = sample.array.begin; size <= sample.text.size();
             size += 1 + step % 997, step = step * 5 + 3) {
            trials.record(judge_cut(sample, size, step), context(sample.text, size));
        }
        trials.check();
    });
}

TEST_CASE("damage: cut at every byte around the ends of the last event and the array") {
    for_each_sample(small, [](const Sample& sample) {
        Trials trials;
        for (std::size_t size = sample.events.back().end - 9; size <= sample.text.size(); ++size) {
            trials.record(judge_cut(sample, size, size), context(sample.text, size));
        }
        trials.check();
    });
}

TEST_CASE("damage: a single byte of the event array changed") {
    Random random(21);
    static constexpr std::string_view characters = "\"{}[]\\,:0x \n\0";
    for_each_sample(small, [&](const Sample& sample) {
        Trials trials;
        for (std::size_t at = sample.array.begin; at < sample.array.end; at += 1 + below(random, 37)) {
            std::string text = sample.text;
            const std::size_t which = below(random, 8 + characters.size());
            if (which < 8)
                text[at] = static_cast<char>(text[at] ^ (1 << which));
            else
                text[at] = characters[which - 8];
            const std::string how = context(text, at) + " was " + sample.text[at];
            trials.record(judge(sample, text, {{at, at + 1}}, options_for(random()), true), how);
        }
        trials.check();
    });
    for_each_sample(large, [&](const Sample& sample) {
        Trials trials;
        for (int trial = 0; trial < 90; ++trial) {
            const std::size_t at = sample.array.begin + below(random, sample.array.end - sample.array.begin);
            std::string text = sample.text;
            text[at] = trial % 2 == 0 ? characters[below(random, characters.size())]
                                      : static_cast<char>(text[at] ^ (1 << random() % 8));
            const std::string how = context(text, at) + " was " + sample.text[at];
            trials.record(judge(sample, text, {{at, at + 1}}, options_for(random()), true), how);
        }
        trials.check();
    });
}

TEST_CASE("damage: every bit of the bytes that hold two events together") {
    for_each_sample(small, [](const Sample& sample) {
        Trials trials;
        for (const std::size_t index : {std::size_t{11}, sample.events.size() - 2}) {
            const std::size_t begin = sample.events[index].end - 3;
            for (std::size_t at = begin; at < sample.events[index + 1].begin + 6; ++at) {
                for (unsigned bit = 0; bit < 8; ++bit) {
                    std::string text = sample.text;
                    text[at] = static_cast<char>(text[at] ^ (1 << bit));
                    trials.record(judge(sample, text, {{at, at + 1}}, options_for(at + bit), true),
                                  context(text, at));
                }
            }
        }
        trials.check();
    });
}

TEST_CASE("damage: a byte behind the event array changed costs no event") {
    for_each_sample(small, [](const Sample& sample) {
        Trials trials;
        for (std::size_t at = sample.array.end + 1; at < sample.text.size(); ++at) {
            for (const char c : {'"', '}', ']', '{', '\\', ',', 'x'}) {
                if (sample.text[at] == c || (at + static_cast<unsigned char>(c)) % 5 != 0) continue;
                std::string text = sample.text;
                text[at] = c;
                const Result<Trace> result = try_read(text, options_for(at));
                REQUIRE(result.ok());
                const bool whole = identities(*result) == sample.complete;
                trials.record(whole ? "" : "events lost or invented; " + codes(*result), context(text, at));
            }
        }
        trials.check();
    });
}

// design.md: "one bad byte anywhere would lose everything" is what the reader is built to avoid.
TEST_CASE("damage: a byte before the event array changed costs no event") {
    for_each_sample(small, [](const Sample& sample) {
        Trials trials;
        Random random(22);
        const std::size_t key = sample.text.rfind("\"traceEvents\"", sample.array.begin);
        for (std::size_t at = 1; at < key; at += 1 + below(random, 7)) {
            std::string text = sample.text;
            text[at] = random() % 2 == 0 ? "\"}]{\\,:["[below(random, 8)]
                                         : static_cast<char>(text[at] ^ (1 << random() % 8));
            const std::string how = context(text, at) + " was " + sample.text[at];
            trials.record(judge(sample, text, {{at, at + 1}}, options_for(at), true), how);
        }
        trials.check();
    });
}

TEST_CASE("damage: a byte of the key traceEvents or its bracket changed costs at most two events") {
    for_each_sample(small, [](const Sample& sample) {
        Trials trials;
        const std::size_t key = sample.text.rfind("\"traceEvents\"", sample.array.begin);
        for (std::size_t at = key; at < sample.array.begin; ++at) {
            for (const char c : {'"', '{', 'x', '\\', ']', ' '}) {
                if (sample.text[at] == c) continue;
                std::string text = sample.text;
                text[at] = c;
                trials.record(judge(sample, text, {{at, at + 1}}, options_for(at), true), context(text, at));
            }
        }
        trials.check();
    });
}

TEST_CASE("damage: spans deleted, doubled, overwritten, zeroed, with noise in between") {
    Random random(23);
    for_each_sample(large, [&](const Sample& sample) {
        Trials trials;
        for (std::size_t trial = 0; trial < 260; ++trial) {
            const std::size_t count = trial % 3 == 0 ? 1 : 1 + below(random, 6);
            const std::vector<Span> spans = random_spans(sample, count, random);
            std::string text = sample.text;
            std::string how = "trial " + std::to_string(trial);
            for (std::size_t i = count; i-- > 0;)
                how += ", " + damage(text, spans[i], random) + " " + context(sample.text, spans[i].begin) +
                       " +" + std::to_string(spans[i].end - spans[i].begin);
            trials.record(judge(sample, text, spans, options_for(trial), false), how);
        }
        trials.check();
    });
}

TEST_CASE("damage: lines of two writers mixed") {
    Random random(24);
    for_each_sample(small, [&](const Sample& sample) {
        Trials trials;
        for (std::size_t trial = 0; trial < 150; ++trial) {
            // A piece of another event lands in the middle of one.
            const Span from = sample.events[below(random, sample.events.size())];
            const std::size_t at = sample.array.begin + below(random, sample.array.end - sample.array.begin);
            const std::size_t begin = from.begin + below(random, from.end - from.begin);
            std::string text = sample.text;
            text.insert(at, sample.text.substr(begin, from.end - begin));
            trials.record(judge(sample, text, {{at, at}}, options_for(trial), false),
                          context(sample.text, at));
        }
        trials.check();
    });
}

TEST_CASE("damage: text that is nothing but damage ends and does not throw") {
    Random random(25);
    for (int trial = 0; trial < 400; ++trial) {
        const std::string text =
            (trial % 2 == 0 ? R"({"traceEvents": [)" : "[{") + noise(random, below(random, 6000));
        const Result<Trace> result = try_read(text, options_for(random()));
        if (result) CHECK(result->file_events < text.size());
    }
    for (const char* piece : {"{", "[", "\"", "\\", "{\"ph\":", "{\"ph\":\"X\",\"args\":{", "[{", "],", "]}",
                              "{\"a\":\"", ",{\"name\"", "\\\""}) {
        std::string text = R"({"traceEvents": [)";
        while (text.size() < 100'000) text += piece;
        CAPTURE(std::string(piece));
        const Result<Trace> result = try_read(text, one_thread(1024));
        if (result) CHECK_FALSE(result->diagnostics.empty());
    }
}
