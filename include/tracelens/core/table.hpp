/// `Table`: typed columns with missing values, and the one implementation of grouping, aggregation and
/// sorting that all reports share. Writers (write/) turn a table into CSV, JSON, Markdown and the like.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tracelens/core/hash.hpp>
#include <tracelens/core/reference_sort.hpp>
#include <tracelens/core/statistics.hpp>
#include <tracelens/core/string_pool.hpp>

namespace tracelens {

enum class ColumnType : std::uint8_t {
    integer,
    real,
    text,
    boolean,
    nested,        ///< JSON text: lists and objects; `Cell` holds the text
    nested_tuple,  ///< the same, for lists that the reference writes as Python tuples
};

/// Whether cells of the type are text in memory.
constexpr bool is_text_like(ColumnType type) noexcept {
    return type == ColumnType::text || type == ColumnType::nested || type == ColumnType::nested_tuple;
}

/// One value on its way into or out of a table; `std::monostate` is a missing value.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string_view, bool>;

/// Numbers groups of equal keys 0, 1, 2 ... in order of first appearance. A key is a pair of 64-bit words;
/// longer keys are folded in from the left, the first word being the group number of what came before.
class KeyGrouper {
  public:
    KeyGrouper() { slots_.assign(64, none); }

    std::uint32_t group_of(std::uint64_t a, std::uint64_t b = 0) {
        std::size_t slot = hash_combine(a, b) & (slots_.size() - 1);
        while (slots_[slot] != none) {
            if (keys_[slots_[slot]] == std::pair{a, b}) return slots_[slot];
            slot = (slot + 1) & (slots_.size() - 1);
        }
        const auto group = static_cast<std::uint32_t>(keys_.size());
        keys_.emplace_back(a, b);
        slots_[slot] = group;
        if (keys_.size() * 2 > slots_.size()) grow();
        return group;
    }

    std::size_t size() const noexcept { return keys_.size(); }

  private:
    static constexpr std::uint32_t none = 0xffffffffU;

    void grow() {
        std::vector<std::uint32_t> wider(slots_.size() * 2, none);
        for (std::uint32_t group = 0; group < keys_.size(); ++group) {
            std::size_t slot = hash_combine(keys_[group].first, keys_[group].second) & (wider.size() - 1);
            while (wider[slot] != none) slot = (slot + 1) & (wider.size() - 1);
            wider[slot] = group;
        }
        slots_ = std::move(wider);
    }

    std::vector<std::uint32_t> slots_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> keys_;
};

/// Rows by group: the rows of group g are `rows[starts[g]]` to `rows[starts[g + 1] - 1]`, ascending.
struct Grouping {
    std::vector<std::uint32_t> group_of_row;
    std::vector<std::uint32_t> starts;
    std::vector<std::uint32_t> rows;

    std::size_t group_count() const noexcept { return starts.size() - 1; }
    std::span<const std::uint32_t> members(std::size_t group) const noexcept {
        return {rows.data() + starts[group], starts[group + 1] - starts[group]};
    }

    /// Builds the row lists from group numbers in [0, group_count). O(rows + groups).
    static Grouping from(std::vector<std::uint32_t> group_of_row, std::size_t group_count) {
        Grouping result;
        result.starts.assign(group_count + 1, 0);
        for (const std::uint32_t group : group_of_row) ++result.starts[group + 1];
        std::partial_sum(result.starts.begin(), result.starts.end(), result.starts.begin());
        std::vector<std::uint32_t> next(result.starts.begin(), result.starts.end() - 1);
        result.rows.resize(group_of_row.size());
        for (std::uint32_t row = 0; row < group_of_row.size(); ++row)
            result.rows[next[group_of_row[row]]++] = row;
        result.group_of_row = std::move(group_of_row);
        return result;
    }
};

enum class Aggregate : std::uint8_t { count, sum, mean, median, std_sample, std_population, min, max, first };

struct AggregateColumn {
    std::string_view source;  ///< ignored by `count`
    Aggregate function = Aggregate::count;
    std::string_view name;  ///< of the new column
};

struct SortKey {
    std::string_view column;
    bool descending = false;
};

class Table {
  public:
    struct Column {
        std::string name;
        ColumnType type = ColumnType::real;
        std::vector<std::int64_t> integers;  ///< integer, boolean (0 or 1)
        std::vector<double> reals;
        std::vector<StringId> texts;        ///< of the table's own pool
        std::vector<std::uint8_t> missing;  ///< one flag a row
    };

