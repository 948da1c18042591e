/* Vectors of VECTOR bytes, 16 as any processor has or 32 with AVX2: sums, logarithms, and cells of probabilities. */
#ifndef VERACITY_VECTORS_H
#define VERACITY_VECTORS_H

#if VECTOR == 32
#include <immintrin.h>
#endif
#include "pass.h"
#if VECTOR == 32 && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,popcnt,bmi,bmi2"))), apply_to = function)
#elif VECTOR == 32
#pragma GCC target("avx2,fma,popcnt,bmi,bmi2")
#endif

typedef double lanes __attribute__((vector_size(VECTOR), aligned(8), may_alias));
typedef int64_t masks __attribute__((vector_size(VECTOR), aligned(8), may_alias));
enum { LANES = VECTOR / 8 };

INLINE lanes load(const double *x) { return *(const lanes *)x; }

INLINE lanes all_lanes(double x) { return (lanes){0} + x; }

INLINE lanes chosen(masks which, lanes x, lanes y) { return (lanes)(((masks)x & which) | ((masks)y & ~which)); }

INLINE double total(lanes x) {
    double sums[LANES];
    memcpy(sums, &x, sizeof sums);
    for (int half = LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++) sums[l] += sums[l + half];
    return sums[0];
}

/* Logarithms, and ninth roots from them, of n numbers above zero. */
#if VECTOR > 16 && defined(__GLIBC_PREREQ)
#define HAS_VECTOR_LOG __GLIBC_PREREQ(2, 22)
#else
#define HAS_VECTOR_LOG 0
#endif
#if HAS_VECTOR_LOG
/* The C library's own for whole vectors, to 4 units in the last place. */
typedef double vector __attribute__((vector_size(VECTOR)));
extern vector _ZGVdN4v_log(vector), _ZGVdN4v_exp(vector);
static void log_and_root(const double *u, double *log_u, double *root, int64_t n) {
    for (int64_t i = 0; i < n; i += LANES) {
        vector logs = _ZGVdN4v_log(load(u + i));
        *(lanes *)(log_u + i) = logs;
        *(lanes *)(root + i) = _ZGVdN4v_exp(logs / 9.0);
    }
}
#else
static void log_and_root(const double *u, double *log_u, double *root, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        log_u[i] = log(u[i]);
        root[i] = exp(log_u[i] / 9.0);
    }
}
#endif

#if VECTOR == 32
/* The lanes that have all bits. */
INLINE uint32_t eight_set(__m256i masked) { return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(masked)); }
INLINE uint32_t four_set(__m256d masked) { return (uint32_t)_mm256_movemask_pd(masked); }

/* For each set of eight lanes, those in it first: one lane in each byte. */
#define LANE(set, l) ((uint64_t)((set) >> (l) & 1) * (l) << 8 * __builtin_popcount((set) & ((1 << (l)) - 1)))
#define FIRST_OF(set)                                                                                        \
    LANE(set, 0) | LANE(set, 1) | LANE(set, 2) | LANE(set, 3) | LANE(set, 4) | LANE(set, 5) | LANE(set, 6) | \
        LANE(set, 7)
#define FIRST_OF_4(set) FIRST_OF(set), FIRST_OF(set + 1), FIRST_OF(set + 2), FIRST_OF(set + 3)
#define FIRST_OF_16(set) FIRST_OF_4(set), FIRST_OF_4(set + 4), FIRST_OF_4(set + 8), FIRST_OF_4(set + 12)
#define FIRST_OF_64(set) FIRST_OF_16(set), FIRST_OF_16(set + 16), FIRST_OF_16(set + 32), FIRST_OF_16(set + 48)
static const uint64_t LANES_FIRST[256] = {FIRST_OF_64(0), FIRST_OF_64(64), FIRST_OF_64(128), FIRST_OF_64(192)};

/* Writes those of eight entries that are in a set, one after another; what follows them is overwritten. Their number. */
INLINE int64_t compress_eight(void *to, __m256i entries, uint32_t set) {
    __m256i first = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(LANES_FIRST + set)));
    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(entries, first));
    return _mm_popcnt_u32(set);
}

/* Lanes before the given number have all bits. */
INLINE __m256i eight_before(int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* The high halves of four and four numbers of 64 bits, in their order. */
INLINE __m256i high_halves(__m256i a, __m256i b) {
    __m256 both = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xDD);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0xD8);
}

/* Codes of eight numbers from the high halves of their bits, mirrored where `above` has bits: those from 1/2 up. */
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

/* Codes of the eight probabilities at p. */
INLINE __m256i codes_at(const double *p) {
    const __m256d none = _mm256_setzero_pd();
    __m256i bits[2], above[2], zero[2];
    for (int h = 0; h < 2; h++) {
        __m256d u = _mm256_add_pd(_mm256_loadu_pd(p + 4 * h), none); /* makes minus zero zero */
        __m256d upper = _mm256_cmp_pd(u, _mm256_set1_pd(0.5), _CMP_GE_OQ);
        __m256d v = _mm256_blendv_pd(u, _mm256_sub_pd(_mm256_set1_pd(1.0), u), upper);
        above[h] = _mm256_castpd_si256(upper);
        zero[h] = _mm256_castpd_si256(_mm256_cmp_pd(u, none, _CMP_EQ_OQ));
        bits[h] = _mm256_add_epi64(_mm256_castpd_si256(v), above[h]);
    }
    return eight_codes(high_halves(bits[0], bits[1]), high_halves(zero[0], zero[1]), high_halves(above[0], above[1]));
}
#endif

/* The cells of n probabilities. */
static void find_cells(const Grid *g, const double *p, int64_t n, int32_t *cell) {
    int64_t i = 0;
#if VECTOR == 32
    for (; i + 8 <= n; i += 8) {
        __m256i found = _mm256_i32gather_epi32(g->cell, codes_at(p + i), 4);
        _mm256_storeu_si256((__m256i *)(cell + i), found);
        for (uint32_t divided = eight_set(found); divided; divided &= divided - 1) {
            int64_t at = i + __builtin_ctz(divided);
            cell[at] = resolve(g, cell[at], p[at]);
        }
    }
#endif
    for (; i < n; i++) cell[i] = cell_of(g, p[i]);
}

#endif
