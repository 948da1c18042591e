/* Types that all files share: the grid, the arguments of a pass, and the sums of one thread. */
#ifndef VERACITY_PASS_H
#define VERACITY_PASS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    POWERS = 37,
    LOWEST = 20,
    FIRST = 5,
    MANY = 50,
    ENTRIES = 4096, /* of a block: fits the first-level cache as doubles */
    ROWS = 512,     /* of a block */
    MOST_LANES = 4  /* doubles of a vector */
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

typedef struct {
    const int32_t *cell;   /* of each code; -1 - (first cell) where a cut divides the code */
    const double *edges;   /* lower edge of each cell */
    const int32_t *nested; /* nested cell of each cell */
    int64_t cells, nested_cells;
    double least_nested; /* upper end of the lowest nested cell */
    int coarse;          /* whether there are only LEVELS cells between 0 and 2^-22 */
} Grid;

/* The arguments of a pass. */
typedef struct {
    const char *p, *y, *weights, *counts;
    int64_t n, k, row_step, column_step, y_step, weights_step, counts_step;
    int item; /* bytes of a probability: 4 or 8 */
    char y_kind;
    int y_item, one_column, mass;
    int direct; /* whether the entries of a row are neighbours in memory */
    int held;   /* whether all rows are held and then counted class by class */
    int packed; /* whether the pass is that of packed.h */
    double allowed;
    uint64_t *hashes; /* room for the hash of each row, or none */
    Grid grid;
    int64_t histograms, words; /* on the grid: classes and top, or pooled and top, or one for all; words of bits */
    int all_step, true_step, nested_true_step;
} Job;

typedef struct {
    int64_t rows, first[FIRST], column;
    double value;
} Problem;

/* Histograms by cell, with m = cw and m2 = cw²: entries {count, Σmp, Σm, Σm2}, true entries {count, Σmp, Σm ln p,
 * Σm p^(-2/3), Σm, Σm2}, of which Σm and Σm2 are only there with masses; and a bit for each cell with entries. */
typedef struct {
    slot *all, *yes;
    uint64_t *touched;
    slot *nested, *nested_yes; /* {count, Σm, Σm2} */
    void *memory;
    size_t size;
} Tables;

typedef struct {
    int64_t *values, count, room;
} List;

/* Rows with all that is counted: columns lie `stride` apart in p and cell. */
typedef struct {
    int64_t stride;
    double *p, *realised, *top, *correct, *log, *power, *m, *m2;
    int64_t *count, *y;
    int32_t *cell, *true_cell, *top_cell;
} Rows;

typedef struct {
    Rows rows;
    int64_t count, room;
    int32_t *order;   /* rows sorted by outcome */
    int64_t *first;   /* of each outcome, and the end */
    void *memory;
} Held;

/* The sums of one thread, and the block of rows that it works on. */
typedef struct {
    const Job *job;
    int64_t begin, end, rows;
    double weight, weight2, scores[12], powers[POWERS], low, high;
    double *classes, *columns, *block_classes, *block_columns;
    List tiny;
    int64_t lowest_row[LOWEST];
    double lowest[LOWEST];
    int lowest_count, failed;
    Problem problems[PROBLEMS];
    Tables tables;
    Held held;
    struct Packed *packed; /* packed.h */
    /* one block */
    int64_t stride; /* of columns in p and cell */
    double p[ENTRIES + MOST_LANES], realised[ROWS], squares[ROWS], log[ROWS], root[ROWS], power[ROWS], brier[ROWS];
    double spherical[ROWS], correct[ROWS], top[ROWS], m[ROWS], m2[ROWS];
    int64_t count[ROWS], y[ROWS], row[ROWS];
    int32_t cell[ENTRIES + MOST_LANES], true_cell[ROWS], top_cell[ROWS], pick[ROWS];
} Work;

/* Histograms one after another, in arrays of the caller that are large enough: columns of entries {count, sum, weight,
 * weight2}, then of true entries {count, sum, log, power, weight, weight2}. */
enum { ALL_COLUMNS = 4, TRUE_COLUMNS = 6, COLUMNS = ALL_COLUMNS + TRUE_COLUMNS };
typedef struct {
    int32_t *cells;
    slot *columns[COLUMNS];
    int64_t size;
} Compact;

/* A matrix of probabilities, and room for the hash of each row. */
typedef struct {
    const char *p;
    int64_t n, k, row_step, column_step;
    int item, one_column;
    uint64_t *out;
} Hashing;

/* Rows of two classes in one column that are counted by place and outcome (pair.h). */
enum { PAIR_ROWS = 512, PAIR_AHEAD = 32, PAIR_BITS = 8 }; /* rows come in whole bytes of bits */
typedef double moments __attribute__((vector_size(32), aligned(32), may_alias)); /* Σ1, Σx, Σx², Σx³ */

