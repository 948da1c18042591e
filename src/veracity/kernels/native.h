/* What the parts of the pass share: the grid, the job, and what one thread has found so far. */
#ifndef VERACITY_NATIVE_H
#define VERACITY_NATIVE_H

#include <Python.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

/* The pass is compiled once for each width of vectors, in bytes, that a processor may have. */
#if VECTOR > 16
#include <immintrin.h>
#endif
#if VECTOR == 64 && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,popcnt,bmi,bmi2"))), \
                             apply_to = function)
#elif VECTOR == 64
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,popcnt,bmi,bmi2,prefer-vector-width=512")
#elif VECTOR == 32 && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,popcnt,bmi,bmi2"))), apply_to = function)
#elif VECTOR == 32
#pragma GCC target("avx2,fma,popcnt,bmi,bmi2")
#endif

#define INLINE static inline __attribute__((always_inline))

typedef double lanes __attribute__((vector_size(VECTOR), aligned(8), may_alias));
typedef int64_t masks __attribute__((vector_size(VECTOR), aligned(8), may_alias));
enum { LANES = VECTOR / 8 };

enum {
    POWERS = 37,
    LOWEST = 20,
    FIRST = 5,
    MANY = 50,
    ENTRIES = 4096, /* of a block: fits the first-level cache as doubles */
    ROWS = 512
};
#define TINY 1e-80
enum { NAN_ENTRY, INFINITE, NEGATIVE, ABOVE_ONE, ROW_SUM, LABEL, PROBLEMS };

/* Codes of grid.py: exponent and leading mantissa bits of p, or of 1 - p from 1/2 up. */
#define SHIFT 42
#define TINY_SHIFT 46
#define SPLIT_BITS 0x3F10000000000000LL /* 2^-14 */
#define LEAST_BITS 0x36A0000000000000LL /* 2^-149 */
#define HALF_BITS 0x3FE0000000000000LL
#define SPLIT_CODE (2 + ((SPLIT_BITS - LEAST_BITS) >> TINY_SHIFT))
#define CODES (2 * (SPLIT_CODE + ((HALF_BITS - SPLIT_BITS) >> SHIFT)))

typedef union {
    int64_t i;
    double d;
} slot;

#define PARTS ((CODES + 63) / 64 * 64) /* whole words of bits */

/* A place is a code, or from PARTS on a part of a code that a cut divides. */
typedef struct {
    const int32_t *cell;       /* cell of each place */
    const int32_t *nested;     /* nested cell of each place */
    const uint64_t *divided;   /* bit of each divided code */
    const int32_t *first_part; /* of each divided code */
    const double *part_edges;  /* lower edge of each part, then infinity */
    const double *nested_edges;
    int64_t places, nested_cells, words;
    double least_hit; /* upper end of the lowest nested cell */
    int coarse;       /* only the wide cells below 2^-22 */
} Grid;

typedef struct {
    const char *p, *y, *weights, *counts;
    int64_t n, k, row_step, column_step, y_step, weights_step, counts_step;
    int item; /* bytes of a probability: 4 or 8 */
    char y_kind;
    int y_item;
    int one_column, mass, small, packed, floats, direct; /* direct: rows lie in memory as they are needed */
    double allowed;
    double *realised;
    Grid grid;
    int64_t histograms; /* on the grid: classes and top, or pooled and top */
    const struct Edges *edges; /* between.h: pooled entries are counted only between these, or NULL */
    int all_step, true_step, nested_step, nested_true_step;
} Job;

typedef struct {
    int64_t rows, first[FIRST], column;
    double value;
} Problem;

/* Records by place, with m = cw and m2 = cw²: all {count, Σmp, Σm, Σm2}, true {count, Σmp, Σm ln p, Σm p^(-2/3), Σm,
 * Σm2}. */
typedef struct {
    slot *all, *yes;
    uint64_t *touched;
    slot *nested, *nested_yes;
    uint64_t *words; /* cells of few classes: see words.h */
    size_t all_size, yes_size, touched_size, words_size;
} Scratch;

enum { LEVELS = 2 };                            /* wide cells between 0 and 2^-22 */
static const int LEVEL_ENDS[LEVELS] = {30, 22}; /* upper end of each: 2^-end; as WIDE and COARSE in grid.py */

/* Sums over the level cells of rows; counts are those below each end. */
typedef struct {
    double sums[LEVELS];
    int64_t below[LEVELS], zeros;
} Levels;

/* Some of up to 32 columns from the first on: a bit for each. */
typedef struct {
    uint32_t first, set;
} Group;

/* Notes columns if there are any; whether there are could not be foreseen, so there is no branch. The number noted. */
INLINE int64_t note_group(Group *groups, int64_t count, int64_t first, uint32_t set) {
    groups[count] = (Group){(uint32_t)first, set};
    return count + (set != 0);
}

/* What a row of doubles is sifted into. */
typedef struct {
    Levels levels;
    int64_t listed, groups;
    double *list; /* entries above the levels; room for a vector more */
    Group *hits;  /* columns of entries from `least_hit` up */
} Sieve;

