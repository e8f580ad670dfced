#include <tracelens/core/json_text.hpp>

// JSON values as text: where they end, what is wrong with them, and their compact form.
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

using Outcome = JsonScanner::Outcome;

Outcome scan(std::string_view text) {
    JsonScanner scanner(text);
    std::string_view raw;
    return scanner.value(raw);
}

/// The text of the value at the start of `text`, or what went wrong.
std::string value_at(std::string_view text) {
    JsonScanner scanner(text);
    std::string_view raw;
    switch (scanner.value(raw)) {
        case Outcome::ok: return std::string(raw);
        case Outcome::incomplete: return "incomplete";
        case Outcome::malformed: break;
    }
    return "malformed";
}

unsigned flaws_of(std::string_view text) {
    JsonScanner scanner(text);
    std::string_view raw;
    REQUIRE(scanner.value(raw) == Outcome::ok);
    return scanner.flaws();
}

std::string compact(std::string_view raw, unsigned expected_flaws = 0) {
    std::string out;
    CAPTURE(raw);
    CHECK(append_compact_json(out, raw) == expected_flaws);
    return out;
}

unsigned compact_flaws(std::string_view raw) {
    std::string out;
    return append_compact_json(out, raw);
}

/// A random valid value in two forms: with white space strewn in, and without.
struct Forms {
    std::string spaced;
    std::string dense;

    void add(std::string_view token, std::mt19937& random) {
        dense += token;
        for (auto i = random() % 3; i > 0; --i) spaced += " \n\t\r"[random() % 4];
        spaced += token;
        for (auto i = random() % 2; i > 0; --i) spaced += ' ';
    }

    void add_value(std::mt19937& random, int depth) {
        static constexpr std::string_view scalars[] = {
            "1",       "-2.5e-3",          "0", "true", "false", "null", "\"\"", "\"a b, c: [d] {e}\"",
            "\"1 2\"", "4102336718204.517"};
        const auto kind = depth == 0 ? 2 : random() % 4;
        if (kind >= 2) return add(scalars[random() % std::size(scalars)], random);
        const bool object = kind == 0;
        add(object ? "{" : "[", random);
        const auto members = random() % 4;
        for (unsigned long i = 0; i < members; ++i) {
            if (i > 0) add(",", random);
            if (object) {
                add("\"key " + std::to_string(i) + "\"", random);
                add(":", random);
            }
            add_value(random, depth - 1);
        }
        add(object ? "}" : "]", random);
    }
};

}  // namespace

TEST_CASE("value: complete values, and what follows is left alone") {
    struct Row {
        std::string_view text;
        std::string_view raw;
    };
    const std::vector<Row> rows = {
        {"{}", "{}"},
        {"[]", "[]"},
        {"[ ]", "[ ]"},
        {R"("text" rest)", R"("text")"},
        {R"("a\"b\\" rest)", R"("a\"b\\")"},
        {"-1.5e+3,", "-1.5e+3"},
        {"true]", "true"},
        {"null}", "null"},
        {"  [1, 2 ]  tail", "[1, 2 ]"},
        {R"({"a":1}{"b":2})", R"({"a":1})"},
        {R"({"a" : [ {"b" : {}}, [[]] ], "c" : "]}" })", R"({"a" : [ {"b" : {}}, [[]] ], "c" : "]}" })"},
        {R"([[1,[2]],{"k":[3]}] ])", R"([[1,[2]],{"k":[3]}])"},
        {R"(["\\","]"])", R"(["\\","]"])"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.text);
        CHECK(value_at(row.text) == row.raw);
        CHECK(flaws_of(row.text) == 0);
    }
}

TEST_CASE("value: text that ends too early is incomplete") {
    for (const std::string_view text :
         {"", "   ", "\"", "\"abc", "\"abc\\", "\"abc\\\"", "[tru", "[1", "[1 ", "[\"a\\"}) {
        CAPTURE(text);
        CHECK(scan(text) == Outcome::incomplete);
    }
    const std::string_view whole = R"( {"a\"" : [ 1, "x", { "b" : [] , "c":true } ] , "d" : null } )";
    for (std::size_t cut = 0; cut < whole.rfind('}') + 1; ++cut) {
        CAPTURE(whole.substr(0, cut));
        CHECK(scan(whole.substr(0, cut)) == Outcome::incomplete);
    }
    CHECK(scan(whole) == Outcome::ok);
}

