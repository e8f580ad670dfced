/// Bodies of read/kineto.hpp.
#pragma once

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracelens/core/inline.hpp>
#include <tracelens/core/parallel.hpp>
#include <tracelens/read/kineto.hpp>
#include <tracelens/read/tolerant_events.hpp>

#if TRACELENS_WITH_SIMDJSON
#include <tracelens/read/simdjson_events.hpp>
#endif

namespace tracelens {

namespace detail {

/// A stretch of the event array on its way to a worker, in a buffer that the worker keeps for the next one.
class Window {
  public:
    /// Room before the text for the bracket that makes it an array, and behind it for wide loads.
    static constexpr std::size_t margin = 128;

    std::uint64_t sequence = 0;
    std::uint64_t offset = 0;  ///< of the text in the file's text
    bool suspect = false;      ///< damage is known: leave it to the tolerant parser
    bool last = false;         ///< no text of the file follows

    char* text() noexcept { return buffer_.data() + margin; }
    std::string_view view() const noexcept { return {buffer_.data() + margin, size_}; }
    std::size_t size() const noexcept { return size_; }
    std::size_t capacity() const noexcept {
        return buffer_.size() < 2 * margin ? 0 : buffer_.size() - 2 * margin;
    }

    void reserve(std::size_t capacity_wanted) {
        if (capacity_wanted > capacity()) buffer_.resize(capacity_wanted + 2 * margin);
    }
    void resize(std::size_t size) noexcept { size_ = size; }

    /// The text as a JSON array. Overwrites the byte before and the byte behind it.
    std::string_view as_array() noexcept {
        text()[-1] = '[';
        text()[size_] = ']';
        return {text() - 1, size_ + 2};
    }

  private:
    std::vector<char> buffer_;
    std::size_t size_ = 0;
};

/// Hands out windows in file order, one caller at a time, and keeps what surrounds the event array.
class WindowFeed {
  public:
    WindowFeed(ByteSource& source, const ReadOptions& options) : source_(source), options_(options) {}

    /// Moves to the first event. Returns a failure when there is no event array.
    std::optional<Failure> open(const std::string& name) {
        Window head;
        while (true) {
            const bool grew = read_more(head, std::max<std::size_t>(std::size_t{1} << 16, head.size()));
            std::optional<std::size_t> start;
            const Header header = read_header(head.view(), start);
            const bool begins_as_json = looks_like_json(head.view());
            if (header == Header::damaged && begins_as_json) start = find_array_by_key(head.view());
            const std::size_t limit = begins_as_json ? header_limit : odd_header_limit;
            const bool more_may_help = header != Header::without_array && grew && head.size() <= limit;
            if (!start && !more_may_help) {
                if (header == Header::incomplete) start = find_array_by_key(head.view());
                if (!start && (header != Header::without_array || other_array_))
                    start = find_array_by_events(head.view());
                if (!start) return describe_failure(head.view(), name);
            }
            if (start) {
                properties_before.assign(head.view().substr(0, *start));
                carry_.assign(head.view().substr(*start));
                offset_ = *start;
                return std::nullopt;
            }
        }
    }

    /// Fills `window` with the next stretch; false when there is none.
    bool next(Window& window) {
        const std::lock_guard<std::mutex> lock(guard_);
        if (finished_) return false;
        if (options_.progress)
            options_.progress({"reading", source_.stored_position(), source_.stored_size()});
        fetch(window);
        window.sequence = sequence_++;
        return true;
    }

    bool top_level_array() const noexcept { return top_level_array_; }
    std::uint64_t text_bytes() const noexcept { return text_bytes_; }

    std::string properties_before;  ///< text before the event array
    std::string properties_after;   ///< text behind it
    bool array_closed = false;
    bool header_damaged = false;
    bool trailing_comma = false;

  private:
    /// Reads `size` more bytes behind the window's text; false at the end of the input.
    bool read_more(Window& window, std::size_t size) {
        if (at_end_) return false;
        window.reserve(window.size() + size);
        const std::size_t got = read_fully(source_, window.text() + window.size(), size);
        window.resize(window.size() + got);
        text_bytes_ += got;
        if (got < size) at_end_ = true;
        return got != 0;
    }

