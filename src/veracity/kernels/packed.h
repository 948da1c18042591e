/* Float32 rows of very many classes without weights, on the coarse grid with AVX2: near memory speed.
 *
 * One sweep finds whether a row is a forecast, and sums and lists its entries: those below 2^-22 are only counted and
 * added up, those from there up are listed, and the few above the lowest nested cell (hits) are noted by column. A
 * listed entry adds one integer to its cell, with the count above and the mantissa bits below the cell's edge, so that
 * eight bytes hold both the count and the exact sum. */
#ifndef VERACITY_PACKED_H
#define VERACITY_PACKED_H

#include "many.h"

enum { BLOCK = 64 };          /* rows */
enum { MOST_PACKED = 1 << 23 }; /* entries of a cell before its sum is full */
enum { MOST_CUTS = 64 };
enum { LEVELS = 2 }; /* cells between 0 and 2^-22; as WIDE and COARSE in grid.py */
static const double LEVEL_ENDS[LEVELS] = {0x1p-30, 0x1p-22};
#define LEAST_HIT 0x1p-5
#define ONE_FLOAT 0x3F800000u
#define SPLIT_FLOAT 0x38800000u /* 2^-14 */
#define LISTED_FLOAT 0x34800000u /* 2^-22 */

/* A word is a code above 17 bits for where in it an entry lies: all that a float has below six mantissa bits, or what
 * it has below ten, times 2^FINER. */
enum { WORD_SHIFT = 17, FINER = 4, COUNT_SHIFT = 40 };
#define ONE_ENTRY (1ULL << COUNT_SHIFT)
#define WORD_OF(bits) ((bits) < SPLIT_FLOAT ? (bits) : (((bits) - SPLIT_FLOAT) << FINER) + SPLIT_FLOAT)
enum { LISTED_CODE = LISTED_FLOAT >> WORD_SHIFT, FINE_CODE = SPLIT_FLOAT >> WORD_SHIFT };
enum { HIT_CODE = WORD_OF(0x3D000000u) >> WORD_SHIFT, HALF_CODE = WORD_OF(0x3F000000u) >> WORD_SHIFT };
enum { WORD_CODES = (WORD_OF(ONE_FLOAT) >> WORD_SHIFT) + 1 };

typedef struct {
    int64_t at; /* which of the nested cells of all classes */
    double p;
} Hit;

/* Some of eight columns from the first on: a bit for each. */
typedef struct {
    uint32_t first, set;
} Group;

/* What a sweep finds in a row. Largest and smallest entry are bits seen as unsigned: beyond those of 1 an entry is no
 * probability, or minus zero. */
typedef struct {
    double sum, squares; /* the sum only to the precision of floats */
    uint32_t most, least;
    int64_t listed, groups;
    uint64_t hash;
    uint32_t *list; /* bits of entries from 2^-22 up */
    Group *hits;
} Found;

/* Sums over the level cells; counts are those below each end. */
typedef struct {
    double sums[LEVELS];
    int64_t below[LEVELS], zeros;
} Levels;

typedef struct Packed {
    uint64_t *pooled;        /* by code of a word */
    int32_t cuts[MOST_CUTS]; /* codes below the hits that a cut divides */
    int cut_count;
    Hit *hits; /* of a block */
    int64_t hit_count, used;
    float *row;
    uint32_t *words, *picked;
    Found found;
    Levels levels;
} Packed;

INLINE float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

INLINE uint32_t bits_of_word(uint32_t word) {
    return word < SPLIT_FLOAT ? word : SPLIT_FLOAT + ((word - SPLIT_FLOAT) >> FINER);
}

/* The cell of the code of a word; below 0 where a cut divides it. */
INLINE int32_t cell_of_word(const Grid *g, int32_t c) {
    return g->cell[code_of(float_of(bits_of_word((uint32_t)c << WORD_SHIFT)))];
}

typedef struct {
    __m256i high, low, above, hash; /* above: entries beyond the lower level; hash: Σ entry_hash */
    __m256 sum;
    __m256d squares, more_squares, lower, both;
    int64_t listed, groups;
} Sweep;

/* What entries are compared with. It stays in memory, so that sums have registers: compilers would do it the other way
 * round. */
typedef struct {
    __m256i below_hits, lower_bits, both_bits; /* the bits before those from which entries are meant */
    __m256d lower_end, both_end;
} Ends;
#define KEEP_IN_MEMORY(x) __asm__ volatile("" : : "r"(x) : "memory")

