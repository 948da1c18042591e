/* The inner loops for processors with vectors of eight floats or four doubles (AVX2). */
#ifndef VERACITY_LOOPS_H
#define VERACITY_LOOPS_H

#include "many.h"
#include "pair.h"

/* For each set of eight lanes, those in it first: one lane in each byte. */
#define LANE(set, l) ((uint64_t)((set) >> (l) & 1) * (l) << 8 * __builtin_popcount((set) & ((1 << (l)) - 1)))
#define FIRST_OF(set)                                                                                           \
    LANE(set, 0) | LANE(set, 1) | LANE(set, 2) | LANE(set, 3) | LANE(set, 4) | LANE(set, 5) | LANE(set, 6) | \
        LANE(set, 7)
#define FIRST_OF_4(set) FIRST_OF(set), FIRST_OF(set + 1), FIRST_OF(set + 2), FIRST_OF(set + 3)
#define FIRST_OF_16(set) FIRST_OF_4(set), FIRST_OF_4(set + 4), FIRST_OF_4(set + 8), FIRST_OF_4(set + 12)
#define FIRST_OF_64(set) FIRST_OF_16(set), FIRST_OF_16(set + 16), FIRST_OF_16(set + 32), FIRST_OF_16(set + 48)
static const uint64_t LANES_FIRST[256] = {FIRST_OF_64(0), FIRST_OF_64(64), FIRST_OF_64(128), FIRST_OF_64(192)};

/* Those of eight entries that are in a set, one after another; what follows them is overwritten. Their number. */
INLINE int64_t compress_eight(void *to, __m256i entries, uint32_t set) {
    __m256i first = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(LANES_FIRST + set)));
    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(entries, first));
    return _mm_popcnt_u32(set);
}

/* The lanes that have all bits. */
INLINE uint32_t eight_set(__m256i masked) { return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(masked)); }
INLINE uint32_t four_set(__m256d masked) { return (uint32_t)_mm256_movemask_pd(masked); }

