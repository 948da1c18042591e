/* Float32 rows of more than 50 classes without weights, on the coarse grid: near memory speed.
 *
 * An entry below 1/2 adds one integer to its cell: a count above and the mantissa bits below the cell's edge, so that
 * one update of eight bytes holds both the count and the exact sum of the cell. */
#ifndef VERACITY_PACKED_H
#define VERACITY_PACKED_H

#include "many.h"
#include "sweep.h"

#define LOW_CODES ((HALF_BITS - SPLIT_BITS) >> SHIFT) /* from 2^-14 to 1/2 */
#define COUNT_SHIFT 40
#define ONE_ENTRY (1ULL << COUNT_SHIFT)
#define HALF_FLOAT 0x3F000000
enum { FINE_SHIFT = 13, NESTED_SHIFT = 17 }; /* float32 bits below a code, and below a line of the nested grid */
enum { POOLED_ROOM = 1 << 23, NESTED_ROOM = 1 << 23 }; /* entries of a cell before the sum could reach the count */

typedef struct {
    uint64_t *pooled;      /* LOW_CODES */
    uint64_t *nested;      /* k × low_cells */
    uint16_t *nested_cell; /* of each low code */
    int32_t *hit_bits, *hit_columns;
    float *row;
    int64_t low_cells, pooled_used, nested_used;
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
        double sum = (double)count * edge + (double)(held & (ONE_ENTRY - 1)) * ((double)next - edge);
        int32_t place = (int32_t)SPLIT_CODE + c;
        slot *r = s->all + place * 2;
        if (r->i == 0) touch(s->touched, place, edge);
        r[0].i += count;
        r[1].d += sum;
        x->pooled[c] = 0;
    }
    x->pooled_used = 0;
}

/* Moves those of the nested cells. */
static void unpack_nested(Work *w, Packed *x) {
    const Grid *g = &w->job->grid;
    double edge[4096], step[4096];
    for (int32_t c = 0; c < LOW_CODES; c++) {
        int32_t line = (SPLIT_FLOAT + (c << FINE_SHIFT)) >> NESTED_SHIFT << NESTED_SHIFT;
        int32_t cell = x->nested_cell[c];
        edge[cell] = float_of(line);
        step[cell] = (double)float_of(line + 1) - edge[cell];
    }
    for (int32_t place = PARTS; place < g->places; place++) {
        double u = g->part_edges[place - PARTS];
        if (u < 0x1p-14 || u >= 0.5) continue;
        int32_t bits, cell = g->nested[place];
        float at = (float)u;
        if (at > u) at = nextafterf(at, 0.0f);
        memcpy(&bits, &at, 4);
        bits = bits >> NESTED_SHIFT << NESTED_SHIFT;
        edge[cell] = float_of(bits);
        step[cell] = (double)float_of(bits + 1) - edge[cell];
    }
    for (int64_t j = 0; j < w->job->k; j++)
        for (int64_t cell = 0; cell < x->low_cells; cell++) {
            uint64_t held = x->nested[j * x->low_cells + cell];
            if (!held) continue;
            slot *r = w->scratch.nested + (j * g->nested_cells + cell) * 2;
            int64_t count = (int64_t)(held >> COUNT_SHIFT);
            r[0].i += count;
            r[1].d += (double)count * edge[cell] + (double)(held & (ONE_ENTRY - 1)) * step[cell];
            x->nested[j * x->low_cells + cell] = 0;
        }
    x->nested_used = 0;
}

/* An entry from 1/2 up, or in a code that a cut divides. */
static __attribute__((noinline)) void add_rare(Work *w, Packed *x, int32_t bits, int64_t j) {
    double u = float_of(bits);
    int32_t place = place_of(&w->job->grid, u);
    add_entry(w->job, &w->scratch, 0, place, u, 0, 1, 1.0, 1.0);
    if (bits >= HALF_FLOAT)
        add_nested(w->job, &w->scratch, j, place, u, 0, 1, 1.0, 1.0);
    else
        x->nested[j * x->low_cells + w->job->grid.nested[place]] +=
            ONE_ENTRY + (uint64_t)(bits & ((1 << NESTED_SHIFT) - 1));
}

static void add_hits(Work *w, Packed *x, int64_t hits) {
    const Grid *g = &w->job->grid;
    for (int64_t i = 0; i < hits; i++) {
        int32_t bits = x->hit_bits[i], c = (bits - SPLIT_FLOAT) >> FINE_SHIFT;
        int64_t j = x->hit_columns[i];
        if (bits >= HALF_FLOAT || is_divided(g, (int32_t)SPLIT_CODE + c)) {
            add_rare(w, x, bits, j);
            continue;
        }
        x->pooled[c] += ONE_ENTRY + (uint64_t)(bits & ((1 << FINE_SHIFT) - 1));
        x->nested[j * x->low_cells + x->nested_cell[c]] += ONE_ENTRY + (uint64_t)(bits & ((1 << NESTED_SHIFT) - 1));
    }
}

