/* The inner loops for processors with vectors of eight floats or four doubles (AVX2). */
#ifndef VERACITY_VECTORS256_H
#define VERACITY_VECTORS256_H

#include <immintrin.h>

#include "pair.h"
#include "sift.h"

#define EIGHT_FLOATS __attribute__((target("avx2,fma,bmi,bmi2,popcnt")))

/* For each set of eight lanes, those in it first: one lane in each byte. */
static uint64_t lanes_first[256];

static void find_lanes_first(void) {
    for (int set = 0; set < 256; set++) {
        lanes_first[set] = 0;
        for (uint64_t lane = 0, to = 0; lane < 8; lane++)
            if (set >> lane & 1) lanes_first[set] |= lane << 8 * to++;
    }
}

typedef struct {
    __m256i high, low, below[LEVELS];
    __m256 sum;
    __m256d squares[2], levels[LEVELS][2];
    int64_t listed;
} SweepEight;

/* Those of eight entries that are in a set, one after another; what follows them is overwritten. */
EIGHT_FLOATS INLINE int64_t compress_eight(uint32_t *to, __m256i entries, uint32_t set) {
    __m256i first = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(lanes_first + set)));
    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(entries, first));
    return _mm_popcnt_u32(set);
}

EIGHT_FLOATS INLINE uint32_t set_of(__m256i lanes) { return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(lanes)); }

/* Eight columns of a row; those not in it are zeros, and `in` is nothing for them. */
EIGHT_FLOATS INLINE void sweep_eight(SweepEight *s, const float *row, double *columns, uint32_t *list, uint8_t *hits,
                                     __m256i below_hits, const int coarse) {
    __m256 x = _mm256_loadu_ps(row);
    __m256i bits = _mm256_castps_si256(x);
    __m256d half[2] = {_mm256_cvtps_pd(_mm_loadu_ps(row)), _mm256_cvtps_pd(_mm_loadu_ps(row + 4))};
    s->high = _mm256_max_epu32(s->high, bits);
    s->low = _mm256_min_epu32(s->low, bits);
    s->sum = _mm256_add_ps(s->sum, x);
    *hits = (uint8_t)set_of(_mm256_cmpgt_epi32(bits, below_hits));
    for (int h = 0; h < 2; h++) {
        double *to = columns + 4 * h;
        _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), half[h]));
        s->squares[h] = _mm256_fmadd_pd(half[h], half[h], s->squares[h]);
    }
    if (!coarse) return;
    __m256i small = _mm256_setzero_si256();
    for (int level = 0; level < LEVELS; level++) {
        small = _mm256_cmpgt_epi32(_mm256_set1_epi32(level_bits(level)), bits);
        s->below[level] = _mm256_sub_epi32(s->below[level], small);
        for (int h = 0; h < 2; h++) {
            __m256d part = _mm256_and_pd(half[h], _mm256_cmp_pd(half[h], _mm256_set1_pd(level_end(level)), _CMP_LT_OQ));
            s->levels[level][h] = _mm256_add_pd(s->levels[level][h], part);
        }
    }
    s->listed += compress_eight(list + s->listed, bits, set_of(small) ^ 255);
}

EIGHT_FLOATS INLINE double sum_of_lanes(__m256d a, __m256d b) {
    double x[4];
    _mm256_storeu_pd(x, _mm256_add_pd(a, b));
    return (x[0] + x[1]) + (x[2] + x[3]);
}

