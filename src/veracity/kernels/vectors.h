/* Which vectors the processor has. */
#ifndef VERACITY_VECTORS_H
#define VERACITY_VECTORS_H

#include "pair.h"
#include "sift.h"

static const Vectors PLAIN = {0,          sweep_plain,  pick_plain, hits_plain,
                              sift_plain, log_and_root, pair_rows,  pair_count};

#if defined(__x86_64__) && defined(__GNUC__)
#include "vectors256.h"
#include "vectors512.h"

/* The widest of up to so many bytes. */
static const Vectors *widest(long bytes) {
    __builtin_cpu_init();
    if (bytes >= VECTORS_512.bytes && has_512()) return &VECTORS_512;
    if (bytes >= VECTORS_256.bytes && has_256()) return &VECTORS_256;
    return &PLAIN;
}
#else
static const Vectors *widest(long bytes) {
    (void)bytes;
    return &PLAIN;
}
#endif

#endif