/* Sum of the elements of a and b below `end`. */
INLINE __m256d sum_below(__m256d a, __m256d b, __m256d end) {
    return _mm256_add_pd(_mm256_and_pd(a, _mm256_cmp_pd(a, end, _CMP_LT_OQ)),
                         _mm256_and_pd(b, _mm256_cmp_pd(b, end, _CMP_LT_OQ)));
}

INLINE __m256d add_to(double *columns, __m256d x) {
    _mm256_storeu_pd(columns, _mm256_add_pd(_mm256_loadu_pd(columns), x)); /* padded to whole vectors */
    return x;
}

/* Eight columns of a row. Those beyond its end are zeros, and `in` has no bits for them. */
INLINE void sweep_columns(Sweep *s, const float *row, int64_t j, __m256i in, const int whole, double *columns,
                          uint32_t *list, Group *groups, const Ends *ends) {
    KEEP_IN_MEMORY(ends);
    row += j;
    columns += j;
    __m256 x = whole ? _mm256_loadu_ps(row) : _mm256_maskload_ps(row, in);
    __m256i bits = _mm256_castps_si256(x);
    s->high = _mm256_max_epu32(s->high, bits);
    __m256i beyond = _mm256_andnot_si256(in, _mm256_set1_epi32(-1));
    s->low = _mm256_min_epu32(s->low, whole ? bits : _mm256_or_si256(bits, beyond));
    s->sum = _mm256_add_ps(s->sum, x);
    __m256i other = _mm256_mullo_epi32(bits, _mm256_set1_epi32((int)KEY));
    other = _mm256_xor_si256(other, _mm256_srli_epi32(other, 15));
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(bits, 32), _mm256_srli_epi64(other, 32));
    s->hash = _mm256_add_epi64(s->hash, _mm256_add_epi64(_mm256_mul_epu32(bits, other), odd));
    uint32_t hits = eight_set(_mm256_cmpgt_epi32(bits, ends->below_hits));
    groups[s->groups] = (Group){(uint32_t)j, hits};
    s->groups += hits != 0; /* no branch: whether there are any could not be foreseen */
    /* The halves are read again: that costs less than taking them from the whole. */
    __m256d a = add_to(columns, _mm256_cvtps_pd(whole ? _mm_loadu_ps(row) : _mm256_castps256_ps128(x)));
    __m256d b = add_to(columns + 4, _mm256_cvtps_pd(whole ? _mm_loadu_ps(row + 4) : _mm256_extractf128_ps(x, 1)));
    s->squares = _mm256_fmadd_pd(a, a, s->squares);
    s->more_squares = _mm256_fmadd_pd(b, b, s->more_squares);
    s->lower = _mm256_add_pd(s->lower, sum_below(a, b, ends->lower_end));
    s->both = _mm256_add_pd(s->both, sum_below(a, b, ends->both_end));
    s->above = _mm256_sub_epi32(s->above, _mm256_cmpgt_epi32(bits, ends->lower_bits));
    s->listed += compress_eight(list + s->listed, bits, eight_set(_mm256_cmpgt_epi32(bits, ends->both_bits)));
}

