/* Two sweeps over a float32 row of many classes: is it a forecast, and where do its entries lie. */
#ifndef VERACITY_SWEEP_H
#define VERACITY_SWEEP_H

#include "native.h"

enum { LEVELS = 5 };                                      /* wide cells between 0 and 2^-14 */
static const int LEVEL_ENDS[LEVELS] = {30, 24, 20, 17, 14}; /* upper end of each: 2^-end; as WIDE in grid.py */
#define ONE_BITS 0x3F800000u
#define SPLIT_FLOAT 0x38800000 /* 2^-14 */
#define NESTED_FLOAT 0x3A800000 /* 2^-10 */

INLINE int32_t level_bits(int level) { return (127 - LEVEL_ENDS[level]) << 23; }
INLINE double level_end(int level) { return 1.0 / (double)(1LL << LEVEL_ENDS[level]); }

/* The place that stands for a level cell. */
INLINE int32_t level_place(int level) { return level ? code_of(level_end(level - 1)) : 1; }

/* Sums over the level cells of all rows of a thread; counts are those below each end. */
typedef struct {
    double sums[LEVELS];
    int64_t below[LEVELS], zeros;
} Levels;

/* Entries from 2^-10 up of a block of rows, by groups of 32 columns: float32 bits above those of 2^-14, and the column
 * in the group. Taken group by group, the cells they go to stay in the cache. And those of one row from 2^-14 to 2^-10,
 * which are counted only together. */
enum { GROUP = 32, COLUMN_SHIFT = 27 };
typedef struct {
    uint32_t *lists;
    int32_t *counts;
    int64_t room;
    uint32_t *small;
    int64_t small_count;
} Hits;

/* Bits of the largest and smallest entry, seen as unsigned: beyond those of 1 an entry is no probability, or minus
 * zero. Returns the sum. */
CLONES static double check_plain(const float *row, int64_t k, uint32_t *most, uint32_t *least) {
    double sum[2 * LANES] = {0};
    uint32_t high[2 * LANES] = {0}, low[2 * LANES];
    int64_t j = 0;
    memset(low, 255, sizeof low);
    for (; j + 2 * LANES <= k; j += 2 * LANES) {
        uint32_t bits[2 * LANES];
        memcpy(bits, row + j, sizeof bits);
        for (int l = 0; l < 2 * LANES; l++) {
            sum[l] += row[j + l];
            high[l] = bits[l] > high[l] ? bits[l] : high[l];
            low[l] = bits[l] < low[l] ? bits[l] : low[l];
        }
    }
    for (; j < k; j++) {
        uint32_t bits;
        memcpy(&bits, row + j, 4);
        sum[j % LANES] += row[j];
        high[0] = bits > high[0] ? bits : high[0];
        low[0] = bits < low[0] ? bits : low[0];
    }
    for (int l = 1; l < 2 * LANES; l++) {
        sum[0] += sum[l];
        high[0] = high[l] > high[0] ? high[l] : high[0];
        low[0] = low[l] < low[0] ? low[l] : low[0];
    }
    *most = high[0];
    *least = low[0];
    return sum[0];
}

/* Counts and sums of a row in the level cells, for floats or doubles. Sums of neighbouring ends are subtracted row by
 * row, so that the difference keeps its digits. */
INLINE void add_levels(const void *row, int is_float, int64_t k, Levels *levels) {
    double before = 0.0;
    lanes sums[LEVELS] = {{0}};
    masks below[LEVELS] = {{0}}, zeros = {0};
    for (int64_t j = 0; j < k; j += LANES) {
        double tail[LANES] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}; /* ones are in no level */
        lanes x;
        if (k - j < LANES) {
            for (int64_t l = 0; l < k - j; l++)
                tail[l] = is_float ? ((const float *)row)[j + l] : ((const double *)row)[j + l];
            memcpy(&x, tail, sizeof x);
        } else if (is_float)
            x = __builtin_convertvector(*(const floats *)((const float *)row + j), lanes);
        else
            x = *(const lanes *)((const double *)row + j);
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

/* Adds a row to the column sums, levels and hits; returns its sum of squares. Asks for the next row meanwhile.
 * Without clones: GCC 12 fails on the AVX2 one (internal error), and AVX-512 has its own function below. */
static double find_plain(const float *row, const float *next, int64_t k, double *columns, Levels *levels,
                                Hits *hits) {
    double square[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= k; j += LANES)
        for (int l = 0; l < LANES; l++) {
            double x = row[j + l];
            columns[j + l] += x;
            square[l] += x * x;
        }
    for (; j < k; j++) {
        columns[j] += row[j];
        square[0] += (double)row[j] * row[j];
    }
    for (int l = 1; l < LANES; l++) square[0] += square[l];
    add_levels(row, 1, k, levels);
    hits->small_count = 0;
    for (int64_t group = 0; group * GROUP < k; group++) {
        uint32_t *list = hits->lists + group * hits->room;
        int32_t count = hits->counts[group];
        for (int64_t c = 0; c < GROUP && group * GROUP + c < k; c++) {
            int32_t bits;
            memcpy(&bits, row + group * GROUP + c, 4);
            list[count] = (uint32_t)(bits - SPLIT_FLOAT) | (uint32_t)c << COLUMN_SHIFT;
            count += bits >= NESTED_FLOAT;
            hits->small[hits->small_count] = (uint32_t)(bits - SPLIT_FLOAT);
            hits->small_count += (bits >= SPLIT_FLOAT) & (bits < NESTED_FLOAT);
        }
        __builtin_prefetch(next + group * GROUP);
        __builtin_prefetch(next + group * GROUP + GROUP / 2);
        hits->counts[group] = count;
    }
    return square[0];
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define WIDE_VECTORS __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))

