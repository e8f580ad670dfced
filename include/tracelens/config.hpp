/// Feature switches. CMake targets set them; a build without CMake defines them on the command line or
/// accepts these defaults. They are never derived from what happens to be installed, so that all translation
/// units of a program see the same inline bodies.
#pragma once

/// 1: the fast JSON path uses simdjson (link simdjson). 0: the built-in tolerant parser reads everything.
#ifndef TRACELENS_WITH_SIMDJSON
#define TRACELENS_WITH_SIMDJSON 0
#endif

/// 1: vector loops use xsimd. 0: their scalar twins run.
#ifndef TRACELENS_WITH_XSIMD
#define TRACELENS_WITH_XSIMD 0
#endif

/// 1: gzip input is read through zlib (link zlib). 0: gzip input is refused with a clear error.
#ifndef TRACELENS_WITH_ZLIB
#define TRACELENS_WITH_ZLIB 0
#endif

/// 1: tables are written as Excel workbooks through libxlsxwriter. 0: writing one is an error.
#ifndef TRACELENS_WITH_XLSX
#define TRACELENS_WITH_XLSX 0
#endif

/// Defined by the target `tracelens::compiled`: the bodies in `*-inl.hpp` come from its library and their
/// headers (threads, files, third-party libraries) stay out of the including translation unit.
// #define TRACELENS_COMPILED

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define TRACELENS_EXCEPTIONS 1
#else
#define TRACELENS_EXCEPTIONS 0
#endif
