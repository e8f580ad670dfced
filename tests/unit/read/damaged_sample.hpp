// A small trace whose every event is known with its place in the text, and the judgement of what a reader
// made of a damaged copy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "read_support.hpp"

#if TRACELENS_WITH_SIMDJSON
#include <simdjson.h>
#endif

namespace tracelens::read_test {

struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// Name, absolute start, duration, process and thread of a complete event, as text.
inline std::string identity(const Trace& trace, EventId event) {
    std::string text(trace.name_of(event));
    const auto add = [&](std::int64_t number) { text += '|' + std::to_string(number); };
    add(trace.start[event] + trace.epoch);
    add(trace.duration(event));
    for (const TrackPart& part : {trace.track_of(event).pid, trace.track_of(event).tid}) {
        if (part.form == TrackPart::Form::text) {
            text += '|';
            text += trace.strings[StringId{static_cast<std::uint32_t>(part.value)}];
        } else {
            add(part.form == TrackPart::Form::missing ? -99 : part.value);
        }
    }
    return text;
}

inline std::vector<std::string> identities(const Trace& trace) {
    std::vector<std::string> list;
    list.reserve(trace.size());
    for (EventId i = 0; i < trace.size(); ++i) list.push_back(identity(trace, i));
    std::sort(list.begin(), list.end());
    return list;
}

struct Sample {
    std::string text;
    Span array;                         ///< between the brackets of the event array
    std::vector<Span> events;           ///< in the text
    std::vector<std::string> identity;  ///< of each event; empty when it is not a complete one
    std::vector<std::string> complete;  ///< the identities of all complete events, sorted
};

/// About `count` events of all kinds from a generated trace.
inline Sample make_sample(synth::Vendor vendor, synth::JsonStyle style, std::size_t count) {
    synth::Options options = small_options(vendor, style);
    options.world_size = 2;
    const std::string whole = generated(options);
    const auto [begin, end] = array_span(whole);
    std::vector<std::string_view> elements;
    JsonScanner scanner(whole, begin);
    do {
        std::string_view element;
        REQUIRE(scanner.value(element) == JsonScanner::Outcome::ok);
        elements.push_back(element);
    } while (scanner.take(','));
    const auto offset = [&](std::string_view element) {
        return static_cast<std::size_t>(element.data() - whole.data());
    };
    const std::string_view all = whole;
    const std::string separator(all.substr(offset(elements[0]) + elements[0].size(),
                                           offset(elements[1]) - offset(elements[0]) - elements[0].size()));
    Sample sample;
    sample.text = whole.substr(0, offset(elements[0]));
    sample.array.begin = begin;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string_view element = elements[i * elements.size() / count];
        if (i != 0) sample.text += separator;
        sample.events.push_back({sample.text.size(), sample.text.size() + element.size()});
        sample.text += element;
    }
    const std::size_t last_end = offset(elements.back()) + elements.back().size();
    sample.array.end = sample.text.size() + end - last_end;
    sample.text += all.substr(last_end);
    const Trace trace = read(sample.text);
    REQUIRE(codes(trace) == "");
    REQUIRE(rows(trace) == count);
    sample.identity.resize(count);
    for (EventId i = 0; i < trace.size(); ++i) sample.identity[trace.file_index[i]] = identity(trace, i);
    sample.complete = identities(trace);
    return sample;
}

/// How many of `expected` are not in `found`. Both sorted.
inline std::size_t count_missing(const std::vector<std::string>& expected,
                                 const std::vector<std::string>& found) {
    std::vector<std::string> missing;
    std::set_difference(expected.begin(), expected.end(), found.begin(), found.end(),
                        std::back_inserter(missing));
    return missing.size();
}

/// Events of which a byte lies in the span; for an empty span, those around it.
inline std::size_t count_touched(const Sample& sample, Span spot) {
    const std::size_t end = spot.end == spot.begin ? spot.begin + 1 : spot.end;
    const std::size_t begin = spot.end == spot.begin && spot.begin != 0 ? spot.begin - 1 : spot.begin;
    std::size_t touched = 0;
    for (const Span& event : sample.events) touched += event.begin < end && begin < event.end;
    return touched;
}

inline bool is_valid_json(const std::string& text) {
#if TRACELENS_WITH_SIMDJSON
    simdjson::dom::parser parser;
    return parser.parse(text).error() == simdjson::SUCCESS;
#else
    (void)text;
    return true;
#endif
}

/// What is wrong with the reading of `damaged`, a copy of the sample's text with damage at `spots`; empty
/// when nothing is. A spot that touches k events may cost k + 2 of them, and a lost event must leave a
/// diagnostic.
inline std::string judge(const Sample& sample, const std::string& damaged, const std::vector<Span>& spots,
                         const ReadOptions& options, bool always_diagnosed) {
    const Result<Trace> result = try_read(damaged, options);
    if (!result) return "not read: " + result.failure().message();
    const Trace& trace = *result;
    std::size_t allowed = 0;
    for (const Span& spot : spots) allowed += count_touched(sample, spot) + 2;
    const std::size_t missing = count_missing(sample.complete, identities(trace));
    if (missing > allowed) {
        return std::to_string(missing) + " events missing or changed, " + std::to_string(allowed) +
               " allowed; " + codes(trace);
    }
    const bool lost = rows(trace) < sample.events.size();
    if (lost && trace.diagnostics.empty() && (always_diagnosed || !is_valid_json(damaged))) {
        return std::to_string(sample.events.size() - rows(trace)) + " events lost without a diagnostic";
    }
    for (EventId i = 0; i < trace.size(); ++i) {
        if (trace.end[i] < trace.start[i]) return "an event ends before it starts";
    }
    return "";
}

/// Collects what went wrong over many trials, and keeps the first cases.
class Trials {
  public:
    void record(const std::string& verdict, const std::string& how) {
        ++count_;
        if (verdict.empty()) return;
        if (++failures_ <= 4) first_ += "\n  " + how + ": " + verdict;
    }
    void check() const {
        INFO(failures_, " of ", count_, " trials failed, such as: ", first_);
        CHECK(failures_ == 0);
    }

  private:
    std::size_t count_ = 0;
    std::size_t failures_ = 0;
    std::string first_;
};

/// The surroundings of a place in a text, on one line.
inline std::string context(std::string_view text, std::size_t at) {
    std::string part(text.substr(at < 40 ? 0 : at - 40, 90));
    for (char& c : part) {
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    return "at " + std::to_string(at) + " <<" + part + ">>";
}

}  // namespace tracelens::read_test
