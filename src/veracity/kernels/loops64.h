/* The inner loops for processors with vectors of sixteen floats or eight doubles (AVX-512). */
#ifndef VERACITY_LOOPS_H
#define VERACITY_LOOPS_H

#include "many.h"
#include "pair.h"

static int64_t count_zeros(const float *row, int64_t k) {
    int64_t zeros = 0;
    for (int64_t j = 0; j < k; j += 16) {
        __mmask16 in = k - j >= 16 ? 0xFFFF : (__mmask16)((1u << (k - j)) - 1);
        __m512i bits = _mm512_maskz_loadu_epi32(in, row + j);
        zeros += _mm_popcnt_u32(_mm512_mask_testn_epi32_mask(in, bits, bits));
    }
    return zeros;
}

typedef struct {
    __m512i high, low;
    __m512 sum;
    __m512d squares[2], levels[LEVELS][2];
    int64_t below[LEVELS], listed, groups;
} Sweep;

/* Sixteen columns of a row, or those of them that are `in` it. */
INLINE void sweep_columns(Sweep *s, const float *row, int64_t j, __mmask16 in, double *columns, uint32_t *list,
                          Group *hits, __m512i least_hit, const int coarse) {
    int whole = in == 0xFFFF;
    row += j;
    columns += j;
    __m512 x = whole ? _mm512_loadu_ps(row) : _mm512_maskz_loadu_ps(in, row);
    __m512i bits = _mm512_castps_si512(x);
    /* The halves are read again: that costs less than taking them from the whole. */
    __m512d half[2] = {_mm512_cvtps_pd(whole ? _mm256_loadu_ps(row) : _mm512_castps512_ps256(x)),
                       _mm512_cvtps_pd(whole ? _mm256_loadu_ps(row + 8) : _mm512_extractf32x8_ps(x, 1))};
    s->high = _mm512_max_epu32(s->high, bits);
    s->low = _mm512_mask_min_epu32(s->low, in, s->low, bits);
    s->sum = _mm512_add_ps(s->sum, x);
    s->groups = note_group(hits, s->groups, j, _mm512_cmpge_epi32_mask(bits, least_hit));
    for (int h = 0; h < 2; h++) {
        double *to = columns + LANES * h; /* padded to whole vectors */
        _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), half[h]));
        s->squares[h] = _mm512_fmadd_pd(half[h], half[h], s->squares[h]);
    }
    if (!coarse) return;
    __mmask16 small = 0;
    for (int level = 0; level < LEVELS; level++) {
        small = _mm512_mask_cmplt_epi32_mask(in, bits, _mm512_set1_epi32(level_bits(level)));
        if (level + 1 < LEVELS) s->below[level] += _mm_popcnt_u32(small);
        for (int h = 0; h < 2; h++) {
            __mmask8 part = (__mmask8)(small >> LANES * h);
            s->levels[level][h] = _mm512_mask_add_pd(s->levels[level][h], part, s->levels[level][h], half[h]);
        }
    }
    __mmask16 listed = (__mmask16)(in & ~small);
    _mm512_storeu_si512(list + s->listed, _mm512_maskz_compress_epi32(listed, bits));
    s->listed += _mm_popcnt_u32(listed);
}

/* The sum of the row is one of floats: 16 of them side by side, so that few roundings follow one another. */
INLINE void sweep_row(const float *row, const float *next, int64_t k, double *columns, Levels *levels, Swept *found,
                      const int coarse) {
    Sweep s = {.low = _mm512_set1_epi32(-1)};
    const __m512i least_hit = _mm512_set1_epi32(found->least_hit);
    uint32_t *list = found->list;
    Group *hits = found->hits;
    int64_t j = 0;
    for (; j + 16 <= k; j += 16) {
        __builtin_prefetch(next + j);
        sweep_columns(&s, row, j, 0xFFFF, columns, list, hits, least_hit, coarse);
    }
    if (j < k) sweep_columns(&s, row, j, (__mmask16)((1u << (k - j)) - 1), columns, list, hits, least_hit, coarse);
    found->groups = s.groups;
    found->sum = _mm512_reduce_add_ps(s.sum);
    found->squares = _mm512_reduce_add_pd(_mm512_add_pd(s.squares[0], s.squares[1]));
    found->most = _mm512_reduce_max_epu32(s.high);
    found->least = _mm512_reduce_min_epu32(s.low);
    if (found->least == 0) levels->zeros += count_zeros(row, k);
    if (!coarse) return;
    s.below[LEVELS - 1] = k - s.listed;
    found->listed = s.listed;
    double before = 0.0;
    for (int level = 0; level < LEVELS; level++) {
        double up_to = _mm512_reduce_add_pd(_mm512_add_pd(s.levels[level][0], s.levels[level][1]));
        levels->sums[level] += up_to - before;
        levels->below[level] += s.below[level];
        before = up_to;
    }
}

