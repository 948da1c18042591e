/* The pass as it is compiled for one width of vectors. */
#ifndef VERACITY_WIDTHS_H
#define VERACITY_WIDTHS_H

#include <Python.h>

typedef struct {
    int bytes;
    PyMethodDef *methods;
    long parts, small;
} Width;

extern const Width VERACITY_16, VERACITY_32, VERACITY_64;

#endif
