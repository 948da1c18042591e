/* Two classes in one column: rows are counted by place and outcome, with the first moments of where in its cell each
 * lies. All sums of smooth functions follow from these (pair.py), so a row costs no logarithm, power or division. */
#ifndef VERACITY_PAIR_H
#define VERACITY_PAIR_H

#include "rows.h"

#define UNIT_BITS 0x3FF0000000000000LL
#define UNMIRRORED 0x1p-40 /* below, 1 - p is too coarse to mirror the cells of p */
#define SPLIT 0x1p-14 /* as 1 - p it lies in a cell of those below: too wide for powers of the outcome's probability */
enum { STEP_BITS = 5, STEP = 1 << STEP_BITS }; /* bytes of moments */

#define PAIR_LABELS(type)                                \
    for (int64_t i = 0; i < n; i++) {                    \
        type label;                                      \
        memcpy(&label, y + i * a->y_step, sizeof label); \
        a->labels[i] = label > 1 ? 2 : (uint8_t)label;   \
    }

static void pair_read(Pair *a, int64_t start, int64_t n) {
    const char *p = a->p + start * a->p_step, *y = a->y + start * a->y_step;
    int direct = a->item == 8 && a->p_step == 8 && (uintptr_t)p % 8 == 0 && n % PAIR_BITS == 0;
    int direct_y = a->y_item == 1 && a->y_step == 1 && n % PAIR_BITS == 0;
    a->p_block = direct ? (const double *)p : a->copy;
    a->y_block = direct_y ? (const uint8_t *)y : a->labels;
    if (a->item == 8 && !direct)
        for (int64_t i = 0; i < n; i++) memcpy(a->copy + i, p + i * a->p_step, 8);
    else if (a->item == 4)
        for (int64_t i = 0; i < n; i++) {
            float x;
            memcpy(&x, p + i * a->p_step, 4);
            a->copy[i] = x;
        }
    switch (direct_y ? 0 : a->y_item) { /* unsigned, so that a negative label is too large to be one */
        case 0: break;
        case 1: PAIR_LABELS(uint8_t) break;
        case 2: PAIR_LABELS(uint16_t) break;
        case 4: PAIR_LABELS(uint32_t) break;
        default: PAIR_LABELS(uint64_t)
    }
    for (int64_t i = n; i % PAIR_BITS; i++) a->copy[i] = a->copy[0], a->labels[i] = a->labels[0];
}