TEST_CASE("value: what is no JSON is malformed") {
    for (const std::string_view text : {"]",
                                        "}",
                                        ",",
                                        ":",
                                        "#",
                                        "[1 2]",
                                        "[1}",
                                        "{]",
                                        "[}",
                                        R"({"a":1])",
                                        "{1:2}",
                                        "{a:1}",
                                        R"({"a" 1})",
                                        R"({"a":})",
                                        R"({"a"})",
                                        "{,}",
                                        "[,]",
                                        "[,1]",
                                        "[1,,2]",
                                        R"({"a":1,,"b":2})",
                                        R"({"a":1 "b":2})",
                                        R"({"a"::1})",
                                        "[:]",
                                        "[1:2]",
                                        R"(["a":1])",
                                        R"({"a":1:2})",
                                        "[#]",
                                        "(1)",
                                        "'a'",
                                        "[1;2]"}) {
        CAPTURE(text);
        CHECK(scan(text) == Outcome::malformed);
    }
    CHECK(scan("[\0]"s) == Outcome::malformed);
    CHECK(scan("\0"s) == Outcome::malformed);
}

TEST_CASE("value: what profilers really write is accepted and flagged") {
    CHECK(flaws_of("[1,2,]") == json_trailing_comma);
    CHECK(flaws_of(R"({"a":1 , })") == json_trailing_comma);
    CHECK(flaws_of("[\"a\nb\"]") == json_control_character);
    CHECK(value_at(R"({"path":"C:\Users\x"})") == R"({"path":"C:\Users\x"})");
    for (const std::string_view text : {"[nan]", "[-inf ,1]", R"({"a":Infinity})", R"({"a":NaN,"b":1})"}) {
        CAPTURE(text);
        CHECK(value_at(text) == text);
        CHECK(flaws_of(text) == json_bare_word);
    }
}

TEST_CASE("value: words that are no value are not passed over in silence") {
    for (const std::string_view text :
         {"[hello]", "[1-2]", "[--1]", "[1.2.3]", "[truefalse]", R"({"a":True})"}) {
        CAPTURE(text);
        JsonScanner scanner(text);
        std::string_view raw;
        const bool accepted = scanner.value(raw) == Outcome::ok;
        CHECK((!accepted || (scanner.flaws() & json_structure) != 0));
    }
}

TEST_CASE("value: a million levels") {
    constexpr std::size_t depth = 1'000'000;
    const std::string open(depth, '[');
    const std::string close(depth, ']');
    CHECK(scan(open) == Outcome::incomplete);
    CHECK(scan(open + close) == Outcome::ok);
    CHECK(scan(open + "}") == Outcome::malformed);
    std::string objects;
    for (std::size_t i = 0; i < depth; ++i) objects += R"({"a":)";
    CHECK(scan(objects) == Outcome::incomplete);
    CHECK(scan(objects + "1" + std::string(depth, '}')) == Outcome::ok);
    std::string out;
    CHECK(append_compact_json(out, open + close) == 0);
    CHECK(out.size() == 2 * depth);
}

TEST_CASE("the scanner step by step") {
    const std::string_view text = R"( { "name" : "x\"y" , "n":[1] } )";
    JsonScanner scanner(text);
    std::string_view raw;
    CHECK(scanner.position() == 0);
    CHECK(scanner.peek() == '{');
    CHECK_FALSE(scanner.take('['));
    CHECK(scanner.take('{'));
    CHECK(scanner.key(raw) == Outcome::ok);
    CHECK(raw == "name");
    CHECK(scanner.string(raw) == Outcome::ok);
    CHECK(raw == R"(x\"y)");
    CHECK(scanner.take(','));
    CHECK(scanner.key(raw) == Outcome::ok);
    CHECK(raw == "n");
    const std::size_t before = scanner.position();
    CHECK(scanner.value(raw) == Outcome::ok);
    CHECK(raw == "[1]");
    scanner.seek(before);
    CHECK(scanner.string(raw) == Outcome::malformed);
    scanner.seek(before);
    CHECK(scanner.value(raw) == Outcome::ok);
    CHECK(scanner.take('}'));
    CHECK_FALSE(scanner.at_end());
    CHECK(scanner.peek() == '\0');
    CHECK(scanner.at_end());
    CHECK(scanner.key(raw) == Outcome::incomplete);
    CHECK(scanner.value(raw) == Outcome::incomplete);
    scanner.add_flaws(json_bad_utf8);
    CHECK(scanner.flaws() == json_bad_utf8);

    JsonScanner middle(text, 3);
    CHECK(middle.key(raw) == Outcome::ok);
    CHECK(raw == "name");
}

