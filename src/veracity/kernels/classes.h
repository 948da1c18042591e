/* Class-wise histograms of the packed cells of all threads, made compact. */
#ifndef VERACITY_CLASSES_H
#define VERACITY_CLASSES_H

#include "emit.h"
#include "packed.h"

/* How often class j happened in a nested cell; cleared for the next pass. */
INLINE int64_t take_true(Work *works, int threads, int64_t j, int64_t cell) {
    int64_t count = 0;
    for (int t = 0; t < threads; t++) {
        Packed *x = works[t].packed;
        if (!(x->yes_touched[j * x->yes_words + (cell >> 6)] >> (cell & 63) & 1)) continue;
        count += x->yes[j * x->cells + cell];
        x->yes[j * x->cells + cell] = 0;
    }
    return count;
}

/* Count and sum of a packed cell; cleared for the next pass. */
INLINE int64_t take_packed(Work *works, int threads, int64_t at, double edge, double step, int spilled_any,
                            double *sum) {
    int64_t count = 0;
    uint64_t offsets = 0;
    for (int t = 0; t < threads; t++) {
        uint64_t *held = &works[t].packed->nested[at];
        count += (int64_t)(*held >> COUNT_SHIFT);
        offsets += *held & (ONE_ENTRY - 1);
        *held = 0;
    }
    *sum = (double)count * edge + (double)offsets * step;
    for (int t = 0; spilled_any && t < threads; t++) {
        const slot *spilled = works[t].packed->spilled;
        if (!spilled) continue;
        count += spilled[2 * at].i;
        *sum += spilled[2 * at + 1].d;
    }
    return count;
}

/* One class-wise histogram of all threads. */
INLINE void emit_class(Compact *out, Work *works, int threads, int64_t j, const slot *totals, const double *edge,
                        const double *step) {
    enum { STEP = 8 };
    const Packed *first = works[0].packed;
    int64_t low = first->low_cells, up = first->cells - low, lowest = open_lowest(out, totals), at = out->size;
    slot *yes = out->columns[ALL_COLUMNS], *counts = out->columns[0], *sums = out->columns[1];
    int spilled = 0;
    yes[lowest].i = take_true(works, threads, j, 0);
    for (int t = 0; t < threads; t++) spilled |= works[t].packed->spilled != NULL;
    for (int64_t start = 0; start < low; start += STEP) {
        int64_t end = start + STEP < low ? start + STEP : low;
        uint64_t any = (uint64_t)spilled;
        for (int t = 0; t < threads; t++)
            for (int64_t cell = start; cell < end; cell++) any |= works[t].packed->nested[j * low + cell];
        for (int64_t cell = start; any && cell < end; cell++) {
            counts[at].i = take_packed(works, threads, j * low + cell, edge[cell], step[cell], spilled, &sums[at].d);
            out->cells[at] = (int32_t)cell;
            yes[at].i = take_true(works, threads, j, cell);
            at += counts[at].i != 0; /* no branch: it could not be foreseen */
        }
    }
    for (int64_t word = 0; word < first->words; word++) {
        uint64_t set = 0;
        for (int t = 0; t < threads; t++) {
            set |= works[t].packed->touched[j * first->words + word];
            works[t].packed->touched[j * first->words + word] = 0;
        }
        for (; set; set &= set - 1) {
            int64_t cell = 64 * word + __builtin_ctzll(set);
            counts[at].i = 0;
            sums[at].d = 0.0;
            for (int t = 0; t < threads; t++) {
                slot *r = works[t].packed->upper + 2 * (j * up + cell);
                counts[at].i += r[0].i;
                sums[at].d += r[1].d;
                r[0].i = r[1].i = 0;
            }
            out->cells[at] = (int32_t)(low + cell);
            yes[at++].i = take_true(works, threads, j, low + cell);
        }
    }
    for (int64_t i = out->size; i < at; i++) {
        counts[lowest].i -= counts[i].i;
        sums[lowest].d -= sums[i].d;
    }
    for (int t = 0; t < threads; t++)
        memset(works[t].packed->yes_touched + j * first->yes_words, 0, (size_t)first->yes_words * sizeof(uint64_t));
    out->size = at;
    close_lowest(out, lowest);
}

static void emit_packed(Compact *out, Work *works, int threads, int64_t j, const slot *totals, const double *edge,
                        const double *step) {
    if (threads == 1)
        emit_class(out, works, 1, j, totals, edge, step);
    else
        emit_class(out, works, threads, j, totals, edge, step);
}

#endif
