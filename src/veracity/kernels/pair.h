/* Two classes in one column: rows are counted by place and outcome, with the first moments of where in its cell each
 * lies. All sums of smooth functions follow from these (pair.py), so a row costs no logarithm, power or division. */
#ifndef VERACITY_PAIR_H
#define VERACITY_PAIR_H

#include "rows.h"
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define PAIR_WIDE __attribute__((target("avx512f,avx512dq,avx512vl")))
#endif

enum { PAIR_ROWS = 512, PAIR_AHEAD = 16 };
#define UNIT_BITS 0x3FF0000000000000LL
#define ODD 0x94D049BB133111EBULL /* the hash of sampling.py */
#define MULTIPLY 0xBF58476D1CE4E5B9ULL
#define UNMIRRORED 0x1p-40 /* below, 1 - p is too coarse to mirror the cells of p */
#define SPLIT 0x1p-14

typedef double moments __attribute__((vector_size(32), aligned(32), may_alias)); /* Σ1, Σx, Σx², Σx³ */

typedef struct {
    const char *p, *y;
    int64_t n, p_step, y_step, places;
    int item, y_item;
    const uint64_t *divided;   /* bit of each code that a cut divides, on its side or as seen from the other class */
    const int32_t *first_part; /* of each divided code */
    const double *part_edges;  /* lower edge of each part, then infinity */
    moments *table;            /* by place, by outcome; last a place for rows that are not counted here */
    uint64_t limit;            /* rows with a hash up to this are near */
    int64_t *others, *near, other_count, near_count;
    double lowest[LOWEST], low, high, low_limit;
    int64_t lowest_row[LOWEST];
    int lowest_count, bad;
    /* one block */
    const double *p_block; /* the input itself where it can be used as it lies */
    double copy[PAIR_ROWS], position[PAIR_ROWS];
    int64_t y_block[PAIR_ROWS];
    int32_t index[PAIR_ROWS + PAIR_AHEAD];
    uint8_t other[PAIR_ROWS / LANES], is_near[PAIR_ROWS / LANES], is_low[PAIR_ROWS / LANES], cut[PAIR_ROWS / LANES];
} Pair;

#define PAIR_LABELS(type)                                \
    for (int64_t i = 0; i < n; i++) {                    \
        type label;                                      \
        memcpy(&label, y + i * a->y_step, sizeof label); \
        a->y_block[i] = (int64_t)label;                  \
    }

CLONES static void pair_read(Pair *a, int64_t start, int64_t n) {
    const char *p = a->p + start * a->p_step, *y = a->y + start * a->y_step;
    int direct = a->item == 8 && a->p_step == 8 && (uintptr_t)p % 8 == 0 && n % LANES == 0;
    a->p_block = direct ? (const double *)p : a->copy;
    if (a->item == 8 && !direct)
        for (int64_t i = 0; i < n; i++) memcpy(a->copy + i, p + i * a->p_step, 8);
    else if (a->item == 4)
        for (int64_t i = 0; i < n; i++) {
            float x;
            memcpy(&x, p + i * a->p_step, 4);
            a->copy[i] = x;
        }
    switch (a->y_item) { /* unsigned, so that a negative label is too large to be one */
        case 1: PAIR_LABELS(uint8_t) break;
        case 2: PAIR_LABELS(uint16_t) break;
        case 4: PAIR_LABELS(uint32_t) break;
        default: PAIR_LABELS(int64_t)
    }
    for (int64_t i = n; i % LANES; i++) a->copy[i] = a->copy[0], a->y_block[i] = a->y_block[0];
}

