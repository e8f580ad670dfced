// Faults that users have reported: what the driver does not print is checked here, through the library.
#include <map>

#include <tracelens/model/call_tree.hpp>
#include <tracelens/model/links.hpp>
#include <tracelens/read/open.hpp>

#include "corpus.hpp"

using namespace tracelens;

TEST_CASE("field cases: kernel time by launching op, and decoded names") {
    if (!support::have_shared("field-cases/cases")) return;
    std::size_t checked = 0;
    for (const auto& folder :
         corpus::fs::directory_iterator(support::shared_folder() / "field-cases/cases")) {
        CAPTURE(folder.path().filename().string());
        const nlohmann::json expected =
            nlohmann::json::parse(support::read_text(folder.path() / "expect.json"));
        const bool plain = corpus::fs::exists(folder.path() / "trace.json");
        const corpus::fs::path file = folder.path() / (plain ? "trace.json" : "trace.json.gz");
        const Result<Trace> trace = try_read_trace(file.string());
        REQUIRE(trace.ok());
        if (expected.contains("names_present")) {
            for (const std::string name : expected.at("names_present")) {
                bool found = false;
                for (EventId event = 0; event < trace->size() && !found; ++event)
                    found = trace->name_of(event) == name;
                CHECK_MESSAGE(found, name);
                ++checked;
            }
        }
        if (!expected.contains("launcher_time_us")) continue;
        const Links links = link_launches(*trace);
        const CallTree tree(*trace, links);
        std::map<std::string, Ticks> by_op;
        for (EventId event = 0; event < trace->size(); ++event) {
            const EventId launch = links.launch_of(event);
            if (launch == no_event) continue;
            const NodeId op = trace->kind[launch] == EventKind::cpu_op ? launch : tree.enclosing_op(launch);
            if (op != no_node) by_op[std::string(tree.name_text(op))] += trace->duration(event);
        }
        CHECK(by_op.size() == expected.at("launcher_time_us").size());
        for (const auto& each : expected.at("launcher_time_us").items()) {
            const std::string& op = each.key();
            CHECK_MESSAGE(trace->to_us(by_op[op]) == each.value().get<double>(), op);
            ++checked;
        }
    }
    CHECK(checked >= 19);
    MESSAGE(checked, " expectations");
}
