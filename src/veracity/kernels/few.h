/* Blocks of up to 50 classes: every entry goes to the histogram of its class.
 *
 * A block is transposed, so that what is done to each row is done to a vector of rows at a time. Histograms of every
 * class are large, and clearing them would cost more than counting few rows: these are held and counted class by class
 * in one histogram. */
#ifndef VERACITY_FEW_H
#define VERACITY_FEW_H

#include "rows.h"

INLINE double *column_of(Work *w, int64_t j) { return w->p + j * w->stride; }

/* Reads the probabilities of n rows from start; the last are repeated to whole vectors. */
static void read_values(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    int64_t k = job->k, stride = (n + LANES - 1) / LANES * LANES;
    const char *at = job->p + start * job->row_step;
    w->stride = stride;
    if (job->one_column) {
        double *no = w->p, *yes = w->p + stride;
        for (int64_t i = 0; i < n; i++) yes[i] = entry(job, start + i, 0);
        for (int64_t i = 0; i < n; i++) no[i] = 1.0 - yes[i];
    } else if (job->direct && job->row_step == k * job->item) {
        if (job->item == 8)
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < k; j++) w->p[j * stride + i] = ((const double *)at)[i * k + j];
        else
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < k; j++) w->p[j * stride + i] = ((const float *)at)[i * k + j];
    } else
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0; i < n; i++) w->p[j * stride + i] = entry(job, start + i, j);
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = n; i < stride; i++) w->p[j * stride + i] = w->p[j * stride + n - 1];
}

/* Finds of each row: sum, sum of squares, smallest and largest, and which was the largest. */
static void sweep_few(const Work *w, double *sum, double *squares, double *least, double *best, double *pick) {
    for (int64_t i = 0; i < w->stride; i += LANES) {
        lanes low = load(w->p + i), high = low, total = {0}, square = {0}, at = {0}, number = {0};
        for (int64_t j = 0; j < w->job->k; j++, number += 1.0) {
            lanes x = load(w->p + j * w->stride + i);
            masks more = (masks)(x > high);
            total += x;
            square += x * x;
            low = chosen((masks)(x < low), x, low);
            high = chosen(more, x, high);
            at = chosen(more, number, at);
        }
        *(lanes *)(sum + i) = total;
        *(lanes *)(squares + i) = square;
        *(lanes *)(least + i) = low;
        *(lanes *)(best + i) = high;
        *(lanes *)(pick + i) = at;
    }
}

static double dot(const double *p, const double *m, int64_t n) {
    lanes sum = {0};
    for (int64_t i = 0; i < n; i += LANES) sum += load(p + i) * load(m + i);
    return total(sum);
}

/* Drops rows with a problem; the number left. */
static int64_t drop_rows(Work *w, int64_t n, const double *sum, double *pick) {
    const Job *job = w->job;
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        int good = check_values(w, w->row[i]);
        if (good && !job->one_column) good = check_sum(w, w->row[i], sum[i]);
        good &= check_label(w, w->row[i], w->y[i]);
        if (!good) continue;
        for (int64_t j = 0; j < job->k; j++) column_of(w, j)[kept] = column_of(w, j)[i];
        w->squares[kept] = w->squares[i];
        pick[kept] = pick[i];
        keep_row(w, kept, i);
        kept++;
    }
    for (int64_t j = 0; j < job->k; j++) /* a NaN that stayed would not vanish in sums by its mass of 0 */
        memset(column_of(w, j) + kept, 0, (size_t)(w->stride - kept) * sizeof *w->p);
    return kept;
}

/* Whether every row of n can be used; then their smallest and largest values count. A sum with a NaN is none. */
static int all_good(Work *w, int64_t n, const double *sum, const double *least, const double *most) {
    const Job *job = w->job;
    double low = w->low, high = w->high, allowed = job->one_column ? 1.0 : job->allowed;
    int bad = 0;
    for (int64_t i = 0; i < n; i++) {
        low = least[i] < low ? least[i] : low;
        high = most[i] > high ? most[i] : high;
        bad |= !(fabs(sum[i] - 1.0) <= allowed) | ((uint64_t)w->y[i] >= (uint64_t)job->k);
    }
    if (bad || low < 0.0 || high > 1.0) return 0;
    w->low = low;
    w->high = high;
    return 1;
}

enum { AHEAD = 48 }; /* rows: cells are asked for before they are needed */

/* Adds the entries of class j of n rows. */
INLINE void scatter_column(Histogram h, const Rows *r, int64_t j, int64_t n, const int mass) {
    const int32_t *cell = r->cell + j * r->stride;
    const double *p = r->p + j * r->stride;
    for (int64_t i = 0; i < n && i < AHEAD; i++) __builtin_prefetch(h.all + (int64_t)cell[i] * (mass ? 4 : 2), 1);
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n) __builtin_prefetch(h.all + (int64_t)cell[i + AHEAD] * (mass ? 4 : 2), 1);
        add_entry(h, cell[i], p[i], mass, mass ? r->count[i] : 1, mass ? r->m[i] : 1.0, mass ? r->m2[i] : 1.0);
    }
}

INLINE void scatter_true(Histogram h, const Rows *r, int64_t i, const int mass) {
    add_true(h, r->true_cell[i], r->realised[i], r->log[i], r->power[i], mass, mass ? r->count[i] : 1,
             mass ? r->m[i] : 1.0, mass ? r->m2[i] : 1.0);
}

/* Adds the largest entry of row i, which is a true one where the pick was correct. */
INLINE void scatter_top(Histogram h, const Rows *r, int64_t i, const int mass) {
    add_entry(h, r->top_cell[i], r->top[i], mass, mass ? r->count[i] : 1, mass ? r->m[i] : 1.0, mass ? r->m2[i] : 1.0);
    if (r->correct[i] != 0.0) scatter_true(h, r, i, mass);
}

