/* Few entries: sorted by cell, which is cheaper than clearing and searching histograms of every cell. */
#ifndef VERACITY_SMALL_H
#define VERACITY_SMALL_H

#include "emit.h"
#include "few.h"

enum { SMALL = 1 << 15 }; /* entries, of at least two classes */

typedef uint32_t Item; /* cell << 16 | entry << 1 | whether it happened; an entry is row × k + class */
#define ENTRY(item) ((item) >> 1 & (SMALL - 1))

typedef struct {
    int32_t at, entry; /* where a true entry is counted */
} Yes;

typedef double two __attribute__((vector_size(16)));
typedef int64_t two_masks __attribute__((vector_size(16)));

typedef struct Small {
    int64_t rows;
    Item *items, *sorted, *tops;
    double *p; /* rows × k */
    double *log, *power, *m, *m2;
    int64_t *count;
    int32_t *pick;
    uint8_t *class; /* of each entry */
    Yes *yes;       /* one more than rows: the last may be written, but does not count */
} Small;

static void add_small(Work *w, int64_t n) {
    const Job *job = w->job;
    const Grid *g = &job->grid;
    Small *s = w->small;
    int64_t k = job->k, entry = s->rows * k;
    find_codes(w->p, k * w->stride, w->place);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = s->rows + i;
        s->pick[row] = (int32_t)(entry + w->pick[i]);
        for (int64_t j = 0; j < k; j++, entry++) {
            int32_t place = w->place[j * w->stride + i];
            double u = column_of(w, j)[i];
            if (is_divided(g, place)) place = part_of(g, place, u);
            s->p[entry] = u;
            s->class[entry] = (uint8_t)j;
            s->items[entry] = (Item)g->cell[place] << 16 | (Item)entry << 1 | (w->y[i] == j);
        }
        s->log[row] = w->log[i];
        s->power[row] = w->power[i];
        s->m[row] = w->m[i];
        s->m2[row] = w->m2[i];
        s->count[row] = job->mass ? w->count[i] : 1;
    }
    s->rows += n;
}

/* x where `mask` has all bits, 0 where it has none: quicker in a chain of sums than a choice or a product. */
INLINE two kept(two x, int64_t mask) { return (two)((two_masks)x & (two_masks){mask, mask}); }

/* Sums of runs of equal cells. Whether an entry opens a cell, or is true, is as good as random: no branches. */
INLINE void emit_items(Compact *out, const Job *job, const Small *s, const Item *items, int64_t n, int mass) {
    int64_t first = out->size, at = first - 1, all = 0, trues = 0;
    const uint64_t part_of_row = (1ULL << 32) / (uint64_t)job->k + 1; /* entry × this >> 32 is the row: no division */
    two sum = {0}, weight = {0};                                      /* Σmp; Σm, Σm2 */
    uint32_t open = UINT32_MAX;
    slot *const *c = out->columns, *restrict counts = c[0], *restrict sums = c[1];
    int32_t *restrict cells = out->cells;
    const double *restrict p = s->p;
    Yes *restrict yes = s->yes;
    for (int64_t i = 0; i < n; i++) {
        int64_t entry = ENTRY(items[i]), same = -(int64_t)(items[i] >> 16 == open);
        int64_t row = mass ? (int64_t)((uint64_t)entry * part_of_row >> 32) : 0;
        open = items[i] >> 16;
        at += 1 + same;
        cells[at] = (int32_t)open;
        counts[at].i = all = (all & same) + (mass ? s->count[row] : 1);
        sum = kept(sum, same) + (two){mass ? s->m[row] * p[entry] : p[entry], 0.0};
        sums[at].d = sum[0];
        if (mass) {
            weight = kept(weight, same) + (two){s->m[row], s->m2[row]};
            c[2][at].d = weight[0];
            c[3][at].d = weight[1];
        }
        yes[trues] = (Yes){(int32_t)at, (int32_t)entry};
        trues += items[i] & 1;
    }
    out->size = at + 1;
    for (int f = 0; f < (mass ? 6 : 4); f++)
        memset(c[ALL_COLUMNS + f] + first, 0, (size_t)(out->size - first) * sizeof(slot));
    for (int64_t i = 0; i < trues; i++) {
        int64_t to = yes[i].at, row = (int64_t)((uint64_t)yes[i].entry * part_of_row >> 32);
        double m = mass ? s->m[row] : 1.0;
        c[4][to].i += mass ? s->count[row] : 1;
        c[5][to].d += m * p[yes[i].entry];
        c[6][to].d += m * s->log[row];
        c[7][to].d += m * s->power[row];
        if (!mass) continue;
        c[8][to].d += m;
        c[9][to].d += s->m2[row];
    }
}

