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

#include "report_items.hpp"

namespace driver {

using namespace tracelens;

namespace {

constexpr std::size_t most_kernels = 20;  // rows of the kernel table

constexpr std::array<const char*, 3> icons = {"\xf0\x9f\x94\xb4", "\xf0\x9f\x9f\xa1",
                                              "\xf0\x9f\x9f\xa2"};  // red, yellow, green

const char* icon(std::size_t rank) {
    return icons[std::min<std::size_t>(rank, icons.size()) - 1];
}

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
        for (const KernelTotals& each : session.window_totals)
            gpu_time_ = saturated_sum(gpu_time_, each.total);
        kernels_ = only_kernels(session.window_totals);
        collect_families();
        if (collapsed_) kernel_items_ = kernel_name_items(session, kernels_, dropped_items_);
        system_items_ = system_items(session);
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

    double percent_of_window(Ticks part) const { return window_percent(session_, part); }

    // --- what is reported ---

    void collect_families() {
        std::map<std::string_view, FamilyTotals> totals;
        for (const KernelTotals& each : kernels_) {
            if (each.gpu_class != GpuClass::computation) continue;
            FamilyTotals& family = totals[kernel_family(trace_.text(each.name), each.gpu_class)];
            family.time = saturated_sum(family.time, each.total);
            ++family.kernels;
            compute_time_ = saturated_sum(compute_time_, each.total);
        }
        for (auto& [name, family] : totals) {
            family.family = name;
            families_.push_back(family);
        }
        std::stable_sort(families_.begin(), families_.end(),
                         [](const FamilyTotals& a, const FamilyTotals& b) { return a.time > b.time; });
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
                                  dropped_items_, least_item_percent, most_kernel_items));
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
                ms(times.total), percent_of_window(times.computation), top, top_share, system_items_.size());
            if (session_.nothing_linked)
                line("No GPU event has a launch in the trace, so the window is all GPU events.");
            table.row({"Total Time", fmt::format("{:.3f} ms", ms(times.total))});
            table.row({"Compute %", fmt::format("{:.1f}%", percent_of_window(times.computation))});
            table.row({"Idle %", fmt::format("{:.1f}%", percent_of_window(times.idle))});
            table.row(
                {"Exposed Communication %", fmt::format("{:.1f}%", percent_of_window(times.exposed_comm))});
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
            table.row({std::to_string(i + 1), code_span(shortened(name, name_length)),
                       to_string(each.gpu_class), std::string(kernel_family(name, each.gpu_class)),
                       std::to_string(each.count), fixed_decimals(ms(each.total), 3),
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
            table.row({code_span(shortened(trace_.text(totals[i].name), name_length)),
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
                 code_span(shortened(trace_.name_of(event), name_length)), ms(trace_.duration(event)));
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
