/// Turns the fields of one trace event, given as raw JSON text, into rows of a `TraceBuilder`. It does not
/// parse: the fast and the tolerant parser both feed it. (Format: spec 01, section 3.)
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracelens/core/decimal.hpp>
#include <tracelens/core/json_text.hpp>
#include <tracelens/model/trace_builder.hpp>
#include <tracelens/read/arg_slots.hpp>
#include <tracelens/read/read_tally.hpp>
#include <tracelens/read/window_cutter.hpp>

namespace tracelens {

namespace detail {

/// Members of a JSON object as text. A plain growing array: clearing and filling it is the reader's hottest
/// loop.
class RawMembers {
  public:
    using Member = std::pair<std::string_view, std::string_view>;

    void push_back(std::string_view key, std::string_view raw) {
        if (size_ == members_.size()) grow();
        members_[size_++] = {key, raw};
    }
    void clear() noexcept { size_ = 0; }
    std::size_t size() const noexcept { return size_; }
    const Member* begin() const noexcept { return members_.data(); }
    const Member* end() const noexcept { return members_.data() + size_; }

  private:
    [[gnu::noinline]] void grow() { members_.resize(members_.size() * 2); }

    std::vector<Member> members_ = std::vector<Member>(64);
    std::size_t size_ = 0;
};

constexpr bool is_quoted(std::string_view raw) noexcept {
    return raw.size() >= 2 && raw.front() == '"' && raw.back() == '"';
}

/// The inside of a JSON string, or the text itself.
constexpr std::string_view unquoted(std::string_view raw) noexcept {
    return is_quoted(raw) ? raw.substr(1, raw.size() - 2) : raw;
}

}  // namespace detail

class KinetoEvent {
  public:
    explicit KinetoEvent(TraceBuilder& builder) : builder_(builder) {}

    /// Starts an event whose text begins at `offset` of the file's text.
    void begin(std::uint64_t offset) noexcept {
        offset_ = offset;
        phase_ = name_ = category_ = pid_ = tid_ = time_ = duration_ = id_ = bind_ = scope_ = {};
        args_.clear();
        flaws_ = 0;
    }

    /// A top-level field other than `args`. `key` is the inside of the key's string; `raw` is the value's
    /// JSON text. Both must live until `finish`.
    void field(std::string_view key, std::string_view raw) noexcept {
        switch (key.size()) {
            case 1:
                if (key[0] == 's')
                    put(scope_, raw);
                else
                    note_bad_word(raw);
                break;
            case 2:
                if (key[0] == 'p' && key[1] == 'h')
                    put(phase_, raw);
                else if (key[0] == 't' && key[1] == 's')
                    put(time_, raw);
                else if (key[0] == 'i' && key[1] == 'd')
                    put(id_, raw);
                else if (key[0] == 'b' && key[1] == 'p')
                    put(bind_, raw);
                break;
            case 3:
                if (key[0] == 'd' && key[1] == 'u' && key[2] == 'r')
                    put(duration_, raw);
                else if (key[0] == 'c' && key[1] == 'a' && key[2] == 't')
                    put(category_, raw);
                else if (key[1] != 'i' || key[2] != 'd')
                    break;
                else if (key[0] == 'p')
                    put(pid_, raw);
                else if (key[0] == 't')
                    put(tid_, raw);
                break;
            case 4:
                if (key == "name") put(name_, raw);
                break;
            default: note_bad_word(raw); break;
        }
    }

    /// A member of `args`.
    void arg(std::string_view key, std::string_view raw) { args_.push_back(key, raw); }

    /// Flaws that the parser met in the event's text.
    void add_flaws(unsigned flaws) noexcept { flaws_ |= flaws; }

    /// Interprets the fields and adds the event to the builder.
    void finish() {
        if (name_ == "null") name_ = {};
        if (category_ == "null") category_ = {};
        const std::string_view phase = detail::unquoted(phase_);
        const char code = phase.size() == 1 ? phase[0] : '\0';
        switch (code) {
            case 'X': finish_complete(); break;
            case 'B':
            case 'E': finish_span(code); break;
            case 's':
            case 't':
            case 'f': finish_flow(code); break;
            case 'i':
            case 'I':
            case 'R': finish_instant(code); break;
            case 'M': finish_metadata(); break;
            case 'C': finish_other(code, &TraceBuilder::add_counter); break;
            case 'P': finish_other(code, &TraceBuilder::add_sample); break;
            case 'N':
            case 'O':
            case 'D': finish_other(code, &TraceBuilder::add_object); break;
            case 'b':
            case 'n':
            case 'e':
            case 'S':
            case 'T':
            case 'p':
            case 'F': finish_other(code, &TraceBuilder::add_async); break;
            case '\0': tally.add(Defect::not_an_event, offset_, "no phase"); break;
            default: tally.add(Defect::unknown_phase, offset_, phase); break;
        }
        note_unread_words();
        tally.add_flaws(flaws_, offset_, name_);
    }

