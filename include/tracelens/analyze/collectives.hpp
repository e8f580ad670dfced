/// `coll_analysis`: the collective kernels of one rank by group, kind, type, sizes and stream. (Spec 02,
/// section 15.)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/core/ascii.hpp>
#include <tracelens/core/json_text.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

/// Bytes of an element by the names that collectives record.
struct CollectiveDtype {
    std::string_view name;
    int bytes;
};

inline constexpr std::array collective_dtypes = {
    CollectiveDtype{"Float", 4},    CollectiveDtype{"Int", 4},  CollectiveDtype{"Long", 8},
    CollectiveDtype{"BFloat16", 2}, CollectiveDtype{"Bool", 1}, CollectiveDtype{"Byte", 1},
    CollectiveDtype{"Double", 8},   CollectiveDtype{"Half", 2}, CollectiveDtype{"Short", 2},
};

/// Further types, which the reference does not know.
inline constexpr std::array further_collective_dtypes = {
    CollectiveDtype{"Char", 1},
    CollectiveDtype{"Float8_e4m3fn", 1},
    CollectiveDtype{"Float8_e5m2", 1},
    CollectiveDtype{"Float8_e4m3fnuz", 1},
    CollectiveDtype{"Float8_e5m2fnuz", 1},
};

constexpr std::optional<int> collective_element_bytes(std::string_view dtype, ClassRules rules) noexcept {
    for (const CollectiveDtype& row : collective_dtypes) {
        if (row.name == dtype) return row.bytes;
    }
    if (rules == ClassRules::reference) return std::nullopt;
    for (const CollectiveDtype& row : further_collective_dtypes) {
        if (row.name == dtype) return row.bytes;
    }
    return std::nullopt;
}

namespace detail {

/// A recorded argument of a collective, as its column has it.
struct CollectiveField {
    std::string_view key;
    ColumnType type;
};

inline constexpr std::array collective_fields = {
    CollectiveField{"Process Group Name", ColumnType::text},
    CollectiveField{"Process Group Ranks", ColumnType::nested_tuple},
    CollectiveField{"Collective name", ColumnType::text},
    CollectiveField{"Group size", ColumnType::integer},
    CollectiveField{"dtype", ColumnType::text},
    CollectiveField{"In msg nelems", ColumnType::integer},
    CollectiveField{"Out msg nelems", ColumnType::integer},
    CollectiveField{"In split size", ColumnType::nested_tuple},
    CollectiveField{"Out split size", ColumnType::nested_tuple},
};

/// The value of a field as a cell; `scratch` holds the text of decoded strings.
inline Cell collective_cell(const Trace& trace, EventId event, const CollectiveField& field,
                            std::string& scratch) {
    const std::optional<std::string_view> json = trace.arg(event, field.key);
    if (!json || *json == "null") return {};
    const bool quoted = json->size() >= 2 && json->front() == '"';
    if (quoted) decode_json_string(json->substr(1, json->size() - 2), scratch);
    if (field.type == ColumnType::integer) {
        const std::optional<std::int64_t> number = parse_integer(quoted ? std::string_view(scratch) : *json);
        return number ? Cell{*number} : Cell{};
    }
    if (field.type == ColumnType::text) return quoted ? std::string_view(scratch) : *json;
    return *json;
}

}  // namespace detail