/* Lanes before the given number have all bits. */
INLINE __m256i eight_before(int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

_Static_assert(LEVELS == 2, "sums of the lower level and of both");

typedef struct {
    __m256i high, low, above; /* above: entries beyond the lower level */
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

/* Of both what lies below an end. */
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
                          uint32_t *list, Group *hits, const Ends *ends, const int coarse) {
    KEEP_IN_MEMORY(ends);
    row += j;
    columns += j;
    __m256 x = whole ? _mm256_loadu_ps(row) : _mm256_maskload_ps(row, in);
    __m256i bits = _mm256_castps_si256(x);
    s->high = _mm256_max_epu32(s->high, bits);
    __m256i beyond = _mm256_andnot_si256(in, _mm256_set1_epi32(-1));
    s->low = _mm256_min_epu32(s->low, whole ? bits : _mm256_or_si256(bits, beyond));
    s->sum = _mm256_add_ps(s->sum, x);
    s->groups = note_group(hits, s->groups, j, eight_set(_mm256_cmpgt_epi32(bits, ends->below_hits)));
    /* The halves are read again: that costs less than taking them from the whole. */
    __m256d a = add_to(columns, _mm256_cvtps_pd(whole ? _mm_loadu_ps(row) : _mm256_castps256_ps128(x)));
    __m256d b = add_to(columns + 4, _mm256_cvtps_pd(whole ? _mm_loadu_ps(row + 4) : _mm256_extractf128_ps(x, 1)));
    s->squares = _mm256_fmadd_pd(a, a, s->squares);
    s->more_squares = _mm256_fmadd_pd(b, b, s->more_squares);
    if (!coarse) return;
    s->lower = _mm256_add_pd(s->lower, sum_below(a, b, ends->lower_end));
    s->both = _mm256_add_pd(s->both, sum_below(a, b, ends->both_end));
    s->above = _mm256_sub_epi32(s->above, _mm256_cmpgt_epi32(bits, ends->lower_bits));
    s->listed += compress_eight(list + s->listed, bits, eight_set(_mm256_cmpgt_epi32(bits, ends->both_bits)));
}

INLINE int64_t sum_of_counts(__m256i counts) {
    uint32_t each[8];
    int64_t sum = 0;
    memcpy(each, &counts, sizeof each);
    for (int l = 0; l < 8; l++) sum += each[l];
    return sum;
}

/* The sum of the row is one of floats: eight of them side by side, so that few roundings follow one another. */
INLINE void sweep_row(const float *row, const float *next, int64_t k, double *columns, Levels *levels, Swept *found,
                      const int coarse) {
    const __m256i all = _mm256_set1_epi32(-1);
    const Ends ends = {_mm256_set1_epi32(found->least_hit - 1), _mm256_set1_epi32(level_bits(0) - 1),
                       _mm256_set1_epi32(level_bits(1) - 1), _mm256_set1_pd(level_end(0)),
                       _mm256_set1_pd(level_end(1))};
    Sweep s = {.low = all};
    Group *hits = found->hits;
    uint32_t *list = found->list;
    int64_t j = 0;
    for (; j + 16 <= k; j += 16) {
        __builtin_prefetch(next + j);
        sweep_columns(&s, row, j, all, 1, columns, list, hits, &ends, coarse);
        sweep_columns(&s, row, j + 8, all, 1, columns, list, hits, &ends, coarse);
    }
    for (; j < k; j += 8) sweep_columns(&s, row, j, eight_before(k - j), 0, columns, list, hits, &ends, coarse);
    found->groups = s.groups;
    float sums[8];
    uint32_t high[8], low[8];
    memcpy(sums, &s.sum, sizeof sums);
    memcpy(high, &s.high, sizeof high);
    memcpy(low, &s.low, sizeof low);
    found->sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    found->squares = total((lanes)_mm256_add_pd(s.squares, s.more_squares));
    found->most = high[0];
    found->least = low[0];
    for (int l = 1; l < 8; l++) {
        found->most = high[l] > found->most ? high[l] : found->most;
        found->least = low[l] < found->least ? low[l] : found->least;
    }
    if (found->least == 0)
        for (int64_t i = 0; i < k; i++) levels->zeros += row[i] == 0.0f;
    if (!coarse) return;
    found->listed = s.listed;
    double lower = total((lanes)s.lower);
    levels->sums[0] += lower;
    levels->sums[1] += total((lanes)s.both) - lower;
    levels->below[0] += k - sum_of_counts(s.above);
    levels->below[1] += k - s.listed;
}

static void sweep(const float *row, const float *next, int64_t k, double *columns, Levels *levels, Swept *found) {
    if (found->coarse)
        sweep_row(row, next, k, columns, levels, found, 1);
    else
        sweep_row(row, next, k, columns, levels, found, 0);
}

/* What is found in one of two rows. */
typedef struct {
    __m256i high;
    __m256 sum;
    __m256d squares;
    uint32_t *list;
    int64_t groups;
} Half;

/* Eight columns of a row; the entries as doubles, and their bits. */
INLINE __m256i half_columns(Half *s, const float *row, __m256i in, const int whole, __m256i before_listed, __m256d *d) {
    __m256 x = whole ? _mm256_loadu_ps(row) : _mm256_maskload_ps(row, in);
    __m256i bits = _mm256_castps_si256(x);
    d[0] = _mm256_cvtps_pd(whole ? _mm_loadu_ps(row) : _mm256_castps256_ps128(x));
    d[1] = _mm256_cvtps_pd(whole ? _mm_loadu_ps(row + 4) : _mm256_extractf128_ps(x, 1));
    s->sum = _mm256_add_ps(s->sum, x);
    s->squares = _mm256_fmadd_pd(d[0], d[0], s->squares);
    s->squares = _mm256_fmadd_pd(d[1], d[1], s->squares);
    s->list += compress_eight(s->list, bits, eight_set(_mm256_cmpgt_epi32(bits, before_listed)));
    return bits;
}

INLINE uint32_t hits_of_eight(__m256i bits, __m256i below_hits) {
    return eight_set(_mm256_cmpgt_epi32(bits, below_hits));
}

INLINE void end_half(const Half *s, const float *row, int64_t k, __m256i below_hits, Swept *found) {
    float sums[8];
    uint32_t high[8];
    memcpy(sums, &s->sum, sizeof sums);
    memcpy(high, &s->high, sizeof high);
    found->sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    found->squares = total((lanes)s->squares);
    found->most = high[0];
    for (int l = 1; l < 8; l++) found->most = high[l] > found->most ? high[l] : found->most;
    found->listed = s->list - found->list;
    found->groups = s->groups;
    for (Group *g = found->hits; g < found->hits + s->groups; g++) {
        if (g->first + 32 > k) continue; /* of eight columns */
        g->set = 0;
        for (int c = 0; c < 32; c += 8)
            g->set |= hits_of_eight(_mm256_loadu_si256((const __m256i *)(row + g->first + c)), below_hits) << c;
    }
}

/* Eight columns of both rows; their bits. */
INLINE void two_columns(Half *a, Half *b, const float *const *rows, int64_t j, __m256i in, const int whole,
                        double *columns, __m256i before_listed, __m256i *a_bits, __m256i *b_bits) {
    __m256d x[2], y[2];
    *a_bits = half_columns(a, rows[0] + j, in, whole, before_listed, x);
    *b_bits = half_columns(b, rows[1] + j, in, whole, before_listed, y);
    add_to(columns + j, _mm256_add_pd(x[0], y[0]));
    add_to(columns + j + 4, _mm256_add_pd(x[1], y[1]));
}

static void sweep_two(const float *const *rows, const float *next, int64_t step, int64_t k, double *columns,
                      int32_t least_listed, Swept *found) {
    const __m256i all = _mm256_set1_epi32(-1), before_listed = _mm256_set1_epi32(least_listed - 1);
    const __m256i below_hits = _mm256_set1_epi32(found->least_hit - 1);
    Half a = {.list = found[0].list + found[0].listed}, b = {.list = found[1].list + found[1].listed};
    __m256i a_bits, b_bits;
    int64_t j = 0;
    for (; j + 32 <= k; j += 32) {
        __m256i a_most = _mm256_setzero_si256(), b_most = a_most;
        for (int64_t c = j; c < j + 32; c += 16) {
            __builtin_prefetch(next + c);
            __builtin_prefetch(next + step + c);
        }
#pragma GCC unroll 4
        for (int64_t c = j; c < j + 32; c += 8) {
            two_columns(&a, &b, rows, c, all, 1, columns, before_listed, &a_bits, &b_bits);
            a_most = _mm256_max_epu32(a_most, a_bits);
            b_most = _mm256_max_epu32(b_most, b_bits);
        }
        a.high = _mm256_max_epu32(a.high, a_most);
        b.high = _mm256_max_epu32(b.high, b_most);
        a.groups = note_group(found[0].hits, a.groups, j, hits_of_eight(a_most, below_hits));
        b.groups = note_group(found[1].hits, b.groups, j, hits_of_eight(b_most, below_hits));
    }
    for (; j < k; j += 8) {
        two_columns(&a, &b, rows, j, eight_before(k - j), 0, columns, before_listed, &a_bits, &b_bits);
        a.high = _mm256_max_epu32(a.high, a_bits);
        b.high = _mm256_max_epu32(b.high, b_bits);
        a.groups = note_group(found[0].hits, a.groups, j, hits_of_eight(a_bits, below_hits));
        b.groups = note_group(found[1].hits, b.groups, j, hits_of_eight(b_bits, below_hits));
    }
    end_half(&a, rows[0], k, below_hits, &found[0]);
    end_half(&b, rows[1], k, below_hits, &found[1]);
}

static int64_t pick_from(const uint32_t *list, int64_t count, uint32_t least, uint32_t *to) {
    int64_t picked = 0, i = 0;
    const __m256i before = _mm256_set1_epi32((int32_t)least - 1);
    for (; i + 8 <= count; i += 8) {
        __m256i entries = _mm256_loadu_si256((const __m256i *)(list + i));
        picked += compress_eight(to + picked, entries, eight_set(_mm256_cmpgt_epi32(entries, before)));
    }
    __m256i last = _mm256_maskload_epi32((const int *)list + i, eight_before(count - i));
    return picked + compress_eight(to + picked, last, eight_set(_mm256_cmpgt_epi32(last, before)));
}

static int64_t pick_listed(const uint32_t *list, int64_t count, int shift, uint32_t code, uint32_t *to) {
    int64_t picked = 0;
    __m256i wanted = _mm256_set1_epi32((int32_t)code);
    for (int64_t i = 0; i < count; i += 8) {
        __m256i in = eight_before(count - i), entries = _mm256_maskload_epi32((const int *)list + i, in);
        uint32_t same = eight_set(_mm256_and_si256(_mm256_cmpeq_epi32(_mm256_srli_epi32(entries, shift), wanted), in));
        if (same) picked += compress_eight(to + picked, entries, same);
    }
    return picked;
}

typedef struct {
    __m256d levels[LEVELS];
    int64_t below[LEVELS], zeros, listed;
} Sift;

/* Four columns of a row of doubles, or those of them that are `in` it; which of them are hits. */
INLINE uint32_t sift_columns(Sift *s, const double *row, __m256i in, double *list, __m256d least_hit,
                             const int coarse) {
    __m256d x = _mm256_maskload_pd(row, in), inside = _mm256_castsi256_pd(in);
    if (coarse) {
        __m256d part = inside;
        s->zeros += _mm_popcnt_u32(four_set(_mm256_and_pd(_mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_EQ_OQ), inside)));
        for (int level = 0; level < LEVELS; level++) {
            part = _mm256_and_pd(_mm256_cmp_pd(x, _mm256_set1_pd(level_end(level)), _CMP_LT_OQ), inside);
            s->below[level] += _mm_popcnt_u32(four_set(part));
            s->levels[level] = _mm256_add_pd(s->levels[level], _mm256_and_pd(x, part));
        }
        uint32_t pairs = eight_set(_mm256_castpd_si256(_mm256_andnot_pd(part, inside)));
        s->listed += compress_eight(list + s->listed, _mm256_castpd_si256(x), pairs) / 2;
    }
    return four_set(_mm256_and_pd(_mm256_cmp_pd(x, least_hit, _CMP_GE_OQ), inside));
}