    ReadTally tally;

  private:
    enum class TimeStatus : std::uint8_t { ok, missing, not_finite, out_of_range };

    /// Beyond this many nanoseconds (73 years) an end less the first start might leave 64 bits.
    static constexpr std::int64_t time_limit = std::int64_t{1} << 61;
    static constexpr double time_limit_us = 2.3e15;

    TimeStatus read_time(std::string_view raw, TimeWord& word) const noexcept {
        const std::string_view token = detail::unquoted(raw);
        if (token.empty() || token == "null") return TimeStatus::missing;
        if (builder_.timestamps() == Timestamps::exact) {
            const ScaledDecimal time = parse_scaled(token, 3);
            if (time.status == DecimalStatus::not_a_number) return TimeStatus::missing;
            if (time.status == DecimalStatus::not_finite) return TimeStatus::not_finite;
            if (time.status == DecimalStatus::too_large || time.value > time_limit ||
                time.value < -time_limit) {
                return TimeStatus::out_of_range;
            }
            word = time.value;
            return TimeStatus::ok;
        }
        const std::optional<double> time = parse_double(token);
        if (!time) return TimeStatus::missing;
        if (!(*time - *time == 0)) return TimeStatus::not_finite;
        if (*time > time_limit_us || *time < -time_limit_us) return TimeStatus::out_of_range;
        word = time_from_us(Timestamps::reference, *time);
        return TimeStatus::ok;
    }

    bool is_negative(TimeWord word) const noexcept {
        return builder_.timestamps() == Timestamps::exact ? word < 0 : std::bit_cast<double>(word) < 0;
    }

    /// Whether a too large duration is a small negative one in disguise: within an hour of 2^64 nanoseconds.
    static bool is_wrapped(std::string_view raw) noexcept {
        const std::optional<double> us = parse_double(detail::unquoted(raw));
        constexpr double wrap_us = 18446744073709551.616;
        return us && *us > wrap_us - 3.6e9 && *us <= wrap_us;
    }

    /// Of equal keys the last one counts.
    void put(std::string_view& field, std::string_view raw) noexcept {
        if (!field.empty()) note_bad_word(field);
        field = raw;
    }

    /// Text that is no JSON value where a number belongs is damage, and not only an odd value.
    void note_bad_word(std::string_view raw) noexcept {
        const bool is_word = !raw.empty() && raw.front() != '"' && raw.front() != '{' && raw.front() != '[';
        if (is_word) flaws_ |= detail::word_flaws(raw) & json_structure;
    }

    /// The fields that not every phase has, and that nothing else has looked at.
    void note_unread_words() noexcept {
        for (const std::string_view raw : {phase_, id_, bind_, scope_}) note_bad_word(raw);
    }

    /// The event's start; false when it must be dropped.
    bool read_start(TimeWord& start) {
        const TimeStatus status = read_time(time_, start);
        if (status == TimeStatus::ok) return true;
        if (status == TimeStatus::missing) note_bad_word(time_);
        const Defect defect = status == TimeStatus::missing      ? Defect::no_time
                              : status == TimeStatus::not_finite ? Defect::not_finite_time
                                                                 : Defect::time_overflow;
        tally.add(defect, offset_, detail::unquoted(name_));
        return false;
    }

    /// The event's duration; false when it must be dropped.
    bool read_duration(TimeWord& duration) {
        const std::string_view name = detail::unquoted(name_);
        switch (read_time(duration_, duration)) {
            case TimeStatus::ok: break;
            case TimeStatus::missing:
                note_bad_word(duration_);
                tally.add(Defect::bad_duration, offset_, name);
                duration = time_from_ns(builder_.timestamps(), 0);
                return true;
            case TimeStatus::not_finite: tally.add(Defect::not_finite_time, offset_, name); return false;
            case TimeStatus::out_of_range:
                tally.add(is_wrapped(duration_) ? Defect::wrapped_duration : Defect::time_overflow, offset_,
                          name);
                return false;
        }
        if (is_negative(duration)) {
            tally.add(Defect::negative_duration, offset_, name);
            duration = time_from_ns(builder_.timestamps(), 0);
        }
        return true;
    }

