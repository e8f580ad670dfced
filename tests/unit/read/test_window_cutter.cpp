// The window cutter: the vectorised scan against its scalar twin and against a plain walk over the text, and
// the recovery of event starts by their look.
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/core/simd.hpp>
#include <tracelens/read/window_cutter.hpp>

#include "read_support.hpp"

using namespace tracelens;
using namespace tracelens::read_test;

namespace tracelens {

static bool operator==(const Cut& a, const Cut& b) {
    return a.kind == b.kind && a.end == b.end && a.next == b.next && a.trailing_comma == b.trailing_comma;
}

static bool operator==(const StructuralMasks& a, const StructuralMasks& b) {
    return a.quotes == b.quotes && a.backslashes == b.backslashes && a.opens == b.opens &&
           a.closes == b.closes;
}

}  // namespace tracelens

namespace {

/// What stands in the readable bytes behind a text. It must never matter.
const std::string quiet_tail(block_bytes, ' ');
const std::string loud_tail = [] {
    std::string tail;
    while (tail.size() < block_bytes) tail += "\"}],{\\";
    return tail;
}();

Cut cut_with(std::string_view text, bool at_end, const std::string& tail, MaskFunction masks) {
    const std::string padded = std::string(text) + tail;
    return find_cut(std::string_view(padded).substr(0, text.size()), at_end, masks);
}

/// The cut, after checking that every way to get it gives the same.
Cut cut_of(std::string_view text, bool at_end = false) {
    const Cut cut = cut_with(text, at_end, quiet_tail, structural_masks_scalar);
    INFO("text: ", text.substr(0, 400));
    CHECK(cut == cut_with(text, at_end, loud_tail, structural_masks_scalar));
    CHECK(cut == cut_with(text, at_end, loud_tail, structural_masks));
#if TRACELENS_WITH_XSIMD
    CHECK(cut == cut_with(text, at_end, quiet_tail, structural_masks_xsimd));
#endif
    CHECK(cut.end <= cut.next);
    CHECK(cut.next <= text.size());
    return cut;
}

bool is_cut(const Cut& cut, Cut::Kind kind, std::size_t end, std::size_t next) {
    CAPTURE(static_cast<int>(cut.kind));
    CAPTURE(cut.end);
    CAPTURE(cut.next);
    CHECK(cut.kind == kind);
    CHECK(cut.end == end);
    CHECK(cut.next == next);
    return cut.kind == kind && cut.end == end && cut.next == next;
}

std::size_t after_space(std::string_view text, std::size_t at) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n')) ++at;
    return at;
}

/// All cuts of well-formed text of an event array, one a text position: `ends[n]` is the cut of its first n
/// bytes.
std::vector<Cut> cuts_by_walking(std::string_view text) {
    std::vector<Cut> cuts(text.size() + 1);
    Cut current;
    int depth = 0;
    bool in_string = false;
    std::size_t known = 0;  // cuts[0..known) are final
    const auto settle = [&](std::size_t upto, const Cut& next) {
        for (; known < upto; ++known) cuts[known] = current;
        current = next;
    };
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (in_string) {
            if (c == '\\')
                ++at;
            else if (c == '"')
                in_string = false;
            continue;
        }
        if (c == '"') in_string = true;
        if (c == '{' || c == '[') ++depth;
        if (c != '}' && c != ']') continue;
        if (--depth < 0) break;
        if (depth > 0) continue;
        const std::size_t behind = after_space(text, at + 1);
        if (text[behind] == ']') {
            settle(behind + 1, {Cut::Kind::end_of_array, at + 1, behind, false});
        } else {
            REQUIRE(text[behind] == ',');
            const std::size_t next = after_space(text, behind + 1);
            settle(next + 1, {Cut::Kind::event, at + 1, next, false});
        }
    }
    settle(cuts.size(), {});
    return cuts;
}

