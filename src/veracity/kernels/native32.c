/* The pass with vectors of eight floats or four doubles (AVX2). */
#if defined(__x86_64__) && defined(__GNUC__)
#define VECTOR 32
#include "methods.h"

const Width VERACITY_32 = {VECTOR, methods, PARTS, SMALL};
#if defined(__clang__)
#pragma clang attribute pop /* pushed in native.h */
#endif
#endif
