/* Where bins of equal numbers of true entries begin: cuts.py, line by line. */
#ifndef VERACITY_CUTS_H
#define VERACITY_CUTS_H

#include "native.h"

typedef struct {
    int64_t size, last;      /* cells with true entries; cells of the grid */
    int64_t *cells, *before; /* these cells; true entries in earlier ones, and all */
    double *mean;
    const double *edges; /* of the grid's cells, and 1 */
    const uint8_t *atom; /* whether a cell of the grid is one */
    int64_t *found, count;
} Cutter;

/* How many of n ascending values are at most x. No branches: where x lies is as good as random. */
static int64_t at_most(const int64_t *values, int64_t n, int64_t x) {
    const int64_t *from = values;
    for (; n > 1; n -= n / 2) from += from[n / 2 - 1] <= x ? n / 2 : 0;
    return from - values + (n == 1 && from[0] <= x);
}

static int64_t true_before(const Cutter *c, int64_t cell) { return c->before[at_most(c->cells, c->size, cell - 1)]; }

/* x, which is not negative, to 40 significant bits. */
static double round_significant(double x) {
    int64_t exponent = bits_of(x) >> 52 << 52;
    if (exponent == 0) { /* nothing that the sum below could round */
        int e;
        double mantissa = frexp(x, &e);
        return ldexp(rint(ldexp(mantissa, 40)), e - 40);
    }
    double large;
    exponent += (13LL << 52) + (1LL << 51);
    memcpy(&large, &exponent, 8);
    return (x + large) - large; /* 1.5 × 2^13 times the power of two below x: such a sum keeps 40 bits of x */
}

/* The cell at which a bin begins so that true entries number entry-1 and entry part, ties going up. */
static int64_t cut(const Cutter *c, int64_t entry) {
    int64_t a = at_most(c->before, c->size + 1, entry - 1) - 1, b = at_most(c->before, c->size + 1, entry) - 1;
    if (b > c->size - 1) b = c->size - 1;
    if (a == b) return c->cells[a];
    double middle = (c->mean[a] + c->mean[b]) / 2.0;
    int64_t cell = c->cells[a], above = c->cells[b] + 1; /* edges[cell] <= middle < edges[above] */
    while (above - cell > 1) {
        int64_t half = (cell + above) / 2;
        if (c->edges[half] <= middle)
            cell = half;
        else
            above = half;
    }
    if (c->edges[cell + 1] - middle <= middle - c->edges[cell] && !c->atom[cell]) cell++;
    return cell <= c->cells[a] ? c->cells[a] + 1 : cell > c->cells[b] ? c->cells[b] : cell;
}

static void begin(Cutter *c, int64_t cell) {
    if (cell < c->last && (c->count == 0 || c->found[c->count - 1] != cell)) c->found[c->count++] = cell;
}

/* Bins between two cells, as many as their share of the remaining true entries. */
static void divide(Cutter *c, int64_t lower, int64_t upper, int64_t bins, int64_t remaining) {
    int64_t first = true_before(c, lower), entries = true_before(c, upper) - first;
    begin(c, lower);
    if (entries == 0) return;
    int64_t shares = (int64_t)rint((double)(bins * entries) / (double)remaining);
    if (shares < 1) shares = 1;
    int64_t size = entries / shares, extra = entries % shares; /* the first ones hold one entry more */
    for (int64_t i = 1; i < shares; i++) {
        int64_t cell = cut(c, first + i * size + (i < extra ? i : extra));
        if (lower < cell && cell < upper) begin(c, cell);
    }
}

static void equal_population(Cutter *c, int64_t bins, int64_t left, int64_t right) {
    int64_t remaining = 0, total = c->before[c->size], lower = left;
#define ENTRIES_OF(i) (c->before[(i) + 1] - c->before[i])
#define IN_THE_MIDDLE(i) (c->cells[i] >= left && c->cells[i] < right)
    for (int64_t i = 0; i < c->size; i++)
        if (IN_THE_MIDDLE(i) && ENTRIES_OF(i) * bins <= total) remaining += ENTRIES_OF(i);
    begin(c, 0);
    for (int64_t i = 0; i < c->size; i++)
        if (IN_THE_MIDDLE(i) && ENTRIES_OF(i) * bins > total) {
            divide(c, lower, c->cells[i], bins, remaining);
            begin(c, c->cells[i]);
            lower = c->cells[i] + 1;
        }
    divide(c, lower, right, bins, remaining);
    begin(c, right);
#undef ENTRIES_OF
#undef IN_THE_MIDDLE
}

