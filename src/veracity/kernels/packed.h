/* Float32 rows of more than 50 classes without weights: near memory speed on the coarse grid. */
#ifndef VERACITY_PACKED_H
#define VERACITY_PACKED_H

#include "many.h"
#include "words.h"

enum { BLOCK = 64 }; /* rows */

enum { POOLED_ROOM = 1 << 23, MOST_NESTED = 1 << 23 }; /* entries of a cell before the sum or the count is full */
enum { MOST_CUTS = 64, UPPER = 0xFFFE, RARE = 0xFFFF };
enum { MOST_EDGES = 32, LISTED = 4096 }; /* of between.h; the second: entries after which a list is counted */

typedef struct {
    uint32_t at, offset; /* which of the nested cells, and what to add to its sum */
} Hit;

typedef struct Packed {
    int64_t k, cells; /* of the nested grid */
    size_t bytes;
    uint64_t *pooled;        /* LIST_CODES */
    uint64_t *nested;        /* k × cells */
    uint32_t *yes;           /* k × cells: how often the class happened */
    slot *spilled;           /* k × cells {count, sum}, when the packed ones were full */
    uint16_t *nested_cell;   /* of each list code of hits; UPPER from 1/2 up, RARE where a cut divides the code */
    uint32_t *first;         /* bits of the smallest float of each nested cell */
    int32_t cuts[MOST_CUTS]; /* list codes below the hits that a cut divides */
    int cut_count;
    Hit *hits; /* of a block */
    int64_t hit_room, hit_count, pooled_used, nested_used, nested_room;
    float *row;
    uint32_t *words, *picked;
    Swept found[2]; /* the second where two rows are swept at once */
    Levels levels;
    int64_t from[MOST_EDGES + 1]; /* of between.h: entries from each edge up, and last those from 2^-8 up */
} Packed;

/* The list code with which hits begin. */
INLINE int32_t least_hit_code(const Grid *g) { return FINE_CODE((int32_t)float_bits((float)g->least_hit)); }

/* How many list codes below the hits a cut divides. */
static int64_t low_cuts(const Grid *g) {
    int64_t count = 0;
    for (int32_t c = NORMAL_CODE; c < least_hit_code(g); c++) count += is_divided(g, list_place(c));
    return count;
}

static void unpack_pooled(Work *w, Packed *x) {
    unpack_words(w, x->pooled, 0);
    x->pooled_used = 0;
}

/* Count and sum of a nested cell, given its smallest float. */
INLINE void unpack_nested(uint64_t held, uint32_t first, int64_t *count, double *sum) {
    double edge = float_of(first), step = edge < 1.0 ? float_of(first + 1) - edge : 0.0;
    *count += (int64_t)(held >> COUNT_SHIFT);
    *sum += (double)(int64_t)(held >> COUNT_SHIFT) * edge + (double)(held & (ONE_ENTRY - 1)) * step;
}

static void spill_nested(Work *w, Packed *x) {
    size_t size = (size_t)(x->k * x->cells);
    if (!x->spilled) x->spilled = get_zeros(2 * size * sizeof(slot));
    if (!x->spilled) {
        w->failed = 1;
        return;
    }
    for (size_t i = 0; i < size; i++) {
        if (!x->nested[i]) continue;
        unpack_nested(x->nested[i], x->first[i % (size_t)x->cells], &x->spilled[2 * i].i, &x->spilled[2 * i + 1].d);
        x->nested[i] = 0;
    }
    x->nested_used = 0;
}

static void add_listed(uint64_t *pooled, const uint32_t *words, int64_t count) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < count; i++) {
        uint64_t word = words[i];
        pooled[word >> WORD_SHIFT] += ONE_ENTRY + word;
    }
}

/* Pools entries by their bits; x->words has their words. */
static void pool_listed(Work *w, Packed *x, const void *entries, int64_t count) {
    find_words(entries, count, x->words);
    if (x->pooled_used + count > POOLED_ROOM) unpack_pooled(w, x);
    add_listed(x->pooled, x->words, count);
    x->pooled_used += count;
}

/* Entries below the hits in codes that a cut divides. */
static void add_cuts(Work *w, Packed *x, int64_t listed) {
    const Job *job = w->job;
    for (int i = 0; i < x->cut_count; i++) {
        if (!x->pooled[x->cuts[i]]) continue;
        uint32_t code = (uint32_t)x->cuts[i];
        int64_t count = pick_listed(x->words, listed, WORD_SHIFT, code, x->picked);
        for (int64_t e = 0; e < count; e++) {
            double u = float_of(bits_of_word(x->picked[e]));
            add_entry(job, &w->scratch, 0, place_of(&job->grid, u), u, 0, 1, 1.0, 1.0);
        }
        x->pooled[x->cuts[i]] = 0;
    }
}

