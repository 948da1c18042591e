/* Float32 rows of more than 50 classes without weights, on the coarse grid: near memory speed.
 *
 * An entry below 1/2 adds one integer to its cell: a count above and the mantissa bits below the cell's edge, so that
 * one update of eight bytes holds both the count and the exact sum of the cell. */
#ifndef VERACITY_PACKED_H
#define VERACITY_PACKED_H

#include "many.h"
#include "sweep.h"

#define LOW_CODES ((HALF_BITS - SPLIT_BITS) >> SHIFT) /* from 2^-14 to 1/2 */
#define HIT_CODES (1 << (COLUMN_SHIFT - FINE_SHIFT))  /* of anything a list may hold */
#define COUNT_SHIFT 40
#define ONE_ENTRY (1ULL << COUNT_SHIFT)
#define HALF_OFFSET (0x3F000000 - SPLIT_FLOAT)
#define OFFSET_BITS ((1u << COLUMN_SHIFT) - 1)
enum { AHEAD_HITS = 16 }; /* within the room of a list */
enum { BLOCK = 64 };      /* rows */
/* Float32 bits below a code, and below a line of the nested grid; the latter also in float64. */
enum { FINE_SHIFT = 13, NESTED_SHIFT = 17, LINE_SHIFT = NESTED_SHIFT + 29 };
enum { POOLED_ROOM = 1 << 23, NESTED_ROOM = 1 << 23 }; /* entries of a cell before the sum could reach the count */
enum { PACKED_ENTRIES = 1 << 20, MOST_NESTED = 4096 }; /* entries before the hits are taken from their lists */

typedef struct Packed {
    int64_t k, cells, low_cells, words, yes_words; /* cells, and those below 1/2, of the nested grid */
    int64_t rows, listed;                          /* whose hits the lists can hold, and do hold */
    size_t bytes;
    uint64_t *pooled;      /* LOW_CODES */
    uint64_t *nested;      /* k × low_cells */
    slot *upper;           /* k × the other cells {count, sum} */
    uint64_t *touched;     /* k × words: bits of the upper cells in use */
    uint32_t *yes;         /* k × cells */
    uint64_t *yes_touched; /* k × yes_words: bits of those in use */
    slot *spilled;         /* k × low_cells {count, sum}, when the packed ones were full */
    uint16_t *nested_cell; /* of each low code */
    Hits hits;
    float *row;
    int64_t pooled_used, nested_used;
    Levels levels;
} Packed;

