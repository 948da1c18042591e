/* Sums that intervals need: moments of powers, and how much each row moves the measured means. */
#ifndef VERACITY_STATISTICS_H
#define VERACITY_STATISTICS_H

#include <Python.h>

#include "native.h"

enum { BUCKETS = 4096, MOST_POWERS = 64 };

/* Σ share t^e, then Σ share (t^e - mean)² and Σ share (t^e - mean)³, for e = 1 .. powers; out is (3, powers). */
CLONES static void power_moments(const double *t, const double *share, int64_t n, int64_t powers, double *out) {
    double *mean = out, *square = out + powers, *cube = square + powers;
    lanes held[2 * MOST_POWERS];
    for (int centred = 0; centred < 2; centred++) {
        memset(held, 0, sizeof held);
        for (int64_t i = 0; i < n; i += LANES) {
            lanes x = {0}, s = {0};
            int64_t filled = n - i < LANES ? n - i : LANES;
            memcpy(&x, t + i, (size_t)filled * sizeof *t);
            memcpy(&s, share + i, (size_t)filled * sizeof *share);
            lanes power = x;
            for (int64_t e = 0; e < powers; e++) {
                if (centred) {
                    lanes d = power - mean[e], d2 = s * d * d;
                    held[2 * e] += d2;
                    held[2 * e + 1] += d2 * d;
                } else
                    held[2 * e] += s * power;
                power *= x;
            }
        }
        for (int64_t e = 0; e < powers; e++)
            for (int j = 0; j <= centred; j++) {
                lanes h = held[2 * e + j];
                (centred ? j ? cube : square : mean)[e] =
                    ((h[0] + h[1]) + (h[2] + h[3])) + ((h[4] + h[5]) + (h[6] + h[7]));
            }
    }
}

/* Where bins begin, ended by infinity; the first bin that each of many equal parts of [0, 1] reaches into, and below
 * 2^-5 that each of eight parts of an octave does. */
enum { OCTAVES = 32, PART_SHIFT = 49, FEW_BINS = 256 };
#define LOW_BITS (0x3FA0000000000000LL >> PART_SHIFT) /* 2^-5 */
#define LOWEST_BITS (LOW_BITS - 8 * OCTAVES)
typedef struct {
    const double *edges;
    int32_t first[BUCKETS + 1], low[8 * OCTAVES];
} Bins;

static void find_first(Bins *b) {
    int32_t bin = 0;
    for (int part = 0; part <= BUCKETS; part++) {
        while (b->edges[bin + 1] <= (double)part / BUCKETS) bin++;
        b->first[part] = bin;
    }
    bin = 0;
    for (int part = 1; part < 8 * OCTAVES; part++) { /* what is lower still is in the lowest part */
        int64_t bits = (LOWEST_BITS + part) << PART_SHIFT;
        double edge;
        memcpy(&edge, &bits, 8);
        while (b->edges[bin + 1] <= edge) bin++;
        b->low[part] = bin;
    }
    b->low[0] = 0;
}

/* Rarely does a part hold more than one edge: no branch for the first. */
INLINE int64_t bin_of(const Bins *b, double u) {
    int64_t part = (bits_of(u + 0.0) >> PART_SHIFT) - LOWEST_BITS, bin;
    if (part < 8 * OCTAVES)
        bin = b->low[part > 0 ? part : 0];
    else
        bin = b->first[u >= 1.0 ? BUCKETS : (int)(u * BUCKETS)];
    bin += b->edges[bin + 1] <= u;
    while (b->edges[bin + 1] <= u) bin++;
    return bin;
}

/* out (n, m): own[bin of the true entry] less the sum of every[bin] over all entries of the row; also the true bins.
 * own and every are (bins, m). */
CLONES static void row_moves(const double *p, const int64_t *y, int64_t n, int64_t k, const Bins *b, int64_t bins,
                             const double *own, const double *every, int64_t m, int64_t *true_bin, double *out) {
    for (int64_t i = 0; i < n; i++) {
        double *to = out + i * m, hits[FEW_BINS] = {0};
        true_bin[i] = bin_of(b, p[i * k + y[i]]);
        memcpy(to, own + true_bin[i] * m, (size_t)m * sizeof *to);
        if (k > bins && bins <= FEW_BINS) { /* with many classes most entries lie in the same few bins */
            for (int64_t j = 0; j < k; j++) hits[bin_of(b, p[i * k + j])]++;
            for (int64_t bin = 0; bin < bins; bin++)
                for (int64_t c = 0; c < m; c++) to[c] -= hits[bin] * every[bin * m + c];
            continue;
        }
        for (int64_t j = 0; j < k; j++) {
            const double *from = every + bin_of(b, p[i * k + j]) * m;
            for (int64_t c = 0; c < m; c++) to[c] -= from[c];
        }
    }
}

