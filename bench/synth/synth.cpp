#include "synth.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <stdexcept>

#include "frames.hpp"
#include "timeline.hpp"
#include "trace_writer.hpp"
#include "workload.hpp"

namespace tracelens::synth {
namespace {

constexpr std::array sections{Section::autograd_ops, Section::main_ops, Section::memory, Section::frames,
                              Section::device};

void check(const Options& options) {
    if (options.layers < 1 || options.layers > 512)
        throw std::invalid_argument("layers must be between 1 and 512");
    if (options.python_depth < 0 || options.python_depth > 1000)
        throw std::invalid_argument("the python depth must be between 0 and 1000");
    if (options.world_size < 1 || options.rank < 0 || options.rank >= options.world_size)
        throw std::invalid_argument("the rank must be at least 0 and below the world size");
}

/// Plans and replays one trace. Events of a file are ordered by section, not by time; rather than keeping
/// them all, the timeline is run once a section, which costs far less than writing and always gives the same
/// records.
class Generator {
  public:
    explicit Generator(const Options& options)
        : options_(options),
          device_(options.vendor),
          workload_(make_workload(options_, catalogue_, device_)) {
        for (const std::string& name :
             entry_frames(entry_depth(options_), options_.workload == WorkloadKind::training))
            entry_frames_.push_back(catalogue_.frame(name));
        epilogue_ = plan_epilogue(options_, catalogue_);
    }

    std::uint64_t steps() {
        if (options_.target_bytes == 0) return std::max<std::uint64_t>(options_.steps, 1);
        return steps_for(options_.target_bytes);
    }

    Summary write(std::uint64_t steps, const TraceWriter::Sink& sink) {
        TraceWriter writer(catalogue_, device_, options_, sink);
        writer.begin();
        std::vector<Record> work_annotations;
        std::int64_t end = 0;
        for (const Section section : sections) {
            Timeline timeline = start();
            if (section == Section::frames) writer.write(section, closed_frames_);
            for (std::uint64_t step = 0; step <= steps; ++step) {
                records_.clear();
                timeline.run(step < steps ? plan(step) : epilogue_, records_);
                writer.write(section, records_);
                if (section != Section::device) continue;
                for (const Record& record : records_)
                    if (record.kind == RecordKind::work_annotation) work_annotations.push_back(record);
            }
            closed_frames_ = timeline.close_frames();
            end = timeline.now();
            begin_ = timeline.begin();
        }
        writer.end(work_annotations, begin_, end + 60'000);
        Summary summary = writer.summary();
        summary.steps = steps;
        return summary;
    }

  private:
    Timeline start() {
        Timeline timeline(catalogue_, device_, options_.seed);
        timeline.open_frames(entry_frames_);
        return timeline;
    }

    const Program& plan(std::uint64_t step) {
        const std::size_t phase = step % workload_->period();
        const auto found = plans_.find(phase);
        if (found != plans_.end()) return found->second;
        return plans_.emplace(phase, workload_->plan(phase)).first->second;
    }

    /// Sizes up the steps of one period (fewer if the target is small) and extrapolates.
    std::uint64_t steps_for(std::uint64_t target) {
        const std::uint64_t fixed = write(0, {}).bytes;
        TraceWriter writer(catalogue_, device_, options_, {});
        Timeline timeline = start();
        std::vector<std::uint64_t> totals{fixed};
        while (totals.size() <= workload_->period()) {
            records_.clear();
            timeline.run(plan(totals.size() - 1), records_);
            for (const Section section : sections) writer.write(section, records_);
            totals.push_back(fixed + writer.bytes());
            if (totals.back() >= target) break;
        }
        if (totals.back() < target) {
            const std::uint64_t cycle = totals.back() - fixed;
            const std::uint64_t cycles = (target - fixed) / cycle;
            const std::uint64_t rest = (target - fixed) % cycle;
            return cycles * workload_->period() + nearest(totals, fixed + rest);
        }
        return std::max<std::uint64_t>(nearest(totals, target), 1);
    }

    static std::uint64_t nearest(const std::vector<std::uint64_t>& totals, std::uint64_t target) {
        std::uint64_t best = 0;
        for (std::size_t i = 1; i < totals.size(); ++i) {
            const auto distance = [&](std::uint64_t total) {
                return total > target ? total - target : target - total;
            };
            if (distance(totals[i]) < distance(totals[best])) best = i;
        }
        return best;
    }

    Options options_;
    Catalogue catalogue_;
    Device device_;
    std::unique_ptr<Workload> workload_;
    std::vector<Index> entry_frames_;
    Program epilogue_;
    std::map<std::size_t, Program> plans_;
    std::vector<Record> records_;
    std::vector<Record> closed_frames_;  // known once one section has been written
    std::int64_t begin_ = 0;
};

}  // namespace

Summary generate(const Options& options, const std::function<void(std::string_view)>& sink) {
    check(options);
    Generator generator(options);
    const std::uint64_t steps = generator.steps();
    return generator.write(steps, sink);
}

}  // namespace tracelens::synth