    std::size_t row_count() const noexcept { return columns_.empty() ? 0 : columns_.front().missing.size(); }
    std::size_t column_count() const noexcept { return columns_.size(); }
    const Column& column(std::size_t index) const noexcept { return columns_[index]; }

    /// Adds an empty column. Precondition: the table has no rows.
    void add_column(std::string_view name, ColumnType type) {
        columns_.emplace_back();
        columns_.back().name = name;
        columns_.back().type = type;
    }

    /// Adds a column with one cell a row. Precondition: `cells` has `row_count()` elements.
    void add_filled_column(std::string_view name, ColumnType type, std::span<const Cell> cells) {
        columns_.emplace_back();
        columns_.back().name = name;
        columns_.back().type = type;
        for (const Cell& cell : cells) append_cell(columns_.size() - 1, cell);
    }

    /// Multiplies a real column.
    void scale_column(std::string_view name, double factor) {
        const std::optional<std::size_t> index = find_column(name);
        if (!index) return;
        for (double& value : columns_[*index].reals) value *= factor;
    }

    /// Adds the columns of a table with as many rows. O(cells).
    void append_columns(const Table& other) {
        std::vector<Cell> cells(other.row_count());
        for (std::size_t i = 0; i < other.column_count(); ++i) {
            for (std::size_t row = 0; row < cells.size(); ++row) cells[row] = other.cell(i, row);
            add_filled_column(other.columns_[i].name, other.columns_[i].type, cells);
        }
    }

    /// Adds the rows of another table, by column names. Columns that are new are missing in the rows before, those
    /// that the other lacks in the rows behind. O(cells).
    void append_rows(const Table& other) {
        const std::size_t before = row_count();
        std::vector<std::optional<std::size_t>> source;
        for (const Column& column : other.columns_) {
            if (find_column(column.name)) continue;
            const std::vector<Cell> missing(before);
            add_filled_column(column.name, column.type, missing);
        }
        for (const Column& column : columns_) source.push_back(other.find_column(column.name));
        std::vector<Cell> cells(columns_.size());
        for (std::size_t row = 0; row < other.row_count(); ++row) {
            for (std::size_t i = 0; i < cells.size(); ++i)
                cells[i] = source[i] ? other.cell(*source[i], row) : Cell{};
            append_row(cells);
        }
    }

    /// A table of the given rows in the given order. O(cells).
    Table with_rows(std::span<const std::uint32_t> rows) const {
        Table result;
        for (const Column& column : columns_) result.add_column(column.name, column.type);
        std::vector<Cell> cells(columns_.size());
        for (const std::uint32_t row : rows) {
            for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = cell(i, row);
            result.append_row(cells);
        }
        return result;
    }

    /// Whether any row has a value in a column.
    bool has_values(std::string_view name) const noexcept {
        const std::optional<std::size_t> index = find_column(name);
        if (!index) return false;
        const std::vector<std::uint8_t>& missing = columns_[*index].missing;
        return std::find(missing.begin(), missing.end(), 0) != missing.end();
    }

    /// The position of a column by name.
    std::optional<std::size_t> find_column(std::string_view name) const noexcept {
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (columns_[i].name == name) return i;
        }
        return std::nullopt;
    }

