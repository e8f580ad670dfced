// The report's items: what they say, and the evidence behind them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "session.hpp"

namespace driver {

inline constexpr std::size_t name_length =
    75;  // displayed characters of a kernel name (spec 05, section 8.5)
inline constexpr std::size_t most_kernel_items = 40;  // of a collapsed trace (spec 11, section 2)
inline constexpr double least_item_percent = 0.5;     // of kernel time
inline constexpr double idle_limit = 15;              // percent of the window (spec 06, section 4.1)
inline constexpr double exposed_limit = 5;            // percent of the window (spec 06, section 4.2)

inline constexpr const char* dash = "\xe2\x80\x94";

/// A card of the report with its block in the detailed analysis.
struct Item {
    std::string title;
    std::string insight;
    std::string action;
    std::string impact;  // the text behind "Impact"
    std::string marker;  // attributes of the impact marker
    std::string note;    // quoted line behind the marker; may be empty
    std::string identification;
    std::string data;  // a table
    std::string reasoning;
    std::string resolution;
    std::string estimate;
};

/// Items of a collapsed trace, one a kernel name: nothing but name, time and share is known, and the impact
/// is a fixed fraction (spec 11, section 2). `dropped` counts the kernels left out.
std::vector<Item> kernel_name_items(const Session& session,
                                    const std::vector<tracelens::KernelTotals>& kernels,
                                    std::size_t& dropped);

/// Items from the GPU timeline: idle time, exposed communication, exposed copies, as far as they pass their
/// limits.
std::vector<Item> system_items(const Session& session);

/// Text as a Markdown code span that may stand in a table cell.
std::string code_span(std::string_view text);

/// 100 * part / whole; 0 for an empty whole.
double percent_of(tracelens::Ticks part, tracelens::Ticks whole);

/// Share of the session's window, in percent.
double window_percent(const Session& session, tracelens::Ticks part);

}  // namespace driver
