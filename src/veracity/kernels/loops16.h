/* The inner loops as any processor has them. */
#ifndef VERACITY_LOOPS_H
#define VERACITY_LOOPS_H

#include "many.h"
#include "pair.h"

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
static double add_floats(const float *row, int64_t k, double *columns) {
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
static void sweep(const float *row, const float *next, int64_t k, double *columns, Levels *levels, Swept *found) {
    int64_t listed = 0, groups = 0;
    found->sum = check_floats(row, k, &found->most, &found->least);
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
        groups = note_group(found->hits, groups, start, hits);
    }
    found->listed = listed;
    found->groups = groups;
}

/* Those of the listed entries that lie in one code, which go to `to`; their number. */
static int64_t pick_listed(const uint32_t *list, int64_t count, int shift, uint32_t code, uint32_t *to) {
    int64_t picked = 0;
    for (int64_t i = 0; i < count; i++) {
        to[picked] = list[i];
        picked += list[i] >> shift == code;
    }
    return picked;
}

/* Counts and sums of a row of doubles in the level cells. Sums of neighbouring ends are subtracted row by row, so
 * that the difference keeps its digits. */
INLINE void add_levels(const double *row, int64_t k, Levels *levels) {
    double before = 0.0;
    lanes sums[LEVELS] = {{0}};
    masks below[LEVELS] = {{0}}, zeros = {0};
    for (int64_t j = 0; j < k; j += LANES) {
        lanes x = all_lanes(1.0); /* ones are in no level */
        memcpy(&x, row + j, k - j < LANES ? (size_t)(k - j) * sizeof *row : sizeof x);
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
static void sift(const double *row, const double *next, int64_t k, const Grid *g, Sieve *to) {
    memset(&to->levels, 0, sizeof to->levels);
    to->listed = to->groups = 0;
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
        to->groups = note_group(to->hits, to->groups, start, hits);
    }
}

/* Which rows need a closer look goes to the bits of other, is_near and is_low; whether any does. */
static int pair_rows(Pair *a, int64_t n) {
    int any = 0;
    memset(a->other, 0, sizeof a->other);
    memset(a->is_near, 0, sizeof a->is_near);
    memset(a->is_low, 0, sizeof a->is_low);
    for (int64_t i = 0; i < n; i++) {
        double u = a->p_block[i] + 0.0, q = 1.0 - u; /* + 0.0 makes minus zero zero */
        int y = a->y_block[i];
        if (!(u >= 0.0 && u <= 1.0) || y > 1) {
            a->bad = 1;
            return 0;
        }
        if (u < a->low) a->low = u;
        if (u > a->high) a->high = u;
        int above = u >= 0.5;
        double v = above ? q : u, mirrored = above ? q : 1.0 - q, realised = y ? u : q;
        int64_t b = bits_of(v) - above;
        int tiny = b < SPLIT_BITS;
        int64_t mask = (1LL << (tiny ? TINY_SHIFT : SHIFT)) - 1, x = (b & mask) | UNIT_BITS;
        memcpy(a->position + i, &x, 8);
        a->position[i] -= tiny ? 1.0 + 0x1p-7 : 1.0 + 0x1p-11;
        int32_t code = code_of(u);
        int at_end = !(bits_of(mirrored) & mask) && (above || mirrored <= u);
        a->at[i] = STEP * ((at_end ? code + (int32_t)PARTS : code) + y * (int32_t)a->places);
        uint64_t h = (uint64_t)bits_of(u) ^ (y ? ODD : 0);
        h = mixed(h);
        int other = realised <= SPLIT || (u < UNMIRRORED && u > 0.0), near = a->limit && h <= a->limit;
        int low = realised < a->low_limit;
        any |= other | near | low;
        a->other[i / 64] |= (uint64_t)other << i % 64;
        a->is_near[i / 64] |= (uint64_t)near << i % 64;
        a->is_low[i / 64] |= (uint64_t)low << i % 64;
    }
    return any;
}

#endif