    static bool looks_like_json(std::string_view text) noexcept {
        const std::size_t at = skip_space(text, skip_byte_order_mark(text));
        return at >= text.size() || text[at] == '{' || text[at] == '[';
    }

    static std::size_t skip_byte_order_mark(std::string_view text) noexcept {
        return text.substr(0, 3) == "\xef\xbb\xbf" ? 3 : 0;
    }

    /// How far the text before the event array could be read.
    enum class Header : std::uint8_t {
        whole,          ///< up to the first element of the array
        incomplete,     ///< up to the end of the text
        damaged,        ///< something in it is no JSON
        without_array,  ///< the top-level value ends, and there was no event array
    };

    /// Walks over the keys before the event array; `start` is where its first element starts.
    Header read_header(std::string_view text, std::optional<std::size_t>& start) {
        using Outcome = JsonScanner::Outcome;
        const auto unfinished = [this](Outcome outcome) {
            return outcome == Outcome::incomplete && !at_end_ ? Header::incomplete : Header::damaged;
        };
        JsonScanner scanner(text, skip_byte_order_mark(text));
        if (scanner.take('[')) {
            const char first = scanner.peek();
            if (first == '\0' && !at_end_) return Header::incomplete;
            if (first != '{' && first != ']' && first != '\0') return Header::damaged;
            top_level_array_ = true;
            start = scanner.position();
            return Header::whole;
        }
        if (!scanner.take('{')) return scanner.at_end() && !at_end_ ? Header::incomplete : Header::damaged;
        while (scanner.peek() == '"') {
            std::string_view key;
            if (const Outcome outcome = scanner.key(key); outcome != Outcome::ok) return unfinished(outcome);
            if (key == "traceEvents") {
                if (scanner.take('[')) {
                    start = scanner.position();
                    return Header::whole;
                }
                if (scanner.at_end() && !at_end_) return Header::incomplete;
            }
            other_array_ = other_array_ || scanner.peek() == '[';
            std::string_view value;
            if (const Outcome outcome = scanner.value(value); outcome != Outcome::ok)
                return unfinished(outcome);
            if (!scanner.take(',')) break;
        }
        const bool closed = scanner.take('}');
        scanner.skip_space();
        if (scanner.at_end() && !at_end_) return Header::incomplete;
        return closed && scanner.at_end() ? Header::without_array : Header::damaged;
    }

    /// The array behind damaged properties: by the text of its key.
    std::optional<std::size_t> find_array_by_key(std::string_view text) {
        constexpr std::string_view key = "\"traceEvents\"";
        for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
            JsonScanner scanner(text, at + key.size());
            if (scanner.take(':') && scanner.take('[')) {
                header_damaged = true;
                return scanner.position();
            }
        }
        return std::nullopt;
    }

    /// The array whose key or bracket is damaged: by the first object that has a phase.
    std::optional<std::size_t> find_array_by_events(std::string_view text) {
        const std::size_t at = find_event_with_phase(text, 0);
        if (at == std::string_view::npos) return std::nullopt;
        header_damaged = true;
        return at;
    }

