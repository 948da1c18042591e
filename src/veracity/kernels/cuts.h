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

/* Which bins are wanted, on which grid. */
typedef struct {
    int64_t bins, left, right, fewest, last; /* last: cells of the grid */
    double widest;
    const double *ends;
    const uint8_t *atom;
} Wanted;

/* The cells where bins begin, and where they begin with the wide ones halved. */
typedef struct {
    int64_t *held, *plain, *halved, plain_count, halved_count;
} Starts;

/* Bins for the true entries of n cells, some of which may have none; whether there was memory. */
static int find_starts(Starts *to, const Wanted *wanted, const int32_t *cells, const int64_t *yes, const double *sum,
                       const double *weight, int64_t n) {
    int64_t size = 0;
    for (int64_t i = 0; i < n; i++) size += yes[i] > 0;
    Cutter c = {.size = size, .last = wanted->last, .edges = wanted->ends, .atom = wanted->atom};
    to->held = malloc((size_t)(12 * size + 20) * 8);
    if (!to->held) return 0;
    to->plain = to->held + 3 * size + 4;
    to->halved = to->plain + 4 * size + 8;
    c.cells = to->held;
    c.before = to->held + size + 1;
    c.mean = (double *)(to->held + 2 * size + 2);
    for (int64_t i = 0, j = 0; j < size; i++) { /* whether a cell has any is as good as random: no branch */
        to->halved[j] = i;
        j += yes[i] > 0;
    }
    c.before[0] = 0;
    for (int64_t j = 0; j < size; j++) {
        int64_t i = to->halved[j];
        double w = weight ? weight[i] : (double)yes[i];
        c.cells[j] = cells[i];
        c.before[j + 1] = c.before[j] + yes[i];
        c.mean[j] = round_significant(sum[i] / (w > 0x1p-1022 ? w : 0x1p-1022));
    }
    int64_t bins = wanted->bins, entries = c.before[c.size];
    if (bins > entries) bins = entries + 1; /* every cell is too full for so many */
    c.found = to->plain;
    equal_population(&c, bins, wanted->left, wanted->right);
    to->plain_count = c.count;
    c.found = to->halved;
    c.count = 0;
    for (int64_t i = 0; i < to->plain_count; i++) {
        int64_t upper = i + 1 < to->plain_count ? to->plain[i + 1] : wanted->last;
        halve(&c, to->plain[i], upper, wanted->widest, wanted->fewest);
    }
    to->halved_count = c.count;
    return 1;
}

/* Two arrays of cells. */
static PyObject *bytes_of_starts(const Starts *s) {
    return Py_BuildValue("(NN)", PyByteArray_FromStringAndSize((char *)s->plain, s->plain_count * 8),
                         PyByteArray_FromStringAndSize((char *)s->halved, s->halved_count * 8));
}

static PyObject *bin_starts(PyObject *self, PyObject *arguments) {
    (void)self;
    Py_buffer b[6];
    PyObject *result = NULL;
    Wanted wanted;
    Starts found;
    long long bins, left, right, fewest;
    memset(b, 0, sizeof b);
    if (!PyArg_ParseTuple(arguments, "y*y*y*z*y*y*LLLdL", b, b + 1, b + 2, b + 3, b + 4, b + 5, &bins, &left, &right,
                          &wanted.widest, &fewest))
        return NULL;
    wanted = (Wanted){bins, left, right, fewest, b[5].len, wanted.widest, b[4].buf, b[5].buf};
    int64_t n = b[0].len / 4;
    int good = b[1].len == 8 * n && b[2].len == 8 * n && (!b[3].buf || b[3].len == 8 * n) &&
               b[4].len == 8 * (wanted.last + 1);
    if (!good)
        PyErr_SetString(PyExc_ValueError, "bin_starts takes columns of one histogram and the grid");
    else if (find_starts(&found, &wanted, b[0].buf, b[1].buf, b[2].buf, b[3].buf, n)) {
        result = bytes_of_starts(&found);
        free(found.held);
    } else
        PyErr_NoMemory();
    for (int i = 0; i < 6; i++)
        if (b[i].obj) PyBuffer_Release(&b[i]);
    return result;
}

#endif
