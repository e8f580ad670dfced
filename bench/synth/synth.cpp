#include "synth.hpp"

#include "generator.hpp"

namespace tracelens::synth {

Summary generate(const Options& options, const std::function<void(std::string_view)>& sink) {
    Generator generator(options);
    return generator.write(generator.options().rank, sink);
}

std::string rank_path(const std::string& path, int rank) {
    constexpr std::string_view compressed = ".gz";
    const std::size_t name = path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/') + 1;
    const std::size_t end = path.ends_with(compressed) ? path.size() - compressed.size() : path.size();
    const std::size_t dot = path.substr(0, end).find_last_of('.');
    const std::size_t at = dot == std::string::npos || dot <= name ? end : dot;
    return path.substr(0, at) + "-rank" + std::to_string(rank) + path.substr(at);
}

}  // namespace tracelens::synth
