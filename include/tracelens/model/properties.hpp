/// What the top-level keys of a trace say about the machine. Only known keys are looked at: the rest may
/// carry environment variables and tokens and is never copied out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tracelens/core/json_text.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

namespace detail {

/// Calls `visit(key, raw value)` for each member of a JSON object; stops at text that is no object.
template <class Visit>
void for_each_member(std::string_view object, Visit visit) {
    JsonScanner scanner(object);
    if (!scanner.take('{')) return;
    while (scanner.peek() == '"') {
        std::string_view key;
        std::string_view value;
        if (scanner.key(key) != JsonScanner::Outcome::ok || scanner.value(value) != JsonScanner::Outcome::ok)
            return;
        visit(key, value);
        if (!scanner.take(',')) return;
    }
}

/// Calls `visit(raw value)` for each element of a JSON array; stops at text that is no array.
template <class Visit>
void for_each_element(std::string_view array, Visit visit) {
    JsonScanner scanner(array);
    if (!scanner.take('[')) return;
    while (scanner.peek() != ']') {
        std::string_view value;
        if (scanner.value(value) != JsonScanner::Outcome::ok) return;
        visit(value);
        if (!scanner.take(',')) return;
    }
}

}  // namespace detail

/// The `name` of every entry of `deviceProperties`, in order; empty names and missing properties give
/// nothing.
inline std::vector<std::string> recorded_device_names(const Trace& trace) {
    std::vector<std::string> names;
    detail::for_each_element(trace.property("deviceProperties").value_or(""), [&](std::string_view device) {
        detail::for_each_member(device, [&](std::string_view key, std::string_view value) {
            if (key != "name" || value.size() <= 2 || value.front() != '"') return;
            std::string name;
            decode_json_string(value.substr(1, value.size() - 2), name);
            names.push_back(std::move(name));
        });
    });
    return names;
}

}  // namespace tracelens
