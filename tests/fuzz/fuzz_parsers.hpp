// The tolerant parser beside the fast one: on flawless JSON they must find the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <tracelens/core/json_text.hpp>
#include <tracelens/read/tolerant_events.hpp>

#include "ensure.hpp"
#include "same_trace.hpp"

namespace fuzz {

using namespace tracelens;

/// Whether an independent parser finds no fault with `text`. It ends at a zero byte and skips a byte order
/// mark, which are faults here.
inline bool is_strict_json(std::string_view text) {
    if (text.find('\0') != std::string_view::npos || text.substr(0, 3) == "\xef\xbb\xbf") return false;
    return nlohmann::json::accept(text);
}

/// The inside of the event array of a flawless file.
inline std::optional<std::string_view> event_array(std::string_view text) {
    JsonScanner scanner(text);
    std::string_view key;
    std::string_view value;
    if (scanner.peek() == '[') {
        scanner.value(value);
        return value.substr(1, value.size() - 2);
    }
    if (!scanner.take('{')) return std::nullopt;
    while (scanner.peek() == '"') {
        if (scanner.key(key) != JsonScanner::Outcome::ok) return std::nullopt;
        if (scanner.value(value) != JsonScanner::Outcome::ok) return std::nullopt;
        if (key == "traceEvents" && value.front() == '[') return value.substr(1, value.size() - 2);
        if (!scanner.take(',')) return std::nullopt;
    }
    return std::nullopt;
}

/// Reads the event array of a flawless file with the tolerant parser. `whole` is the same file as the reader
/// has read it, with the fast parser if the build has it.
inline void fuzz_parsers(std::string_view bytes, const Trace& whole) {
    if (!is_strict_json(bytes)) return;
    const std::optional<std::string_view> events = event_array(bytes);
    if (!events) return;
    TraceBuilder builder;
    KinetoEvent event(builder);
    builder.begin_segment(0);
    const auto offset = static_cast<std::uint64_t>(events->data() - bytes.data());
    const TolerantOutcome outcome =
        TolerantEventParser(event, builder).parse(*events, offset, WindowEnd::behind_event, true);
    ensure(!outcome.cut_off && !outcome.after_array, "the tolerant parser reads flawless events to the end");
    Trace again = finish_trace(std::move(builder));
    add_diagnostics(again.diagnostics, event.tally);
    ensure_same_trace(again, whole);
    ensure_same_diagnostics(again, whole);
}

}  // namespace fuzz
