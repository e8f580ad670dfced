#include <tracelens/core/json_text.hpp>

// JSON strings: every escape, everything that profilers get wrong, and output that is always valid.
#include <algorithm>
#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace tracelens;
using namespace std::string_literals;

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

/// Whether `text` is UTF-8 by RFC 3629, by decoding each code point and asking for its shortest form.
bool is_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto lead = static_cast<unsigned char>(text[at++]);
        if (lead < 0x80) continue;
        const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
        if (lead < 0xc0 || lead > 0xf7) return false;
        std::uint32_t code = lead & (0x3fU >> more);
        for (int i = 0; i < more; ++i) {
            if (at == text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80) return false;
            code = code << 6 | (static_cast<unsigned char>(text[at++]) & 0x3f);
        }
        const std::uint32_t least = more == 1 ? 0x80 : more == 2 ? 0x800 : 0x10000;
        if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
    }
    return true;
}

/// Whether `text` is a string token of strict JSON (RFC 8259).
bool is_strict_string(std::string_view text) {
    if (text.size() < 2 || text.front() != '"' || text.back() != '"' || !is_utf8(text)) return false;
    const std::string_view inside = text.substr(1, text.size() - 2);
    for (std::size_t at = 0; at < inside.size(); ++at) {
        if (static_cast<unsigned char>(inside[at]) < 0x20 || inside[at] == '"') return false;
        if (inside[at] != '\\') continue;
        ++at;
        if (at == inside.size()) return false;
        if (inside[at] == 'u') {
            if (at + 4 >= inside.size()) return false;
            for (int i = 0; i < 4; ++i) {
                if (std::string_view("0123456789abcdefABCDEF").find(inside[++at]) == std::string_view::npos)
                    return false;
            }
        } else if (std::string_view("\"\\/bfnrt").find(inside[at]) == std::string_view::npos) {
            return false;
        }
    }
    return true;
}

std::string json_string(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

struct Row {
    std::string raw;
    std::string expected;
};

void check_decoding(const std::vector<Row>& rows, unsigned flaws) {
    for (const Row& row : rows) {
        CAPTURE(row.raw);
        std::string out = "left over";
        CHECK(decode_json_string(row.raw, out) == flaws);
        CHECK(out == row.expected);
    }
}

std::string random_bytes(std::mt19937& random) {
    constexpr std::string_view favourites =
        "\\\\\\\\uuD8d9C0\"ntbfr/x{ \n\x01\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xed\xa0";
    std::string text(random() % 24, '\0');
    for (char& c : text) {
        c = random() % 3 == 0 ? static_cast<char>(random()) : favourites[random() % favourites.size()];
    }
    return text;
}

}  // namespace

TEST_CASE("decode: text without flaws") {
    check_decoding(
        {
            {"", ""},
            {"void gemm<float>(int)", "void gemm<float>(int)"},
            {R"(\")", "\""},
            {R"(\\)", "\\"},
            {R"(\/)", "/"},
            {R"(\b)", "\b"},
            {R"(\f)", "\f"},
            {R"(\n)", "\n"},
            {R"(\r)", "\r"},
            {R"(\t)", "\t"},
            {R"(a\\nb)", "a\\nb"},
            {R"(\\u0041)", "\\u0041"},
            {R"(\u0041)", "A"},
            {R"(\u0000)", "\0"s},
            {R"(\u001f)", "\x1f"},
            {R"(\u007f)", "\x7f"},
            {R"(\u0080)", "\xc2\x80"},
            {R"(\u00b5s)", "\xc2\xb5s"},
            {R"(\u00B5s)", "\xc2\xb5s"},
            {R"(\u07ff\u0800)", "\xdf\xbf\xe0\xa0\x80"},
            {R"(\u20AC)", "\xe2\x82\xac"},
            {R"(\uffff)", "\xef\xbf\xbf"},
            {R"(\ud7ff\ue000)", "\xed\x9f\xbf\xee\x80\x80"},
            {R"(\ud800\udc00)", "\xf0\x90\x80\x80"},
            {R"(\uD83D\uDE00!)", "\xf0\x9f\x98\x80!"},
            {R"(\uDBFF\uDFFF)", "\xf4\x8f\xbf\xbf"},
            {"\x7f", "\x7f"},
            {"\xc2\xb5s", "\xc2\xb5s"},
            {"\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80"},
            {"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"},
        },
        0);
}

TEST_CASE("decode: half a surrogate pair becomes U+FFFD") {
    const std::string lost(replacement);
    check_decoding(
        {
            {R"(\ud83d)", lost},
            {R"(\ude00)", lost},
            {R"(a\ud83dz)", "a" + lost + "z"},
            {R"(\ud83d\u0041)", lost + "A"},
            {R"(\ud83d\n)", lost + "\n"},
            {R"(\ude00\ud83d)", lost + lost},
            {R"(\ud83d\ud83d\ude00)", lost + "\xf0\x9f\x98\x80"},
            {R"(\ud83d\\ude00)", lost + "\\ude00"},
        },
        json_lone_surrogate);
    check_decoding({{R"(\ud83d\ude0)", lost + "\\ude0"}, {R"(\ud83d\)", lost + "\\"}},
                   json_lone_surrogate | json_bad_escape);
}

