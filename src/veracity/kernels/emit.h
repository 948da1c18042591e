/* Histograms of all threads, added up and made compact. */
#ifndef VERACITY_EMIT_H
#define VERACITY_EMIT_H

#include "native.h"

enum { ALL_COLUMNS = 4, TRUE_COLUMNS = 6, COLUMNS = ALL_COLUMNS + TRUE_COLUMNS };

/* Compact histograms one after another, in arrays of the caller that are large enough; columns all {count, sum, weight,
 * weight2}, then true {count, sum, log, power, weight, weight2}. */
typedef struct {
    int32_t *cells;
    slot *columns[COLUMNS];
    int64_t size;
} Compact;

/* Where histograms begin and end in the output. */
enum { POOLED, POOLED_END, TOP, TOP_END, CLASSES }; /* one after another, then the end of the last */

/* Zeroes a new cell; 0 is the same bits for counts and sums. */
INLINE void clear_cell(Compact *out, const Job *job, int64_t at) {
    for (int f = 0; f < job->all_step; f++) out->columns[f][at].i = 0;
    for (int f = 0; f < job->true_step; f++) out->columns[ALL_COLUMNS + f][at].i = 0;
}

/* Adds the records of one place to the cell that is being written, opening it when it is a new one. */
INLINE void emit_place(Compact *out, const Job *job, int64_t first, int32_t cell, const slot *all, const slot *yes) {
    if (all->i == 0 && yes->i == 0) return; /* between edges (between.h) true entries may be alone */
    int64_t at = out->size - 1;
    if (out->size == first || out->cells[at] != cell) {
        at = out->size++;
        out->cells[at] = cell;
        clear_cell(out, job, at);
    }
    out->columns[0][at].i += all[0].i;
    for (int f = 1; f < job->all_step; f++) out->columns[f][at].d += all[f].d;
    if (yes->i == 0) return;
    out->columns[ALL_COLUMNS][at].i += yes[0].i;
    for (int f = 1; f < job->true_step; f++) out->columns[ALL_COLUMNS + f][at].d += yes[f].d;
}

/* Places of a code: itself, or the parts a cut divides it into. */
INLINE void places_of(const Grid *g, int32_t code, int32_t *from, int32_t *to) {
    *from = code;
    *to = code + 1;
    if (!is_divided(g, code)) return;
    *from = (int32_t)PARTS + g->first_part[code];
    for (*to = *from + 1; *to < g->places && code_of(g->part_edges[*to - PARTS]) == code; ++*to) {}
}

/* One histogram, in order of cells. */
static void emit_histogram(Compact *out, const Job *job, const Work *works, int threads, int64_t h) {
    const Grid *g = &job->grid;
    int64_t first = out->size;
    for (int64_t word = 0; word < PARTS / 64; word++) {
        uint64_t set = 0;
        for (int t = 0; t < threads; t++) set |= works[t].scratch.touched[h * g->words + word];
        for (; set; set &= set - 1) {
            int bit = __builtin_ctzll(set);
            int32_t from, to;
            places_of(g, (int32_t)(64 * word + bit), &from, &to);
            for (int32_t place = from; place < to; place++)
                for (int t = 0; t < threads; t++) {
                    const Scratch *s = &works[t].scratch;
                    if (!(s->touched[h * g->words + word] >> bit & 1)) continue;
                    const slot *all = s->all + (h * g->places + place) * job->all_step;
                    const slot *yes = s->yes + (h * g->places + place) * job->true_step;
                    emit_place(out, job, first, g->cell[place], all, yes);
                }
        }
    }
}

/* The sum of the histograms that are there; whether there was memory. */
static int emit_sum(Compact *out, const Job *job) {
    const Grid *g = &job->grid;
    int64_t cells = 0, size = out->size, width = job->all_step + job->true_step;
    for (int64_t place = 0; place < g->places; place++) cells = g->cell[place] >= cells ? g->cell[place] + 1 : cells;
    slot *sums = calloc((size_t)(cells * width), sizeof *sums);
    if (!sums) return 0;
    for (int64_t i = 0; i < size; i++) {
        slot *all = sums + out->cells[i] * width, *yes = all + job->all_step;
        all[0].i += out->columns[0][i].i;
        for (int f = 1; f < job->all_step; f++) all[f].d += out->columns[f][i].d;
        yes[0].i += out->columns[ALL_COLUMNS][i].i;
        for (int f = 1; f < job->true_step; f++) yes[f].d += out->columns[ALL_COLUMNS + f][i].d;
    }
    for (int64_t cell = 0; cell < cells; cell++) {
        const slot *all = sums + cell * width;
        if (all->i == 0) continue;
        int64_t at = out->size++;
        out->cells[at] = (int32_t)cell;
        for (int f = 0; f < job->all_step; f++) out->columns[f][at] = all[f];
        for (int f = 0; f < job->true_step; f++) out->columns[ALL_COLUMNS + f][at] = all[job->all_step + f];
    }
    free(sums);
    return 1;
}

