#include "report_command.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <tracelens/analyze/category_sheets.hpp>
#include <tracelens/analyze/collectives.hpp>
#include <tracelens/analyze/cost_diagnostics.hpp>
#include <tracelens/analyze/kernel_tables.hpp>
#include <tracelens/analyze/launch_statistics.hpp>
#include <tracelens/analyze/launchers.hpp>
#include <tracelens/analyze/op_tables.hpp>
#include <tracelens/analyze/overlap.hpp>
#include <tracelens/analyze/recompute.hpp>
#include <tracelens/analyze/unified_perf.hpp>
#include <tracelens/analyze/work_units.hpp>
#include <tracelens/core/file.hpp>
#include <tracelens/model/backward_links.hpp>
#include <tracelens/perf/registry.hpp>
#include <tracelens/write/csv.hpp>
#include <tracelens/write/json.hpp>
#include <tracelens/write/xlsx.hpp>

#include "extension_file.hpp"
#include "platforms.hpp"
#include "session.hpp"

namespace driver {

using namespace tracelens;

namespace {

struct Sheet {
    std::string name;
    Table table;
};

class ReportTables {
  public:
    /// `platform` may be null.
    ReportTables(const Session& session, const ReportOptions& options, const Platform* platform,
                 const ModelRegistry& registry)
        : session_(session),
          options_(options),
          platform_(platform),
          reference_(options.common.compat == Compat::reference),
          rules_(reference_ ? ClassRules::reference : ClassRules::full),
          registry_(registry) {
        if (options.recompute) marks_ = mark_recompute(*session.tree);
        LauncherOptions charging;
        charging.rules = rules_;
        if (!reference_) charging.excluded = session.quality.excluded;
        launchers_ = find_launchers(*session.tree, session.links, charging);
    }

    std::vector<Sheet> make() {
        add_timeline();
        add_op_tables();
        add_perf_tables();
        add_kernel_tables();
        add_collectives();
        return std::move(sheets_);
    }

  private:
    void add(const char* name, Table table) { sheets_.push_back({name, std::move(table)}); }

    void add_timeline() {
        if (!session_.timeline) return;
        Table whole = timeline_table(session_.trace, *session_.timeline);
        if (options_.recompute) {
            Table blocks = recompute_timeline_table(session_.trace, session_.timeline_events,
                                                    session_.classes, marks_, options_.micro_idle_us);
            total_time_us_ = first_total_us(blocks);
            add("gpu_timeline", std::move(blocks));
            if (!reference_) add("gpu_timeline_overall", with_recompute_time(std::move(whole)));
        } else {
            total_time_us_ = first_total_us(whole);
            add("gpu_timeline", std::move(whole));
        }
    }

    /// The parts' shares do not add up; the share of recompute in the whole does.
    Table with_recompute_time(Table timeline) const {
        const Trace& trace = session_.trace;
        const Ticks busy = recompute_busy_ticks(trace, session_.timeline_events, marks_);
        const Ticks total = session_.timeline->total;
        const double percent = 100 * static_cast<double>(busy) / static_cast<double>(total);
        timeline.append_row({std::string_view("recompute_time"), trace.to_us(busy) / 1000,
                             total == 0 ? Cell{} : Cell{percent}});
        return timeline;
    }

    static double first_total_us(const Table& timeline) {
        for (std::size_t row = 0; row < timeline.row_count(); ++row) {
            if (std::get<std::string_view>(timeline.cell(0, row)) == "total_time")
                return timeline.number(1, row) * 1000;
        }
        return 0;
    }

    bool has_ops() const {
        return std::any_of(session_.trace.kind.begin(), session_.trace.kind.end(),
                           [](EventKind kind) { return kind == EventKind::cpu_op; });
    }

