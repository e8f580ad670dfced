/// The fast parser: simdjson On-Demand over one window of the event array. It reads windows without a flaw;
/// anything else makes it give up, and the tolerant parser takes the window.
#pragma once

#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include <simdjson.h>

#include <tracelens/read/kineto_event.hpp>

namespace tracelens {

class SimdjsonEventParser {
  public:
    /// Readable bytes that must follow a window.
    static constexpr std::size_t padding = simdjson::SIMDJSON_PADDING;

    SimdjsonEventParser(KinetoEvent& event, TraceBuilder& builder) : event_(event), builder_(builder) {}

    /// Parses `array`, a JSON array of events with its brackets, whose first element starts at `offset` + 1
    /// of the file's text. Returns false at the first flaw; events before it have been added.
    bool parse(std::string_view array, std::uint64_t offset) {
        namespace ondemand = simdjson::ondemand;
        ondemand::document document;
        if (parser_.iterate(array.data(), array.size(), array.size() + padding).get(document) !=
            simdjson::SUCCESS) {
            return false;
        }
        ondemand::array events;
        if (document.get_array().get(events) != simdjson::SUCCESS) return false;
        for (auto element : events) {
            ondemand::value value;
            ondemand::object object;
            if (element.get(value) != simdjson::SUCCESS) return false;
            const std::string_view token = value.raw_json_token();
            if (value.get_object().get(object) != simdjson::SUCCESS) return false;
            event_.begin(offset + static_cast<std::uint64_t>(token.data() - array.data()));
            builder_.next_event();
            if (!parse_fields<&KinetoEvent::field>(object)) return false;
            event_.finish();
        }
        const char* rest = nullptr;
        return document.current_location().get(rest) == simdjson::OUT_OF_BOUNDS;
    }

  private:
    /// Hands every member of `object` to the event: to `receive`, or, for the object `args`, member by member
    /// to `KinetoEvent::arg`.
    template <auto receive>
    bool parse_fields(simdjson::ondemand::object& object) {
        constexpr bool top_level = std::is_same_v<decltype(receive), decltype(&KinetoEvent::field)> &&
                                   receive == &KinetoEvent::field;
        for (auto member : object) {
            simdjson::ondemand::field field;
            if (std::move(member).get(field) != simdjson::SUCCESS) return false;
            const char* const key_begin = field.key().raw();
            simdjson::ondemand::value& value = field.value();
            std::string_view raw = value.raw_json_token();
            // Between key and value stand only a quote, a colon and white space, so the key's end is near its
            // value.
            const char* key_end = raw.data() - 1;
            while (*key_end != '"') --key_end;
            const std::string_view key(key_begin, static_cast<std::size_t>(key_end - key_begin));
            if (raw.front() == '{') {
                simdjson::ondemand::object inner;
                if (value.get_object().get(inner) != simdjson::SUCCESS) return false;
                if constexpr (top_level) {
                    if (key == "args") {
                        if (!parse_fields<&KinetoEvent::arg>(inner)) return false;
                        continue;
                    }
                }
                if (inner.raw_json().get(raw) != simdjson::SUCCESS) return false;
            } else if (raw.front() == '[') {
                simdjson::ondemand::array inner;
                if (value.get_array().get(inner) != simdjson::SUCCESS) return false;
                if (inner.raw_json().get(raw) != simdjson::SUCCESS) return false;
            }
            while (detail::is_space(raw.back())) raw.remove_suffix(1);
            if (raw.front() == '"' && (raw.size() < 2 || raw.back() != '"')) return false;
            (event_.*receive)(key, raw);
        }
        return true;
    }

    simdjson::ondemand::parser parser_;
    KinetoEvent& event_;
    TraceBuilder& builder_;
};

}  // namespace tracelens
