/* What a float64 row of many classes is sifted into: its hits, and on the coarse grid its levels and what lies above. */
#ifndef VERACITY_SIFT_H
#define VERACITY_SIFT_H

#include "sweep.h"

/* Counts and sums of a row of doubles in the level cells. Sums of neighbouring ends are subtracted row by row, so
 * that the difference keeps its digits. */
INLINE void add_levels(const double *row, int64_t k, Levels *levels) {
    double before = 0.0;
    lanes sums[LEVELS] = {{0}};
    masks below[LEVELS] = {{0}}, zeros = {0};
    for (int64_t j = 0; j < k; j += LANES) {
        double tail[LANES] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}; /* ones are in no level */
        lanes x;
        if (k - j < LANES) {
            memcpy(tail, row + j, (size_t)(k - j) * sizeof *tail);
            memcpy(&x, tail, sizeof x);
        } else
            memcpy(&x, row + j, sizeof x);
        zeros -= (masks)(x == all_lanes(0.0));
        for (int level = 0; level < LEVELS; level++) {
            masks small = (masks)(x < all_lanes(level_end(level)));
            sums[level] += (lanes)((masks)x & small);
            below[level] -= small;
        }
    }
    for (int l = 0; l < LANES; l++) levels->zeros += zeros[l];
    for (int level = 0; level < LEVELS; level++) {
        double sum = 0.0;
        for (int l = 0; l < LANES; l++) {
            sum += sums[level][l];
            levels->below[level] += below[level][l];
        }
        levels->sums[level] += sum - before;
        before = sum;
    }
}

/* Sifts a row, and asks for the next one meanwhile. */
CLONES static void sift_plain(const double *row, const double *next, int64_t k, const Grid *g, Sieve *to) {
    memset(&to->levels, 0, sizeof to->levels);
    to->listed = 0;
    if (g->coarse) add_levels(row, k, &to->levels);
    for (int64_t start = 0; start < k; start += HIT_COLUMNS) {
        uint32_t hits = 0;
        __builtin_prefetch(next + start);
        __builtin_prefetch(next + start + HIT_COLUMNS / 2);
        for (int64_t c = 0; c < HIT_COLUMNS && start + c < k; c++) {
            double u = row[start + c];
            to->list[to->listed] = u;
            to->listed += u >= level_end(LEVELS - 1);
            hits |= (uint32_t)(u >= g->least_hit) << c;
        }
        to->hits[start / HIT_COLUMNS] = (uint16_t)hits;
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
typedef struct {
    __m512d levels[LEVELS];
    int64_t below[LEVELS], zeros, listed;
} Sift;

/* Eight columns of a row of doubles, or those of them that are `in` it; which of them are hits. */
WIDE_VECTORS INLINE __mmask8 sift_columns(Sift *s, const double *row, __mmask8 in, double *list, __m512d least_hit,
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

WIDE_VECTORS INLINE void sift_row(const double *row, const double *next, int64_t k, double least, Sieve *to,
                                  const int coarse) {
    Sift s = {0};
    uint8_t *hits = (uint8_t *)to->hits;
    const __m512d least_hit = _mm512_set1_pd(least);
    int64_t j = 0;
    for (; j + 8 <= k; j += 8) {
        __builtin_prefetch(next + j);
        *hits++ = sift_columns(&s, row + j, 0xFF, to->list, least_hit, coarse);
    }
    *hits++ = sift_columns(&s, row + j, (__mmask8)((1u << (k - j)) - 1), to->list, least_hit, coarse);
    *hits = 0;
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

WIDE_VECTORS static void sift_wide(const double *row, const double *next, int64_t k, const Grid *g, Sieve *to) {
    if (g->coarse)
        sift_row(row, next, k, g->least_hit, to, 1);
    else
        sift_row(row, next, k, g->least_hit, to, 0);
}
#else
#define sift_wide sift_plain
#endif

#endif
