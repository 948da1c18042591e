/* Histograms of all threads, added up and made compact. */
#ifndef VERACITY_EMIT_H
#define VERACITY_EMIT_H

#include "native.h"

enum { ALL_COLUMNS = 4, TRUE_COLUMNS = 6, COLUMNS = ALL_COLUMNS + TRUE_COLUMNS };

/* Compact histograms one after another; columns all {count, sum, weight, weight2}, then true {count, sum, log, power,
 * weight, weight2}. */
typedef struct {
    int32_t *cells;
    slot *columns[COLUMNS];
    int64_t size, room;
    int failed;
} Compact;

static void make_room(Compact *out, int64_t more) {
    if (out->failed || out->size + more <= out->room) return;
    int64_t room = 2 * out->room > out->size + more ? 2 * out->room : out->size + more;
    int32_t *cells = realloc(out->cells, (size_t)room * sizeof *cells);
    if (cells) out->cells = cells;
    out->failed |= !cells;
    for (int f = 0; f < COLUMNS; f++) {
        slot *column = realloc(out->columns[f], (size_t)room * sizeof *column);
        if (column) out->columns[f] = column;
        out->failed |= !column;
    }
    if (!out->failed) out->room = room;
}

static void free_compact(Compact *out) {
    free(out->cells);
    for (int f = 0; f < COLUMNS; f++) free(out->columns[f]);
}

INLINE int is_count(int column) { return column == 0 || column == ALL_COLUMNS; }

/* Adds the records of one place to the cell that is being written, opening it when it is a new one. */
static void emit_place(Compact *out, int64_t first, int32_t cell, const slot *all, int all_step, const slot *yes,
                       int true_step) {
    if (all->i == 0) return;
    int64_t at = out->size - 1;
    if (out->size == first || out->cells[at] != cell) {
        at = out->size++;
        out->cells[at] = cell;
        for (int f = 0; f < COLUMNS; f++) out->columns[f][at].i = 0;
    }
    out->columns[0][at].i += all[0].i;
    for (int f = 1; f < all_step; f++) out->columns[f][at].d += all[f].d;
    if (yes == NULL) return;
    out->columns[ALL_COLUMNS][at].i += yes[0].i;
    for (int f = 1; f < true_step; f++) out->columns[ALL_COLUMNS + f][at].d += yes[f].d;
}

/* Places of a code: itself, or the parts a cut divides it into. */
INLINE void places_of(const Grid *g, int32_t code, int32_t *from, int32_t *to) {
    *from = code;
    *to = code + 1;
    if (!is_divided(g, code)) return;
    *from = (int32_t)PARTS + g->first_part[code];
    for (*to = *from + 1; *to < g->places && code_of(g->part_edges[*to - PARTS]) == code; ++*to) {}
}

static int64_t touched_places(const Job *job, const Work *works, int threads, int64_t h) {
    int64_t count = 0, words = job->grid.words;
    for (int t = 0; t < threads; t++)
        for (int64_t word = 0; word < words; word++)
            count += __builtin_popcountll(works[t].scratch.touched[h * words + word]);
    return count;
}

/* Histograms from h to last as one, in order of cells. */
static void emit_histograms(Compact *out, const Job *job, const Work *works, int threads, int64_t h, int64_t last) {
    const Grid *g = &job->grid;
    int64_t first = out->size, room = 0;
    for (int64_t i = h; i <= last; i++) room += touched_places(job, works, threads, i);
    make_room(out, room);
    if (out->failed) return;
    for (int64_t word = 0; word < PARTS / 64; word++) {
        uint64_t set = 0;
        for (int64_t i = h; i <= last; i++)
            for (int t = 0; t < threads; t++) set |= works[t].scratch.touched[i * g->words + word];
        for (; set; set &= set - 1) {
            int bit = __builtin_ctzll(set);
            int32_t from, to;
            places_of(g, (int32_t)(64 * word + bit), &from, &to);
            for (int32_t place = from; place < to; place++)
                for (int64_t i = h; i <= last; i++)
                    for (int t = 0; t < threads; t++) {
                        const Scratch *s = &works[t].scratch;
                        if (!(s->touched[i * g->words + word] >> bit & 1)) continue;
                        const slot *all = s->all + (i * g->places + place) * job->all_step;
                        const slot *yes = s->yes + (i * g->places + place) * job->true_step;
                        emit_place(out, first, g->cell[place], all, job->all_step, yes, job->true_step);
                    }
        }
    }
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

/* The class-wise histogram of class j beyond 50 classes; its lowest cell is what the others leave of the totals. */
static void emit_nested(Compact *out, const Job *job, Work *works, int threads, int64_t j, const slot *totals) {
    int64_t cells = job->grid.nested_cells;
    make_room(out, cells);
    if (out->failed) return;
    int64_t lowest = out->size++;
    for (int f = 0; f < COLUMNS; f++) out->columns[f][lowest].i = 0;
    slot left[ALL_COLUMNS];
    memcpy(left, totals, sizeof left);
    int64_t true_base = ALL_COLUMNS;
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
        int64_t at = lowest;
        if (cell) {
            if (all[0].i == 0) continue;
            at = out->size++;
            left[0].i -= all[0].i;
            out->columns[0][at] = all[0];
            for (int f = 1; f < ALL_COLUMNS; f++) {
                left[f].d -= all[f].d;
                out->columns[f][at] = all[f];
            }
        }
        for (int f = 0; f < TRUE_COLUMNS; f++) out->columns[true_base + f][at].i = 0;
        out->cells[at] = (int32_t)cell;
        out->columns[true_base][at] = yes[0];
        out->columns[true_base + 4][at] = yes[1];
        out->columns[true_base + 5][at] = yes[2];
    }
    for (int f = 0; f < ALL_COLUMNS; f++) out->columns[f][lowest] = left[f];
    if (left[0].i) return;
    out->size--; /* nothing is left: close the gap */
    memmove(out->cells + lowest, out->cells + lowest + 1, (size_t)(out->size - lowest) * sizeof *out->cells);
    for (int f = 0; f < COLUMNS; f++)
        memmove(out->columns[f] + lowest, out->columns[f] + lowest + 1, (size_t)(out->size - lowest) * sizeof(slot));
}

#endif