/* Where an entry in a code that a cut divides lies on the nested grid; it is pooled at once. */
static __attribute__((noinline)) int32_t add_rare(Work *w, float entry) {
    const Grid *g = &w->job->grid;
    int32_t place = place_of(g, entry);
    add_entry(w->job, &w->scratch, 0, place, entry, 0, 1, 1.0, 1.0);
    return g->nested[place];
}

/* Notes the hits of a row, and asks for the cells that they go to. An entry from 1/2 up is the top entry, with which it
 * is pooled in the end. Returns the column of the top entry, the first if there are more; k if it is no hit. */
static int64_t note_hits(Work *w, Packed *x, const Swept *found, const float *row, int32_t top) {
    uint32_t most = found->most;
    int32_t top_cell = w->job->grid.nested[top];
    int64_t pick = x->k;
    for (const Group *hits = found->hits; hits < found->hits + found->groups; hits++)
        for (uint32_t set = hits->set; set; set &= set - 1) {
            uint32_t j = hits->first + (uint32_t)__builtin_ctz(set), bits = float_bits(row[j]);
            int32_t known = x->nested_cell[FINE_CODE(bits)];
            int is_top = (bits == most) & (pick == x->k);
            int32_t cell = is_top ? top_cell : known;
            pick = is_top ? j : pick;
            if (known >= UPPER && (known == RARE || !is_top)) cell = add_rare(w, row[j]);
            Hit hit = {j * (uint32_t)x->cells + (uint32_t)cell, bits - x->first[cell]};
            __builtin_prefetch(x->nested + hit.at, 1);
            x->hits[x->hit_count++] = hit;
        }
    return pick;
}

static void add_hits(Packed *x) {
    for (int64_t i = 0; i < x->hit_count; i++) x->nested[x->hits[i].at] += ONE_ENTRY + x->hits[i].offset;
    x->hit_count = 0;
}

