/* The pass over forecasts in C: Python's limited API, buffers in, bytes out, the interpreter free while it runs. */
#include <Python.h>
#include <pthread.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "emit.h"
#include "packed.h"

/* Scratch memory of the last pass, all zero; kept because clearing it is what small passes would spend their time on. */
enum { KEPT = 4, KEPT_BYTES = 48 << 20 };
static Scratch kept[KEPT];

/* Zeros, on huge pages where the system has them: scattered updates of small pages wait for addresses. */
static void *get_zeros(size_t size) {
#if defined(__linux__)
    size_t page = (size_t)2 << 20;
    if (size >= page) {
        void *at = aligned_alloc(page, (size + page - 1) / page * page);
        if (at) {
            madvise(at, size, MADV_HUGEPAGE);
            memset(at, 0, size);
        }
        return at;
    }
#endif
    return calloc(1, size);
}

static int get_scratch(Scratch *s, const Job *job) {
    Scratch want = {0};
    size_t places = (size_t)(job->histograms * job->grid.places);
    size_t nested = job->k > MANY ? (size_t)(job->k * job->grid.nested_cells) : 0;
    want.all_size = places * (size_t)job->all_step * sizeof(slot);
    want.yes_size = places * (size_t)job->true_step * sizeof(slot);
    want.touched_size = (size_t)(job->histograms * job->grid.words) * sizeof(uint64_t);
    want.nested_size = nested * (size_t)job->nested_step * sizeof(slot);
    want.nested_yes_size = nested * (size_t)job->nested_true_step * sizeof(slot);
    want.bytes = want.all_size + want.yes_size + want.touched_size + want.nested_size + want.nested_yes_size;
    for (int i = 0; i < KEPT; i++)
        if (kept[i].all && kept[i].all_size >= want.all_size && kept[i].yes_size >= want.yes_size &&
            kept[i].touched_size >= want.touched_size && want.nested_size == 0) {
            *s = kept[i];
            memset(&kept[i], 0, sizeof *kept);
            return 1;
        }
    *s = want;
    s->all = get_zeros(want.all_size);
    s->yes = get_zeros(want.yes_size);
    s->touched = get_zeros(want.touched_size);
    if (nested) {
        s->nested = get_zeros(want.nested_size);
        s->nested_yes = get_zeros(want.nested_yes_size);
    }
    return s->all && s->yes && s->touched && (!nested || (s->nested && s->nested_yes));
}

static void free_scratch(Scratch *s) {
    free(s->all);
    free(s->yes);
    free(s->touched);
    free(s->nested);
    free(s->nested_yes);
    memset(s, 0, sizeof *s);
}

static void put_scratch(Scratch *s, int clean) {
    if (clean && !s->nested && s->bytes <= KEPT_BYTES)
        for (int i = 0; i < KEPT; i++)
            if (!kept[i].all) {
                kept[i] = *s;
                return;
            }
    free_scratch(s);
}

static void *work_on(void *argument) {
    Work *w = argument;
    int64_t columns = w->job->k, step = ROWS;
    if (columns <= MANY && step > ENTRIES / columns) step = ENTRIES / columns;
    for (int64_t start = w->begin; start < w->end && !w->failed; start += step) {
        int64_t n = w->end - start < step ? w->end - start : step;
        if (w->packed)
            packed_block(w, start, n);
        else if (columns > MANY)
            many_block(w, start, n);
        else
            few_block(w, start, n);
    }
    if (w->packed) end_packed(w);
    return NULL;
}

static int prepare_work(Work *w, const Job *job, int64_t begin, int64_t end) {
    memset(w, 0, offsetof(Work, p));
    w->job = job;
    w->begin = begin;
    w->end = end;
    w->low = INFINITY;
    w->high = -INFINITY;
    size_t k = (size_t)job->k;
    w->classes = calloc(6 * k, sizeof(double));
    w->columns = calloc(k + 2 * LANES, sizeof(double));
    w->packed = job->packed ? new_packed(job) : NULL;
    if (job->packed && !w->packed) return 0;
    w->block_classes = calloc(6 * k, sizeof(double));
    w->block_columns = calloc(k + LANES, sizeof(double));
    return get_scratch(&w->scratch, job) && w->classes && w->columns && w->block_classes && w->block_columns;
}

static void end_work(Work *w, int clean) {
    free(w->classes);
    free(w->columns);
    free(w->block_classes);
    free(w->block_columns);
    free(w->tiny);
    free_packed(w->packed);
    put_scratch(&w->scratch, clean);
}

