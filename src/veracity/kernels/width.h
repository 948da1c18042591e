/* The functions of a pass, compiled for vectors of VECTOR bytes. */
#if VECTOR == 32
#include "packed.h"
#endif
#include "many.h"
#include "pair.h"

/* Memory for the rows of a thread beside its tables; whether there was any. */
static int prepare(Work *w) {
#if VECTOR == 32
    if (w->job->packed) return prepare_packed(w);
#endif
    return !w->job->held || prepare_held(&w->held, w->job);
}

static void count_rows(Work *w) {
    const Job *job = w->job;
    int64_t k = job->k, step = ROWS;
    if (k <= MANY && step > ENTRIES / k) step = ENTRIES / k / LANES * LANES;
#if VECTOR == 32
    if (job->packed) step = BLOCK;
#endif
    for (int64_t start = w->begin; start < w->end && !w->failed; start += step) {
        int64_t n = w->end - start < step ? w->end - start : step;
        if (job->hashes && !job->packed) { /* while the rows are in the cache */
            const char *first = job->p + start * job->row_step;
            hash_rows(&(Hashing){first, n, k, job->row_step, job->column_step, job->item, job->one_column,
                                 job->hashes + start});
        }
        if (k <= MANY)
            few_block(w, start, n);
#if VECTOR == 32
        else if (job->packed)
            packed_block(w, start, n);
#endif
        else
            many_block(w, start, n);
    }
#if VECTOR == 32
    if (job->packed) finish_packed(w);
#endif
    if (job->held) order_held(&w->held, k);
}

static void end(Work *w) {
    free(w->held.memory);
#if VECTOR == 32
    free_packed(w->packed);
#endif
}