TEST_CASE("decode: a backslash that starts no escape stays a backslash") {
    check_decoding(
        {
            {"\\", "\\"},
            {"a\\", "a\\"},
            {R"(C:\Users\me)", R"(C:\Users\me)"},
            {R"(\x41)", R"(\x41)"},
            {R"(\U0041)", R"(\U0041)"},
            {R"(\u)", R"(\u)"},
            {R"(\u004)", R"(\u004)"},
            {R"(\u12g4)", R"(\u12g4)"},
            {R"(\u-123)", R"(\u-123)"},
            {R"(\u 123)", R"(\u 123)"},
            {R"(\0)", R"(\0)"},
            {R"(\'\n)", "\\'\n"},
            {R"(\u00\u0041)", "\\u00A"},
            {"\\\xc3\xa9", "\\\xc3\xa9"},
        },
        json_bad_escape);
}

TEST_CASE("decode: raw control characters are kept") {
    check_decoding({{"\x01", "\x01"}, {"a\nb\tc\rd", "a\nb\tc\rd"}, {"\0"s, "\0"s}, {"\x1f", "\x1f"}},
                   json_control_character);
    check_decoding({{"\\\n", "\\\n"}, {"\\\0"s, "\\\0"s}}, json_bad_escape | json_control_character);
}

TEST_CASE("decode: bytes that are not UTF-8 become U+FFFD") {
    const std::string lost(replacement);
    check_decoding({{"\xff", lost}, {"a\x80z", "a" + lost + "z"}, {"\xc3", lost}, {"\xc3z", lost + "z"}},
                   json_bad_utf8);

    // How many replacements a longer sequence gets is open; its neighbours must survive.
    const std::vector<std::string> sequences = {
        "\xc0\xaf",     "\xc1\xbf",     "\xe0\x9f\xbf",     "\xe2\x82",
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf0\x9f\x98", "\xf5\x80\x80", "\xf8\x88\x80\x80", "\xfe\xfe",
    };
    for (const std::string& sequence : sequences) {
        CAPTURE(sequence);
        std::string out;
        CHECK(decode_json_string("<" + sequence + "\xc2\xb5>", out) == json_bad_utf8);
        CHECK(is_utf8(out));
        CHECK(out.starts_with("<" + lost));
        CHECK(out.ends_with(lost + "\xc2\xb5>"));
        CHECK(decode_json_string(sequence, out) == json_bad_utf8);
        CHECK(is_utf8(out));
    }
}

TEST_CASE("decode: flaws add up") {
    std::string out;
    CHECK(decode_json_string("\xff\n\\q\\ud800", out) ==
          (json_bad_utf8 | json_control_character | json_bad_escape | json_lone_surrogate));
    CHECK(out == std::string(replacement) + "\n\\q" + std::string(replacement));
}

TEST_CASE("append_json_string: escapes") {
    CHECK(json_string("") == R"("")");
    CHECK(json_string("plain /text") == R"("plain /text")");
    CHECK(json_string("say \"hi\" \\ ") == R"("say \"hi\" \\ ")");
    CHECK(json_string("\n\t\r") == R"("\n\t\r")");
    CHECK(json_string("\x01\x1f\0"s) == R"("\u0001\u001f\u0000")");
    CHECK(json_string("\xc2\xb5s \xf0\x9f\x98\x80\x7f") == "\"\xc2\xb5s \xf0\x9f\x98\x80\x7f\"");
    CHECK(json_string("a\xffz") == "\"a\xef\xbf\xbdz\"");
    std::string out = "[";
    append_json_string(out, "x");
    CHECK(out == R"(["x")");
}

TEST_CASE("random bytes: what is decoded is UTF-8, what is written is strict JSON and reads back") {
    std::mt19937 random(2);
    int wrong = 0;
    for (int round = 0; round < 50'000; ++round) {
        const std::string bytes = random_bytes(random);
        std::string decoded;
        const unsigned flaws = decode_json_string(bytes, decoded);
        bool right = is_utf8(decoded);
        right = right && ((flaws & json_bad_utf8) != 0) == !is_utf8(bytes);

        const std::string written = json_string(bytes);
        right = right && is_strict_string(written);
        std::string back;
        right =
            right && decode_json_string(std::string_view(written).substr(1, written.size() - 2), back) == 0;
        right = right && is_utf8(back) && (!is_utf8(bytes) || back == bytes);
        if (!right && ++wrong == 1) MESSAGE("first wrong: " << written);
    }
    CHECK(wrong == 0);
}
