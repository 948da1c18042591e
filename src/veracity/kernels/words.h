/* Cells of float32 entries without weights. An entry adds one integer to its cell: a count above and the mantissa bits
 * below the cell's edge, so that one update of eight bytes holds both the count and the exact sum of the cell. */
#ifndef VERACITY_WORDS_H
#define VERACITY_WORDS_H

#include "sweep.h"

#define COUNT_SHIFT 40
#define ONE_ENTRY (1ULL << COUNT_SHIFT)

/* A word is the code of an entry above 17 bits for where it lies in its code: all that a float has below six
 * mantissa bits, or what it has below ten, times 2^FINER. Codes are those of the grid, but for floats below 2^-126. */
enum { WORD_SHIFT = 17, FINER = 4, FIRST_FINE = SPLIT_FLOAT >> WORD_SHIFT };
#define NORMAL_FLOAT 0x00800000 /* 2^-126 */
#define FINE_CODE(bits) (FIRST_FINE + (((bits) - SPLIT_FLOAT) >> (WORD_SHIFT - FINER)))
enum { NORMAL_CODE = NORMAL_FLOAT >> WORD_SHIFT, LOW_CODES = FINE_CODE(HALF_FLOAT) };
enum { LIST_CODES = FINE_CODE(0x3F800000) + 1 }; /* of anything up to 1 */

INLINE float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

INLINE uint32_t float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

/* The float of a word, and the smallest of a list code. */
INLINE uint32_t bits_of_word(uint32_t word) {
    return word < SPLIT_FLOAT ? word : SPLIT_FLOAT + ((word - SPLIT_FLOAT) >> FINER);
}
INLINE uint32_t first_bits(int32_t c) { return bits_of_word((uint32_t)c << WORD_SHIFT); }
INLINE int32_t list_place(int32_t c) { return code_of(float_of(first_bits(c))); }

INLINE uint32_t word_of(uint32_t bits) {
    uint32_t fine = ((bits - SPLIT_FLOAT) << FINER) + SPLIT_FLOAT;
    return bits < SPLIT_FLOAT ? bits : fine;
}

/* Words of floats, and of numbers that were floats; minus zeros among these are zeros. */
static void find_words(const void *restrict entries, int64_t count, uint32_t *restrict words) {
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)entries + 4 * i, 4);
        words[i] = word_of(bits);
    }
}

static void words_of_doubles(const double *restrict p, int64_t n, uint32_t *restrict words) {
    for (int64_t i = 0; i < n; i++) {
        float x = (float)(p[i] + 0.0);
        memcpy(words + i, &x, 4);
    }
    for (int64_t i = 0; i < n; i++) words[i] = word_of(words[i]);
}

/* Moves counts and sums of the cells below 1/2 to a histogram. Entries of divided codes are there already. */
static void unpack_words(Work *w, uint64_t *cells, int64_t h) {
    Scratch *s = &w->scratch;
    for (int32_t c = NORMAL_CODE; c < LOW_CODES; c++) {
        uint64_t held = cells[c];
        int32_t place = list_place(c);
        cells[c] = 0;
        if (!held || is_divided(&w->job->grid, place)) continue;
        uint64_t one = ONE_ENTRY + ((uint64_t)c << WORD_SHIFT); /* where nothing of a code was above its edge */
        int64_t count = (int64_t)(held / one);
        uint32_t bits = first_bits(c);
        double edge = float_of(bits), step = (float_of(bits + 1) - edge) / (c < FIRST_FINE ? 1 : 1 << FINER);
        slot *r = s->all + (h * w->job->grid.places + place) * 2;
        if (r->i == 0) touch(s->touched + h * w->job->grid.words, place, edge);
        r[0].i += count;
        r[1].d += (double)count * edge + (double)(held % one) * step;
    }
    memset(cells + LOW_CODES, 0, (LIST_CODES - LOW_CODES) * sizeof *cells);
}

#endif
