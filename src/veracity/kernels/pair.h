/* Two classes in one column: rows are counted by place and outcome, with the first moments of where in its cell each
 * lies. All sums of smooth functions follow from these (pair.py), so a row costs no logarithm, power or division. */
#ifndef VERACITY_PAIR_H
#define VERACITY_PAIR_H

#include "hashes.h"
#include "rows.h"

enum { PAIR_ROWS = 512, PAIR_AHEAD = 32, PAIR_BITS = 8 }; /* rows come in whole bytes of bits */
#define UNIT_BITS 0x3FF0000000000000LL
#define UNMIRRORED 0x1p-40 /* below, 1 - p is too coarse to mirror the cells of p */
#define SPLIT 0x1p-14 /* itself, as 1 - p, still lies in a cell of those below: too wide for powers of what happened */
enum { STEP_BITS = 5, STEP = 1 << STEP_BITS }; /* bytes of moments */

typedef double moments __attribute__((vector_size(32), aligned(32), may_alias)); /* Σ1, Σx, Σx², Σx³ */

typedef struct Pair {
    const char *p, *y;
    int64_t n, p_step, y_step, places;
    int item, y_item;
    const int32_t *first_part; /* of each code that a cut divides, on its side or as seen from the other class */
    const double *part_edges;  /* lower edge of each part, then infinity */
    moments *table;            /* by outcome, by place; the last place is for rows that are not counted here. Places
                                * of divided codes have a count below zero: their rows belong to parts. */
    uint64_t limit;            /* rows with a hash up to this are near; 0: none */
    int64_t *others, *near, other_count, near_count;
    double lowest[LOWEST], low, high, low_limit;
    int64_t lowest_row[LOWEST];
    int lowest_count, bad;
    /* one block */
    const double *p_block;  /* the input itself where it can be used as it lies */
    const uint8_t *y_block; /* likewise; 2 or more where a label is none */
    double copy[PAIR_ROWS], position[PAIR_ROWS];
    uint8_t labels[PAIR_ROWS];
    int32_t at[PAIR_ROWS + PAIR_AHEAD]; /* in the table, in bytes */
    uint64_t other[PAIR_ROWS / 64], is_near[PAIR_ROWS / 64], is_low[PAIR_ROWS / 64];
} Pair;

#define PAIR_LABELS(type)                                \
    for (int64_t i = 0; i < n; i++) {                    \
        type label;                                      \
        memcpy(&label, y + i * a->y_step, sizeof label); \
        a->labels[i] = label > 1 ? 2 : (uint8_t)label;   \
    }

static void pair_read(Pair *a, int64_t start, int64_t n) {
    const char *p = a->p + start * a->p_step, *y = a->y + start * a->y_step;
    int direct = a->item == 8 && a->p_step == 8 && (uintptr_t)p % 8 == 0 && n % PAIR_BITS == 0;
    int direct_y = a->y_item == 1 && a->y_step == 1 && n % PAIR_BITS == 0;
    a->p_block = direct ? (const double *)p : a->copy;
    a->y_block = direct_y ? (const uint8_t *)y : a->labels;
    if (a->item == 8 && !direct)
        for (int64_t i = 0; i < n; i++) memcpy(a->copy + i, p + i * a->p_step, 8);
    else if (a->item == 4)
        for (int64_t i = 0; i < n; i++) {
            float x;
            memcpy(&x, p + i * a->p_step, 4);
            a->copy[i] = x;
        }
    switch (direct_y ? 0 : a->y_item) { /* unsigned, so that a negative label is too large to be one */
        case 0: break;
        case 1: PAIR_LABELS(uint8_t) break;
        case 2: PAIR_LABELS(uint16_t) break;
        case 4: PAIR_LABELS(uint32_t) break;
        default: PAIR_LABELS(uint64_t)
    }
    for (int64_t i = n; i % PAIR_BITS; i++) a->copy[i] = a->copy[0], a->labels[i] = a->labels[0];
}

/* In a file for each width of vectors. Which rows need a closer look goes to the bits of other, is_near and is_low;
 * whether any does. */
static int pair_rows(Pair *a, int64_t n);

/* Where a row is counted whose code a cut divides. */
INLINE moments *pair_part(const Pair *a, int64_t i) {
    int64_t at = a->at[i] / STEP, yes = at >= a->places, place = at - yes * a->places;
    int32_t part = a->first_part[place >= PARTS ? place - PARTS : place];
    while (a->part_edges[part + 1] <= a->p_block[i]) part++;
    return a->table + yes * a->places + 2 * PARTS + part;
}

INLINE moments moments_of(const double *position) {
#if VECTOR > 16
    __m256d one = _mm256_set1_pd(1.0), x = _mm256_broadcast_sd(position), x2 = _mm256_mul_pd(x, x);
    return (moments)_mm256_mul_pd(_mm256_blend_pd(one, x, 10), _mm256_blend_pd(one, x2, 12));
#else
    double x = *position;
    return (moments){1.0, x, x * x, x * x * x};
#endif
}

static void pair_count(const Pair *a, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        moments *place = (moments *)((char *)a->table + a->at[i]);
        __builtin_prefetch((char *)a->table + a->at[i + PAIR_AHEAD], 1);
        if (__builtin_expect((*place)[0] < 0.0, 0)) place = pair_part(a, i);
        *place += moments_of(a->position + i);
    }
}

#define EACH(bits, n)                       \
    for (int64_t g = 0; g < (n); g += 64)   \
        for (uint64_t set = (bits)[g / 64]; set; set &= set - 1) \
            for (int64_t i = g + __builtin_ctzll(set), once = i < (n); once; once = 0)

/* Rows of a block that need a closer look. */
static void pair_closer(Pair *a, int64_t start, int64_t n) {
    EACH(a->is_near, n) a->near[a->near_count++] = start + i;
    EACH(a->other, n) {
        a->others[a->other_count++] = start + i;
        a->at[i] = STEP * (int32_t)(a->places - 1);
        a->is_low[i / 64] &= ~(1ULL << i % 64);
    }
    EACH(a->is_low, n) {
        double realised = a->y_block[i] ? a->p_block[i] : 1.0 - a->p_block[i];
        insert_lowest(a->lowest, a->lowest_row, &a->lowest_count, realised, start + i);
        if (a->lowest_count == LOWEST) a->low_limit = a->lowest[LOWEST - 1];
    }
}

/* Counts all rows; stops at one that cannot be. */
static void pair_run(Pair *a) {
    for (int64_t start = 0; start < a->n && !a->bad; start += PAIR_ROWS) {
        int64_t n = a->n - start < PAIR_ROWS ? a->n - start : PAIR_ROWS;
        pair_read(a, start, n);
        int any = pair_rows(a, n);
        if (a->bad) return;
        if (any) pair_closer(a, start, n);
        pair_count(a, n);
    }
}

#endif