/* The halves of a bin whose edges differ too much, in order, while each keeps entries enough. */
static void halve(Cutter *c, int64_t lower, int64_t upper, double widest, int64_t fewest) {
    int64_t first = true_before(c, lower), stop = true_before(c, upper);
    if (c->edges[upper] > widest * c->edges[lower] && stop - first >= fewest) {
        int64_t middle = cut(c, (first + stop + 1) / 2), between = true_before(c, middle);
        if ((between - first) * 2 >= fewest && (stop - between) * 2 >= fewest) {
            halve(c, lower, middle, widest, fewest);
            halve(c, middle, upper, widest, fewest);
            return;
        }
    }
    begin(c, lower);
}

/* Two arrays of cells: where bins begin, and where they begin with the wide ones halved. */
static PyObject *bin_starts(PyObject *self, PyObject *arguments) {
    (void)self;
    Py_buffer b[6];
    PyObject *result = NULL;
    long long bins, left, right, fewest;
    double widest;
    memset(b, 0, sizeof b);
    if (!PyArg_ParseTuple(arguments, "y*y*y*z*y*y*LLLdL", b, b + 1, b + 2, b + 3, b + 4, b + 5, &bins, &left, &right,
                          &widest, &fewest))
        return NULL;
    const int32_t *cells = b[0].buf;
    const int64_t *yes = b[1].buf;
    const double *sum = b[2].buf, *weight = b[3].buf;
    int64_t n = b[0].len / 4, last = b[5].len;
    int good = b[1].len == 8 * n && b[2].len == 8 * n && (!weight || b[3].len == 8 * n) && b[4].len == 8 * (last + 1);
    int64_t size = 0;
    for (int64_t i = 0; i < n && good; i++) size += yes[i] > 0;
    Cutter c = {.size = size, .last = last, .edges = b[4].buf, .atom = b[5].buf};
    int64_t *held = malloc((size_t)(12 * size + 20) * 8), *plain = held + 3 * size + 4, *halved = plain + 4 * size + 8;
    if (good && held) {
        c.cells = held;
        c.before = held + size + 1;
        c.mean = (double *)(held + 2 * size + 2);
        for (int64_t i = 0, j = 0; j < size; i++) { /* whether a cell has any is as good as random: no branch */
            halved[j] = i;
            j += yes[i] > 0;
        }
        c.before[0] = 0;
        for (int64_t j = 0; j < size; j++) {
            int64_t i = halved[j];
            double w = weight ? weight[i] : (double)yes[i];
            c.cells[j] = cells[i];
            c.before[j + 1] = c.before[j] + yes[i];
            c.mean[j] = round_significant(sum[i] / (w > 0x1p-1022 ? w : 0x1p-1022));
        }
        if (bins > c.before[c.size]) bins = c.before[c.size] + 1; /* every cell is too full for so many */
        c.found = plain;
        equal_population(&c, bins, left, right);
        int64_t count = c.count;
        c.found = halved;
        c.count = 0;
        for (int64_t i = 0; i < count; i++) halve(&c, plain[i], i + 1 < count ? plain[i + 1] : last, widest, fewest);
        result = Py_BuildValue("(NN)", PyByteArray_FromStringAndSize((char *)plain, count * 8),
                               PyByteArray_FromStringAndSize((char *)halved, c.count * 8));
    } else if (good)
        PyErr_NoMemory();
    else
        PyErr_SetString(PyExc_ValueError, "bin_starts takes columns of one histogram and the grid");
    free(held);
    for (int i = 0; i < 6; i++)
        if (b[i].obj) PyBuffer_Release(&b[i]);
    return result;
}

#endif
