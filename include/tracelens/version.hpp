#pragma once

/// The version of the headers. `TRACELENS_VERSION_STRING` is what `tracelens --version` prints.
#define TRACELENS_VERSION_MAJOR 0
#define TRACELENS_VERSION_MINOR 1
#define TRACELENS_VERSION_PATCH 0
#define TRACELENS_VERSION_STRING "0.1.0"
