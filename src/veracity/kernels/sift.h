/* What a float64 row of many classes is sifted into: its hits, and on the coarse grid its levels and what lies above. */
#ifndef VERACITY_SIFT_H
#define VERACITY_SIFT_H

#include "sweep.h"

/* In a file for each width of vectors: sifts a row, and asks for the next one meanwhile. */
static void sift(const double *row, const double *next, int64_t k, const Grid *g, Sieve *to);

#endif
