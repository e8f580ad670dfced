/// Cost models of the user's own ops from a JSON file: formulas over the dimensions of an op's arguments.
///
///     {
///       "my_lib::fused_swiglu": {
///         "category": "elementwise",
///         "unit": "vector",
///         "dims": {"T": [0, 0], "W": "d0_1 // 2"},
///         "dtype": 0,
///         "flops": "6 * T * W",
///         "bytes": "n0 * b0 + T * W * b0"
///       }
///     }
///
/// | member | holds |
/// |---|---|
/// | `category` | `op category` of the reports; `NAME_fwd` and `NAME_bwd` go to sheets of these names |
/// | `sheet` | per-category sheet (default: the category without `_fwd` or `_bwd`); `""` for none |
/// | `unit` | `matrix` or `vector`: which arithmetic units do the work |
/// | `dims` | names for dimensions: `[argument, axis]`, axes below 0 from the end, or a formula |
/// | `dtype` | the argument whose element type is computed in |
/// | `flops`, `bytes` | formulas: operations, and bytes read and written |
/// | `backward_flops`, `backward_bytes` | the same of its gradients, priced from the forward op |
/// | `backward_category` | `op category` of its gradients; needs the formulas |
/// | `params` | names to report (default: those of `dims`) |
///
/// Formulas (perf/expression.hpp) know the names of `dims`, and of argument `i`, counted from 0:
/// `d<i>_<axis>` a dimension, `n<i>` the elements, `b<i>` the bytes of an element. `dims`, `sheet`, the
/// backward members and `params` may be missing.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/core/error.hpp>
#include <tracelens/core/json_text.hpp>
#include <tracelens/model/arg_value.hpp>
#include <tracelens/perf/cost_model.hpp>
#include <tracelens/perf/expression.hpp>
#include <tracelens/perf/registry.hpp>

namespace tracelens {

/// Adds the models of a file's text to `registry`, where they replace others of the same op. `file` is its
/// path: it stands in failures. Returns the names of the ops, in the order of the file. Fails
/// (`invalid_argument`) on anything that the table above does not allow, naming op and member; then nothing
/// is added. O(length). The names of a cost's parameters live in its model: as long as the registry, or a
/// copy of the model.
Result<std::vector<std::string>> add_user_models(ModelRegistry& registry, std::string_view json,
                                                 const std::string& file);

namespace detail {

/// A name that formulas know without being told: `d0_1`, `n0`, `b0`.
struct BuiltInName {
    char kind = 'd';
    std::size_t argument = 0;
    std::size_t axis = 0;  ///< of `d`
};

inline std::optional<BuiltInName> built_in_name(std::string_view name) noexcept {
    if (name.size() < 2 || (name.front() != 'd' && name.front() != 'n' && name.front() != 'b'))
        return std::nullopt;
    const auto whole = [](std::string_view digits, std::size_t& value) {
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return error == std::errc{} && end == digits.data() + digits.size();
    };
    BuiltInName result{name.front(), 0, 0};
    std::string_view argument = name.substr(1);
    if (result.kind == 'd') {
        const std::size_t bar = argument.find('_');
        if (bar == std::string_view::npos || !whole(argument.substr(bar + 1), result.axis))
            return std::nullopt;
        argument = argument.substr(0, bar);
    }
    if (!whole(argument, result.argument)) return std::nullopt;
    return result;
}

/// Where the size of a named dimension comes from.
struct UserDim {
    std::string name;
    std::size_t argument = 0;
    std::int64_t axis = 0;              ///< negative: from the end
    std::optional<Expression> formula;  ///< instead of argument and axis
};

struct UserModel {
    ComputeUnit unit = ComputeUnit::none;
    std::vector<UserDim> dims;  ///< each uses only what stands before it
    std::size_t type_argument = 0;
    Expression flops;
    Expression bytes;
    std::optional<Expression> backward_flops;
    std::optional<Expression> backward_bytes;
    std::vector<std::string> params;

    Cost cost(const OpArguments& args, Pass pass, CostRules rules) const;
};

/// Works out the formulas of one model for one use of its op.
class UserModelRun {
  public:
    UserModelRun(const UserModel& model, const OpArguments& args, CostRules rules)
        : model_(model), reader_(args, rules) {}