    /// Appends one row, a cell a column; absent trailing cells are missing. An integer may go into a real
    /// column; any other cell of a wrong type becomes a missing value.
    void append_row(std::span<const Cell> cells) {
        for (std::size_t i = 0; i < columns_.size(); ++i)
            append_cell(i, i < cells.size() ? cells[i] : Cell{});
    }
    void append_row(std::initializer_list<Cell> cells) { append_row(std::span(cells.begin(), cells.size())); }

    /// The value of a cell. A `string_view` lives as long as the table.
    Cell cell(std::size_t column_index, std::size_t row) const {
        const Column& column = columns_[column_index];
        if (column.missing[row] != 0) return {};
        switch (column.type) {
            case ColumnType::integer: return column.integers[row];
            case ColumnType::boolean: return column.integers[row] != 0;
            case ColumnType::real: return column.reals[row];
            case ColumnType::text:
            case ColumnType::nested:
            case ColumnType::nested_tuple: return pool_[column.texts[row]];
        }
        return {};
    }

    /// The number in a cell of an integer, boolean or real column; NaN when it is missing or text.
    double number(std::size_t column_index, std::size_t row) const {
        const Column& column = columns_[column_index];
        if (column.missing[row] != 0 || is_text_like(column.type))
            return std::numeric_limits<double>::quiet_NaN();
        if (column.type == ColumnType::real) return column.reals[row];
        return static_cast<double>(column.integers[row]);
    }

    /// Groups rows that agree in all named columns (missing values agree with each other), numbered in order
    /// of first appearance. Unknown names are ignored. O(rows * names).
    Grouping group_by(std::span<const std::string_view> names) const {
        std::vector<std::uint32_t> groups(row_count(), 0);
        std::size_t count = row_count() == 0 ? 0 : 1;
        for (const std::string_view name : names) {
            const std::optional<std::size_t> index = find_column(name);
            if (!index) continue;
            KeyGrouper value_numbers;
            KeyGrouper grouper;
            for (std::uint32_t row = 0; row < groups.size(); ++row) {
                const std::uint64_t missing = columns_[*index].missing[row];
                groups[row] =
                    grouper.group_of(groups[row], value_numbers.group_of(key_word(*index, row), missing));
            }
            count = grouper.size();
        }
        return Grouping::from(std::move(groups), count);
    }

    /// One row a group: the key columns (first row's values), then the aggregates. Missing values do not
    /// count. Unknown sources give missing values.
    Table aggregate(const Grouping& grouping, std::span<const std::string_view> keys,
                    std::span<const AggregateColumn> aggregates) const {
        Table result;
        std::vector<std::size_t> key_columns;
        for (const std::string_view key : keys) {
            const std::optional<std::size_t> index = find_column(key);
            if (!index) continue;
            key_columns.push_back(*index);
            result.add_column(key, columns_[*index].type);
        }
        for (const AggregateColumn& each : aggregates) result.add_column(each.name, aggregate_type(each));
        std::vector<Cell> row;
        for (std::size_t group = 0; group < grouping.group_count(); ++group) {
            const std::span<const std::uint32_t> members = grouping.members(group);
            row.clear();
            for (const std::size_t key : key_columns) row.push_back(cell(key, members.front()));
            for (const AggregateColumn& each : aggregates) row.push_back(aggregate_cell(each, members));
            result.append_row(row);
        }
        return result;
    }