/* Adds a row to the column sums and levels, and says what it found. Asks for the next row meanwhile. */
static void sweep(const float *row, const float *next, int64_t k, double *columns, Levels *levels, Found *found) {
    const __m256i all = _mm256_set1_epi32(-1);
    const Ends ends = {_mm256_set1_epi32((int)float_bits((float)LEAST_HIT) - 1),
                       _mm256_set1_epi32((int)float_bits((float)LEVEL_ENDS[0]) - 1),
                       _mm256_set1_epi32((int)LISTED_FLOAT - 1), _mm256_set1_pd(LEVEL_ENDS[0]),
                       _mm256_set1_pd(LEVEL_ENDS[1])};
    Sweep s = {.low = all};
    uint32_t *list = found->list;
    Group *hits = found->hits;
    int64_t j = 0;
    for (; j + 16 <= k; j += 16) {
        __builtin_prefetch(next + j);
        sweep_columns(&s, row, j, all, 1, columns, list, hits, &ends);
        sweep_columns(&s, row, j + 8, all, 1, columns, list, hits, &ends);
    }
    for (; j < k; j += 8) sweep_columns(&s, row, j, eight_before(k - j), 0, columns, list, hits, &ends);
    float sums[8];
    uint32_t high[8], low[8], above[8];
    uint64_t hash[4];
    memcpy(sums, &s.sum, sizeof sums);
    memcpy(high, &s.high, sizeof high);
    memcpy(low, &s.low, sizeof low);
    memcpy(above, &s.above, sizeof above);
    memcpy(hash, &s.hash, sizeof hash);
    found->hash = hash_of_sum(hash[0] + hash[1] + hash[2] + hash[3]);
    found->sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    found->squares = total((lanes)_mm256_add_pd(s.squares, s.more_squares));
    found->most = high[0];
    found->least = low[0];
    levels->below[0] += k;
    for (int l = 0; l < 8; l++) {
        found->most = high[l] > found->most ? high[l] : found->most;
        found->least = low[l] < found->least ? low[l] : found->least;
        levels->below[0] -= above[l];
    }
    if (found->least == 0)
        for (int64_t i = 0; i < k; i++) levels->zeros += row[i] == 0.0f;
    found->listed = s.listed;
    found->groups = s.groups;
    double lower = total((lanes)s.lower);
    levels->sums[0] += lower;
    levels->sums[1] += total((lanes)s.both) - lower;
    levels->below[1] += k - s.listed;
}

/* Moves counts and sums of the words below 1/2 to the pooled histogram. Entries of divided codes are there already. */
static void unpack_words(Work *w, Packed *x) {
    const Histogram pooled = histogram(w->job, &w->tables, 0);
    for (int32_t c = LISTED_CODE; c < HALF_CODE; c++) {
        uint64_t held = x->pooled[c];
        int32_t cell = held ? cell_of_word(&w->job->grid, c) : -1;
        if (cell < 0) continue;
        uint64_t one = ONE_ENTRY + ((uint64_t)c << WORD_SHIFT); /* of an entry at the edge of the code */
        int64_t count = (int64_t)(held / one);
        uint32_t bits = bits_of_word((uint32_t)c << WORD_SHIFT);
        double edge = float_of(bits), step = (float_of(bits + 1) - edge) / (c < FINE_CODE ? 1 : 1 << FINER);
        slot *r = w->tables.all + 2 * cell;
        if (r->i == 0) touch(pooled, cell);
        r[0].i += count;
        r[1].d += (double)count * edge + (double)(held % one) * step;
    }
    memset(x->pooled, 0, WORD_CODES * sizeof *x->pooled);
    x->used = 0;
}

static void unpack_levels(Work *w, const Levels *levels) {
    int64_t before = 0;
    for (int32_t cell = 0; cell <= LEVELS; cell++) { /* zero, then the levels */
        int64_t below = cell ? levels->below[cell - 1] : levels->zeros;
        slot *r = w->tables.all + 2 * cell;
        if (below > before) touch(histogram(w->job, &w->tables, 0), cell);
        r[0].i += below - before;
        r[1].d += cell ? levels->sums[cell - 1] : 0.0;
        before = below;
    }
}

/* Pools the listed entries of a row. */
static void pool_listed(Work *w, Packed *x) {
    const Job *job = w->job;
    int64_t count = x->found.listed;
    uint32_t *restrict words = x->words;
    const uint32_t *restrict list = x->found.list;
    if (x->used + count > MOST_PACKED) unpack_words(w, x);
    x->used += count;
    for (int64_t i = 0; i < count; i++) words[i] = WORD_OF(list[i]);
#pragma GCC unroll 4
    for (int64_t i = 0; i < count; i++) {
        uint64_t word = words[i];
        x->pooled[word >> WORD_SHIFT] += ONE_ENTRY + word;
    }
    for (int cut = 0; cut < x->cut_count; cut++) { /* entries of codes that it divides are pooled one by one */
        if (!x->pooled[x->cuts[cut]]) continue;
        x->pooled[x->cuts[cut]] = 0;
        int64_t picked = 0;
        const __m256i wanted = _mm256_set1_epi32(x->cuts[cut]);
        for (int64_t i = 0; i < count; i += 8) {
            __m256i in = eight_before(count - i), entries = _mm256_maskload_epi32((const int *)words + i, in);
            __m256i same = _mm256_cmpeq_epi32(_mm256_srli_epi32(entries, WORD_SHIFT), wanted);
            picked += compress_eight(x->picked + picked, entries, eight_set(_mm256_and_si256(same, in)));
        }
        for (int64_t e = 0; e < picked; e++) {
            double u = float_of(bits_of_word(x->picked[e]));
            add_entry(histogram(job, &w->tables, 0), cell_of(&job->grid, u), u, 0, 1, 1.0, 1.0);
        }
    }
}

