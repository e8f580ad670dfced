/// The arguments of an op as cost models read them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/model/arg_value.hpp>
#include <tracelens/model/trace.hpp>
#include <tracelens/perf/cost.hpp>
#include <tracelens/perf/dtypes.hpp>

namespace tracelens {

/// One op's arguments, from a trace or from a caller who has none.
struct OpArguments {
    std::string name;
    std::vector<std::pair<std::string, ArgValue>> members;
    std::string annotation;  ///< of the enclosing annotation; `NA` for none
    /// Of the forward op with the same sequence number, for backward ops that record no shapes of their own.
    std::shared_ptr<const OpArguments> forward;

    /// A member by its key, or nothing.
    const ArgValue* find(std::string_view key) const noexcept {
        for (const auto& [name_of, value] : members) {
            if (name_of == key) return &value;
        }
        return nullptr;
    }

    /// A member that is a list, or nothing.
    const std::vector<ArgValue>* list(std::string_view key) const noexcept {
        const ArgValue* const value = find(key);
        return value != nullptr && value->is_list() ? &value->items : nullptr;
    }

    OpArguments& with(std::string_view key, std::string_view json) {
        members.emplace_back(std::string(key), parse_arg_value(json));
        return *this;
    }

    /// The arguments of a signature. O(length of its text).
    static OpArguments from(const Trace& trace, StringId name, ArgsId args) {
        OpArguments result;
        result.name = std::string(trace.text(name));
        for (const Arg& arg : trace.signatures[args]) result.with(trace.text(arg.key), trace.text(arg.value));
        return result;
    }
};

/// Reads arguments for a model. The first thing that is missing or malformed is kept as the reason for
/// failure; what is read after that is empty or zero, and the model's result is thrown away. So a model reads
/// top-down without a branch for every mishap, and ends with `finish`.
class ArgReader {
  public:
    ArgReader(const OpArguments& args, CostRules rules) : args_(args), rules_(rules) {}

    CostRules rules() const noexcept { return rules_; }
    bool is_reference() const noexcept { return rules_ == CostRules::reference; }
    const OpArguments& args() const noexcept { return args_; }

    // --- failure ---

    bool failed() const noexcept { return !reason_.empty(); }
    void fail(std::string reason) {
        if (reason_.empty()) reason_ = std::move(reason);
    }
    void require(bool holds, std::string_view reason) {
        if (!holds) fail(std::string(reason));
    }
    /// The cost, or the reason why there is none.
    Cost finish(Cost cost) const { return failed() ? Cost::bad(reason_) : cost; }

    // --- shapes: "Input Dims" ---

    std::size_t argument_count() const noexcept {
        const std::vector<ArgValue>* const dims = args_.list("Input Dims");
        return dims == nullptr ? 0 : dims->size();
    }
    bool has_dims() const noexcept { return args_.list("Input Dims") != nullptr; }

    /// Whether argument `index` is there and its shape is a list with something in it.
    bool has_shape(std::size_t index) const noexcept {
        const ArgValue* const value = element("Input Dims", index);
        return value != nullptr && value->is_list() && !value->items.empty();
    }
    /// Whether argument `index` is there and is not null.
    bool has_argument(std::size_t index) const noexcept {
        const ArgValue* const value = element("Input Dims", index);
        return value != nullptr && !value->is_null();
    }

    /// Shape of argument `index`. Fails when there is none, or when it is no list of whole numbers.
    Shape shape(std::size_t index) {
        const ArgValue* const value = required("Input Dims", index);
        return value == nullptr ? Shape{} : whole_numbers(*value, "Input Dims", index);
    }

    /// Dimension `axis` of a shape; fails when it has none.
    std::int64_t dim(const Shape& shape, std::size_t axis) {
        if (axis < shape.size()) return shape[axis];
        fail("a shape of " + std::to_string(shape.size()) + " dimensions has no dimension " +
             std::to_string(axis));
        return 0;
    }
    std::int64_t dim(std::size_t argument, std::size_t axis) { return dim(shape(argument), axis); }

