/* What intervals need: moments of powers, and how much each row moves the measured means. */
#ifndef VERACITY_STATISTICS_H
#define VERACITY_STATISTICS_H

#include "sums.h"

enum { MOST_POWERS = 64, FEW_COLUMNS = 8, FEW_BINS = 256, MOST_COLUMNS = 16, MOST_MIXES = 32 };

INLINE lanes some_lanes(const double *x, int64_t filled) {
    lanes found = {0};
    memcpy(&found, x, filled < LANES ? (size_t)filled * sizeof *x : sizeof found);
    return found;
}

/* Σ share t^e, then Σ share (t^e - mean)² and Σ share (t^e - mean)³, for e = 1 .. powers; out is (3, powers). */
static void power_moments(const double *t, const double *share, int64_t n, int64_t powers, double *out) {
    double *mean = out, *square = out + powers, *cube = square + powers;
    lanes held[2 * MOST_POWERS];
    for (int centred = 0; centred < 2; centred++) {
        memset(held, 0, sizeof held);
        for (int64_t i = 0; i < n; i += LANES) {
            lanes x = some_lanes(t + i, n - i), s = some_lanes(share + i, n - i), power = x;
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
            for (int j = 0; j <= centred; j++) (centred ? j ? cube : square : mean)[e] = total(held[2 * e + j]);
    }
}

/* Where bins begin, ended by infinity; the first bin that each of 64 parts of an octave reaches into. */
enum { OCTAVES = 40, PART_SHIFT = 46, STEPS = OCTAVES << (52 - PART_SHIFT) };
#define FIRST_STEP ((0x3FF0000000000000LL >> PART_SHIFT) - STEPS) /* what is lower still is in the lowest part */
typedef struct {
    const double *edges;
    int32_t first[STEPS + 1];
} Bins;

static void find_first(Bins *b) {
    int32_t bin = 0;
    b->first[0] = 0;
    for (int64_t part = 1; part <= STEPS; part++) {
        int64_t bits = (FIRST_STEP + part) << PART_SHIFT;
        double edge;
        memcpy(&edge, &bits, 8);
        while (b->edges[bin + 1] <= edge) bin++;
        b->first[part] = bin;
    }
}

/* Rarely does a part hold more than one edge: no branch for the first. */
INLINE int64_t bin_of(const Bins *b, double u) {
    int64_t part = (bits_of(u + 0.0) >> PART_SHIFT) - FIRST_STEP;
    part = part < 0 ? 0 : part > STEPS ? STEPS : part;
    int64_t bin = b->first[part];
    bin += b->edges[bin + 1] <= u;
    while (b->edges[bin + 1] <= u) bin++;
    return bin;
}

/* One row of many classes: most entries lie in the same few bins, which are counted. */
INLINE void move_by_hits(const double *p, int64_t k, const Bins *b, int64_t bins, const lanes *every, lanes *moved,
                         const int chunks) {
    double hits[FEW_BINS] = {0};
    for (int64_t j = 0; j < k; j++) hits[bin_of(b, p[j])]++;
    for (int64_t bin = 0; bin < bins; bin++)
        for (int c = 0; c < chunks; c++) moved[c] -= hits[bin] * every[bin * chunks + c];
}

/* own and every are (bins, chunks) vectors; out is (m, n), and what exceeds m of the last vector is left out. */
INLINE void move_rows(const double *p, const int64_t *y, int64_t n, int64_t k, const Bins *b, int64_t bins,
                      const lanes *own, const lanes *every, int64_t m, double *realised, double *out,
                      const int chunks) {
    for (int64_t i = 0; i < n; i++, p += k) {
        lanes moved[MOST_COLUMNS / LANES];
        int64_t true_bin = bin_of(b, p[y[i]]);
        realised[i] = p[y[i]];
        for (int c = 0; c < chunks; c++) moved[c] = own[true_bin * chunks + c];
        if (k > bins && bins <= FEW_BINS)
            move_by_hits(p, k, b, bins, every, moved, chunks);
        else
            for (int64_t j = 0; j < k; j++) {
                const lanes *of_entry = every + bin_of(b, p[j]) * chunks;
                for (int c = 0; c < chunks; c++) moved[c] -= of_entry[c];
            }
        for (int64_t c = 0; c < m; c++) out[c * n + i] = moved[c / LANES][c % LANES];
    }
}

/* Each row: own[bin of the true entry] less the sum of every[bin] over all entries; and the true entry itself. */
static void row_moves(const double *p, const int64_t *y, int64_t n, int64_t k, const Bins *b, int64_t bins,
                      const lanes *own, const lanes *every, int64_t m, double *realised, double *out) {
    if (m <= FEW_COLUMNS)
        move_rows(p, y, n, k, b, bins, own, every, m, realised, out, FEW_COLUMNS / LANES);
    else
        move_rows(p, y, n, k, b, bins, own, every, m, realised, out, MOST_COLUMNS / LANES);
}

/* sqrt(Σ square (Σ_c mix_c (x_c - Σ share x_c))²) of each mix of the m columns, each of n rows; x is (m, n). What a mix
 * takes 0 of may be infinite. */
static void mixed_errors(const double *x, int64_t n, int64_t m, const double *share, const double *square,
                         const double *mixes, int64_t count, double *out) {
    double mean[MOST_COLUMNS];
    for (int64_t c = 0; c < m; c++) {
        lanes held = {0};
        for (int64_t i = 0; i < n; i += LANES) held += some_lanes(x + c * n + i, n - i) * some_lanes(share + i, n - i);
        mean[c] = total(held);
    }
    int8_t used[MOST_MIXES][MOST_COLUMNS], terms[MOST_MIXES] = {0};
    for (int64_t e = 0; e < count; e++)
        for (int8_t c = 0; c < m; c++)
            if (mixes[e * m + c] != 0.0) used[e][terms[e]++] = c;
    lanes held[MOST_MIXES] = {0}, centred[MOST_COLUMNS];
    for (int64_t i = 0; i < n; i += LANES) {
        lanes weight = some_lanes(square + i, n - i);
        for (int64_t c = 0; c < m; c++) centred[c] = some_lanes(x + c * n + i, n - i) - mean[c];
        for (int64_t e = 0; e < count; e++) {
            lanes moved = {0};
            for (int t = 0; t < terms[e]; t++) moved += mixes[e * m + used[e][t]] * centred[used[e][t]];
            held[e] += weight * moved * moved;
        }
    }
    for (int64_t e = 0; e < count; e++) out[e] = sqrt(total(held[e]));
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

static int64_t chunks_of(int64_t m) { return (m <= FEW_COLUMNS ? FEW_COLUMNS : MOST_COLUMNS) / LANES; }

/* Two tables (bins, m) one after the other, rows filled up to whole vectors; then the edges, ended by infinity. */
static lanes *whole_vectors(const double *own, const double *every, const double *edges, int64_t bins, int64_t m) {
    int64_t chunks = chunks_of(m);
    lanes *tables = calloc((size_t)(2 * bins * chunks + bins / LANES + 1), sizeof *tables);
    if (!tables) return NULL;
    for (int64_t i = 0; i < bins; i++) {
        memcpy(tables + i * chunks, own + i * m, (size_t)m * sizeof *own);
        memcpy(tables + (bins + i) * chunks, every + i * m, (size_t)m * sizeof *every);
    }
    double *ends = (double *)(tables + 2 * bins * chunks);
    memcpy(ends, edges, (size_t)bins * sizeof *edges);
    ends[bins] = INFINITY;
    return tables;
}

static PyObject *py_row_moves(PyObject *self, PyObject *arguments) {
    (void)self;
    enum { ROWS_P, ROWS_Y, EDGES, OWN, EVERY, REALISED_P, MOVED, TAKEN };
    Py_buffer b[TAKEN];
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*w*w*", b, b + 1, b + 2, b + 3, b + 4, b + 5, b + 6)) return NULL;
    const int64_t *y = b[ROWS_Y].buf;
    int64_t n = b[ROWS_Y].len / 8, bins = b[EDGES].len / 8, k = n ? b[ROWS_P].len / 8 / n : 1;
    int64_t m = bins > 0 ? b[OWN].len / 8 / bins : 0;
    int good = bins > 0 && b[ROWS_P].len == n * k * 8 && b[OWN].len == bins * m * 8 && b[EVERY].len == b[OWN].len &&
               b[REALISED_P].len == n * 8 && b[MOVED].len == n * m * 8 && m <= MOST_COLUMNS;
    for (int64_t i = 0; i < n && good; i++) good = (uint64_t)y[i] < (uint64_t)k;
    lanes *tables = good ? whole_vectors(b[OWN].buf, b[EVERY].buf, b[EDGES].buf, bins, m) : NULL;
    if (tables) {
        Bins at;
        at.edges = (const double *)(tables + 2 * bins * chunks_of(m));
        find_first(&at);
        row_moves(b[ROWS_P].buf, y, n, k, &at, bins, tables, tables + bins * chunks_of(m), m, b[REALISED_P].buf,
                  b[MOVED].buf);
        free(tables);
    }
    for (int i = 0; i < TAKEN; i++) PyBuffer_Release(&b[i]);
    if (tables) Py_RETURN_NONE;
    if (good) return PyErr_NoMemory();
    PyErr_SetString(PyExc_ValueError, "row_moves takes rows, outcomes, bins and tables that fit one another");
    return NULL;
}

static PyObject *py_mixed_errors(PyObject *self, PyObject *arguments) {
    (void)self;
    Py_buffer x, share, square, mixes, out;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*w*", &x, &share, &square, &mixes, &out)) return NULL;
    int64_t n = share.len / 8, m = n ? x.len / 8 / n : 0, count = out.len / 8;
    int good = square.len == share.len && x.len == m * n * 8 && mixes.len == count * m * 8 && m <= MOST_COLUMNS &&
               count <= MOST_MIXES;
    if (good) mixed_errors(x.buf, n, m, share.buf, square.buf, mixes.buf, count, out.buf);
    PyBuffer_Release(&x);
    PyBuffer_Release(&share);
    PyBuffer_Release(&square);
    PyBuffer_Release(&mixes);
    PyBuffer_Release(&out);
    if (good) Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "mixed_errors takes at most 16 columns and 32 mixes, and shares that fit them");
    return NULL;
}

#endif
