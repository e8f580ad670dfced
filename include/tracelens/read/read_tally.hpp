/// What a reader met that was not as it should be, counted per worker and merged at the end.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <tracelens/core/diagnostics.hpp>
#include <tracelens/core/json_text.hpp>

namespace tracelens {

enum class Defect : std::uint8_t {
    lost_text,          ///< text of the event array that is no event any more
    cut_off_event,      ///< the event in which the input ends
    repaired_string,    ///< control characters, stray backslashes, bad UTF-8: kept
    lone_surrogate,     ///< replaced, kept
    trailing_comma,     ///< ignored
    odd_comma,          ///< missing, doubled or leading between events: ignored
    damaged_args,       ///< arguments whose brackets do not match: kept as text
    not_finite_time,    ///< dropped
    no_time,            ///< complete event without a usable `ts`: dropped
    bad_duration,       ///< `dur` missing or no number: kept with zero duration
    time_overflow,      ///< `ts` or `dur` beyond the range of the model: dropped
    wrapped_duration,   ///< a negative duration written as unsigned: dropped
    negative_duration,  ///< clamped to zero
    not_an_event,       ///< an array element that is no object, or has no phase: dropped
    unnamed,            ///< complete event without a name: kept
    unknown_phase,      ///< dropped
    count_
};

/// Counts and first cases, by defect. "First" is by position in the text, so it does not depend on threads.
class ReadTally {
  public:
    struct Entry {
        std::uint64_t count = 0;
        std::uint64_t first_offset = ~std::uint64_t{0};
        std::string first;
    };

    void add(Defect defect, std::uint64_t offset, std::string_view what) {
        Entry& entry = entries_[static_cast<std::size_t>(defect)];
        ++entry.count;
        if (offset >= entry.first_offset) return;
        entry.first_offset = offset;
        entry.first = what.substr(0, 120);
    }

    /// Sorts the flaws of one event's text into defects.
    void add_flaws(unsigned flaws, std::uint64_t offset, std::string_view what) {
        if (flaws == 0) return;
        constexpr unsigned string_flaws = json_control_character | json_bad_escape | json_bad_utf8;
        if ((flaws & string_flaws) != 0) add(Defect::repaired_string, offset, what);
        if ((flaws & json_lone_surrogate) != 0) add(Defect::lone_surrogate, offset, what);
        if ((flaws & json_trailing_comma) != 0) add(Defect::trailing_comma, offset, what);
        if ((flaws & json_structure) != 0) add(Defect::damaged_args, offset, what);
    }

    void merge(const ReadTally& other) {
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            const Entry& theirs = other.entries_[i];
            entries_[i].count += theirs.count;
            if (theirs.first_offset < entries_[i].first_offset) {
                entries_[i].first_offset = theirs.first_offset;
                entries_[i].first = theirs.first;
            }
        }
        lost_bytes += other.lost_bytes;
        complete_events += other.complete_events;
    }

    const Entry& operator[](Defect defect) const noexcept {
        return entries_[static_cast<std::size_t>(defect)];
    }

    std::uint64_t lost_bytes = 0;
    std::uint64_t complete_events = 0;  ///< complete events met, kept or dropped

  private:
    std::array<Entry, static_cast<std::size_t>(Defect::count_)> entries_;
};

/// Turns a tally into diagnostics by the rules of spec 11, sections 3 and 7.
inline void add_diagnostics(Diagnostics& to, const ReadTally& tally) {
    const auto first_case = [](const ReadTally::Entry& entry, std::string_view what) {
        std::string text(what);
        text += ", first at byte " + std::to_string(entry.first_offset);
        if (!entry.first.empty()) text += ": " + entry.first;
        return text;
    };
    const auto raise = [&](const char* code, Defect defect, Verdict verdict, std::string_view what,
                           const char* remedy) {
        const ReadTally::Entry& entry = tally[defect];
        if (entry.count == 0) return;
        to.add({"trace_quality", code, verdict, entry.count, first_case(entry, what), remedy, {}, {}, {}});
    };

    const char* const re_export =
        "let the export finish and copy the file again; what could be read was kept";
    if (tally[Defect::lost_text].count != 0) {
        to.add({"trace_quality",
                "CORRUPT_JSON",
                Verdict::degraded,
                tally[Defect::lost_text].count,
                first_case(tally[Defect::lost_text], "unreadable stretches"),
                re_export,
                static_cast<double>(tally.lost_bytes),
                "bytes lost",
                {}});
    }
    raise("CORRUPT_JSON", Defect::repaired_string, Verdict::degraded,
          "strings with control characters, stray backslashes or bytes that are not UTF-8, kept", re_export);
    raise("CORRUPT_JSON", Defect::damaged_args, Verdict::degraded,
          "arguments whose brackets do not match, kept as text", re_export);
    raise("CORRUPT_JSON", Defect::trailing_comma, Verdict::degraded,
          "commas before a closing bracket, ignored", re_export);
    raise("CORRUPT_JSON", Defect::odd_comma, Verdict::degraded, "commas missing or doubled between events",
          re_export);
    raise("CORRUPT_JSON", Defect::not_finite_time, Verdict::degraded,
          "times that are not finite, events dropped", re_export);
    raise("TRUNCATED", Defect::cut_off_event, Verdict::degraded, "the input ends inside an event", re_export);
    raise("LONE_SURROGATE", Defect::lone_surrogate, Verdict::note, "half surrogate pairs, replaced", "");

    const char* const bad_remedy = "check the tool that wrote or cut the trace";
    const auto bad = [&](Defect defect, std::string_view what) {
        raise("BAD_EVENTS", defect, Verdict::note, what, bad_remedy);
        return tally[defect].count;
    };
    std::uint64_t bad_events = 0;
    bad_events += bad(Defect::no_time, "complete events without a usable ts, dropped");
    bad_events += bad(Defect::not_finite_time, "complete events whose times are not finite, dropped");
    bad_events += bad(Defect::bad_duration, "complete events without a usable dur, kept with zero duration");
    bad_events += bad(Defect::time_overflow, "complete events whose times are out of range, dropped");
    bad_events += bad(Defect::not_an_event, "elements that are no events, dropped");
    bad_events += bad(Defect::unnamed, "complete events without a name, kept");
    const bool many = bad_events * 100 > tally.complete_events;
    if (bad_events != 0 && many)
        to.add({"trace_quality", "BAD_EVENTS", Verdict::degraded, 0, "", bad_remedy, {}, {}, {}});
    raise("BAD_EVENTS", Defect::wrapped_duration, Verdict::degraded,
          "negative durations written as unsigned, events dropped",
          "update the profiler; its clocks went backwards");
    raise("NEGATIVE_DURATION", Defect::negative_duration, Verdict::degraded,
          "events that end before they start, counted as zero",
          "update the profiler; its clocks went backwards");
    raise("UNKNOWN_PHASE", Defect::unknown_phase, Verdict::note, "events of unknown phases, dropped", "");
}

}  // namespace tracelens