    // --- types: "Input type" ---

    std::size_t type_count() const noexcept {
        const std::vector<ArgValue>* const types = args_.list("Input type");
        return types == nullptr ? 0 : types->size();
    }
    /// Type name of argument `index`; nothing when it has none. Does not fail.
    std::optional<std::string_view> type_if(std::size_t index) const noexcept {
        const ArgValue* const value = element("Input type", index);
        if (value == nullptr || !value->is_text()) return std::nullopt;
        return std::string_view(value->text);
    }
    /// The same, but fails when there is none.
    std::string_view type(std::size_t index) {
        const ArgValue* const value = required("Input type", index);
        if (value == nullptr) return {};
        if (!value->is_text()) fail("Input type of argument " + std::to_string(index) + " is no name");
        return value->text;
    }
    /// The type names of arguments `[begin, end)` as far as there are any, as a tuple. Fails without the key
    /// or when none of them is there.
    ParamValue type_tuple(std::size_t begin, std::size_t end) {
        require(args_.list("Input type") != nullptr, "no Input type");
        require(begin < type_count(), "Input type has no element " + std::to_string(begin));
        std::string text = "[";
        for (std::size_t i = begin; i < std::min(end, type_count()); ++i) {
            if (i != begin) text += ',';
            const std::optional<std::string_view> name = type_if(i);
            if (name)
                append_json_string(text, *name);
            else
                text += "null";
        }
        return ParamValue::json(ParamValue::Kind::tuple, text + "]");
    }
    std::optional<double> bytes_per_element(std::optional<std::string_view> type) const noexcept {
        if (!type) return std::nullopt;
        const std::optional<int> bytes = tracelens::bytes_per_element(*type, rules_);
        if (!bytes) return std::nullopt;
        return static_cast<double>(*bytes);
    }
    std::string precision(std::optional<std::string_view> type) const {
        return type ? std::string(precision_of(*type, rules_)) : std::string();
    }

    // --- strides: "Input Strides" ---

    bool has_strides() const noexcept { return args_.list("Input Strides") != nullptr; }
    /// Strides of argument `index`; fails when there are none.
    Shape strides(std::size_t index) {
        const ArgValue* const value = required("Input Strides", index);
        return value == nullptr ? Shape{} : whole_numbers(*value, "Input Strides", index);
    }
    /// Nothing without the key; fails when the list is too short.
    std::optional<Shape> strides_if_recorded(std::size_t index) {
        if (!has_strides()) return std::nullopt;
        return strides(index);
    }
    /// Nothing without the key or when the list is too short.
    std::optional<Shape> strides_if(std::size_t index) {
        if (element("Input Strides", index) == nullptr) return std::nullopt;
        return strides(index);
    }

    // --- values: "Concrete Inputs" (spec 03, section 3.3.5) ---

    std::size_t concrete_count() const noexcept {
        const std::vector<ArgValue>* const concrete = args_.list("Concrete Inputs");
        return concrete == nullptr ? 0 : concrete->size();
    }
    /// Value `index` itself, or nothing.
    const ArgValue* concrete_if(std::size_t index) const noexcept {
        return element("Concrete Inputs", index);
    }
    /// Value `index` as text; empty for null and for lists. Fails when there is none.
    std::string_view concrete(std::size_t index) {
        const ArgValue* const value = required("Concrete Inputs", index);
        return value == nullptr ? std::string_view{} : std::string_view(value->text);
    }

