#include "analysis_report.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <tracelens/classify/kernel_family.hpp>
#include <tracelens/write/markdown.hpp>

namespace driver {

using namespace tracelens;

namespace {

constexpr std::size_t name_length = 75;     // displayed characters of a kernel name (spec 05, section 8.5)
constexpr std::size_t most_kernels = 20;    // rows of the kernel table
constexpr std::size_t most_items = 40;      // kernel-name items of a collapsed trace (spec 11, section 2)
constexpr double least_item_percent = 0.5;  // of GPU time
constexpr double idle_limit = 15;           // percent of the window (spec 06, section 4.1)
constexpr double exposed_limit = 5;         // percent of the window (spec 06, section 4.2)
constexpr std::size_t most_gaps = 10;
constexpr std::array heuristic_shares = {0.15, 0.30, 0.45};  // low, mid, high (spec 05, section 8.6)

constexpr const char* dash = "\xe2\x80\x94";
constexpr std::array<const char*, 3> icons = {"\xf0\x9f\x94\xb4", "\xf0\x9f\x9f\xa1",
                                              "\xf0\x9f\x9f\xa2"};  // red, yellow, green

const char* icon(std::size_t rank) {
    return icons[std::min<std::size_t>(rank, icons.size()) - 1];
}

std::string code(std::string_view text) {
    std::string inside;
    for (const char c : text) {
        if (c == '|')
            inside += "\\|";
        else
            inside += c == '`' ? '\'' : c == '\n' || c == '\t' || c == '\r' ? ' ' : c;
    }
    return "`" + inside + "`";
}

/// A name that may stand in a heading: no line ends, and nothing that reads like an item number.
std::string title_text(std::string_view name) {
    std::string text = shortened(name, name_length);
    for (char& c : text) {
        if (c == '\n' || c == '\t' || c == '\r' || c == '`') c = ' ';
    }
    return text.empty() ? "(unnamed kernel)" : text;
}

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

struct FamilyTotals {
    std::string_view family;
    Ticks time = 0;
    std::size_t kernels = 0;
};

class ReportWriter {
  public:
    explicit ReportWriter(const Session& session)
        : session_(session),
          trace_(session.trace),
          collapsed_(session.quality.diagnostics.find("GRAPH_UNDER_RECORDED") != nullptr) {
        for (const KernelTotals& each : session.window_totals) gpu_time_ += each.total;
        kernels_ = only_kernels(session.window_totals);
        collect_families();
        if (collapsed_) collect_kernel_items();
        collect_system_items();
    }

    std::string write() {
        write_title();
        write_executive_summary();
        write_warnings();
        write_compute_section();
        write_fusion_section();
        write_system_section();
        write_detailed_analysis();
        write_appendix();
        return std::move(out_);
    }

  private:
    template <class... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
        out_ += '\n';
    }
    void blank() { out_ += '\n'; }
    void rule() { out_ += "\n---\n\n"; }

    double ms(Ticks ticks) const { return trace_.to_us(ticks) / 1000; }

    double window_percent(Ticks part) const {
        const Ticks total = session_.timeline ? session_.timeline->total : 0;
        return total == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(total);
    }

    static double percent_of(Ticks part, Ticks whole) {
        return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
    }

    // --- what is reported ---

    void collect_families() {
        std::map<std::string_view, FamilyTotals> totals;
        for (const KernelTotals& each : kernels_) {
            if (each.gpu_class != GpuClass::computation) continue;
            FamilyTotals& family = totals[kernel_family(trace_.text(each.name), each.gpu_class)];
            family.time += each.total;
            ++family.kernels;
            compute_time_ += each.total;
        }
        for (auto& [name, family] : totals) {
            family.family = name;
            families_.push_back(family);
        }
        std::stable_sort(families_.begin(), families_.end(),
                         [](const FamilyTotals& a, const FamilyTotals& b) { return a.time > b.time; });
    }

