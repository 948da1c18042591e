/* The pass as any processor has it. */
#define VECTOR 16
#include "width.h"

const Kernel VERACITY_PLAIN = {VECTOR, prepare, count_rows, count_class, count_pairs, hash_rows, end};
