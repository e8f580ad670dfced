#include "record_faults.hpp"

#include <array>
#include <utility>

namespace tracelens::synth {
namespace {

constexpr std::int64_t overlap = 27;           // ns
constexpr std::int64_t longest_pause = 3'500;  // between neighbours that come to overlap, ns

}  // namespace

void overlap_neighbours(std::vector<Record>& records) {
    std::array<Record*, 2> last{};  // by stream
    for (Record& record : records) {
        if (record.kind != RecordKind::work) continue;
        Record*& before = last[record.lane];
        if (before != nullptr && record.start - before->start - before->duration < longest_pause)
            before->duration = record.start + overlap - before->start;
        before = &record;
    }
    // A launch is followed by its work.
    Record* waiting = nullptr;
    for (std::size_t i = 0; i + 1 < records.size(); ++i) {
        if (records[i].kind != RecordKind::call || records[i + 1].kind != RecordKind::work) continue;
        const bool is_replay = i + 2 < records.size() && records[i + 2].kind == RecordKind::work;
        if (is_replay) {
            waiting = nullptr;
        } else if (waiting == nullptr) {
            waiting = &records[i];
        } else {
            std::swap(waiting[0], records[i]);
            std::swap(waiting[1], records[i + 1]);
            waiting = nullptr;
        }
    }
}

}  // namespace tracelens::synth
