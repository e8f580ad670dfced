/// Arguments taken apart: the JSON text that a signature keeps (model/args.hpp) as a tree of values.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/core/decimal.hpp>
#include <tracelens/core/json_text.hpp>

namespace tracelens {

struct ArgValue {
    enum class Kind : std::uint8_t {
        null,
        boolean,
        number,
        text,
        list,
        object,  ///< `items` with `keys`
    };

    Kind kind = Kind::null;
    bool boolean = false;
    double number = 0;
    std::optional<std::int64_t> integer;  ///< of numbers without point and exponent that fit
    std::string text;                     ///< of strings, decoded; of words that are no JSON, as written
    std::vector<ArgValue> items;
    std::vector<std::string> keys;

    bool is_null() const noexcept { return kind == Kind::null; }
    bool is_list() const noexcept { return kind == Kind::list; }
    bool is_text() const noexcept { return kind == Kind::text; }

    /// A member of an object, or nothing.
    const ArgValue* find(std::string_view key) const noexcept {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (keys[i] == key) return &items[i];
        }
        return nullptr;
    }
};

namespace detail {

/// Deeper lists stay text: trees of values are copied and destroyed recursively.
inline constexpr int deepest_arg_value = 32;

inline ArgValue parse_arg_value(JsonScanner& scanner, int depth) {
    ArgValue value;
    std::string_view raw;
    const char first = scanner.peek();
    if ((first == '[' || first == '{') && depth < deepest_arg_value) {
        value.kind = first == '[' ? ArgValue::Kind::list : ArgValue::Kind::object;
        const char close = first == '[' ? ']' : '}';
        scanner.take(first);
        while (!scanner.take(close)) {
            if (first == '{') {
                if (scanner.key(raw) != JsonScanner::Outcome::ok) break;
                value.keys.emplace_back();
                decode_json_string(raw, value.keys.back());
            }
            if (scanner.at_end()) break;
            const std::size_t before = scanner.position();
            value.items.push_back(parse_arg_value(scanner, depth + 1));
            if (!scanner.take(',') && scanner.peek() != close) break;
            if (scanner.position() == before) break;
        }
        if (value.keys.size() > value.items.size()) value.keys.resize(value.items.size());
        return value;
    }
    // Scalars end with the text at the outermost level, which the scanner takes for an unfinished value.
    const std::size_t begin = scanner.position();
    if (scanner.value(raw) != JsonScanner::Outcome::ok) raw = scanner.text().substr(begin);
    scanner.seek(begin + raw.size());
    if (raw.size() >= 2 && raw.front() == '"' && raw.back() == '"') {
        value.kind = ArgValue::Kind::text;
        decode_json_string(raw.substr(1, raw.size() - 2), value.text);
    } else if (raw == "true" || raw == "false") {
        value.kind = ArgValue::Kind::boolean;
        value.boolean = raw == "true";
    } else if (const std::optional<double> number = raw == "null" ? std::nullopt : parse_double(raw)) {
        value.kind = ArgValue::Kind::number;
        value.number = *number;
        value.integer = parse_integer(raw);
    } else if (raw != "null") {
        value.kind = ArgValue::Kind::text;
        value.text = raw;
    }
    return value;
}

}  // namespace detail

/// Takes compact JSON text apart. Text that is no JSON becomes a text value, whole or from where it stops
/// being JSON. O(length).
inline ArgValue parse_arg_value(std::string_view json) {
    JsonScanner scanner(json);
    return detail::parse_arg_value(scanner, 0);
}

}  // namespace tracelens