    /// `prefix` is that of the members `flops` and `bytes`.
    Cost run(const std::string& prefix, const Expression& flops, const Expression& bytes) {
        for (const UserDim& dim : model_.dims)
            sizes_.push_back(dim.formula ? value("dims." + dim.name, *dim.formula) : recorded_size(dim));
        Cost cost;
        cost.unit = model_.unit;
        cost.precision = reader_.precision(reader_.type_if(model_.type_argument));
        for (const std::string& name : model_.params) {
            const double number = value_of(name).value_or(0);
            const bool whole = number == std::floor(number);
            cost.params.push_back({name, whole ? ParamValue::integer(number) : ParamValue::real(number)});
        }
        cost.flops = count(prefix + "flops", flops);
        if (unknown_type_)
            reader_.fail("more than the bytes depends on the size of a type that is not known");
        const double moved = count(prefix + "bytes", bytes);
        if (!unknown_type_) cost.bytes = moved;
        return reader_.finish(std::move(cost));
    }

  private:
    double recorded_size(const UserDim& dim) {
        const Shape shape = reader_.shape(dim.argument);
        const auto rank = static_cast<std::int64_t>(shape.size());
        const std::int64_t axis = dim.axis < 0 ? dim.axis + rank : dim.axis;
        if (axis >= 0 && axis < rank) return static_cast<double>(shape[static_cast<std::size_t>(axis)]);
        reader_.fail("\"dims." + dim.name + "\": argument " + std::to_string(dim.argument) + " of " +
                     std::to_string(rank) + " dimensions has no axis " + std::to_string(dim.axis));
        return 0;
    }

    double value(const std::string& member, const Expression& formula) {
        const Result<double> result =
            formula.evaluate([this](std::string_view name) { return value_of(name); });
        if (!result) reader_.fail("\"" + member + "\": " + result.failure().message());
        return result ? *result : 0;
    }

    double count(const std::string& member, const Expression& formula) {
        const double result = value(member, formula);
        if (result < 0) reader_.fail("\"" + member + "\" is negative");
        return result;
    }

    std::optional<double> value_of(std::string_view name) {
        for (std::size_t i = 0; i < sizes_.size(); ++i) {
            if (model_.dims[i].name == name) return sizes_[i];
        }
        const std::optional<BuiltInName> known = built_in_name(name);
        if (!known) return std::nullopt;
        if (known->kind == 'b') return element_bytes(known->argument);
        const Shape shape = reader_.shape(known->argument);
        if (known->kind == 'n') return product(shape);
        return static_cast<double>(reader_.dim(shape, known->axis));
    }

    double element_bytes(std::size_t argument) {
        const std::string_view type = reader_.type(argument);
        const std::optional<double> bytes = reader_.bytes_per_element(type);
        unknown_type_ = unknown_type_ || !bytes;
        return bytes.value_or(1);
    }

    const UserModel& model_;
    ArgReader reader_;
    std::vector<double> sizes_;
    bool unknown_type_ = false;  ///< a formula has used the element size of a type that is not known
};

inline Cost UserModel::cost(const OpArguments& args, Pass pass, CostRules rules) const {
    UserModelRun run(*this, args, rules);
    if (pass == Pass::forward) return run.run("", flops, bytes);
    if (!backward_flops || !backward_bytes)
        return Cost::unsupported("its model has no \"backward_flops\" and \"backward_bytes\"");
    return run.run("backward_", *backward_flops, *backward_bytes);
}

inline constexpr std::array<std::string_view, 11> user_model_members = {
    "category", "sheet", "backward_category", "unit",           "dims",  "dtype",
    "flops",    "bytes", "backward_flops",    "backward_bytes", "params"};
inline constexpr std::array<std::string_view, 5> required_user_model_members = {"category", "unit", "dtype",
                                                                                "flops", "bytes"};

/// Excel allows 31 characters, `_fwd` and `_bwd` included.
inline constexpr std::size_t longest_sheet_name = 27;

/// Reads the text of a file of models.
class UserModelParser {
  public:
    struct Op {
        std::string name;
        RegisteredModel registered;
    };

    UserModelParser(std::string_view json, const std::string& file) : scanner_(json), file_(file) {}

    Result<std::vector<Op>> parse() {
        if (!scanner_.take('{')) return file_failure("is no JSON object of ops and their models");
        if (!scanner_.take('}')) {
            do {
                read_op();
                if (failure_) return *std::move(failure_);
            } while (scanner_.take(','));
            if (!scanner_.take('}')) return file_failure("has no comma or closing bracket where one belongs");
        }
        scanner_.skip_space();
        if (!scanner_.at_end()) return file_failure("goes on behind its closing bracket");
        return std::move(ops_);
    }