INLINE void sift_row(const double *row, const double *next, int64_t k, double least, Sieve *to, const int coarse) {
    Sift s = {.zeros = 0};
    int64_t groups = 0;
    const __m256d least_hit = _mm256_set1_pd(least);
    const __m256i lane = _mm256_setr_epi64x(0, 1, 2, 3), all = _mm256_set1_epi64x(-1);
    int64_t j = 0;
    for (; j + 8 <= k; j += 8) {
        __builtin_prefetch(next + j);
        uint32_t first = sift_columns(&s, row + j, all, to->list, least_hit, coarse);
        first |= sift_columns(&s, row + j + 4, all, to->list, least_hit, coarse) << 4;
        groups = note_group(to->hits, groups, j, first);
    }
    for (; j < k; j += 4) {
        __m256i in = _mm256_cmpgt_epi64(_mm256_set1_epi64x(k - j), lane);
        groups = note_group(to->hits, groups, j, sift_columns(&s, row + j, in, to->list, least_hit, coarse));
    }
    to->groups = groups;
    to->levels.zeros = s.zeros;
    to->listed = s.listed;
    double before = 0.0;
    for (int level = 0; coarse && level < LEVELS; level++) {
        double up_to = total((lanes)s.levels[level]);
        to->levels.sums[level] = up_to - before;
        to->levels.below[level] = s.below[level];
        before = up_to;
    }
}