/* Adds n rows to the histograms of their classes and of the picks. */
INLINE void scatter_block(const Job *job, const Tables *t, const Rows *r, int64_t n, const int mass) {
    int64_t k = job->k;
    const Histogram top = histogram(job, t, k);
    for (int64_t j = 0; j < k; j++) scatter_column(histogram(job, t, j), r, j, n, mass);
    for (int64_t i = 0; i < n; i++) {
        int64_t soon = i + AHEAD < n ? i + AHEAD : i;
        __builtin_prefetch(histogram(job, t, r->y[soon]).yes + r->true_cell[soon] * (mass ? 6 : 4), 1);
        __builtin_prefetch(top.all + r->top_cell[soon] * (mass ? 4 : 2), 1);
        __builtin_prefetch(top.yes + r->top_cell[soon] * (mass ? 6 : 4), 1);
        scatter_true(histogram(job, t, r->y[i]), r, i, mass);
        scatter_top(top, r, i, mass);
    }
}

/* Room for all rows; whether there was memory. */
static int prepare_held(Held *held, const Job *job) {
    size_t n = (size_t)job->n, k = (size_t)job->k, doubles = (k + 9) * n + k + 1, ints = (k + 3) * n;
    double *at = held->memory = malloc(doubles * sizeof(double) + ints * sizeof(int32_t));
    if (!at) return 0;
    Rows *r = &held->rows;
    double **columns[] = {&r->realised, &r->top, &r->correct, &r->log, &r->power, &r->m, &r->m2};
    held->room = r->stride = job->n;
    r->p = at;
    at += k * n;
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++, at += n) *columns[c] = at;
    r->count = (int64_t *)at;
    r->y = r->count + n;
    held->first = r->y + n;
    r->cell = (int32_t *)(held->first + k + 1);
    r->true_cell = r->cell + k * n;
    r->top_cell = r->true_cell + n;
    held->order = r->top_cell + n;
    return 1;
}

static void hold_block(Held *held, const Job *job, const Rows *block, int64_t n) {
    Rows *r = &held->rows;
    int64_t at = held->count;
#define COPY(column) memcpy(r->column + at, block->column, (size_t)n * sizeof *r->column)
    COPY(realised), COPY(top), COPY(correct), COPY(log), COPY(power), COPY(y), COPY(true_cell), COPY(top_cell);
    if (job->mass) COPY(m), COPY(m2), COPY(count);
#undef COPY
    for (int64_t j = 0; j < job->k; j++) {
        memcpy(r->p + j * r->stride + at, block->p + j * block->stride, (size_t)n * sizeof *r->p);
        memcpy(r->cell + j * r->stride + at, block->cell + j * block->stride, (size_t)n * sizeof *r->cell);
    }
    held->count += n;
}

/* Sorts the rows by outcome. */
static void order_held(Held *held, int64_t k) {
    int64_t next[MANY + 1] = {0};
    for (int64_t i = 0; i < held->count; i++) next[held->rows.y[i] + 1]++;
    for (int64_t j = 0; j < k; j++) next[j + 1] += next[j];
    memcpy(held->first, next, (size_t)(k + 1) * sizeof *next);
    for (int64_t i = 0; i < held->count; i++) held->order[next[held->rows.y[i]]++] = (int32_t)i;
}

INLINE void count_held(Work *w, int64_t j, const int mass) {
    const Held *held = &w->held;
    const Histogram only = histogram(w->job, &w->tables, 0);
    if (j == w->job->k) {
        for (int64_t i = 0; i < held->count; i++) scatter_top(only, &held->rows, i, mass);
        return;
    }
    scatter_column(only, &held->rows, j, held->count, mass);
    for (int64_t i = held->first[j]; i < held->first[j + 1]; i++) scatter_true(only, &held->rows, held->order[i], mass);
}

/* Adds the held rows to the only histogram: entries of class j, or the largest ones where j is the number of classes. */
static void count_class(Work *w, int64_t j) {
    if (w->job->mass)
        count_held(w, j, 1);
    else
        count_held(w, j, 0);
}

static void few_block(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    int64_t k = job->k;
    double sum[ROWS], least[ROWS], best[ROWS], pick[ROWS];
    read_values(w, start, n);
    read_rows(w, start, n);
    int64_t stride = w->stride;
    sweep_few(w, sum, w->squares, least, best, pick);
    const double *low = job->one_column ? column_of(w, 1) : least, *high = job->one_column ? low : best;
    if (!all_good(w, n, sum, low, high)) n = drop_rows(w, n, sum, pick);
    if (n == 0) return;
    find_cells(&job->grid, w->p, k * stride, w->cell);
    for (int64_t i = 0; i < n; i++) {
        int64_t top = (int64_t)pick[i] * stride + i, outcome = w->y[i] * stride + i;
        w->top[i] = w->p[top];
        w->top_cell[i] = w->cell[top];
        w->realised[i] = w->p[outcome];
        w->true_cell[i] = w->cell[outcome];
        w->correct[i] = top == outcome;
    }
    add_rows(w, n);
    for (int64_t i = n; i < stride; i++) w->m[i] = 0.0;
    for (int64_t j = 0; j < k; j++) w->columns[j] += dot(column_of(w, j), w->m, stride);
    const Rows block = {stride,   w->p,     w->realised, w->top, w->correct, w->log,       w->power,
                        w->m,     w->m2,    w->count,    w->y,   w->cell,    w->true_cell, w->top_cell};
    if (job->held)
        hold_block(&w->held, job, &block, n);
    else if (job->mass)
        scatter_block(job, &w->tables, &block, n, 1);
    else
        scatter_block(job, &w->tables, &block, n, 0);
}

#endif
