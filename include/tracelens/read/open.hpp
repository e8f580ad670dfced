/// Opens a trace file of any known format.
#pragma once

#include <string>
#include <string_view>

#include <tracelens/core/error.hpp>
#include <tracelens/model/trace.hpp>
#include <tracelens/read/options.hpp>

namespace tracelens {

/// Reads a trace file, plain or gzip, of whatever format its content shows; its name does not matter. Errors:
/// `file_missing`, `file_unreadable`, `not_a_trace`, `unsupported`, `limit_exceeded`.
Result<Trace> try_read_trace(const std::string& path, const ReadOptions& options = {});

#if TRACELENS_EXCEPTIONS
/// As `try_read_trace`, throwing `Error`.
inline Trace read_trace(const std::string& path, const ReadOptions& options = {}) {
    return try_read_trace(path, options).value();
}
#endif

}  // namespace tracelens

#if !defined(TRACELENS_COMPILED)
#include <tracelens/read/open-inl.hpp>
#endif
