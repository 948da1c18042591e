/* 64 bits from a forecast alone; hashes.py says what they are. */
#ifndef VERACITY_HASH_H
#define VERACITY_HASH_H

#include "vectors.h"

#define KEY 0x9E3779B1u
#define SEED 0x9E3779B97F4A7C15ULL
#define MULTIPLY 0xBF58476D1CE4E5B9ULL

INLINE uint64_t mixed(uint64_t h) { return (h ^ h >> 32) * MULTIPLY; }

/* The hash of a probability that is a forecast by itself. */
INLINE uint64_t hash_of_one(double p) { return mixed((uint64_t)bits_of(p + 0.0) ^ SEED); }

/* What an entry adds to the sum of its row. */
INLINE uint64_t entry_hash(float p) {
    uint32_t bits = float_bits(p + 0.0f), other = bits * KEY;
    return (uint64_t)bits * (other ^ other >> 15);
}

INLINE uint64_t hash_of_sum(uint64_t sum) { return mixed(mixed(sum ^ SEED)); }

INLINE uint64_t hash_of_row(const char *row, int64_t k, int item, int64_t step) {
    uint64_t sum = 0;
    for (int64_t j = 0; j < k; j++) sum += entry_hash((float)value_at(row, item, step, j));
    return hash_of_sum(sum);
}

static void hash_rows(const Hashing *a) {
    for (int64_t i = 0; i < a->n; i++) {
        const char *row = a->p + i * a->row_step;
        if (a->one_column)
            a->out[i] = hash_of_one(value_at(row, a->item, 0, 0));
        else if (a->item == 4 && a->column_step == 4)
            a->out[i] = hash_of_row(row, a->k, 4, 4);
        else if (a->item == 8 && a->column_step == 8)
            a->out[i] = hash_of_row(row, a->k, 8, 8);
        else
            a->out[i] = hash_of_row(row, a->k, a->item, a->column_step);
    }
}

#endif
