#include "extension_file.hpp"

#include <tracelens/core/file.hpp>
#include <tracelens/perf/user_models.hpp>

namespace driver {

using namespace tracelens;

Result<std::vector<std::string>> add_extension_file(ModelRegistry& registry, const std::string& path) {
    if (path.empty()) return std::vector<std::string>{};
    if (path.ends_with(".py")) {
        return Failure{
            ErrorCode::invalid_argument,         path, "extensions are JSON files of formulas, not Python",
            "`tracelens cost --help` shows one", {},   {}};
    }
    const Result<std::string> json = read_file(path);
    if (!json) return json.failure();
    return add_user_models(registry, *json, path);
}

}  // namespace driver