std::string random_text(std::mt19937_64& random, std::size_t size) {
    static constexpr std::string_view pieces[] = {"\"",
                                                  "\\",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  ":",
                                                  " ",
                                                  "\n",
                                                  "a",
                                                  "\\\"",
                                                  "{\"ph\":\"X\"}",
                                                  "},{",
                                                  "\\\\",
                                                  "\"name\": \"f{0}\""};
    std::string text;
    while (text.size() < size) text += pieces[random() % std::size(pieces)];
    return text;
}

std::string repeated(std::string_view piece, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += piece;
    return text;
}

}  // namespace

TEST_CASE("cutter: both mask functions agree on random bytes at every alignment") {
    std::mt19937_64 random(1);
    std::string bytes(block_bytes + 32, '\0');
    for (int round = 0; round < 400; ++round) {
        for (char& byte : bytes) {
            byte = round % 2 == 0 ? static_cast<char>(random()) : "\"\\{}[]|~;^ "[random() % 11];
        }
        const char* const block = bytes.data() + round % 32;
        const StructuralMasks masks = structural_masks_scalar(block);
        for (std::size_t i = 0; i < block_bytes; ++i) {
            const char c = block[i];
            CHECK((masks.quotes >> i & 1) == (c == '"'));
            CHECK((masks.backslashes >> i & 1) == (c == '\\'));
            CHECK((masks.opens >> i & 1) == (c == '{' || c == '['));
            CHECK((masks.closes >> i & 1) == (c == '}' || c == ']'));
        }
        CHECK(masks == structural_masks(block));
#if TRACELENS_WITH_XSIMD
        CHECK(masks == structural_masks_xsimd(block));
#endif
    }
}

TEST_CASE("cutter: scalar and vector scans cut random text alike") {
    std::mt19937_64 random(2);
    for (int round = 0; round < 3000; ++round) {
        const std::string text = random_text(random, random() % 400);
        cut_of(text, round % 2 == 0);
    }
}

TEST_CASE("cutter: generated traces are cut as a plain walk cuts them") {
    for_each_flavour([](const synth::Options& options) {
        CAPTURE(describe(options));
        const std::string text = generated(options);
        const auto [begin, end] = array_span(text);
        // A stretch from the front and one that reaches the end of the array.
        for (const bool to_end : {false, true}) {
            const std::size_t from = to_end ? find_event_start(text, end - 9000) : begin;
            const std::string_view stretch =
                std::string_view(text).substr(from, to_end ? text.size() - from : 9000);
            const std::vector<Cut> expected = cuts_by_walking(stretch);
            std::size_t wrong = 0;
            for (std::size_t size = 0; size <= stretch.size(); size += 1 + size % 7) {
                const std::string_view prefix = stretch.substr(0, size);
                const Cut scalar = cut_with(prefix, false, loud_tail, structural_masks_scalar);
                if (!(scalar == cut_with(prefix, false, quiet_tail, structural_masks))) ++wrong;
                if (!(scalar == expected[size])) ++wrong;
            }
            CHECK(wrong == 0);
        }
    });
}

TEST_CASE("cutter: an event needs a follower unless the text is over") {
    CHECK(is_cut(cut_of(R"({"a":1},{"b":2})"), Cut::Kind::event, 7, 8));
    CHECK(is_cut(cut_of(R"({"a":1},{"b":2})", true), Cut::Kind::event, 15, 15));
    CHECK(is_cut(cut_of("{\"a\":1} ,\n\t {\"b\":"), Cut::Kind::event, 7, 12));
    CHECK(cut_of(R"({"a":1})").kind == Cut::Kind::none);
    CHECK(cut_of(R"({"a":1},)").kind == Cut::Kind::none);
    CHECK(cut_of(R"({"a":1}, )").kind == Cut::Kind::none);
    CHECK(is_cut(cut_of(R"({"a":1})", true), Cut::Kind::event, 7, 7));
    CHECK(is_cut(cut_of("{\"a\":1}\n", true), Cut::Kind::event, 7, 8));
    CHECK(cut_of("", true).kind == Cut::Kind::none);
    CHECK(cut_of("{", true).kind == Cut::Kind::none);
    CHECK(cut_of(R"({"a":{"b":[)", true).kind == Cut::Kind::none);
}

