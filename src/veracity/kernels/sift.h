/* What a float64 row of many classes is sifted into: its hits, and on the coarse grid its levels and what lies above. */
#ifndef VERACITY_SIFT_H
#define VERACITY_SIFT_H

#include "sweep.h"

/* Counts and sums of a row of doubles in the level cells. Sums of neighbouring ends are subtracted row by row, so
 * that the difference keeps its digits. */
INLINE void add_levels(const double *row, int64_t k, Levels *levels) {
    double before = 0.0;
    lanes sums[LEVELS] = {{0}};
    masks below[LEVELS] = {{0}}, zeros = {0};
    for (int64_t j = 0; j < k; j += LANES) {
        double tail[LANES] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}; /* ones are in no level */
        lanes x;
        if (k - j < LANES) {
            memcpy(tail, row + j, (size_t)(k - j) * sizeof *tail);
            memcpy(&x, tail, sizeof x);
        } else
            memcpy(&x, row + j, sizeof x);
        zeros -= (masks)(x == all_lanes(0.0));
        for (int level = 0; level < LEVELS; level++) {
            masks small = (masks)(x < all_lanes(level_end(level)));
            sums[level] += (lanes)((masks)x & small);
            below[level] -= small;
        }
    }
    for (int l = 0; l < LANES; l++) levels->zeros += zeros[l];
    for (int level = 0; level < LEVELS; level++) {
        double sum = 0.0;
        for (int l = 0; l < LANES; l++) {
            sum += sums[level][l];
            levels->below[level] += below[level][l];
        }
        levels->sums[level] += sum - before;
        before = sum;
    }
}

/* Sifts a row, and asks for the next one meanwhile. */
CLONES static void sift_plain(const double *row, const double *next, int64_t k, const Grid *g, Sieve *to) {
    memset(&to->levels, 0, sizeof to->levels);
    to->listed = 0;
    if (g->coarse) add_levels(row, k, &to->levels);
    for (int64_t start = 0; start < k; start += HIT_COLUMNS) {
        uint32_t hits = 0;
        __builtin_prefetch(next + start);
        __builtin_prefetch(next + start + HIT_COLUMNS / 2);
        for (int64_t c = 0; c < HIT_COLUMNS && start + c < k; c++) {
            double u = row[start + c];
            to->list[to->listed] = u;
            to->listed += u >= level_end(LEVELS - 1);
            hits |= (uint32_t)(u >= g->least_hit) << c;
        }
        to->hits[start / HIT_COLUMNS] = (uint16_t)hits;
    }
}

#endif
