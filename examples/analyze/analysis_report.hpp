// analysis.md: the report as Markdown, in the sections and markers of spec 06, section 5.
#pragma once

#include <string>

#include "session.hpp"

namespace driver {

/// The whole report. The same session gives the same bytes.
std::string analysis_report(const Session& session);

}  // namespace driver