    /// A whole number, from text or as such; fails for anything else.
    std::int64_t whole(std::size_t index) {
        const ArgValue* const value = required("Concrete Inputs", index);
        if (value == nullptr) return 0;
        const std::optional<std::int64_t> number =
            value->integer ? value->integer : parse_integer(value->text);
        if (!number) fail("Concrete Inputs " + std::to_string(index) + " is no whole number");
        return number.value_or(0);
    }
    /// The same, or `otherwise` when it is missing, empty or something else.
    std::int64_t whole_or(std::size_t index, std::int64_t otherwise) const noexcept {
        const ArgValue* const value = concrete_if(index);
        if (value == nullptr) return otherwise;
        return value->integer ? *value->integer : parse_integer(value->text).value_or(otherwise);
    }
    /// A number; fails for anything else.
    double number(std::size_t index) {
        const ArgValue* const value = required("Concrete Inputs", index);
        if (value == nullptr) return 0;
        if (value->kind == ArgValue::Kind::number) return value->number;
        const std::optional<double> number = parse_number(value->text);
        if (!number) fail("Concrete Inputs " + std::to_string(index) + " is no number");
        return number.value_or(0);
    }
    /// A number; 0 for other values. Fails when there is no such element.
    double number_or_zero(std::size_t index) {
        const ArgValue* const value = required("Concrete Inputs", index);
        if (value == nullptr) return 0;
        return value->kind == ArgValue::Kind::number ? value->number : parse_number(value->text).value_or(0);
    }
    /// Whether the text is `true` in any case of letters. Fails when there is no such element.
    bool is_true(std::size_t index) {
        const ArgValue* const value = required("Concrete Inputs", index);
        if (value == nullptr) return false;
        if (value->kind == ArgValue::Kind::boolean) return value->boolean;
        return detail::equal_ignoring_case(value->text, "true");
    }

    /// `True`, `False` or a number, from text or as such; fails for anything else. Never runs code.
    ParamValue literal(std::size_t index) {
        const ArgValue* const value = required("Concrete Inputs", index);
        if (value == nullptr) return {};
        if (value->kind == ArgValue::Kind::boolean) return ParamValue::flag(value->boolean);
        const std::string_view text = value->text;
        if (text == "True" || text == "False") return ParamValue::flag(text == "True");
        if (value->integer) return ParamValue::integer(*value->integer);
        if (value->kind == ArgValue::Kind::number) return ParamValue::real(value->number);
        if (const std::optional<std::int64_t> whole = parse_integer(text); whole && !text.empty())
            return ParamValue::integer(*whole);
        if (const std::optional<double> number = parse_number(text)) return ParamValue::real(*number);
        fail("Concrete Inputs " + std::to_string(index) + " is neither True, False nor a number");
        return {};
    }

    /// Python's truth of a literal.
    static bool truth(const ParamValue& value) noexcept {
        switch (value.kind) {
            case ParamValue::Kind::boolean: return value.boolean;
            case ParamValue::Kind::integer:
            case ParamValue::Kind::real: return value.number != 0;
            default: return false;
        }
    }

    /// A list of whole numbers such as `[1, 1]` or `(1,1)`, from text or as such. Fails for anything else.
    Shape whole_list(std::size_t index) {
        const ArgValue* const value = required("Concrete Inputs", index);
        if (value == nullptr) return {};
        if (value->is_list()) return whole_numbers(*value, "Concrete Inputs", index);
        const std::optional<Shape> list = parse_whole_list(value->text);
        if (!list) fail("Concrete Inputs " + std::to_string(index) + " is no list of whole numbers");
        return list.value_or(Shape{});
    }

    /// A list of `True` and `False`, from text or as such. Fails for anything else.
    std::vector<bool> flag_list(std::size_t index) {
        const ArgValue* const value = required("Concrete Inputs", index);
        std::vector<bool> flags;
        if (value == nullptr) return flags;
        if (value->is_list()) {
            for (const ArgValue& item : value->items)
                flags.push_back(item.kind == ArgValue::Kind::boolean
                                    ? item.boolean
                                    : detail::equal_ignoring_case(item.text, "true"));
            return flags;
        }
        const std::optional<std::vector<std::string_view>> items = split_list(value->text);
        if (!items) fail("Concrete Inputs " + std::to_string(index) + " is no list");
        for (const std::string_view item : items.value_or(std::vector<std::string_view>{})) {
            if (item != "True" && item != "False" && !parse_integer(item))
                fail("Concrete Inputs " + std::to_string(index) + " is no list of True and False");
            flags.push_back(item == "True" || (item != "False" && parse_integer(item).value_or(0) != 0));
        }
        return flags;
    }

