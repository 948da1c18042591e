/* Two classes in one column: rows are counted by place and outcome, with the first moments of where in its cell each
 * lies. All sums of smooth functions follow from these (pair.py), so a row costs no logarithm, power or division. */
#ifndef VERACITY_PAIR_H
#define VERACITY_PAIR_H

#include "hashes.h"
#include "rows.h"
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define PAIR_WIDE __attribute__((target("avx512f,avx512dq,avx512vl")))
#endif

enum { PAIR_ROWS = 512, PAIR_AHEAD = 32 };
#define UNIT_BITS 0x3FF0000000000000LL
#define UNMIRRORED 0x1p-40 /* below, 1 - p is too coarse to mirror the cells of p */
#define SPLIT 0x1p-14 /* itself, as 1 - p, still lies in a cell of those below: too wide for powers of what happened */
enum { STEP_BITS = 5, STEP = 1 << STEP_BITS }; /* bytes of moments */

typedef double moments __attribute__((vector_size(32), aligned(32), may_alias)); /* Σ1, Σx, Σx², Σx³ */

typedef struct {
    const char *p, *y;
    int64_t n, p_step, y_step, places;
    int item, y_item;
    const int32_t *first_part; /* of each code that a cut divides, on its side or as seen from the other class */
    const double *part_edges;  /* lower edge of each part, then infinity */
    moments *table;            /* by outcome, by place; the last place is for rows that are not counted here. Places
                                * of divided codes have a count below zero: their rows belong to parts. */
    uint64_t limit;            /* rows with a hash up to this are near; 0: none */
    int64_t *others, *near, other_count, near_count;
    double lowest[LOWEST], low, high, low_limit;
    int64_t lowest_row[LOWEST];
    int lowest_count, bad;
    /* one block */
    const double *p_block;  /* the input itself where it can be used as it lies */
    const uint8_t *y_block; /* likewise; 2 or more where a label is none */
    double copy[PAIR_ROWS], position[PAIR_ROWS];
    uint8_t labels[PAIR_ROWS];
    int32_t at[PAIR_ROWS + PAIR_AHEAD]; /* in the table, in bytes */
    uint64_t other[PAIR_ROWS / 64], is_near[PAIR_ROWS / 64], is_low[PAIR_ROWS / 64];
} Pair;

#define PAIR_LABELS(type)                                \
    for (int64_t i = 0; i < n; i++) {                    \
        type label;                                      \
        memcpy(&label, y + i * a->y_step, sizeof label); \
        a->labels[i] = label > 1 ? 2 : (uint8_t)label;   \
    }

CLONES static void pair_read(Pair *a, int64_t start, int64_t n) {
    const char *p = a->p + start * a->p_step, *y = a->y + start * a->y_step;
    int direct = a->item == 8 && a->p_step == 8 && (uintptr_t)p % 8 == 0 && n % LANES == 0;
    int direct_y = a->y_item == 1 && a->y_step == 1 && n % LANES == 0;
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
    for (int64_t i = n; i % LANES; i++) a->copy[i] = a->copy[0], a->labels[i] = a->labels[0];
}

/* Which rows need a closer look goes to the bits of other, is_near and is_low; whether any does. */
static int pair_rows(Pair *a, int64_t n) {
    int any = 0;
    memset(a->other, 0, sizeof a->other);
    memset(a->is_near, 0, sizeof a->is_near);
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
        a->at[i] = STEP * ((at_end ? code + (int32_t)PARTS : code) + y * (int32_t)a->places);
        uint64_t h = (uint64_t)bits_of(u) ^ (y ? ODD : 0);
        h = mixed(h);
        int other = realised <= SPLIT || (u < UNMIRRORED && u > 0.0), near = a->limit && h <= a->limit;
        int low = realised < a->low_limit;
        any |= other | near | low;
        a->other[i / 64] |= (uint64_t)other << i % 64;
        a->is_near[i / 64] |= (uint64_t)near << i % 64;
        a->is_low[i / 64] |= (uint64_t)low << i % 64;
    }
    return any;
}

/* Where a row is counted whose code a cut divides. Never a call from between wide vectors: code for narrow ones waits
 * hundreds of cycles there. */
INLINE moments *pair_part(const Pair *a, int64_t i) {
    int64_t at = a->at[i] / STEP, yes = at >= a->places, place = at - yes * a->places;
    int32_t part = a->first_part[place >= PARTS ? place - PARTS : place];
    while (a->part_edges[part + 1] <= a->p_block[i]) part++;
    return a->table + yes * a->places + 2 * PARTS + part;
}

static void pair_count(const Pair *a, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double x = a->position[i], x2 = x * x;
        moments *place = (moments *)((char *)a->table + a->at[i]);
        if ((*place)[0] < 0.0) place = pair_part(a, i);
        *place += (moments){1.0, x, x2, x * x2};
    }
}

#ifdef PAIR_WIDE
/* The same eight rows at a time. */
PAIR_WIDE static int pair_rows_wide(Pair *a, int64_t n) {
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

PAIR_WIDE static void pair_count_wide(const Pair *a, int64_t n) {
    const __m256d one = _mm256_set1_pd(1.0);
    const double *position = a->position;
    const int32_t *at = a->at;
    char *table = (char *)a->table;
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(table + at[i + PAIR_AHEAD], 1);
        __m256d x = _mm256_broadcast_sd(position + i), x2 = _mm256_mul_pd(x, x);
        __m256d powers = _mm256_mul_pd(_mm256_blend_pd(one, x, 10), _mm256_blend_pd(one, x2, 12));
        double *place = (double *)(table + at[i]);
        if (__builtin_expect(place[0] < 0.0, 0)) place = (double *)pair_part(a, i);
        _mm256_store_pd(place, _mm256_add_pd(_mm256_load_pd(place), powers));
    }
}
#endif

#define EACH(bits, n)                       \
    for (int64_t g = 0; g < (n); g += 64)   \
        for (uint64_t set = (bits)[g / 64]; set; set &= set - 1) \
            for (int64_t i = g + __builtin_ctzll(set), once = i < (n); once; once = 0)

/* Rows of a block that need a closer look. */
static void pair_closer(Pair *a, int64_t start, int64_t n) {
    EACH(a->is_near, n) a->near[a->near_count++] = start + i;
    EACH(a->other, n) {
        a->others[a->other_count++] = start + i;
        a->at[i] = STEP * (int32_t)(a->places - 1);
        a->is_low[i / 64] &= ~(1ULL << i % 64);
    }
    EACH(a->is_low, n) {
        double realised = a->y_block[i] ? a->p_block[i] : 1.0 - a->p_block[i];
        insert_lowest(a->lowest, a->lowest_row, &a->lowest_count, realised, start + i);
        if (a->lowest_count == LOWEST) a->low_limit = a->lowest[LOWEST - 1];
    }
}

/* Counts all rows; stops at one that cannot be. */
static void pair_run(Pair *a, int with_wide) {
    for (int64_t start = 0; start < a->n && !a->bad; start += PAIR_ROWS) {
        int64_t n = a->n - start < PAIR_ROWS ? a->n - start : PAIR_ROWS;
        pair_read(a, start, n);
#ifdef PAIR_WIDE
        int any = with_wide ? pair_rows_wide(a, n) : pair_rows(a, n);
#else
        int any = pair_rows(a, n);
#endif
        if (a->bad) return;
        if (any) pair_closer(a, start, n);
#ifdef PAIR_WIDE
        if (with_wide)
            pair_count_wide(a, n);
        else
#endif
            pair_count(a, n);
    }
}

#endif
