/// Bodies of read/open.hpp.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include <tracelens/core/file.hpp>
#include <tracelens/core/inline.hpp>
#include <tracelens/read/kineto.hpp>
#include <tracelens/read/open.hpp>

namespace tracelens {

namespace detail {

/// One known format: what the first bytes of its text look like, and who reads it.
struct TraceFormat {
    bool (*matches)(std::string_view head);
    Result<Trace> (*read)(std::unique_ptr<ByteSource> source, const std::string& name,
                          const ReadOptions& options);
};

inline bool any_text(std::string_view) noexcept {
    return true;
}

/// Tried in order; the last one takes everything and explains what it cannot read.
inline constexpr std::array trace_formats = {
    TraceFormat{any_text, try_read_kineto},
};

}  // namespace detail

TRACELENS_INLINE Result<Trace> try_read_trace(const std::string& path, const ReadOptions& options) {
    Result<std::unique_ptr<ByteSource>> source = open_source(path);
    if (!source) return source.failure();
    std::string head(4096, '\0');
    head.resize(detail::read_fully(**source, head.data(), head.size()));
    for (const detail::TraceFormat& format : detail::trace_formats) {
        if (!format.matches(head)) continue;
        auto whole = std::make_unique<detail::JoinedSource>(std::move(head), *std::move(source));
        return format.read(std::move(whole), path, options);
    }
    return Failure{ErrorCode::not_a_trace,
                   path,
                   "no known trace format",
                   "give a trace of the PyTorch profiler",
                   {},
                   {}};
}

}  // namespace tracelens
