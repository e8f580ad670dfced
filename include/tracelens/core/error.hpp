/// How tracelens reports that a result could not be produced: `Failure` as a value inside `Result<T>`, or
/// thrown as `Error`. What could be worked around is a `Diagnostic` (core/diagnostics.hpp) instead.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <tracelens/config.hpp>

namespace tracelens {

enum class ErrorCode : std::uint8_t {
    file_missing,      ///< the path does not exist or is not a regular file
    file_unreadable,   ///< the operating system refused to read it
    file_unwritable,   ///< an output file could not be created, written or renamed
    not_a_trace,       ///< readable bytes, but no trace in any known form
    unsupported,       ///< a known form that this build cannot read
    limit_exceeded,    ///< more events, strings or bytes than the model can hold
    invalid_argument,  ///< the caller's options contradict each other or the data
};

/// The code as printed in `[DIAG:area:CODE]` lines.
constexpr const char* to_string(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::file_missing: return "TRACE_MISSING";
        case ErrorCode::file_unreadable: return "FILE_UNREADABLE";
        case ErrorCode::file_unwritable: return "FILE_UNWRITABLE";
        case ErrorCode::not_a_trace: return "NOT_A_TRACE";
        case ErrorCode::unsupported: return "UNSUPPORTED_FORMAT";
        case ErrorCode::limit_exceeded: return "LIMIT_EXCEEDED";
        case ErrorCode::invalid_argument: return "INVALID_ARGUMENT";
    }
    return "UNKNOWN";
}

/// Why a result could not be produced.
struct Failure {
    ErrorCode code = ErrorCode::invalid_argument;
    std::string subject;                       ///< what was being read or written, usually a path
    std::string reason;                        ///< what went wrong, one clause
    std::string remedy;                        ///< what the user can do, one clause; may be empty
    std::optional<std::uint64_t> byte_offset;  ///< where, in the uncompressed text
    std::optional<std::uint64_t> event_index;  ///< where, counted in events of the file

    /// One line: subject, reason, position, remedy.
    std::string message() const {
        std::string text = subject.empty() ? reason : subject + ": " + reason;
        if (byte_offset) text += " (at byte " + std::to_string(*byte_offset) + ")";
        if (event_index) text += " (event " + std::to_string(*event_index) + ")";
        if (!remedy.empty()) text += " - " + remedy;
        return text;
    }
};

/// The exception form of a `Failure`; `what()` is `Failure::message()`.
class Error : public std::runtime_error {
  public:
    explicit Error(Failure failure) : std::runtime_error(failure.message()), failure_(std::move(failure)) {}
    const Failure& failure() const noexcept { return failure_; }
    ErrorCode code() const noexcept { return failure_.code; }

  private:
    Failure failure_;
};

/// A value, or the reason why there is none. Every throwing reader has a `try_` form that returns this.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}

    bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    /// The value. Precondition: `ok()`.
    T& operator*() & noexcept { return *std::get_if<0>(&state_); }
    const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
    T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
    T* operator->() noexcept { return std::get_if<0>(&state_); }
    const T* operator->() const noexcept { return std::get_if<0>(&state_); }

    /// The reason. Precondition: `!ok()`.
    const Failure& failure() const noexcept { return *std::get_if<1>(&state_); }

#if TRACELENS_EXCEPTIONS
    /// The value; throws `Error` when there is none.
    T value() && {
        if (!ok()) throw Error(failure());
        return std::move(*std::get_if<0>(&state_));
    }
#endif

  private:
    std::variant<T, Failure> state_;
};

/// The success of an operation that has no value.
struct Done {};

}  // namespace tracelens
