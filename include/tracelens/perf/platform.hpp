/// What a GPU can do at most: rates and sizes from a platform file (agents/platforms/*.json), and which
/// platform a recorded device is. (Spec 02, section 10.3; spec 11, section 6.)
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tracelens/core/ascii.hpp>
#include <tracelens/core/decimal.hpp>
#include <tracelens/core/error.hpp>
#include <tracelens/core/json_text.hpp>
#include <tracelens/model/arg_value.hpp>

namespace tracelens {

/// Keys of `max_achievable_tflops`: arithmetic unit and precision, as `Cost::compute_spec` has them.
inline constexpr std::array<std::string_view, 16> peak_specs = {
    "matrix_fp64", "matrix_fp32", "matrix_fp16", "matrix_bf16", "matrix_fp8",  "matrix_fp6",
    "matrix_fp4",  "matrix_int8", "vector_fp64", "vector_fp32", "vector_fp16", "vector_bf16",
    "vector_fp8",  "vector_fp6",  "vector_fp4",  "vector_int8"};

/// Where a platform's figures come from. Programs reach less than a datasheet says.
enum class FigureSource : std::uint8_t { unknown, datasheet, measured };

constexpr std::string_view to_string(FigureSource source) noexcept {
    switch (source) {
        case FigureSource::unknown: return "unknown";
        case FigureSource::datasheet: return "datasheet";
        case FigureSource::measured: return "measured";
    }
    return "unknown";
}

/// Figures that a file leaves out are absent. A zero says that the platform does not support something.
struct Platform {
    std::string name;
    std::optional<double> mem_bw_gbps;  ///< 10^9 bytes a second
    std::optional<double> memory_gb;
    std::optional<double> compute_units;
    std::array<std::optional<double>, peak_specs.size()> peaks;  ///< TFLOP/s, in the order of `peak_specs`
    FigureSource figures = FigureSource::unknown;
    std::string source;  ///< which document or measurement; may be empty

    /// TFLOP/s of a compute spec such as `matrix_bf16`, zeros included; nothing when it is not listed.
    std::optional<double> peak_tflops(std::string_view compute_spec) const noexcept {
        const auto spec = std::find(peak_specs.begin(), peak_specs.end(), compute_spec);
        if (spec == peak_specs.end()) return std::nullopt;
        return peaks[static_cast<std::size_t>(spec - peak_specs.begin())];
    }
};

/// Reads a platform file. `file` is its path: it stands in failures, and its stem is the name of platforms
/// that give none. Fails (`invalid_argument`) on text that is no JSON object, on unknown keys, and on figures
/// that are negative or no numbers; says which key and line. O(length).
Result<Platform> parse_platform(std::string_view json, const std::string& file);

/// A word of recorded device names.
struct DeviceWord {
    std::string_view word;
    std::string_view with;      ///< another word that must be there, too; empty for none
    std::string_view platform;  ///< its file's stem; empty when there is none for such a device
};

/// The first row that fits decides. Names of architectures are missing on purpose: gfx942, gfx950, gfx90a and
/// gfx1151, sm_80, sm_90 and sm_100 stand for several products each.
inline constexpr std::array device_words = {
    DeviceWord{"MIG", "", ""},  // a slice of a GPU
    DeviceWord{"MI300X", "", "MI300X"},
    DeviceWord{"MI325X", "", "MI325X"},
    DeviceWord{"MI350X", "", "MI350X"},
    DeviceWord{"MI355X", "", "MI355X"},
    DeviceWord{"MI455X", "", "MI455X"},
    DeviceWord{"MI250X", "", "MI250X"},
    DeviceWord{"8060S", "", "Radeon8060S"},
    DeviceWord{"A100", "PCIe", ""},
    DeviceWord{"A100", "40GB", ""},
    DeviceWord{"A100", "64GB", ""},
    DeviceWord{"A100", "", "A100"},
    DeviceWord{"H100", "PCIe", ""},
    DeviceWord{"H100", "NVL", ""},
    DeviceWord{"H100", "", "H100"},
    DeviceWord{"H200", "NVL", ""},
    DeviceWord{"H200", "", "H200"},
    DeviceWord{"B200", "", "B200"},
    DeviceWord{"GB200", "", "GB200"},
};

namespace detail {

constexpr bool is_letter_or_digit(char c) noexcept {
    return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
}

/// Whether `text` holds `word` between characters that are neither letters nor digits. Letter case does not
/// count.
constexpr bool has_word(std::string_view text, std::string_view word) noexcept {
    for (std::size_t i = 0; i + word.size() <= text.size(); ++i) {
        const std::size_t end = i + word.size();
        if (i > 0 && is_letter_or_digit(text[i - 1])) continue;
        if (end < text.size() && is_letter_or_digit(text[end])) continue;
        if (equal_ignoring_case(text.substr(i, word.size()), word)) return true;
    }
    return false;
}

}  // namespace detail

/// The platform of a device name as traces record it (`NVIDIA H100 80GB HBM3`); empty for devices that no
/// platform file describes.
constexpr std::string_view platform_of_device(std::string_view device) noexcept {
    for (const DeviceWord& row : device_words) {
        if (!detail::has_word(device, row.word)) continue;
        if (row.with.empty() || detail::has_word(device, row.with)) return row.platform;
    }
    return {};
}

namespace detail {

/// Figures that only simulations use.
inline constexpr std::array<std::string_view, 3> simulation_keys = {"freq_mhz", "l1_bw_gbps",
                                                                    "gemm_units_per_cu"};

/// `MI300X` of `platforms/MI300X.json`.
constexpr std::string_view file_stem(std::string_view path) noexcept {
    if (const std::size_t slash = path.find_last_of("/\\"); slash != std::string_view::npos)
        path.remove_prefix(slash + 1);
    const std::size_t point = path.rfind('.');
    return point == std::string_view::npos || point == 0 ? path : path.substr(0, point);
}

class PlatformParser {
  public:
    PlatformParser(std::string_view json, const std::string& file) : scanner_(json), file_(file) {}

