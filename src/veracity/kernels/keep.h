/* Cleared memory of earlier passes: to clear it anew is what small passes would spend their time on. Used only while
 * the interpreter's lock is held. */
#ifndef VERACITY_KEEP_H
#define VERACITY_KEEP_H

#include "classes.h"
#include "small.h"

enum { KEPT = 2, KEPT_BYTES = 48 << 20 };
static Scratch kept_scratch[KEPT];
static Packed *kept_packed[KEPT];
static Small *kept_small;
static Work *kept_work; /* of a pass with one thread */

static void free_scratch(Scratch *s) {
    free(s->all);
    free(s->yes);
    free(s->touched);
    free(s->nested);
    free(s->words);
    free(s->nested_yes);
    memset(s, 0, sizeof *s);
}

static int get_scratch(Scratch *s, const Job *job) {
    size_t places = (size_t)(job->histograms * job->grid.places);
    size_t nested = job->k > MANY && !job->packed ? (size_t)(job->k * job->grid.nested_cells) : 0;
    size_t all = places * (size_t)job->all_step * sizeof(slot), yes = places * (size_t)job->true_step * sizeof(slot);
    size_t touched = (size_t)(job->histograms * job->grid.words) * sizeof(uint64_t);
    size_t words = job->floats ? (size_t)job->k * LIST_CODES * sizeof(uint64_t) : 0;
    memset(s, 0, sizeof *s);
    for (int i = 0; i < KEPT && !nested; i++) {
        Scratch *old = &kept_scratch[i];
        if (old->all && old->all_size >= all && old->yes_size >= yes && old->touched_size >= touched &&
            (words ? old->words_size >= words : !old->words_size)) {
            *s = *old;
            memset(old, 0, sizeof *old);
            return 1;
        }
    }
    s->all_size = all;
    s->yes_size = yes;
    s->touched_size = touched;
    s->words_size = words;
    s->all = get_zeros(all);
    s->yes = get_zeros(yes);
    s->touched = get_zeros(touched);
    s->words = words ? get_zeros(words) : NULL;
    if (nested) {
        s->nested = calloc(nested * (size_t)job->nested_step, sizeof(slot));
        s->nested_yes = calloc(nested * (size_t)job->nested_true_step, sizeof(slot));
    }
    return s->all && s->yes && s->touched && (s->words || !words) && (!nested || (s->nested && s->nested_yes));
}

static void put_scratch(Scratch *s, int clean) {
    if (clean && s->all && !s->nested && s->all_size + s->yes_size + s->words_size <= KEPT_BYTES)
        for (int i = 0; i < KEPT; i++) {
            if (kept_scratch[i].all && kept_scratch[i].all_size >= s->all_size) continue;
            free_scratch(&kept_scratch[i]);
            kept_scratch[i] = *s;
            return;
        }
    free_scratch(s);
}

static Packed *get_packed(const Job *job) {
    const Grid *g = &job->grid;
    Packed *x = NULL;
    for (int i = 0; i < KEPT && !x; i++) {
        Packed *old = kept_packed[i];
        if (old && old->k == job->k && old->cells == g->nested_cells && old->hit_room >= most_hits(job)) {
            x = old;
            kept_packed[i] = NULL;
        }
    }
    if (!x) x = new_packed(job);
    if (x) set_grid(x, g);
    return x;
}

static void put_packed(Packed *x, int clean) {
    if (x && clean && !x->spilled && x->bytes <= KEPT_BYTES)
        for (int i = 0; i < KEPT; i++) {
            if (kept_packed[i] && kept_packed[i]->bytes >= x->bytes) continue;
            free_packed(kept_packed[i]);
            kept_packed[i] = x;
            x->pooled_used = x->nested_used = 0;
            return;
        }
    free_packed(x);
}

static Small *get_small(void) {
    Small *s = kept_small;
    kept_small = NULL;
    if (!s) s = new_small();
    if (s) s->rows = 0;
    return s;
}

static void put_small(Small *s) {
    if (kept_small)
        free_small(s);
    else
        kept_small = s;
}

static Work *get_works(int threads) {
    Work *w = threads == 1 ? kept_work : NULL;
    if (!w) return calloc((size_t)threads, sizeof *w);
    kept_work = NULL;
    memset(w, 0, offsetof(Work, p));
    return w;
}

static void put_works(Work *w, int threads) {
    if (threads > 1 || kept_work)
        free(w);
    else
        kept_work = w;
}

#endif