INLINE float float_of(int32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

/* Moves counts and sums of the pooled cells to the histogram. */
static void unpack_pooled(Work *w, Packed *x) {
    Scratch *s = &w->scratch;
    for (int32_t c = 0; c < LOW_CODES; c++) {
        uint64_t held = x->pooled[c];
        if (!held) continue;
        int64_t count = (int64_t)(held >> COUNT_SHIFT);
        float edge = float_of(SPLIT_FLOAT + (c << FINE_SHIFT)), next = float_of(SPLIT_FLOAT + (c << FINE_SHIFT) + 1);
        int32_t place = (int32_t)SPLIT_CODE + c;
        slot *r = s->all + place * 2;
        if (r->i == 0) touch(s->touched, place, edge);
        r[0].i += count;
        r[1].d += (double)count * edge + (double)(held & (ONE_ENTRY - 1)) * ((double)next - edge);
        x->pooled[c] = 0;
    }
    x->pooled_used = 0;
}

/* Edge and step of the float32 line that each nested cell below 1/2 lies in. */
static void nested_lines(const Grid *g, double *edge, double *step) {
    for (int32_t place = SPLIT_CODE; place < g->places; place++) {
        if (place == SPLIT_CODE + LOW_CODES) place = PARTS;
        if (place >= g->places) break;
        double u = place < PARTS ? float_of(SPLIT_FLOAT + ((place - (int32_t)SPLIT_CODE) << FINE_SHIFT))
                                 : g->part_edges[place - PARTS];
        if (u < g->least_hit || u >= 0.5) continue;
        int64_t bits = bits_of(u) >> LINE_SHIFT << LINE_SHIFT;
        double line;
        memcpy(&line, &bits, 8);
        edge[g->nested[place]] = line;
        step[g->nested[place]] = nextafterf((float)line, 1.0f) - line;
    }
}

static void spill_nested(Work *w, Packed *x) {
    double edge[MOST_NESTED], step[MOST_NESTED];
    size_t size = (size_t)(x->k * x->low_cells);
    nested_lines(&w->job->grid, edge, step);
    if (!x->spilled) x->spilled = get_zeros(2 * size * sizeof(slot));
    if (!x->spilled) {
        w->failed = 1;
        return;
    }
    for (size_t i = 0; i < size; i++) {
        uint64_t held = x->nested[i];
        int64_t cell = (int64_t)i % x->low_cells, count = (int64_t)(held >> COUNT_SHIFT);
        if (!held) continue;
        x->spilled[2 * i].i += count;
        x->spilled[2 * i + 1].d += (double)count * edge[cell] + (double)(held & (ONE_ENTRY - 1)) * step[cell];
        x->nested[i] = 0;
    }
    x->nested_used = 0;
}

/* An entry from 1/2 up, or in a code that a cut divides. */
static __attribute__((noinline)) void add_rare(Work *w, Packed *x, uint32_t offset, int64_t j) {
    double u = float_of((int32_t)offset + SPLIT_FLOAT);
    int32_t place = place_of(&w->job->grid, u);
    int64_t cell = w->job->grid.nested[place], up = cell - x->low_cells;
    add_entry(w->job, &w->scratch, 0, place, u, 0, 1, 1.0, 1.0);
    if (up < 0) {
        x->nested[j * x->low_cells + cell] += ONE_ENTRY + (offset & ((1u << NESTED_SHIFT) - 1));
        return;
    }
    slot *r = x->upper + 2 * (j * (x->cells - x->low_cells) + up);
    if (r->i == 0) x->touched[j * x->words + (up >> 6)] |= 1ULL << (up & 63);
    r[0].i++;
    r[1].d += u;
}

static void add_hits(Work *w, Packed *x) {
    const Grid *g = &w->job->grid;
    uint64_t *pooled = x->pooled;
    const uint16_t *nested_cell = x->nested_cell;
    for (int64_t group = 0; group * GROUP < x->k; group++) {
        const uint32_t *list = x->hits.lists + group * x->hits.room;
        uint64_t *nested = x->nested + group * GROUP * x->low_cells;
        int64_t count = x->hits.counts[group], low_cells = x->low_cells;
        for (int64_t i = 0; i < count; i++) {
            uint32_t offset = list[i] & OFFSET_BITS, c = offset >> FINE_SHIFT, soon = list[i + AHEAD_HITS];
            int64_t j = list[i] >> COLUMN_SHIFT;
            int64_t soon_cell = nested_cell[(soon & OFFSET_BITS) >> FINE_SHIFT];
            __builtin_prefetch(nested + (soon >> COLUMN_SHIFT) * low_cells + soon_cell, 1);
            if (offset >= HALF_OFFSET || is_divided(g, (int32_t)(SPLIT_CODE + c))) {
                add_rare(w, x, offset, group * GROUP + j);
                continue;
            }
            pooled[c] += ONE_ENTRY + (offset & ((1u << FINE_SHIFT) - 1));
            nested[j * low_cells + nested_cell[c]] += ONE_ENTRY + (offset & ((1u << NESTED_SHIFT) - 1));
        }
        x->hits.counts[group] = 0;
    }
    x->pooled_used += x->listed * x->k;
    x->nested_used += x->listed;
    x->listed = 0;
    if (x->pooled_used + x->rows * x->k > POOLED_ROOM) unpack_pooled(w, x);
    if (x->nested_used + x->rows > NESTED_ROOM) spill_nested(w, x);
}

static void unpack_levels(Work *w, Levels *levels) {
    int64_t before = levels->zeros;
    Scratch *s = &w->scratch;
    if (levels->zeros) touch(s->touched, 0, 0.0);
    s->all[0].i += levels->zeros;
    for (int level = 0; level < LEVELS; level++) {
        int32_t place = level_place(level);
        int64_t count = levels->below[level] - before;
        before = levels->below[level];
        if (count == 0) continue;
        touch(s->touched, place, 0.0);
        s->all[2 * place].i += count;
        s->all[2 * place + 1].d += levels->sums[level];
    }
    memset(levels, 0, sizeof *levels);
}

/* The entry of what happened, and the top entry. */
static void add_packed_true(Work *w, Packed *x, int64_t i) {
    const Job *job = w->job;
    Scratch *s = &w->scratch;
    double u = w->realised[i], best = w->top[i];
    int32_t place = coarse_place(&job->grid, u), top = place_of(&job->grid, best);
    add_true(job, s, 0, place, u, w->log[i], w->power[i], 0, 1, 1.0, 1.0);
    int64_t cell = job->grid.nested[place];
    x->yes[w->y[i] * x->cells + cell]++;
    x->yes_touched[w->y[i] * x->yes_words + (cell >> 6)] |= 1ULL << (cell & 63);
    add_entry(job, s, 1, top, best, 0, 1, 1.0, 1.0);
    if (w->correct[i] != 0.0) add_true(job, s, 1, top, u, w->log[i], w->power[i], 0, 1, 1.0, 1.0);
}

static int first_of_float_ties(const float *row, int64_t y) {
    int tied = 0;
    for (int64_t j = 0; j < y; j++) tied |= row[j] == row[y];
    return !tied;
}

static void add_small_hits(uint64_t *pooled, const uint32_t *offsets, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        pooled[offsets[i] >> FINE_SHIFT] += ONE_ENTRY + (offsets[i] & ((1u << FINE_SHIFT) - 1));
}

static void packed_block(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    Packed *x = w->packed;
    int64_t kept = 0, k = job->k;
    int wide = job->wide;
    read_rows(w, start, n);
    for (int64_t i = 0; i < n; i++) {
        const float *row = (const float *)(job->p + (start + i) * job->row_step);
        const float *next = i + 1 < n && job->direct ? (const float *)((const char *)row + job->row_step) : row;
        uint32_t most, least;
        if (!job->direct) {
            for (int64_t j = 0; j < k; j++) x->row[j] = (float)value_at(job, start + i, j);
            row = x->row;
        }
        double sum = wide ? check_wide(row, k, &most, &least) : check_plain(row, k, &most, &least);
        int inside = most <= ONE_BITS;
        if (inside) {
            double low = float_of((int32_t)least), high = float_of((int32_t)most);
            if (low < w->low) w->low = low;
            if (high > w->high) w->high = high;
        }
        int good = (inside || check_values(w, start + i)) && check_sum(w, start + i, sum);
        if (!(check_label(w, start + i, w->y[i]) && good)) continue;
        if (!inside) { /* minus zero becomes zero */
            for (int64_t j = 0; j < k; j++) x->row[j] = row[j] + 0.0f;
            row = x->row;
            check_plain(row, k, &most, &least);
        }
        keep_row(w, kept, i);
        int64_t y = w->y[kept];
        float top = float_of((int32_t)most);
        w->squares[kept] = (wide ? find_wide : find_plain)(row, next, k, w->columns, &x->levels, &x->hits);
        add_small_hits(x->pooled, x->hits.small, x->hits.small_count);
        w->realised[kept] = row[y];
        w->top[kept] = top;
        w->correct[kept] = row[y] == top && first_of_float_ties(row, y);
        kept++;
    }
    x->listed += kept;
    if (x->listed + BLOCK > x->rows) add_hits(w, x);
    add_rows(w, kept);
    for (int64_t i = 0; i < kept; i++) add_packed_true(w, x, i);
}

static void free_packed(Packed *x) {
    if (!x) return;
    free(x->pooled);
    free(x->nested);
    free(x->upper);
    free(x->touched);
    free(x->yes);
    free(x->yes_touched);
    free(x->spilled);
    free(x->nested_cell);
    free(x->hits.lists);
    free(x->hits.counts);
    free(x->hits.small);
    free(x->row);
    free(x);
}

static Packed *new_packed(const Job *job) {
    Packed *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    size_t k = (size_t)job->k, groups = k / GROUP + 1;
    x->k = job->k;
    x->cells = job->grid.nested_cells;
    x->low_cells = job->grid.nested[code_of(0.5)];
    x->words = (x->cells - x->low_cells + 63) / 64;
    x->yes_words = (x->cells + 63) / 64;
    x->rows = PACKED_ENTRIES / job->k < BLOCK ? BLOCK : PACKED_ENTRIES / job->k;
    x->hits.room = x->rows * GROUP + 16;
    size_t low = k * (size_t)x->low_cells, upper = k * (size_t)(x->cells - x->low_cells);
    size_t words = k * (size_t)x->words, cells = k * (size_t)x->cells;
    size_t sizes[] = {LOW_CODES * 8, low * 8, upper * 16, words * 8, cells * 4};
    for (int i = 0; i < 5; i++) x->bytes += sizes[i];
    x->pooled = calloc(1, sizes[0]);
    x->nested = get_zeros(sizes[1]);
    x->upper = get_zeros(sizes[2]);
    x->touched = calloc(1, sizes[3]);
    x->yes = get_zeros(sizes[4]);
    x->yes_touched = calloc(k * (size_t)x->yes_words, sizeof *x->yes_touched);
    x->nested_cell = calloc(HIT_CODES, sizeof *x->nested_cell);
    x->hits.lists = malloc(groups * (size_t)x->hits.room * sizeof *x->hits.lists);
    x->hits.counts = calloc(groups, sizeof *x->hits.counts);
    x->hits.small = malloc((k + 16) * sizeof *x->hits.small);
    x->row = malloc(k * sizeof *x->row);
    if (!(x->pooled && x->nested && x->upper && x->touched && x->yes && x->yes_touched && x->nested_cell && x->hits.lists &&
          x->hits.counts && x->hits.small && x->row)) {
        free_packed(x);
        return NULL;
    }
    return x;
}

#endif