    std::optional<Failure> describe_failure(std::string_view text, const std::string& name) const {
        const std::size_t at = skip_space(text, skip_byte_order_mark(text));
        std::string reason = "no event array";
        const char* remedy = "give a trace as written by torch.profiler's export_chrome_trace";
        const auto starts_with = [&](std::string_view what) { return text.substr(at, what.size()) == what; };
        if (!source_.damage().empty()) {
            reason = std::string(source_.damage()) + ", and no event array before that";
            remedy = "copy the file again";
        } else if (at >= text.size()) {
            reason = "the file is empty";
            remedy = "wait until the profiler has finished its export";
        } else if (starts_with("PK\x03\x04")) {
            reason = "this is a zip archive";
            remedy = "unpack it and give the trace inside";
        } else if (starts_with("\x28\xb5\x2f\xfd")) {
            reason = "this is zstd-compressed data";
            remedy = "unpack it with zstd -d first";
        } else if (starts_with("<")) {
            reason = "this looks like HTML or XML, not like a trace";
            remedy = "download the raw file, not the page that shows it";
        } else if (text.find("\"rocprofiler-sdk-tool\"") != std::string_view::npos) {
            reason = "this is rocprofv3 output, which this version does not read";
        } else if (text[at] == '{' || text[at] == '[') {
            reason = "JSON without an array \"traceEvents\"";
        } else if (text.find('\0') != std::string_view::npos) {
            reason = "this is binary data, not JSON";
        } else {
            reason = "this is text, but not JSON";
        }
        return Failure{ErrorCode::not_a_trace, name, reason, remedy, at, {}};
    }

    void fetch(Window& window) {
        window.reserve(std::max(options_.window_bytes, carry_.size()));
        std::memcpy(window.text(), carry_.data(), carry_.size());
        window.resize(carry_.size());
        window.offset = offset_;
        window.suspect = false;
        window.last = false;
        if (window.size() < options_.window_bytes) read_more(window, options_.window_bytes - window.size());
        while (true) {
            const Cut cut = find_cut(window.view(), at_end_);
            const std::string_view text = window.view();
            if (cut.kind == Cut::Kind::end_of_array) {
                // Enough behind the bracket to judge it by.
                if (!at_end_ && text.size() - cut.next < array_end_context) {
                    read_more(window, options_.window_bytes);
                    continue;
                }
                if (looks_like_array_end(text, cut.next, top_level_array_, at_end_)) {
                    finish_array(window, cut);
                    return;
                }
            }
            if (cut.kind == Cut::Kind::event && !(at_end_ && cut.next >= text.size())) {
                pass_on(window, cut.end, cut.next);
                return;
            }
            if (cut.kind == Cut::Kind::event) {
                trailing_comma = cut.trailing_comma;
                finish_open_array(window, cut.end);
                return;
            }
            // No event boundary where parity and depth say, or none at all: go by the look of events, once
            // there is more text than any ordinary event has.
            const bool doubtful = cut.kind != Cut::Kind::none || text.size() >= 2 * options_.window_bytes;
            if (doubtful) {
                const std::size_t start = find_last_event_start(text, cut.end);
                if (start != std::string_view::npos && start > 0) {
                    window.suspect = true;
                    pass_on(window, start, start);
                    return;
                }
            }
            if (at_end_ || text.size() > options_.max_event_bytes) {
                window.suspect = true;
                finish_or_give_up(window);
                return;
            }
            read_more(window, text.size());
        }
    }

    /// The window is `[0, end)`; what follows from `next` on is kept for the window after it.
    void pass_on(Window& window, std::size_t end, std::size_t next) {
        carry_.assign(window.view().substr(next));
        offset_ += next;
        window.resize(end);
    }

    void finish_array(Window& window, const Cut& cut) {
        properties_after.assign(window.view().substr(cut.next + 1));
        while (!at_end_ && properties_after.size() < options_.max_event_bytes) {
            const std::size_t have = properties_after.size();
            properties_after.resize(have + (std::size_t{1} << 16));
            const std::size_t got =
                read_fully(source_, properties_after.data() + have, properties_after.size() - have);
            properties_after.resize(have + got);
            text_bytes_ += got;
            at_end_ = got == 0;
        }
        trailing_comma = cut.trailing_comma;
        array_closed = true;
        finished_ = true;
        window.resize(cut.end);
    }

    /// The input ends behind a whole event.
    void finish_open_array(Window& window, std::size_t end) {
        finished_ = true;
        window.last = true;
        window.resize(end);
    }

    /// All that is left is one stretch without boundaries.
    void finish_or_give_up(Window& window) {
        carry_.clear();
        offset_ += window.size();
        finished_ = at_end_;
        window.last = at_end_;
    }

