/* The module in C, with the functions for the widest vectors that the processor has. */
#include "widths.h"

/* The widest vectors of up to so many bytes that this processor has. */
static const Width *widest(long bytes) {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    int has_32 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                 __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    int has_64 = has_32 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    if (bytes >= 64 && has_64) return &VERACITY_64;
    if (bytes >= 32 && has_32) return &VERACITY_32;
#endif
    (void)bytes;
    return &VERACITY_16;
}

/* For tests: puts the functions for the widest vectors of up to so many bytes in place; returns how many they have. */
static PyObject *use_vectors(PyObject *module, PyObject *most) {
    long bytes = PyLong_AsLong(most);
    if (bytes == -1 && PyErr_Occurred()) return NULL;
    const Width *width = widest(bytes);
    if (PyModule_AddFunctions(module, width->methods) < 0) return NULL;
    return PyLong_FromLong(width->bytes);
}

static PyMethodDef methods[] = {{"use_vectors", use_vectors, METH_O, "The most bytes of a vector."},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", "The pass over forecasts in C.", 0, methods,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) {
    const Width *width = widest(64);
    PyObject *made = PyModule_Create(&module);
    int bad = !made || PyModule_AddFunctions(made, width->methods) < 0;
    bad = bad || PyModule_AddIntConstant(made, "PARTS", width->parts) < 0;
    if (bad || PyModule_AddIntConstant(made, "SMALL", width->small) < 0) Py_CLEAR(made);
    return made;
}