/* Notes the hits of a row, and asks for the nested cells that they go to. The words of hits from 1/2 up and of codes that
 * a cut divides are no cells of the grid: these are pooled at once, or with the largest entries in the end. Returns the
 * column of the largest entry, the first if there are more; k if it is no hit. */
static int64_t note_hits(Work *w, Packed *x, const float *row, int32_t top_cell) {
    const Grid *g = &w->job->grid;
    int64_t k = w->job->k, pick = k;
    for (const Group *group = x->found.hits; group < x->found.hits + x->found.groups; group++)
        for (uint32_t set = group->set; set; set &= set - 1) {
            int64_t j = group->first + __builtin_ctz(set);
            double u = row[j];
            int is_top = float_bits(row[j]) == x->found.most && pick == k;
            int32_t known = is_top ? top_cell : g->cell[code_of(u)], cell = resolve(g, known, u);
            pick = is_top ? j : pick;
            if (is_top ? g->edges[cell] < 0.5 && (u >= 0.5 || g->cell[code_of(u)] < 0) : u >= 0.5 || known < 0)
                add_entry(histogram(w->job, &w->tables, 0), cell, u, 0, 1, 1.0, 1.0);
            Hit hit = {j * g->nested_cells + g->nested[cell], u};
            __builtin_prefetch(w->tables.nested + 2 * hit.at, 1);
            x->hits[x->hit_count++] = hit;
        }
    return pick;
}

/* Pools the largest entries of cells from 1/2 up. */
static void pool_tops(Work *w) {
    const Grid *g = &w->job->grid;
    for (int64_t cell = g->cells - 1; g->edges[cell] >= 0.5; cell--) {
        const slot *top = w->tables.all + 2 * (g->cells + cell);
        slot *r = w->tables.all + 2 * cell;
        if (top->i) touch(histogram(w->job, &w->tables, 0), (int32_t)cell);
        r[0].i += top[0].i;
        r[1].d += top[1].d;
    }
}

static void add_hits(Work *w, Packed *x) {
    for (int64_t i = 0; i < x->hit_count; i++) {
        slot *r = w->tables.nested + 2 * x->hits[i].at;
        r[0].i++;
        r[1].d += x->hits[i].p;
    }
    x->hit_count = 0;
}

static int first_of_float_ties(const float *row, int64_t y) {
    int tied = 0;
    for (int64_t j = 0; j < y; j++) tied |= row[j] == row[y];
    return !tied;
}

/* Notes what was found in row i of a block, and asks for the cells that it goes to. */
static void note_row(Work *w, Packed *x, const float *row, int64_t i) {
    const Grid *g = &w->job->grid;
    int64_t y = w->y[i];
    w->squares[i] = x->found.squares;
    w->realised[i] = row[y];
    w->top[i] = float_of(x->found.most);
    int32_t cell = w->true_cell[i] = cell_of(g, w->realised[i]), top = w->top_cell[i] = cell_of(g, w->top[i]);
    __builtin_prefetch(w->tables.yes + 4 * cell, 1);
    __builtin_prefetch(w->tables.all + 2 * (g->cells + top), 1);
    __builtin_prefetch(w->tables.yes + 4 * (g->cells + top), 1);
    __builtin_prefetch(w->tables.nested_yes + y * g->nested_cells + g->nested[cell], 1);
    int64_t pick = note_hits(w, x, row, top);
    w->correct[i] = pick < w->job->k ? pick == y : row[y] == w->top[i] && first_of_float_ties(row, y);
}

/* A row as floats one after another; `clean` turns minus zeros into zeros. */
static const float *float_row(const Work *w, int64_t i, int clean) {
    const Job *job = w->job;
    if (job->direct && !clean) return (const float *)(job->p + i * job->row_step);
    for (int64_t j = 0; j < job->k; j++) w->packed->row[j] = (float)entry(job, i, j) + 0.0f;
    return w->packed->row;
}