static void sweep(const float *row, const float *next, int64_t k, double *columns, Levels *levels, Swept *found) {
    if (found->coarse)
        sweep_row(row, next, k, columns, levels, found, 1);
    else
        sweep_row(row, next, k, columns, levels, found, 0);
}

/* What is found in one of two rows. */
typedef struct {
    __m512i high;
    __m512 sum;
    __m512d squares[2];
    uint32_t *list;
    int64_t groups;
} Half;

/* Sixteen columns of a row, or those of them that are `in` it; the entries as doubles. */
INLINE void half_columns(Half *s, const float *row, int64_t j, __mmask16 in, __m512i least_listed, __m512i least_hit,
                         Group *hits, __m512d *d) {
    int whole = in == 0xFFFF;
    row += j;
    __m512 x = whole ? _mm512_loadu_ps(row) : _mm512_maskz_loadu_ps(in, row);
    __m512i bits = _mm512_castps_si512(x);
    d[0] = _mm512_cvtps_pd(whole ? _mm256_loadu_ps(row) : _mm512_castps512_ps256(x));
    d[1] = _mm512_cvtps_pd(whole ? _mm256_loadu_ps(row + 8) : _mm512_extractf32x8_ps(x, 1));
    s->high = _mm512_max_epu32(s->high, bits);
    s->sum = _mm512_add_ps(s->sum, x);
    for (int h = 0; h < 2; h++) s->squares[h] = _mm512_fmadd_pd(d[h], d[h], s->squares[h]);
    s->groups = note_group(hits, s->groups, j, _mm512_cmpge_epi32_mask(bits, least_hit));
    __mmask16 listed = _mm512_cmpge_epi32_mask(bits, least_listed); /* zeros beyond the end never are */
    _mm512_storeu_si512(s->list, _mm512_maskz_compress_epi32(listed, bits));
    s->list += _mm_popcnt_u32(listed);
}

INLINE void two_columns(Half *s, const float *const *rows, int64_t j, __mmask16 in, double *columns,
                        __m512i least_listed, __m512i least_hit, Swept *found) {
    __m512d d[2][2];
    for (int r = 0; r < 2; r++) half_columns(&s[r], rows[r], j, in, least_listed, least_hit, found[r].hits, d[r]);
    for (int h = 0; h < 2; h++) {
        double *to = columns + j + LANES * h; /* padded to whole vectors */
        _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), _mm512_add_pd(d[0][h], d[1][h])));
    }
}

static void sweep_two(const float *const *rows, const float *next, int64_t step, int64_t k, double *columns,
                      int32_t least_listed, Swept *found) {
    const __m512i listed = _mm512_set1_epi32(least_listed), least_hit = _mm512_set1_epi32(found->least_hit);
    Half s[2] = {{.list = found[0].list + found[0].listed}, {.list = found[1].list + found[1].listed}};
    int64_t j = 0;
    for (; j + 16 <= k; j += 16) {
        for (int r = 0; r < 2; r++) __builtin_prefetch(next + r * step + j);
        two_columns(s, rows, j, 0xFFFF, columns, listed, least_hit, found);
    }
    if (j < k) two_columns(s, rows, j, (__mmask16)((1u << (k - j)) - 1), columns, listed, least_hit, found);
    for (int r = 0; r < 2; r++) {
        found[r].sum = _mm512_reduce_add_ps(s[r].sum);
        found[r].squares = _mm512_reduce_add_pd(_mm512_add_pd(s[r].squares[0], s[r].squares[1]));
        found[r].most = _mm512_reduce_max_epu32(s[r].high);
        found[r].listed = s[r].list - found[r].list;
        found[r].groups = s[r].groups;
    }
}

static int64_t pick_from(const uint32_t *list, int64_t count, uint32_t least, uint32_t *to) {
    int64_t picked = 0;
    const __m512i from = _mm512_set1_epi32((int32_t)least);
    for (int64_t i = 0; i < count; i += 16) {
        __mmask16 in = count - i >= 16 ? 0xFFFF : (__mmask16)((1u << (count - i)) - 1);
        __m512i entries = _mm512_maskz_loadu_epi32(in, list + i);
        __mmask16 above = _mm512_cmpge_epi32_mask(entries, from);
        _mm512_storeu_si512(to + picked, _mm512_maskz_compress_epi32(above, entries));
        picked += _mm_popcnt_u32(above);
    }
    return picked;
}