typedef struct {
    const Job *job;
    int64_t begin, end, rows, word_rows; /* the last: since cells of words were emptied */
    double weight, weight2, scores[12], powers[POWERS], low, high;
    double *classes, *columns, *block_classes, *block_columns;
    Sieve sieve; /* of one row of many classes */
    int64_t *tiny, tiny_count, tiny_room;
    int64_t lowest_row[LOWEST];
    double lowest[LOWEST];
    int lowest_count, failed, unusual; /* the last: a row that the pass between edges leaves to the other */
    Problem problems[PROBLEMS];
    Scratch scratch;
    struct Packed *packed; /* packed.h */
    struct Small *small;   /* small.h */
    /* one block */
    int64_t stride; /* of columns in p and place */
    double p[ENTRIES + LANES], realised[ROWS], squares[ROWS], log[ROWS], root[ROWS], power[ROWS], brier[ROWS];
    double spherical[ROWS], correct[ROWS], top[ROWS], m[ROWS], m2[ROWS];
    int64_t count[ROWS], y[ROWS], row[ROWS];
    int32_t place[2 * ENTRIES + LANES], pick[ROWS];
} Work;

/* Zeros that will all be used, on huge pages where the system has them: scattered updates of small ones wait for
 * addresses. */
static void *get_zeros(size_t size) {
#if defined(__linux__)
    size_t page = (size_t)2 << 20, whole = (size + page - 1) / page * page;
    if (size >= page / 4 && size <= ((size_t)64 << 20)) {
        void *at = aligned_alloc(page, whole);
        if (at) {
            madvise(at, whole, MADV_HUGEPAGE);
            memset(at, 0, size);
        }
        return at;
    }
#endif
    return calloc(1, size);
}

/* Memory that begins with a cache line: vectors that lie across two take twice as long. */
static void *get_lines(size_t size) {
#if defined(_WIN32)
    return malloc(size);
#else
    return aligned_alloc(64, (size + 63) / 64 * 64);
#endif
}

INLINE lanes all_lanes(double x) { return (lanes){0} + x; }

INLINE int64_t bits_of(double x) {
    int64_t b;
    memcpy(&b, &x, 8);
    return b;
}

INLINE int32_t code_of(double u) {
    int above = u >= 0.5;
    double v = above ? 1.0 - u : u + 0.0; /* + 0.0 makes minus zero zero */
    int64_t b = bits_of(v) - above;
    int32_t fine = (int32_t)(b >> SHIFT) - (int32_t)((SPLIT_BITS >> SHIFT) - SPLIT_CODE);
    int32_t small = (int32_t)(b >> TINY_SHIFT) - (int32_t)((LEAST_BITS >> TINY_SHIFT) - 2);
    small = small < 1 ? 1 : small;
    small = b == 0 ? 0 : small;
    int32_t code = b >= SPLIT_BITS ? fine : small;
    return above ? (int32_t)CODES - 1 - code : code;
}

INLINE int is_divided(const Grid *g, int32_t code) { return (int)(g->divided[code >> 6] >> (code & 63)) & 1; }

INLINE int32_t part_of(const Grid *g, int32_t code, double u) {
    int32_t part = g->first_part[code];
    while (g->part_edges[part + 1] <= u) part++;
    return (int32_t)PARTS + part;
}

INLINE int32_t place_of(const Grid *g, double u) {
    int32_t code = code_of(u);
    return is_divided(g, code) ? part_of(g, code, u) : code;
}

static __attribute__((noinline)) void touch(uint64_t *touched, int32_t place, double u) {
    touched[place >> 6] |= 1ULL << (place & 63);
    if (place >= PARTS) {
        int32_t code = code_of(u); /* parts are found through their code */
        touched[code >> 6] |= 1ULL << (code & 63);
    }
}

/* One entry u of histogram h. */
INLINE void add_entry(const Job *job, Scratch *s, int64_t h, int32_t place, double u, int mass, int64_t c, double m,
                      double m2) {
    slot *r = s->all + (h * job->grid.places + place) * (mass ? 4 : 2);
    if (r->i == 0) touch(s->touched + h * job->grid.words, place, u);
    if (mass) {
        r[0].i += c;
        r[1].d += m * u;
        r[2].d += m;
        r[3].d += m2;
    } else {
        r[0].i++;
        r[1].d += u;
    }
}

/* What a true entry adds beyond being an entry. */
INLINE void add_true(const Job *job, Scratch *s, int64_t h, int32_t place, double u, double log, double power, int mass,
                     int64_t c, double m, double m2) {
    slot *r = s->yes + (h * job->grid.places + place) * (mass ? 6 : 4);
    if (mass) {
        r[0].i += c;
        r[1].d += m * u;
        r[2].d += m * log;
        r[3].d += m * power;
        r[4].d += m;
        r[5].d += m2;
    } else {
        r[0].i++;
        r[1].d += u;
        r[2].d += log;
        r[3].d += power;
    }
}

#endif
