/* The pass over forecasts in C: Python's limited API, buffers in and out, the interpreter free while it runs. */
#ifndef VERACITY_METHODS_H
#define VERACITY_METHODS_H

#include "between.h"
#include "keep.h"
#include "pair.h"
#include "statistics.h"
#include "widths.h"
#if VECTOR == 64
#include "loops64.h"
#elif VECTOR == 32
#include "loops32.h"
#else
#include "loops16.h"
#endif

enum { MOST_THREADS = 64 };

static void *work_on(void *argument) {
    Work *w = argument;
    int64_t k = w->job->k, step = ROWS;
    if (k <= MANY && step > ENTRIES / k) step = ENTRIES / k / LANES * LANES;
    if (w->packed) step = BLOCK;
    for (int64_t start = w->begin; start < w->end && !w->failed && !w->unusual; start += step) {
        int64_t n = w->end - start < step ? w->end - start : step;
        if (w->job->edges)
            between_block(w, start, n);
        else if (w->packed)
            packed_block(w, start, n);
        else if (k > MANY)
            many_block(w, start, n);
        else
            few_block(w, start, n);
    }
    if (w->unusual) return NULL; /* what is listed may be no probabilities */
    if (w->job->edges)
        finish_between(w, w->packed);
    else if (w->packed)
        finish_packed(w, w->packed);
    if (w->scratch.words) unpack_few(w);
    return NULL;
}

static int prepare_work(Work *w, const Job *job, int64_t begin, int64_t end) {
    w->job = job;
    w->begin = begin;
    w->end = end;
    w->low = INFINITY;
    w->high = -INFINITY;
    size_t k = (size_t)job->k;
    w->classes = calloc(6 * k, sizeof(double));
    w->columns = calloc(k, sizeof(double));
    w->block_classes = calloc(6 * k, sizeof(double));
    w->block_columns = get_lines((k + 2 * LANES) * sizeof(double)); /* whole vectors are written */
    w->sieve.list = malloc((k + 2 * LANES) * sizeof(double));
    w->sieve.hits = malloc((k / 8 + 3) * sizeof *w->sieve.hits);
    if (!(w->sieve.list && w->sieve.hits)) return 0;
    if (!(w->classes && w->columns && w->block_classes && w->block_columns)) return 0;
    if (job->small) return (w->small = get_small()) != NULL;
    if (job->packed && !(w->packed = get_packed(job))) return 0;
    if (!get_scratch(&w->scratch, job)) return 0;
    if (job->floats) flag_cells(w);
    return 1;
}

static void end_work(Work *w, int clean) {
    free(w->classes);
    free(w->columns);
    free(w->block_classes);
    free(w->block_columns);
    free(w->sieve.list);
    free(w->sieve.hits);
    free(w->tiny);
    if (w->small) put_small(w->small);
    put_packed(w->packed, clean);
    put_scratch(&w->scratch, clean);
}

static void run(Work *works, int threads) {
    pthread_t started[MOST_THREADS];
    int alive[MOST_THREADS] = {0};
    for (int t = 1; t < threads; t++) alive[t] = pthread_create(&started[t], NULL, work_on, &works[t]) == 0;
    work_on(&works[0]);
    for (int t = 1; t < threads; t++)
        if (alive[t])
            pthread_join(started[t], NULL);
        else
            work_on(&works[t]);
}

static void join_problems(Problem *a, const Problem *b) {
    if (a->rows == 0) {
        a->column = b->column;
        a->value = b->value;
    }
    for (int64_t i = 0; i < b->rows && i < FIRST && a->rows + i < FIRST; i++) a->first[a->rows + i] = b->first[i];
    a->rows += b->rows;
}

