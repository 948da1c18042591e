/* Float32 rows of very many classes, where bins are all that is wanted of the pooled entries: below 2^-8 these are
 * counted only between the edges of the bins, which the true entries tell beforehand. */
#ifndef VERACITY_BETWEEN_H
#define VERACITY_BETWEEN_H

#include "cuts.h"
#include "packed.h"

#define FINE_FLOAT 0x3B800000 /* 2^-8 */
#define FIRST_EDGE 0x30800000 /* 2^-30 */
enum { EDGE_SHIFT = 13 };     /* an edge between codes has no bits below */

typedef struct Edges {
    Starts starts;
    int count;
    double at[MOST_EDGES];      /* ascending */
    int16_t before[MOST_EDGES]; /* the last short code below each */
    int32_t least_listed;       /* bits of the first */
} Edges;

#if VECTOR > 16

/* Of a float from 2^-30 to 1. */
INLINE int16_t short_code(uint32_t bits) { return (int16_t)((bits - FIRST_EDGE) >> EDGE_SHIFT); }

/* True entries by cell; whether all of them are probabilities. */
static int count_true(Work *w, int64_t *yes, double *sum) {
    const Job *job = w->job;
    const Grid *g = &job->grid;
    for (int64_t start = 0; start < job->n; start += ROWS) {
        int64_t n = job->n - start < ROWS ? job->n - start : ROWS;
        const char *first = job->p + start * job->row_step;
        read_labels(w, start, n);
        for (int64_t i = 0; i < n; i++) {
            if ((uint64_t)w->y[i] >= (uint64_t)job->k) return 0;
            __builtin_prefetch(first + i * job->row_step + 4 * w->y[i]);
        }
        for (int64_t i = 0; i < n; i++) {
            double u = ((const float *)(first + i * job->row_step))[w->y[i]];
            if (!(u >= 0.0 && u <= 1.0)) return 0;
            int32_t cell = g->cell[place_of(g, u)];
            yes[cell]++;
            sum[cell] += u;
        }
    }
    return 1;
}

/* The edges below 2^-8 of the bins; whether entries can be counted between them, which pays where they are few. */
static int set_edges(Edges *e, const double *ends) {
    e->count = 0;
    e->least_listed = FINE_FLOAT;
    for (int64_t i = 0; i < e->starts.halved_count; i++) {
        double at = ends[e->starts.halved[i]];
        if (at == 0.0) continue;
        if (at >= float_of(FINE_FLOAT)) break;
        uint32_t bits = float_bits((float)at);
        if (e->count == MOST_EDGES || bits < FIRST_EDGE || float_of(bits) != at || bits % (1 << EDGE_SHIFT)) return 0;
        if (e->count == 0) e->least_listed = (int32_t)bits;
        e->at[e->count] = at;
        e->before[e->count++] = (int16_t)(short_code(bits) - 1);
    }
    return 1;
}

static void free_edges(Edges *e) {
    if (e) free(e->starts.held);
    free(e);
}

/* The edges for a pass; NULL where it had better count every cell. */
static Edges *find_edges(const Job *job, const Wanted *wanted) {
    if (!(job->packed && job->direct && job->grid.coarse && job->n)) return NULL;
    size_t cells = (size_t)wanted->last;
    Edges *e = calloc(1, sizeof *e);
    Work *w = calloc(1, sizeof *w);
    int64_t *yes = calloc(cells, sizeof *yes);
    double *sum = calloc(cells, sizeof *sum);
    int32_t *number = malloc(cells * sizeof *number);
    int found = e && w && yes && sum && number;
    if (found) {
        w->job = job;
        for (size_t i = 0; i < cells; i++) number[i] = (int32_t)i;
        found = count_true(w, yes, sum) && find_starts(&e->starts, wanted, number, yes, sum, NULL, wanted->last) &&
                set_edges(e, wanted->ends);
    }
    free(w);
    free(yes);
    free(sum);
    free(number);
    if (found) return e;
    free_edges(e);
    return NULL;
}

typedef int16_t shorts __attribute__((vector_size(VECTOR), aligned(2), may_alias));
enum { SHORTS = VECTOR / 2, COUNTED = 2048, EDGES = 8 }; /* codes and edges at a time */

