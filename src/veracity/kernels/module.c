/* The Python module: checks buffers, runs the pass in threads with the interpreter free, and returns what was found.
 *
 * Nothing in the arrays that are given can make the pass read or write elsewhere: lengths, labels, cells of codes,
 * nested cells and parts are checked here or where they are read. */
#include <Python.h>
#include <pthread.h>

#include "tables.h"

enum { MOST_THREADS = 64, MOST_CUTS = 64 };

static const Kernel *kernel;

/* The functions for the widest vectors of up to so many bytes that this processor has. */
static const Kernel *widest(long bytes) {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (bytes >= 32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        return &VERACITY_AVX2;
#endif
    (void)bytes;
    return &VERACITY_PLAIN;
}

/* For tests: takes the functions for the widest vectors of up to so many bytes; returns how many they have. */
static PyObject *use_vectors(PyObject *module, PyObject *most) {
    (void)module;
    long bytes = PyLong_AsLong(most);
    if (bytes == -1 && PyErr_Occurred()) return NULL;
    kernel = widest(bytes);
    return PyLong_FromLong(kernel->bytes);
}

static void *count_in_thread(void *work) {
    kernel->count_rows(work);
    return NULL;
}

static void run(Work *works, int threads) {
    pthread_t started[MOST_THREADS];
    int alive[MOST_THREADS] = {0};
    for (int t = 1; t < threads; t++) alive[t] = pthread_create(&started[t], NULL, count_in_thread, &works[t]) == 0;
    kernel->count_rows(&works[0]);
    for (int t = 1; t < threads; t++)
        if (alive[t])
            pthread_join(started[t], NULL);
        else
            kernel->count_rows(&works[t]);
}

static int prepare_work(Work *w, const Job *job, int64_t begin, int64_t end) {
    w->job = job;
    w->begin = begin;
    w->end = end;
    w->low = INFINITY;
    w->high = -INFINITY;
    size_t k = (size_t)job->k, padded = (k + 2 * MOST_LANES) * sizeof(double); /* whole vectors are written */
    w->classes = calloc(6 * k, sizeof(double));
    w->columns = calloc(k, sizeof(double));
    w->block_classes = calloc(6 * k, sizeof(double));
    w->block_columns = aligned_alloc(64, (padded + 63) / 64 * 64); /* across cache lines, sums take twice as long */
    return w->classes && w->columns && w->block_classes && w->block_columns && kernel->prepare(w) &&
           get_tables(&w->tables, job);
}

static void end_work(Work *w, int clean) {
    free(w->classes);
    free(w->columns);
    free(w->block_classes);
    free(w->block_columns);
    free(w->tiny.values);
    kernel->end(w);
    put_tables(&w->tables, clean);
}

static void join_problems(Problem *a, const Problem *b) {
    if (a->rows == 0) {
        a->column = b->column;
        a->value = b->value;
    }
    for (int64_t i = 0; i < b->rows && i < FIRST && a->rows + i < FIRST; i++) a->first[a->rows + i] = b->first[i];
    a->rows += b->rows;
}

static int join_lists(List *a, const List *b) {
    int good = 1;
    for (int64_t i = 0; i < b->count && good; i++) good = append(a, b->values[i]);
    return good;
}

/* Moves the sums of a later thread to an earlier one. */
static void join_works(Work *a, Work *b) {
    int64_t k = a->job->k;
    a->rows += b->rows;
    a->weight += b->weight;
    a->weight2 += b->weight2;
    for (int i = 0; i < 12; i++) a->scores[i] += b->scores[i];
    for (int i = 0; i < POWERS; i++) a->powers[i] += b->powers[i];
    for (int64_t i = 0; i < 6 * k; i++) a->classes[i] += b->classes[i];
    for (int64_t i = 0; i < k; i++) a->columns[i] += b->columns[i];
    for (int i = 0; i < b->lowest_count; i++)
        keep_lowest(a->lowest, a->lowest_row, &a->lowest_count, b->lowest[i], b->lowest_row[i]);
    if (b->low < a->low) a->low = b->low;
    if (b->high > a->high) a->high = b->high;
    for (int i = 0; i < PROBLEMS; i++) join_problems(&a->problems[i], &b->problems[i]);
    a->failed |= b->failed || !join_lists(&a->tiny, &b->tiny);
    join_tables(a->job, &a->tables, &b->tables);
}

/* Where histograms begin and end in the output: pooled, top, then classes one after another. */
enum { POOLED, POOLED_END, TOP, TOP_END, CLASSES };

/* Writes the histograms of classes, of the picks and of all entries. */
static void write_all(Compact *out, const Job *job, Work *w, int64_t *offsets) {
    int64_t k = job->k, many = k > MANY;
    const slot totals[] = {{.i = w->rows}, {.d = 0.0}, {.d = w->weight}, {.d = w->weight2}};
    for (int64_t j = 0; j < k; j++) {
        slot of_class[ALL_COLUMNS];
        memcpy(of_class, totals, sizeof of_class);
        of_class[1].d = w->columns[j];
        if (job->held) kernel->count_class(w, j);
        if (many)
            write_nested(out, job, &w->tables, j, of_class);
        else
            write_histogram(out, job, &w->tables, job->held ? 0 : j);
        offsets[CLASSES + 1 + j] = out->size;
    }
    if (!many) add_written(out, job, &w->tables);
    offsets[POOLED] = out->size;
    write_histogram(out, job, &w->tables, 0);
    offsets[POOLED_END] = offsets[TOP] = out->size;
    if (job->held) kernel->count_class(w, k);
    write_histogram(out, job, &w->tables, job->histograms - 1);
    offsets[TOP_END] = out->size;
}

static PyObject *bytes_of(const void *data, int64_t count) {
    return PyByteArray_FromStringAndSize(data, (Py_ssize_t)(8 * count));
}

static PyObject *report(const Job *job, const Work *w, const int64_t *offsets) {
    double sums[2 + 12 + POWERS + 2] = {w->weight, w->weight2};
    memcpy(sums + 2, w->scores, sizeof w->scores);
    memcpy(sums + 14, w->powers, sizeof w->powers);
    sums[14 + POWERS] = w->low;
    sums[15 + POWERS] = w->high;
    int64_t problems[PROBLEMS][2 + FIRST];
    double values[PROBLEMS];
    for (int i = 0; i < PROBLEMS; i++) {
        problems[i][0] = w->problems[i].rows;
        problems[i][1] = w->problems[i].column;
        memcpy(problems[i] + 2, w->problems[i].first, sizeof w->problems[i].first);
        values[i] = w->problems[i].value;
    }
    return Py_BuildValue("(LNNNNNNNNN)", (long long)w->rows, bytes_of(sums, sizeof sums / sizeof *sums),
                         bytes_of(w->classes, 6 * job->k), bytes_of(w->columns, job->k),
                         bytes_of(w->tiny.values, w->tiny.count), bytes_of(w->lowest_row, w->lowest_count),
                         bytes_of(w->lowest, w->lowest_count), bytes_of(problems, PROBLEMS * (2 + FIRST)),
                         bytes_of(values, PROBLEMS), bytes_of(offsets, CLASSES + 1 + job->k));
}

static PyObject *pass(const Job *job, int threads, Compact *out) {
    Work *works = calloc((size_t)threads, sizeof *works);
    int64_t *offsets = calloc((size_t)(CLASSES + 1 + job->k), sizeof *offsets);
    int ready = works && offsets, clean = 0;
    for (int t = 0; ready && t < threads; t++)
        ready = prepare_work(&works[t], job, job->n * t / threads, job->n * (t + 1) / threads);
    if (ready) {
        Py_BEGIN_ALLOW_THREADS
        run(works, threads);
        for (int t = 1; t < threads; t++) join_works(&works[0], &works[t]);
        if (!job->mass) works[0].weight = works[0].weight2 = (double)works[0].rows;
        clean = !works[0].failed;
        if (clean) write_all(out, job, &works[0], offsets);
        Py_END_ALLOW_THREADS
    }
    PyObject *result = clean ? report(job, &works[0], offsets) : PyErr_NoMemory();
    for (int t = 0; works && t < threads; t++) end_work(&works[t], clean);
    free(works);
    free(offsets);
    return result;
}

/* The buffers of a pass, in the order of the arguments. */
enum { P, Y, WEIGHTS, COUNTS, CELL, EDGES, NESTED, NESTED_EDGES, CELLS, OUT };
enum { HASHES = OUT + COLUMNS, BUFFERS };

/* Whether all numbers, or -1 - a number where that is allowed, lie below the limit. */
static int all_below(const int32_t *numbers, int64_t n, int64_t limit, int flipped) {
    int32_t most = -1, least = 0;
    for (int64_t i = 0; i < n; i++) {
        most = numbers[i] > most ? numbers[i] : most;
        least = numbers[i] < least ? numbers[i] : least;
    }
    return most < limit && (flipped ? -1 - (int64_t)least < limit : least == 0);
}

static int read_grid(Grid *g, const Py_buffer *b) {
    g->cell = b[CELL].buf;
    g->edges = b[EDGES].buf;
    g->cells = b[EDGES].len / 8;
    g->nested = b[NESTED].buf;
    g->nested_cells = b[NESTED_EDGES].len / 8;
    if (b[CELL].len != 4 * CODES || b[NESTED].len != 4 * g->cells || g->cells < 4 || g->nested_cells < 2) return 0;
    g->least_nested = ((const double *)b[NESTED_EDGES].buf)[1];
    return all_below(g->cell, CODES, g->cells, 1) && all_below(g->nested, g->cells, g->nested_cells, 0);
}

/* How many codes from 2^-22 up to 2^-5 a cut divides. */
static int64_t low_cuts(const Grid *g) {
    int64_t count = 0;
    for (int32_t code = code_of(0x1p-22); code < code_of(0x1p-5); code++) count += g->cell[code] < 0;
    return count;
}

/* The most cells that can be written. */
static int64_t most_written(const Job *job) {
    int64_t n = job->n, k = job->k, cells = job->grid.cells, of_class = k > MANY ? job->grid.nested_cells : cells;
    int64_t pooled = n > cells / (k + 1) ? cells : n * k, top = n < cells ? n : cells;
    return pooled + top + k * (n < of_class ? n : of_class) + 1; /* the next cell is written before it is kept */
}

/* Reads the arguments; whether they fit one another. */
static int read_job(Job *job, const Py_buffer *b) {
    if (b[P].ndim < 1 || b[P].ndim > 2 || b[Y].ndim != 1) return 0;
    job->p = b[P].buf;
    job->item = (int)b[P].itemsize;
    job->n = b[P].shape[0];
    job->one_column = b[P].ndim == 1;
    job->k = job->one_column ? 2 : b[P].shape[1];
    job->row_step = b[P].strides[0];
    job->column_step = job->one_column ? job->item : b[P].strides[1];
    job->direct = job->column_step == job->item && (uintptr_t)job->p % (size_t)job->item == 0 &&
                  job->row_step % job->item == 0;
    job->y = b[Y].buf;
    job->y_item = (int)b[Y].itemsize;
    job->y_step = b[Y].strides[0];
    job->weights = b[WEIGHTS].buf;
    job->weights_step = job->weights ? b[WEIGHTS].strides[0] : 0;
    job->counts = b[COUNTS].buf;
    job->counts_step = job->counts ? b[COUNTS].strides[0] : 0;
    job->mass = job->weights || job->counts;
    job->all_step = job->mass ? 4 : 2;
    job->true_step = job->mass ? 6 : 4;
    job->nested_true_step = job->mass ? 3 : 1;
    int good = job->k > 0 && (job->item == 4 || job->item == 8) && read_grid(&job->grid, b);
    good &= job->y_item == 1 || job->y_item == 2 || job->y_item == 4 || job->y_item == 8;
    for (int i = Y; i <= COUNTS; i++) good &= !b[i].obj || (b[i].ndim == 1 && b[i].shape[0] == job->n);
    for (int i = WEIGHTS; i <= COUNTS; i++) good &= !b[i].obj || b[i].itemsize == 8;
    if (!good) return 0;
    int64_t most = most_written(job);
    job->hashes = b[HASHES].buf;
    good = b[CELLS].len >= 4 * most && (!job->hashes || b[HASHES].len == 8 * job->n);
    for (int f = 0; f < COLUMNS; f++) {
        int needed = f < ALL_COLUMNS ? f < job->all_step : f - ALL_COLUMNS < job->true_step;
        good &= !needed || (b[OUT + f].buf && b[OUT + f].len >= 8 * most);
    }
    return good;
}

/* Decides how rows are counted. */
static void choose_path(Job *job, int64_t most_held, int coarse) {
    const Grid *g = &job->grid;
    job->held = job->k <= MANY && job->n <= most_held;
    job->histograms = job->held ? 1 : job->k > MANY ? 2 : job->k + 1;
    job->words = (g->cells + 63) / 64;
    job->packed = kernel->bytes == 32 && coarse && job->k > MANY && job->k <= 1 << 23 && job->item == 4 && !job->mass &&
                  g->least_nested == 0x1p-5 && low_cuts(g) <= MOST_CUTS;
}

static PyObject *scan(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *buffers, *result = NULL;
    Job job = {0};
    int y_kind, threads, coarse;
    long long most_held;
    if (!PyArg_ParseTuple(arguments, "OCidpL", &buffers, &y_kind, &threads, &job.allowed, &coarse, &most_held))
        return NULL;
    job.y_kind = (char)y_kind;
    if (!PyTuple_Check(buffers) || PyTuple_Size(buffers) != BUFFERS) {
        PyErr_SetString(PyExc_TypeError, "scan takes a tuple of its buffers first");
        return NULL;
    }
    Py_buffer held[BUFFERS];
    int count = 0;
    memset(held, 0, sizeof held);
    for (; count < BUFFERS; count++) {
        PyObject *given = PyTuple_GetItem(buffers, count);
        int flags = count <= COUNTS ? PyBUF_STRIDED_RO : count >= CELLS ? PyBUF_CONTIG : PyBUF_ND;
        if (given != Py_None && PyObject_GetBuffer(given, &held[count], flags) < 0) goto release;
    }
    if (read_job(&job, held)) {
        choose_path(&job, most_held, coarse);
        Compact out = {.cells = held[CELLS].buf};
        for (int f = 0; f < COLUMNS; f++) out.columns[f] = held[OUT + f].buf;
        threads = job.held || threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
        result = pass(&job, threads, &out);
    } else
        PyErr_SetString(PyExc_ValueError, "scan takes arrays that fit one another and the grid");
release:
    for (int i = 0; i < count; i++)
        if (held[i].obj) PyBuffer_Release(&held[i]);
    return result;
}

enum { PAIR_P, PAIR_Y, PAIR_FIRST, PAIR_EDGES, PAIR_TABLE, PAIR_OTHERS, PAIR_BUFFERS };

static int read_pair(Pair *a, const Py_buffer *b) {
    if (b[PAIR_P].ndim != 1 || b[PAIR_Y].ndim != 1) return 0;
    a->p = b[PAIR_P].buf;
    a->n = b[PAIR_P].shape[0];
    a->p_step = b[PAIR_P].strides[0];
    a->item = (int)b[PAIR_P].itemsize;
    a->y = b[PAIR_Y].buf;
    a->y_step = b[PAIR_Y].strides[0];
    a->y_item = (int)b[PAIR_Y].itemsize;
    a->first_part = b[PAIR_FIRST].buf;
    a->part_edges = b[PAIR_EDGES].buf;
    a->parts = b[PAIR_EDGES].len / 8;
    a->table = b[PAIR_TABLE].buf;
    a->places = 2 * CODES + a->parts + 1;
    a->others = b[PAIR_OTHERS].buf;
    a->low_limit = INFINITY;
    a->low = INFINITY;
    a->high = 0.0;
    return (a->item == 4 || a->item == 8) && b[PAIR_Y].shape[0] == a->n && b[PAIR_FIRST].len == 4 * CODES && b[PAIR_TABLE].len == 64 * a->places &&
           (uintptr_t)a->table % sizeof *a->table == 0 && b[PAIR_OTHERS].len >= 8 * a->n &&
           all_below(a->first_part, CODES, a->parts + 1, 0);
}

static PyObject *pair(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *given[PAIR_BUFFERS], *result = NULL;
    Pair *a = NULL;
    Py_buffer b[PAIR_BUFFERS];
    int count = 0;
    if (posix_memalign((void **)&a, 32, sizeof *a)) return PyErr_NoMemory();
    memset(a, 0, sizeof *a);
    if (!PyArg_ParseTuple(arguments, "OOOOOO", &given[0], &given[1], &given[2], &given[3], &given[4], &given[5]))
        goto release;
    for (; count < PAIR_BUFFERS; count++) {
        int flags = count <= PAIR_Y ? PyBUF_STRIDED_RO : count >= PAIR_TABLE ? PyBUF_CONTIG : PyBUF_ND;
        if (PyObject_GetBuffer(given[count], &b[count], flags) < 0) goto release;
    }
    if (!read_pair(a, b)) {
        PyErr_SetString(PyExc_ValueError, "pair takes arrays that fit one another and the grid");
        goto release;
    }
    Py_BEGIN_ALLOW_THREADS
    kernel->count_pairs(a);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("(iLddNN)", a->bad, (long long)a->other_count, a->low, a->high,
                           bytes_of(a->lowest_row, a->lowest_count), bytes_of(a->lowest, a->lowest_count));
release:
    for (int i = 0; i < count; i++) PyBuffer_Release(&b[i]);
    free(a);
    return result;
}

static PyObject *forecast_hashes(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *matrix, *room;
    Py_buffer p, out;
    if (!PyArg_ParseTuple(arguments, "OO", &matrix, &room)) return NULL;
    if (PyObject_GetBuffer(matrix, &p, PyBUF_STRIDED_RO) < 0) return NULL;
    if (PyObject_GetBuffer(room, &out, PyBUF_CONTIG) < 0) {
        PyBuffer_Release(&p);
        return NULL;
    }
    int good = (p.ndim == 1 || p.ndim == 2) && (p.itemsize == 4 || p.itemsize == 8) && out.len == 8 * p.shape[0];
    if (good) {
        int one = p.ndim == 1;
        Hashing a = {p.buf, p.shape[0], one ? 1 : p.shape[1], p.strides[0], one ? 0 : p.strides[1], (int)p.itemsize,
                     one, out.buf};
        Py_BEGIN_ALLOW_THREADS
        kernel->hash_rows(&a);
        Py_END_ALLOW_THREADS
    } else
        PyErr_SetString(PyExc_ValueError, "forecast_hashes takes probabilities and room for a hash of each row");
    PyBuffer_Release(&p);
    PyBuffer_Release(&out);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"scan", scan, METH_VARARGS, "One pass over forecasts; see kernels/native.py."},
                                {"pair", pair, METH_VARARGS, "Counts two classes in one column; see kernels/pair.py."},
                                {"forecast_hashes", forecast_hashes, METH_VARARGS, "See kernels/hashes.py."},
                                {"use_vectors", use_vectors, METH_O, "The most bytes of a vector."},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", "The pass over forecasts in C.", 0, methods,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) {
    kernel = widest(32);
    return PyModule_Create(&module);
}