#if VECTOR == 32
/* What is said of four rows: each lane of a mask has all bits or none. */
typedef struct {
    __m256i bits, zero, above, yes, at_end;
    uint32_t other, low;
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
        code = _mm256_add_epi32(code, _mm256_and_si256(high_halves(f.at_end, g.at_end), _mm256_set1_epi32((int)CODES)));
        code = _mm256_add_epi32(code, _mm256_and_si256(high_halves(f.yes, g.yes), _mm256_set1_epi32((int)a->places)));
        _mm256_storeu_si256((__m256i *)(a->at + i), _mm256_slli_epi32(code, STEP_BITS));
        ((uint8_t *)a->other)[i / 8] = (uint8_t)(f.other | g.other << 4);
        ((uint8_t *)a->is_low)[i / 8] = (uint8_t)(f.low | g.low << 4);
        any |= f.other | g.other | f.low | g.low;
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
#else
/* Which rows need a closer look goes to the bits of other and is_low; whether any does. */
static int pair_rows(Pair *a, int64_t n) {
    int any = 0;
    memset(a->other, 0, sizeof a->other);
    memset(a->is_low, 0, sizeof a->is_low);
    for (int64_t i = 0; i < n; i++) {
        double u = a->p_block[i] + 0.0, q = 1.0 - u; /* + 0.0 makes minus zero zero */
        int y = a->y_block[i];
        if (!(u >= 0.0 && u <= 1.0) || y > 1) {
            a->bad = 1;
            return 0;
        }
        if (u < a->low) a->low = u;
        if (u > a->high) a->high = u;
        int above = u >= 0.5;
        double v = above ? q : u, mirrored = above ? q : 1.0 - q, realised = y ? u : q;
        int64_t b = bits_of(v) - above;
        int tiny = b < SPLIT_BITS;
        int64_t mask = (1LL << (tiny ? TINY_SHIFT : SHIFT)) - 1, x = (b & mask) | UNIT_BITS;
        memcpy(a->position + i, &x, 8);
        a->position[i] -= tiny ? 1.0 + 0x1p-7 : 1.0 + 0x1p-11;
        int32_t code = code_of(u);
        int at_end = !(bits_of(mirrored) & mask) && (above || mirrored <= u);
        a->at[i] = STEP * ((at_end ? code + (int32_t)CODES : code) + y * (int32_t)a->places);
        int other = realised <= SPLIT || (u < UNMIRRORED && u > 0.0);
        int low = realised < a->low_limit;
        any |= other | low;
        a->other[i / 64] |= (uint64_t)other << i % 64;
        a->is_low[i / 64] |= (uint64_t)low << i % 64;
    }
    return any;
}
#endif

/* Where a row is counted whose code a cut divides. */
INLINE moments *pair_part(const Pair *a, int64_t i) {
    int64_t at = a->at[i] / STEP, yes = at >= a->places, place = at - yes * a->places;
    int64_t part = a->first_part[place >= CODES ? place - CODES : place];
    while (part + 1 < a->parts && a->part_edges[part + 1] <= a->p_block[i]) part++;
    return a->table + yes * a->places + 2 * CODES + part;
}

INLINE moments moments_of(const double *position) {
#if VECTOR > 16
    __m256d one = _mm256_set1_pd(1.0), x = _mm256_broadcast_sd(position), x2 = _mm256_mul_pd(x, x);
    return (moments)_mm256_mul_pd(_mm256_blend_pd(one, x, 10), _mm256_blend_pd(one, x2, 12));
#else
    double x = *position;
    return (moments){1.0, x, x * x, x * x * x};
#endif
}

static void pair_count(const Pair *a, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        moments *place = (moments *)((char *)a->table + a->at[i]);
        __builtin_prefetch((char *)a->table + a->at[i + PAIR_AHEAD], 1);
        if (__builtin_expect((*place)[0] < 0.0, 0)) place = pair_part(a, i);
        *place += moments_of(a->position + i);
    }
}

#define EACH(bits, n)                       \
    for (int64_t g = 0; g < (n); g += 64)   \
        for (uint64_t set = (bits)[g / 64]; set; set &= set - 1) \
            for (int64_t i = g + __builtin_ctzll(set), once = i < (n); once; once = 0)

/* Rows of a block that need a closer look. */
static void pair_closer(Pair *a, int64_t start, int64_t n) {
    EACH(a->other, n) {
        a->others[a->other_count++] = start + i;
        a->at[i] = STEP * (int32_t)(a->places - 1);
        a->is_low[i / 64] &= ~(1ULL << i % 64);
    }
    EACH(a->is_low, n) {
        double realised = a->y_block[i] ? a->p_block[i] : 1.0 - a->p_block[i];
        keep_lowest(a->lowest, a->lowest_row, &a->lowest_count, realised, start + i);
        if (a->lowest_count == LOWEST) a->low_limit = a->lowest[LOWEST - 1];
    }
}

/* Counts all rows; stops at one that cannot be. */
static void count_pairs(Pair *a) {
    for (int64_t start = 0; start < a->n && !a->bad; start += PAIR_ROWS) {
        int64_t n = a->n - start < PAIR_ROWS ? a->n - start : PAIR_ROWS;
        pair_read(a, start, n);
        int any = pair_rows(a, n);
        if (a->bad) return;
        if (any) pair_closer(a, start, n);
        pair_count(a, n);
    }
}

#endif