static void run(Work *works, int threads) {
    pthread_t started[64];
    int alive[64] = {0};
    for (int t = 1; t < threads; t++) alive[t] = pthread_create(&started[t], NULL, work_on, &works[t]) == 0;
    work_on(&works[0]);
    for (int t = 1; t < threads; t++)
        if (alive[t])
            pthread_join(started[t], NULL);
        else
            work_on(&works[t]);
}

/* Sums of later threads go to the first. */
static void join_works(Work *works, int threads) {
    Work *a = &works[0];
    int64_t k = a->job->k;
    if (!a->job->mass) a->weight = a->weight2 = (double)a->rows;
    for (int t = 1; t < threads; t++) {
        Work *b = &works[t];
        a->rows += b->rows;
        a->weight += a->job->mass ? b->weight : (double)b->rows;
        a->weight2 += a->job->mass ? b->weight2 : (double)b->rows;
        for (int i = 0; i < 12; i++) a->scores[i] += b->scores[i];
        for (int i = 0; i < POWERS; i++) a->powers[i] += b->powers[i];
        for (int64_t i = 0; i < 6 * k; i++) a->classes[i] += b->classes[i];
        for (int64_t i = 0; i < k; i++) a->columns[i] += b->columns[i];
        for (int i = 0; i < b->lowest_count; i++) keep_lowest(a, b->lowest[i], b->lowest_row[i]);
        for (int64_t i = 0; i < b->tiny_count; i++) keep_tiny(a, b->tiny[i]);
        if (b->low < a->low) a->low = b->low;
        if (b->high > a->high) a->high = b->high;
        for (int i = 0; i < PROBLEMS; i++) {
            Problem *x = &a->problems[i], *y = &b->problems[i];
            if (x->rows == 0) {
                x->column = y->column;
                x->value = y->value;
            }
            for (int64_t f = 0; f < y->rows && f < FIRST && x->rows + f < FIRST; f++) x->first[x->rows + f] = y->first[f];
            x->rows += y->rows;
        }
        a->failed |= b->failed;
    }
}

/* Histograms in the order pooled, top, classes. */
static void emit(Compact *out, const Job *job, Work *works, int threads, int64_t *offsets) {
    int64_t k = job->k, many = k > MANY;
    emit_histograms(out, job, works, threads, 0, many ? 0 : k - 1);
    offsets[1] = out->size;
    emit_histograms(out, job, works, threads, many ? 1 : k, many ? 1 : k);
    offsets[2] = out->size;
    for (int64_t j = 0; j < k && !out->failed; j++) {
        if (many) {
            slot totals[ALL_COLUMNS] = {{.i = works[0].rows},
                                        {.d = works[0].columns[j]},
                                        {.d = works[0].weight},
                                        {.d = works[0].weight2}};
            emit_nested(out, job, works, threads, j, totals);
        } else
            emit_histograms(out, job, works, threads, j, j);
        offsets[j + 3] = out->size;
    }
    for (int t = 0; t < threads; t++) clear_touched(job, &works[t].scratch);
}

static PyObject *bytes_of(const void *data, int64_t count, size_t item) {
    return PyByteArray_FromStringAndSize(data, (Py_ssize_t)((size_t)count * item));
}

static PyObject *report(const Job *job, const Work *w, const Compact *out, const int64_t *offsets, int64_t histograms) {
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
    PyObject *columns = PyList_New(COLUMNS);
    for (int f = 0; columns && f < COLUMNS; f++) {
        int used = f < ALL_COLUMNS ? f < job->all_step : f - ALL_COLUMNS < job->true_step;
        PyObject *column = used ? bytes_of(out->columns[f], out->size, sizeof(slot)) : Py_None;
        if (!used) Py_INCREF(Py_None);
        if (!column || PyList_SetItem(columns, f, column) < 0) {
            Py_DECREF(columns);
            return NULL;
        }
    }
    return Py_BuildValue("(LNNNNNNNNNNN)", (long long)w->rows, bytes_of(sums, sizeof sums / sizeof *sums, sizeof *sums),
                         bytes_of(w->classes, 6 * job->k, sizeof(double)),
                         bytes_of(w->columns, job->k, sizeof(double)), bytes_of(w->tiny, w->tiny_count, 8),
                         bytes_of(w->lowest_row, w->lowest_count, 8), bytes_of(w->lowest, w->lowest_count, 8),
                         bytes_of(problems, PROBLEMS * (2 + FIRST), 8), bytes_of(values, PROBLEMS, 8),
                         bytes_of(out->cells, out->size, 4), columns, bytes_of(offsets, histograms + 1, 8));
}

