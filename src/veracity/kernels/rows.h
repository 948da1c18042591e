/* Rows of a block: reading, checking, scores and powers. */
#ifndef VERACITY_ROWS_H
#define VERACITY_ROWS_H

#include "hash.h"

static void note(Problem *problem, int64_t row, int64_t column, double value) {
    if (problem->rows == 0) {
        problem->column = column;
        problem->value = value;
    }
    if (problem->rows < FIRST) problem->first[problem->rows] = row;
    problem->rows++;
}

static int kind_of(double x) {
    if (x != x) return NAN_ENTRY;
    if (isinf(x)) return INFINITE;
    return x < 0.0 ? NEGATIVE : x > 1.0 ? ABOVE_ONE : PROBLEMS;
}

INLINE double entry(const Job *job, int64_t row, int64_t column) {
    return value_at(job->p + row * job->row_step, job->item, job->column_step, column);
}

/* Notes every kind of bad value once a row; whether the row has none. */
static int check_values(Work *w, int64_t row) {
    const Job *job = w->job;
    int seen[PROBLEMS + 1] = {0}, good = 1;
    int64_t columns = job->one_column ? 1 : job->k;
    for (int64_t j = 0; j < columns; j++) {
        double x = entry(job, row, j);
        int kind = kind_of(x);
        if (x < w->low) w->low = x;
        if (x > w->high) w->high = x;
        if (kind < PROBLEMS && !seen[kind]++) note(&w->problems[kind], row, j, x);
        good &= kind == PROBLEMS;
    }
    return good;
}

static int check_sum(Work *w, int64_t row, double sum) {
    if (!(fabs(sum - 1.0) > w->job->allowed)) return 1;
    note(&w->problems[ROW_SUM], row, 0, sum);
    return 0;
}

static int check_label(Work *w, int64_t row, int64_t y) {
    if ((uint64_t)y < (uint64_t)w->job->k) return 1;
    note(&w->problems[LABEL], row, 0, (double)y);
    return 0;
}

#define LABELS(type)                              \
    for (int64_t i = 0; i < n; i++) {             \
        type label;                               \
        memcpy(&label, at + i * step, sizeof label); \
        w->y[i] = (int64_t)label;                 \
    }

static void read_labels(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    int64_t step = job->y_step;
    const char *at = job->y + start * step;
    int is_signed = job->y_kind == 'i';
    switch (job->y_item * 2 + is_signed) {
        case 2: LABELS(uint8_t) break;
        case 3: LABELS(int8_t) break;
        case 4: LABELS(uint16_t) break;
        case 5: LABELS(int16_t) break;
        case 8: LABELS(uint32_t) break;
        case 9: LABELS(int32_t) break;
        default: LABELS(int64_t)
    }
}

/* Labels, row numbers and masses of n rows from start. */
static void read_rows(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    read_labels(w, start, n);
    for (int64_t i = 0; i < n; i++) w->row[i] = start + i;
    if (!job->mass) return;
    for (int64_t i = 0; i < n; i++) {
        int64_t c = 1;
        double weight = 1.0;
        if (job->counts) memcpy(&c, job->counts + (start + i) * job->counts_step, 8);
        if (job->weights) memcpy(&weight, job->weights + (start + i) * job->weights_step, 8);
        w->count[i] = c;
        w->m[i] = (double)c * weight;
        w->m2[i] = w->m[i] * weight;
    }
}

INLINE void keep_row(Work *w, int64_t to, int64_t from) {
    w->y[to] = w->y[from];
    w->row[to] = w->row[from];
    w->count[to] = w->count[from];
    w->m[to] = w->m[from];
    w->m2[to] = w->m2[from];
}

