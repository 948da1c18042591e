/* Few entries: sorted by cell, which is cheaper than clearing and searching histograms of every cell. */
#ifndef VERACITY_SMALL_H
#define VERACITY_SMALL_H

#include "emit.h"
#include "few.h"

typedef struct {
    uint32_t cell, row_class; /* row << 6 | class */
} Item;

typedef struct Small {
    int64_t rows;
    Item *items, *sorted;
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
    memcpy(s->p + done, w->p, (size_t)(n * k) * sizeof *s->p);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = s->rows + i;
        for (int64_t j = 0; j < k; j++) {
            int32_t place = w->place[i * k + j];
            if (is_divided(g, place)) place = part_of(g, place, w->p[i * k + j]);
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

INLINE void emit_items(Compact *out, const Job *job, const Small *s, const Item *items, int64_t n, int tops, int mass) {
    int64_t at = out->size - 1;
    uint32_t open = UINT32_MAX;
    slot *const *c = out->columns;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = items[i].row_class >> 6, j = items[i].row_class & 63;
        if (tops && s->pick[row] != j) continue;
        double u = s->p[row * job->k + j], m = s->m[row];
        if (items[i].cell != open) {
            open = items[i].cell;
            out->cells[++at] = (int32_t)open;
            clear_cell(out, job, at);
        }
        c[0][at].i += s->count[row];
        c[1][at].d += m * u;
        if (mass) {
            c[2][at].d += m;
            c[3][at].d += s->m2[row];
        }
        if (s->y[row] != j) continue;
        c[4][at].i += s->count[row];
        c[5][at].d += m * u;
        c[6][at].d += m * s->log[row];
        c[7][at].d += m * s->power[row];
        if (mass) {
            c[8][at].d += m;
            c[9][at].d += s->m2[row];
        }
    }
    out->size = at + 1;
}

static void emit_small(Compact *out, const Job *job, const Small *s, int64_t *offsets) {
    int64_t n = s->rows * job->k;
    sort_by(s->items, s->sorted, n, 0, 0);
    sort_by(s->sorted, s->items, n, 8, 0);
    for (int tops = 0; tops < 2; tops++) {
        if (job->mass)
            emit_items(out, job, s, s->items, n, tops, 1);
        else
            emit_items(out, job, s, s->items, n, tops, 0);
        offsets[1 + tops] = out->size;
    }
    sort_by(s->items, s->sorted, n, 0, 1);
    for (int64_t j = 0; j < job->k; j++) {
        emit_items(out, job, s, s->sorted + j * s->rows, s->rows, 0, job->mass);
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

static Small *new_small(const Job *job) {
    Small *s = calloc(1, sizeof *s);
    size_t n = (size_t)job->n, k = (size_t)job->k;
    if (!s) return NULL;
    s->items = malloc(2 * (n * k + 1) * sizeof *s->items);
    s->p = malloc((n * k + 5 * n + 1) * sizeof *s->p);
    s->y = malloc((2 * n + 1) * sizeof *s->y);
    if (!(s->items && s->p && s->y)) {
        free_small(s);
        return NULL;
    }
    s->sorted = s->items + n * k;
    s->log = s->p + n * k;
    s->power = s->log + n;
    s->m = s->power + n;
    s->m2 = s->m + n;
    s->count = (int64_t *)(s->m2 + n);
    s->pick = s->y + n;
    return s;
}

#endif
