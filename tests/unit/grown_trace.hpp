/// A trace with its links and its call tree, for tests of what is built on the tree.
#pragma once

#include <string_view>

#include <tracelens/model/call_tree.hpp>
#include <tracelens/model/links.hpp>

#include "unit/trace_fixture.hpp"

namespace tracelens::fixture {

inline constexpr CallTreeOptions with_frames{.python_frames = true, .overrun = OverrunRule::clip};

struct GrownTrace {
    Trace trace;
    Links links;
    CallTree tree;

    explicit GrownTrace(TraceFixture& file, const CallTreeOptions& options = {},
                        LinkRule rule = LinkRule::correlation)
        : trace(file.finish()), links(link_launches(trace, rule)), tree(trace, links, options) {}
    explicit GrownTrace(TraceFixture&& file, const CallTreeOptions& options = {},
                        LinkRule rule = LinkRule::correlation)
        : GrownTrace(file, options, rule) {}
    GrownTrace(const GrownTrace&) = delete;

    /// The node of the only event of that name.
    NodeId node(std::string_view name) const { return event_named(trace, name); }
};

}  // namespace tracelens::fixture
