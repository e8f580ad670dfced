// A step's plan: a flat list of actions without times, and the builder that workloads write it with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue.hpp"

namespace tracelens::synth {

struct Action {
    enum class Kind : std::uint8_t {
        open_frame,
        open_op,
        close,          // ends what was opened last on this thread
        leaf_frame,     // a frame without children
        call,           // runtime call, with device work if its CallInfo has some
        memory,         // allocator instant
        switch_thread,  // host execution goes on on another thread
        graph_node,     // device work of the graph that the last call has launched
        blocked_call,   // call that blocks the host while the device idles; leaves sync and overhead events
    };
    /// What a call does to the clocks besides taking time.
    enum class Effect : std::uint8_t {
        none,
        wait_for_device,  // the host waits until all streams are idle
        wait_for_work,    // the host waits until the work of this very call is done
        streams_join,     // `lane` waits for what the other streams have been given so far
    };
    Kind kind = Kind::close;
    Effect effect = Effect::none;
    std::uint8_t lane = 0;       // switch_thread: the thread; streams_join: the stream that waits;
                                 // blocked_call: what it waits for
    Index what = no_index;       // frame, op or call; graph_node: work
    std::int32_t before_ns = 0;  // host time since the previous action
    std::int32_t inside_ns = 0;  // own duration of leaves and calls; blocked_call: in 1/1000 of the step
    std::int32_t sequence = -1;  // counted from the first sequence number of the step
    std::int64_t bytes = 0;      // memory
    std::int64_t address = 0;    // memory
};

struct Program {
    std::vector<Action> actions;
    std::int32_t sequences = 0;  ///< autograd sequence numbers a step uses up
};

class ProgramBuilder {
  public:
    /// Closes what it stands for when it goes out of scope; may stand for nothing (a frame beyond the depth
    /// limit).
    class Scope {
      public:
        Scope() = default;
        Scope(ProgramBuilder* builder, int levels) : builder_(builder), levels_(levels) {}
        Scope(Scope&& other) noexcept : builder_(other.builder_), levels_(other.levels_) {
            other.builder_ = nullptr;
        }
        Scope& operator=(Scope&&) = delete;
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;
        ~Scope() {
            if (builder_ != nullptr) builder_->close(levels_);
        }

      private:
        ProgramBuilder* builder_ = nullptr;
        int levels_ = 0;
    };

    /// `depth_limit` bounds the python frames open at once on a thread.
    ProgramBuilder(Catalogue& catalogue, int depth_limit)
        : catalogue_(catalogue), depth_limit_(depth_limit) {}

    [[nodiscard]] Scope frame(std::string_view name, std::int64_t module_id = -1);
    /// An nn.Module call: its own frame, `_call_impl`, and `forward` (file, line and function).
    [[nodiscard]] Scope module(std::string_view class_name, std::string_view forward);
    void leaf(std::string_view name);
    void leaves(std::string_view name, int count);
    /// `count` short frames out of a large pool, the same ones for the same `site`.
    void chatter(std::size_t site, int count);
    /// A built-in function or method seen through an active torch-function mode, which costs frames of its
    /// own.
    [[nodiscard]] Scope function(std::string_view name);

    [[nodiscard]] Scope op(const OpInfo& info, std::int32_t sequence = -1);
    void call(Api api, Action::Effect effect = Action::Effect::none, std::uint8_t lane = 0);
    void launch(Api api, const WorkInfo& work, Action::Effect effect = Action::Effect::none);
    /// Launches a graph whose nodes are `works`, one after the other.
    void launch_graph(const std::vector<Index>& works);
    /// A call that blocks for `share` thousandths of the step so far; `sync` is one of sync_names.
    void blocked(Api api, std::uint8_t sync, std::int32_t share);
    /// Host work that leaves no event.
    void pause(std::int32_t ns) { pending_ns_ += ns; }
    void thread(std::uint8_t lane);

    std::int64_t allocate(std::int64_t bytes);  ///< returns a handle for release()
    void release(std::int64_t handle);

    std::int32_t next_sequence() { return program_.sequences++; }
    [[nodiscard]] std::int32_t peek_sequence() const { return program_.sequences; }
    Program take();

  private:
    struct Block {
        std::int64_t bytes = 0;
        std::int64_t address = 0;
    };
    struct Lane {
        std::vector<bool> open;  // for each open event: is it a python frame
        int frames = 0;
        int ops = 0;
    };
    Action& add(Action::Kind kind, Index what, std::int32_t before_ns);
    void close(int levels);
    Lane& lane() { return lanes_[lane_]; }

    Catalogue& catalogue_;
    int depth_limit_;
    Program program_;
    std::array<Lane, 2> lanes_;
    std::uint8_t lane_ = main_thread;
    std::int32_t pending_ns_ = 0;
    std::vector<Block> blocks_;
    std::int64_t next_address_ = 0x7e40'0000'0000;
    std::vector<std::pair<std::string, int>> module_counts_;
};

}  // namespace tracelens::synth