    void add_op_tables() {
        if (!has_ops() || launchers_.rows.empty()) return;
        OpTableOptions wanted;
        wanted.rules = rules_;
        wanted.first_occurrence = options_.first_occurrence;
        wanted.group_by_num_kernels = options_.group_by_num_kernels;
        if (options_.recompute) wanted.recompute = &marks_.marked;
        add("ops_summary_by_category", ops_summary_by_category(*session_.tree, launchers_, wanted));
        add("ops_summary", ops_summary(*session_.tree, launchers_, wanted));
        add("ops_unique_args", first_rows(ops_unique_args(*session_.tree, launchers_, wanted)));
        if (!options_.overlap) return;
        const Overlaps overlaps = find_overlaps();
        add("ops_unique_args_kl_overlap",
            first_rows(ops_unique_args_overlap(*session_.tree, launchers_, overlaps, wanted)));
    }

    /// `--topk-ops`; the reference reads it and does nothing.
    Table first_rows(Table table) const { return first_rows(std::move(table), options_.ops_top_k); }

    Table first_rows(Table table, std::optional<std::size_t> count) const {
        if (count && !reference_) table.keep_first(*count);
        return table;
    }

    /// Costs, rates and rooflines: all work in one table, and each category of ops in its own.
    void add_perf_tables() {
        if (!has_ops()) return;
        const BackwardLinks backward =
            link_backward(session_.trace, reference_ ? BackwardRule::reference : BackwardRule::flows);
        OpCosts costs(*session_.tree, registry_, reference_ ? CostRules::reference : CostRules::full);
        PerfInputs inputs{*session_.tree, session_.links, backward, launchers_, costs};
        inputs.platform = platform_;
        inputs.rules = rules_;
        inputs.python_frames = options_.call_stacks || options_.recompute;
        inputs.call_stacks = options_.call_stacks;
        if (options_.recompute) inputs.recompute = &marks_.marked;
        if (!reference_) inputs.excluded = &session_.quality.excluded;
        const WorkUnitOptions units{rules_, inputs.python_frames};
        const std::vector<WorkUnit> work = find_work_units(*session_.tree, backward, costs, units);
        print_diagnostics(cost_diagnostics(*session_.tree, costs, work), true);
        add_with_rows("unified_perf_summary", unified_perf_summary(inputs, work));
        std::vector<CategorySheet> sheets = category_sheets(inputs, {options_.group_by_num_kernels});
        std::vector<CategorySheet> beside;
        if (options_.overlap) {
            const Overlaps overlaps = find_overlaps();
            inputs.overlaps = &overlaps;
            add_with_rows("unified_perf_summary_kl_overlap", unified_perf_summary(inputs, work));
            beside = category_sheets(inputs, {options_.group_by_num_kernels});
        }
        // The sheets of a category, then the same with what runs beside its ops.
        for (std::size_t i = 0; i < sheets.size(); ++i) {
            const std::string category = sheets[i].category;
            add_with_rows(sheets[i].name, first_rows(std::move(sheets[i].table), options_.roofline_top_k));
            if (i + 1 < sheets.size() && sheets[i + 1].category == category) continue;
            for (CategorySheet& sheet : beside) {
                if (sheet.category == category)
                    add_with_rows(sheet.name + "_kl_overlap",
                                  first_rows(std::move(sheet.table), options_.roofline_top_k));
            }
        }
    }

    void add_with_rows(const std::string& name, Table table) {
        if (table.row_count() != 0) add(name.c_str(), std::move(table));
    }

    Overlaps find_overlaps() const {
        OverlapOptions beside;
        beside.rules = rules_;
        if (options_.recompute) beside.parts = &marks_.marked;
        return tracelens::find_overlaps(*session_.tree, session_.timeline_events, beside);
    }

    void add_collectives() {
        if (options_.no_collectives || !has_ops()) return;
        add_with_rows("coll_analysis", collective_summary(session_.trace, rules_));
    }

    void add_kernel_tables() {
        KernelTableOptions wanted;
        wanted.rules = rules_;
        wanted.total_time_us = total_time_us_;
        if (!reference_) wanted.excluded = session_.quality.excluded;
        if (options_.kernel_summary) {
            Table table = kernel_summary(*session_.tree, session_.links, launchers_, wanted);
            if (table.row_count() != 0) add("kernel_summary", std::move(table));
            if (!reference_) {
                add("kernel_summary_by_category",
                    kernel_summary_by_category(*session_.tree, session_.links, launchers_, wanted));
                add("launch_statistics",
                    launch_statistics(session_.trace, session_.links, session_.timeline_events));
            }
        }
        if (!options_.short_kernels) return;
        const ShortKernelOptions shorter{options_.short_threshold_us, options_.short_bins,
                                         options_.short_top_k};
        add("short_kernel_histogram", short_kernel_histogram(session_.trace, wanted, shorter));
        add("short_kernels_summary", short_kernels_summary(*session_.tree, session_.links, wanted, shorter));
    }

