#include "platforms.hpp"

#include <tracelens/core/ascii.hpp>
#include <tracelens/core/file.hpp>

#include "platform_files.hpp"

namespace driver {

using namespace tracelens;

std::vector<std::string_view> platform_names() {
    std::vector<std::string_view> names;
    for (const PlatformFile& file : platform_files) names.push_back(file.name);
    return names;
}

namespace {

using FoundPlatform = std::optional<Platform>;

Result<FoundPlatform> parsed(std::string_view json, const std::string& file) {
    Result<Platform> platform = parse_platform(json, file);
    if (!platform) return platform.failure();
    return FoundPlatform(*std::move(platform));
}

const PlatformFile* built_in(std::string_view name) {
    for (const PlatformFile& file : platform_files) {
        if (tracelens::detail::equal_ignoring_case(file.name, name)) return &file;
    }
    return nullptr;
}

}  // namespace

Result<FoundPlatform> find_platform(const std::string& request, const std::string& device) {
    if (request.empty()) {
        const std::string_view name = platform_of_device(device);
        const PlatformFile* const file = name.empty() ? nullptr : built_in(name);
        return file == nullptr ? Result<FoundPlatform>(FoundPlatform{})
                               : parsed(file->json, std::string(file->name) + ".json");
    }
    if (const PlatformFile* const file = built_in(request))
        return parsed(file->json, std::string(file->name) + ".json");
    const bool looks_like_file = request.find_first_of("/.") != std::string::npos;
    if (looks_like_file) {
        const Result<std::string> json = read_file(request);
        if (!json) return json.failure();
        return parsed(*json, request);
    }
    std::string known;
    for (const std::string_view name : platform_names()) {
        if (!known.empty()) known += ", ";
        known += name;
    }
    return Failure{ErrorCode::invalid_argument,
                   request,
                   "no such platform",
                   "known are " + known + "; or give a file",
                   {},
                   {}};
}

}  // namespace driver
