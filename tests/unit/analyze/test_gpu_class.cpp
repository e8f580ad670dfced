// What GPU work counts as (spec 01, sections 4.3, 4.4 and 13.1; spec 11, section 7).

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/classify/gpu_class.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::event_named;
using fixture::TraceFixture;

namespace {

constexpr std::string_view copies[] = {"MEMORY_COPY_HOST_TO_DEVICE",        "MEMORY_COPY_DEVICE_TO_HOST",
                                       "MEMORY_COPY_DEVICE_TO_DEVICE",      "__amd_rocclr_copyBuffer",
                                       "__amd_rocclr_copyBufferRect",       "__amd_rocclr_copyBufferAligned",
                                       "__amd_rocclr_copyBufferRectAligned"};

GpuClass kernel_class(std::string_view name, ClassRules rules) {
    return gpu_class(EventKind::kernel, name, rules);
}

}  // namespace

TEST_CASE("communication: empty, ncclAllReduce, cross_device_reduce_0") {
    for (const ClassRules rules : {ClassRules::full, ClassRules::reference}) {
        CHECK_FALSE(is_communication_name("", rules));
        CHECK(is_communication_name("ncclAllReduce", rules));
        CHECK(is_communication_name("cross_device_reduce_0", rules));
        CHECK_FALSE(is_communication_name("regular_kernel", rules));
    }
}

