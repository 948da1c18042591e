/* The pass with vectors of eight floats or four doubles (AVX2). */
#if defined(__x86_64__) && defined(__GNUC__)
#define VECTOR 32
#include "width.h"

const Kernel VERACITY_AVX2 = {VECTOR, prepare, count_rows, count_class, count_pairs, hash_rows, end};
#if defined(__clang__)
#pragma clang attribute pop /* pushed in vectors.h */
#endif
#endif