    /// Sorts rows by the keys, first key first; equal rows keep their order, missing values and NaN come last
    /// in both directions. O(n log n).
    void stable_sort(std::span<const SortKey> keys) {
        std::vector<std::uint32_t> order(row_count());
        std::iota(order.begin(), order.end(), 0U);
        const auto columns = resolve(keys);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return compare_rows(columns, a, b) < 0; });
        take_rows(order);
    }

    /// Sorts rows by one numeric column, largest first, as pandas does (spec 02, appendix B): beyond 16 rows,
    /// rows with equal numbers may change places. Missing values come last. O(n log n) on report-sized
    /// tables.
    void reference_sort_descending(std::string_view name) {
        const std::optional<std::size_t> index = find_column(name);
        if (!index) return;
        std::vector<double> keys;
        for (std::size_t row = 0; row < row_count(); ++row) keys.push_back(number(*index, row));
        take_rows(reference_descending_order(keys));
    }

    /// Keeps the first `k` rows of the stable order of `keys`. O(n log k).
    void top_k(std::span<const SortKey> keys, std::size_t k) {
        std::vector<std::uint32_t> order(row_count());
        std::iota(order.begin(), order.end(), 0U);
        const auto columns = resolve(keys);
        k = std::min(k, order.size());
        std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
                          [&](std::uint32_t a, std::uint32_t b) {
                              const int difference = compare_rows(columns, a, b);
                              return difference != 0 ? difference < 0 : a < b;
                          });
        order.resize(k);
        take_rows(order);
    }

    /// Keeps the first `k` rows.
    void keep_first(std::size_t k) {
        std::vector<std::uint32_t> rows(std::min(k, row_count()));
        std::iota(rows.begin(), rows.end(), 0U);
        take_rows(rows);
    }

    /// Keeps the given rows in the given order.
    void take_rows(std::span<const std::uint32_t> rows) {
        const auto pick = [&](auto& values) {
            if (values.empty()) return;
            auto picked = values;
            picked.resize(rows.size());
            for (std::size_t i = 0; i < rows.size(); ++i) picked[i] = values[rows[i]];
            values = std::move(picked);
        };
        for (Column& column : columns_) {
            pick(column.integers);
            pick(column.reals);
            pick(column.texts);
            pick(column.missing);
        }
    }

  private:
    struct ResolvedKey {
        std::size_t column;
        bool descending;
    };

    void append_cell(std::size_t index, const Cell& cell) {
        Column& column = columns_[index];
        bool present = false;
        switch (column.type) {
            case ColumnType::integer:
                present = std::holds_alternative<std::int64_t>(cell);
                column.integers.push_back(present ? std::get<std::int64_t>(cell) : 0);
                break;
            case ColumnType::boolean:
                present = std::holds_alternative<bool>(cell);
                column.integers.push_back(present && std::get<bool>(cell) ? 1 : 0);
                break;
            case ColumnType::real: {
                const auto* integer = std::get_if<std::int64_t>(&cell);
                const auto* real = std::get_if<double>(&cell);
                present = integer != nullptr || real != nullptr;
                column.reals.push_back(real != nullptr      ? *real
                                       : integer != nullptr ? static_cast<double>(*integer)
                                                            : 0);
                break;
            }
            case ColumnType::text:
            case ColumnType::nested:
            case ColumnType::nested_tuple:
                present = std::holds_alternative<std::string_view>(cell);
                column.texts.push_back(present ? pool_.intern(std::get<std::string_view>(cell))
                                               : StringId::empty);
                break;
        }
        column.missing.push_back(present ? 0 : 1);
    }

    std::uint64_t key_word(std::size_t index, std::size_t row) const {
        const Column& column = columns_[index];
        if (column.missing[row] != 0) return 0;
        if (is_text_like(column.type)) return to_index(column.texts[row]);
        if (column.type != ColumnType::real) return static_cast<std::uint64_t>(column.integers[row]);
        const double value = column.reals[row] == 0 ? 0.0 : column.reals[row];  // -0 and 0 are one key
        std::uint64_t word;
        std::memcpy(&word, &value, sizeof word);
        return word;
    }

    ColumnType aggregate_type(const AggregateColumn& each) const {
        const std::optional<std::size_t> source = find_column(each.source);
        const ColumnType type = source ? columns_[*source].type : ColumnType::real;
        switch (each.function) {
            case Aggregate::count: return ColumnType::integer;
            case Aggregate::first: return type;
            case Aggregate::sum:
            case Aggregate::min:
            case Aggregate::max: return type == ColumnType::integer ? ColumnType::integer : ColumnType::real;
            default: return ColumnType::real;
        }
    }

    Cell aggregate_cell(const AggregateColumn& each, std::span<const std::uint32_t> members) const {
        if (each.function == Aggregate::count) return static_cast<std::int64_t>(members.size());
        const std::optional<std::size_t> source = find_column(each.source);
        if (!source) return {};
        const Column& column = columns_[*source];
        if (each.function == Aggregate::first) {
            for (const std::uint32_t row : members) {
                if (column.missing[row] == 0) return cell(*source, row);
            }
            return {};
        }
        if (is_text_like(column.type)) return {};
        if (column.type == ColumnType::integer && aggregate_type(each) == ColumnType::integer) {
            return integer_aggregate(column, each.function, members);
        }
        std::vector<double> values;
        values.reserve(members.size());
        for (const std::uint32_t row : members) {
            if (column.missing[row] == 0) values.push_back(number(*source, row));
        }
        if (values.empty() && each.function != Aggregate::sum) return {};
        switch (each.function) {
            case Aggregate::sum: return compensated_sum(values);
            case Aggregate::mean: return compensated_sum(values) / static_cast<double>(values.size());
            case Aggregate::median: return median_in_place(values);
            case Aggregate::std_sample: return standard_deviation(values, Ddof::sample);
            case Aggregate::std_population: return standard_deviation(values, Ddof::population);
            case Aggregate::min: return *std::min_element(values.begin(), values.end());
            case Aggregate::max: return *std::max_element(values.begin(), values.end());
            default: return {};
        }
    }

    static Cell integer_aggregate(const Column& column, Aggregate function,
                                  std::span<const std::uint32_t> members) {
        std::optional<std::int64_t> result;
        for (const std::uint32_t row : members) {
            if (column.missing[row] != 0) continue;
            const std::int64_t value = column.integers[row];
            if (!result) {
                result = value;
            } else if (function == Aggregate::sum) {
                *result = static_cast<std::int64_t>(static_cast<std::uint64_t>(*result) +
                                                    static_cast<std::uint64_t>(value));  // wraps
            } else {
                result = function == Aggregate::min ? std::min(*result, value) : std::max(*result, value);
            }
        }
        if (!result) return function == Aggregate::sum ? Cell{std::int64_t{0}} : Cell{};
        return *result;
    }

    std::vector<ResolvedKey> resolve(std::span<const SortKey> keys) const {
        std::vector<ResolvedKey> columns;
        for (const SortKey& key : keys) {
            if (const std::optional<std::size_t> index = find_column(key.column))
                columns.push_back({*index, key.descending});
        }
        return columns;
    }

    int compare_rows(std::span<const ResolvedKey> keys, std::uint32_t a, std::uint32_t b) const {
        for (const ResolvedKey& key : keys) {
            const Column& column = columns_[key.column];
            const bool a_last = sorts_last(column, a);
            const bool b_last = sorts_last(column, b);
            if (a_last || b_last) {
                if (a_last != b_last) return a_last ? 1 : -1;
                continue;
            }
            const int difference = compare_values(column, a, b);
            if (difference != 0) return key.descending ? -difference : difference;
        }
        return 0;
    }

    static bool sorts_last(const Column& column, std::uint32_t row) {
        return column.missing[row] != 0 || (column.type == ColumnType::real && std::isnan(column.reals[row]));
    }

    int compare_values(const Column& column, std::uint32_t a, std::uint32_t b) const {
        const auto three_way = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
        if (is_text_like(column.type)) return three_way(pool_[column.texts[a]], pool_[column.texts[b]]);
        if (column.type == ColumnType::real) return three_way(column.reals[a], column.reals[b]);
        return three_way(column.integers[a], column.integers[b]);
    }

    std::vector<Column> columns_;
    StringPool pool_;
};

}  // namespace tracelens