static void sift(const double *row, const double *next, int64_t k, const Grid *g, Sieve *to) {
    if (g->coarse)
        sift_row(row, next, k, g->least_hit, to, 1);
    else
        sift_row(row, next, k, g->least_hit, to, 0);
}

/* The high halves of four and four numbers of 64 bits, in their order. */
INLINE __m256i high_halves(__m256i a, __m256i b) {
    __m256 both = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xDD);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0xD8);
}

/* Codes of eight numbers v, mirrored where they are from 1/2 up: all that says of them is in the high halves of their
 * bits, but for zeros. */
INLINE __m256i eight_codes(__m256i high, __m256i zero, __m256i above) {
    __m256i tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(SPLIT_BITS >> 32)), high);
    __m256i code = _mm256_srai_epi32(high, SHIFT - 32);
    code = _mm256_sub_epi32(code, _mm256_set1_epi32((int)((SPLIT_BITS >> SHIFT) - SPLIT_CODE)));
    if (!_mm256_testz_si256(tiny, tiny)) {
        __m256i small = _mm256_srai_epi32(high, TINY_SHIFT - 32);
        small = _mm256_sub_epi32(small, _mm256_set1_epi32((int)((LEAST_BITS >> TINY_SHIFT) - 2)));
        small = _mm256_andnot_si256(zero, _mm256_max_epi32(small, _mm256_set1_epi32(1)));
        code = _mm256_blendv_epi8(code, small, tiny);
    }
    return _mm256_blendv_epi8(code, _mm256_sub_epi32(_mm256_set1_epi32((int)CODES - 1), code), above);
}