/* Σm t^e, e = -18 .. 18, where t = p^(1/9): t^(a + 6b) as products of few powers; also t^-6 of every row. */
static void add_powers(const double *root, const double *m, double *power, int64_t n, double *sums) {
    const lanes one = all_lanes(1.0);
    lanes held[42];
    memset(held, 0, sizeof held);
    for (int64_t i = 0; i < n; i += LANES) {
        lanes t = load(root + i), low[6], high[7];
        low[0] = load(m + i);
        for (int a = 1; a < 6; a++) low[a] = low[a - 1] * t;
        lanes t2 = t * t, t3 = t2 * t, six = t3 * t3, down = one / six;
        high[3] = one;
        high[4] = six;
        high[5] = six * six;
        high[6] = high[5] * six;
        high[2] = down;
        high[1] = down * down;
        high[0] = high[1] * down;
        *(lanes *)(power + i) = down;
        for (int b = 0; b < 7; b++)
            for (int a = 0; a < 6; a++) held[6 * b + a] += low[a] * high[b];
    }
    for (int e = 0; e < POWERS; e++) sums[e] += total(held[e]);
}

/* Σmx, Σm2x, Σm2x² of one score. */
static void add_score(const double *x, const double *m, const double *m2, int64_t n, double *sums) {
    lanes first = {0}, second = {0}, square = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        lanes v = load(x + i), both = v * load(m2 + i);
        first += v * load(m + i);
        second += both;
        square += both * v;
    }
    sums[0] += total(first);
    sums[1] += total(second);
    sums[2] += total(square);
}

/* Everything about n good rows that follows from p_y, Σp² and whether the pick was right. */
static void add_rows(Work *w, int64_t n) {
    const Job *job = w->job;
    if (n == 0) return;
    int64_t full = (n + LANES - 1) / LANES * LANES;
    double powered[ROWS], root[ROWS];
    for (int64_t i = 0; i < full; i++) powered[i] = i < n && w->realised[i] > 0.0 ? w->realised[i] : 1.0;
    log_and_root(powered, w->log, w->root, full);
    for (int64_t i = 0; i < n; i++) {
        double u = w->realised[i];
        if (u < w->lowest[LOWEST - 1] || w->lowest_count < LOWEST)
            keep_lowest(w->lowest, w->lowest_row, &w->lowest_count, u, w->row[i]);
        if (u < TINY) w->failed |= !append(&w->tiny, w->row[i]);
    }
    if (job->mass) {
        for (int64_t i = 0; i < n; i++) {
            w->rows += w->count[i];
            w->weight += w->m[i];
            w->weight2 += w->m2[i];
        }
    } else {
        w->rows += n;
        for (int64_t i = 0; i < n; i++) w->m[i] = w->m2[i] = 1.0;
    }
    for (int64_t i = n; i < full; i++) {
        w->realised[i] = w->squares[i] = 1.0;
        w->correct[i] = w->m[i] = w->m2[i] = 0.0;
    }
    for (int64_t i = 0; i < full; i++) {
        double u = w->realised[i], miss = (1.0 - u) * (1.0 - u), rest = w->squares[i] - u * u;
        w->brier[i] = miss + (job->one_column ? miss : rest > 0.0 ? rest : 0.0);
        w->spherical[i] = 1.0 - u / sqrt(w->squares[i]);
        powered[i] = u < TINY ? 0.0 : w->m[i];
        root[i] = u < TINY ? 1.0 : w->root[i]; /* whose powers might overflow */
        w->log[i] = -w->log[i];
    }
    add_powers(root, powered, w->power, full, w->powers);
    add_score(w->log, w->m, w->m2, full, w->scores);
    add_score(w->brier, w->m, w->m2, full, w->scores + 3);
    add_score(w->spherical, w->m, w->m2, full, w->scores + 6);
    add_score(w->correct, w->m, w->m2, full, w->scores + 9);
    int64_t k = job->k;
    double *classes = k > MANY ? w->classes : w->block_classes;
    if (k <= MANY) memset(classes, 0, (size_t)k * 6 * sizeof *classes);
    for (int64_t i = 0; i < n; i++) {
        double *at = classes + 6 * w->y[i], m = w->m[i], m2 = w->m2[i];
        at[0] += m;
        at[1] += m2;
        at[2] += m * w->log[i];
        at[3] += m2 * w->log[i];
        at[4] += m * w->brier[i];
        at[5] += m2 * w->brier[i];
        w->log[i] = -w->log[i];
        if (w->realised[i] < TINY) w->power[i] = w->realised[i] > 0.0 ? pow(w->root[i], -6.0) : 0.0;
    }
    if (k <= MANY)
        for (int64_t j = 0; j < 6 * k; j++) w->classes[j] += classes[j];
}

#endif