    void finish_complete() {
        ++tally.complete_events;
        CompleteEvent event;
        if (!read_start(event.start) || !read_duration(event.duration)) return;
        if (name_.empty()) tally.add(Defect::unnamed, offset_, category_);
        fill(event);
        builder_.add(event);
        builder_.count_phase('X');
    }

    void finish_span(char phase) {
        CompleteEvent event;
        if (!read_start(event.start)) return;
        fill(event);
        if (phase == 'B') {
            ++tally.complete_events;
            builder_.begin_span(event);
        } else {
            builder_.end_span(event.start, event.track);
        }
        builder_.count_phase(phase);
    }

    void fill(CompleteEvent& event) {
        event.name = string(name_);
        std::tie(event.category, event.kind) = category();
        sort_args(event);
        event.track = track(is_on_device(event.kind), is_gpu_work(event.kind));
    }

    void finish_flow(char phase) {
        Flow flow;
        if (!read_start(flow.time)) return;
        flow.phase = phase;
        flow.id = flow_id();
        flow.binds_enclosing = detail::unquoted(bind_) == "e";
        flow.name = string(name_);
        flow.category = string(category_);
        sort_args_of_side_event();
        flow.track = track(false);
        builder_.add(flow);
        builder_.count_phase(phase);
    }

    void finish_instant(char phase) {
        Instant instant;
        if (!read_start(instant.time)) return;
        const std::string_view name = detail::unquoted(name_);
        if (name == "[memory]") {
            finish_memory_event(instant.time, phase);
            return;
        }
        instant.name = string(name_);
        instant.category = string(category_);
        instant.args = sort_args_of_side_event();
        instant.track = track(false);
        const std::string_view scope = detail::unquoted(scope_);
        instant.scope = scope.empty() ? 't' : scope[0];
        builder_.add(instant);
        builder_.count_phase(phase);
    }

    void finish_memory_event(TimeWord time, char phase) {
        MemoryEvent event;
        event.time = time;
        for (const auto& [key, raw] : args_) {
            switch (detail::arg_slot(key)) {
                case detail::ArgSlot::bytes: event.bytes = integer(raw); break;
                case detail::ArgSlot::address: event.address = integer(raw); break;
                case detail::ArgSlot::total_allocated: event.total_allocated = integer(raw); break;
                case detail::ArgSlot::total_reserved: event.total_reserved = integer(raw); break;
                case detail::ArgSlot::device_id: event.device = small_integer(raw); break;
                case detail::ArgSlot::device_type: event.device_type = small_integer(raw); break;
                case detail::ArgSlot::rank: rank_ = integer(raw); break;
                default: break;
            }
        }
        event.track = track(false);
        builder_.add(event);
        builder_.count_phase(phase);
    }

    void finish_metadata() {
        MetadataEvent event;
        event.name = string(name_);
        event.args = sort_args_of_side_event();
        event.track = track(false);
        builder_.add(event);
        builder_.count_phase('M');
    }

    void finish_other(char phase, void (TraceBuilder::*add)(OtherEvent)) {
        OtherEvent event;
        if (!read_start(event.time)) return;
        event.phase = phase;
        event.id = id_.empty() ? no_number : flow_id();
        event.name = string(name_);
        event.category = string(category_);
        event.args = sort_args_of_side_event();
        event.track = track(false);
        (builder_.*add)(event);
        builder_.count_phase(phase);
    }

    std::int64_t integer(std::string_view raw) noexcept {
        const std::optional<std::int64_t> value = parse_integer(detail::unquoted(raw));
        if (!value) note_bad_word(raw);
        return value.value_or(no_number);
    }

    std::int32_t small_integer(std::string_view raw) noexcept {
        const std::int64_t value = integer(raw);
        const bool fits = value > no_small_number && value <= std::numeric_limits<std::int32_t>::max();
        return fits ? static_cast<std::int32_t>(value) : no_small_number;
    }

    std::int64_t flow_id() noexcept {
        const std::string_view token = detail::unquoted(id_);
        if (const std::optional<std::int64_t> id = parse_integer(token)) return *id;
        note_bad_word(id_);
        return static_cast<std::int64_t>(hash_bytes(token));
    }

