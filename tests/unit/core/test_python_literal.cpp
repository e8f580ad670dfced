// Nested values as Python literals (spec 02, section 5.2).

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <tracelens/core/python_literal.hpp>

using namespace tracelens;

namespace {

std::string literal(std::string_view json) {
    std::string out;
    append_python_literal(out, json, false);
    return out;
}

std::string with_tuples(std::string_view json) {
    std::string out;
    append_python_literal(out, json, true);
    return out;
}

}  // namespace

TEST_CASE("lists and tuples") {
    CHECK(literal("[]") == "[]");
    CHECK(literal("[1]") == "[1]");
    CHECK(literal("[[1,2],[],[3]]") == "[[1, 2], [], [3]]");
    CHECK(with_tuples("[]") == "()");
    CHECK(with_tuples("[1]") == "(1,)");
    CHECK(with_tuples("[1,2]") == "(1, 2)");
    CHECK(with_tuples("[[1]]") == "((1,),)");
    CHECK(with_tuples("[[1,2]]") == "((1, 2),)");
    CHECK(with_tuples("[[]]") == "((),)");
    CHECK(with_tuples("[[768],[788,768],[768,768],[],[]]") == "((768,), (788, 768), (768, 768), (), ())");
    CHECK(with_tuples(R"(["","","","1","1"])") == "('', '', '', '1', '1')");
}

TEST_CASE("commas and brackets in strings are text") {
    CHECK(with_tuples(R"(["a,b"])") == "('a,b',)");
    CHECK(with_tuples(R"(["[1]","(","}"])") == "('[1]', '(', '}')");
    CHECK(literal(R"({"k:1":"{"})") == "{'k:1': '{'}");
}

TEST_CASE("dictionaries keep their order, lists in them become tuples") {
    CHECK(literal("{}") == "{}");
    CHECK(literal(R"({"k":1,"a":"v"})") == "{'k': 1, 'a': 'v'}");
    CHECK(literal(R"([{"k":[1]},{}])") == "[{'k': [1]}, {}]");
    CHECK(with_tuples(R"({"k":[1]})") == "{'k': (1,)}");
    CHECK(with_tuples(R"([{"k":1,"l":2}])") == "({'k': 1, 'l': 2},)");
    CHECK(with_tuples("[{}]") == "({},)");
}

TEST_CASE("null and booleans") {
    CHECK(literal("[null,true,false]") == "[None, True, False]");
    CHECK(literal("null") == "None");
    CHECK(literal(R"(["null","true"])") == "['null', 'true']");
}

TEST_CASE("quotes: single, but double around a single quote alone") {
    CHECK(literal(R"(["plain"])") == "['plain']");
    CHECK(literal(R"(["it's"])") == R"(["it's"])");
    CHECK(literal(R"(["a \"b\""])") == R"(['a "b"'])");
    CHECK(literal(R"(["it's \"b\""])") == R"(['it\'s "b"'])");
    CHECK(literal(R"([""])") == "['']");
}

TEST_CASE("backslashes and control characters are escaped") {
    CHECK(literal(R"(["a\\b"])") == R"(['a\\b'])");
    CHECK(literal(R"(["a\\"])") == R"(['a\\'])");
    CHECK(literal(R"(["\n\r\t"])") == R"(['\n\r\t'])");
    CHECK(literal(R"(["\u0000\u0001\u001f\u007f\b\f"])") == R"(['\x00\x01\x1f\x7f\x08\x0c'])");
    CHECK(literal(R"(["a\/b"])") == "['a/b']");
}

TEST_CASE("printable Unicode stays as it is") {
    CHECK(literal("[\"\u00b5 \u4e2d \U0001f600\"]") == "['\u00b5 \u4e2d \U0001f600']");
    CHECK(literal(R"(["\u00b5 \ud83d\ude00"])") == "['\u00b5 \U0001f600']");
}

TEST_CASE("other characters that Python does not print are escaped") {
    CHECK(literal(R"(["\u0085"])") == R"(['\x85'])");
    CHECK(literal(R"(["\u00a0"])") == R"(['\xa0'])");
    CHECK(literal(R"(["\u200b"])") == R"(['\u200b'])");
    CHECK(literal(R"(["\u2028"])") == R"(['\u2028'])");
    CHECK(literal(R"(["\ufeff"])") == R"(['\ufeff'])");
}

TEST_CASE("numbers: integers as written, others as the shortest that reads back") {
    CHECK(literal("[0,-3,12345678901234567890123]") == "[0, -3, 12345678901234567890123]");
    CHECK(literal("[0.5,1.0,-0.0,100.00]") == "[0.5, 1.0, -0.0, 100.0]");
    CHECK(literal("[1e3,1E22,1e-7,1e16,123456789012345680.0]") ==
          "[1000.0, 1e+22, 1e-07, 1e+16, 1.2345678901234568e+17]");
    CHECK(literal("[0.1000000000000000055]") == "[0.1]");
}

TEST_CASE("words for what is not finite") {
    CHECK(literal("[NaN,nan]") == "[nan, nan]");
    CHECK(literal("[Infinity,-Infinity,inf,-inf]") == "[inf, -inf, inf, -inf]");
}

TEST_CASE("the literal goes behind what is there") {
    std::string out = "x=";
    append_python_literal(out, "[1]", true);
    append_python_literal(out, R"("s")", true);
    CHECK(out == "x=(1,)'s'");
}

TEST_CASE("text that is no JSON is copied, however it is cut") {
    CHECK(literal("abc") == "abc");
    CHECK(literal("") == "");
    CHECK(literal("]") == "]");
    CHECK(literal("[1,[2") == "[1, [2");
    CHECK(literal("[\"cut") == "['cut'");
    CHECK(with_tuples("1]") == "1)");
}

TEST_CASE("words that are no JSON are copied, whatever their letters") {
    CHECK(literal("hello") == "hello");
    CHECK(literal("[1,version1.2.3]") == "[1, version1.2.3]");
}