/* How many of the entries lie from each edge up. */
static void count_between(const Edges *e, const uint32_t *list, int64_t listed, int64_t *from) {
    int16_t codes[COUNTED + SHORTS];
    for (int64_t start = 0; start < listed; start += COUNTED) {
        int64_t n = listed - start < COUNTED ? listed - start : COUNTED;
        for (int64_t i = 0; i < n; i++) codes[i] = short_code(list[start + i]);
        for (int64_t i = n; i < n + SHORTS; i++) codes[i] = -1; /* below every edge */
        for (int first = 0; first < e->count; first += EDGES) {
            shorts before[EDGES], beyond[EDGES];
            for (int i = 0; i < EDGES; i++) {
                int16_t last = first + i < e->count ? e->before[first + i] : INT16_MAX;
                before[i] = (shorts){0} + last;
                beyond[i] = (shorts){0};
            }
            for (int64_t c = 0; c < n; c += SHORTS) {
                shorts code = *(const shorts *)(codes + c);
#pragma GCC unroll 8
                for (int i = 0; i < EDGES; i++) beyond[i] -= (shorts)(code > before[i]);
            }
            for (int i = 0; i < EDGES && first + i < e->count; i++)
                for (int l = 0; l < SHORTS; l++) from[first + i] += beyond[i][l];
        }
    }
}

/* Counts what is listed of one of two rows after another, and pools what has every cell. */
static void count_listed(Work *w, Packed *x, Swept *found) {
    const Edges *e = w->job->edges;
    count_between(e, found->list, found->listed, x->from);
    int64_t fine = pick_from(found->list, found->listed, FINE_FLOAT, found->list);
    x->from[e->count] += fine;
    pool_listed(w, x, found->list, fine);
    add_cuts(w, x, fine);
    found->listed = 0;
}

/* Whether a row that was swept is a forecast, and one without minus zeros. */
static int is_usual(const Job *job, const float *row, const Swept *found, double sure) {
    uint32_t most, least;
    if (found->most > ONE_BITS) return 0;
    return fabs(found->sum - 1.0) <= sure || !(fabs(check_floats(row, job->k, &most, &least) - 1.0) > job->allowed);
}

static void between_block(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    Packed *x = w->packed;
    int64_t k = job->k, step = job->row_step / 4;
    double sure = sure_of_sums(job);
    read_rows(w, start, n);
    memset(w->block_columns, 0, (size_t)(k + 2 * LANES) * sizeof(double)); /* whole vectors are added to */
    for (int64_t i = 0; i < n; i += 2) {
        const float *row = (const float *)(job->p + (start + i) * job->row_step);
        const float *rows[2] = {row, i + 1 < n ? row + step : x->row};
        const float *next = i + 3 < n ? row + 2 * step : row;
        if (i + 1 == n) memset(x->row, 0, (size_t)k * sizeof *x->row); /* adds nothing */
        sweep_two(rows, next, next == row ? 0 : step, k, w->block_columns, job->edges->least_listed, x->found);
        for (int64_t r = i; r < i + 2 && r < n; r++) {
            Swept *found = &x->found[r - i];
            const float *own = rows[r - i];
            /* Labels were checked before, but another thread of the caller may write to them. */
            if ((uint64_t)w->y[r] >= (uint64_t)k || !is_usual(job, own, found, sure)) {
                w->unusual = 1;
                return;
            }
            note_row(w, x, found, own, r);
            if (found->listed > LISTED) count_listed(w, x, found);
        }
    }
    for (int64_t i = 0; i < n; i++)
        if (w->scratch.yes[4 * w->place[i]].i == 0) touch(w->scratch.touched, w->place[i], w->realised[i]);
    end_block(w, x, n);
}

/* What lies between edges goes to the cell of the lower one. */
static void finish_between(Work *w, Packed *x) {
    const Edges *e = w->job->edges;
    Scratch *s = &w->scratch;
    for (int r = 0; r < 2; r++) count_listed(w, x, &x->found[r]);
    finish_packed(w, x);
    for (int i = -1; i < e->count; i++) {
        double at = i < 0 ? 0.0 : e->at[i];
        int64_t from = i < 0 ? w->rows * x->k : x->from[i];
        int32_t place = place_of(&w->job->grid, at);
        if (from == x->from[i + 1]) continue;
        touch(s->touched, place, at);
        s->all[2 * place].i += from - x->from[i + 1];
    }
    memset(x->from, 0, sizeof x->from);
}

#else

static void free_edges(Edges *e) { (void)e; }
static Edges *find_edges(const Job *job, const Wanted *wanted) { return (void)job, (void)wanted, NULL; }
static void between_block(Work *w, int64_t start, int64_t n) { (void)w, (void)start, (void)n; }
static void finish_between(Work *w, Packed *x) { (void)w, (void)x; }

#endif

#endif