/* Sums of later threads go to the first. */
static void join_works(Work *works, int threads) {
    Work *a = &works[0];
    int64_t k = a->job->k;
    if (!a->job->mass)
        for (int t = 0; t < threads; t++) works[t].weight = works[t].weight2 = (double)works[t].rows;
    for (int t = 1; t < threads; t++) {
        const Work *b = &works[t];
        a->rows += b->rows;
        a->weight += b->weight;
        a->weight2 += b->weight2;
        for (int i = 0; i < 12; i++) a->scores[i] += b->scores[i];
        for (int i = 0; i < POWERS; i++) a->powers[i] += b->powers[i];
        for (int64_t i = 0; i < 6 * k; i++) a->classes[i] += b->classes[i];
        for (int64_t i = 0; i < k; i++) a->columns[i] += b->columns[i];
        for (int i = 0; i < b->lowest_count; i++) keep_lowest(a, b->lowest[i], b->lowest_row[i]);
        for (int64_t i = 0; i < b->tiny_count; i++) keep_tiny(a, b->tiny[i]);
        if (b->low < a->low) a->low = b->low;
        if (b->high > a->high) a->high = b->high;
        for (int i = 0; i < PROBLEMS; i++) join_problems(&a->problems[i], &b->problems[i]);
        a->failed |= b->failed;
        a->unusual |= b->unusual;
    }
}

/* Histograms of classes, of the picks and of all entries; whether there was memory. */
static int emit(Compact *out, const Job *job, Work *works, int threads, int64_t *offsets) {
    int64_t k = job->k, many = k > MANY, made = 1;
    if (job->small) {
        emit_small(out, job, works[0].small, offsets);
        return 1;
    }
    for (int64_t j = 0; j < k; j++) {
        slot totals[] = {{.i = works[0].rows},
                         {.d = works[0].columns[j]},
                         {.d = works[0].weight},
                         {.d = works[0].weight2}};
        if (job->packed)
            emit_packed(out, works, threads, j, totals);
        else if (many)
            emit_nested(out, job, works, threads, j, totals);
        else
            emit_histogram(out, job, works, threads, j);
        offsets[CLASSES + 1 + j] = out->size;
    }
    offsets[POOLED] = out->size;
    if (many)
        emit_histogram(out, job, works, threads, 0);
    else
        made = emit_sum(out, job);
    offsets[POOLED_END] = offsets[TOP] = out->size;
    emit_histogram(out, job, works, threads, many ? 1 : k);
    offsets[TOP_END] = out->size;
    for (int t = 0; t < threads; t++) clear_touched(job, &works[t].scratch);
    return made;
}

static PyObject *bytes_of(const void *data, int64_t count, size_t item) {
    return PyByteArray_FromStringAndSize(data, (Py_ssize_t)((size_t)count * item));
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
    PyObject *starts = job->edges ? bytes_of_starts(&job->edges->starts) : Py_BuildValue("");
    return Py_BuildValue("(LNNNNNNNNNN)", (long long)w->rows, bytes_of(sums, sizeof sums / sizeof *sums, sizeof *sums),
                         bytes_of(w->classes, 6 * job->k, sizeof(double)),
                         bytes_of(w->columns, job->k, sizeof(double)), bytes_of(w->tiny, w->tiny_count, 8),
                         bytes_of(w->lowest_row, w->lowest_count, 8), bytes_of(w->lowest, w->lowest_count, 8),
                         bytes_of(problems, PROBLEMS * (2 + FIRST), 8), bytes_of(values, PROBLEMS, 8), starts,
                         bytes_of(offsets, CLASSES + 1 + job->k, 8));
}

