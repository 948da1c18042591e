/* Histograms by cell: their memory, those of all threads added up, and written one after another without empty cells. */
#ifndef VERACITY_TABLES_H
#define VERACITY_TABLES_H

#include "pass.h"
#if defined(__linux__)
#include <sys/mman.h>
#endif

/* Zeros of an earlier pass, since small passes would spend their time clearing. Used only with the interpreter's lock. */
enum { MOST_KEPT = 32 << 20 }; /* bytes: enough for ten classes, and for thousands */
static void *kept_zeros;
static size_t kept_size;

/* Zeros, on huge pages where there are many: scattered updates of small pages wait for addresses. Beyond what most of
 * the histograms will use, only pages that are written to should take memory. */
static void *get_zeros(size_t size) {
#if defined(__linux__)
    size_t page = (size_t)2 << 20, whole = (size + page - 1) / page * page;
    if (size >= 2 * page && size <= 64 * page) {
        void *at = aligned_alloc(page, whole);
        if (at) {
            madvise(at, whole, MADV_HUGEPAGE);
            memset(at, 0, size);
        }
        return at;
    }
#endif
    return calloc(1, size);
}

/* Memory for the histograms of a thread; whether there was any. */
static int get_tables(Tables *t, const Job *job) {
    size_t cells = (size_t)(job->histograms * job->grid.cells), words = (size_t)(job->histograms * job->words);
    size_t nested = job->k > MANY ? (size_t)(job->k * job->grid.nested_cells) : 0;
    size_t all = cells * (size_t)job->all_step, yes = cells * (size_t)job->true_step;
    size_t nested_all = nested * (size_t)job->all_step, nested_yes = nested * (size_t)job->nested_true_step;
    t->size = (all + yes + words + nested_all + nested_yes) * sizeof(slot);
    if (kept_size >= t->size) {
        t->memory = kept_zeros;
        t->size = kept_size;
        kept_zeros = NULL;
        kept_size = 0;
    } else if (!(t->memory = get_zeros(t->size)))
        return 0;
    t->all = t->memory;
    t->yes = t->all + all;
    t->nested = t->yes + yes;
    t->nested_yes = t->nested + nested_all;
    t->touched = (uint64_t *)(t->nested_yes + nested_yes);
    return 1;
}

/* Keeps the memory for the next pass if it is zero again, and larger than what is kept. */
static void put_tables(Tables *t, int clean) {
    if (clean && t->size <= MOST_KEPT && t->size > kept_size) {
        free(kept_zeros);
        kept_zeros = t->memory;
        kept_size = t->size;
    } else
        free(t->memory);
    t->memory = NULL;
}

/* Adds a record of a count and sums, and zeroes it. */
INLINE void move_record(slot *to, slot *from, int step) {
    to[0].i += from[0].i;
    for (int f = 1; f < step; f++) to[f].d += from[f].d;
    memset(from, 0, (size_t)step * sizeof *from);
}

/* Moves the histograms of one thread to those of another. */
static void join_tables(const Job *job, Tables *to, Tables *from) {
    for (int64_t word = 0; word < job->histograms * job->words; word++) {
        uint64_t set = from->touched[word];
        to->touched[word] |= set;
        from->touched[word] = 0;
        for (; set; set &= set - 1) {
            int64_t h = word / job->words, at = 64 * (word % job->words) + __builtin_ctzll(set) + h * job->grid.cells;
            move_record(to->all + at * job->all_step, from->all + at * job->all_step, job->all_step);
            move_record(to->yes + at * job->true_step, from->yes + at * job->true_step, job->true_step);
        }
    }
    int64_t nested = job->k > MANY ? job->k * job->grid.nested_cells : 0;
    for (int64_t i = 0; i < nested; i++) {
        if (from->nested[i * job->all_step].i == 0 && from->nested_yes[i * job->nested_true_step].i == 0) continue;
        move_record(to->nested + i * job->all_step, from->nested + i * job->all_step, job->all_step);
        slot *yes = from->nested_yes + i * job->nested_true_step;
        move_record(to->nested_yes + i * job->nested_true_step, yes, job->nested_true_step);
    }
}

INLINE void write_columns(Compact *out, int first, int64_t at, const slot *record, int step) {
    for (int f = 0; f < step; f++) out->columns[first + f][at] = record[f];
}