EIGHT_FLOATS INLINE void sweep_row_256(const float *row, const float *next, int64_t k, double *columns, Levels *levels,
                                       Swept *found, const int coarse) {
    SweepEight s = {.low = _mm256_set1_epi32(-1)};
    const __m256i below_hits = _mm256_set1_epi32(found->least_hit - 1);
    uint8_t *hits = (uint8_t *)found->hits;
    int64_t j = 0;
    for (; j + 16 <= k; j += 16, hits += 2) {
        __builtin_prefetch(next + j);
        sweep_eight(&s, row + j, columns + j, found->list, hits, below_hits, coarse);
        sweep_eight(&s, row + j + 8, columns + j + 8, found->list, hits + 1, below_hits, coarse);
    }
    for (; j < k; j += 8) {
        float rest[8] = {0};
        int64_t count = k - j < 8 ? k - j : 8;
        memcpy(rest, row + j, (size_t)count * sizeof *rest);
        /* Zeros beyond the row are in every level and in none of the rest; the smallest entry is one of the row. */
        for (int64_t i = count; i < 8; i++) rest[i] = 0.0f;
        __m256i low = s.low;
        sweep_eight(&s, rest, columns + j, found->list, hits++, below_hits, coarse);
        s.low = low;
        for (int64_t i = 0; i < count; i++) {
            uint32_t bits;
            memcpy(&bits, rest + i, 4);
            s.low = _mm256_min_epu32(s.low, _mm256_set1_epi32((int32_t)bits));
        }
    }
    hits[0] = 0; /* words of two bytes */
    float sums[8];
    uint32_t high[8], low[8], below[LEVELS][8];
    _mm256_storeu_ps(sums, s.sum);
    _mm256_storeu_si256((__m256i *)high, s.high);
    _mm256_storeu_si256((__m256i *)low, s.low);
    found->sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    found->squares = sum_of_lanes(s.squares[0], s.squares[1]);
    found->most = high[0];
    found->least = low[0];
    for (int l = 1; l < 8; l++) {
        found->most = high[l] > found->most ? high[l] : found->most;
        found->least = low[l] < found->least ? low[l] : found->least;
    }
    if (found->least == 0)
        for (int64_t i = 0; i < k; i++) levels->zeros += row[i] == 0.0f;
    if (!coarse) return;
    int64_t beyond = (k + 7) / 8 * 8 - k;
    found->listed = s.listed;
    double before = 0.0;
    for (int level = 0; level < LEVELS; level++) {
        double up_to = sum_of_lanes(s.levels[level][0], s.levels[level][1]);
        _mm256_storeu_si256((__m256i *)below[level], s.below[level]);
        levels->sums[level] += up_to - before;
        for (int l = 0; l < 8; l++) levels->below[level] += below[level][l];
        levels->below[level] -= beyond;
        before = up_to;
    }
}

EIGHT_FLOATS static void sweep_256(const float *row, const float *next, int64_t k, double *columns, Levels *levels,
                                   Swept *found) {
    if (found->coarse)
        sweep_row_256(row, next, k, columns, levels, found, 1);
    else
        sweep_row_256(row, next, k, columns, levels, found, 0);
}

EIGHT_FLOATS static int64_t pick_256(const uint32_t *list, int64_t count, int shift, uint32_t code, uint32_t *to) {
    int64_t picked = 0, i = 0;
    __m256i wanted = _mm256_set1_epi32((int32_t)code);
    for (; i + 8 <= count; i += 8) {
        __m256i entries = _mm256_loadu_si256((const __m256i *)(list + i));
        uint32_t same = set_of(_mm256_cmpeq_epi32(_mm256_srli_epi32(entries, shift), wanted));
        if (same) picked += compress_eight(to + picked, entries, same);
    }
    for (; i < count; i++) {
        to[picked] = list[i];
        picked += list[i] >> shift == code;
    }
    return picked;
}

EIGHT_FLOATS static int64_t hits_256(const uint16_t *hits, int64_t k, uint32_t *columns) {
    return hit_columns(hits, k, columns);
}

/* The C library's own for four numbers at a time, to 4 units in the last place. */
#if defined(__GLIBC__)
typedef double four __attribute__((vector_size(32)));
typedef double four_lanes __attribute__((vector_size(32), aligned(8), may_alias));
extern four _ZGVdN4v_log(four);
extern four _ZGVdN4v_exp(four);
EIGHT_FLOATS static void log_and_root_256(const double *u, double *log_u, double *root, int64_t n) {
    for (int64_t i = 0; i < n; i += 4) {
        four logs = _ZGVdN4v_log(*(const four_lanes *)(u + i));
        *(four_lanes *)(log_u + i) = logs;
        *(four_lanes *)(root + i) = _ZGVdN4v_exp(logs / 9.0);
    }
}
#else
#define log_and_root_256 log_and_root
#endif

static const Vectors VECTORS_256 = {32,         sweep_256,        pick_256,  hits_256,
                                    sift_plain, log_and_root_256, pair_rows, pair_count};

static int has_256(void) {
    int has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    if (has) find_lanes_first();
    return has;
}

#endif
