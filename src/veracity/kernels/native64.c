/* The pass with vectors of sixteen floats or eight doubles (AVX-512). */
#if defined(__x86_64__) && defined(__GNUC__)
#define VECTOR 64
#include "methods.h"

const Width VERACITY_64 = {VECTOR, methods, PARTS, SMALL};
#if defined(__clang__)
#pragma clang attribute pop /* pushed in native.h */
#endif
#endif