/* Writes the cells of one word of bits in their order, and zeroes them. */
INLINE void write_word(Compact *out, const Job *job, Tables *t, int64_t h, int64_t word, const int mass) {
    const int all_step = mass ? 4 : 2, true_step = mass ? 6 : 4;
    for (uint64_t set = t->touched[h * job->words + word]; set; set &= set - 1) {
        int64_t cell = 64 * word + __builtin_ctzll(set), at = out->size;
        slot *all = t->all + (h * job->grid.cells + cell) * all_step;
        slot *yes = t->yes + (h * job->grid.cells + cell) * true_step;
        out->cells[at] = (int32_t)cell;
        write_columns(out, 0, at, all, all_step);
        write_columns(out, ALL_COLUMNS, at, yes, true_step);
        out->size += all->i != 0;
        memset(all, 0, (size_t)all_step * sizeof *all);
        memset(yes, 0, (size_t)true_step * sizeof *yes);
    }
    t->touched[h * job->words + word] = 0;
}

/* Writes a histogram in order of cells, and zeroes it. */
static void write_histogram(Compact *out, const Job *job, Tables *t, int64_t h) {
    for (int64_t word = 0; word < job->words; word++)
        if (job->mass)
            write_word(out, job, t, h, word, 1);
        else
            write_word(out, job, t, h, word, 0);
}

/* Adds what is written to the first histogram. */
static void add_written(const Compact *out, const Job *job, Tables *t) {
    for (int64_t i = 0; i < out->size; i++) {
        int32_t cell = out->cells[i];
        slot *all = t->all + cell * job->all_step, *yes = t->yes + cell * job->true_step;
        touch(histogram(job, t, 0), cell);
        all->i += out->columns[0][i].i;
        for (int f = 1; f < job->all_step; f++) all[f].d += out->columns[f][i].d;
        yes->i += out->columns[ALL_COLUMNS][i].i;
        for (int f = 1; f < job->true_step; f++) yes[f].d += out->columns[ALL_COLUMNS + f][i].d;
    }
}

static void drop_cell(Compact *out, int64_t at) {
    size_t rest = (size_t)(--out->size - at);
    memmove(out->cells + at, out->cells + at + 1, rest * sizeof *out->cells);
    for (int f = 0; f < COLUMNS; f++)
        if (out->columns[f]) memmove(out->columns[f] + at, out->columns[f] + at + 1, rest * sizeof(slot));
}

/* Writes the class-wise histogram of one of many classes, and zeroes it. Its lowest cell has what the others leave of
 * the totals; rounding may leave less than nothing of a sum. */
static void write_nested(Compact *out, const Job *job, Tables *t, int64_t j, const slot *totals) {
    int64_t cells = job->grid.nested_cells, lowest = out->size, at = lowest + 1;
    slot *all = t->nested + j * cells * job->all_step, *yes = t->nested_yes + j * cells * job->nested_true_step;
    slot left[ALL_COLUMNS];
    memcpy(left, totals, sizeof left);
    for (int64_t cell = 1; cell < cells; cell++) {
        slot *a = all + cell * job->all_step, *b = yes + cell * job->nested_true_step;
        if (a->i == 0) continue;
        out->cells[at] = (int32_t)cell;
        write_columns(out, 0, at, a, job->all_step);
        write_columns(out, ALL_COLUMNS, at, b, 1);
        if (job->mass) write_columns(out, ALL_COLUMNS + 4, at, b + 1, 2);
        left[0].i -= a[0].i;
        for (int f = 1; f < job->all_step; f++) left[f].d -= a[f].d;
        memset(a, 0, (size_t)job->all_step * sizeof *a);
        memset(b, 0, (size_t)job->nested_true_step * sizeof *b);
        at++;
    }
    for (int f = 1; f < job->all_step; f++) left[f].d = left[f].d < 0.0 ? 0.0 : left[f].d;
    out->cells[lowest] = 0;
    write_columns(out, 0, lowest, left, job->all_step);
    write_columns(out, ALL_COLUMNS, lowest, yes, 1);
    if (job->mass) write_columns(out, ALL_COLUMNS + 4, lowest, yes + 1, 2);
    out->size = at;
    if (left->i == 0) drop_cell(out, lowest);
    if (yes->i) memset(yes, 0, (size_t)job->nested_true_step * sizeof *yes);
}

#endif