static PyObject *pass(const Job *job, int threads) {
    Work *works = calloc((size_t)threads, sizeof *works);
    int64_t histograms = job->k + 2;
    int64_t *offsets = calloc((size_t)histograms + 1, sizeof *offsets);
    Compact out = {0};
    int ready = works && offsets, clean = 0;
    for (int t = 0; ready && t < threads; t++)
        ready = prepare_work(&works[t], job, job->n * t / threads, job->n * (t + 1) / threads);
    PyObject *result = NULL;
    if (ready) {
        Py_BEGIN_ALLOW_THREADS
        run(works, threads);
        join_works(works, threads);
        make_room(&out, 1);
        emit(&out, job, works, threads, offsets);
        Py_END_ALLOW_THREADS
        clean = !works[0].failed && !out.failed;
        if (clean) result = report(job, &works[0], &out, offsets, histograms);
    }
    if (!clean && !PyErr_Occurred()) PyErr_NoMemory();
    for (int t = 0; works && t < threads; t++) end_work(&works[t], clean);
    free(works);
    free(offsets);
    free_compact(&out);
    return result;
}

static int wide; /* whether this processor has the widest vectors */

enum { P, Y, WEIGHTS, COUNTS, REALISED, CELL, NESTED, DIVIDED, FIRST_PART, PART_EDGES, BUFFERS };

static PyObject *scan(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *given[BUFFERS];
    Job job = {0};
    int item, y_kind, y_item, threads, coarse;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOiCiidLdi", &given[P], &given[Y], &given[WEIGHTS], &given[COUNTS],
                          &given[REALISED], &given[CELL], &given[NESTED], &given[DIVIDED], &given[FIRST_PART],
                          &given[PART_EDGES], &item, &y_kind, &y_item, &threads, &job.allowed, &job.grid.nested_cells,
                          &job.grid.least_hit, &coarse))
        return NULL;
    Py_buffer buffers[BUFFERS];
    int held = 0;
    PyObject *result = NULL;
    memset(buffers, 0, sizeof buffers);
    for (; held < BUFFERS; held++) {
        if (given[held] == Py_None) continue;
        if (PyObject_GetBuffer(given[held], &buffers[held], held == REALISED ? PyBUF_CONTIG : PyBUF_STRIDED_RO) < 0)
            goto release;
    }
    Py_buffer *p = &buffers[P];
    job.p = p->buf;
    job.n = p->shape[0];
    job.one_column = p->ndim == 1;
    job.k = job.one_column ? 2 : p->shape[1];
    job.item = item;
    job.row_step = p->strides[0];
    job.column_step = job.one_column ? item : p->strides[1];
    job.direct = job.column_step == item && (uintptr_t)job.p % (size_t)item == 0 && job.row_step % item == 0;
    job.y = buffers[Y].buf;
    job.y_step = buffers[Y].strides[0];
    job.y_kind = (char)y_kind;
    job.y_item = y_item;
    if (given[WEIGHTS] != Py_None) job.weights = buffers[WEIGHTS].buf, job.weights_step = buffers[WEIGHTS].strides[0];
    if (given[COUNTS] != Py_None) job.counts = buffers[COUNTS].buf, job.counts_step = buffers[COUNTS].strides[0];
    job.mass = job.weights || job.counts;
    job.realised = given[REALISED] == Py_None ? NULL : buffers[REALISED].buf;
    job.grid.cell = buffers[CELL].buf;
    job.grid.places = buffers[CELL].shape[0];
    job.grid.nested = buffers[NESTED].buf;
    job.grid.divided = buffers[DIVIDED].buf;
    job.grid.first_part = buffers[FIRST_PART].buf;
    job.grid.part_edges = buffers[PART_EDGES].buf;
    job.grid.words = (job.grid.places + 63) / 64;
    job.grid.coarse = coarse;
    job.histograms = job.k > MANY ? 2 : job.k + 1;
    job.packed = job.k > MANY && job.item == 4 && !job.mass && coarse;
    job.wide = wide;
    job.all_step = job.nested_step = job.mass ? 4 : 2;
    job.true_step = job.mass ? 6 : 4;
    job.nested_true_step = job.mass ? 3 : 1;
    result = pass(&job, threads < 1 ? 1 : threads > 64 ? 64 : threads);
release:
    for (int i = 0; i < held; i++)
        if (given[i] != Py_None) PyBuffer_Release(&buffers[i]);
    return result;
}

static PyMethodDef methods[] = {{"scan", scan, METH_VARARGS, "One pass over forecasts; see kernels/native.py."},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", "The pass over forecasts in C.", 0, methods,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) {
    wide = has_wide();
    PyObject *made = PyModule_Create(&module);
    if (made && PyModule_AddIntConstant(made, "PARTS", PARTS) < 0) Py_CLEAR(made);
    return made;
}
