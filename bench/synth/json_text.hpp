// Builds JSON text in either style, with holes ("slots") for the values that differ from event to event.
// The layout work is done once per kind of event; writing an event then is copying literals and printing
// numbers.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "synth.hpp"

namespace tracelens::synth {

/// What goes into a hole of an event's text; the writer takes it from the event's record.
enum class Slot : std::uint8_t {
    none,
    thread,
    start,
    duration,
    event_index,
    first_id,           ///< Record::first: external id, python id, bytes allocated in total
    second_id,          ///< Record::second: correlation, sequence number, step number, address
    second_id_or_null,  ///< null when negative: the parent of an outermost python frame
    duration_value,     ///< Record::duration as a plain integer: bytes of an allocation
    bandwidth,          ///< bytes of the work over its duration, GB/s
};

struct Template {
    struct Segment {
        std::uint32_t begin = 0;
        std::uint32_t size = 0;
        Slot slot = Slot::none;  ///< printed after the literal
    };
    std::string literals;
    std::vector<Segment> segments;
};

class JsonText {
  public:
    /// `level` is the nesting depth at which the text starts.
    JsonText(JsonStyle style, int level);

    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void end_array() { close(']'); }
    void key(std::string_view name);
    void string(std::string_view text);
    void integer(std::int64_t value);
    void raw(std::string_view text);
    void slot(Slot which);
    void string_with_slot(std::string_view prefix, Slot which);

    void field(std::string_view name, std::string_view text) { key(name), string(text); }
    void field(std::string_view name, const char* text) { key(name), string(text); }
    // A template, so that a literal 0 is a number rather than a null pointer.
    template <std::integral T>
    void field(std::string_view name, T value) {
        key(name), integer(static_cast<std::int64_t>(value));
    }
    void field(std::string_view name, Slot which) { key(name), slot(which); }
    void field_raw(std::string_view name, std::string_view text) { key(name), raw(text); }

    /// Starts an element of the enclosing list, separator first.
    void separator();

    [[nodiscard]] const std::string& text() const { return result_.literals; }
    [[nodiscard]] Template take();

  private:
    void open(char bracket);
    void close(char bracket);
    void before_value();
    void new_line();
    void append_escaped(std::string_view text);

    JsonStyle style_;
    int level_;
    bool after_key_ = false;
    std::vector<bool> has_elements_{false};
    std::uint32_t segment_begin_ = 0;
    Template result_;
};

}  // namespace tracelens::synth