WIDE_VECTORS static double check_wide(const float *row, int64_t k, uint32_t *most, uint32_t *least) {
    __m512i high = _mm512_setzero_si512(), low = _mm512_set1_epi32(-1);
    __m512d even = _mm512_setzero_pd(), odd = even;
    for (int64_t j = 0; j < k; j += 16) {
        __mmask16 in = k - j >= 16 ? 0xFFFF : (__mmask16)((1u << (k - j)) - 1);
        __m512 x = _mm512_maskz_loadu_ps(in, row + j);
        __m512i bits = _mm512_castps_si512(x);
        high = _mm512_max_epu32(high, bits);
        low = _mm512_mask_min_epu32(low, in, low, bits);
        even = _mm512_add_pd(even, _mm512_cvtps_pd(_mm512_castps512_ps256(x)));
        odd = _mm512_add_pd(odd, _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)));
    }
    *most = _mm512_reduce_max_epu32(high);
    *least = _mm512_reduce_min_epu32(low);
    return _mm512_reduce_add_pd(_mm512_add_pd(even, odd));
}

WIDE_VECTORS static double find_wide(const float *row, const float *next, int64_t k, double *columns,
                                     Levels *levels, Hits *hits) {
    __m512d square = _mm512_setzero_pd(), square2 = square, sums[LEVELS];
    __m512i below[LEVELS], zeros = _mm512_setzero_si512(), minus = _mm512_set1_epi32(-1), ends[LEVELS];
    __m512i step = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i columns_of[2]; /* minus the bits of 2^-14, of the lower and upper half of a group */
    __m512i split = _mm512_set1_epi32(SPLIT_FLOAT), large = _mm512_set1_epi32(NESTED_FLOAT);
    int64_t middles = 0;
    columns_of[0] = _mm512_sub_epi32(_mm512_slli_epi32(step, COLUMN_SHIFT), split);
    columns_of[1] = _mm512_add_epi32(columns_of[0], _mm512_set1_epi32((int32_t)(16u << COLUMN_SHIFT)));
    for (int level = 0; level < LEVELS; level++) {
        sums[level] = square;
        below[level] = zeros;
        ends[level] = _mm512_set1_epi32(level_bits(level));
    }
    for (int64_t j = 0; j < k; j += 16) {
        __mmask16 in = k - j >= 16 ? 0xFFFF : (__mmask16)((1u << (k - j)) - 1);
        __m512i bits = _mm512_maskz_loadu_epi32(in, row + j);
        __builtin_prefetch(next + j);
        __m512d a = _mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_castsi512_si256(bits)));
        __m512d b = _mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_extracti64x4_epi64(bits, 1)));
        double *to = columns + j; /* padded to whole vectors */
        _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), a));
        _mm512_storeu_pd(to + 8, _mm512_add_pd(_mm512_loadu_pd(to + 8), b));
        square = _mm512_fmadd_pd(a, a, square);
        square2 = _mm512_fmadd_pd(b, b, square2);
        zeros = _mm512_mask_sub_epi32(zeros, _mm512_mask_testn_epi32_mask(in, bits, bits), zeros, minus);
        __mmask16 small = 0;
        for (int level = 0; level < LEVELS; level++) {
            small = _mm512_mask_cmplt_epi32_mask(in, bits, ends[level]);
            below[level] = _mm512_mask_sub_epi32(below[level], small, below[level], minus);
            sums[level] = _mm512_mask_add_pd(sums[level], (__mmask8)small, sums[level], a);
            sums[level] = _mm512_mask_add_pd(sums[level], (__mmask8)(small >> 8), sums[level], b);
        }
        __mmask16 hit = _mm512_cmpge_epi32_mask(bits, large), middle = (__mmask16)(in & ~small & ~hit);
        _mm512_storeu_si512(hits->small + middles, _mm512_maskz_compress_epi32(middle, _mm512_sub_epi32(bits, split)));
        middles += __builtin_popcount(middle);
        int64_t group = j / GROUP;
        uint32_t *list = hits->lists + group * hits->room + hits->counts[group];
        __m512i entry = _mm512_add_epi32(bits, columns_of[j / 16 % 2]);
        _mm512_storeu_si512(list, _mm512_maskz_compress_epi32(hit, entry));
        hits->counts[group] += __builtin_popcount(hit);
    }
    hits->small_count = middles;
    levels->zeros += _mm512_reduce_add_epi32(zeros);
    for (int level = LEVELS - 1; level >= 0; level--) {
        if (level) sums[level] = _mm512_sub_pd(sums[level], sums[level - 1]);
        levels->sums[level] += _mm512_reduce_add_pd(sums[level]);
        levels->below[level] += _mm512_reduce_add_epi32(below[level]);
    }
    return _mm512_reduce_add_pd(_mm512_add_pd(square, square2));
}

static int has_wide(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#else
#define check_wide check_plain
#define find_wide find_plain
static int has_wide(void) { return 0; }
#endif

#endif
