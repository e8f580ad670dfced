/// Linkage of the bodies in `*-inl.hpp`: inline when they are included by headers, external in the one
/// translation unit of `tracelens::compiled` that provides them.
#pragma once

#if defined(TRACELENS_COMPILED)
#define TRACELENS_INLINE
#else
#define TRACELENS_INLINE inline
#endif
