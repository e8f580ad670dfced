#include "generator.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "frames.hpp"
#include "graph.hpp"
#include "record_faults.hpp"

namespace tracelens::synth {
namespace {

constexpr int most_ranks = 512;  // the records of a step are kept for each

Options checked(Options options) {
    options = with_defects(std::move(options));
    if (options.ranks > 1) options.collectives = true;
    if (options.layers < 1 || options.layers > 512)
        throw std::invalid_argument("layers must be between 1 and 512");
    if (options.python_depth < 0 || options.python_depth > 1000)
        throw std::invalid_argument("the python depth must be between 0 and 1000");
    if (options.ranks < 1 || options.ranks > most_ranks)
        throw std::invalid_argument("ranks must be between 1 and " + std::to_string(most_ranks));
    if (options.world_size < options.ranks)
        throw std::invalid_argument("the world size must be at least the number of ranks");
    const int ranks = options.ranks > 1 ? options.ranks : options.world_size;
    if (options.rank < 0 || options.rank >= ranks)
        throw std::invalid_argument("the rank must be at least 0 and below the number of ranks");
    if (options.target_bytes > 0 && options.target_events > 0)
        throw std::invalid_argument("the size is either in bytes or in events");
    return options;
}

bool has_placed_defect(const Options& options) {
    return std::any_of(options.defects.begin(), options.defects.end(), [](const DefectChoice& choice) {
        return all_defects()[static_cast<std::size_t>(choice.defect)].is_placed;
    });
}

}  // namespace

Generator::Generator(const Options& options)
    : options_(checked(options)), device_(options_), workload_(make_workload(options_, catalogue_, device_)) {
    for (const std::string& name :
         entry_frames(entry_depth(options_), options_.workload == WorkloadKind::training))
        entry_frames_.push_back(catalogue_.frame(name));
    epilogue_ = plan_epilogue(options_, catalogue_);
    steps_ = choose_steps();
    if (options_.ranks > 1) meet();
}

Timeline Generator::start(int rank, const CollectiveEnds* ends) const {
    Timeline timeline(catalogue_, device_, options_, rank, ends);
    timeline.open_frames(entry_frames_);
    return timeline;
}

const Program& Generator::plan(std::uint64_t step) {
    const std::size_t phase = step % workload_->period();
    const bool is_collapsed = step > 0 && has(options_, Defect::graph_collapsed);
    const auto found = plans_.find({is_collapsed, phase});
    if (found != plans_.end()) return found->second;
    Program program = workload_->plan(phase);
    if (is_collapsed) program = collapsed(program, catalogue_);
    if (has(options_, Defect::sync_and_overhead))
        for (const Action& action : plan_idle_gap(catalogue_).actions) program.actions.push_back(action);
    return plans_.emplace(std::pair{is_collapsed, phase}, std::move(program)).first->second;
}

void Generator::run(Timeline& timeline, std::uint64_t step, std::vector<Record>& records) {
    records.clear();
    timeline.run(plan(step), records);
    if (has(options_, Defect::small_overlaps)) overlap_neighbours(records);
}

std::vector<Section> Generator::sections() const {
    if (has(options_, Defect::legacy_array)) return {Section::legacy};
    std::vector<Section> all{Section::autograd_ops, Section::main_ops, Section::memory, Section::frames};
    if (!has(options_, Defect::cpu_only)) all.push_back(Section::device);
    return all;
}

Summary Generator::write(int rank, const TraceWriter::Sink& sink) {
    std::optional<TextFaults> faults;
    if (has_placed_defect(options_)) {
        if (sizes_.empty()) measure();
        Size total = size(steps_);
        const std::uint64_t processes = options_.merged ? static_cast<std::uint64_t>(options_.ranks) : 1;
        for (std::uint64_t& count : total.counts) count *= processes;
        faults.emplace(options_, total.counts, total.span_ns);
    }
    TraceWriter writer(catalogue_, device_, options_, sink, faults ? &*faults : nullptr);
    if (options_.merged) {
        for (int each = 0; each < options_.ranks; ++each) write_process(writer, each, steps_);
    } else {
        write_process(writer, rank, steps_);
    }
    writer.end();
    Summary summary = writer.summary();
    summary.steps = steps_;
    return summary;
}

/// Events of a file are ordered by section, not by time; rather than keeping them all, the timeline is run
/// once a section, which costs far less than writing and always gives the same records.
void Generator::write_process(TraceWriter& writer, int rank, std::uint64_t steps) {
    writer.begin(rank);
    std::vector<Record> work_annotations;
    std::vector<Record> closed_frames;  // known once one section has been written
    std::int64_t begin = 0;
    std::int64_t end = 0;
    for (const Section section : sections()) {
        Timeline timeline = start(rank, options_.ranks > 1 ? &ends_ : nullptr);
        if (section == Section::frames) writer.write(section, closed_frames);
        for (std::uint64_t step = 0; step <= steps && !writer.is_cut(); ++step) {
            if (step < steps) {
                run(timeline, step, records_);
            } else {
                records_.clear();
                timeline.run(epilogue_, records_);
            }
            writer.write(section, records_);
            if (section != Section::device) continue;
            for (const Record& record : records_)
                if (record.kind == RecordKind::work_annotation) work_annotations.push_back(record);
        }
        if (writer.is_cut()) return;
        closed_frames = timeline.close_frames();
        begin = timeline.begin();
        end = timeline.now();
    }
    writer.end_process(work_annotations, begin, end + 60'000);
}

/// Sizes up the first step and one period more, or fewer steps if they suffice.
void Generator::measure() {
    TraceWriter writer(catalogue_, device_, options_, {}, nullptr);
    write_process(writer, 0, 0);
    Timeline timeline = start(0, nullptr);
    sizes_ = {{writer.counts(), writer.bytes(), timeline.now() - timeline.begin()}};
    const auto suffices = [&] {
        const std::uint64_t steps = sizes_.size() - 1;
        return steps >= least_steps() &&
               (has_target() ? measured(sizes_.back()) >= target() : steps >= options_.steps);
    };
    while (sizes_.size() <= workload_->period() + 1 && !suffices()) {
        run(timeline, sizes_.size() - 1, records_);
        for (const Section section : sections()) writer.write(section, records_);
        sizes_.push_back({writer.counts(), writer.bytes(), timeline.now() - timeline.begin()});
    }
}

Generator::Size Generator::size(std::uint64_t steps) const {
    if (steps < sizes_.size()) return sizes_[steps];
    const std::uint64_t period = workload_->period();
    const std::uint64_t cycles = (steps - 1) / period;
    Size size = sizes_[1 + (steps - 1) % period];
    const Size& cycle_begin = sizes_[1];
    const Size& cycle_end = sizes_[1 + period];
    for (std::size_t i = 0; i < size.counts.size(); ++i)
        size.counts[i] += cycles * (cycle_end.counts[i] - cycle_begin.counts[i]);
    size.bytes += cycles * (cycle_end.bytes - cycle_begin.bytes);
    size.span_ns += static_cast<std::int64_t>(cycles) * (cycle_end.span_ns - cycle_begin.span_ns);
    return size;
}

bool Generator::has_target() const {
    return options_.target_bytes > 0 || options_.target_events > 0;
}

/// What a file of one process is to reach, in the unit of measured().
std::uint64_t Generator::target() const {
    const std::uint64_t whole = options_.target_bytes > 0 ? options_.target_bytes : options_.target_events;
    return options_.merged ? whole / static_cast<std::uint64_t>(options_.ranks) : whole;
}

std::uint64_t Generator::measured(const Size& size) const {
    return options_.target_bytes > 0 ? size.bytes : sum(size.counts);
}

std::uint64_t Generator::least_steps() const {
    return has(options_, Defect::graph_collapsed) ? 2 : 1;  // the first is not collapsed
}

std::uint64_t Generator::choose_steps() {
    if (!has_target()) return std::max(options_.steps, least_steps());
    measure();
    std::uint64_t first = least_steps();
    std::uint64_t last = sizes_.size() - 1;
    const std::uint64_t period = workload_->period();
    if (last > period && target() > measured(sizes_[first])) {
        const std::uint64_t cycle = measured(sizes_[1 + period]) - measured(sizes_[1]);
        first += (target() - measured(sizes_[first])) / cycle * period;
        last = first + period;
    }
    const auto distance = [&](std::uint64_t steps) {
        const std::uint64_t reached = measured(size(steps));
        return reached > target() ? reached - target() : target() - reached;
    };
    std::uint64_t best = first;
    for (std::uint64_t steps = first; steps <= last; ++steps)
        if (distance(steps) < distance(best)) best = steps;
    return best;
}

/// Runs all ranks side by side to find where their collectives end, which is all that they know of each
/// other.
void Generator::meet() {
    const auto count = static_cast<std::size_t>(options_.ranks);
    std::vector<Timeline> timelines;
    for (int rank = 0; rank < options_.ranks; ++rank) timelines.push_back(start(rank, nullptr));
    std::vector<std::vector<Record>> records(count);
    for (std::uint64_t step = 0; step < steps_; ++step) {
        const Program& program = plan(step);
        for (std::vector<Record>& each : records) each.clear();
        for (const Action& action : program.actions) {
            for (std::size_t rank = 0; rank < count; ++rank) timelines[rank].perform(action, records[rank]);
            if (!timelines.front().is_collective(action)) continue;
            std::int64_t joined = 0;
            for (const std::vector<Record>& each : records) joined = std::max(joined, each.back().start);
            ends_.push_back(joined + records.front().back().duration);
            for (std::size_t rank = 0; rank < count; ++rank)
                timelines[rank].settle(records[rank].back(), ends_.back());
        }
        for (Timeline& each : timelines) each.end_step(program);
    }
}

}  // namespace tracelens::synth
