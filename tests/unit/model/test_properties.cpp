// What the top-level keys of a trace say.

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/model/properties.hpp>

using namespace tracelens;

namespace {

std::vector<std::string> device_names(std::string json) {
    Trace trace;
    trace.properties.push_back({"schemaVersion", "1"});
    trace.properties.push_back({"deviceProperties", std::move(json)});
    return recorded_device_names(trace);
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("top-level keys are found by name, the first one of several") {
    Trace trace;
    CHECK_FALSE(trace.property("trace_id").has_value());
    trace.properties.push_back({"trace_id", "\"A\""});
    trace.properties.push_back({"with_stack", "1"});
    CHECK(trace.property("trace_id") == "\"A\"");
    CHECK(trace.property("with_stack") == "1");
    CHECK_FALSE(trace.property("with").has_value());
    CHECK_FALSE(trace.property("traceEvents").has_value());
}

TEST_CASE("the names of all devices, in order") {
    CHECK(
        device_names(
            R"([{"id":0,"name":"NVIDIA H100 80GB HBM3","numSms":132},{"id":1,"name":"AMD Instinct MI300X"}])") ==
        Names{"NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"});
    CHECK(device_names("[\n  {\"id\": 0, \"name\": \"A\"},\n  {\"name\": \"A\"}\n]") == Names{"A", "A"});
}

TEST_CASE("empty names and missing properties give nothing") {
    CHECK(recorded_device_names(Trace{}) == Names{});
    CHECK(device_names("[]") == Names{});
    CHECK(device_names(" [ ] ") == Names{});
    CHECK(device_names(R"([{"name":""},{"id":1},{},{"name":"B"}])") == Names{"B"});
}

TEST_CASE("names are decoded, and other members are skipped whatever they hold") {
    CHECK(device_names(
              R"([{"nested":{"name":"not this"},"list":[{"name":"nor this"}],"name":"\u00b5GPU \"x\""}])") ==
          Names{"\u00b5GPU \"x\""});
}

TEST_CASE("a name that is no string is no name") {
    CHECK(device_names(R"([{"name":null},{"name":12345},{"name":["abc"]},{"name":true},{"name":"B"}])") ==
          Names{"B"});
}

TEST_CASE("text that is no array of objects gives what could be read") {
    CHECK(device_names("") == Names{});
    CHECK(device_names("null") == Names{});
    CHECK(device_names(R"({"name":"A"})") == Names{});
    CHECK(device_names(R"([1,"text",{"name":"A"}])") == Names{"A"});
    CHECK(device_names(R"([{"name":"A"},{"name":"B)") == Names{"A"});
}
