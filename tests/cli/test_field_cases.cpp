// Faults that users have reported, through `tracelens info --json`.
#include <set>

#include <nlohmann/json.hpp>

#include "support.hpp"

using nlohmann::json;

namespace {

/// The worst verdict of the printed diagnostics, notes and ignored codes not counting.
std::string outcome_without(const json& info, const std::set<std::string>& ignored) {
    const std::vector<std::string> order = {"ok", "note", "degraded", "fallback", "error"};
    std::size_t worst = 0;
    for (const json& entry : info.at("diagnostics")) {
        if (ignored.count(entry.at("code")) != 0) continue;
        const std::string verdict = entry.at("verdict");
        worst = std::max<std::size_t>(
            worst, static_cast<std::size_t>(std::find(order.begin(), order.end(), verdict) - order.begin()));
    }
    return worst == 1 ? "ok" : order[worst];
}

void check_timeline(const json& ours, const json& expected) {
    if (expected.is_null()) {
        CHECK(ours.is_null());
        return;
    }
    for (const auto& each : expected.items()) {
        const std::string& key = each.key();
        CHECK_MESSAGE(ours.at(key).get<double>() == each.value().get<double>(), key);
    }
}

}  // namespace

TEST_CASE("field cases through info --json") {
    if (!support::have_shared("field-cases/cases")) return;
    std::size_t cases = 0;
    for (const auto& folder :
         support::fs::directory_iterator(support::shared_folder() / "field-cases/cases")) {
        const std::string name = folder.path().filename().string();
        CAPTURE(name);
        ++cases;
        const json expected = json::parse(support::read_text(folder.path() / "expect.json"));
        const bool plain = support::fs::exists(folder.path() / "trace.json");
        const support::CommandResult result = support::driver(
            "info --json " +
            support::quoted((folder.path() / (plain ? "trace.json" : "trace.json.gz")).string()));
        CHECK(result.exit_code == 0);
        const json info = json::parse(result.out);

        const auto within = [&](const char* key, const char* most) {
            const std::int64_t value = info.at(key);
            CHECK(value >= expected.at(key).get<std::int64_t>());
            CHECK(value <= expected.value(most, expected.at(key).get<std::int64_t>()));
        };
        within("events", "events_at_most");
        within("kernels", "kernels_at_most");

        std::set<std::string> ignored;
        if (expected.contains("outcome_ignores"))
            ignored = expected.at("outcome_ignores").get<std::set<std::string>>();
        CHECK(outcome_without(info, ignored) == expected.at("outcome").get<std::string>());
        CHECK(outcome_without(info, {}) == info.at("outcome").get<std::string>());
        std::set<std::string> codes;
        for (const json& entry : info.at("diagnostics")) codes.insert(entry.at("code").get<std::string>());
        for (const std::string code : expected.at("diagnostics")) CHECK_MESSAGE(codes.count(code) == 1, code);
        for (const std::string code : expected.at("absent_diagnostics"))
            CHECK_MESSAGE(codes.count(code) == 0, code);

        check_timeline(info.at("gpu_timeline_us"), expected.at("gpu_timeline_us"));
        CHECK(info.contains("gpu_timeline_with_unlinked_us") ==
              expected.contains("gpu_timeline_with_unlinked_us"));
        if (expected.contains("gpu_timeline_with_unlinked_us")) {
            check_timeline(info.at("gpu_timeline_with_unlinked_us"),
                           expected.at("gpu_timeline_with_unlinked_us"));
        }
        if (expected.contains("gpu_timeline_by_device_us")) {
            for (const auto& [device, timeline] : expected.at("gpu_timeline_by_device_us").items()) {
                check_timeline(info.at("gpu_timeline_by_device_us").at(device), timeline);
            }
        }
        std::map<std::string, double> kernel_time;
        for (const json& kernel : info.at("top_kernels"))
            kernel_time[kernel.at("name")] = kernel.at("total_us");
        for (const auto& each : expected.at("kernel_time_us").items()) {
            const std::string& kernel = each.key();
            // The list holds the twenty longest; what is not in it must be shorter than they are.
            if (kernel_time.count(kernel) == 0) {
                CHECK(info.at("top_kernels").size() == 20);
                CHECK(each.value().get<double>() <= info.at("top_kernels").back().at("total_us").get<double>());
            } else {
                CHECK_MESSAGE(kernel_time[kernel] == each.value().get<double>(), kernel);
            }
        }
    }
    CHECK(cases >= 24);
    MESSAGE(cases, " field cases");
}