    /// A number as Python writes it: `1.`, `.5` and surrounding blanks, too.
    static std::optional<double> parse_number(std::string_view text) {
        while (!text.empty() && detail::is_space(text.front())) text.remove_prefix(1);
        while (!text.empty() && detail::is_space(text.back())) text.remove_suffix(1);
        if (const std::optional<double> number = parse_double(text)) return number;
        std::string mended(text);
        if (const std::size_t point = mended.find('.'); point != std::string::npos) {
            const bool digit_behind = point + 1 < mended.size() && detail::is_digit(mended[point + 1]);
            if (!digit_behind) mended.insert(point + 1, 1, '0');
            const bool digit_before = point > 0 && detail::is_digit(mended[point - 1]);
            if (!digit_before) mended.insert(point, 1, '0');
            if (!digit_behind && !digit_before) return std::nullopt;
        }
        return parse_double(mended);
    }

    /// The items of a bracketed list in text, trimmed; nothing when it is none.
    static std::optional<std::vector<std::string_view>> split_list(std::string_view text) {
        const auto trim = [](std::string_view part) {
            while (!part.empty() && detail::is_space(part.front())) part.remove_prefix(1);
            while (!part.empty() && detail::is_space(part.back())) part.remove_suffix(1);
            return part;
        };
        text = trim(text);
        const bool brackets = text.size() >= 2 && ((text.front() == '[' && text.back() == ']') ||
                                                   (text.front() == '(' && text.back() == ')'));
        if (!brackets) return std::nullopt;
        text = trim(text.substr(1, text.size() - 2));
        std::vector<std::string_view> items;
        while (!text.empty()) {
            const std::size_t comma = text.find(',');
            items.push_back(trim(text.substr(0, comma)));
            text = comma == std::string_view::npos ? std::string_view{} : trim(text.substr(comma + 1));
        }
        return items;
    }

    static std::optional<Shape> parse_whole_list(std::string_view text) {
        const std::optional<std::vector<std::string_view>> items = split_list(text);
        if (!items) return std::nullopt;
        Shape list;
        for (const std::string_view item : *items) {
            const std::optional<std::int64_t> number = item.empty() ? std::nullopt : parse_integer(item);
            if (!number) return std::nullopt;
            list.push_back(*number);
        }
        return list;
    }

  private:
    const ArgValue* element(std::string_view key, std::size_t index) const noexcept {
        const std::vector<ArgValue>* const list = args_.list(key);
        return list == nullptr || index >= list->size() ? nullptr : &(*list)[index];
    }

    const ArgValue* required(std::string_view key, std::size_t index) {
        const ArgValue* const value = element(key, index);
        if (value == nullptr) {
            fail(args_.list(key) == nullptr ? "no " + std::string(key)
                                            : std::string(key) + " has no element " + std::to_string(index));
        }
        return value;
    }

    Shape whole_numbers(const ArgValue& value, std::string_view key, std::size_t index) {
        Shape result;
        bool whole = value.is_list();
        for (const ArgValue& item : value.items) {
            whole = whole && item.integer.has_value();
            result.push_back(item.integer.value_or(0));
        }
        if (!whole)
            fail(std::string(key) + " of argument " + std::to_string(index) + " is no list of whole numbers");
        return result;
    }

    const OpArguments& args_;
    CostRules rules_;
    std::string reason_;
};

}  // namespace tracelens
