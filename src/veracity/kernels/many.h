/* Blocks of more than 50 classes: pooled on the grid, class-wise on the nested grid.
 *
 * Rows sum to one, so few entries of a row lie above the lowest nested cell: only those go to a class-wise histogram,
 * whose lowest cell follows from the totals. */
#ifndef VERACITY_MANY_H
#define VERACITY_MANY_H

#include "few.h"

typedef struct {
    lanes sum, squares, low, high;
} Swept;

INLINE void sweep_lanes(Swept *s, lanes x) {
    s->sum += x;
    s->squares += x * x;
    s->low = chosen((masks)(x < s->low), x, s->low);
    s->high = chosen((masks)(x > s->high), x, s->high);
}

/* Finds Σp and Σp² of a row, its least and largest value; whether all are probabilities. With a NaN the sum is none. */
static int sweep_doubles(const double *row, int64_t k, double *sum, double *squares, double *low, double *high) {
    Swept s = {.low = all_lanes(row[0]), .high = all_lanes(row[0])};
    int64_t j = 0;
    for (; j + LANES <= k; j += LANES) sweep_lanes(&s, load(row + j));
    *sum = total(s.sum);
    *squares = total(s.squares);
    *low = s.low[0];
    *high = s.high[0];
    for (int l = 1; l < LANES; l++) {
        *low = s.low[l] < *low ? s.low[l] : *low;
        *high = s.high[l] > *high ? s.high[l] : *high;
    }
    for (; j < k; j++) {
        *sum += row[j];
        *squares += row[j] * row[j];
        *low = row[j] < *low ? row[j] : *low;
        *high = row[j] > *high ? row[j] : *high;
    }
    return *sum == *sum && *low >= 0.0 && *high <= 1.0;
}

static void add_columns(double *columns, const double *row, int64_t k, double m) {
    for (int64_t j = 0; j < k; j++) columns[j] += m * row[j];
}

/* Adds the entries of a row. */
INLINE void scatter_row(Work *w, const double *row, int64_t i, const int mass) {
    const Job *job = w->job;
    const Grid *g = &job->grid;
    const Histogram pooled = histogram(job, &w->tables, 0);
    int64_t c = mass ? w->count[i] : 1;
    double m = mass ? w->m[i] : 1.0, m2 = mass ? w->m2[i] : 1.0;
    for (int64_t start = 0; start < job->k; start += ENTRIES) {
        int64_t count = job->k - start < ENTRIES ? job->k - start : ENTRIES;
        find_cells(g, row + start, count, w->cell);
        for (int64_t e = 0; e < count; e++) {
            double u = row[start + e];
            add_entry(pooled, w->cell[e], u, mass, c, m, m2);
            if (u < g->least_nested) continue;
            slot *r = w->tables.nested + ((start + e) * g->nested_cells + g->nested[w->cell[e]]) * (mass ? 4 : 2);
            r[0].i += c;
            r[1].d += m * u;
            if (!mass) continue;
            r[2].d += m;
            r[3].d += m2;
        }
    }
}

/* Adds the true entry and the largest entry of each row. */
INLINE void scatter_ends(Work *w, int64_t n, const int mass) {
    const Job *job = w->job;
    const Rows r = {.realised = w->realised, .top = w->top, .correct = w->correct, .log = w->log, .power = w->power,
                    .m = w->m, .m2 = w->m2, .count = w->count, .true_cell = w->true_cell, .top_cell = w->top_cell};
    const Histogram pooled = histogram(job, &w->tables, 0), top = histogram(job, &w->tables, 1);
    for (int64_t i = 0; i < n; i++) {
        scatter_true(pooled, &r, i, mass);
        scatter_top(top, &r, i, mass);
        int64_t nested = w->y[i] * job->grid.nested_cells + job->grid.nested[w->true_cell[i]];
        slot *yes = w->tables.nested_yes + nested * (mass ? 3 : 1);
        yes[0].i += mass ? w->count[i] : 1;
        if (!mass) continue;
        yes[1].d += w->m[i];
        yes[2].d += w->m2[i];
    }
}

/* A row as doubles one after another. */
static const double *double_row(const Work *w, int64_t i) {
    const Job *job = w->job;
    const char *at = job->p + i * job->row_step;
    double *to = w->block_columns;
    if (job->direct && job->item == 8) return (const double *)at;
    if (job->direct)
        for (int64_t j = 0; j < job->k; j++) to[j] = ((const float *)at)[j];
    else
        for (int64_t j = 0; j < job->k; j++) to[j] = entry(job, i, j);
    return to;
}

/* Whether no class before y has as much as y, given that none has more. */
static int first_of_ties(const double *row, int64_t y) {
    for (int64_t j = 0; j < y; j++)
        if (row[j] == row[y]) return 0;
    return 1;
}

static void many_block(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    int64_t kept = 0;
    read_rows(w, start, n);
    for (int64_t i = 0; i < n; i++) {
        double sum, squares, low, high;
        const double *row = double_row(w, start + i);
        int inside = sweep_doubles(row, job->k, &sum, &squares, &low, &high);
        int good = inside ? check_sum(w, start + i, sum) : check_values(w, start + i);
        if (inside) {
            if (low < w->low) w->low = low;
            if (high > w->high) w->high = high;
        }
        good &= check_label(w, start + i, w->y[i]);
        if (!good) continue;
        keep_row(w, kept, i);
        int64_t y = w->y[kept];
        w->realised[kept] = row[y];
        w->squares[kept] = squares;
        w->top[kept] = high;
        w->correct[kept] = row[y] == high && first_of_ties(row, y);
        add_columns(w->columns, row, job->k, job->mass ? w->m[kept] : 1.0);
        if (job->mass)
            scatter_row(w, row, kept, 1);
        else
            scatter_row(w, row, kept, 0);
        kept++;
    }
    find_cells(&job->grid, w->realised, kept, w->true_cell);
    find_cells(&job->grid, w->top, kept, w->top_cell);
    add_rows(w, kept);
    if (job->mass)
        scatter_ends(w, kept, 1);
    else
        scatter_ends(w, kept, 0);
}

#endif