  private:
    void read_op() {
        std::string_view raw;
        if (scanner_.peek() != '"' || scanner_.key(raw) != JsonScanner::Outcome::ok) {
            failure_ = file_failure("has no name of an op where one belongs");
            return;
        }
        decode_json_string(raw, op_);
        for (const Op& each : ops_) {
            if (each.name == op_) return fail({}, "stands there twice");
        }
        if (scanner_.value(raw) != JsonScanner::Outcome::ok || scanner_.flaws() != 0)
            return fail({}, "is no valid JSON");
        members_ = tracelens::parse_arg_value(raw);
        if (members_.kind != ArgValue::Kind::object) return fail({}, "is no JSON object");
        check_members();
        read_members();
    }

    void check_members() {
        for (auto key = members_.keys.begin(); key != members_.keys.end(); ++key) {
            if (std::find(user_model_members.begin(), user_model_members.end(), *key) ==
                user_model_members.end())
                return fail(*key, "is no member of a model; known are " + listed(user_model_members));
            if (std::find(members_.keys.begin(), key, *key) != key) return fail(*key, "stands there twice");
        }
        for (const std::string_view member : required_user_model_members) {
            if (members_.find(member) == nullptr) return fail(member, "is missing");
        }
        if (members_.find("backward_category") != nullptr && members_.find("backward_flops") == nullptr)
            return fail("backward_flops", "is missing; \"backward_category\" needs it");
        const bool has_flops = members_.find("backward_flops") != nullptr;
        const bool has_bytes = members_.find("backward_bytes") != nullptr;
        if (has_flops != has_bytes)
            fail(has_flops ? "backward_bytes" : "backward_flops", "is missing; one needs the other");
    }

    void read_members() {
        if (failure_) return;
        UserModel model;
        RegisteredModel registered;
        registered.category = text("category");
        if (registered.category.empty()) fail("category", "is empty");
        registered.sheet = members_.find("sheet") ? text("sheet") : sheet_of(registered.category);
        check_sheet(registered.sheet);
        if (members_.find("backward_category")) registered.backward_category = text("backward_category");
        model.unit = read_unit();
        read_dims(model);
        model.type_argument = argument("dtype", *members_.find("dtype"));
        model.flops = formula("flops", *members_.find("flops"), model);
        model.bytes = formula("bytes", *members_.find("bytes"), model);
        if (const ArgValue* const value = members_.find("backward_flops")) {
            model.backward_flops = formula("backward_flops", *value, model);
            model.backward_bytes = formula("backward_bytes", *members_.find("backward_bytes"), model);
        }
        read_params(model);
        if (failure_) return;
        registered.cost = [shared = std::make_shared<const UserModel>(std::move(model))](
                              const OpArguments& args, Pass pass, CostRules rules) {
            return shared->cost(args, pass, rules);
        };
        ops_.push_back({op_, std::move(registered)});
    }

    std::string text(std::string_view member) {
        const ArgValue& value = *members_.find(member);
        if (!value.is_text()) fail(member, "is no text");
        return value.text;
    }

    static std::string sheet_of(std::string category) {
        if (category.ends_with("_fwd") || category.ends_with("_bwd")) category.resize(category.size() - 4);
        return category;
    }

    /// Sheets are files and worksheets: their names must suit both.
    void check_sheet(std::string_view name) {
        const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
            return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_' || c == '-' ||
                   c == ' ';
        });
        if (!plain || name.size() > longest_sheet_name) {
            fail("sheet", "is no name of a sheet: \"" + std::string(name) + "\"; at most " +
                              std::to_string(longest_sheet_name) +
                              " letters, digits, blanks, hyphens and underscores (default: the category)");
        }
    }

    ComputeUnit read_unit() {
        const std::string word = text("unit");
        if (word == "matrix") return ComputeUnit::matrix;
        if (word != "vector") fail("unit", "is neither \"matrix\" nor \"vector\"");
        return ComputeUnit::vector;
    }

    std::size_t argument(std::string_view member, const ArgValue& value) {
        if (!value.integer || *value.integer < 0) fail(member, "is no number of an argument, from 0 on");
        return static_cast<std::size_t>(value.integer.value_or(0));
    }