/* Zeroes what the pass has touched, so that the next can begin at once. */
static void clear_touched(const Job *job, Scratch *s) {
    for (int64_t h = 0; h < job->histograms; h++)
        for (int64_t word = 0; word < job->grid.words; word++) {
            uint64_t *touched = s->touched + h * job->grid.words + word;
            for (; *touched; *touched &= *touched - 1) {
                int64_t place = h * job->grid.places + 64 * word + __builtin_ctzll(*touched);
                memset(s->all + place * job->all_step, 0, (size_t)job->all_step * sizeof(slot));
                memset(s->yes + place * job->true_step, 0, (size_t)job->true_step * sizeof(slot));
            }
        }
}

/* Opens the lowest cell of a class-wise histogram beyond 50 classes: it is what the others leave of the totals. */
INLINE int64_t open_lowest(Compact *out, const slot *totals) {
    int64_t at = out->size++;
    out->cells[at] = 0;
    for (int f = 0; f < ALL_COLUMNS; f++)
        if (out->columns[f]) out->columns[f][at] = totals[f];
    return at;
}

INLINE void leave(Compact *out, const Job *job, int64_t lowest, int64_t at) {
    out->columns[0][lowest].i -= out->columns[0][at].i;
    for (int f = 1; f < job->all_step; f++) out->columns[f][lowest].d -= out->columns[f][at].d;
}

/* Takes the lowest cell back if nothing is left in it; rounding may leave less than nothing of a sum. */
static void close_lowest(Compact *out, int64_t lowest) {
    for (int f = 1; f < ALL_COLUMNS; f++)
        if (out->columns[f] && out->columns[f][lowest].d < 0.0) out->columns[f][lowest].d = 0.0;
    if (out->columns[0][lowest].i) return;
    size_t rest = (size_t)(--out->size - lowest);
    memmove(out->cells + lowest, out->cells + lowest + 1, rest * sizeof *out->cells);
    for (int f = 0; f < COLUMNS; f++)
        if (out->columns[f]) memmove(out->columns[f] + lowest, out->columns[f] + lowest + 1, rest * sizeof(slot));
}

static void emit_nested(Compact *out, const Job *job, const Work *works, int threads, int64_t j, const slot *totals) {
    int64_t cells = job->grid.nested_cells, lowest = open_lowest(out, totals);
    for (int64_t cell = 0; cell < cells; cell++) {
        slot all[ALL_COLUMNS] = {{0}}, yes[3] = {{0}};
        for (int t = 0; t < threads; t++) {
            const slot *a = works[t].scratch.nested + (j * cells + cell) * job->nested_step;
            const slot *b = works[t].scratch.nested_yes + (j * cells + cell) * job->nested_true_step;
            all[0].i += a[0].i;
            for (int f = 1; f < job->nested_step; f++) all[f].d += a[f].d;
            yes[0].i += b[0].i;
            for (int f = 1; f < job->nested_true_step; f++) yes[f].d += b[f].d;
        }
        if (cell && all[0].i == 0) continue;
        int64_t at = cell ? out->size++ : lowest;
        out->columns[ALL_COLUMNS][at] = yes[0];
        if (job->mass) {
            out->columns[ALL_COLUMNS + 4][at] = yes[1];
            out->columns[ALL_COLUMNS + 5][at] = yes[2];
        }
        if (cell == 0) continue;
        out->cells[at] = (int32_t)cell;
        for (int f = 0; f < job->all_step; f++) out->columns[f][at] = all[f];
        leave(out, job, lowest, at);
    }
    close_lowest(out, lowest);
}

#endif