/// One row a group of equal collectives, by time. Message sizes are in units of 2^20 bytes, times in us; a
/// size is missing when its type or count is not known. The reference leaves out collectives that lack any
/// field. O(n log n).
inline Table collective_summary(const Trace& trace, ClassRules rules = ClassRules::full) {
    const bool reference = rules == ClassRules::reference;
    std::vector<EventId> kernels;
    bool any_name = false;
    bool one_stream = true;
    for (EventId event = 0; event < trace.size(); ++event) {
        if (trace.kind[event] != EventKind::kernel || !is_communication_name(trace.name_of(event), rules))
            continue;
        const LaunchFields& fields = trace.launch_fields(event);
        if (fields.correlation == no_number && fields.external_id == no_number) continue;
        any_name = any_name || trace.arg(event, "Process Group Name").value_or("null") != "null";
        one_stream = one_stream && (kernels.empty() ||
                                    trace.track_of(event).stream == trace.track_of(kernels.front()).stream);
        kernels.push_back(event);
    }
    if (kernels.empty()) return {};
    std::sort(kernels.begin(), kernels.end(),
              [&](EventId a, EventId b) { return trace.file_index[a] < trace.file_index[b]; });

    Table rows;
    rows.add_column("rank", ColumnType::integer);
    for (const detail::CollectiveField& field : detail::collective_fields)
        rows.add_column(field.key, field.type);
    rows.add_column("stream", ColumnType::integer);
    rows.add_column("In msg size (MB)", ColumnType::real);
    rows.add_column("Out msg size (MB)", ColumnType::real);
    rows.add_column("dur", ColumnType::real);
    constexpr std::size_t group_name = 0;
    constexpr std::size_t kind = 2;
    constexpr std::size_t dtype = 4;
    constexpr std::size_t in_count = 5;
    constexpr std::size_t out_count = 6;
    for (const EventId event : kernels) {
        const Track& track = trace.track_of(event);
        std::array<std::string, detail::collective_fields.size()> scratch;
        std::array<Cell, detail::collective_fields.size()> fields;
        for (std::size_t i = 0; i < fields.size(); ++i)
            fields[i] = detail::collective_cell(trace, event, detail::collective_fields[i], scratch[i]);
        const auto absent = [&](std::size_t field) { return fields[field].index() == 0; };
        if (absent(group_name))
            fields[group_name] = std::string_view(!any_name && one_stream ? "all" : "Unknown_Group");
        if (absent(kind) && detail::contains_ignoring_case(trace.name_of(event), "cross_device_reduce"))
            fields[kind] = std::string_view("allreduce");
        const auto megabytes = [&](std::size_t count) -> Cell {
            if (absent(dtype) || absent(count) || absent(in_count)) return {};
            const auto bytes = collective_element_bytes(std::get<std::string_view>(fields[dtype]), rules);
            if (!bytes) return {};
            return static_cast<double>(std::get<std::int64_t>(fields[count])) * *bytes / (1024.0 * 1024.0);
        };
        const std::int64_t stream = reference ? track.recorded_stream() : track.stream;
        const bool whole =
            std::none_of(fields.begin(), fields.end(), [](const Cell& cell) { return cell.index() == 0; }) &&
            stream != no_number;
        if (reference && !whole) continue;
        const bool ranked = !reference && track.rank != no_number;
        std::vector<Cell> cells = {ranked ? track.rank : std::int64_t{0}};
        cells.insert(cells.end(), fields.begin(), fields.end());
        cells.push_back(stream == no_number ? Cell{} : Cell{stream});
        cells.push_back(megabytes(in_count));
        cells.push_back(megabytes(out_count));
        cells.emplace_back(trace.recorded_us(event));
        rows.append_row(cells);
    }

    std::vector<std::string_view> keys = {"rank"};
    for (const detail::CollectiveField& field : detail::collective_fields) keys.push_back(field.key);
    keys.push_back("stream");
    constexpr std::array aggregates = {
        AggregateColumn{"In msg size (MB)", Aggregate::first, "In msg size (MB)_first"},
        AggregateColumn{"Out msg size (MB)", Aggregate::first, "Out msg size (MB)_first"},
        AggregateColumn{"dur", Aggregate::sum, "dur_sum"},
        AggregateColumn{"dur", Aggregate::mean, "dur_mean"},
        AggregateColumn{"dur", Aggregate::std_sample, "dur_std"},
        AggregateColumn{"dur", Aggregate::min, "dur_min"},
        AggregateColumn{"dur", Aggregate::max, "dur_max"},
        AggregateColumn{"", Aggregate::count, "operation_count"},
    };
    if (rows.row_count() == 0) return {};
    Table table = rows.aggregate(rows.group_by(keys), keys, aggregates);
    std::vector<SortKey> ascending;
    for (const std::string_view key : keys) ascending.push_back({key, false});
    table.stable_sort(ascending);
    if (reference) {
        table.reference_sort_descending("dur_sum");
    } else {
        const std::array by_time = {SortKey{"dur_sum", true}};
        table.stable_sort(by_time);
    }
    return table;
}

}  // namespace tracelens
