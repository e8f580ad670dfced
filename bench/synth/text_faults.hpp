// Faults in the text of single events: which events they sit on, and what they do to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "event_type.hpp"
#include "synth.hpp"

namespace tracelens::synth {

class TextFaults {
  public:
    /// `totals` are the events that the file is going to have, by which places are found; `span_ns` is about
    /// how long the trace lasts. Throws std::invalid_argument when a defect finds no event to sit on.
    TextFaults(const Options& options, const EventCounts& totals, std::int64_t span_ns);

    /// To be called for each event in file order: whether it is to be edited.
    bool is_next(EventType type);
    /// Puts the due faults into the text of the event that is_next() was last called for. Returns false if
    /// the file ends with it.
    bool edit(std::string& text) const;

  private:
    enum class Edit : std::uint8_t {
        prefix_name,   // `text` goes before the name, as it is
        set_duration,  // to `text`
        set_argument,  // `key` to `text`; adds it where it is not
        end_file,      // inside the event
    };
    struct Fault;
    struct Pending {
        const Fault* fault;
        std::uint64_t target;  // number of the event, among those that the fault can sit on
        std::uint64_t seen = 0;
        bool is_due = false;
    };
    static const Fault faults[];

    void set(std::string& text, std::string_view key, std::string_view value) const;

    JsonStyle style_;
    std::string absurd_duration_;
    std::vector<Pending> pending_;
};

}  // namespace tracelens::synth
