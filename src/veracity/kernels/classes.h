/* Class-wise histograms of the packed cells of all threads, made compact. */
#ifndef VERACITY_CLASSES_H
#define VERACITY_CLASSES_H

#include "emit.h"
#include "packed.h"

/* How often class j happened in a nested cell; cleared for the next pass. */
INLINE int64_t take_true(Work *works, int threads, int64_t at) {
    int64_t count = 0;
    for (int t = 0; t < threads; t++) {
        count += works[t].packed->yes[at];
        works[t].packed->yes[at] = 0;
    }
    return count;
}

/* Count and sum of a packed cell; cleared for the next pass. */
INLINE int64_t take_packed(Work *works, int threads, int64_t at, uint32_t first, double *sum) {
    int64_t count = 0;
    *sum = 0.0;
    for (int t = 0; t < threads; t++) {
        Packed *x = works[t].packed;
        unpack_nested(x->nested[at], first, &count, sum);
        x->nested[at] = 0;
        if (!x->spilled) continue;
        count += x->spilled[2 * at].i;
        *sum += x->spilled[2 * at + 1].d;
    }
    return count;
}

/* One class-wise histogram of all threads. */
INLINE void emit_class(Compact *out, Work *works, int threads, int64_t j, const slot *totals) {
    enum { STEP = 8 };
    const Packed *x = works[0].packed;
    int64_t cells = x->cells, lowest = open_lowest(out, totals), at = out->size;
    slot *yes = out->columns[ALL_COLUMNS], *counts = out->columns[0], *sums = out->columns[1];
    int spilled = 0;
    yes[lowest].i = take_true(works, threads, j * cells);
    for (int t = 0; t < threads; t++) spilled |= works[t].packed->spilled != NULL;
    for (int64_t start = 1; start < cells; start += STEP) {
        int64_t end = start + STEP < cells ? start + STEP : cells;
        uint64_t any = (uint64_t)spilled;
        for (int t = 0; t < threads; t++)
            for (int64_t cell = start; cell < end; cell++) any |= works[t].packed->nested[j * cells + cell];
        for (int64_t cell = start; any && cell < end; cell++) {
            counts[at].i = take_packed(works, threads, j * cells + cell, x->first[cell], &sums[at].d);
            out->cells[at] = (int32_t)cell;
            yes[at].i = take_true(works, threads, j * cells + cell);
            at += counts[at].i != 0; /* no branch: it could not be foreseen */
        }
    }
    for (int64_t i = out->size; i < at; i++) {
        counts[lowest].i -= counts[i].i;
        sums[lowest].d -= sums[i].d;
    }
    out->size = at;
    close_lowest(out, lowest);
}

static void emit_packed(Compact *out, Work *works, int threads, int64_t j, const slot *totals) {
    if (threads == 1)
        emit_class(out, works, 1, j, totals);
    else
        emit_class(out, works, threads, j, totals);
}

#endif