/* Which rows need a closer look goes to the bits of other, is_near, is_low and cut; whether any does. */
static int pair_rows(Pair *a, int64_t n) {
    int any = 0;
    memset(a->other, 0, sizeof a->other);
    memset(a->is_near, 0, sizeof a->is_near);
    memset(a->is_low, 0, sizeof a->is_low);
    memset(a->cut, 0, sizeof a->cut);
    for (int64_t i = 0; i < n; i++) {
        double u = a->p_block[i] + 0.0, q = 1.0 - u; /* + 0.0 makes minus zero zero */
        int64_t y = a->y_block[i];
        if (!(u >= 0.0 && u <= 1.0) || (y & ~1LL)) {
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
        a->index[i] = 2 * (at_end ? code + (int32_t)PARTS : code) + (int32_t)y;
        uint64_t h = (uint64_t)bits_of(u) ^ (y ? ODD : 0);
        h = (h ^ h >> 32) * MULTIPLY;
        int other = realised < SPLIT || (u < UNMIRRORED && u > 0.0), near = h <= a->limit;
        int low = realised < a->low_limit, cut = (int)(a->divided[code >> 6] >> (code & 63)) & 1;
        any |= other | near | low | cut;
        a->other[i / LANES] |= (uint8_t)(other << i % LANES);
        a->is_near[i / LANES] |= (uint8_t)(near << i % LANES);
        a->is_low[i / LANES] |= (uint8_t)(low << i % LANES);
        a->cut[i / LANES] |= (uint8_t)(cut << i % LANES);
    }
    return any;
}

static void pair_count(const Pair *a, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double x = a->position[i], x2 = x * x;
        a->table[a->index[i]] += (moments){1.0, x, x2, x * x2};
    }
}

#ifdef PAIR_WIDE
/* The same eight rows at a time. */
PAIR_WIDE static int pair_rows_wide(Pair *a, int64_t n) {
    const __m512d one = _mm512_set1_pd(1.0), nothing = _mm512_setzero_pd();
    const __m512i one_i = _mm512_set1_epi64(1), fine = _mm512_set1_epi64((1LL << SHIFT) - 1);
    const __m512i wide_mask = _mm512_set1_epi64((1LL << TINY_SHIFT) - 1);
    __m512d low = _mm512_set1_pd(a->low), high = _mm512_set1_pd(a->high);
    unsigned bad = 0, any = 0;
    for (int64_t i = 0; i < n; i += LANES) {
        __m512d u = _mm512_add_pd(_mm512_loadu_pd(a->p_block + i), nothing), q = _mm512_sub_pd(one, u);
        __m512i y = _mm512_loadu_si512(a->y_block + i);
        __mmask8 inside = _mm512_cmp_pd_mask(u, nothing, _CMP_GE_OQ) & _mm512_cmp_pd_mask(u, one, _CMP_LE_OQ);
        bad |= (__mmask8)(~inside | _mm512_cmpgt_epu64_mask(y, one_i));
        low = _mm512_min_pd(low, u);
        high = _mm512_max_pd(high, u);
        __mmask8 above = _mm512_cmp_pd_mask(u, _mm512_set1_pd(0.5), _CMP_GE_OQ);
        __mmask8 below = (__mmask8)~above, yes = _mm512_test_epi64_mask(y, y);
        __m512d v = _mm512_mask_mov_pd(u, above, q), mirrored = _mm512_mask_sub_pd(q, below, one, q);
        __m512d realised = _mm512_mask_mov_pd(q, yes, u);
        __m512i b = _mm512_castpd_si512(v);
        b = _mm512_mask_sub_epi64(b, above, b, one_i);
        __mmask8 tiny = _mm512_cmplt_epi64_mask(b, _mm512_set1_epi64(SPLIT_BITS));
        __m512i mask = _mm512_mask_mov_epi64(fine, tiny, wide_mask);
        __m512i code = _mm512_srai_epi64(b, SHIFT);
        code = _mm512_sub_epi64(code, _mm512_set1_epi64((SPLIT_BITS >> SHIFT) - SPLIT_CODE));
        if (tiny) {
            __m512i small = _mm512_srai_epi64(b, TINY_SHIFT);
            small = _mm512_sub_epi64(small, _mm512_set1_epi64((LEAST_BITS >> TINY_SHIFT) - 2));
            code = _mm512_mask_mov_epi64(code, tiny, _mm512_maskz_max_epi64(_mm512_test_epi64_mask(b, b), small, one_i));
        }
        code = _mm512_mask_sub_epi64(code, above, _mm512_set1_epi64(CODES - 1), code);
        __m512i x = _mm512_or_si512(_mm512_and_si512(b, mask), _mm512_set1_epi64(UNIT_BITS));
        __m512d middle = _mm512_mask_mov_pd(_mm512_set1_pd(1.0 + 0x1p-11), tiny, _mm512_set1_pd(1.0 + 0x1p-7));
        _mm512_storeu_pd(a->position + i, _mm512_sub_pd(_mm512_castsi512_pd(x), middle));
        __m512i h = _mm512_castpd_si512(u);
        h = _mm512_mask_xor_epi64(h, yes, h, _mm512_set1_epi64((int64_t)ODD));
        h = _mm512_xor_si512(h, _mm512_srli_epi64(h, 32));
        h = _mm512_mullo_epi64(h, _mm512_set1_epi64((int64_t)MULTIPLY));
        __mmask8 other = _mm512_cmp_pd_mask(realised, _mm512_set1_pd(SPLIT), _CMP_LT_OQ);
        other |= _mm512_cmp_pd_mask(u, _mm512_set1_pd(UNMIRRORED), _CMP_LT_OQ) & _mm512_test_epi64_mask(b, b) & below;
        __mmask8 near = _mm512_cmple_epu64_mask(h, _mm512_set1_epi64((int64_t)a->limit));
        __mmask8 is_low = _mm512_cmp_pd_mask(realised, _mm512_set1_pd(a->low_limit), _CMP_LT_OQ);
        __m256i word = _mm512_i64gather_epi32(_mm512_srli_epi64(code, 5), (const int *)a->divided, 4);
        __m256i bit = _mm256_and_si256(_mm512_cvtepi64_epi32(code), _mm256_set1_epi32(31));
        __mmask8 cut = _mm256_test_epi32_mask(word, _mm256_sllv_epi32(_mm256_set1_epi32(1), bit));
        __mmask8 at_end = _mm512_testn_epi64_mask(_mm512_castpd_si512(mirrored), mask);
        at_end &= above | _mm512_cmp_pd_mask(mirrored, u, _CMP_LE_OQ);
        code = _mm512_mask_add_epi64(code, at_end, code, _mm512_set1_epi64(PARTS));
        __m512i index = _mm512_add_epi64(_mm512_add_epi64(code, code), y);
        _mm256_storeu_si256((__m256i *)(a->index + i), _mm512_cvtepi64_epi32(index));
        a->other[i / LANES] = other;
        a->is_near[i / LANES] = near;
        a->is_low[i / LANES] = is_low;
        a->cut[i / LANES] = cut;
        any |= other | near | is_low | cut;
    }
    a->low = _mm512_reduce_min_pd(low);
    a->high = _mm512_reduce_max_pd(high);
    a->bad = bad != 0;
    return (int)any;
}