static void unpack_levels(Work *w, Levels *levels) {
    int64_t before = levels->zeros;
    Scratch *s = &w->scratch;
    if (levels->zeros) touch(s->touched, 0, 0.0);
    s->all[0].i += levels->zeros;
    for (int level = 0; w->job->grid.coarse && level < LEVELS; level++) {
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

/* Zeros and entries below 2^-126, whose bits say less of their cell. Zeros are counted elsewhere. */
static __attribute__((noinline)) void add_smallest(Work *w, Packed *x, int64_t listed) {
    const Job *job = w->job;
    int64_t count = pick_listed(x->words, listed, 23, 0, x->picked);
    for (int64_t e = 0; e < count; e++) {
        double u = float_of(x->picked[e]);
        if (u > 0.0) add_entry(job, &w->scratch, 0, place_of(&job->grid, u), u, 0, 1, 1.0, 1.0);
    }
    memset(x->pooled, 0, NORMAL_CODE * sizeof *x->pooled);
}

/* Finds the places of what happened and of the top entry, and asks for what is kept there. */
static void find_packed_true(Work *w, Packed *x, int64_t i) {
    const Job *job = w->job;
    const Scratch *s = &w->scratch;
    int64_t place = counted_place(&job->grid, w->realised[i]), top = place_of(&job->grid, w->top[i]);
    w->place[i] = (int32_t)place;
    w->place[ROWS + i] = (int32_t)top;
    __builtin_prefetch(s->yes + 4 * place, 1);
    __builtin_prefetch(s->all + 2 * (job->grid.places + top), 1);
    __builtin_prefetch(s->yes + 4 * (job->grid.places + top), 1);
    __builtin_prefetch(x->yes + w->y[i] * x->cells + job->grid.nested[place], 1);
}

/* Pools the top entries from 1/2 up. */
static void pool_tops(Work *w) {
    const Grid *g = &w->job->grid;
    Scratch *s = &w->scratch;
    for (int32_t place = code_of(0.5); place < g->places; place++) {
        const slot *top = s->all + 2 * (g->places + place);
        double edge = place < PARTS ? 1.0 : g->part_edges[place - PARTS];
        if (top->i == 0 || edge < 0.5) continue;
        slot *r = s->all + 2 * place;
        if (r->i == 0) touch(s->touched, place, edge);
        r[0].i += top[0].i;
        r[1].d += top[1].d;
    }
}

static void finish_packed(Work *w, Packed *x) {
    unpack_pooled(w, x);
    unpack_levels(w, &x->levels);
    pool_tops(w);
}

/* The entry of what happened, and the top entry. */
static void add_packed_true(Work *w, Packed *x, int64_t i) {
    const Job *job = w->job;
    Scratch *s = &w->scratch;
    double u = w->realised[i], best = w->top[i];
    int32_t place = w->place[i], top = w->place[ROWS + i];
    add_true(job, s, 0, place, u, w->log[i], w->power[i], 0, 1, 1.0, 1.0);
    x->yes[w->y[i] * x->cells + job->grid.nested[place]]++;
    add_entry(job, s, 1, top, best, 0, 1, 1.0, 1.0);
    if (w->correct[i] != 0.0) add_true(job, s, 1, top, u, w->log[i], w->power[i], 0, 1, 1.0, 1.0);
}

/* What is added once for a block, after its rows were swept. */
static void end_block(Work *w, Packed *x, int64_t kept) {
    add_columns(w->columns, w->block_columns, x->k, 1.0);
    add_hits(x);
    add_rows(w, kept);
    for (int64_t i = 0; i < kept; i++) add_packed_true(w, x, i);
    x->nested_used += kept;
    if (x->nested_used + BLOCK > x->nested_room) spill_nested(w, x);
}

static int first_of_float_ties(const float *row, int64_t y) {
    int tied = 0;
    for (int64_t j = 0; j < y; j++) tied |= row[j] == row[y];
    return !tied;
}

/* Notes what was found in row i of a block. */
static void note_row(Work *w, Packed *x, const Swept *found, const float *row, int64_t i) {
    int64_t y = w->y[i];
    float top = float_of(found->most);
    w->squares[i] = found->squares;
    w->realised[i] = row[y];
    w->top[i] = top;
    find_packed_true(w, x, i);
    int64_t pick = note_hits(w, x, found, row, w->place[ROWS + i]);
    w->correct[i] = pick < x->k ? pick == y : row[y] == top && first_of_float_ties(row, y);
}

/* A row as floats one after another; `clean` turns minus zeros into zeros. */
static const float *float_row(const Work *w, int64_t i, int clean) {
    const Job *job = w->job;
    if (job->direct && !clean) return (const float *)(job->p + i * job->row_step);
    for (int64_t j = 0; j < job->k; j++) w->packed->row[j] = (float)value_at(job, i, j) + 0.0f;
    return w->packed->row;
}

/* Looks closely at a row that may be none; whether it is one after all. */
static int check_row(Work *w, int64_t i, const float *row) {
    uint32_t most, least;
    double sum = check_floats(row, w->job->k, &most, &least);
    return (most <= ONE_BITS || check_values(w, i)) && check_sum(w, i, sum);
}

/* How far from one the sum of a sweep may be, whatever rounding did to it. */
INLINE double sure_of_sums(const Job *job) {
    return job->allowed - (1.0 + job->allowed) * ((double)job->k * 0x1p-26 + 0x1p-19);
}

static void packed_block(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    Packed *x = w->packed;
    Swept *found = x->found;
    Levels levels = {.zeros = 0};
    int64_t kept = 0, k = job->k;
    double *columns = w->block_columns;
    double sure = sure_of_sums(job);
    int left_out = 0;
    read_rows(w, start, n);
    memset(columns, 0, (size_t)(k + 2 * LANES) * sizeof *columns); /* whole vectors are added to */
    for (int64_t i = 0; i < n; i++) {
        const float *row = float_row(w, start + i, 0);
        const float *next = job->direct ? (const float *)(job->p + (start + i + (i + 1 < n)) * job->row_step) : row;
        sweep(row, next, k, columns, &levels, found);
        int inside = found->most <= ONE_BITS, good = check_label(w, start + i, w->y[i]);
        if (inside) {
            double low = float_of(found->least), high = float_of(found->most);
            if (low < w->low) w->low = low;
            if (high > w->high) w->high = high;
        }
        if (!(inside && fabs(found->sum - 1.0) <= sure)) good &= check_row(w, start + i, row);
        left_out |= !(good && inside);
        if (!good) continue;
        if (!inside) {
            row = float_row(w, start + i, 1);
            sweep(row, row, k, columns, &levels, found);
        }
        keep_row(w, kept, i);
        if (!found->coarse) found->listed = k;
        pool_listed(w, x, found->coarse ? (const void *)found->list : row, found->listed);
        if (!found->coarse && found->least < NORMAL_FLOAT) add_smallest(w, x, found->listed);
        add_cuts(w, x, found->listed);
        note_row(w, x, found, row, kept++);
    }
    if (left_out) { /* sums of the good rows only */
        memset(columns, 0, (size_t)k * sizeof *columns);
        memset(&levels, 0, sizeof levels);
        for (int64_t i = 0; i < kept; i++) {
            const float *row = float_row(w, w->row[i], 1);
            sweep(row, row, k, columns, &levels, found);
        }
    }
    x->levels.zeros += levels.zeros;
    for (int level = 0; level < LEVELS; level++) {
        x->levels.sums[level] += levels.sums[level];
        x->levels.below[level] += levels.below[level];
    }
    end_block(w, x, kept);
}

static void free_packed(Packed *x) {
    if (!x) return;
    free(x->pooled);
    free(x->nested);
    free(x->yes);
    free(x->spilled);
    free(x->nested_cell);
    free(x->first);
    free(x->hits);
    free(x->row);
    free(x->words);
    free(x->picked);
    for (int r = 0; r < 2; r++) {
        free(x->found[r].list);
        free(x->found[r].hits);
    }
    free(x);
}

/* What depends on the grid: cuts, and where the nested cells begin. */
static void set_grid(Packed *x, const Grid *g) {
    for (int r = 0; r < 2; r++) {
        x->found[r].coarse = g->coarse;
        x->found[r].least_hit = (int32_t)float_bits((float)g->least_hit);
        x->found[r].listed = 0;
    }
    x->cut_count = 0;
    for (int32_t c = NORMAL_CODE; c < least_hit_code(g); c++)
        if (is_divided(g, list_place(c))) x->cuts[x->cut_count++] = c;
    for (int32_t c = 0; c < LIST_CODES; c++) {
        int rare = c < LOW_CODES && is_divided(g, list_place(c));
        x->nested_cell[c] = rare ? RARE : c >= LOW_CODES ? UPPER : (uint16_t)g->nested[list_place(c)];
    }
    x->nested_room = MOST_NESTED;
    for (int64_t cell = 0; cell < x->cells; cell++) {
        float first = (float)g->nested_edges[cell];
        if (first < g->nested_edges[cell]) first = nextafterf(first, 2.0f);
        x->first[cell] = float_bits(first);
        if (cell < 2) continue; /* nothing is added to the lowest */
        int64_t floats = (int64_t)x->first[cell] - x->first[cell - 1]; /* none between some edges next to 1 */
        if (floats * x->nested_room > (int64_t)ONE_ENTRY) x->nested_room = (int64_t)ONE_ENTRY / floats;
    }
}

/* The most hits that a block of rows with allowed sums can have. */
static int64_t most_hits(const Job *job) {
    double of_row = (1.0 + job->allowed) / job->grid.least_hit + 1.0;
    return BLOCK * (of_row < (double)job->k ? (int64_t)of_row : job->k);
}

static Packed *new_packed(const Job *job) {
    Packed *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    size_t k = (size_t)job->k, cells = k * (size_t)job->grid.nested_cells;
    x->k = job->k;
    x->cells = job->grid.nested_cells;
    x->bytes = cells * (sizeof *x->nested + sizeof *x->yes);
    x->pooled = calloc(LIST_CODES, sizeof *x->pooled);
    x->nested = get_zeros(cells * sizeof *x->nested);
    x->yes = get_zeros(cells * sizeof *x->yes);
    x->nested_cell = calloc(LIST_CODES, sizeof *x->nested_cell);
    x->first = calloc((size_t)x->cells, sizeof *x->first);
    x->hit_room = most_hits(job);
    x->hits = malloc((size_t)x->hit_room * sizeof *x->hits);
    x->row = malloc(k * sizeof *x->row);
    size_t room = LISTED + k + 16; /* a row may follow what is listed, and a whole vector is written */
    x->words = malloc(room * sizeof *x->words);
    x->picked = malloc(room * sizeof *x->picked);
    int made = x->pooled && x->nested && x->yes && x->nested_cell && x->first && x->hits && x->row && x->words &&
               x->picked;
    for (int r = 0; r < 2; r++) {
        x->found[r].list = malloc(room * sizeof *x->found[r].list);
        x->found[r].hits = malloc((k / 8 + 3) * sizeof *x->found[r].hits);
        made = made && x->found[r].list && x->found[r].hits;
    }
    if (!made) {
        free_packed(x);
        return NULL;
    }
    return x;
}

#endif