    Result<Platform> parse() {
        platform_.name = std::string(file_stem(file_));
        read_object("the file", [this](std::string_view key) { read_member(key); });
        mark();
        if (!scanner_.at_end()) fail("there is text behind the closing bracket");
        if (failure_) return *failure_;
        return platform_;
    }

  private:
    /// Calls `read` for each key of an object; it must read the value.
    template <class Read>
    void read_object(std::string_view what, const Read& read) {
        if (!scanner_.take('{')) return fail(std::string(what) + " is no JSON object");
        if (scanner_.take('}')) return;
        do {
            mark();
            std::string_view raw;
            if (scanner_.key(raw) != JsonScanner::Outcome::ok) return fail("there is no key");
            std::string key;
            decode_json_string(raw, key);
            read(std::string_view(key));
            if (failure_) return;
        } while (scanner_.take(','));
        mark();
        if (!scanner_.take('}')) fail("a comma or a closing bracket is missing");
    }

    void read_member(std::string_view key) {
        if (key == "name") {
            platform_.name = read_text(key);
        } else if (key == "mem_bw_gbps") {
            platform_.mem_bw_gbps = read_figure(key);
        } else if (key == "memory_gb") {
            platform_.memory_gb = read_figure(key);
        } else if (key == "num_cus") {
            platform_.compute_units = read_figure(key);
        } else if (key == "max_achievable_tflops") {
            read_object("\"max_achievable_tflops\"", [this](std::string_view spec) { read_peak(spec); });
        } else if (key == "source" || key == "_reference") {
            read_source(key);
        } else if (std::find(simulation_keys.begin(), simulation_keys.end(), key) != simulation_keys.end()) {
            read_figure(key);
        } else {
            fail("\"" + std::string(key) + "\" is no key of a platform file");
        }
    }

    void read_peak(std::string_view spec) {
        const auto known = std::find(peak_specs.begin(), peak_specs.end(), spec);
        if (known == peak_specs.end())
            return fail("\"" + std::string(spec) + "\" is no key of max_achievable_tflops");
        platform_.peaks[static_cast<std::size_t>(known - peak_specs.begin())] = read_figure(spec);
    }

    /// The text, or all texts of an object, of where the figures come from.
    void read_source(std::string_view key) {
        const ArgValue value = tracelens::parse_arg_value(read_raw(key));
        add_source(value);
        for (const ArgValue& item : value.items) add_source(item);
    }

    void add_source(const ArgValue& value) {
        if (!value.is_text()) return;
        if (!platform_.source.empty()) platform_.source += "; ";
        platform_.source += value.text;
        const auto says = [&](std::string_view word) { return contains_ignoring_case(value.text, word); };
        if (says("measured") || says("benchmark"))
            platform_.figures = FigureSource::measured;
        else if (says("datasheet") && platform_.figures == FigureSource::unknown)
            platform_.figures = FigureSource::datasheet;
    }

    double read_figure(std::string_view key) {
        const std::optional<double> number = parse_double(read_raw(key));
        if (failure_) return 0;
        if (!number || !std::isfinite(*number))
            fail("\"" + std::string(key) + "\" is no number");
        else if (*number < 0)
            fail("\"" + std::string(key) + "\" is negative");
        return number.value_or(0);
    }

    std::string read_text(std::string_view key) {
        const ArgValue value = tracelens::parse_arg_value(read_raw(key));
        if (!failure_ && !value.is_text()) fail("\"" + std::string(key) + "\" is no text");
        return value.text;
    }

    std::string_view read_raw(std::string_view key) {
        std::string_view raw;
        if (scanner_.value(raw) == JsonScanner::Outcome::ok) return raw;
        fail("\"" + std::string(key) + "\" has no value");
        return {};
    }

    /// From here on failures point to this place.
    void mark() {
        scanner_.skip_space();
        at_ = scanner_.position();
    }

    void fail(const std::string& reason) {
        if (failure_) return;
        const std::string_view before = scanner_.text().substr(0, at_);
        const auto line = 1 + std::count(before.begin(), before.end(), '\n');
        failure_ = Failure{
            ErrorCode::invalid_argument, file_, reason + " (line " + std::to_string(line) + ")", {}, at_, {}};
    }

    JsonScanner scanner_;
    const std::string& file_;
    std::size_t at_ = 0;
    Platform platform_;
    std::optional<Failure> failure_;
};

}  // namespace detail

inline Result<Platform> parse_platform(std::string_view json, const std::string& file) {
    return detail::PlatformParser(json, file).parse();
}

}  // namespace tracelens