/* Looks closely at a row that may be none; whether it is one after all. */
static int check_row(Work *w, int64_t i, const float *row) {
    double sum = 0.0;
    for (int64_t j = 0; j < w->job->k; j++) sum += row[j];
    return (w->packed->found.most <= ONE_FLOAT || check_values(w, i)) && check_sum(w, i, sum);
}

static void packed_block(Work *w, int64_t start, int64_t n) {
    const Job *job = w->job;
    Packed *x = w->packed;
    Found *found = &x->found;
    Levels levels = {.zeros = 0};
    int64_t kept = 0, k = job->k;
    double *columns = w->block_columns;
    /* How far from one the sum of a sweep may be, whatever rounding did to it. */
    double sure = job->allowed - (1.0 + job->allowed) * ((double)k * 0x1p-26 + 0x1p-19);
    int left_out = 0;
    read_rows(w, start, n);
    memset(columns, 0, (size_t)(k + 2 * LANES) * sizeof *columns); /* whole vectors are added to */
    for (int64_t i = 0; i < n; i++) {
        const float *row = float_row(w, start + i, 0);
        const float *next = job->direct ? (const float *)(job->p + (start + i + (i + 1 < n)) * job->row_step) : row;
        sweep(row, next, job->k, columns, &levels, found);
        int inside = found->most <= ONE_FLOAT, good = check_label(w, start + i, w->y[i]);
        if (inside) {
            double low = float_of(found->least), high = float_of(found->most);
            if (low < w->low) w->low = low;
            if (high > w->high) w->high = high;
        }
        if (!(inside && fabs(found->sum - 1.0) <= sure)) good &= check_row(w, start + i, row);
        left_out |= !(good && inside);
        if (!good) continue;
        if (!inside) {
            row = float_row(w, start + i, 1);
            sweep(row, row, job->k, columns, &levels, found);
        }
        keep_row(w, kept, i);
        if (job->hashes) job->hashes[start + i] = found->hash;
        pool_listed(w, x);
        note_row(w, x, row, kept++);
    }
    if (left_out) { /* sums of the good rows only */
        memset(columns, 0, (size_t)k * sizeof *columns);
        memset(&levels, 0, sizeof levels);
        for (int64_t i = 0; i < kept; i++) {
            const float *row = float_row(w, w->row[i], 1);
            sweep(row, row, job->k, columns, &levels, found);
        }
    }
    x->levels.zeros += levels.zeros;
    for (int level = 0; level < LEVELS; level++) {
        x->levels.sums[level] += levels.sums[level];
        x->levels.below[level] += levels.below[level];
    }
    add_columns(w->columns, columns, k, 1.0);
    add_hits(w, x);
    add_rows(w, kept);
    scatter_ends(w, kept, 0);
}

static void finish_packed(Work *w) {
    unpack_words(w, w->packed);
    unpack_levels(w, &w->packed->levels);
    pool_tops(w);
}

static void free_packed(Packed *x) {
    if (!x) return;
    free(x->pooled);
    free(x->hits);
    free(x->row);
    free(x->words);
    free(x->picked);
    free(x->found.list);
    free(x->found.hits);
    free(x);
}

/* Memory for a thread; whether there was any. */
static int prepare_packed(Work *w) {
    const Job *job = w->job;
    Packed *x = w->packed = calloc(1, sizeof *x);
    if (!x) return 0;
    size_t k = (size_t)job->k, room = k + 16; /* whole vectors are written */
    double most = (1.0 + job->allowed) / LEAST_HIT + 1.0; /* hits of a row with an allowed sum; NaN allows any */
    size_t hits = BLOCK * (most < 1.0 ? 1 : most < (double)k ? (size_t)most : k);
    x->pooled = calloc(WORD_CODES, sizeof *x->pooled);
    x->hits = malloc(hits * sizeof *x->hits);
    x->row = malloc(room * sizeof *x->row);
    x->words = malloc(room * sizeof *x->words);
    x->picked = malloc(room * sizeof *x->picked);
    x->found.list = malloc(room * sizeof *x->found.list);
    x->found.hits = malloc((k / 8 + 3) * sizeof *x->found.hits);
    for (int32_t c = LISTED_CODE; c < HIT_CODE && x->cut_count < MOST_CUTS; c++)
        if (cell_of_word(&job->grid, c) < 0) x->cuts[x->cut_count++] = c;
    return x->pooled && x->hits && x->row && x->words && x->picked && x->found.list && x->found.hits;
}

#endif
