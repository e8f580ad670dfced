/// The tolerant parser: takes a stretch of the event array apart event by event, accepts what profilers
/// really write (see core/json_text.hpp), and finds the next event again behind text that it cannot read.
#pragma once

#include <optional>
#include <string_view>

#include <tracelens/read/kineto_event.hpp>
#include <tracelens/read/window_cutter.hpp>

namespace tracelens {

/// Keys that known writers put beside the event array.
inline constexpr std::array<std::string_view, 14> property_keys = {
    "schemaVersion",   "deviceProperties",    "traceName",         "trace_id",     "displayTimeUnit",
    "distributedInfo", "baseTimeNanoseconds", "record_shapes",     "with_stack",   "with_flops",
    "with_modules",    "profile_memory",      "roctracer_version", "cupti_version"};

/// Whether nothing but members of the top-level object, its bracket and white space stand from `at` on.
inline bool only_members_follow(std::string_view text, std::size_t at) {
    JsonScanner scanner(text, at);
    std::string_view key;
    std::string_view value;
    while (scanner.take(',')) {
        if (scanner.key(key) != JsonScanner::Outcome::ok || scanner.value(value) != JsonScanner::Outcome::ok)
            return false;
    }
    scanner.take('}');
    scanner.skip_space();
    return scanner.at_end();
}

/// Whether what follows the `]` at `at` fits the end of the event array: the end of the text, the end of the
/// top-level object, or another key of it. Keys that events have need the whole rest as proof; `whole`: no
/// text follows.
inline bool looks_like_array_end(std::string_view text, std::size_t at, bool top_level_array, bool whole) {
    std::size_t next = detail::skip_space(text, at + 1);
    if (next >= text.size()) return true;
    if (top_level_array) return text[next] == ',' && detail::skip_space(text, next + 1) >= text.size();
    if (text[next] == '}') return detail::skip_space(text, next + 1) >= text.size();
    if (text[next] != ',') return false;
    JsonScanner scanner(text, next + 1);
    std::string_view key;
    const JsonScanner::Outcome outcome = scanner.key(key);
    if (outcome == JsonScanner::Outcome::incomplete) return whole;
    if (outcome != JsonScanner::Outcome::ok) return false;
    const bool known = std::find(property_keys.begin(), property_keys.end(), key) != property_keys.end();
    return known || (whole && only_members_follow(text, next));
}

/// What stands at the end of a stretch of the event array.
enum class WindowEnd : std::uint8_t {
    behind_event,  ///< the stretch ends with an event
    before_event,  ///< another event follows, and the comma before it belongs to the stretch
    end_of_input,  ///< no text follows: the array may end in here
};

struct TolerantOutcome {
    /// Position behind the array's closing bracket, when it was met.
    std::optional<std::size_t> after_array;
    /// The text ended inside an event.
    bool cut_off = false;
};

class TolerantEventParser {
  public:
    TolerantEventParser(KinetoEvent& event, TraceBuilder& builder) : event_(event), builder_(builder) {}

    /// Parses `text`, which starts behind a comma or bracket of the array, at `offset` of the file's text.
    /// O(length).
    TolerantOutcome parse(std::string_view text, std::uint64_t offset, WindowEnd ending,
                          bool top_level_array) {
        const bool last = ending == WindowEnd::end_of_input;
        TolerantOutcome outcome;
        // Failed attempts may each run far ahead; the budget keeps the whole linear whatever the text.
        std::size_t budget = 16 * text.size() + (std::size_t{1} << 20);
        std::size_t at = 0;
        int commas = 1;  // since the last element; the text starts behind one
        while (true) {
            at = detail::skip_space(text, at);
            if (at >= text.size()) {
                const bool odd = commas > 1 || (ending == WindowEnd::before_event && commas == 0);
                if (odd) event_.tally.add(Defect::odd_comma, offset + at, "before an event");
                return outcome;
            }
            const char c = text[at];
            if (c == ',') {
                ++at;
                ++commas;
                continue;
            }
            if (c == ']' && last && looks_like_array_end(text, at, top_level_array, last)) {
                outcome.after_array = at + 1;
                if (commas > 0 && at > 0)
                    event_.tally.add(Defect::trailing_comma, offset + at, "behind the last event");
                return outcome;
            }
            if (commas != 1) event_.tally.add(Defect::odd_comma, offset + at, excerpt(text, at));
            commas = 0;
            const std::size_t begin = at;
            std::size_t reached = at;
            const Step step =
                c == '{' ? parse_event(text, at, offset, reached) : skip_element(text, at, offset, reached);
            if (step == Step::done) continue;
            std::size_t next = resume_at(text, begin + 1, last, top_level_array);
            const std::size_t cost = std::max(reached, next) - begin;
            if (cost > budget) next = text.size();
            budget -= std::min(budget, cost);
            if (step == Step::incomplete && next == text.size() && last) {
                outcome.cut_off = true;
                event_.tally.add(Defect::cut_off_event, offset + begin, excerpt(text, begin));
                return outcome;
            }
            builder_.next_event();
            event_.tally.add(Defect::lost_text, offset + begin, excerpt(text, begin));
            event_.tally.lost_bytes += next - begin;
            at = next;
            commas = 1;  // whatever there was is part of what was lost
        }
    }

