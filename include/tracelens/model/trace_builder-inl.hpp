/// Bodies of model/trace_builder.hpp. These need nothing beyond the standard library and are always inline.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include <tracelens/core/sort.hpp>
#include <tracelens/model/trace_builder.hpp>

namespace tracelens {

inline TimeWord time_from_ns(Timestamps timestamps, std::int64_t nanoseconds) noexcept {
    if (timestamps == Timestamps::exact) return nanoseconds;
    return std::bit_cast<TimeWord>(static_cast<double>(nanoseconds) / 1000.0);
}

inline TimeWord time_from_us(Timestamps timestamps, double microseconds) noexcept {
    if (timestamps == Timestamps::reference) return std::bit_cast<TimeWord>(microseconds);
    return std::llround(microseconds * 1000.0);
}

/// Does the work of `finish_trace`, one step a member function.
class TraceAssembler {
  public:
    TraceAssembler(std::vector<TraceBuilder> builders, const TaskRunner& run)
        : builders_(std::move(builders)), run_(run) {
        if (!run_) {
            run_ = [](std::size_t count, const std::function<void(std::size_t)>& task) {
                for (std::size_t i = 0; i < count; ++i) task(i);
            };
        }
    }

    Trace assemble() {
        if (builders_.empty()) return std::move(trace_);
        trace_.timestamps = builders_.front().timestamps();
        list_segments();
        merge_shared_values();
        number_rows();
        close_spans();
        choose_ticks();
        note_clock_restarts();
        order_rows();
        move_columns();
        move_side_tables();
        return std::move(trace_);
    }

  private:
    using Segment = TraceBuilder::Segment;
    using Sizes = TraceBuilder::Sizes;

    /// A segment of one builder, with the sizes at its end.
    struct Stretch {
        std::size_t builder;
        const Segment* segment;
        Sizes end;
        std::uint32_t first_file_index;
    };

    /// A builder's ids to the trace's.
    struct IdMaps {
        std::vector<StringId> strings;
        std::vector<TrackId> tracks;
        std::vector<ArgsId> signatures;
    };

    static constexpr unsigned block_bits = ChunkedColumn<int>::block_bits;

    void list_segments() {
        for (std::size_t b = 0; b < builders_.size(); ++b) {
            TraceBuilder& builder = builders_[b];
            builder.current();
            for (std::size_t s = 0; s < builder.segments_.size(); ++s) {
                const bool last = s + 1 == builder.segments_.size();
                stretches_.push_back(
                    {b, &builder.segments_[s], last ? builder.sizes() : builder.segments_[s + 1].begin, 0});
            }
        }
        std::stable_sort(stretches_.begin(), stretches_.end(), [](const Stretch& a, const Stretch& b) {
            return a.segment->sequence < b.segment->sequence;
        });
        for (Stretch& stretch : stretches_) {
            stretch.first_file_index = static_cast<std::uint32_t>(trace_.file_events);
            trace_.file_events += stretch.segment->file_events;
            for (std::size_t phase = 0; phase < stretch.segment->phase_counts.size(); ++phase) {
                const std::uint32_t count = stretch.segment->phase_counts[phase];
                if (count != 0) trace_.phase_counts[static_cast<char>(phase)] += count;
            }
        }
    }

    void merge_shared_values() {
        maps_.resize(builders_.size());
        for (std::size_t b = 0; b < builders_.size(); ++b) {
            maps_[b].strings.resize(builders_[b].strings_.size());
            maps_[b].tracks.resize(builders_[b].tracks_.size());
            maps_[b].signatures.resize(builders_[b].signatures_.size());
        }
        // Strings of all segments first: tracks and signatures may refer to any of them. Values that a
        // builder held before its first segment come first.
        for (const auto merge : {&TraceAssembler::merge_strings, &TraceAssembler::merge_tracks,
                                 &TraceAssembler::merge_signatures}) {
            for (std::size_t b = 0; b < builders_.size(); ++b) {
                (this->*merge)(b, Sizes{}, builders_[b].segments_.front().begin);
            }
            for (const Stretch& stretch : stretches_)
                (this->*merge)(stretch.builder, stretch.segment->begin, stretch.end);
        }
    }

    void merge_strings(std::size_t b, const Sizes& begin, const Sizes& end) {
        const StringPool& strings = builders_[b].strings_;
        for (std::size_t i = begin.strings; i < end.strings; ++i) {
            const StringId id{static_cast<std::uint32_t>(i)};
            maps_[b].strings[i] = trace_.strings.intern_hashed(strings[id], strings.hash(id));
        }
    }

