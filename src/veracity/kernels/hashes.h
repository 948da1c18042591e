/* 64 bits from what a row holds; see hashes.py. */
#ifndef VERACITY_HASHES_H
#define VERACITY_HASHES_H

#include "native.h"

#define ODD 0x94D049BB133111EBULL
#define MULTIPLY 0xBF58476D1CE4E5B9ULL

INLINE uint64_t mixed(uint64_t h) { return (h ^ h >> 32) * MULTIPLY; }

INLINE uint64_t number_bits(const char *at, const int item) {
    double u;
    float single;
    memcpy(item == 4 ? (void *)&single : &u, at, (size_t)item);
    return (uint64_t)bits_of((item == 4 ? single : u) + 0.0);
}

/* Of outcomes, the probabilities that they had and those of the next class; asked for before they are needed. */
INLINE void hash_true(const char *p, int64_t n, int64_t k, int64_t row_step, int64_t column_step, const int64_t *y,
                      uint64_t *out, const int item) {
    enum { BEFORE = 16 };
    for (int64_t i = 0; i < n; i++, p += row_step) {
        if (i + BEFORE < n) __builtin_prefetch(p + BEFORE * row_step + y[i + BEFORE] * column_step);
        int64_t next = y[i] + 1 < k ? y[i] + 1 : 0;
        uint64_t h = mixed(((uint64_t)y[i] * ODD) ^ number_bits(p + y[i] * column_step, item));
        out[i] = mixed(h ^ number_bits(p + next * column_step, item));
    }
}

static PyObject *true_hashes(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *given[3];
    Py_buffer b[3];
    int count = 0, good = 0;
    if (!PyArg_ParseTuple(arguments, "OOO", &given[0], &given[1], &given[2])) return NULL;
    for (; count < 3; count++)
        if (PyObject_GetBuffer(given[count], &b[count], count == 2 ? PyBUF_CONTIG : PyBUF_STRIDED_RO) < 0) goto release;
    const int64_t *y = b[1].buf;
    int64_t n = b[2].len / 8, k = b[0].ndim == 2 ? b[0].shape[1] : 0;
    good = b[0].ndim == 2 && b[0].shape[0] == n && (b[0].itemsize == 4 || b[0].itemsize == 8) && b[1].len == n * 8 &&
           PyBuffer_IsContiguous(&b[1], 'C');
    for (int64_t i = 0; good && i < n; i++) good = (uint64_t)y[i] < (uint64_t)k;
    if (good && b[0].itemsize == 4)
        hash_true(b[0].buf, n, k, b[0].strides[0], b[0].strides[1], y, b[2].buf, 4);
    else if (good)
        hash_true(b[0].buf, n, k, b[0].strides[0], b[0].strides[1], y, b[2].buf, 8);
    else
        PyErr_SetString(PyExc_ValueError, "true_hashes takes a matrix, a column of each row and room for the hashes");
release:
    for (int i = 0; i < count; i++) PyBuffer_Release(&b[i]);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

#endif
