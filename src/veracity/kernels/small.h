/* Few entries: sorted by cell, which is cheaper than clearing and searching histograms of every cell. */
#ifndef VERACITY_SMALL_H
#define VERACITY_SMALL_H

#include "emit.h"
#include "few.h"

enum { SMALL = 1 << 15 }; /* entries, of at least two classes */

typedef struct {
    uint32_t cell, row_class; /* row << 6 | class */
} Item;

typedef struct {
    int32_t at, row; /* where a true entry is counted */
} Yes;

typedef double two __attribute__((vector_size(16)));
typedef int64_t two_masks __attribute__((vector_size(16)));

typedef struct Small {
    int64_t rows;
    Item *items, *sorted, *tops;
    double *p; /* rows × k */
    double *log, *power, *m, *m2;
    int64_t *count;
    int32_t *y, *pick;
    Yes *yes; /* one more than rows: the last may be written, but does not count */
} Small;

static void add_small(Work *w, int64_t n) {
    const Job *job = w->job;
    const Grid *g = &job->grid;
    Small *s = w->small;
    int64_t k = job->k, done = s->rows * k;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = s->rows + i;
        for (int64_t j = 0; j < k; j++) {
            int32_t place = w->place[j * w->stride + i];
            double u = column_of(w, j)[i];
            if (is_divided(g, place)) place = part_of(g, place, u);
            s->p[done + i * k + j] = u;
            s->items[done + i * k + j] = (Item){(uint32_t)g->cell[place], (uint32_t)(row << 6 | j)};
        }
        s->log[row] = w->log[i];
        s->power[row] = w->power[i];
        s->y[row] = (int32_t)w->y[i];
        s->pick[row] = w->pick[i];
        s->m[row] = w->m[i];
        s->m2[row] = w->m2[i];
        s->count[row] = job->mass ? w->count[i] : 1;
    }
    s->rows += n;
}

/* Stable: by one digit of the cell, or by class. */
INLINE void sort_by(const Item *from, Item *to, int64_t n, int shift, int by_class) {
    int64_t start[257] = {0};
#define DIGIT(item) (by_class ? (item).row_class & 63 : (item).cell >> shift & 255)
    for (int64_t i = 0; i < n; i++) start[DIGIT(from[i]) + 1]++;
    for (int d = 0; d < 256; d++) start[d + 1] += start[d];
    for (int64_t i = 0; i < n; i++) to[start[DIGIT(from[i])]++] = from[i];
#undef DIGIT
}

/* x where `mask` has all bits, 0 where it has none: quicker in a chain of sums than a choice or a product. */
INLINE two kept(two x, int64_t mask) { return (two)((two_masks)x & (two_masks){mask, mask}); }

/* Sums of runs of equal cells. Whether an entry opens a cell, or is true, is as good as random: no branches. */
INLINE void emit_items(Compact *out, const Job *job, const Small *s, const Item *items, int64_t n, int mass) {
    int64_t first = out->size, at = first - 1, all = 0, k = job->k, trues = 0;
    two sum = {0}, weight = {0}; /* Σmp; Σm, Σm2 */
    uint32_t open = UINT32_MAX;
    slot *const *c = out->columns, *restrict counts = c[0], *restrict sums = c[1];
    int32_t *restrict cells = out->cells;
    const double *restrict p = s->p;
    const int32_t *restrict y = s->y;
    Yes *restrict yes = s->yes;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = items[i].row_class >> 6, j = items[i].row_class & 63, same = -(int64_t)(items[i].cell == open);
        double u = p[row * k + j];
        open = items[i].cell;
        at += 1 + same;
        cells[at] = (int32_t)open;
        counts[at].i = all = (all & same) + (mass ? s->count[row] : 1);
        sum = kept(sum, same) + (two){mass ? s->m[row] * u : u, 0.0};
        sums[at].d = sum[0];
        if (mass) {
            weight = kept(weight, same) + (two){s->m[row], s->m2[row]};
            c[2][at].d = weight[0];
            c[3][at].d = weight[1];
        }
        yes[trues] = (Yes){(int32_t)at, (int32_t)row};
        trues += y[row] == j;
    }
    out->size = at + 1;
    for (int f = 0; f < (mass ? 6 : 4); f++)
        memset(c[ALL_COLUMNS + f] + first, 0, (size_t)(out->size - first) * sizeof(slot));
    for (int64_t i = 0; i < trues; i++) {
        int64_t to = yes[i].at, row = yes[i].row;
        double m = mass ? s->m[row] : 1.0;
        c[4][to].i += mass ? s->count[row] : 1;
        c[5][to].d += m * p[row * k + y[row]];
        c[6][to].d += m * s->log[row];
        c[7][to].d += m * s->power[row];
        if (!mass) continue;
        c[8][to].d += m;
        c[9][to].d += s->m2[row];
    }
}

/* Sorts n items by cell; where the result lies. */
static Item *sort_cells(Item *items, Item *other, int64_t n) {
    sort_by(items, other, n, 0, 0);
    sort_by(other, items, n, 8, 0);
    return items;
}

INLINE void emit_run(Compact *out, const Job *job, const Small *s, const Item *items, int64_t n) {
    if (job->mass)
        emit_items(out, job, s, items, n, 1);
    else
        emit_items(out, job, s, items, n, 0);
}

static void emit_small(Compact *out, const Job *job, const Small *s, int64_t *offsets) {
    int64_t k = job->k, n = s->rows * k;
    for (int64_t i = 0; i < s->rows; i++) s->tops[i] = s->items[i * k + s->pick[i]];
    emit_run(out, job, s, sort_cells(s->items, s->sorted, n), n);
    offsets[1] = out->size;
    emit_run(out, job, s, sort_cells(s->tops, s->sorted, s->rows), s->rows);
    offsets[2] = out->size;
    sort_by(s->items, s->sorted, n, 0, 1);
    for (int64_t j = 0; j < k; j++) {
        emit_run(out, job, s, s->sorted + j * s->rows, s->rows);
        offsets[3 + j] = out->size;
    }
}

static void free_small(Small *s) {
    if (!s) return;
    free(s->items);
    free(s->p);
    free(s->y);
    free(s->yes);
    free(s);
}

static Small *new_small(void) {
    Small *s = calloc(1, sizeof *s);
    const size_t entries = SMALL, rows = SMALL / 2;
    if (!s) return NULL;
    s->items = malloc((2 * entries + rows) * sizeof *s->items);
    s->p = malloc((entries + 5 * rows) * sizeof *s->p);
    s->y = malloc(2 * rows * sizeof *s->y);
    s->yes = malloc((rows + 1) * sizeof *s->yes);
    if (!(s->items && s->p && s->y && s->yes)) {
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
    s->pick = s->y + rows;
    return s;
}

#endif
