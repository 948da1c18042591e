/* Sums over the cells of a histogram: what bins hold, gaps of calibration errors, cells with true entries. */
#ifndef VERACITY_SUMS_H
#define VERACITY_SUMS_H

#include "rows.h"

enum { MOST_GAPS = 64 }; /* bins of a calibration error */

/* How many of n ascending cells come before one. No branches: where a cell lies is as good as random. */
INLINE int64_t cells_before(const int32_t *cells, int64_t n, int64_t cell) {
    const int32_t *from = cells;
    for (; n > 1; n -= n / 2) from += from[n / 2 - 1] < cell ? n / 2 : 0;
    return from - cells + (n == 1 && from[0] < cell);
}

INLINE double total_of(const double *x, int64_t n) {
    lanes held = {0};
    double rest = 0.0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) held += *(const lanes *)(x + i);
    for (; i < n; i++) rest += x[i];
    return total(held) + rest;
}

INLINE int64_t count_of(const int64_t *x, int64_t n) {
    int64_t held = 0;
    for (int64_t i = 0; i < n; i++) held += x[i];
    return held;
}

/* Columns of a histogram; those of weights, or of logarithms, may be missing. */
typedef struct {
    const int32_t *cells;
    const int64_t *all, *yes;
    const double *sum, *log, *weight, *yes_weight, *yes_weight2;
} Cells;

/* out (11, bins): what curves.Curve holds of bins that begin at the cells `start`; bins without cells are left out, and
 * how many are left is returned. */
static int64_t binned(const Cells *h, int64_t n, const int64_t *start, int64_t bins, const double *ends,
                      int64_t last, slot *out) {
    int64_t found = 0;
    for (int64_t b = 0, i = bins ? cells_before(h->cells, n, start[0]) : 0, size; b < bins; b++, i += size) {
        int64_t stop = b + 1 < bins ? start[b + 1] : last;
        size = b + 1 < bins ? cells_before(h->cells + i, n - i, stop) : n - i;
        if (size == 0) continue;
        int64_t all = count_of(h->all + i, size), yes = count_of(h->yes + i, size);
        double weight = h->weight ? total_of(h->weight + i, size) : (double)all;
        double yes_weight = h->yes_weight ? total_of(h->yes_weight + i, size) : (double)yes;
        double log = h->log ? total_of(h->log + i, size) / yes_weight : NAN;
        slot *to = out + found++;
#define PUT(row, kind, value) to[(row) * bins].kind = (value)
        PUT(0, i, start[b]);
        PUT(1, i, all);
        PUT(2, i, yes);
        PUT(3, d, ends[start[b]]);
        PUT(4, d, ends[stop]);
        PUT(5, d, weight);
        PUT(6, d, yes_weight);
        PUT(7, d, h->yes_weight2 ? total_of(h->yes_weight2 + i, size) : yes_weight);
        PUT(8, d, total_of(h->sum + i, size) / weight);
        PUT(9, d, i == 0 && h->cells[0] == 0 && h->yes[0] > 0 ? 0.0 : exp(log)); /* what happened was ruled out */
        PUT(10, d, yes_weight / weight);
#undef PUT
    }
    return found;
}

/* out (6, n): cell, count, weight and sums of the cells with true entries; how many these are. */
static int64_t true_cells(const int32_t *cells, const slot *const *columns, const double *weight, int64_t n,
                          slot *out) {
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) { /* whether a cell has any is as good as random: no branch */
        out[found].i = i;
        found += weight ? weight[i] > 0.0 : columns[0][i].i > 0;
    }
    for (int64_t j = 0; j < found; j++) {
        int64_t i = out[j].i;
        out[j].i = cells[i];
        out[n + j].i = columns[0][i].i;
        out[2 * n + j].d = weight ? weight[i] : (double)columns[0][i].i;
        for (int c = 1; c < 4; c++) out[(2 + c) * n + j] = columns[c][i];
    }
    return found;
}

/* What statistics.gaps says of one histogram, in four numbers that lie `step` apart. */
INLINE void gaps_of(const double *weight, const double *yes, const double *sum, int64_t bins, double rows, double *out,
                    int64_t step) {
    double all = 0.0, value = 0.0, debiased = 0.0, variance = 0.0, largest = 0.0;
    for (int64_t b = 0; b < bins; b++) all += weight[b];
    for (int64_t b = 0; b < bins; b++) {
        double safe = weight[b] > 0.0 ? weight[b] : 1.0, share = weight[b] / all, observed = yes[b] / safe;
        double gap = fabs(yes[b] - sum[b]) / safe, varies = observed * (1.0 - observed), bias = 0.0;
        double error = varies > 0.0 ? sqrt(varies / (safe * rows)) : 0.0;
        if (error > 0.0) {
            double z = gap / error;
            bias = error * sqrt(2.0 / M_PI) * exp(-z * z / 2.0) + gap * erf(z / M_SQRT2) - gap;
        }
        value += share * gap;
        debiased += share * (gap - bias);
        variance += share * error * (share * error);
        largest = gap > largest ? gap : largest;
    }
    out[0] = value;
    out[step] = debiased < 0.0 ? 0.0 : debiased;
    out[2 * step] = sqrt(variance);
    out[3 * step] = largest;
}