static int64_t pick_listed(const uint32_t *list, int64_t count, int shift, uint32_t code, uint32_t *to) {
    int64_t picked = 0;
    __m512i wanted = _mm512_set1_epi32((int32_t)code);
    for (int64_t i = 0; i < count; i += 16) {
        __mmask16 in = count - i >= 16 ? 0xFFFF : (__mmask16)((1u << (count - i)) - 1);
        __m512i entries = _mm512_maskz_loadu_epi32(in, list + i);
        __mmask16 same = _mm512_mask_cmpeq_epi32_mask(in, _mm512_srli_epi32(entries, (unsigned)shift), wanted);
        if (!same) continue;
        _mm512_storeu_si512(to + picked, _mm512_maskz_compress_epi32(same, entries));
        picked += _mm_popcnt_u32(same);
    }
    return picked;
}

typedef struct {
    __m512d levels[LEVELS];
    int64_t below[LEVELS], zeros, listed;
} Sift;

/* Eight columns of a row of doubles, or those of them that are `in` it; which of them are hits. */
INLINE __mmask8 sift_columns(Sift *s, const double *row, __mmask8 in, double *list, __m512d least_hit,
                            const int coarse) {
    __m512d x = _mm512_maskz_loadu_pd(in, row);
    if (coarse) {
        __mmask8 small = 0;
        s->zeros += _mm_popcnt_u32(_mm512_mask_cmp_pd_mask(in, x, _mm512_setzero_pd(), _CMP_EQ_OQ));
        for (int level = 0; level < LEVELS; level++) {
            small = _mm512_mask_cmp_pd_mask(in, x, _mm512_set1_pd(level_end(level)), _CMP_LT_OQ);
            s->below[level] += _mm_popcnt_u32(small);
            s->levels[level] = _mm512_mask_add_pd(s->levels[level], small, s->levels[level], x);
        }
        __mmask8 listed = (__mmask8)(in & ~small);
        _mm512_storeu_pd(list + s->listed, _mm512_maskz_compress_pd(listed, x));
        s->listed += _mm_popcnt_u32(listed);
    }
    return _mm512_mask_cmp_pd_mask(in, x, least_hit, _CMP_GE_OQ);
}