    /// Spreads the arguments over the fields of the event's kind; what is left becomes its signature.
    void sort_args(CompleteEvent& event) {
        device_ = stream_ = rank_ = no_number;
        const bool on_device = is_on_device(event.kind);
        const FieldFamily family = field_family(event.kind);
        const bool op = family == FieldFamily::op;
        const bool frame = family == FieldFamily::frame;
        const bool launch = family == FieldFamily::launch;
        shared_args_.clear();
        for (const auto& [key, raw] : args_) {
            using detail::ArgSlot;
            bool taken = true;
            switch (detail::arg_slot(key)) {
                case ArgSlot::external_id:
                    taken = op || launch;
                    if (op) event.op.external_id = integer(raw);
                    if (launch) event.launch.external_id = integer(raw);
                    break;
                case ArgSlot::ev_idx:
                    taken = op || frame;
                    if (op) event.op.ev_idx = small_integer(raw);
                    if (frame) event.frame.ev_idx = small_integer(raw);
                    break;
                case ArgSlot::record_function_id:
                    if ((taken = op)) event.op.record_function_id = integer(raw);
                    break;
                case ArgSlot::sequence_number:
                    if ((taken = op)) event.op.sequence_number = integer(raw);
                    break;
                case ArgSlot::forward_thread:
                    if ((taken = op)) event.op.forward_thread = small_integer(raw);
                    break;
                case ArgSlot::python_id:
                    if ((taken = frame)) event.frame.python_id = small_integer(raw);
                    break;
                case ArgSlot::parent_id:
                    if ((taken = frame)) event.frame.parent_id = small_integer(raw);
                    break;
                case ArgSlot::module_id:
                    if ((taken = frame)) event.frame.module_id = small_integer(raw);
                    break;
                case ArgSlot::correlation:
                    if ((taken = launch)) event.launch.correlation = integer(raw);
                    break;
                case ArgSlot::rank: rank_ = integer(raw); break;
                case ArgSlot::device:
                    if ((taken = on_device)) device_ = integer(raw);
                    break;
                case ArgSlot::stream:
                    if ((taken = on_device)) stream_ = integer(raw);
                    break;
                default: taken = false; break;
            }
            if (!taken) add_to_signature(key, raw);
        }
        event.args = signature();
    }

    ArgsId sort_args_of_side_event() {
        device_ = stream_ = rank_ = no_number;
        shared_args_.clear();
        for (const auto& [key, raw] : args_) {
            if (detail::arg_slot(key) == detail::ArgSlot::rank)
                rank_ = integer(raw);
            else
                add_to_signature(key, raw);
        }
        return signature();
    }

    void add_to_signature(std::string_view key, std::string_view raw) { shared_args_.push_back(key, raw); }

    /// The signature of the collected arguments: known text costs one lookup, new text is taken apart.
    ArgsId signature() {
        if (shared_args_.size() == 0) return ArgsId::empty;
        // Separators that no JSON text contains outside damaged strings.
        constexpr char key_end = '\x01';
        constexpr char value_end = '\x02';
        signature_text_.clear();
        for (const auto& [key, raw] : shared_args_) {
            signature_text_ += key;
            signature_text_ += key_end;
            signature_text_ += raw;
            signature_text_ += value_end;
        }
        const std::size_t at = to_index(raw_signatures_.intern(signature_text_));
        if (at >= signature_ids_.size()) signature_ids_.push_back(build_signature());
        flaws_ |= signature_ids_[at].second;
        return signature_ids_[at].first;
    }

    std::pair<ArgsId, std::uint8_t> build_signature() {
        std::vector<Arg> list;
        std::unordered_map<StringId, std::size_t> position;  // of keys, for lists that are long to search
        constexpr std::size_t long_list = 16;
        unsigned flaws = 0;
        for (const auto& [key, raw] : shared_args_) {
            flaws |= decode_json_string(key, decoded_);
            const StringId key_id = builder_.strings().intern(decoded_);
            compact_.clear();
            flaws |= append_compact_json(compact_, raw);
            const StringId value = builder_.strings().intern(compact_);
            std::size_t at = 0;
            if (list.size() < long_list) {
                while (at < list.size() && list[at].key != key_id) ++at;
            } else {
                if (position.empty())
                    for (std::size_t i = 0; i < list.size(); ++i) position.emplace(list[i].key, i);
                at = position.emplace(key_id, list.size()).first->second;
            }
            if (at == list.size())
                list.push_back({key_id, value});
            else
                list[at].value = value;  // of equal keys the last one counts
        }
        return {builder_.signatures().intern(list), static_cast<std::uint8_t>(flaws)};
    }

