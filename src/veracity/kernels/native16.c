/* The pass as any processor has it. */
#define VECTOR 16
#include "methods.h"

const Width VERACITY_16 = {VECTOR, methods, PARTS, SMALL};