    static constexpr std::size_t array_end_context = 256;
    static constexpr std::size_t header_limit = std::size_t{1}
                                                << 26;  // no known writer has more before the events
    static constexpr std::size_t odd_header_limit = std::size_t{1}
                                                    << 20;  // of text that does not begin as JSON does

    std::mutex guard_;
    ByteSource& source_;
    const ReadOptions& options_;
    std::string carry_;         // text read but not handed out
    std::uint64_t offset_ = 0;  // of carry_ in the file's text
    std::uint64_t text_bytes_ = 0;
    std::uint64_t sequence_ = 0;
    bool at_end_ = false;
    bool finished_ = false;
    bool top_level_array_ = false;
    bool other_array_ = false;  // a top-level key other than traceEvents holds an array
};

/// One worker's state.
class WindowWorker {
  public:
    explicit WindowWorker(Timestamps timestamps) : builder(timestamps), event_(builder) {}

    void run(WindowFeed& feed) {
        while (feed.next(window_)) {
            builder.begin_segment(window_.sequence);
            if (window_.size() == 0 || parse_fast()) {
                merge_tally();
                continue;
            }
            builder.roll_back_segment();
            event_.tally = {};
            // A suspect window is cut in front of an event, so it ends with the comma before that.
            const WindowEnd ending = window_.last      ? WindowEnd::end_of_input
                                     : window_.suspect ? WindowEnd::before_event
                                                       : WindowEnd::behind_event;
            const TolerantOutcome outcome =
                TolerantEventParser(event_, builder)
                    .parse(window_.view(), window_.offset, ending, feed.top_level_array());
            cut_off = cut_off || outcome.cut_off;
            if (outcome.after_array)
                properties_after = std::string(window_.view().substr(*outcome.after_array));
            merge_tally();
        }
    }

    TraceBuilder builder;
    ReadTally tally;
    bool cut_off = false;
    std::optional<std::string> properties_after;  ///< when the tolerant parser met the end of the array

  private:
    bool parse_fast() {
#if TRACELENS_WITH_SIMDJSON
        static_assert(SimdjsonEventParser::padding <= Window::margin - 1);
        return !window_.suspect && simdjson_.parse(window_.as_array(), window_.offset - 1);
#else
        return false;
#endif
    }

    void merge_tally() {
        tally.merge(event_.tally);
        event_.tally = {};
    }

    Window window_;
    KinetoEvent event_;
#if TRACELENS_WITH_SIMDJSON
    SimdjsonEventParser simdjson_{event_, builder};
#endif
};

/// How far the members of the top-level object could be read.
enum class Members : std::uint8_t { whole, unfinished, damaged };

/// Adds the keys of `text`: members of the top-level object, up to its closing brace or to the key of the
/// event array.
inline Members add_properties(std::vector<Property>& to, std::string_view text) {
    std::unordered_map<std::string, std::size_t> position;
    for (std::size_t i = 0; i < to.size(); ++i) position.emplace(to[i].key, i);
    using Outcome = JsonScanner::Outcome;
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.substr(0, byte_order_mark.size()) == byte_order_mark) text.remove_prefix(byte_order_mark.size());
    JsonScanner scanner(text);
    scanner.take('{');
    scanner.take(',');
    std::string key_text;
    while (scanner.peek() == '"') {
        std::string_view key;
        std::string_view value;
        Outcome outcome = scanner.key(key);
        if (outcome == Outcome::ok && key == "traceEvents") return Members::whole;
        if (outcome == Outcome::ok) outcome = scanner.value(value);
        if (outcome != Outcome::ok)
            return outcome == Outcome::incomplete ? Members::unfinished : Members::damaged;
        decode_json_string(key, key_text);
        std::string json;
        append_compact_json(json, value);
        const auto [known, is_new] = position.emplace(key_text, to.size());
        if (is_new)
            to.push_back({key_text, std::move(json)});
        else
            to[known->second].json = std::move(json);  // of equal keys the last one counts
        if (!scanner.take(',')) break;
    }
    if (!scanner.take('}')) return scanner.at_end() ? Members::unfinished : Members::damaged;
    scanner.skip_space();
    return scanner.at_end() ? Members::whole : Members::damaged;
}

}  // namespace detail