/* Sorts n items by cell, stably: by its low digit, then by the high one. */
static void sort_cells(Item *items, Item *other, int64_t n) {
    int32_t low[257] = {0}, high[257] = {0}; /* where the items of each digit go */
    for (int64_t i = 0; i < n; i++) {
        low[(items[i] >> 16 & 255) + 1]++;
        high[(items[i] >> 24) + 1]++;
    }
    for (int d = 0; d < 256; d++) {
        low[d + 1] += low[d];
        high[d + 1] += high[d];
    }
    for (int64_t i = 0; i < n; i++) other[low[items[i] >> 16 & 255]++] = items[i];
    for (int64_t i = 0; i < n; i++) items[high[other[i] >> 24]++] = other[i];
}

/* The items of each class one after another, each in the order they are in. */
static void part_classes(const Small *s, int64_t k) {
    int64_t at[MANY];
    for (int64_t j = 0; j < k; j++) at[j] = j * s->rows;
    for (int64_t i = 0; i < s->rows * k; i++) s->sorted[at[s->class[ENTRY(s->items[i])]]++] = s->items[i];
}

INLINE void emit_run(Compact *out, const Job *job, const Small *s, const Item *items, int64_t n) {
    if (job->mass)
        emit_items(out, job, s, items, n, 1);
    else
        emit_items(out, job, s, items, n, 0);
}

static void emit_small(Compact *out, const Job *job, const Small *s, int64_t *offsets) {
    int64_t k = job->k, n = s->rows * k;
    for (int64_t i = 0; i < s->rows; i++) s->tops[i] = s->items[s->pick[i]];
    sort_cells(s->items, s->sorted, n);
    emit_run(out, job, s, s->items, n);
    offsets[POOLED_END] = offsets[TOP] = out->size;
    sort_cells(s->tops, s->sorted, s->rows);
    emit_run(out, job, s, s->tops, s->rows);
    offsets[TOP_END] = offsets[CLASSES] = out->size;
    part_classes(s, k);
    for (int64_t j = 0; j < k; j++) {
        emit_run(out, job, s, s->sorted + j * s->rows, s->rows);
        offsets[CLASSES + 1 + j] = out->size;
    }
}

static void free_small(Small *s) {
    if (!s) return;
    free(s->items);
    free(s->p);
    free(s->pick);
    free(s->class);
    free(s->yes);
    free(s);
}

static Small *new_small(void) {
    Small *s = calloc(1, sizeof *s);
    const size_t entries = SMALL, rows = SMALL / 2;
    if (!s) return NULL;
    s->items = malloc((2 * entries + rows) * sizeof *s->items);
    s->p = malloc((entries + 5 * rows) * sizeof *s->p);
    s->pick = malloc(rows * sizeof *s->pick);
    s->class = malloc(entries);
    s->yes = malloc((rows + 1) * sizeof *s->yes);
    if (!(s->items && s->p && s->pick && s->class && s->yes)) {
        free_small(s);
        return NULL;
    }
    s->sorted = s->items + entries;
    s->tops = s->sorted + entries;
    s->log = s->p + entries;
    s->power = s->log + rows;
    s->m = s->power + rows;
    s->m2 = s->m + rows;
    s->count = (int64_t *)(s->m2 + rows);
    return s;
}

#endif
