/* Blocks of more than 50 classes: pooled on the grid, class-wise on the nested grid.
 *
 * Rows sum to one, so few entries of a row reach 2^-5: only those go to a class-wise histogram, whose lowest cell
 * follows from the totals. */
#ifndef VERACITY_MANY_H
#define VERACITY_MANY_H

#include "few.h"

/* One entry of class j on the nested grid. */
INLINE void add_nested(const Job *job, Scratch *s, int64_t j, int32_t place, double u, int mass, int64_t c, double m,
                       double m2) {
    slot *r = s->nested + (j * job->grid.nested_cells + job->grid.nested[place]) * (mass ? 4 : 2);
    if (mass) {
        r[0].i += c;
        r[1].d += m * u;
        r[2].d += m;
        r[3].d += m2;
    } else {
        r[0].i++;
        r[1].d += u;
    }
}

INLINE void add_nested_true(const Job *job, Scratch *s, int64_t j, int32_t place, int mass, int64_t c, double m,
                            double m2) {
    slot *r = s->nested_yes + (j * job->grid.nested_cells + job->grid.nested[place]) * (mass ? 3 : 1);
    if (mass) {
        r[0].i += c;
        r[1].d += m;
        r[2].d += m2;
    } else
        r[0].i++;
}

/* Σp and Σp² of a row of doubles, its least and largest value, and whether all are probabilities: with a NaN the sum is
 * none. */
static int sweep_double(const double *row, int64_t k, double *sum, double *squares, double *low, double *high) {
    double s[LANES] = {0}, q[LANES] = {0}, least[LANES], most[LANES];
    int64_t j = 0;
    for (int l = 0; l < LANES; l++) least[l] = most[l] = row[0];
    for (; j + LANES <= k; j += LANES)
        for (int l = 0; l < LANES; l++) {
            double x = row[j + l];
            s[l] += x;
            q[l] += x * x;
            least[l] = x < least[l] ? x : least[l];
            most[l] = x > most[l] ? x : most[l];
        }
    for (; j < k; j++) {
        double x = row[j];
        s[0] += x;
        q[0] += x * x;
        least[0] = x < least[0] ? x : least[0];
        most[0] = x > most[0] ? x : most[0];
    }
    *sum = *squares = 0.0;
    *low = least[0];
    *high = most[0];
    for (int l = 0; l < LANES; l++) {
        *sum += s[l];
        *squares += q[l];
        if (least[l] < *low) *low = least[l];
        if (most[l] > *high) *high = most[l];
    }
    return *sum == *sum && *low >= 0.0 && *high <= 1.0;
}

static void add_columns(double *columns, const double *row, int64_t k, double m) {
    for (int64_t j = 0; j < k; j++) columns[j] += m * row[j];
}

/* In a file for each width of vectors: sifts a row of doubles into its hits and, on the coarse grid, its levels and what
 * lies above. Asks for the next row meanwhile. */
static void sift(const double *row, const double *next, int64_t k, const Grid *g, Sieve *to);

/* Adds the entries of a row: on the coarse grid the tiny ones together, level by level. */
INLINE void scatter_row(Work *w, const double *row, const double *next, int64_t i, int mass) {
    const Job *job = w->job;
    const Grid *g = &job->grid;
    Scratch *s = &w->scratch;
    Sieve *sieve = &w->sieve;
    int64_t c = mass ? w->count[i] : 1, k = job->k, before = 0;
    double m = mass ? w->m[i] : 1.0, m2 = mass ? w->m2[i] : 1.0;
    sift(row, next, k, g, sieve);
    for (int level = -1; g->coarse && level < LEVELS; level++) {
        int64_t up_to = level < 0 ? sieve->levels.zeros : sieve->levels.below[level], count = up_to - before;
        int32_t place = level < 0 ? 0 : level_place(level);
        slot *r = s->all + place * job->all_step;
        before = up_to;
        if (count == 0) continue;
        if (r->i == 0) touch(s->touched, place, 0.0);
        r[0].i += c * count;
        r[1].d += level < 0 ? 0.0 : m * sieve->levels.sums[level];
        if (mass) {
            r[2].d += m * (double)count;
            r[3].d += m2 * (double)count;
        }
    }
    const double *list = g->coarse ? sieve->list : row;
    int64_t listed = g->coarse ? sieve->listed : k;
    for (int64_t e0 = 0; e0 < listed; e0 += ENTRIES) {
        int64_t count = listed - e0 < ENTRIES ? listed - e0 : ENTRIES;
        find_codes(list + e0, count, w->place);
        for (int64_t e = 0; e < count; e++) {
            double u = list[e0 + e];
            int32_t place = w->place[e];
            if (is_divided(g, place)) place = part_of(g, place, u);
            add_entry(job, s, 0, place, u, mass, c, m, m2);
        }
    }
    for (const Group *hits = sieve->hits; hits < sieve->hits + sieve->groups; hits++)
        for (uint32_t set = hits->set; set; set &= set - 1) {
            int64_t j = hits->first + __builtin_ctz(set);
            add_nested(job, s, j, place_of(g, row[j]), row[j], mass, c, m, m2);
        }
}

/* Where an entry is counted: on the coarse grid, tiny ones share cells. */
INLINE int32_t counted_place(const Grid *g, double u) {
    if (!g->coarse || u >= level_end(LEVELS - 1)) return place_of(g, u);
    if (u == 0.0) return 0;
    int level = 0;
    while (u >= level_end(level)) level++;
    return level_place(level);
}

/* The entry of what happened, and the top entry. */
INLINE void scatter_true(Work *w, int64_t i, int32_t place, int mass) {
    const Job *job = w->job;
    Scratch *s = &w->scratch;
    int64_t c = mass ? w->count[i] : 1;
    double m = mass ? w->m[i] : 1.0, m2 = mass ? w->m2[i] : 1.0, u = w->realised[i];
    int32_t top = place_of(&job->grid, w->top[i]);
    add_true(job, s, 0, place, u, w->log[i], w->power[i], mass, c, m, m2);
    add_nested_true(job, s, w->y[i], place, mass, c, m, m2);
    add_entry(job, s, 1, top, w->top[i], mass, c, m, m2);
    if (w->correct[i] != 0.0) add_true(job, s, 1, top, u, w->log[i], w->power[i], mass, c, m, m2);
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
        for (int64_t j = 0; j < job->k; j++) to[j] = value_at(job, i, j);
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
        const double *row = double_row(w, start + i), *next = row;
        if (job->direct && job->item == 8 && i + 1 < n) next = double_row(w, start + i + 1);
        int inside = sweep_double(row, job->k, &sum, &squares, &low, &high);
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
            scatter_row(w, row, next, kept, 1);
        else
            scatter_row(w, row, next, kept, 0);
        kept++;
    }
    add_rows(w, kept);
    for (int64_t i = 0; i < kept; i++) {
        int32_t place = counted_place(&job->grid, w->realised[i]);
        if (job->mass)
            scatter_true(w, i, place, 1);
        else
            scatter_true(w, i, place, 0);
    }
}

#endif