TEST_CASE("the position stays inside the text") {
    for (const std::string_view text : {"", "\"", "\"\\", "\"abc\\", "[\"a\\", "{\"a\\"}) {
        CAPTURE(text);
        JsonScanner scanner(text);
        std::string_view raw;
        CHECK(scanner.value(raw) == Outcome::incomplete);
        CHECK(scanner.position() <= text.size());
    }
}

TEST_CASE("append_compact_json: white space goes, strings stay") {
    CHECK(compact("1") == "1");
    CHECK(compact(" true ") == "true");
    CHECK(compact("[ ]") == "[]");
    CHECK(compact(" { \"a b\" : [ 1 ,\n2.5e3,\t-1 , true, null ] , \"c\" : { } } ") ==
          R"({"a b":[1,2.5e3,-1,true,null],"c":{}})");
    CHECK(compact(R"(["a , b", "[ 1 ]", "q\"  \\"])") == R"(["a , b","[ 1 ]","q\"  \\"])");
    CHECK(compact("[[8, 16], [], [\"\"]]") == R"([[8,16],[],[""]])");
    std::string out = "x=";
    CHECK(append_compact_json(out, "[ 1 ]") == 0);
    CHECK(out == "x=[1]");
}

TEST_CASE("append_compact_json: strings are made valid") {
    CHECK(compact(R"(["\u00b5s"])") == "[\"\xc2\xb5s\"]");
    CHECK(compact("[\"a\nb\"]", json_control_character) == R"(["a\nb"])");
    CHECK(compact(R"({"p" : "C:\Users"})", json_bad_escape) == R"({"p":"C:\\Users"})");
    CHECK(compact(R"({"C:\Users" : 1})", json_bad_escape) == R"({"C:\\Users":1})");
    CHECK(compact("[\"\xff\"]", json_bad_utf8) == "[\"\xef\xbf\xbd\"]");
    CHECK(compact(R"(["\ud800"])", json_lone_surrogate) == "[\"\xef\xbf\xbd\"]");
}

TEST_CASE("append_compact_json: departures from the grammar are flagged") {
    CHECK(compact("[nan, -Infinity]", json_bare_word) == "[nan,-Infinity]");
    for (const std::string_view raw : {"[1,]", R"({"a":1 , })"}) {
        CAPTURE(raw);
        CHECK((compact_flaws(raw) & (json_trailing_comma | json_structure)) != 0);
    }
    for (const std::string_view raw :
         {"[",        "]",       "{",    "{]",       "[1}",          R"({"a":1])",   "[1]]",
          R"(["abc)", "[hello]", "[1x]", "[1 2]",    "[true false]", R"(["a" "b"])", R"({"a" 1})",
          "{1:2}",    "[1,,2]",  "[,]",  R"({"a"})", R"({"a":})",    "[1:2]",        "1 2"}) {
        CAPTURE(raw);
        CHECK((compact_flaws(raw) & json_structure) != 0);
    }
}

TEST_CASE("random values: their extent, and their compact form") {
    std::mt19937 random(12);
    for (int round = 0; round < 3000; ++round) {
        Forms forms;
        forms.add_value(random, 4);
        CAPTURE(forms.spaced);
        REQUIRE(compact(forms.spaced) == forms.dense);
        REQUIRE(compact(forms.dense) == forms.dense);
        REQUIRE(value_at(forms.dense + ",next") == forms.dense);
        REQUIRE(flaws_of(forms.spaced + ",") == 0);
    }
}