PAIR_WIDE static void pair_count_wide(const Pair *a, int64_t n) {
    const __m256d one = _mm256_set1_pd(1.0);
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(a->table + a->index[i + PAIR_AHEAD], 1);
        __m256d x = _mm256_broadcast_sd(a->position + i), x2 = _mm256_mul_pd(x, x);
        __m256d powers = _mm256_mul_pd(_mm256_blend_pd(one, x, 10), _mm256_blend_pd(one, x2, 12));
        double *at = (double *)(a->table + a->index[i]);
        _mm256_store_pd(at, _mm256_add_pd(_mm256_load_pd(at), powers));
    }
}
#endif

#define EACH(bits, n)                           \
    for (int64_t g = 0; g < (n); g += LANES)    \
        for (unsigned set = (bits)[g / LANES]; set; set &= set - 1) \
            for (int64_t i = g + __builtin_ctz(set), once = i < (n); once; once = 0)

/* Rows of a block that need a closer look. */
static void pair_closer(Pair *a, int64_t start, int64_t n) {
    EACH(a->cut, n) {
        int32_t at = a->index[i] >> 1, part = a->first_part[at >= PARTS ? at - PARTS : at];
        while (a->part_edges[part + 1] <= a->p_block[i]) part++;
        a->index[i] = 2 * (2 * (int32_t)PARTS + part) + (int32_t)a->y_block[i];
    }
    EACH(a->is_near, n) a->near[a->near_count++] = start + i;
    EACH(a->other, n) {
        a->others[a->other_count++] = start + i;
        a->index[i] = (int32_t)(2 * a->places);
        a->is_low[i / LANES] &= (uint8_t)~(1u << i % LANES);
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
