/* Few entries: sorted by cell, which is cheaper than clearing and searching histograms of every cell. */
#ifndef VERACITY_SMALL_H
#define VERACITY_SMALL_H

#include "emit.h"
#include "few.h"

enum { SMALL = 1 << 15 }; /* entries, of at least two classes */

typedef struct {
    uint32_t cell, row_class; /* row << 6 | class */
} Item;

typedef struct Small {
    int64_t rows;
    Item *items, *sorted, *tops;
    double *p; /* rows × k */
    double *log, *power, *m, *m2;
    int64_t *count;
    int32_t *y, *pick;
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

/* Sums of runs of equal cells. Whether an entry opens a cell, or is true, is as good as random: no branches. */
INLINE void emit_items(Compact *out, const Job *job, const Small *s, const Item *items, int64_t n, int mass) {
    int64_t at = out->size - 1, all = 0, yes = 0, k = job->k;
    double sum[3] = {0}, true_sum[5] = {0};
    uint32_t open = UINT32_MAX;
    slot *const *c = out->columns;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = items[i].row_class >> 6, j = items[i].row_class & 63;
        int same = items[i].cell == open, is_true = s->y[row] == j;
        double keep = same, m = mass ? s->m[row] : 1.0, mu = m * s->p[row * k + j];
        double true_m = is_true ? m : 0.0, true_mu = is_true ? mu : 0.0;
        int64_t count = mass ? s->count[row] : 1;
        open = items[i].cell;
        at += !same;
        out->cells[at] = (int32_t)open;
        c[0][at].i = all = (same ? all : 0) + count;
        c[1][at].d = sum[0] = keep * sum[0] + mu;
        c[4][at].i = yes = (same ? yes : 0) + (is_true ? count : 0);
        c[5][at].d = true_sum[0] = keep * true_sum[0] + true_mu;
        c[6][at].d = true_sum[1] = keep * true_sum[1] + true_m * s->log[row];
        c[7][at].d = true_sum[2] = keep * true_sum[2] + true_m * s->power[row];
        if (!mass) continue;
        double m2 = s->m2[row];
        c[2][at].d = sum[1] = keep * sum[1] + m;
        c[3][at].d = sum[2] = keep * sum[2] + m2;
        c[8][at].d = true_sum[3] = keep * true_sum[3] + true_m;
        c[9][at].d = true_sum[4] = keep * true_sum[4] + (is_true ? m2 : 0.0);
    }
    out->size = at + 1;
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
    free(s);
}

static Small *new_small(void) {
    Small *s = calloc(1, sizeof *s);
    const size_t entries = SMALL, rows = SMALL / 2;
    if (!s) return NULL;
    s->items = malloc((2 * entries + rows) * sizeof *s->items);
    s->p = malloc((entries + 5 * rows) * sizeof *s->p);
    s->y = malloc(2 * rows * sizeof *s->y);
    if (!(s->items && s->p && s->y)) {
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