  private:
    enum class Step : std::uint8_t { done, malformed, incomplete };

    static Step step(JsonScanner::Outcome outcome) noexcept {
        return outcome == JsonScanner::Outcome::incomplete ? Step::incomplete : Step::malformed;
    }

    /// Parses the object at `at` into the event; moves `at` behind it on success.
    Step parse_event(std::string_view text, std::size_t& at, std::uint64_t offset, std::size_t& reached) {
        JsonScanner scanner(text, at);
        event_.begin(offset + at);
        const Step step = parse_fields(scanner);
        reached = scanner.position();
        if (step != Step::done) return step;
        at = reached;
        builder_.next_event();
        event_.add_flaws(scanner.flaws());
        event_.finish();
        return Step::done;
    }

    Step parse_fields(JsonScanner& scanner) {
        using Outcome = JsonScanner::Outcome;
        scanner.take('{');
        if (!scanner.take('}')) {
            while (true) {
                std::string_view key;
                if (const Outcome outcome = scanner.key(key); outcome != Outcome::ok) return step(outcome);
                const bool is_args = key == "args" && scanner.peek() == '{';
                if (is_args) {
                    if (const Step args = parse_args(scanner); args != Step::done) return args;
                } else {
                    std::string_view raw;
                    if (const Outcome outcome = scanner.value(raw); outcome != Outcome::ok)
                        return step(outcome);
                    event_.field(key, raw);
                }
                if (scanner.take('}')) return Step::done;
                if (!scanner.take(',')) return scanner.at_end() ? Step::incomplete : Step::malformed;
                if (scanner.take('}')) {
                    scanner.add_flaws(json_trailing_comma);
                    return Step::done;
                }
            }
        }
        return Step::done;
    }

    Step parse_args(JsonScanner& scanner) {
        using Outcome = JsonScanner::Outcome;
        scanner.take('{');
        if (scanner.take('}')) return Step::done;
        while (true) {
            std::string_view key;
            std::string_view raw;
            if (const Outcome outcome = scanner.key(key); outcome != Outcome::ok) return step(outcome);
            if (const Outcome outcome = scanner.value(raw); outcome != Outcome::ok) return step(outcome);
            event_.arg(key, raw);
            if (scanner.take('}')) return Step::done;
            if (!scanner.take(',')) return scanner.at_end() ? Step::incomplete : Step::malformed;
            if (scanner.take('}')) {
                scanner.add_flaws(json_trailing_comma);
                return Step::done;
            }
        }
    }

    /// An array element that is no object: counted and passed over.
    Step skip_element(std::string_view text, std::size_t& at, std::uint64_t offset, std::size_t& reached) {
        JsonScanner scanner(text, at);
        std::string_view raw;
        const JsonScanner::Outcome outcome = scanner.value(raw);
        reached = scanner.position();
        if (outcome != JsonScanner::Outcome::ok) return step(outcome);
        const char next = scanner.peek();
        if (next != ',' && next != ']' && !scanner.at_end()) return Step::malformed;
        builder_.next_event();
        event_.tally.add(Defect::not_an_event, offset + at, raw);
        at = scanner.position();
        return Step::done;
    }

    /// Where to go on after unreadable text: the next event, or the end of the array if that comes first.
    static std::size_t resume_at(std::string_view text, std::size_t from, bool last, bool top_level_array) {
        std::size_t next = find_event_start(text, from);
        if (!last) return next == std::string_view::npos ? text.size() : next;
        if (next == std::string_view::npos) next = text.size();
        // The array's end is told from other brackets by a known key behind it.
        for (std::size_t at = text.find(']', from); at < next; at = text.find(']', at + 1)) {
            if (top_level_array || !known_property_follows(text, at)) continue;
            return at;
        }
        return next;
    }

    static bool known_property_follows(std::string_view text, std::size_t bracket) {
        JsonScanner scanner(text, bracket + 1);
        std::string_view key;
        return scanner.take(',') && scanner.key(key) == JsonScanner::Outcome::ok &&
               std::find(property_keys.begin(), property_keys.end(), key) != property_keys.end();
    }

    static std::string_view excerpt(std::string_view text, std::size_t at) { return text.substr(at, 60); }

    KinetoEvent& event_;
    TraceBuilder& builder_;
};

}  // namespace tracelens