    void read_dims(UserModel& model) {
        const ArgValue* const dims = members_.find("dims");
        if (dims == nullptr) return;
        if (dims->kind != ArgValue::Kind::object) return fail("dims", "is no JSON object of names");
        for (std::size_t i = 0; i < dims->items.size() && !failure_; ++i) {
            const ArgValue& value = dims->items[i];
            const std::string member = "dims." + dims->keys[i];
            UserDim dim;
            dim.name = dims->keys[i];
            if (!is_plain_name(dim.name))
                return fail(member, "is no name of letters, digits and underscores");
            if (built_in_name(dim.name)) return fail(member, "is a name that formulas know already");
            if (is_dim(model, dim.name)) return fail(member, "stands there twice");
            if (value.is_list()) {
                const bool pair = value.items.size() == 2 && value.items[1].integer;
                if (!pair) return fail(member, "is neither [argument, axis] nor a formula");
                dim.argument = argument(member, value.items[0]);
                dim.axis = *value.items[1].integer;
            } else {
                dim.formula = formula(member, value, model);
            }
            model.dims.push_back(std::move(dim));
        }
    }

    void read_params(UserModel& model) {
        const ArgValue* const params = members_.find("params");
        if (params == nullptr) {
            for (const UserDim& dim : model.dims) model.params.push_back(dim.name);
            return;
        }
        if (!params->is_list()) return fail("params", "is no list of names");
        for (const ArgValue& name : params->items) {
            if (!name.is_text()) return fail("params", "is no list of names");
            if (!is_known(model, name.text)) return fail("params", unknown(name.text));
            model.params.push_back(name.text);
        }
    }

    Expression formula(std::string_view member, const ArgValue& value, const UserModel& model) {
        // A bare number is a formula, too.
        std::string source = value.text;
        if (value.kind == ArgValue::Kind::number)
            append_double(source, value.number);
        else if (!value.is_text())
            return fail(member, "is no formula in quotes"), Expression{};
        Result<Expression> parsed = Expression::parse(source);
        if (!parsed) return fail(member, parsed.failure().message()), Expression{};
        for (const std::string& name : parsed->names()) {
            if (!is_known(model, name)) fail(member, source + ": " + unknown(name));
        }
        return *std::move(parsed);
    }

    static bool is_plain_name(std::string_view name) {
        const Result<Expression> parsed = Expression::parse(name);
        return parsed.ok() && parsed->names().size() == 1 && parsed->names().front() == name;
    }
    static bool is_dim(const UserModel& model, std::string_view name) {
        return std::any_of(model.dims.begin(), model.dims.end(),
                           [&](const UserDim& dim) { return dim.name == name; });
    }
    static bool is_known(const UserModel& model, std::string_view name) {
        return is_dim(model, name) || built_in_name(name).has_value();
    }
    static std::string unknown(std::string_view name) {
        return "\"" + std::string(name) +
               "\" is unknown; known are the names of \"dims\", d0_1 (a dimension of an argument), n0 (its "
               "elements) and b0 (bytes of an element)";
    }

    template <std::size_t n>
    static std::string listed(const std::array<std::string_view, n>& words) {
        std::string text;
        for (const std::string_view word : words) {
            if (!text.empty()) text += ", ";
            text += word;
        }
        return text;
    }

    void fail(std::string_view member, std::string_view what) {
        if (failure_) return;
        std::string reason = "op \"" + op_ + "\"";
        if (!member.empty()) reason += ", \"" + std::string(member) + "\"";
        failure_ = Failure{ErrorCode::invalid_argument, file_, reason + ": " + std::string(what), {}, {}, {}};
    }

    Failure file_failure(std::string_view what) {
        const std::string_view before = scanner_.text().substr(0, scanner_.position());
        const auto line = 1 + std::count(before.begin(), before.end(), '\n');
        return {ErrorCode::invalid_argument,
                file_,
                "the file " + std::string(what) + " (line " + std::to_string(line) + ")",
                {},
                {},
                {}};
    }

    JsonScanner scanner_;
    const std::string& file_;
    std::string op_;    ///< that is being read
    ArgValue members_;  ///< of its model
    std::vector<Op> ops_;
    std::optional<Failure> failure_;
};

}  // namespace detail

inline Result<std::vector<std::string>> add_user_models(ModelRegistry& registry, std::string_view json,
                                                        const std::string& file) {
    Result<std::vector<detail::UserModelParser::Op>> parsed = detail::UserModelParser(json, file).parse();
    if (!parsed) return parsed.failure();
    std::vector<std::string> names;
    for (detail::UserModelParser::Op& op : *parsed) {
        names.push_back(op.name);
        registry.add(op.name, std::move(op.registered));
    }
    return names;
}

}  // namespace tracelens