/* What the pass found; None where rows are not for a pass between edges. */
static PyObject *pass(const Job *job, int threads, Compact *out) {
    Work *works = get_works(threads);
    int64_t *offsets = calloc((size_t)(CLASSES + 1 + job->k), sizeof *offsets);
    int ready = works && offsets, clean = 0, unusual = 0;
    for (int t = 0; ready && t < threads; t++)
        ready = prepare_work(&works[t], job, job->n * t / threads, job->n * (t + 1) / threads);
    PyObject *result = NULL;
    if (ready) {
        Py_BEGIN_ALLOW_THREADS
        run(works, threads);
        join_works(works, threads);
        unusual = works[0].unusual;
        clean = !works[0].failed && !unusual;
        if (clean) clean = emit(out, job, works, threads, offsets);
        Py_END_ALLOW_THREADS
        if (clean) result = report(job, &works[0], offsets);
    }
    if (unusual) result = Py_BuildValue("");
    if (!clean && !unusual) PyErr_NoMemory();
    for (int t = 0; works && t < threads; t++) end_work(&works[t], clean);
    if (works) put_works(works, threads);
    free(offsets);
    return result;
}

/* The buffers of a pass, in the order of the arguments. */
enum { P, Y, WEIGHTS, COUNTS, REALISED, CELL, NESTED, DIVIDED, FIRST_PART, PART_EDGES, NESTED_EDGES, ENDS, ATOMS };
enum { CELLS = ATOMS + 1, OUT };
enum { BUFFERS = OUT + COLUMNS };

static void read_job(Job *job, const Py_buffer *b) {
    job->p = b[P].buf;
    job->n = b[P].shape[0];
    job->one_column = b[P].ndim == 1;
    job->k = job->one_column ? 2 : b[P].shape[1];
    job->row_step = b[P].strides[0];
    job->column_step = job->one_column ? job->item : b[P].strides[1];
    job->direct = job->column_step == job->item && (uintptr_t)job->p % (size_t)job->item == 0 &&
                  job->row_step % job->item == 0;
    job->y = b[Y].buf;
    job->y_step = b[Y].strides[0];
    job->weights = b[WEIGHTS].buf;
    job->weights_step = job->weights ? b[WEIGHTS].strides[0] : 0;
    job->counts = b[COUNTS].buf;
    job->counts_step = job->counts ? b[COUNTS].strides[0] : 0;
    job->mass = job->weights || job->counts;
    job->realised = b[REALISED].buf;
    Grid *g = &job->grid;
    g->cell = b[CELL].buf;
    g->places = b[CELL].shape[0];
    g->nested = b[NESTED].buf;
    g->divided = b[DIVIDED].buf;
    g->first_part = b[FIRST_PART].buf;
    g->part_edges = b[PART_EDGES].buf;
    g->nested_edges = b[NESTED_EDGES].buf;
    g->nested_cells = b[NESTED_EDGES].shape[0];
    g->least_hit = g->nested_edges[1];
    g->words = (g->places + 63) / 64;
    job->histograms = job->k > MANY ? 2 : job->k + 1;
    int plain_hits = g->least_hit == 0x1p-5 || g->least_hit == 0x1p-10; /* no cut lies below */
    job->packed = job->k > MANY && job->k <= POOLED_ROOM - LISTED && job->item == 4 && !job->mass && plain_hits &&
                  g->nested_cells < UPPER && low_cuts(g) <= MOST_CUTS && job->k <= UINT32_MAX / g->nested_cells;
    job->floats = job->k <= MANY && job->item == 4 && !job->mass && !job->one_column && !job->small;
    job->all_step = job->nested_step = job->mass ? 4 : 2;
    job->true_step = job->mass ? 6 : 4;
    job->nested_true_step = job->mass ? 3 : 1;
}

static PyObject *scan(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *buffers, *result = NULL;
    Job job = {0};
    int y_kind, threads;
    Wanted wanted;
    long long bins, left, right, fewest;
    if (!PyArg_ParseTuple(arguments, "OiCiidii(LLLdL)", &buffers, &job.item, &y_kind, &job.y_item, &threads,
                          &job.allowed, &job.grid.coarse, &job.small, &bins, &left, &right, &wanted.widest, &fewest))
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
        int written = count == REALISED || count >= CELLS;
        if (given != Py_None && PyObject_GetBuffer(given, &held[count], written ? PyBUF_CONTIG : PyBUF_STRIDED_RO) < 0)
            goto release;
    }
    read_job(&job, held);
    Compact out = {.cells = held[CELLS].buf};
    for (int f = 0; f < COLUMNS; f++) out.columns[f] = held[OUT + f].buf;
    threads = job.small || threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
    wanted = (Wanted){bins, left, right, fewest, held[ATOMS].len, wanted.widest, held[ENDS].buf, held[ATOMS].buf};
    Edges *edges = NULL;
    Py_BEGIN_ALLOW_THREADS
    if (bins) edges = find_edges(&job, &wanted);
    Py_END_ALLOW_THREADS
    job.edges = edges;
    result = bins && !edges ? Py_BuildValue("") : pass(&job, threads, &out);
    free_edges(edges);
