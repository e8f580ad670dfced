/// A trace and its quality, for tests of the checks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/analyze/quality.hpp>
#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/model/call_tree.hpp>
#include <tracelens/model/links.hpp>

#include "unit/trace_fixture.hpp"

namespace tracelens::fixture {

inline Quality quality_of(const Trace& trace, const QualityLimits& limits = {}) {
    const Links links = link_launches(trace);
    const CallTree tree(trace, links);
    return assess_quality(trace, links, tree, classify_gpu_events(trace), limits);
}

inline Quality quality_of(TraceFixture& file, const QualityLimits& limits = {}) {
    return quality_of(file.finish(), limits);
}

/// The verdict of a code; `Verdict::ok` when it was not raised.
inline Verdict verdict(const Quality& quality, std::string_view code) {
    const Diagnostic* found = quality.diagnostics.find(code);
    return found == nullptr ? Verdict::ok : found->verdict;
}

inline Diagnostic diagnostic(const Quality& quality, std::string_view code) {
    const Diagnostic* found = quality.diagnostics.find(code);
    REQUIRE_MESSAGE(found != nullptr, code, " was not raised");
    return *found;
}

}  // namespace tracelens::fixture
