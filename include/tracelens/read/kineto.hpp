/// Reader of PyTorch/Kineto traces: the Chrome trace event format as JSON, in object form (`{"traceEvents":
/// [...]}`) or array form, pretty or compact.
///
/// How it works: the text is taken in *windows* of about half a megabyte that are cut between two events
/// (read/window_cutter.hpp). Workers take turns at fetching and cutting a window, and parse theirs at the
/// same time: simdjson first, and where that finds a flaw, the tolerant parser event by event, so that damage
/// costs no more than the events it touches. Memory holds the windows in work and the columns, never the
/// whole text.
#pragma once

#include <memory>
#include <string>

#include <tracelens/core/error.hpp>
#include <tracelens/core/file.hpp>
#include <tracelens/model/trace.hpp>
#include <tracelens/read/options.hpp>

namespace tracelens {

/// Reads a trace from `source`; `name` is used in messages and kept as `Trace::path`. What had to be repaired
/// or left out is in `Trace::diagnostics`. Error: `not_a_trace` when there is no event array,
/// `limit_exceeded` beyond 2^32 events.
Result<Trace> try_read_kineto(std::unique_ptr<ByteSource> source, const std::string& name,
                              const ReadOptions& options = {});

#if TRACELENS_EXCEPTIONS
/// As `try_read_kineto`, throwing `Error`.
inline Trace read_kineto(std::unique_ptr<ByteSource> source, const std::string& name,
                         const ReadOptions& options = {}) {
    return try_read_kineto(std::move(source), name, options).value();
}
#endif

}  // namespace tracelens

#if !defined(TRACELENS_COMPILED)
#include <tracelens/read/kineto-inl.hpp>
#endif