release:
    for (int i = 0; i < count; i++)
        if (held[i].obj) PyBuffer_Release(&held[i]);
    return result;
}

enum { PAIR_P, PAIR_Y, PAIR_FIRST, PAIR_EDGES, PAIR_TABLE, PAIR_OTHERS, PAIR_NEAR, PAIR_BUFFERS };

static PyObject *pair(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *given[PAIR_BUFFERS], *result = NULL;
    Pair *a = calloc(1, sizeof *a);
    unsigned long long limit;
    if (!a) return PyErr_NoMemory();
    Py_buffer b[PAIR_BUFFERS];
    int count = 0;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOiiKd", &given[0], &given[1], &given[2], &given[3], &given[4], &given[5],
                          &given[6], &a->item, &a->y_item, &limit, &a->low_limit))
        goto release;
    for (; count < PAIR_BUFFERS; count++)
        if (PyObject_GetBuffer(given[count], &b[count], count >= PAIR_TABLE ? PyBUF_CONTIG : PyBUF_STRIDED_RO) < 0)
            goto release;
    a->p = b[PAIR_P].buf;
    a->n = b[PAIR_P].shape[0];
    a->p_step = b[PAIR_P].strides[0];
    a->y = b[PAIR_Y].buf;
    a->y_step = b[PAIR_Y].strides[0];
    a->first_part = b[PAIR_FIRST].buf;
    a->part_edges = b[PAIR_EDGES].buf;
    a->table = b[PAIR_TABLE].buf;
    a->places = b[PAIR_TABLE].shape[1];
    a->others = b[PAIR_OTHERS].buf;
    a->near = b[PAIR_NEAR].buf;
    a->limit = limit;
    a->low = INFINITY;
    a->high = 0.0;
    Py_BEGIN_ALLOW_THREADS
    pair_run(a);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("(iLLddNN)", a->bad, (long long)a->other_count, (long long)a->near_count, a->low, a->high,
                           bytes_of(a->lowest_row, a->lowest_count, 8), bytes_of(a->lowest, a->lowest_count, 8));
release:
    for (int i = 0; i < count; i++) PyBuffer_Release(&b[i]);
    free(a);
    return result;
}

static PyMethodDef methods[] = {{"scan", scan, METH_VARARGS, "One pass over forecasts; see kernels/native.py."},
                                {"pair", pair, METH_VARARGS, "Counts two classes in one column; see kernels/pair.py."},
                                {"power_moments", py_power_moments, METH_VARARGS, "See kernels/statistics.py."},
                                {"bin_starts", bin_starts, METH_VARARGS, "See kernels/cuts.py."},
                                {"binned", py_binned, METH_VARARGS, "See kernels/cuts.py."},
                                {"true_hashes", true_hashes, METH_VARARGS, "See kernels/hashes.py."},
                                {"true_cells", py_true_cells, METH_VARARGS, "See kernels/statistics.py."},
                                {"gaps", py_gaps, METH_VARARGS, "See kernels/statistics.py."},
                                {"row_moves", py_row_moves, METH_VARARGS, "See kernels/statistics.py."},
                                {"mixed_errors", py_mixed_errors, METH_VARARGS, "See kernels/statistics.py."},
                                {NULL, NULL, 0, NULL}};

#endif
