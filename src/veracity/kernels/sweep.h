/* One sweep over a float32 row of many classes: is it a forecast, and where do its entries lie. */
#ifndef VERACITY_SWEEP_H
#define VERACITY_SWEEP_H

#include "native.h"

#define ONE_BITS 0x3F800000u
#define LISTED_FLOAT 0x34800000 /* 2^-22 */
#define SPLIT_FLOAT 0x38800000  /* 2^-14 */
#define HALF_FLOAT 0x3F000000
enum { HIT_COLUMNS = 16 }; /* of a word of bits */

INLINE int32_t level_bits(int level) { return (127 - LEVEL_ENDS[level]) << 23; }
INLINE double level_end(int level) { return 1.0 / (double)(1LL << LEVEL_ENDS[level]); }

/* The place that stands for a level cell. */
INLINE int32_t level_place(int level) { return level ? code_of(level_end(level - 1)) : 1; }

/* What a sweep finds in a row. Largest and smallest entry are bits seen as unsigned: beyond those of 1 an entry is no
 * probability, or minus zero. */
typedef struct Swept {
    double sum, squares; /* the sum perhaps only to the precision of floats */
    uint32_t most, least;
    int64_t listed;
    uint32_t *list; /* on the coarse grid: bits of entries from 2^-22 up */
    uint16_t *hits; /* a bit for each column from `least_hit` up */
    int32_t least_hit;
    int coarse;
} Swept;

/* Largest and smallest entry; returns the sum. */
CLONES static double check_plain(const float *row, int64_t k, uint32_t *most, uint32_t *least) {
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

/* Counts and sums of a row in the level cells, by octaves: a number holds the count of one and, below, its mantissas.
 * Even and odd columns apart: neighbours often share an octave, and would wait for one another. */
static void add_octaves(const float *row, int64_t k, Levels *levels) {
    enum { MANTISSA = 23, COUNT = 40, MOST = 1 << (COUNT - MANTISSA - 1) };
    for (int64_t start = 0; start < k; start += MOST) {
        uint64_t octaves[512][2] = {{0}};
        int64_t end = k - start < MOST ? k : start + MOST, count = 0;
        for (int64_t j = start; j < end; j++) {
            uint32_t bits;
            memcpy(&bits, row + j, 4);
            octaves[bits >> MANTISSA][j & 1] += (1ULL << COUNT) + (bits & ((1u << MANTISSA) - 1));
        }
        double unit = 0x1p-149; /* of the mantissa; the lowest octave has no leading one */
        for (int level = 0, octave = 0; level < LEVELS; level++) {
            for (; octave < 127 - LEVEL_ENDS[level]; octave++) {
                uint64_t both = octaves[octave][0] + octaves[octave][1];
                int64_t inside = (int64_t)(both >> COUNT), leading = octave ? inside << MANTISSA : 0;
                count += inside;
                levels->sums[level] += unit * (double)(leading + (int64_t)(both & ((1ULL << COUNT) - 1)));
                if (octave) unit *= 2.0;
            }
            levels->below[level] += count;
        }
    }
}

/* Adds a row to the column sums; returns its sum of squares. */
CLONES static double add_floats(const float *row, int64_t k, double *columns) {
    double square[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= k; j += LANES)
        for (int l = 0; l < LANES; l++) {
            double x = row[j + l];
            columns[j + l] += x;
            square[l] += x * x;
        }
    for (; j < k; j++) {
        columns[j] += row[j];
        square[0] += (double)row[j] * row[j];
    }
    for (int l = 1; l < LANES; l++) square[0] += square[l];
    return square[0];
}

/* Adds a row to the column sums and levels, and says what it found. Asks for the next row meanwhile. */
static void sweep_plain(const float *row, const float *next, int64_t k, double *columns, Levels *levels, Swept *found) {
    int64_t listed = 0;
    found->sum = check_plain(row, k, &found->most, &found->least);
    found->squares = add_floats(row, k, columns);
    if (found->coarse) add_octaves(row, k, levels);
    for (int64_t start = 0; start < k; start += HIT_COLUMNS) {
        uint32_t hits = 0;
        __builtin_prefetch(next + start);
        for (int64_t c = 0; c < HIT_COLUMNS && start + c < k; c++) {
            int32_t bits;
            memcpy(&bits, row + start + c, 4);
            found->list[listed] = (uint32_t)bits;
            listed += bits >= LISTED_FLOAT;
            hits |= (uint32_t)(bits >= found->least_hit) << c;
            levels->zeros += bits == 0;
        }
        found->hits[start / HIT_COLUMNS] = (uint16_t)hits;
    }
    found->listed = listed;
}

/* Those of the listed entries that lie in one code, which go to `to`; their number. */
static int64_t pick_plain(const uint32_t *list, int64_t count, int shift, uint32_t code, uint32_t *to) {
    int64_t picked = 0;
    for (int64_t i = 0; i < count; i++) {
        to[picked] = list[i];
        picked += list[i] >> shift == code;
    }
    return picked;
}

/* Columns of the entries that are hits; their number. Two of 64 columns are written in any case: whether there are any
 * could not be foreseen. */
INLINE int64_t hit_columns(const uint16_t *hits, int64_t k, uint32_t *columns) {
    int64_t count = 0;
    for (int64_t start = 0; start < k; start += 64) {
        uint64_t set;
        memcpy(&set, hits + start / HIT_COLUMNS, 8);
        int64_t end = count + __builtin_popcountll(set);
        do {
            for (int i = 0; i < 2; i++, set &= set - 1)
                columns[count + i] = (uint32_t)start + (uint32_t)__builtin_ctzll(set | 1ULL << 63);
            count += 2;
        } while (count < end);
        count = end;
    }
    return count;
}

static int64_t hits_plain(const uint16_t *hits, int64_t k, uint32_t *columns) { return hit_columns(hits, k, columns); }

#endif
