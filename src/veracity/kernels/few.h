/* Blocks of up to 50 classes: every entry goes to the histogram of its class. A block lies column by column, so that
 * what is done to each row is done to a vector of rows at a time. */
#ifndef VERACITY_FEW_H
#define VERACITY_FEW_H

#include "rows.h"
#include "words.h"

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

INLINE lanes chosen(masks which, lanes x, lanes y) { return (lanes)(((masks)x & which) | ((masks)y & ~which)); }

/* Of each row: sum, sum of squares, smallest and largest, and which was the largest. */
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

#if VECTOR == 32
static void find_codes(const double *p, int64_t n, int32_t *code); /* written out in loops32.h */
#else
static void find_codes(const double *p, int64_t n, int32_t *code) {
    for (int64_t i = 0; i < n; i++) code[i] = code_of(p[i]);
}
#endif

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

/* What happened and the top entry of n rows, which lie at the given places. */
INLINE void scatter_rows(Work *w, int64_t n, const int32_t *happened, const int32_t *picked, int mass) {
    const Job *job = w->job;
    const Grid *g = &job->grid;
    Scratch *s = &w->scratch;
    int64_t k = job->k;
    for (int64_t i = 0; i < n; i++) {
        int64_t soon = i + AHEAD < n ? i + AHEAD : i;
        __builtin_prefetch(s->yes + (w->y[soon] * g->places + happened[soon]) * (mass ? 6 : 4), 1);
        __builtin_prefetch(s->all + (k * g->places + picked[soon]) * (mass ? 4 : 2), 1);
        __builtin_prefetch(s->yes + (k * g->places + picked[soon]) * (mass ? 6 : 4), 1);
        int64_t c = mass ? w->count[i] : 1;
        double m = mass ? w->m[i] : 1.0, m2 = mass ? w->m2[i] : 1.0, u = w->realised[i];
        add_true(job, s, w->y[i], happened[i], u, w->log[i], w->power[i], mass, c, m, m2);
        add_entry(job, s, k, picked[i], w->top[i], mass, c, m, m2);
        if (w->correct[i] != 0.0) add_true(job, s, k, happened[i], u, w->log[i], w->power[i], mass, c, m, m2);
    }
}

INLINE void scatter(Work *w, int64_t n, int mass) {
    const Job *job = w->job;
    const Grid *g = &job->grid;
    Scratch *s = &w->scratch;
    int64_t k = job->k, stride = w->stride;
    int32_t happened[ROWS], picked[ROWS];
    find_codes(w->p, k * stride, w->place);
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
        happened[i] = w->place[w->y[i] * stride + i];
        picked[i] = w->place[w->pick[i] * stride + i];
    }
    scatter_rows(w, n, happened, picked, mass);
}

#define FLAG (1ULL << 63)
enum { FLAGGED_ROOM = 1 << 22 }; /* rows before a count could reach the flag */

/* Flags packed cells whose entries need a closer look: of codes that a cut divides, and of what has no cell there. */
static void flag_cells(Work *w) {
    for (int32_t c = 0; c < LIST_CODES; c++)
        if (c < NORMAL_CODE || c >= LOW_CODES || is_divided(&w->job->grid, list_place(c)))
            for (int64_t j = 0; j < w->job->k; j++) w->scratch.words[j * LIST_CODES + c] = FLAG;
}

static void unpack_few(Work *w) {
    for (int64_t j = 0; j < w->job->k; j++) unpack_words(w, w->scratch.words + j * LIST_CODES, j);
    w->word_rows = 0;
}

/* Adds entries to packed cells. Which need a closer look goes to `closer`; their number. No branch: which do could not
 * be foreseen. */
INLINE int64_t add_words(uint64_t *cells, const uint32_t *words, int64_t n, int32_t *closer) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t word = words[i], held = cells[word >> WORD_SHIFT];
        __builtin_prefetch(cells + (words[i + AHEAD] >> WORD_SHIFT), 1);
        cells[word >> WORD_SHIFT] = held + ONE_ENTRY + word;
        closer[count] = (int32_t)i;
        count += (int64_t)(held >> 63);
    }
    return count;
}

INLINE void find_places(const Grid *g, const double *p, int64_t n, int32_t *places) {
    find_codes(p, n, places);
    for (int64_t i = 0; i < n; i++)
        if (is_divided(g, places[i])) places[i] = part_of(g, places[i], p[i]);
}

/* Float32 rows without weights. */
static void scatter_floats(Work *w, int64_t n) {
    const Job *job = w->job;
    uint32_t words[ROWS + AHEAD] = {0};
    int32_t closer[ROWS], happened[ROWS], picked[ROWS];
    if (w->word_rows + n > FLAGGED_ROOM) {
        unpack_few(w);
        flag_cells(w);
    }
    w->word_rows += n;
    for (int64_t j = 0; j < job->k; j++) {
        const double *p = column_of(w, j);
        words_of_doubles(p, n, words);
        int64_t count = add_words(w->scratch.words + j * LIST_CODES, words, n, closer);
        for (int64_t c = 0; c < count; c++) {
            w->place[c] = place_of(&job->grid, p[closer[c]]);
            __builtin_prefetch(w->scratch.all + (j * job->grid.places + w->place[c]) * 2, 1);
        }
        for (int64_t c = 0; c < count; c++)
            add_entry(job, &w->scratch, j, w->place[c], p[closer[c]], 0, 1, 1.0, 1.0);
    }
    find_places(&job->grid, w->realised, n, happened);
    find_places(&job->grid, w->top, n, picked);
    scatter_rows(w, n, happened, picked, 0);
}

static void add_small(Work *w, int64_t n); /* small.h */

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
    for (int64_t i = 0; i < n; i++) {
        w->pick[i] = (int32_t)pick[i];
        w->top[i] = column_of(w, w->pick[i])[i];
        w->realised[i] = column_of(w, w->y[i])[i];
        w->correct[i] = w->pick[i] == w->y[i];
    }
    add_rows(w, n);
    for (int64_t i = n; i < stride; i++) w->m[i] = 0.0;
    for (int64_t j = 0; j < k; j++) w->columns[j] += dot(column_of(w, j), w->m, stride);
    if (w->small)
        add_small(w, n);
    else if (w->scratch.words)
        scatter_floats(w, n);
    else if (job->mass)
        scatter(w, n, 1);
    else
        scatter(w, n, 0);
}

#endif