    void merge_tracks(std::size_t b, const Sizes& begin, const Sizes& end) {
        IdMaps& map = maps_[b];
        for (std::size_t i = begin.tracks; i < end.tracks; ++i) {
            Track track = builders_[b].tracks_[TrackId{static_cast<std::uint32_t>(i)}];
            for (TrackPart* part : {&track.pid, &track.tid}) {
                if (part->form != TrackPart::Form::text) continue;
                *part = TrackPart::text(map.strings[static_cast<std::size_t>(part->value)]);
            }
            map.tracks[i] = trace_.tracks.intern(track);
        }
    }

    void merge_signatures(std::size_t b, const Sizes& begin, const Sizes& end) {
        IdMaps& map = maps_[b];
        std::vector<Arg> args;
        for (std::size_t i = begin.signatures; i < end.signatures; ++i) {
            args.clear();
            for (const Arg& arg : builders_[b].signatures_[ArgsId{static_cast<std::uint32_t>(i)}]) {
                args.push_back({map.strings[to_index(arg.key)], map.strings[to_index(arg.value)]});
            }
            map.signatures[i] = trace_.signatures.intern(args);
        }
    }

    /// Numbers the rows of all builders: row r of builder b is `first_row_[b] + r`. Blocks of builders do not
    /// share a block number, so the number alone finds block and builder.
    void number_rows() {
        std::uint32_t next_block = 0;
        for (std::size_t b = 0; b < builders_.size(); ++b) {
            first_block_.push_back(next_block);
            const std::size_t rows = builders_[b].event_count();
            next_block +=
                static_cast<std::uint32_t>((rows + ChunkedColumn<int>::block_size - 1) >> block_bits);
            while (builder_of_block_.size() < next_block)
                builder_of_block_.push_back(static_cast<std::uint32_t>(b));
        }
        std::size_t total = 0;
        for (const TraceBuilder& builder : builders_) total += builder.event_count();
        rows_.reserve(total);
        for (const Stretch& stretch : stretches_) {
            const std::size_t base = std::size_t{first_block_[stretch.builder]} << block_bits;
            for (std::size_t row = stretch.segment->begin.events; row < stretch.end.events; ++row) {
                rows_.push_back(static_cast<std::uint32_t>(base + row));
            }
        }
    }

    std::size_t builder_of(std::uint32_t row) const noexcept { return builder_of_block_[row >> block_bits]; }
    std::size_t local(std::uint32_t row, std::size_t builder) const noexcept {
        return row - (std::size_t{first_block_[builder]} << block_bits);
    }

    /// Gives every B event the time to its E event, matched innermost first on each track.
    void close_spans() {
        const std::vector<std::uint32_t> lanes = lanes_of_tracks(trace_.tracks);
        struct Edge {
            std::uint32_t lane;
            std::uint32_t file_index;
            bool is_end;
            TimeWord time;
            std::uint32_t row;  // of a begin
        };
        std::vector<Edge> edges;
        for (const Stretch& stretch : stretches_) {
            TraceBuilder& builder = builders_[stretch.builder];
            const IdMaps& map = maps_[stretch.builder];
            const std::size_t base = std::size_t{first_block_[stretch.builder]} << block_bits;
            for (std::size_t i = stretch.segment->begin.span_begins; i < stretch.end.span_begins; ++i) {
                const std::uint32_t row = builder.span_begins_[i];
                edges.push_back({lanes[to_index(map.tracks[to_index(builder.track_[row])])],
                                 builder.file_index_[row] + stretch.first_file_index, false,
                                 builder.start_[row], static_cast<std::uint32_t>(base + row)});
            }
            for (std::size_t i = stretch.segment->begin.span_ends; i < stretch.end.span_ends; ++i) {
                const auto& end = builder.span_ends_[i];
                edges.push_back({lanes[to_index(map.tracks[to_index(end.track)])],
                                 end.file_index + stretch.first_file_index, true, end.time, 0});
            }
        }
        std::sort(edges.begin(), edges.end(), [this](const Edge& a, const Edge& b) {
            if (a.lane != b.lane) return a.lane < b.lane;
            if (a.time != b.time) return earlier(a.time, b.time);
            return a.file_index < b.file_index;
        });
        std::uint64_t unmatched = 0;
        std::vector<const Edge*> open;
        for (std::size_t i = 0; i < edges.size(); ++i) {
            if (i > 0 && edges[i].lane != edges[i - 1].lane) {
                unmatched += open.size();
                open.clear();
            }
            if (!edges[i].is_end) {
                open.push_back(&edges[i]);
            } else if (open.empty()) {
                ++unmatched;
            } else {
                const Edge& begin = *open.back();
                open.pop_back();
                const std::size_t builder = builder_of(begin.row);
                builders_[builder].duration_[local(begin.row, builder)] =
                    difference(edges[i].time, begin.time);
            }
        }
        unmatched += open.size();
        if (unmatched != 0) {
            trace_.diagnostics.add(
                {"trace_quality",
                 "BAD_EVENTS",
                 Verdict::note,
                 unmatched,
                 "begin or end events without their partner; begins count with zero duration",
                 "let the recorder finish before it exports",
                 {},
                 {},
                 {}});
        }
    }