static void find_codes(const double *p, int64_t n, int32_t *code) {
    const __m256d none = _mm256_setzero_pd(), one = _mm256_set1_pd(1.0), middle = _mm256_set1_pd(0.5);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i bits[2], above[2], zero[2];
        for (int h = 0; h < 2; h++) {
            __m256d u = _mm256_add_pd(_mm256_loadu_pd(p + i + 4 * h), none);
            __m256d upper = _mm256_cmp_pd(u, middle, _CMP_GE_OQ);
            __m256d v = _mm256_blendv_pd(u, _mm256_sub_pd(one, u), upper);
            above[h] = _mm256_castpd_si256(upper);
            zero[h] = _mm256_castpd_si256(_mm256_cmp_pd(u, none, _CMP_EQ_OQ));
            bits[h] = _mm256_add_epi64(_mm256_castpd_si256(v), above[h]);
        }
        __m256i found = eight_codes(high_halves(bits[0], bits[1]), high_halves(zero[0], zero[1]),
                                    high_halves(above[0], above[1]));
        _mm256_storeu_si256((__m256i *)(code + i), found);
    }
    for (; i < n; i++) code[i] = code_of(p[i]);
}

INLINE __m256i multiply_64(__m256i a, __m256i b) {
    __m256i crossed = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b),
                                       _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));
    return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(crossed, 32));
}

/* What is said of four rows: each lane of a mask has all bits or none. */
typedef struct {
    __m256i bits, zero, above, yes, at_end;
    uint32_t other, near, low;
} FourRows;

INLINE FourRows four_rows(Pair *a, int64_t i, __m256d *low, __m256d *high, __m256d *good) {
    const __m256d one = _mm256_set1_pd(1.0), none = _mm256_setzero_pd();
    __m256d u = _mm256_add_pd(_mm256_loadu_pd(a->p_block + i), none), q = _mm256_sub_pd(one, u);
    int32_t labels;
    memcpy(&labels, a->y_block + i, sizeof labels);
    __m256i y = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(labels));
    *low = _mm256_min_pd(*low, u);
    *high = _mm256_max_pd(*high, u);
    __m256d probable = _mm256_and_pd(_mm256_cmp_pd(u, none, _CMP_GE_OQ), _mm256_cmp_pd(u, one, _CMP_LE_OQ));
    *good = _mm256_and_pd(*good, probable);
    __m256d above = _mm256_cmp_pd(u, _mm256_set1_pd(0.5), _CMP_GE_OQ);
    __m256i yes = _mm256_cmpgt_epi64(y, _mm256_setzero_si256());
    __m256d v = _mm256_blendv_pd(u, q, above), mirrored = _mm256_blendv_pd(_mm256_sub_pd(one, q), q, above);
    __m256d realised = _mm256_blendv_pd(q, u, _mm256_castsi256_pd(yes)), middle = _mm256_set1_pd(1.0 + 0x1p-11);
    __m256i b = _mm256_add_epi64(_mm256_castpd_si256(v), _mm256_castpd_si256(above));
    __m256i tiny = _mm256_cmpgt_epi64(_mm256_set1_epi64x(SPLIT_BITS), b), mask = _mm256_set1_epi64x((1LL << SHIFT) - 1);
    FourRows found = {.bits = b, .above = _mm256_castpd_si256(above), .yes = yes};
    found.other = four_set(_mm256_cmp_pd(realised, _mm256_set1_pd(SPLIT), _CMP_LE_OQ));
    if (!_mm256_testz_si256(tiny, tiny)) {
        __m256d zero = _mm256_cmp_pd(u, none, _CMP_EQ_OQ), wide = _mm256_castsi256_pd(tiny);
        found.zero = _mm256_castpd_si256(zero);
        mask = _mm256_blendv_epi8(mask, _mm256_set1_epi64x((1LL << TINY_SHIFT) - 1), tiny);
        middle = _mm256_blendv_pd(middle, _mm256_set1_pd(1.0 + 0x1p-7), wide);
        found.other |= four_set(_mm256_andnot_pd(zero, _mm256_cmp_pd(u, _mm256_set1_pd(UNMIRRORED), _CMP_LT_OQ)));
    }
    __m256i x = _mm256_or_si256(_mm256_and_si256(b, mask), _mm256_set1_epi64x(UNIT_BITS));
    _mm256_storeu_pd(a->position + i, _mm256_sub_pd(_mm256_castsi256_pd(x), middle));
    if (a->limit) {
        const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
        __m256i h = _mm256_xor_si256(_mm256_castpd_si256(u), _mm256_and_si256(yes, _mm256_set1_epi64x((int64_t)ODD)));
        h = _mm256_xor_si256(h, _mm256_srli_epi64(h, 32));
        h = _mm256_xor_si256(multiply_64(h, _mm256_set1_epi64x((int64_t)MULTIPLY)), sign);
        __m256i beyond = _mm256_cmpgt_epi64(h, _mm256_xor_si256(_mm256_set1_epi64x((int64_t)a->limit), sign));
        found.near = four_set(_mm256_castsi256_pd(beyond)) ^ 15;
    }
    if (a->low_limit > SPLIT) /* what is lower is not counted here */
        found.low = four_set(_mm256_cmp_pd(realised, _mm256_set1_pd(a->low_limit), _CMP_LT_OQ));
    __m256i ends = _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_castpd_si256(mirrored), mask), _mm256_setzero_si256());
    __m256d mirrors = _mm256_or_pd(above, _mm256_cmp_pd(mirrored, u, _CMP_LE_OQ));
    found.at_end = _mm256_and_si256(ends, _mm256_castpd_si256(mirrors));
    return found;
}