    /// Spec 11, section 2: nothing but kernel name, time and share is known, and the impact is a fixed
    /// fraction.
    void collect_kernel_items() {
        Ticks sum = 0;
        for (const KernelTotals& each : kernels_) sum += each.total;
        for (const KernelTotals& each : kernels_) {
            const double share = percent_of(each.total, sum);
            if (share < least_item_percent || kernel_items_.size() == most_items) {
                ++dropped_items_;
                continue;
            }
            const std::string_view name = trace_.text(each.name);
            const std::string low = fixed_decimals(share * heuristic_shares[0], 2);
            const std::string mid = fixed_decimals(share * heuristic_shares[1], 2);
            const std::string high = fixed_decimals(share * heuristic_shares[2], 2);
            Item item;
            item.title = title_text(name);
            item.insight = fmt::format("This kernel takes {:.3f} ms in {} launches, {:.1f}% of kernel time.",
                                       ms(each.total), each.count, share);
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
            table.row({dash, "", "", code(name), fixed_decimals(ms(each.total), 3),
                       fixed_decimals(window_percent(each.total), 2), std::to_string(each.count), dash, dash,
                       dash});
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
            kernel_items_.push_back(std::move(item));
        }
    }

    void collect_system_items() {
        if (!session_.timeline) return;
        const GpuTimeline& times = *session_.timeline;
        const bool idle_unreliable = session_.quality.diagnostics.find("IDLE_UNRELIABLE") != nullptr;
        if (window_percent(times.idle) > idle_limit && !idle_unreliable) add_idle_item(times);
        std::vector<std::pair<Ticks, Item>> exposed;
        if (window_percent(times.exposed_comm) > exposed_limit)
            exposed.emplace_back(times.exposed_comm, communication_item(times));
        if (window_percent(times.exposed_memcpy) > exposed_limit)
            exposed.emplace_back(times.exposed_memcpy, copy_item(times));
        std::stable_sort(exposed.begin(), exposed.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        for (auto& [time, item] : exposed) system_items_.push_back(std::move(item));
    }

    std::string metric_table(
        std::initializer_list<std::pair<const char*, std::pair<Ticks, bool>>> rows) const {
        constexpr std::array<std::string_view, 3> header = {"Metric", "Value", "Flagged"};
        MarkdownTable table(header);
        for (const auto& [name, value] : rows) {
            table.row({name, fmt::format("{:.1f} ms ({:.1f}%)", ms(value.first), window_percent(value.first)),
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
            ms(times.idle), window_percent(times.idle), gap.count, percent_of(gap.in_long, gap.total));
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
        system_items_.push_back(std::move(item));
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
                       code(shortened(trace_.name_of(gap.before), name_length)),
                       code(shortened(trace_.name_of(gap.after), name_length))});
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
            table.row({code(shortened(trace_.text(each.name), name_length)), std::to_string(each.count),
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
            ms(times.total_comm), ms(times.exposed_comm), window_percent(times.exposed_comm));
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
            ms(times.total_memcpy), ms(times.exposed_memcpy), window_percent(times.exposed_memcpy));
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

    // --- sections ---

    void write_title() {
        line("# Unidentified model - {} Standalone Analysis",
             session_.device_name.empty() ? "unknown platform" : session_.device_name);
        blank();
    }

    void write_banner() {
        const Verdict outcome = session_.quality.outcome;
        if (outcome == Verdict::ok) return;
        std::vector<std::string> reasons;
        for (const Diagnostic& entry : session_.quality.diagnostics.entries()) {
            if (entry.verdict == outcome && reasons.size() < 2)
                reasons.push_back(fmt::format("{} ({})", markdown_cell(entry.first), entry.code));
        }
        const std::string why = fmt::format("{}", fmt::join(reasons, "; "));
        if (collapsed_) {
            line(
                "> **Trace quality:** collapsed. {:.0f}% of GPU time was replayed from GPU graphs. Only "
                "kernel name, time and share of the "
                "end-to-end time can be recovered; impact is estimated by a fixed fraction.{}",
                100 * session_.quality.graph_share,
                dropped_items_ == 0
                    ? std::string()
                    : fmt::format(" {} kernels under {}% of kernel time or beyond the first {} are left out.",
                                  dropped_items_, least_item_percent, most_items));
        } else if (outcome == Verdict::fallback) {
            line("> **Trace quality:** timeline only. Kernels cannot be tied to operations because {}.", why);
        } else {
            line("> **Trace quality:** reduced. {}.", why);
        }
        blank();
    }

    void write_executive_summary() {
        line("## Executive Summary");
        blank();
        write_banner();
        const std::string top = families_.empty() ? "None" : std::string(families_.front().family);
        const double top_share = families_.empty() ? 0 : percent_of(families_.front().time, compute_time_);
        constexpr std::array<std::string_view, 2> header = {"Metric", "Value"};
        MarkdownTable table(header);
        if (session_.timeline) {
            const GpuTimeline& times = *session_.timeline;
            line(
                "The traced window lasts {:.3f} ms and the GPU computes for {:.1f}% of it. {} kernels are "
                "the largest family at {:.1f}% of "
                "compute kernel time. {} system-level item(s) passed their limits.",
                ms(times.total), window_percent(times.computation), top, top_share, system_items_.size());
            if (session_.nothing_linked)
                line("No GPU event has a launch in the trace, so the window is all GPU events.");
            table.row({"Total Time", fmt::format("{:.3f} ms", ms(times.total))});
            table.row({"Compute %", fmt::format("{:.1f}%", window_percent(times.computation))});
            table.row({"Idle %", fmt::format("{:.1f}%", window_percent(times.idle))});
            table.row(
                {"Exposed Communication %", fmt::format("{:.1f}%", window_percent(times.exposed_comm))});
        } else {
            line("The trace holds no GPU work, so only the host side can be shown.");
            for (const char* metric : {"Total Time", "Compute %", "Idle %", "Exposed Communication %"})
                table.row({metric, dash});
        }
        table.row({"Top Bottleneck Category", fmt::format("{} ({:.1f}%)", top, top_share)});
        blank();
        out_ += table.text();
        rule();
    }

    void write_warnings() {
        std::vector<const Diagnostic*> fired;
        for (const Diagnostic& entry : session_.quality.diagnostics.entries()) {
            if (entry.verdict > Verdict::note) fired.push_back(&entry);
        }
        if (fired.empty()) return;
        std::stable_sort(fired.begin(), fired.end(),
                         [](const Diagnostic* a, const Diagnostic* b) { return a->verdict > b->verdict; });
        line("## Warnings");
        blank();
        constexpr std::array<std::string_view, 3> header = {"Check", "Measured", "Effect"};
        MarkdownTable table(header);
        for (const Diagnostic* entry : fired) {
            table.row({entry->code, markdown_cell(entry->first),
                       entry->verdict == Verdict::fallback ? "no per-op analysis"
                                                           : "what depends on it is left out"});
        }
        out_ += table.text();
        rule();
    }

    void write_compute_section() {
        line("## Compute Kernel Optimizations");
        blank();
        line("### Top Operations");
        blank();
        line("Kernel families, told from kernel names.");
        blank();
        write_family_table();
        blank();
        if (!kernels_.empty()) {
            line("### Top Kernels");
            blank();
            write_kernel_table();
            blank();
        } else {
            line("### Host Operations");
            blank();
            write_host_table();
            blank();
        }
        if (collapsed_) {
            write_cards(kernel_items_, "compute", "p");
        } else {
            line("This report holds no cost model for the trace's ops yet, so no compute item is ranked.");
        }
        rule();
    }

    void write_family_table() {
        line("<!-- impact-begin kind=top_ops -->");
        line("| Rank | Category | Time (ms) | % of Compute Time | Ops |");
        line("|------|----------|-----------|-------------------|-----|");
        for (std::size_t i = 0; i < families_.size(); ++i) {
            line("| {} | {} | {:.3f} | {:.1f}% | {} | <!-- top-ops-row low=null high=null -->", i + 1,
                 families_[i].family, ms(families_[i].time), percent_of(families_[i].time, compute_time_),
                 families_[i].kernels);
        }
        line("<!-- impact-end -->");
    }

    void write_kernel_table() {
        constexpr std::array<std::string_view, 7> header = {"Rank",  "Kernel",    "Class",        "Family",
                                                            "Count", "Time (ms)", "% of GPU Time"};
        constexpr std::array numeric = {true, false, false, false, true, true, true};
        MarkdownTable table(header, numeric);
        for (std::size_t i = 0; i < kernels_.size() && i < most_kernels; ++i) {
            const KernelTotals& each = kernels_[i];
            const std::string_view name = trace_.text(each.name);
            table.row({std::to_string(i + 1), code(shortened(name, name_length)), to_string(each.gpu_class),
                       std::string(kernel_family(name, each.gpu_class)), std::to_string(each.count),
                       fixed_decimals(ms(each.total), 3),
                       fixed_decimals(percent_of(each.total, gpu_time_), 1)});
        }
        out_ += table.text();
        if (kernels_.size() > most_kernels) {
            blank();
            line("{} more kernels are in `kernel_summary.csv`.", kernels_.size() - most_kernels);
        }
    }

    /// Ops of the host by total time: what is left to show without GPU work.
    void write_host_table() {
        std::vector<EventId> ops;
        for (EventId event = 0; event < trace_.size(); ++event) {
            if (trace_.kind[event] == EventKind::cpu_op) ops.push_back(event);
        }
        if (ops.empty()) {
            line("The trace holds no ops either.");
            return;
        }
        const std::vector<KernelTotals> totals = tracelens::kernel_totals(trace_, ops, session_.classes);
        constexpr std::array<std::string_view, 3> header = {"Op", "Count",
                                                            "Host time, callees included (ms)"};
        constexpr std::array numeric = {false, true, true};
        MarkdownTable table(header, numeric);
        for (std::size_t i = 0; i < totals.size() && i < most_kernels; ++i) {
            table.row({code(shortened(trace_.text(totals[i].name), name_length)),
                       std::to_string(totals[i].count), fixed_decimals(ms(totals[i].total), 3)});
        }
        out_ += table.text();
    }

    void write_fusion_section() {
        line("## Kernel Fusion Opportunities (Experimental)");
        blank();
        line("Fusion candidates need cost models of the ops involved, and this report holds none yet.");
        rule();
    }

    void write_system_section() {
        line("## System-Level Optimizations");
        blank();
        if (!session_.timeline) {
            line("Without GPU work there is no GPU timeline to judge.");
        } else if (system_items_.empty()) {
            line(
                "\xe2\x9c\x85 No system-level bottlenecks detected: idle time is under {:.0f}% of the "
                "window, exposed communication and exposed copies are "
                "under {:.0f}%.",
                idle_limit, exposed_limit);
        } else {
            line(
                "> These items are exploratory: the trace shows that time is lost, not how much of it a "
                "change would win back.");
            blank();
            write_cards(system_items_, "system", "p");
        }
        rule();
    }

    void write_cards(const std::vector<Item>& items, std::string_view tier, std::string_view anchor) {
        for (std::size_t i = 0; i < items.size(); ++i) {
            const Item& item = items[i];
            const std::size_t rank = i + 1;
            line("### {} P{}: {}", icon(rank), rank, item.title);
            blank();
            line("**Insight**: {}", item.insight);
            blank();
            line("**Action**: {}", item.action);
            blank();
            line("<!-- impact-begin kind=p_item {} -->", item.marker);
            line("**Impact**: {}", item.impact);
            line("<!-- impact-end -->");
            if (!item.note.empty()) line("> {}", item.note);
            blank();
            line(
                "\xe2\x86\x92 *See [Detailed Analysis: {} insights > P{}](#detailed-analysis-{}-{}{}) for "
                "details*",
                tier == "compute" ? "Compute kernel" : "System-level", rank, tier, anchor, rank);
            if (i + 1 < items.size()) rule();
        }
    }

    void write_detailed_analysis() {
        line("## Detailed Analysis");
        blank();
        line("### Compute Kernel Insights");
        blank();
        if (kernel_items_.empty()) {
            line("No compute item is ranked without cost models.");
            blank();
        }
        write_blocks(kernel_items_, "compute");
        line("### Kernel Fusion Insights");
        blank();
        line("No fusion candidate is ranked without cost models.");
        blank();
        line("### System-Level Insights");
        blank();
        if (system_items_.empty()) {
            line("{}", session_.timeline ? "\xe2\x9c\x85 No system-level bottlenecks detected"
                                         : "Without GPU work there is no GPU timeline to judge.");
            blank();
        }
        write_blocks(system_items_, "system");
        out_ += "---\n\n";
    }

    void write_blocks(const std::vector<Item>& items, std::string_view tier) {
        for (std::size_t i = 0; i < items.size(); ++i) {
            const Item& item = items[i];
            const std::size_t rank = i + 1;
            line("<a id=\"detailed-analysis-{}-p{}\"></a>", tier, rank);
            line("<!-- reasoning-candidate tier={} rank={} -->", tier, rank);
            line("#### {} P{}: {}", icon(rank), rank, item.title);
            blank();
            line("**Identification:** {}", item.identification);
            blank();
            line("**Data:**");
            blank();
            out_ += item.data;
            blank();
            line("**Reasoning for Slowdown:** {}", item.reasoning);
            blank();
            line("**Resolution:** {}", item.resolution);
            blank();
            line("**Impact estimate:**");
            blank();
            line("{}", item.estimate);
            blank();
        }
    }

    void write_appendix() {
        line("## Appendix");
        blank();
        line("### Model Architecture");
        blank();
        for (const char* label : {"Model", "Architecture", "Scale", "Precision"})
            line("- **{}**: Cannot be inferred from trace", label);
        blank();
        line("### Hardware Reference");
        blank();
        line("- **Platform**: {}",
             session_.device_name.empty() ? "not recorded in the trace" : session_.device_name);
        blank();
        line("### Trace Quality");
        blank();
        line("- **Outcome**: {}", to_string(session_.quality.outcome));
        line("- **Complete events**: {} of {} events in the file", trace_.size(), trace_.file_events);
        line("- **GPU events**: {}, of which {} have a launch in the trace", session_.quality.gpu_events,
             session_.quality.linked_gpu_events);
        if (session_.timeline_with_unlinked) {
            line(
                "- **Left out of the window and of all tables**: {} GPU events without a launch; with them "
                "the window is {:.3f} ms, {:.3f} ms busy",
                session_.all_gpu_events.size() - session_.timeline_events.size(),
                ms(session_.timeline_with_unlinked->total), ms(session_.timeline_with_unlinked->busy));
        }
        for (const EventId event : session_.quality.corrupt) {
            line("- **Left out of all times**: {}, {:.3f} ms long",
                 code(shortened(trace_.name_of(event), name_length)), ms(trace_.duration(event)));
        }
        if (session_.quality.diagnostics.empty()) return;
        blank();
        constexpr std::array<std::string_view, 4> header = {"Check", "Verdict", "Measured", "What to do"};
        MarkdownTable table(header);
        for (const Diagnostic& entry : session_.quality.diagnostics.entries()) {
            table.row({entry.code, to_string(entry.verdict), markdown_cell(entry.first), entry.remedy});
        }
        out_ += table.text();
    }

    const Session& session_;
    const Trace& trace_;
    bool collapsed_;
    std::vector<KernelTotals> kernels_;
    std::vector<FamilyTotals> families_;
    Ticks gpu_time_ = 0;
    Ticks compute_time_ = 0;
    std::vector<Item> kernel_items_;
    std::vector<Item> system_items_;
    std::size_t dropped_items_ = 0;
    std::string out_;
};

}  // namespace

std::string analysis_report(const Session& session) {
    return ReportWriter(session).write();
}

}  // namespace driver
