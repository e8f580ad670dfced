/// What was noticed but did not stop the work: a table of codes with counts, evidence and remedies. Readers
/// and quality checks fill it; `tracelens info` prints it and `metadata/trace_quality.json` stores it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tracelens {

/// What a diagnostic means for the analysis, worst last.
enum class Verdict : std::uint8_t {
    ok,        ///< checked, nothing to say
    note,      ///< worth knowing; nothing is lost
    degraded,  ///< the analysis runs and leaves out what the trace cannot support
    fallback,  ///< no per-op analysis is possible; timeline and kernel names remain
    error,     ///< nothing to analyse
};

constexpr const char* to_string(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::ok: return "ok";
        case Verdict::note: return "note";
        case Verdict::degraded: return "degraded";
        case Verdict::fallback: return "fallback";
        case Verdict::error: return "error";
    }
    return "error";
}

struct Diagnostic {
    std::string area = "trace_quality";  ///< "profiling", "trace_quality" or "perf_model"
    std::string code;                    ///< upper case, stable
    Verdict verdict = Verdict::note;
    std::uint64_t count = 1;      ///< how many cases were met
    std::string first;            ///< names the first case, with its numbers
    std::string remedy;           ///< what to do about it; may be empty
    std::optional<double> value;  ///< what was measured, in `unit`
    std::string unit;
    std::optional<double> limit;  ///< the limit that `value` was held against
};

/// Diagnostics in the order in which their codes were first raised, one entry a code.
class Diagnostics {
  public:
    /// Adds a case. A code that is already present keeps its first text; counts add up and the worse verdict
    /// stays.
    void add(Diagnostic diagnostic) {
        if (Diagnostic* known = find_mutable(diagnostic.code)) {
            known->count += diagnostic.count;
            if (diagnostic.verdict > known->verdict) {
                known->verdict = diagnostic.verdict;
                if (!diagnostic.remedy.empty()) known->remedy = std::move(diagnostic.remedy);
            }
            return;
        }
        entries_.push_back(std::move(diagnostic));
    }

    const Diagnostic* find(std::string_view code) const noexcept {
        const auto at = std::find_if(entries_.begin(), entries_.end(),
                                     [&](const Diagnostic& entry) { return entry.code == code; });
        return at == entries_.end() ? nullptr : &*at;
    }

    /// The worst verdict of all entries whose code is not in `ignored`; `Verdict::ok` when there is none.
    Verdict worst(const std::vector<std::string_view>& ignored = {}) const noexcept {
        Verdict result = Verdict::ok;
        for (const Diagnostic& entry : entries_) {
            const bool counts = std::find(ignored.begin(), ignored.end(), entry.code) == ignored.end();
            if (counts) result = std::max(result, entry.verdict);
        }
        return result;
    }

    const std::vector<Diagnostic>& entries() const noexcept { return entries_; }
    bool empty() const noexcept { return entries_.empty(); }

  private:
    Diagnostic* find_mutable(std::string_view code) noexcept {
        return const_cast<Diagnostic*>(std::as_const(*this).find(code));
    }

    std::vector<Diagnostic> entries_;
};

}  // namespace tracelens