TEST_CASE("communication patterns are found anywhere, in any case of letters") {
    for (const ClassRules rules : {ClassRules::full, ClassRules::reference}) {
        CHECK(is_communication_name(
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", rules));
        CHECK(is_communication_name("void my::NCCL_wrapper()", rules));
        CHECK(is_communication_name("RcclGenericKernel", rules));
        CHECK(is_communication_name("void vllm::Cross_Device_Reduce_1stage<__half, 2>", rules));
        CHECK_FALSE(is_communication_name("ncl", rules));
        CHECK_FALSE(is_communication_name("cross_device", rules));
    }
}

TEST_CASE("collectives beyond the reference's patterns count under the full rules only") {
    for (const std::string_view name : {"mscclKernel_Sum_half", "mscclppKernel", "void nvshmem_barrier()",
                                        "rocshmem_put", "all_reduce_one_shot_bf16", "quickreduce_twoshot"}) {
        CAPTURE(name);
        CHECK(is_communication_name(name, ClassRules::full));
        CHECK_FALSE(is_communication_name(name, ClassRules::reference));
        CHECK(kernel_class(name, ClassRules::full) == GpuClass::communication);
        CHECK(kernel_class(name, ClassRules::reference) == GpuClass::computation);
    }
    CHECK(is_communication_name("ncclSymkDevKernel_AllGather", ClassRules::full));
}

TEST_CASE("seven legacy copy names are copies, with and without .kd") {
    for (const ClassRules rules : {ClassRules::full, ClassRules::reference}) {
        for (const std::string_view name : copies) {
            CAPTURE(name);
            const std::string text(name);
            CHECK(is_legacy_copy_name(text));
            CHECK(kernel_class(text, rules) == GpuClass::memcpy);
            CHECK(kernel_class(text + ".kd", rules) == GpuClass::memcpy);
            CHECK(kernel_class(text + "\n", rules) == GpuClass::memcpy);
            CHECK(kernel_class(text + ".kd\n", rules) == GpuClass::memcpy);
            CHECK_FALSE(is_legacy_fill_name(text));
            for (const std::string& other :
                 {text + "x", "x" + text, text + ".kd.kd", text + "\n\n", text + ".kd ", text + ".KD"}) {
                CAPTURE(other);
                CHECK_FALSE(is_legacy_copy_name(other));
                CHECK(kernel_class(other, rules) == GpuClass::computation);
            }
        }
    }
    CHECK_FALSE(is_legacy_copy_name("memory_copy_host_to_device"));  // case counts
    CHECK_FALSE(is_legacy_copy_name("__amd_rocclr_copyBufferAlignedRect"));
    CHECK_FALSE(is_legacy_copy_name("MEMORY_COPY_HOST_TO_HOST"));
    CHECK_FALSE(is_legacy_copy_name(""));
    CHECK_FALSE(is_legacy_copy_name(".kd"));
    CHECK_FALSE(is_legacy_copy_name("regular_kernel"));
}

TEST_CASE("legacy fill names are computation for the reference, fills under the full rules") {
    for (const std::string_view name :
         {"__amd_rocclr_fillBuffer", "__amd_rocclr_fillBufferAligned", "__amd_rocclr_fillBufferAligned.kd"}) {
        CAPTURE(name);
        CHECK(is_legacy_fill_name(name));
        CHECK_FALSE(is_legacy_copy_name(name));
        CHECK(kernel_class(name, ClassRules::reference) == GpuClass::computation);
        CHECK(kernel_class(name, ClassRules::full) == GpuClass::memset);
    }
    CHECK_FALSE(is_legacy_fill_name("regular_kernel"));
    CHECK_FALSE(is_legacy_fill_name(""));
    CHECK_FALSE(is_legacy_fill_name("__amd_rocclr_fillBufferRect"));
}

TEST_CASE("kernels with copy in their name are computation") {
    for (const ClassRules rules : {ClassRules::full, ClassRules::reference}) {
        for (const std::string_view name :
             {"triton_per_fused__to_copy_sum_2.kd", "void at::native::copy_out_contiguous_kernel<float>",
              "MyCustomCopyKernel", "memcpy_my_thing", "Memcpy DtoD (Device -> Device)"}) {
            CAPTURE(name);
            CHECK(kernel_class(name, rules) == GpuClass::computation);
        }
    }
}

TEST_CASE("the category decides before the name") {
    for (const ClassRules rules : {ClassRules::full, ClassRules::reference}) {
        CHECK(gpu_class(EventKind::gpu_memcpy, "ncclKernel", rules) == GpuClass::memcpy);
        CHECK(gpu_class(EventKind::gpu_memcpy, "Memcpy HtoD (Pinned -> Device)", rules) == GpuClass::memcpy);
        CHECK(gpu_class(EventKind::gpu_memset, "Memset (Device)", rules) == GpuClass::memset);
        CHECK(gpu_class(EventKind::gpu_memset, "nccl fill", rules) == GpuClass::communication);
        CHECK(gpu_class(EventKind::gpu_memset, "__amd_rocclr_copyBuffer", rules) == GpuClass::memset);
        for (const EventKindInfo& info : event_kinds) {
            if (is_gpu_work(info.kind)) continue;
            CHECK(gpu_class(info.kind, "ncclKernel", rules) == GpuClass::none);
        }
        CHECK(gpu_class(EventKind::other, "gemm", rules) == GpuClass::none);
    }
}

TEST_CASE("the class column: one value an event, the same name in several categories") {
    TraceFixture file;
    file.op("ncclKernel", 0, 1)
        .kernel("ncclKernel", 2, 3)
        .memcpy("ncclKernel", 4, 5)
        .memset("ncclKernel", 6, 7);
    file.kernel("gemm", 8, 9)
        .kernel("mscclKernel", 10, 11)
        .kernel("__amd_rocclr_fillBuffer", 12, 13)
        .memset("gemm", 14, 15);
    file.kernel("ncclKernel", 16, 17).gpu(EventKind::gpu_sync, "gemm", 18, 19);
    const Trace trace = file.finish();
    using enum GpuClass;
    CHECK(classify_gpu_events(trace) == std::vector<GpuClass>{none, communication, memcpy, communication,
                                                              computation, communication, memset, memset,
                                                              communication, none});
    CHECK(classify_gpu_events(trace, ClassRules::reference) ==
          std::vector<GpuClass>{none, communication, memcpy, communication, computation, computation,
                                computation, memset, communication, none});
    CHECK(classify_gpu_events(Trace{}).empty());
}

TEST_CASE("class names") {
    CHECK(std::string_view(to_string(GpuClass::computation)) == "computation");
    CHECK(std::string_view(to_string(GpuClass::communication)) == "communication");
    CHECK(std::string_view(to_string(GpuClass::memcpy)) == "memcpy");
    CHECK(std::string_view(to_string(GpuClass::memset)) == "memset");
    CHECK(std::string_view(to_string(GpuClass::none)) == "none");
}
