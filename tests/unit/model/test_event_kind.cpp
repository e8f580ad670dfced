// The table of categories.

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include <tracelens/model/event_kind.hpp>

using namespace tracelens;

TEST_CASE("every category of spec 01, section 3.1, has its kind") {
    struct Row {
        const char* category;
        EventKind kind;
        bool gpu_work, runtime_call, on_device;
        FieldFamily family;
    };
    const Row rows[] = {
        {"cpu_op", EventKind::cpu_op, false, false, false, FieldFamily::op},
        {"python_function", EventKind::python_function, false, false, false, FieldFamily::frame},
        {"user_annotation", EventKind::user_annotation, false, false, false, FieldFamily::op},
        {"cuda_runtime", EventKind::runtime, false, true, false, FieldFamily::launch},
        {"cuda_driver", EventKind::driver, false, true, false, FieldFamily::launch},
        {"kernel", EventKind::kernel, true, false, true, FieldFamily::launch},
        {"gpu_memcpy", EventKind::gpu_memcpy, true, false, true, FieldFamily::launch},
        {"gpu_memset", EventKind::gpu_memset, true, false, true, FieldFamily::launch},
        {"gpu_user_annotation", EventKind::gpu_user_annotation, false, false, true, FieldFamily::op},
        {"cuda_sync", EventKind::gpu_sync, false, false, true, FieldFamily::launch},
        {"overhead", EventKind::overhead, false, false, false, FieldFamily::none},
        {"Trace", EventKind::trace_span, false, false, false, FieldFamily::none},
    };
    CHECK(std::size(rows) == event_kinds.size());
    for (const Row& row : rows) {
        CAPTURE(row.category);
        CHECK(event_kind(row.category) == row.kind);
        CHECK(is_gpu_work(row.kind) == row.gpu_work);
        CHECK(is_runtime_call(row.kind) == row.runtime_call);
        CHECK(is_on_device(row.kind) == row.on_device);
        CHECK(field_family(row.kind) == row.family);
    }
}

TEST_CASE("categories match exactly; others are kept as other") {
    for (const char* category : {"", "CPU_OP", "cpu_op ", "kernels", "Kernel", "trace", "python_func", "ac2g",
                                 "cpu_instant_event", "hip_runtime_unknown", "gpu_mem"}) {
        CAPTURE(category);
        CHECK(event_kind(category) == EventKind::other);
    }
    CHECK_FALSE(is_gpu_work(EventKind::other));
    CHECK_FALSE(is_runtime_call(EventKind::other));
    CHECK_FALSE(is_on_device(EventKind::other));
    CHECK(field_family(EventKind::other) == FieldFamily::none);
}

TEST_CASE("no category and no kind stands in the table twice") {
    for (const EventKindInfo& info : event_kinds) {
        const auto same_category = [&](const EventKindInfo& each) { return each.category == info.category; };
        CHECK(std::count_if(event_kinds.begin(), event_kinds.end(), same_category) == 1);
        CHECK(info.kind != EventKind::other);
    }
}

TEST_CASE("the table works at compile time") {
    static_assert(event_kind("kernel") == EventKind::kernel);
    static_assert(event_kind("no such thing") == EventKind::other);
    static_assert(field_family(EventKind::python_function) == FieldFamily::frame);
    static_assert(is_gpu_work(EventKind::gpu_memset) && !is_gpu_work(EventKind::gpu_sync));
    CHECK(true);
}