    std::pair<StringId, EventKind> category() {
        const StringId id = string(category_);
        if (id == StringId::empty) {
            // The autograd profiler before Kineto wrote no categories (spec 11, section 7).
            const auto stands_in_place = [this](std::string_view words) {
                return detail::unquoted(pid_) == words || detail::unquoted(tid_) == words;
            };
            if (stands_in_place("CPU functions"))
                return {builder_.strings().intern("cpu_op"), EventKind::cpu_op};
            if (stands_in_place("CUDA functions"))
                return {builder_.strings().intern("kernel"), EventKind::kernel};
            return {id, EventKind::other};
        }
        const std::size_t index = to_index(id);
        if (index >= kinds_.size()) kinds_.resize(index + 1, kind_unknown);
        if (kinds_[index] == kind_unknown)
            kinds_[index] = static_cast<std::uint8_t>(event_kind(builder_.strings()[id]));
        return {id, static_cast<EventKind>(kinds_[index])};
    }

    /// The id of a JSON string (raw, with its quotes): decoded once for each distinct spelling.
    StringId string(std::string_view raw) {
        if (raw.empty()) return StringId::empty;
        note_bad_word(raw);
        const std::size_t at = to_index(raw_strings_.intern(detail::unquoted(raw)));
        if (at >= decoded_strings_.size()) {
            const unsigned flaws = decode_json_string(detail::unquoted(raw), decoded_);
            decoded_strings_.emplace_back(builder_.strings().intern(decoded_),
                                          static_cast<std::uint8_t>(flaws));
        }
        flaws_ |= decoded_strings_[at].second;
        return decoded_strings_[at].first;
    }

    TrackPart track_part(std::string_view raw) {
        if (raw.empty() || raw == "null") return {};
        if (detail::is_quoted(raw)) return TrackPart::text(string(raw));
        if (const std::optional<std::int64_t> value = parse_integer(raw)) return TrackPart::integer(*value);
        return TrackPart::text(string(raw));
    }

    /// `is_work`: the event is work of the stream, and not a mark on it.
    TrackId track(bool on_device, bool is_work = false) {
        // Consecutive events mostly share a track: compare the texts before parsing them.
        if (pid_ != last_pid_text_ || tid_ != last_tid_text_) {
            last_pid_text_ = pid_;
            last_tid_text_ = tid_;
            last_pid_ = track_part(pid_);
            last_tid_ = track_part(tid_);
        }
        Track track;
        track.on_device = on_device;
        track.pid = last_pid_;
        track.tid = last_tid_;
        track.rank = rank_;
        if (on_device) {
            const auto or_else = [](std::int64_t value, const TrackPart& part) {
                if (value != no_number || part.form != TrackPart::Form::integer) return value;
                return part.value;
            };
            if (track.pid.form == TrackPart::Form::text && device_ == no_number) {
                track.device = or_else(no_number, track.tid);  // legacy traces: the thread is the device
                track.stream = 0;
                track.stream_is_assumed = is_work;
            } else {
                track.device = or_else(device_, track.pid);
                track.stream = or_else(stream_, track.tid);
                track.stream_is_assumed = is_work && stream_ == no_number;
            }
        }
        rank_ = no_number;
        return builder_.tracks().intern(track);
    }

    static constexpr std::uint8_t kind_unknown = 0xff;

    TraceBuilder& builder_;
    std::uint64_t offset_ = 0;
    std::string_view phase_, name_, category_, pid_, tid_, time_, duration_, id_, bind_, scope_;
    detail::RawMembers args_;
    detail::RawMembers shared_args_;
    unsigned flaws_ = 0;
    std::int64_t device_ = no_number;
    std::int64_t stream_ = no_number;
    std::int64_t rank_ = no_number;

    StringPool raw_strings_;
    std::vector<std::pair<StringId, std::uint8_t>> decoded_strings_ = {{StringId::empty, 0}};
    StringPool raw_signatures_;
    std::vector<std::pair<ArgsId, std::uint8_t>> signature_ids_ = {{ArgsId::empty, 0}};
    std::vector<std::uint8_t> kinds_;
    std::string signature_text_, decoded_, compact_;
    std::string last_pid_text_, last_tid_text_;
    TrackPart last_pid_, last_tid_;
};

}  // namespace tracelens