/* out is (4, histograms); `whole`: all and yes are counts. */
static void gaps(const int32_t *cells, const int64_t *offsets, int64_t histograms, const int64_t *start, int64_t bins,
                 const slot *all, const slot *yes, const double *sum, int whole, double rows, double *out) {
    double a[MOST_GAPS], b[MOST_GAPS], c[MOST_GAPS];
    for (int64_t h = 0; h < histograms; h++) {
        for (int64_t bin = 0, i = offsets[h], size; bin < bins; bin++, i += size) {
            int64_t left = offsets[h + 1] - i;
            size = bin + 1 < bins ? cells_before(cells + i, left, start[bin + 1]) : left;
            a[bin] = whole ? (double)count_of(&all[i].i, size) : total_of(&all[i].d, size);
            b[bin] = whole ? (double)count_of(&yes[i].i, size) : total_of(&yes[i].d, size);
            c[bin] = total_of(sum + i, size);
        }
        gaps_of(a, b, c, bins, rows, out + h, histograms);
    }
}

static PyObject *py_binned(PyObject *self, PyObject *arguments) {
    (void)self;
    Py_buffer b[11];
    memset(b, 0, sizeof b);
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*z*z*z*z*y*y*w*", b, b + 1, b + 2, b + 3, b + 4, b + 5, b + 6, b + 7,
                          b + 8, b + 9, b + 10))
        return NULL;
    int64_t n = b[0].len / 4, bins = b[8].len / 8, last = b[9].len / 8 - 1, found = 0;
    const int64_t *start = b[8].buf;
    int good = b[10].len == 11 * bins * 8;
    for (int f = 1; f < 8; f++) good &= !b[f].buf || b[f].len == 8 * n;
    for (int64_t i = 0; i < bins; i++) good &= start[i] >= (i ? start[i - 1] : 0) && start[i] <= last;
    Cells h = {b[0].buf, b[1].buf, b[2].buf, b[3].buf, b[4].buf, b[5].buf, b[6].buf, b[7].buf};
    if (good) found = binned(&h, n, start, bins, b[9].buf, last, b[10].buf);
    for (int i = 0; i < 11; i++)
        if (b[i].obj) PyBuffer_Release(&b[i]);
    if (good) return PyLong_FromLongLong(found);
    PyErr_SetString(PyExc_ValueError, "binned takes columns of one histogram, bins and the grid");
    return NULL;
}

static PyObject *py_true_cells(PyObject *self, PyObject *arguments) {
    (void)self;
    Py_buffer b[7];
    memset(b, 0, sizeof b);
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*z*w*", b, b + 1, b + 2, b + 3, b + 4, b + 5, b + 6)) return NULL;
    int64_t n = b[0].len / 4, found = 0;
    const slot *columns[] = {b[1].buf, b[2].buf, b[3].buf, b[4].buf};
    int good = b[6].len == 6 * n * 8;
    for (int f = 1; f < 6; f++) good &= !b[f].buf || b[f].len == 8 * n;
    if (good) found = true_cells(b[0].buf, columns, b[5].buf, n, b[6].buf);
    for (int i = 0; i < 7; i++)
        if (b[i].obj) PyBuffer_Release(&b[i]);
    if (good) return PyLong_FromLongLong(found);
    PyErr_SetString(PyExc_ValueError, "true_cells takes columns of one histogram");
    return NULL;
}

static PyObject *py_gaps(PyObject *self, PyObject *arguments) {
    (void)self;
    Py_buffer b[7];
    int whole;
    double rows;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*y*pdw*", b, b + 1, b + 2, b + 3, b + 4, b + 5, &whole, &rows, b + 6))
        return NULL;
    const int64_t *offsets = b[1].buf;
    int64_t histograms = b[1].len / 8 - 1, bins = b[2].len / 8, end = histograms < 0 ? 0 : offsets[histograms];
    int good = histograms >= 0 && bins > 0 && bins <= MOST_GAPS && b[6].len == 4 * histograms * 8 &&
               offsets[0] >= 0 && b[0].len / 4 >= end;
    for (int f = 3; f < 6; f++) good &= b[f].len / 8 >= end;
    if (good)
        gaps(b[0].buf, offsets, histograms, b[2].buf, bins, b[3].buf, b[4].buf, b[5].buf, whole, rows, b[6].buf);
    for (int i = 0; i < 7; i++) PyBuffer_Release(&b[i]);
    if (good) Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "gaps takes cells, offsets, bins and values that fit one another");
    return NULL;
}

#endif