/* out (histograms, bins, 3): sums over the cells of bins that begin at the cells `start`; `whole`: all and yes are
 * counts. */
INLINE void bin_sums(const int32_t *cells, const int64_t *offsets, int64_t histograms, const int32_t *start,
                     int64_t bins, const slot *all, const slot *yes, const double *sum, int whole, double *out) {
    memset(out, 0, (size_t)(3 * histograms * bins) * sizeof *out);
    for (int64_t h = 0; h < histograms; h++)
        for (int64_t i = offsets[h], bin = 0; i < offsets[h + 1]; bin++) {
            double a = 0.0, b = 0.0, c = 0.0, *to = out + 3 * (h * bins + bin);
            for (; i < offsets[h + 1] && (bin + 1 == bins || cells[i] < start[bin + 1]); i++) {
                a += whole ? (double)all[i].i : all[i].d;
                b += whole ? (double)yes[i].i : yes[i].d;
                c += sum[i];
            }
            to[0] = a;
            to[1] = b;
            to[2] = c;
        }
}

static PyObject *py_power_moments(PyObject *self, PyObject *arguments) {
    (void)self;
    Py_buffer t, share, out;
    if (!PyArg_ParseTuple(arguments, "y*y*w*", &t, &share, &out)) return NULL;
    int64_t n = t.len / 8, powers = out.len / 24;
    int good = share.len == t.len && powers <= MOST_POWERS;
    if (good) power_moments(t.buf, share.buf, n, powers, out.buf);
    PyBuffer_Release(&t);
    PyBuffer_Release(&share);
    PyBuffer_Release(&out);
    if (good) Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "power_moments takes t and shares of one length and at most 64 powers");
    return NULL;
}

static PyObject *py_row_moves(PyObject *self, PyObject *arguments) {
    (void)self;
    Py_buffer b[7];
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*w*w*", b, b + 1, b + 2, b + 3, b + 4, b + 5, b + 6)) return NULL;
    const int64_t *y = b[1].buf;
    int64_t n = b[1].len / 8, bins = b[2].len / 8 - 1, k = n ? b[0].len / 8 / n : 1, m = bins > 0 ? b[3].len / 8 / bins : 0;
    int good = b[0].len == n * k * 8 && b[3].len == bins * m * 8 && b[4].len == b[3].len && b[5].len == n * 8 &&
               b[6].len == n * m * 8 && bins > 0;
    for (int64_t i = 0; i < n && good; i++) good = (uint64_t)y[i] < (uint64_t)k;
    if (good) {
        Bins at = {.edges = b[2].buf};
        find_first(&at);
        row_moves(b[0].buf, y, n, k, &at, bins, b[3].buf, b[4].buf, m, b[5].buf, b[6].buf);
    }
    for (int i = 0; i < 7; i++) PyBuffer_Release(&b[i]);
    if (good) Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "row_moves takes rows, outcomes, bins and tables that fit one another");
    return NULL;
}

static PyObject *py_bin_sums(PyObject *self, PyObject *arguments) {
    (void)self;
    Py_buffer b[7];
    int whole;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*y*pw*", b, b + 1, b + 2, b + 3, b + 4, b + 5, &whole, b + 6))
        return NULL;
    const int64_t *offsets = b[1].buf;
    int64_t histograms = b[1].len / 8 - 1, bins = b[2].len / 4, end = histograms < 0 ? 0 : offsets[histograms];
    int good = histograms >= 0 && bins > 0 && b[6].len == 3 * histograms * bins * 8 && offsets[0] >= 0 &&
               b[0].len / 4 >= end;
    for (int f = 3; f < 6; f++) good &= b[f].len / 8 >= end;
    if (good && whole)
        bin_sums(b[0].buf, offsets, histograms, b[2].buf, bins, b[3].buf, b[4].buf, b[5].buf, 1, b[6].buf);
    else if (good)
        bin_sums(b[0].buf, offsets, histograms, b[2].buf, bins, b[3].buf, b[4].buf, b[5].buf, 0, b[6].buf);
    for (int i = 0; i < 7; i++) PyBuffer_Release(&b[i]);
    if (good) Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "bin_sums takes cells, offsets, bins and values that fit one another");
    return NULL;
}

#endif
