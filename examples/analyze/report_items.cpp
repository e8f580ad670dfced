#include "report_items.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <tracelens/write/markdown.hpp>

namespace driver {

using namespace tracelens;

namespace {

constexpr std::size_t most_gaps = 10;
constexpr std::array heuristic_shares = {0.15, 0.30, 0.45};  // low, mid, high (spec 05, section 8.6)

/// A name that may stand in a heading: no line ends, and nothing that reads like an item number.
std::string title_text(std::string_view name) {
    std::string text = shortened(name, name_length);
    for (char& c : text) {
        if (c == '\n' || c == '\t' || c == '\r' || c == '`') c = ' ';
    }
    return text.empty() ? "(unnamed kernel)" : text;
}

/// Builds the items of the system tier.
class SystemItems {
  public:
    explicit SystemItems(const Session& session) : session_(session), trace_(session.trace) {}

    std::vector<Item> collect() {
        if (!session_.timeline) return {};
        const GpuTimeline& times = *session_.timeline;
        const bool idle_unreliable = session_.quality.diagnostics.find("IDLE_UNRELIABLE") != nullptr;
        if (window_percent(session_, times.idle) > idle_limit && !idle_unreliable) add_idle_item(times);
        std::vector<std::pair<Ticks, Item>> exposed;
        if (window_percent(session_, times.exposed_comm) > exposed_limit)
            exposed.emplace_back(times.exposed_comm, communication_item(times));
        if (window_percent(session_, times.exposed_memcpy) > exposed_limit)
            exposed.emplace_back(times.exposed_memcpy, copy_item(times));
        std::stable_sort(exposed.begin(), exposed.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        for (auto& [time, item] : exposed) items_.push_back(std::move(item));
        return std::move(items_);
    }

  private:
    double ms(Ticks ticks) const { return trace_.to_us(ticks) / 1000; }

    std::string metric_table(
        std::initializer_list<std::pair<const char*, std::pair<Ticks, bool>>> rows) const {
        constexpr std::array<std::string_view, 3> header = {"Metric", "Value", "Flagged"};
        MarkdownTable table(header);
        for (const auto& [name, value] : rows) {
            table.row(
                {name,
                 fmt::format("{:.1f} ms ({:.1f}%)", ms(value.first), window_percent(session_, value.first)),
                 value.second ? "true" : "false"});
        }
        return table.text();
    }

    static Item system_item() {
        Item item;
        item.impact = item.estimate = "Not quantifiable from trace data";
        item.marker = "low=null mid=null high=null";
        return item;
    }

    struct GapStatistics {
        std::size_t count = 0;
        Ticks total = 0;
        Ticks in_long = 0;  // gaps over a millisecond
    };

    GapStatistics gap_statistics() const {
        GapStatistics result;
        Ticks reached = std::numeric_limits<Ticks>::min();
        for (const EventId event : session_.timeline_events) {
            if (reached != std::numeric_limits<Ticks>::min() && trace_.start[event] > reached) {
                const Ticks gap = trace_.start[event] - reached;
                ++result.count;
                result.total += gap;
                if (trace_.to_us(gap) > 1000) result.in_long += gap;
            }
            reached = std::max(reached, trace_.end[event]);
        }
        return result;
    }

    void add_idle_item(const GpuTimeline& times) {
        const GapStatistics gap = gap_statistics();
        const bool long_gaps = gap.in_long * 2 >= gap.total;
        Item item = system_item();
        item.title = long_gaps ? "GPU waits in long pauses" : "GPU waits between kernels";
        item.insight = fmt::format(
            "The GPU idles for {:.3f} ms, {:.1f}% of the window, in {} gaps; gaps over 1 ms hold {:.1f}% of "
            "that.",
            ms(times.idle), window_percent(session_, times.idle), gap.count,
            percent_of(gap.in_long, gap.total));
        item.action = long_gaps ? "Prepare the next step on the host while the GPU works: prefetch input, "
                                  "and move host work out of the step."
                                : "Launch less often: replay the step as a GPU graph, or fuse small kernels.";
        item.identification =
            "Idle share above 15% of the window (source: `gpu_timeline.csv` \xe2\x86\x92 `idle_time`).";
        item.data = metric_table({{"Idle", {times.idle, true}},
                                  {"Computation", {times.computation, false}},
                                  {"Communication", {times.exposed_comm, false}},
                                  {"MemCpy", {times.exposed_memcpy, false}}}) +
                    "\n" + gap_table();
        item.reasoning = long_gaps ? "Most idle time lies in pauses longer than a millisecond. Between them "
                                     "the GPU has no work queued."
                                   : "Idle time is spread over many short gaps. The host does not queue "
                                     "kernels as fast as the GPU finishes them.";
        item.resolution =
            long_gaps ? "With the next step prepared in time, its kernels are queued before the current ones "
                        "finish."
                      : "One graph launch replaces many launches, so the host no longer sets the pace.";
        items_.push_back(std::move(item));
    }

    std::string gap_table() const {
        constexpr std::array<std::string_view, 4> header = {"Longest gaps: start (ms)", "Length (ms)",
                                                            "Work before", "Work after"};
        constexpr std::array numeric = {true, true, false, false};
        MarkdownTable table(header, numeric);
        const Ticks begin = session_.timeline->window.start;
        for (const IdleGap& gap : longest_gaps(trace_, session_.timeline_events, most_gaps)) {
            table.row({fixed_decimals(ms(gap.when.start - begin), 3),
                       fixed_decimals(ms(gap.when.end - gap.when.start), 3),
                       code_span(shortened(trace_.name_of(gap.before), name_length)),
                       code_span(shortened(trace_.name_of(gap.after), name_length))});
        }
        return table.text();
    }

    std::string names_table(GpuClass wanted) const {
        constexpr std::array<std::string_view, 3> header = {"Name", "Count", "Time (ms)"};
        constexpr std::array numeric = {false, true, true};
        MarkdownTable table(header, numeric);
        std::size_t rows = 0;
        for (const KernelTotals& each : session_.window_totals) {
            if (each.gpu_class != wanted || rows++ == most_gaps) continue;
            table.row({code_span(shortened(trace_.text(each.name), name_length)), std::to_string(each.count),
                       fixed_decimals(ms(each.total), 3)});
        }
        return table.text();
    }

    Item communication_item(const GpuTimeline& times) const {
        Item item = system_item();
        item.title = "Communication is not hidden behind computation";
        const double hidden = percent_of(times.total_comm - times.exposed_comm, times.total_comm);
        item.insight = fmt::format(
            "Collectives run for {:.3f} ms; {:.3f} ms of that, {:.1f}% of the window, run while nothing "
            "computes.",
            ms(times.total_comm), ms(times.exposed_comm), window_percent(session_, times.exposed_comm));
        item.action = "Start collectives earlier on a stream of their own, and tune their bucket sizes.";
        item.identification =
            "Exposed communication above 5% of the window (source: `gpu_timeline.csv` \xe2\x86\x92 "
            "`exposed_comm_time`).";
        item.data = metric_table({{"Exposed communication", {times.exposed_comm, true}},
                                  {"All communication", {times.total_comm, false}}}) +
                    "\n" + names_table(GpuClass::communication);
        item.reasoning = fmt::format(
            "{:.1f}% of communication time overlaps with computation. The rest delays the kernels behind it.",
            hidden);
        item.resolution = "A collective that runs beside independent kernels costs no time of its own.";
        return item;
    }

    Item copy_item(const GpuTimeline& times) const {
        Item item = system_item();
        item.title = "Copies are not hidden behind computation";
        item.insight = fmt::format(
            "Copies run for {:.3f} ms; {:.3f} ms of that, {:.1f}% of the window, run while nothing else "
            "does.",
            ms(times.total_memcpy), ms(times.exposed_memcpy), window_percent(session_, times.exposed_memcpy));
        item.action =
            "Pin host memory and copy asynchronously; keep data on the device and batch reads of results.";
        item.identification =
            "Exposed copies above 5% of the window (source: `gpu_timeline.csv` \xe2\x86\x92 "
            "`exposed_memcpy_time`).";
        item.data = metric_table({{"Exposed copies", {times.exposed_memcpy, true}},
                                  {"All copies", {times.total_memcpy, false}}}) +
                    "\n" + names_table(GpuClass::memcpy);
        item.reasoning = "While such a copy runs, no kernel does.";
        item.resolution =
            "An asynchronous copy from pinned memory runs beside kernels; a copy that is not made costs "
            "nothing.";
        return item;
    }

    const Session& session_;
    const Trace& trace_;
    std::vector<Item> items_;
};

}  // namespace

std::string code_span(std::string_view text) {
    std::string inside;
    for (const char c : text) {
        if (c == '|')
            inside += "\\|";
        else
            inside += c == '`' ? '\'' : c == '\n' || c == '\t' || c == '\r' ? ' ' : c;
    }
    return "`" + inside + "`";
}

double percent_of(Ticks part, Ticks whole) {
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

double window_percent(const Session& session, Ticks part) {
    return session.timeline ? percent_of(part, session.timeline->total) : 0;
}

std::vector<Item> kernel_name_items(const Session& session, const std::vector<KernelTotals>& kernels,
                                    std::size_t& dropped) {
    const Trace& trace = session.trace;
    std::vector<Item> items;
    Ticks sum = 0;
    for (const KernelTotals& each : kernels) sum = saturated_sum(sum, each.total);
    for (const KernelTotals& each : kernels) {
        const double share = percent_of(each.total, sum);
        if (share < least_item_percent || items.size() == most_kernel_items) {
            ++dropped;
            continue;
        }
        const std::string_view name = trace.text(each.name);
        const std::string low = fixed_decimals(share * heuristic_shares[0], 2);
        const std::string mid = fixed_decimals(share * heuristic_shares[1], 2);
        const std::string high = fixed_decimals(share * heuristic_shares[2], 2);
        Item item;
        item.title = title_text(name);
        item.insight = fmt::format("This kernel takes {:.3f} ms in {} launches, {:.1f}% of kernel time.",
                                   trace.to_us(each.total) / 1000, each.count, share);
        item.action =
            "Record the ops behind it, then judge it by its shapes: profile eager mode, or add the "
            "graph's capture trace.";
        item.impact = "impact_score: " + mid;
        item.marker = fmt::format("category=unknown low={} mid={} high={}", low, mid, high);
        item.note = fmt::format(
            "**Warning {} estimated:** no op and no performance model is known for this kernel; the "
            "impact is a fixed "
            "fraction of its {:.2f}% share, not a measured gap.",
            dash, share);
        item.identification =
            "Kernel found by name in the kernel totals (source: `kernel_summary.csv` \xe2\x86\x92 "
            "`Kernel name`).";
        constexpr std::array<std::string_view, 10> header = {
            "Operation", "Args",  "Kernel Path", "Kernel Name", "Time (ms)",
            "%E2E",      "Count", "FLOPS/Byte",  "Efficiency",  "Bound"};
        MarkdownTable table(header);
        table.row({dash, "", "", code_span(name), fixed_decimals(trace.to_us(each.total) / 1000, 3),
                   fixed_decimals(window_percent(session, each.total), 2), std::to_string(each.count), dash,
                   dash, dash});
        item.data = table.text();
        item.reasoning =
            "The kernel was replayed from a GPU graph, so the trace holds neither the op that launched "
            "it nor its shapes. Whether it is slow cannot be told.";
        item.resolution = "A trace with ops and shapes allows a roofline and names the launch site.";
        item.estimate = fmt::format(
            "<!-- impact-begin kind=detail_estimate low={} high={} -->\n- Low: {}% of end-to-end time\n- "
            "High: {}% of "
            "end-to-end time\n<!-- impact-end -->",
            low, high, low, high);
        items.push_back(std::move(item));
    }
    return items;
}

std::vector<Item> system_items(const Session& session) {
    return SystemItems(session).collect();
}

}  // namespace driver