    double as_double(TimeWord word) const noexcept {
        return trace_.timestamps == Timestamps::exact ? static_cast<double>(word)
                                                      : std::bit_cast<double>(word);
    }

    bool earlier(TimeWord a, TimeWord b) const noexcept {
        return trace_.timestamps == Timestamps::exact ? a < b
                                                      : std::bit_cast<double>(a) < std::bit_cast<double>(b);
    }

    TimeWord difference(TimeWord later, TimeWord earlier) const noexcept {
        if (trace_.timestamps == Timestamps::exact) return later - earlier;
        return std::bit_cast<TimeWord>(std::bit_cast<double>(later) - std::bit_cast<double>(earlier));
    }

    /// Exact: ticks are nanoseconds. Reference: the finest power of two of ticks a microsecond in which every
    /// rounded start and end is an integer, as far as the whole span fits 62 bits (design.md, "The trace
    /// model").
    void choose_ticks() {
        constexpr int usual_bits = 12;  // of absolute Unix microseconds
        if (rows_.empty()) {
            if (trace_.timestamps == Timestamps::exact) return;
            tick_bits_ = usual_bits;
            trace_.ticks_per_us = std::int64_t{1} << usual_bits;
            return;
        }
        if (trace_.timestamps == Timestamps::exact) {
            std::int64_t first = std::numeric_limits<std::int64_t>::max();
            for (const TraceBuilder& builder : builders_) {
                for (std::size_t i = 0; i < builder.event_count(); ++i)
                    first = std::min(first, builder.start_[i]);
            }
            trace_.epoch = first;
            return;
        }
        double first = std::numeric_limits<double>::infinity();
        double last = -first;
        int lowest_bit = 0;
        const auto note = [&lowest_bit](double value) {
            if (value == 0) return;
            int exponent = 0;
            const double fraction = std::frexp(value, &exponent);
            const auto mantissa = static_cast<std::uint64_t>(std::fabs(std::ldexp(fraction, 53)));
            lowest_bit = std::min(lowest_bit, exponent - 53 + std::countr_zero(mantissa));
        };
        for (const TraceBuilder& builder : builders_) {
            for (std::size_t i = 0; i < builder.event_count(); ++i) {
                const double start = std::bit_cast<double>(builder.start_[i]);
                const double end = start + std::bit_cast<double>(builder.duration_[i]);
                note(start);
                note(end);
                first = std::min(first, start);
                last = std::max(last, end);
            }
        }
        int span_bits = 0;
        std::frexp(std::max({last - first, std::fabs(first), std::fabs(last)}), &span_bits);
        const int most = std::clamp(62 - span_bits, 0, 62);
        const int bits = std::min(-lowest_bit, most);
        if (bits < -lowest_bit) {
            trace_.diagnostics.add({"trace_quality",
                                    "TICKS_CLAMPED",
                                    Verdict::note,
                                    1,
                                    "timestamps need 2^" + std::to_string(-lowest_bit) +
                                        " ticks a microsecond, 2^" + std::to_string(bits) +
                                        " fit; times are rounded to that",
                                    "",
                                    {},
                                    {},
                                    {}});
        }
        trace_.ticks_per_us = std::int64_t{1} << bits;
        tick_bits_ = bits;
        trace_.epoch = std::llround(std::ldexp(first, bits));
    }

