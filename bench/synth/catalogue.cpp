#include "catalogue.hpp"

#include <charconv>

namespace tracelens::synth {
namespace {

void append(std::string& key, std::int64_t value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    key.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
    key += '|';
}

void append(std::string& key, const std::optional<Collective>& collective) {
    if (!collective) return;
    key += collective->name;
    append(key, static_cast<std::int64_t>(collective->dtype));
    append(key, collective->in_elements);
    append(key, collective->out_elements);
}

void append(std::string& key, const Args& args) {
    for (const Arg& argument : args) {
        key += argument.type;
        key += '=';
        key += argument.concrete;
        for (const Tensor& tensor : argument.tensors) {
            for (const std::int64_t dim : tensor.dims) append(key, dim);
            key += '/';
            for (const std::int64_t stride : tensor.strides) append(key, stride);
            key += ';';
        }
        key += '\n';
    }
}

}  // namespace

Index Catalogue::op(const OpInfo& info) {
    key_ = info.name;
    key_ += static_cast<char>('0' + static_cast<int>(info.sequence));
    key_ += info.has_shapes ? 's' : '-';
    key_ += info.is_annotation ? 'a' : '-';
    append(key_, info.args);
    append(key_, info.collective);
    return ops_.intern(key_, [&] { return info; });
}

Index Catalogue::frame(std::string_view name, std::int64_t module_id) {
    // A module's name contains its instance number, so the name alone is the key.
    return frames_.intern(name, [&] { return FrameInfo{std::string(name), module_id}; });
}

Index Catalogue::work(const WorkInfo& info) {
    key_ = info.name;
    for (const std::int64_t extent : info.grid) append(key_, extent);
    for (const std::int64_t extent : info.block) append(key_, extent);
    append(key_, info.bytes);
    append(key_, info.mean_ns);
    append(key_, info.stream);
    append(key_, info.collective);
    return works_.intern(key_, [&] { return info; });
}

Index Catalogue::call(const CallInfo& info) {
    key_.clear();
    append(key_, static_cast<std::int64_t>(info.api));
    append(key_, static_cast<std::int64_t>(info.work));
    key_ += info.has_external_id ? 'x' : '-';
    return calls_.intern(key_, [&] { return info; });
}

}  // namespace tracelens::synth
