// The corpus: real traces and the reference's results for them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support.hpp"

namespace corpus {

namespace fs = std::filesystem;

inline fs::path folder() {
    return support::shared_folder() / "corpus";
}

inline bool present() {
    return support::have_shared("corpus/corpus.json");
}

struct Case {
    std::string name;
    fs::path trace;
    fs::path report;    ///< golden/report_default, or empty
    fs::path workflow;  ///< golden/workflow, or empty
    fs::path capture;   ///< folder of capture traces, or empty
};

/// All single-trace cases of the PyTorch profiler.
inline std::vector<Case> cases() {
    std::vector<Case> result;
    for (const auto& entry : nlohmann::json::parse(support::read_text(folder() / "corpus.json"))) {
        const std::string kind = entry.at("kind");
        if ((kind != "eager" && kind != "inference") || entry.contains("options")) continue;
        const auto golden = [&](const char* key) -> fs::path {
            return entry.at("golden").contains(key) ? folder() / entry.at("golden").at(key).get<std::string>()
                                                    : fs::path();
        };
        result.push_back(
            {entry.at("name"), folder() / entry.at("trace").get<std::string>(), golden("report_default"),
             golden("workflow"),
             entry.contains("capture") ? folder() / entry.at("capture").get<std::string>() : fs::path()});
    }
    return result;
}

/// Every trace file of the corpus in Kineto's format, capture traces and both sides of comparisons included.
inline std::vector<fs::path> all_traces() {
    std::vector<fs::path> result;
    for (const auto& entry : fs::recursive_directory_iterator(folder())) {
        const std::string path = entry.path().string();
        const bool kineto = path.size() > 8 && path.substr(path.size() - 8) == ".json.gz" &&
                            path.find("rocprof") == std::string::npos &&
                            path.find("/golden/") == std::string::npos &&
                            entry.path().filename().string().find("execution_details") == std::string::npos;
        if (kineto) result.push_back(entry.path());
    }
    std::sort(result.begin(), result.end());
    return result;
}

}  // namespace corpus