    Ticks to_ticks(TimeWord word) const noexcept {
        if (trace_.timestamps == Timestamps::exact) return word - trace_.epoch;
        // Events of the side tables may lie far outside the span that the ticks were chosen for.
        constexpr double limit = 0x1p62;
        const double ticks = std::ldexp(std::bit_cast<double>(word), tick_bits_);
        return std::llround(std::clamp(ticks, -limit, limit)) - trace_.epoch;
    }

    /// The file is a concatenation of recordings when start times of one track fall back by more than half of
    /// the whole span.
    void note_clock_restarts() {
        if (rows_.size() < 2) return;
        double first = std::numeric_limits<double>::infinity();
        double last = -first;
        for (const std::uint32_t row : rows_) {
            const std::size_t b = builder_of(row);
            const double start = as_double(builders_[b].start_[local(row, b)]);
            first = std::min(first, start);
            last = std::max(last, start);
        }
        std::vector<double> latest(trace_.tracks.size(), -std::numeric_limits<double>::infinity());
        std::uint64_t restarts = 0;
        for (const std::uint32_t row : rows_) {
            const std::size_t b = builder_of(row);
            if (builders_[b].kind_[local(row, b)] != EventKind::cpu_op) continue;
            const double start = as_double(builders_[b].start_[local(row, b)]);
            double& reached = latest[to_index(maps_[b].tracks[to_index(builders_[b].track_[local(row, b)])])];
            if (reached - start > (last - first) / 2) {
                ++restarts;
                reached = start;
            }
            reached = std::max(reached, start);
        }
        if (restarts == 0) return;
        trace_.diagnostics.add({"trace_quality",
                                "CLOCK_RESTART",
                                Verdict::note,
                                restarts,
                                "start times of one thread fall back by more than half of the span",
                                "analyse the recordings one by one",
                                {},
                                {},
                                {}});
    }

    void order_rows() {
        std::vector<std::int64_t> keys(rows_.size());
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            const std::size_t b = builder_of(rows_[i]);
            keys[i] = to_ticks(builders_[b].start_[local(rows_[i], b)]);
        }
        order_ = stable_order(keys);
        trace_.start.resize(keys.size());
        for (std::size_t i = 0; i < order_.size(); ++i) {
            trace_.start[i] = keys[order_[i]];
            order_[i] = rows_[order_[i]];
        }
        rows_ = {};
    }