INLINE void sift_row(const double *row, const double *next, int64_t k, double least, Sieve *to, const int coarse) {
    Sift s = {0};
    int64_t groups = 0;
    const __m512d least_hit = _mm512_set1_pd(least);
    int64_t j = 0;
    for (; j + 8 <= k; j += 8) {
        __builtin_prefetch(next + j);
        groups = note_group(to->hits, groups, j, sift_columns(&s, row + j, 0xFF, to->list, least_hit, coarse));
    }
    __mmask8 rest = (__mmask8)((1u << (k - j)) - 1);
    to->groups = note_group(to->hits, groups, j, sift_columns(&s, row + j, rest, to->list, least_hit, coarse));
    to->levels.zeros = s.zeros;
    to->listed = s.listed;
    double before = 0.0;
    for (int level = 0; coarse && level < LEVELS; level++) {
        double up_to = _mm512_reduce_add_pd(s.levels[level]);
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

/* Eight rows at a time. */
static int pair_rows(Pair *a, int64_t n) {
    const __m512d one = _mm512_set1_pd(1.0), nothing = _mm512_setzero_pd();
    const __m512d low_limit = _mm512_set1_pd(a->low_limit);
    const __m512i one_i = _mm512_set1_epi64(1), places = _mm512_set1_epi64(a->places);
    const __m512i limit = _mm512_set1_epi64((int64_t)a->limit);
    const int any_near = a->limit != 0, any_low = a->low_limit > SPLIT; /* what is lower is not counted here */
    const double *p = a->p_block;
    const uint8_t *labels = a->y_block;
    /* Bits as unsigned numbers have the order of probabilities; what is none lies above those of one. */
    __m512i low = _mm512_set1_epi64(bits_of(a->low)), high = _mm512_set1_epi64(bits_of(a->high));
    __m512i seen = _mm512_setzero_si512();
    unsigned any = 0;
    for (int64_t i = 0; i < n; i += LANES) {
        __builtin_prefetch(p + i + PAIR_ROWS); /* of the next block: a page ahead, where no hardware looks */
        __m512d u = _mm512_add_pd(_mm512_loadu_pd(p + i), nothing), q = _mm512_sub_pd(one, u);
        __m512i y = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(labels + i)));
        seen = _mm512_or_si512(seen, y);
        low = _mm512_min_epu64(low, _mm512_castpd_si512(u));
        high = _mm512_max_epu64(high, _mm512_castpd_si512(u));
        __mmask8 above = _mm512_cmp_pd_mask(u, _mm512_set1_pd(0.5), _CMP_GE_OQ);
        __mmask8 below = (__mmask8)~above, yes = _mm512_test_epi64_mask(y, y);
        __m512d v = _mm512_mask_mov_pd(u, above, q), mirrored = _mm512_mask_sub_pd(q, below, one, q);
        __m512d realised = _mm512_mask_mov_pd(q, yes, u), middle = _mm512_set1_pd(1.0 + 0x1p-11);
        __m512i b = _mm512_castpd_si512(v), mask = _mm512_set1_epi64((1LL << SHIFT) - 1);
        b = _mm512_mask_sub_epi64(b, above, b, one_i);
        __m512i code = _mm512_srai_epi64(b, SHIFT);
        code = _mm512_sub_epi64(code, _mm512_set1_epi64((SPLIT_BITS >> SHIFT) - SPLIT_CODE));
        __mmask8 tiny = _mm512_cmplt_epi64_mask(b, _mm512_set1_epi64(SPLIT_BITS)), near = 0, is_low = 0;
        __mmask8 other = _mm512_cmp_pd_mask(realised, _mm512_set1_pd(SPLIT), _CMP_LE_OQ);
        if (tiny) {
            __mmask8 some = _mm512_test_epi64_mask(b, b);
            __m512i small = _mm512_srai_epi64(b, TINY_SHIFT);
            small = _mm512_sub_epi64(small, _mm512_set1_epi64((LEAST_BITS >> TINY_SHIFT) - 2));
            code = _mm512_mask_mov_epi64(code, tiny, _mm512_maskz_max_epi64(some, small, one_i));
            mask = _mm512_mask_mov_epi64(mask, tiny, _mm512_set1_epi64((1LL << TINY_SHIFT) - 1));
            middle = _mm512_mask_mov_pd(middle, tiny, _mm512_set1_pd(1.0 + 0x1p-7));
            other |= _mm512_cmp_pd_mask(u, _mm512_set1_pd(UNMIRRORED), _CMP_LT_OQ) & some & below;
        }
        code = _mm512_mask_sub_epi64(code, above, _mm512_set1_epi64(CODES - 1), code);
        code = _mm512_min_epu64(code, _mm512_set1_epi64(CODES - 1)); /* of a NaN */
        __m512i x = _mm512_or_si512(_mm512_and_si512(b, mask), _mm512_set1_epi64(UNIT_BITS));
        _mm512_storeu_pd(a->position + i, _mm512_sub_pd(_mm512_castsi512_pd(x), middle));
        if (any_near) {
            __m512i h = _mm512_castpd_si512(u);
            h = _mm512_mask_xor_epi64(h, yes, h, _mm512_set1_epi64((int64_t)ODD));
            h = _mm512_xor_si512(h, _mm512_srli_epi64(h, 32));
            h = _mm512_mullo_epi64(h, _mm512_set1_epi64((int64_t)MULTIPLY));
            near = _mm512_cmple_epu64_mask(h, limit);
        }
        if (any_low) is_low = _mm512_cmp_pd_mask(realised, low_limit, _CMP_LT_OQ);
        __mmask8 at_end = _mm512_testn_epi64_mask(_mm512_castpd_si512(mirrored), mask);
        at_end &= above | _mm512_cmp_pd_mask(mirrored, u, _CMP_LE_OQ);
        code = _mm512_mask_add_epi64(code, at_end, code, _mm512_set1_epi64(PARTS));
        __m512i at = _mm512_slli_epi64(_mm512_mask_add_epi64(code, yes, code, places), STEP_BITS);
        _mm256_storeu_si256((__m256i *)(a->at + i), _mm512_cvtepi64_epi32(at));
        ((uint8_t *)a->other)[i / LANES] = other;
        ((uint8_t *)a->is_near)[i / LANES] = near;
        ((uint8_t *)a->is_low)[i / LANES] = is_low;
        any |= other | near | is_low;
    }
    uint64_t least = _mm512_reduce_min_epu64(low), most = _mm512_reduce_max_epu64(high);
    a->bad = most > (uint64_t)UNIT_BITS || (uint64_t)_mm512_reduce_or_epi64(seen) > 1;
    memcpy(&a->low, &least, 8);
    memcpy(&a->high, &most, 8);
    return (int)any;
}

#endif
