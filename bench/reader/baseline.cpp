#include "baseline.hpp"

#include <cstring>
#include <string_view>

#include <simdjson.h>

namespace tracelens::bench {
namespace {

namespace ondemand = simdjson::ondemand;

/// True if `key` (the raw text after the opening quote) is exactly `literal`. The closing quote ends the
/// comparison, and the padding makes reading past the end harmless.
template <std::size_t N>
bool is_key(const char* key, const char (&literal)[N]) {
    return std::memcmp(key, literal, N - 1) == 0 && key[N - 1] == '"';
}

/// The token without the blanks that follow it in the text.
std::string_view trimmed(std::string_view token) {
    std::size_t size = token.size();
    while (size > 0 && (token[size - 1] == ' ' || token[size - 1] == '\n' || token[size - 1] == '\r' ||
                        token[size - 1] == '\t'))
        --size;
    return token.substr(0, size);
}

std::size_t string_length(std::string_view token) {
    return trimmed(token).size() - 2;
}

void visit(ondemand::object event, BaselineTotals& totals) {
    for (ondemand::field field : event) {
        // Raw tokens rather than get_string(): an unescaped copy that nobody asked for would make the
        // baseline slower.
        const char* const key = field.key().raw();
        switch (key[0]) {
            case 'p':
                if (is_key(key, "ph")) {
                    const std::string_view token = field.value().raw_json_token();
                    totals.phase_bytes += string_length(token);
                    totals.complete_events += token[1] == 'X' ? 1 : 0;
                } else if (is_key(key, "pid")) {
                    totals.track_bytes += trimmed(field.value().raw_json_token()).size();
                }
                break;
            case 'c':
                if (is_key(key, "cat"))
                    totals.category_bytes += string_length(field.value().raw_json_token());
                break;
            case 'n':
                if (is_key(key, "name")) totals.name_bytes += string_length(field.value().raw_json_token());
                break;
            case 't':
                if (is_key(key, "ts")) {
                    totals.start_sum += field.value().get_double();
                } else if (is_key(key, "tid")) {
                    totals.track_bytes += trimmed(field.value().raw_json_token()).size();
                }
                break;
            case 'd':
                if (is_key(key, "dur")) totals.duration_sum += field.value().get_double();
                break;
            case 'a':
                if (is_key(key, "args")) {
                    ondemand::object args = field.value().get_object();
                    const std::string_view raw = args.raw_json();
                    totals.args_bytes += raw.size();
                }
                break;
            default: break;
        }
    }
}

}  // namespace

BaselineTotals baseline_pass(const std::string& path) {
    const simdjson::padded_string json = simdjson::padded_string::load(path);
    BaselineTotals totals;
    totals.file_bytes = json.size();
    ondemand::parser parser;
    ondemand::document document = parser.iterate(json);
    for (ondemand::field field : document.get_object()) {
        if (!is_key(field.key().raw(), "traceEvents")) continue;
        for (ondemand::value event : field.value().get_array()) {
            visit(event.get_object(), totals);
            ++totals.events;
        }
    }
    return totals;
}

}  // namespace tracelens::bench
