/* One sweep over a float32 row of many classes: is it a forecast, and where do its entries lie. */
#ifndef VERACITY_SWEEP_H
#define VERACITY_SWEEP_H

#include "native.h"

#define ONE_BITS 0x3F800000u
#define LISTED_FLOAT 0x34800000 /* 2^-22 */
#define SPLIT_FLOAT 0x38800000  /* 2^-14 */
#define HALF_FLOAT 0x3F000000
enum { HIT_COLUMNS = 16 }; /* of a group in plain loops */

INLINE int32_t level_bits(int level) { return (127 - LEVEL_ENDS[level]) << 23; }
INLINE double level_end(int level) { return 1.0 / (double)(1LL << LEVEL_ENDS[level]); }

/* The place that stands for a level cell. */
INLINE int32_t level_place(int level) { return level ? code_of(level_end(level - 1)) : 1; }

/* What a sweep finds in a row. Largest and smallest entry are bits seen as unsigned: beyond those of 1 an entry is no
 * probability, or minus zero. */
typedef struct Swept {
    double sum, squares; /* the sum perhaps only to the precision of floats */
    uint32_t most, least;
    int64_t listed, groups;
    uint32_t *list; /* on the coarse grid: bits of entries from 2^-22 up; of two rows: see sweep_two */
    Group *hits;    /* columns of entries from `least_hit` up */
    int32_t least_hit;
    int coarse;
} Swept;

/* In a file for each width of vectors: adds a row to the column sums and levels, and says what it found. Asks for the
 * next row meanwhile. */
static void sweep(const float *row, const float *next, int64_t k, double *columns, Levels *levels, Swept *found);

#if VECTOR > 16
/* Two rows at once, so that column sums are read and written half as often. Lists entries from the given bits up, after
 * those that are listed, and does without levels and the smallest entry. */
static void sweep_two(const float *const *rows, const float *next, int64_t step, int64_t k, double *columns,
                      int32_t least_listed, Swept *found);

/* Those of the listed entries from the given bits up, which go to `to`; their number. */
static int64_t pick_from(const uint32_t *list, int64_t count, uint32_t least, uint32_t *to);
#endif

/* Likewise: those of the listed entries that lie in one code, which go to `to`; their number. */
static int64_t pick_listed(const uint32_t *list, int64_t count, int shift, uint32_t code, uint32_t *to);

/* Largest and smallest entry; returns the sum. */
static double check_floats(const float *row, int64_t k, uint32_t *most, uint32_t *least) {
    double sum[2 * LANES] = {0};
    uint32_t high[2 * LANES] = {0}, low[2 * LANES];
    int64_t j = 0;
    memset(low, 255, sizeof low);
    for (; j + 2 * LANES <= k; j += 2 * LANES) {
        uint32_t bits[2 * LANES];
        memcpy(bits, row + j, sizeof bits);
        for (int l = 0; l < 2 * LANES; l++) {
            sum[l] += row[j + l];
            high[l] = bits[l] > high[l] ? bits[l] : high[l];
            low[l] = bits[l] < low[l] ? bits[l] : low[l];
        }
    }
    for (; j < k; j++) {
        uint32_t bits;
        memcpy(&bits, row + j, 4);
        sum[j % LANES] += row[j];
        high[0] = bits > high[0] ? bits : high[0];
        low[0] = bits < low[0] ? bits : low[0];
    }
    for (int l = 1; l < 2 * LANES; l++) {
        sum[0] += sum[l];
        high[0] = high[l] > high[0] ? high[l] : high[0];
        low[0] = low[l] < low[0] ? low[l] : low[0];
    }
    *most = high[0];
    *least = low[0];
    return sum[0];
}

#endif