/* The place that stands for the wide cell of u below 2^-14. */
INLINE int32_t level_place(int level) { return level ? code_of(ldexp(1.0, -LEVEL_ENDS[level - 1])) : 1; }

INLINE int32_t packed_place(const Grid *g, double u) {
    if (u >= 0x1p-14) return place_of(g, u);
    if (u == 0.0) return 0;
    int level = 0;
    while (u >= ldexp(1.0, -LEVEL_ENDS[level])) level++;
    return level_place(level);
}

/* The wide cells below 2^-14. */
static void unpack_levels(Work *w, const Levels *levels) {
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
}

static int first_of_float_ties(const float *row, int64_t y) {
    for (int64_t j = 0; j < y; j++)
        if (row[j] == row[y]) return 0;
    return 1;
}

static void packed_block(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    Packed *x = w->packed;
    int64_t kept = 0, k = job->k;
    int wide = job->wide;
    read_rows(w, start, n);
    for (int64_t i = 0; i < n; i++) {
        const float *row = (const float *)(job->p + (start + i) * job->row_step);
        uint32_t most, least;
        if (!job->direct) {
            for (int64_t j = 0; j < k; j++) x->row[j] = (float)value_at(job, start + i, j);
            row = x->row;
        }
        double sum = wide ? check_wide(row, k, &most, &least) : check_plain(row, k, &most, &least), squares;
        if (most > ONE_BITS) {
            int good = check_values(w, start + i) && check_sum(w, start + i, sum);
            if (!(check_label(w, start + i, w->y[i]) && good)) continue;
            for (int64_t j = 0; j < k; j++) x->row[j] = row[j] + 0.0f; /* minus zero becomes zero */
            row = x->row;
            check_plain(row, k, &most, &least);
        } else {
            double low = float_of((int32_t)least), high = float_of((int32_t)most);
            if (low < w->low) w->low = low;
            if (high > w->high) w->high = high;
            int good = check_sum(w, start + i, sum);
            if (!(check_label(w, start + i, w->y[i]) && good)) continue;
        }
        keep_row(w, kept, i);
        int64_t y = w->y[kept];
        float top = float_of((int32_t)most);
        int64_t hits = (wide ? find_wide : find_plain)(row, k, w->columns, &squares, &x->levels, x->hit_bits,
                                                       x->hit_columns);
        add_hits(w, x, hits);
        w->realised[kept] = row[y];
        w->squares[kept] = squares;
        w->top[kept] = top;
        w->correct[kept] = row[y] == top && first_of_float_ties(row, y);
        kept++;
    }
    x->pooled_used += kept * k;
    x->nested_used += kept;
    if (x->pooled_used + ROWS * k > POOLED_ROOM) unpack_pooled(w, x);
    if (x->nested_used + ROWS > NESTED_ROOM) unpack_nested(w, x);
    add_rows(w, kept);
    for (int64_t i = 0; i < kept; i++) scatter_true(w, i, packed_place(&job->grid, w->realised[i]), 0);
}

static void end_packed(Work *w) {
    Packed *x = w->packed;
    unpack_pooled(w, x);
    unpack_nested(w, x);
    unpack_levels(w, &x->levels);
}

static void free_packed(Packed *x) {
    if (!x) return;
    free(x->pooled);
    free(x->nested);
    free(x->nested_cell);
    free(x->hit_bits);
    free(x->hit_columns);
    free(x->row);
    free(x);
}

static Packed *new_packed(const Job *job) {
    Packed *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    size_t k = (size_t)job->k;
    x->low_cells = job->grid.nested[code_of(0.5)];
    x->pooled = calloc(LOW_CODES, sizeof *x->pooled);
    x->nested = calloc(k * (size_t)x->low_cells, sizeof *x->nested);
    x->nested_cell = malloc(LOW_CODES * sizeof *x->nested_cell);
    x->hit_bits = malloc((k + 32) * sizeof *x->hit_bits);
    x->hit_columns = malloc((k + 32) * sizeof *x->hit_columns);
    x->row = malloc(k * sizeof *x->row);
    if (!(x->pooled && x->nested && x->nested_cell && x->hit_bits && x->hit_columns && x->row)) {
        free_packed(x);
        return NULL;
    }
    for (int32_t c = 0; c < LOW_CODES; c++) x->nested_cell[c] = (uint16_t)job->grid.nested[SPLIT_CODE + c];
    return x;
}

#endif