TEST_CASE("cutter: a comma at the end of the text is a trailing one") {
    const Cut cut = cut_of(R"({"a":1}, )", true);
    CHECK(is_cut(cut, Cut::Kind::event, 7, 9));
    CHECK(cut.trailing_comma);
}

TEST_CASE("cutter: the last cut of several wins") {
    const std::string text = repeated(R"({"a":[{},{}]},)", 40) + R"({"cut)";
    CHECK(is_cut(cut_of(text), Cut::Kind::event, 40 * 14 - 1, 40 * 14));
}

TEST_CASE("cutter: brackets, quotes and escapes in strings do not count") {
    const std::string event = R"({"name":"}{][\"},{\"","x":"\\","y":"[{","z":"\\\"}"})";
    CHECK(is_cut(cut_of(event + "," + event), Cut::Kind::event, event.size(), event.size() + 1));
    for (std::size_t lead = 0; lead < 2 * block_bytes; ++lead) {
        const std::string padded = "{\"pad\":\"" + std::string(lead, '}') + "\"}," + event + "," + event;
        const std::size_t end = padded.size() - event.size() - 1;
        CHECK(is_cut(cut_of(padded), Cut::Kind::event, end, end + 1));
    }
}

TEST_CASE("cutter: runs of backslashes over block borders") {
    for (const std::size_t run :
         {1U, 2U, 3U, 4U, 5U, 31U, 63U, 64U, 65U, 66U, 127U, 128U, 129U, 192U, 193U}) {
        for (std::size_t lead = 0; lead < block_bytes; ++lead) {
            CAPTURE(run);
            CAPTURE(lead);
            // An even run leaves the quote behind it in force; an odd run makes it part of the string.
            const std::string start = "{\"a\":\"" + std::string(lead, 'x') + std::string(run, '\\') + "\"";
            const std::string event = run % 2 == 0 ? start + "}" : start + "},{\"}";
            const Cut cut = cut_with(event + R"(,{"b":1})", false, loud_tail, structural_masks);
            CHECK(cut.kind == Cut::Kind::event);
            CHECK(cut.end == event.size());
            CHECK(cut == cut_with(event + R"(,{"b":1})", false, quiet_tail, structural_masks_scalar));
        }
    }
}

TEST_CASE("cutter: the end of the array") {
    CHECK(is_cut(cut_of("]"), Cut::Kind::end_of_array, 0, 0));
    CHECK(is_cut(cut_of("  \n ]}"), Cut::Kind::end_of_array, 0, 4));
    CHECK(is_cut(cut_of(R"({"a":1}],"k":[{}]})"), Cut::Kind::end_of_array, 7, 7));
    CHECK(is_cut(cut_of("{\"a\":1},{\"b\":[]}\n  ],\n"), Cut::Kind::end_of_array, 16, 19));
    CHECK_FALSE(cut_of("{\"a\":1}\n]").trailing_comma);
    const Cut trailing = cut_of(R"({"a":1}, ]})");
    CHECK(is_cut(trailing, Cut::Kind::end_of_array, 7, 9));
    CHECK(trailing.trailing_comma);
    // What follows the array is not looked at, whatever it is.
    for (const char* tail : {"\"}}}", "}}}}]]", "{{{{"}) {
        CHECK(is_cut(cut_of(R"({"a":1}])" + std::string(tail)), Cut::Kind::end_of_array, 7, 7));
    }
}

TEST_CASE("cutter: text whose depth makes no sense is broken") {
    CHECK(cut_of(R"({"a":1}},{"b":2},{"c":3})").kind == Cut::Kind::broken);
    CHECK(cut_of("}").kind == Cut::Kind::broken);
    const Cut after_two = cut_of(R"({"a":1},{"b":2}}},{"c":3},{"d":4})");
    CHECK(after_two.kind == Cut::Kind::broken);
    CHECK(after_two.end <= 15);
    const Cut no_comma = cut_of(R"({"a":1},{"b":2}{"c":3},{"d":4})");
    CHECK(no_comma.kind == Cut::Kind::broken);
    CHECK(no_comma.end == 7);
}

