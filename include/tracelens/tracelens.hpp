/// Everything: reading, the trace model, classification, analyses and writers.
#pragma once

#include <tracelens/analyze/kernels.hpp>
#include <tracelens/analyze/quality.hpp>
#include <tracelens/analyze/timeline.hpp>
#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/classify/kernel_family.hpp>
#include <tracelens/config.hpp>
#include <tracelens/core/file.hpp>
#include <tracelens/model/call_tree.hpp>
#include <tracelens/model/links.hpp>
#include <tracelens/model/trace.hpp>
#include <tracelens/model/trace_builder.hpp>
#include <tracelens/read/open.hpp>
#include <tracelens/version.hpp>
#include <tracelens/write/csv.hpp>
#include <tracelens/write/json.hpp>
#include <tracelens/write/markdown.hpp>