    const Session& session_;
    const ReportOptions& options_;
    const Platform* platform_;
    bool reference_;
    ClassRules rules_;
    const ModelRegistry& registry_;
    RecomputeMarks marks_;
    Launchers launchers_;
    double total_time_us_ = 0;
    std::vector<Sheet> sheets_;
};

struct OutputFile {
    std::string path;
    std::string content;
};

NestedForm nested_form(const ReportOptions& options) {
    return options.common.compat == Compat::reference ? NestedForm::python : NestedForm::json;
}

Result<Done> write_workbook(const std::vector<Sheet>& sheets, const ReportOptions& options) {
    std::vector<Worksheet> worksheets;
    for (const Sheet& sheet : sheets) worksheets.push_back({sheet.name, &sheet.table});
    const bool plain = options.common.compat == Compat::reference;
    return write_xlsx(options.xlsx_file, worksheets, nested_form(options),
                      plain ? WorkbookStyle::plain : WorkbookStyle::readable);
}

std::vector<OutputFile> output_files(const std::vector<Sheet>& sheets, const ReportOptions& options) {
    const NestedForm form = nested_form(options);
    std::vector<OutputFile> files;
    if (!options.csv_folder.empty()) {
        for (const Sheet& sheet : sheets) {
            files.push_back({options.csv_folder + "/" + sheet.name + ".csv", to_csv(sheet.table, form)});
        }
    }
    if (!options.json_file.empty()) {
        JsonWriter json;
        json.begin_object();
        for (const Sheet& sheet : sheets) {
            json.key(sheet.name);
            write_table(json, sheet.table);
        }
        json.end_object();
        files.push_back({options.json_file, json.take()});
    }
    return files;
}

}  // namespace

int run_report(const ReportOptions& options) {
    ModelRegistry registry;
    if (const auto added = add_extension_file(registry, options.extension_file); !added) {
        fmt::print(stderr, "tracelens: {}\n", added.failure().message());
        return exit_usage;
    }
    SessionOptions wanted;
    wanted.common = options.common;
    wanted.include_unlinked = options.include_unlinked;
    wanted.micro_idle_us = options.micro_idle_us;
    wanted.python_frames = options.recompute || options.call_stacks;
    const Result<std::unique_ptr<Session>> opened = open_session(wanted);
    if (!opened) return report_failure(opened.failure());
    const Session& session = **opened;
    print_diagnostics(session.quality.diagnostics, false);

    const bool reference = options.common.compat == Compat::reference;
    const Result<std::optional<Platform>> platform =
        find_platform(options.platform, reference ? std::string() : session.device_name);
    if (!platform) {
        fmt::print(stderr, "tracelens: {}\n", platform.failure().message());
        return exit_usage;
    }
    const Platform* const limits = *platform ? &**platform : nullptr;
    if (limits != nullptr && !options.common.quiet) {
        fmt::print("platform: {}{} (figures: {})\n", limits->name,
                   options.platform.empty() ? ", the device of the trace" : "", to_string(limits->figures));
    }
    const std::vector<Sheet> sheets = ReportTables(session, options, limits, registry).make();
    const auto done = [&](const std::string& path, const Result<Done>& written) {
        if (!written)
            fmt::print(stderr, "tracelens: {}\n", written.failure().message());
        else if (!options.common.quiet)
            fmt::print("{}\n", path);
        return written.ok();
    };
    for (const OutputFile& file : output_files(sheets, options)) {
        if (!done(file.path, write_file(file.path, file.content))) return exit_internal;
    }
    if (!options.xlsx_file.empty() && !done(options.xlsx_file, write_workbook(sheets, options)))
        return exit_internal;
    return exit_ok;
}

}  // namespace driver