    /// Fills `to` from one builder column in final order and drops the source.
    template <class T, class Column, class Convert>
    void move_column(std::vector<T>& to, Column TraceBuilder::*column, const Convert& convert) {
        to.resize(order_.size());
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const std::size_t b = builder_of(order_[i]);
            to[i] = convert(b, (builders_[b].*column)[local(order_[i], b)]);
        }
        for (TraceBuilder& builder : builders_) (builder.*column).release();
    }

    void move_columns() {
        const auto plain = [](std::size_t, const auto& value) { return value; };
        const auto string = [this](std::size_t b, StringId id) { return maps_[b].strings[to_index(id)]; };
        // Tasks touch disjoint columns, so they may run at the same time.
        const std::array<std::function<void()>, 6> tasks = {
            [&] { move_ends(); },
            [&] { move_column(trace_.name, &TraceBuilder::name_, string); },
            [&] { move_column(trace_.category, &TraceBuilder::category_, string); },
            [&] { move_kinds_and_fields(); },
            [&] {
                move_column(trace_.track, &TraceBuilder::track_,
                            [this](std::size_t b, TrackId id) { return maps_[b].tracks[to_index(id)]; });
                move_column(trace_.args, &TraceBuilder::args_,
                            [this](std::size_t b, ArgsId id) { return maps_[b].signatures[to_index(id)]; });
            },
            [&] {
                add_stretch_bases();
                move_column(trace_.file_index, &TraceBuilder::file_index_, plain);
            },
        };
        run_(tasks.size(), [&](std::size_t i) { tasks[i](); });
        order_ = {};
    }

    void move_ends() {
        const bool reference = trace_.timestamps == Timestamps::reference;
        trace_.end.resize(order_.size());
        if (reference) trace_.duration_us.resize(order_.size());
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const std::size_t b = builder_of(order_[i]);
            const std::size_t row = local(order_[i], b);
            const TimeWord duration = builders_[b].duration_[row];
            if (reference) {
                const double us = std::bit_cast<double>(duration);
                trace_.duration_us[i] = us;
                const double end = std::bit_cast<double>(builders_[b].start_[row]) + us;
                trace_.end[i] = to_ticks(std::bit_cast<TimeWord>(end));
            } else {
                trace_.end[i] = trace_.start[i] + duration;
            }
        }
        for (TraceBuilder& builder : builders_) {
            builder.start_.release();
            builder.duration_.release();
        }
    }

    void move_kinds_and_fields() {
        move_column(trace_.kind, &TraceBuilder::kind_, [](std::size_t, EventKind kind) { return kind; });
        trace_.fields.resize(order_.size());
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const std::size_t b = builder_of(order_[i]);
            const TraceBuilder& builder = builders_[b];
            const std::uint32_t row = builder.fields_[local(order_[i], b)];
            std::size_t moved = 0;
            switch (field_family(trace_.kind[i])) {
                case FieldFamily::op: moved = append(trace_.ops, builder.ops_[row]); break;
                case FieldFamily::frame: moved = append(trace_.frames, builder.frames_[row]); break;
                case FieldFamily::launch: moved = append(trace_.launches, builder.launches_[row]); break;
                case FieldFamily::none: break;
            }
            trace_.fields[i] = static_cast<std::uint32_t>(moved);
        }
        for (TraceBuilder& builder : builders_) {
            builder.fields_.release();
            builder.ops_.release();
            builder.frames_.release();
            builder.launches_.release();
        }
    }

    template <class T>
    static std::size_t append(std::vector<T>& to, const T& value) {
        to.push_back(value);
        return to.size() - 1;
    }

    void add_stretch_bases() {
        for (const Stretch& stretch : stretches_) {
            auto& column = builders_[stretch.builder].file_index_;
            for (std::size_t row = stretch.segment->begin.events; row < stretch.end.events; ++row) {
                column[row] += stretch.first_file_index;
            }
        }
    }

    template <class T, class Fix>
    void move_table(std::vector<T>& to, ChunkedColumn<T> TraceBuilder::*table, std::size_t Sizes::*size,
                    const Fix& fix) {
        for (const Stretch& stretch : stretches_) {
            const auto& from = builders_[stretch.builder].*table;
            for (std::size_t i = stretch.segment->begin.*size; i < stretch.end.*size; ++i) {
                T row = from[i];
                row.file_index += stretch.first_file_index;
                fix(maps_[stretch.builder], row);
                to.push_back(row);
            }
        }
        for (TraceBuilder& builder : builders_) (builder.*table).release();
    }

    void move_side_tables() {
        const auto place = [this](const IdMaps& map, auto& row) {
            row.track = map.tracks[to_index(row.track)];
            if constexpr (requires { row.time; }) row.time = to_ticks(row.time);
            if constexpr (requires { row.name; }) row.name = map.strings[to_index(row.name)];
            if constexpr (requires { row.category; }) row.category = map.strings[to_index(row.category)];
            if constexpr (requires { row.args; }) row.args = map.signatures[to_index(row.args)];
        };
        move_table(trace_.flows, &TraceBuilder::flows_, &Sizes::flows, place);
        move_table(trace_.instants, &TraceBuilder::instants_, &Sizes::instants, place);
        move_table(trace_.memory_events, &TraceBuilder::memory_events_, &Sizes::memory_events, place);
        move_table(trace_.counters, &TraceBuilder::counters_, &Sizes::counters, place);
        move_table(trace_.async_events, &TraceBuilder::async_events_, &Sizes::async_events, place);
        move_table(trace_.samples, &TraceBuilder::samples_, &Sizes::samples, place);
        move_table(trace_.object_events, &TraceBuilder::object_events_, &Sizes::object_events, place);
        move_table(trace_.metadata, &TraceBuilder::metadata_, &Sizes::metadata, place);
    }

    std::vector<TraceBuilder> builders_;
    TaskRunner run_;
    Trace trace_;
    std::vector<Stretch> stretches_;
    std::vector<IdMaps> maps_;
    std::vector<std::uint32_t> first_block_;
    std::vector<std::uint32_t> builder_of_block_;
    std::vector<std::uint32_t> rows_;   // row numbers in file order
    std::vector<std::uint32_t> order_;  // row numbers in final order
    int tick_bits_ = 0;
};

inline Trace finish_trace(std::vector<TraceBuilder> builders, const TaskRunner& run) {
    return TraceAssembler(std::move(builders), run).assemble();
}

inline Trace finish_trace(TraceBuilder builder) {
    std::vector<TraceBuilder> builders;
    builders.push_back(std::move(builder));
    return finish_trace(std::move(builders));
}

}  // namespace tracelens
