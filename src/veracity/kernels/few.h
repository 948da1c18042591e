/* Blocks of up to 50 classes: every entry goes to the histogram of its class. A block lies column by column, so that
 * what is done to each row is done to eight at a time. */
#ifndef VERACITY_FEW_H
#define VERACITY_FEW_H

#include "rows.h"

INLINE double *column_of(Work *w, int64_t j) { return w->p + j * w->stride; }

/* The probabilities of n rows from start; the last are repeated to whole vectors. */
static void read_values(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    int64_t k = job->k, stride = (n + LANES - 1) / LANES * LANES;
    const char *at = job->p + start * job->row_step;
    w->stride = stride;
    if (job->one_column) {
        double *no = w->p, *yes = w->p + stride;
        for (int64_t i = 0; i < n; i++) yes[i] = value_at(job, start + i, 0);
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
            for (int64_t i = 0; i < n; i++) w->p[j * stride + i] = value_at(job, start + i, j);
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = n; i < stride; i++) w->p[j * stride + i] = w->p[j * stride + n - 1];
}

/* One column of n rows: sums, sums of squares, smallest and largest so far, and which was the largest. */
static void add_column(const double *p, int64_t j, int64_t n, double *restrict sum, double *restrict square,
                              double *restrict least, double *restrict best, double *restrict pick) {
    const double number = (double)j;
    for (int64_t i = 0; i < n; i++) {
        double x = p[i];
        sum[i] += x;
        square[i] += x * x;
        least[i] = x < least[i] ? x : least[i];
        pick[i] = x > best[i] ? number : pick[i];
        best[i] = x > best[i] ? x : best[i];
    }
}

static double dot(const double *p, const double *m, int64_t n) {
    lanes sum = {0};
    for (int64_t i = 0; i < n; i += LANES) sum += load(p + i) * load(m + i);
    return total(sum);
}

/* In a file for each width of vectors: codes of n numbers, a multiple of LANES; up to LANES more may be written. */
static void find_codes(const double *p, int64_t n, int32_t *code);

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

enum { AHEAD = 24 }; /* rows: cells are asked for before they are needed */

INLINE void scatter(Work *w, int64_t n, int mass) {
    const Job *job = w->job;
    const Grid *g = &job->grid;
    Scratch *s = &w->scratch;
    int64_t k = job->k, stride = w->stride;
    for (int64_t j = 0; j < k; j++) {
        int32_t *place = w->place + j * stride;
        const double *p = column_of(w, j);
        const slot *all = s->all + j * g->places * (mass ? 4 : 2);
        for (int64_t i = 0; i < n; i++) {
            if (i + AHEAD < n) __builtin_prefetch(all + place[i + AHEAD] * (mass ? 4 : 2), 1);
            if (is_divided(g, place[i])) place[i] = part_of(g, place[i], p[i]);
            add_entry(job, s, j, place[i], p[i], mass, mass ? w->count[i] : 1, mass ? w->m[i] : 1.0,
                      mass ? w->m2[i] : 1.0);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t soon = i + AHEAD < n ? i + AHEAD : i, y = w->y[soon], pick = w->pick[soon];
        __builtin_prefetch(s->yes + (y * g->places + w->place[y * stride + soon]) * (mass ? 6 : 4), 1);
        __builtin_prefetch(s->all + (k * g->places + w->place[pick * stride + soon]) * (mass ? 4 : 2), 1);
        __builtin_prefetch(s->yes + (k * g->places + w->place[pick * stride + soon]) * (mass ? 6 : 4), 1);
        int64_t c = mass ? w->count[i] : 1;
        double m = mass ? w->m[i] : 1.0, m2 = mass ? w->m2[i] : 1.0;
        y = w->y[i];
        pick = w->pick[i];
        int32_t happened = w->place[y * stride + i];
        add_true(job, s, y, happened, w->realised[i], w->log[i], w->power[i], mass, c, m, m2);
        add_entry(job, s, k, w->place[pick * stride + i], column_of(w, pick)[i], mass, c, m, m2);
        if (pick == y) add_true(job, s, k, happened, w->realised[i], w->log[i], w->power[i], mass, c, m, m2);
    }
}

static void add_small(Work *w, int64_t n); /* small.h */

static void few_block(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    int64_t k = job->k;
    double sum[ROWS], least[ROWS], best[ROWS], pick[ROWS];
    read_values(w, start, n);
    read_rows(w, start, n);
    int64_t stride = w->stride;
    memset(sum, 0, (size_t)stride * sizeof *sum);
    memset(w->squares, 0, (size_t)stride * sizeof *w->squares);
    memset(pick, 0, (size_t)stride * sizeof *pick);
    memcpy(least, w->p, (size_t)stride * sizeof *least);
    memcpy(best, w->p, (size_t)stride * sizeof *best);
    for (int64_t j = 0; j < k; j++) add_column(column_of(w, j), j, stride, sum, w->squares, least, best, pick);
    const double *low = job->one_column ? column_of(w, 1) : least, *high = job->one_column ? low : best;
    if (!all_good(w, n, sum, low, high)) n = drop_rows(w, n, sum, pick);
    if (n == 0) return;
    find_codes(w->p, k * stride, w->place);
    for (int64_t i = 0; i < n; i++) {
        w->pick[i] = (int32_t)pick[i];
        w->realised[i] = column_of(w, w->y[i])[i];
        w->correct[i] = w->pick[i] == w->y[i];
    }
    add_rows(w, n);
    for (int64_t i = n; i < stride; i++) w->m[i] = 0.0;
    for (int64_t j = 0; j < k; j++) w->columns[j] += dot(column_of(w, j), w->m, stride);
    if (w->small)
        add_small(w, n);
    else if (job->mass)
        scatter(w, n, 1);
    else
        scatter(w, n, 0);
}

#endif