typedef struct {
    const char *p, *y;
    int64_t n, p_step, y_step, places, parts;
    int item, y_item;
    const int32_t *first_part; /* of each code that a cut divides, on its side or as seen from the other class */
    const double *part_edges;  /* lower edge of each part */
    moments *table;            /* by outcome, by place; the last place is for rows that are not counted here. Places
                                * of divided codes have a count below zero: their rows belong to parts. */
    int64_t *others, other_count;
    double lowest[LOWEST], low, high, low_limit;
    int64_t lowest_row[LOWEST];
    int lowest_count, bad;
    /* one block */
    const double *p_block;  /* the input itself where it can be used as it lies */
    const uint8_t *y_block; /* likewise; 2 or more where a label is none */
    double copy[PAIR_ROWS], position[PAIR_ROWS];
    uint8_t labels[PAIR_ROWS];
    int32_t at[PAIR_ROWS + PAIR_AHEAD]; /* in the table, in bytes */
    uint64_t other[PAIR_ROWS / 64], is_low[PAIR_ROWS / 64];
} Pair;

/* The functions that are compiled for each width of vectors. */
typedef struct {
    int bytes; /* of a vector */
    int (*prepare)(Work *);
    void (*count_rows)(Work *);
    void (*count_class)(Work *, int64_t);
    void (*count_pairs)(Pair *);
    void (*hash_rows)(const Hashing *);
    void (*end)(Work *);
} Kernel;

extern const Kernel VERACITY_PLAIN, VERACITY_AVX2;

/* Appends a value; whether there was memory. */
static inline int append(List *list, int64_t value) {
    if (list->count == list->room) {
        int64_t room = list->room ? 2 * list->room : 64;
        int64_t *more = realloc(list->values, (size_t)room * sizeof *more);
        if (!more) return 0;
        list->values = more;
        list->room = room;
    }
    list->values[list->count++] = value;
    return 1;
}

/* Keeps the rows with the smallest p, ties by row. */
static inline void keep_lowest(double *lowest, int64_t *rows, int *count, double p, int64_t row) {
    int at = *count;
    if (at == LOWEST) {
        if (!(p < lowest[LOWEST - 1])) return;
        at--;
    } else
        ++*count;
    for (; at > 0 && (lowest[at - 1] > p || (lowest[at - 1] == p && rows[at - 1] > row)); at--) {
        lowest[at] = lowest[at - 1];
        rows[at] = rows[at - 1];
    }
    lowest[at] = p;
    rows[at] = row;
}

INLINE int64_t bits_of(double x) {
    int64_t b;
    memcpy(&b, &x, 8);
    return b;
}

INLINE uint32_t float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
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

/* The cell of u, given that of its code. */
INLINE int32_t resolve(const Grid *g, int32_t cell, double u) {
    if (cell >= 0) return cell;
    for (cell = -1 - cell; cell + 1 < g->cells && g->edges[cell + 1] <= u; cell++) {}
    return cell;
}

INLINE int32_t cell_of(const Grid *g, double u) { return resolve(g, g->cell[code_of(u)], u); }

INLINE double value_at(const char *p, int item, int64_t step, int64_t i) {
    if (item == 4) {
        float x;
        memcpy(&x, p + i * step, 4);
        return x;
    }
    double x;
    memcpy(&x, p + i * step, 8);
    return x;
}

/* One of the histograms. */
typedef struct {
    slot *all, *yes;
    uint64_t *touched;
} Histogram;

INLINE Histogram histogram(const Job *job, const Tables *t, int64_t h) {
    int64_t first = h * job->grid.cells;
    return (Histogram){t->all + first * job->all_step, t->yes + first * job->true_step, t->touched + h * job->words};
}

INLINE void touch(Histogram h, int32_t cell) { h.touched[cell >> 6] |= 1ULL << (cell & 63); }

INLINE void add_entry(Histogram h, int32_t cell, double u, int mass, int64_t c, double m, double m2) {
    slot *r = h.all + (int64_t)cell * (mass ? 4 : 2);
    if (r->i == 0) touch(h, cell);
    r[0].i += mass ? c : 1;
    r[1].d += mass ? m * u : u;
    if (!mass) return;
    r[2].d += m;
    r[3].d += m2;
}

/* Adds what a true entry has beyond being an entry. */
INLINE void add_true(Histogram h, int32_t cell, double u, double log, double power, int mass, int64_t c, double m,
                     double m2) {
    slot *r = h.yes + (int64_t)cell * (mass ? 6 : 4);
    r[0].i += mass ? c : 1;
    r[1].d += mass ? m * u : u;
    r[2].d += mass ? m * log : log;
    r[3].d += mass ? m * power : power;
    if (!mass) return;
    r[4].d += m;
    r[5].d += m2;
}

#endif