TRACELENS_INLINE Result<Trace> try_read_kineto(std::unique_ptr<ByteSource> source, const std::string& name,
                                               const ReadOptions& options) {
    detail::WindowFeed feed(*source, options);
    if (std::optional<Failure> failure = feed.open(name)) return *std::move(failure);

    const unsigned threads = resolve_threads(options.threads);
    std::vector<std::unique_ptr<detail::WindowWorker>> workers;
    for (unsigned i = 0; i < threads; ++i)
        workers.push_back(std::make_unique<detail::WindowWorker>(options.timestamps));
    run_workers(threads, [&](unsigned worker) { workers[worker]->run(feed); });

    ReadTally tally;
    std::vector<TraceBuilder> builders;
    std::uint64_t events = 0;
    bool cut_off = false;
    for (const auto& worker : workers) {
        tally.merge(worker->tally);
        cut_off = cut_off || worker->cut_off;
        events += worker->builder.event_count() + ChunkedColumn<int>::block_size;
        if (worker->properties_after) {
            feed.properties_after = *std::move(worker->properties_after);
            feed.array_closed = true;
        }
        builders.push_back(std::move(worker->builder));
    }
    workers.clear();
    if (events >= no_event) {
        return Failure{ErrorCode::limit_exceeded, name, "more than 2^32 complete events",
                       "split the trace",         {},   {}};
    }

    if (options.progress) options.progress({"ordering events", source->stored_size(), source->stored_size()});
    Trace trace = finish_trace(std::move(builders),
                               [&](std::size_t count, const std::function<void(std::size_t)>& task) {
                                   parallel_for(count, 1, threads, [&](std::size_t begin, std::size_t end) {
                                       for (std::size_t i = begin; i < end; ++i) task(i);
                                   });
                               });
    trace.path = name;
    trace.format = feed.top_level_array() ? "chrome-json-array" : "kineto-json";
    trace.stored_bytes = source->stored_size();
    trace.text_bytes = feed.text_bytes();

    using detail::Members;
    const bool object = !feed.top_level_array();
    const Members head =
        object ? detail::add_properties(trace.properties, feed.properties_before) : Members::whole;
    const Members tail = object && feed.array_closed
                             ? detail::add_properties(trace.properties, feed.properties_after)
                             : Members::whole;
    if (feed.trailing_comma) tally.add(Defect::trailing_comma, feed.text_bytes(), "behind the last event");
    if (feed.header_damaged || head != Members::whole)
        tally.add(Defect::lost_text, 0, "the keys before the event array");
    if (tail == Members::damaged)
        tally.add(Defect::lost_text, feed.text_bytes(), "the keys behind the event array");
    add_diagnostics(trace.diagnostics, tally);

    const bool torn = source->torn();
    if (torn || !feed.array_closed || tail == Members::unfinished) {
        std::string what = "the input ends before its closing brackets, after " +
                           std::to_string(feed.text_bytes()) + " bytes of text";
        if (!source->damage().empty()) what += "; " + std::string(source->damage());
        trace.diagnostics.add({"trace_quality",
                               "TRUNCATED",
                               Verdict::degraded,
                               cut_off ? 0U : 1U,
                               what,
                               "let the export finish and copy the file again; what could be read was kept",
                               {},
                               {},
                               {}});
    }
    if (!torn && !source->damage().empty()) {
        trace.diagnostics.add({"trace_quality",
                               "CORRUPT_JSON",
                               Verdict::degraded,
                               1,
                               std::string(source->damage()),
                               "copy the file again",
                               {},
                               {},
                               {}});
    }
    if (source->trailing_bytes() != 0) {
        trace.diagnostics.add({"trace_quality",
                               "TRAILING_BYTES",
                               Verdict::note,
                               source->trailing_bytes(),
                               "bytes behind the compressed data, ignored",
                               "",
                               {},
                               {},
                               {}});
    }
    return trace;
}

}  // namespace tracelens