/* Eight rows at a time. */
static int pair_rows(Pair *a, int64_t n) {
    __m256d low = _mm256_set1_pd(a->low), high = _mm256_set1_pd(a->high);
    __m256d good = _mm256_castsi256_pd(_mm256_set1_epi64x(-1));
    uint64_t seen = 0;
    unsigned any = 0;
    for (int64_t i = 0; i < n; i += 8) {
        uint64_t labels;
        memcpy(&labels, a->y_block + i, sizeof labels);
        seen |= labels;
        __builtin_prefetch(a->p_block + i + PAIR_ROWS); /* of the next block: a page ahead, where no hardware looks */
        FourRows f = four_rows(a, i, &low, &high, &good), g = four_rows(a, i + 4, &low, &high, &good);
        __m256i code = eight_codes(high_halves(f.bits, g.bits), high_halves(f.zero, g.zero),
                                   high_halves(f.above, g.above));
        code = _mm256_min_epu32(code, _mm256_set1_epi32((int)CODES - 1)); /* of a NaN */
        code = _mm256_add_epi32(code, _mm256_and_si256(high_halves(f.at_end, g.at_end), _mm256_set1_epi32((int)PARTS)));
        code = _mm256_add_epi32(code, _mm256_and_si256(high_halves(f.yes, g.yes), _mm256_set1_epi32((int)a->places)));
        _mm256_storeu_si256((__m256i *)(a->at + i), _mm256_slli_epi32(code, STEP_BITS));
        ((uint8_t *)a->other)[i / 8] = (uint8_t)(f.other | g.other << 4);
        ((uint8_t *)a->is_near)[i / 8] = (uint8_t)(f.near | g.near << 4);
        ((uint8_t *)a->is_low)[i / 8] = (uint8_t)(f.low | g.low << 4);
        any |= f.other | g.other | f.near | g.near | f.low | g.low;
    }
    double least[4], most[4];
    memcpy(least, &low, sizeof least);
    memcpy(most, &high, sizeof most);
    a->bad = four_set(good) != 15 || (seen & ~0x0101010101010101ULL) != 0;
    for (int l = 0; l < 4; l++) {
        a->low = least[l] < a->low ? least[l] : a->low;
        a->high = most[l] > a->high ? most[l] : a->high;
    }
    return (int)any;
}

#endif
