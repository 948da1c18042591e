/* Blocks of up to 50 classes: every entry goes to the histogram of its class. */
#ifndef VERACITY_FEW_H
#define VERACITY_FEW_H

#include "rows.h"

static void read_values(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    int64_t columns = job->one_column ? 1 : job->k;
    const char *at = job->p + start * job->row_step;
    if (job->direct && job->row_step == columns * job->item) {
        if (job->item == 8)
            memcpy(w->p, at, (size_t)(n * columns) * 8);
        else
            for (int64_t i = 0; i < n * columns; i++) w->p[i] = ((const float *)at)[i];
        return;
    }
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < n; i++) w->p[i * columns + j] = value_at(job, start + i, j);
}

/* Smallest and largest value; whether all are probabilities. */
CLONES static int all_inside(double *p, int64_t n, double *low, double *high) {
    double least[LANES], most[LANES];
    int64_t outside = 0;
    for (int l = 0; l < LANES; l++) least[l] = *low, most[l] = *high;
    for (int64_t i = n; i % LANES; i++) p[i] = p[0];
    for (int64_t i = 0; i < n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            double x = p[i + l];
            outside += !(x >= 0.0) | !(x <= 1.0);
            least[l] = x < least[l] ? x : least[l];
            most[l] = x > most[l] ? x : most[l];
        }
    if (outside) return 0;
    for (int l = 0; l < LANES; l++) {
        if (least[l] < *low) *low = least[l];
        if (most[l] > *high) *high = most[l];
    }
    return 1;
}

CLONES static void find_codes(const double *p, int64_t n, int32_t *code) {
    for (int64_t i = 0; i < n; i++) code[i] = code_of(p[i]);
}

/* Drops rows with a problem; the number left. */
static int64_t check_rows(Work *w, int64_t n) {
    const Job *job = w->job;
    int64_t columns = job->one_column ? 1 : job->k, kept = 0;
    int inside = all_inside(w->p, n * columns, &w->low, &w->high);
    for (int64_t i = 0; i < n; i++) {
        const double *row = w->p + i * columns;
        int good = inside || check_values(w, w->row[i]);
        if (good && !job->one_column) {
            double sum = 0.0;
            for (int64_t j = 0; j < columns; j++) sum += row[j];
            good = check_sum(w, w->row[i], sum);
        }
        good &= check_label(w, w->row[i], w->y[i]);
        if (!good) continue;
        if (kept != i) {
            memmove(w->p + kept * columns, row, (size_t)columns * sizeof *row);
            keep_row(w, kept, i);
        }
        kept++;
    }
    return kept;
}

enum { AHEAD = 4 }; /* rows: cells are asked for before they are needed */

INLINE void scatter(Work *w, int64_t n, int64_t k, int mass) {
    const Job *job = w->job;
    const Grid *g = &job->grid;
    Scratch *s = &w->scratch;
    for (int64_t i = 0; i < n; i++) {
        int64_t soon = i + AHEAD < n ? i + AHEAD : i;
        const int32_t *later = w->place + soon * k;
        for (int64_t j = 0; j < k; j++) __builtin_prefetch(s->all + (j * g->places + later[j]) * (mass ? 4 : 2), 1);
        int64_t y_later = w->y[soon], pick_later = w->pick[soon];
        __builtin_prefetch(s->yes + (y_later * g->places + later[y_later]) * (mass ? 6 : 4), 1);
        __builtin_prefetch(s->all + (k * g->places + later[pick_later]) * (mass ? 4 : 2), 1);
        __builtin_prefetch(s->yes + (k * g->places + later[pick_later]) * (mass ? 6 : 4), 1);
        int64_t c = mass ? w->count[i] : 1;
        double m = mass ? w->m[i] : 1.0, m2 = mass ? w->m2[i] : 1.0;
        const double *row = w->p + i * k;
        int32_t *place = w->place + i * k;
        for (int64_t j = 0; j < k; j++) {
            if (is_divided(g, place[j])) place[j] = part_of(g, place[j], row[j]);
            add_entry(job, s, j, place[j], row[j], mass, c, m, m2);
        }
        int64_t y = w->y[i];
        add_true(job, s, y, place[y], row[y], w->log[i], w->power[i], mass, c, m, m2);
        int64_t pick = w->pick[i];
        add_entry(job, s, k, place[pick], row[pick], mass, c, m, m2);
        if (pick == y) add_true(job, s, k, place[y], row[y], w->log[i], w->power[i], mass, c, m, m2);
    }
}

static void add_small(Work *w, int64_t n); /* small.h */

static void few_block(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    int64_t k = job->k;
    read_values(w, start, n);
    read_rows(w, start, n);
    n = check_rows(w, n);
    if (n == 0) return;
    if (job->one_column)
        for (int64_t i = n - 1; i >= 0; i--) {
            double u = w->p[i];
            w->p[2 * i] = 1.0 - u;
            w->p[2 * i + 1] = u;
        }
    double *columns = w->block_columns;
    memset(columns, 0, (size_t)k * sizeof *columns);
    for (int64_t i = 0; i < n; i++) {
        const double *row = w->p + i * k;
        double squares = 0.0, m = job->mass ? w->m[i] : 1.0, best = row[0];
        int32_t pick = 0;
        for (int64_t j = 0; j < k; j++) {
            squares += row[j] * row[j];
            columns[j] += m * row[j];
            if (row[j] > best) best = row[j], pick = (int32_t)j;
        }
        if (job->one_column) pick = row[1] > 0.5;
        w->pick[i] = pick;
        w->squares[i] = squares;
        w->realised[i] = row[w->y[i]];
        w->correct[i] = pick == w->y[i];
    }
    for (int64_t j = 0; j < k; j++) w->columns[j] += columns[j];
    find_codes(w->p, n * k, w->place);
    add_rows(w, n);
    if (w->small)
        add_small(w, n);
    else if (job->mass)
        scatter(w, n, k, 1);
    else if (k == 2)
        scatter(w, n, 2, 0);
    else
        scatter(w, n, k, 0);
}

#endif