TEST_CASE("cutter: an odd quote never yields a cut inside an event") {
    const std::string events = repeated(R"({"ph":"X","name":"a","args":{"d":[1,2]}},)", 30);
    for (std::size_t at = 0; at < 45; ++at) {
        std::string text = events;
        text.insert(at, 1, '"');
        const Cut cut = cut_of(text);
        if (cut.kind != Cut::Kind::event) continue;
        CHECK(text.substr(cut.end - 2, 3) == "}},");
        CHECK(text[cut.next] == '{');
    }
}

TEST_CASE("cutter: elements that are no objects") {
    // Those before the last event boundary do not disturb it.
    CHECK(is_cut(cut_of(R"(1,"x",null,{"a":1},{"b":2})"), Cut::Kind::event, 18, 19));
    // Cut or not: what lies before `end` is whole.
    for (const char* element : {"17", "\"s\"", "null", "[1,{\"a\":2}]", "[]"}) {
        const std::string text = R"({"a":1},)" + std::string(element) + R"(,{"b":2},{"c":3})";
        const Cut cut = cut_of(text);
        CAPTURE(text);
        CHECK((cut.end == 0 || cut.end == 7 || text.substr(cut.end, 2) == ",{" || text[cut.end] == ','));
    }
}

TEST_CASE("event starts: the first one at or after a position") {
    const std::string text = R"({"ph":"X","args":{"name":1}}, {"name":"b"},{"args":{"ts":1}})";
    CHECK(find_event_start(text, 0) == 0);
    CHECK(find_event_start(text, 1) == 30);
    CHECK(find_event_start(text, 30) == 30);
    CHECK(find_event_start(text, 31) == 43);
    CHECK(find_event_start(text, 44) == std::string_view::npos);
    CHECK(find_event_start(text, text.size()) == std::string_view::npos);
    CHECK(find_event_start("", 0) == std::string_view::npos);
    for (const char* key : {"ph", "name", "cat", "pid", "tid", "ts", "dur", "args", "id", "bp", "s"}) {
        CAPTURE(std::string(key));
        const std::string pretty = "  {\n    \"" + std::string(key) + "\" : 1";
        CHECK(find_event_start(pretty, 0) == 2);
    }
}

TEST_CASE("event starts: other objects are none") {
    for (const char* text : {R"({"foo":1})", R"({})", R"({"name"})", R"({"name" 1})", R"({"name)",
                             R"({"a":{"ph":1}})", R"({ph:1})", R"([{"Input Dims":1}])"}) {
        CAPTURE(std::string(text));
        CHECK(find_event_start(text, 0) == std::string_view::npos);
        CHECK(find_last_event_start(text, 0) == std::string_view::npos);
    }
}

TEST_CASE("event starts: found whatever stands before them") {
    for (const char* before : {"", ",", "[", "}", "} ", "}]", "x", "5", "\"", "e\" ", "\x01", "}};"}) {
        CAPTURE(std::string(before));
        const std::string text = std::string(before) + R"({"ph":"X","ts":1})";
        CHECK(find_event_start(text, 0) == std::string_view(before).size());
    }
}

TEST_CASE("event starts: the last one after a position") {
    const std::string text = R"({"ph":"X","args":{"name":1}}, {"name":"b"},{"args":{"ts":1}})";
    CHECK(find_last_event_start(text, 0) == 43);
    CHECK(find_last_event_start(text, 42) == 43);
    CHECK(find_last_event_start(text, 43) == std::string_view::npos);
    CHECK(find_last_event_start(text, text.size()) == std::string_view::npos);
    CHECK(find_last_event_start(text.substr(0, 43), 0) == 30);
    CHECK(find_last_event_start(text.substr(0, 20), 0) == std::string_view::npos);
    CHECK(find_last_event_start("", 0) == std::string_view::npos);
}
