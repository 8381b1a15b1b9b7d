/* Random structured programs for the tests of control flow. */
#pragma once

#include <glib.h>

/* (transfer full) ONNX text of a graph of If, Loop, Scan and SequenceMap in each other, of the inputs int64 x,
 * float[3] y, bool z and int64[2] v. @n_constructs: (out) how many it has */
char *flow_program (guint64 seed, guint *n_constructs);
/* (transfer full) Two programs that compute the same, of int64 x, float[3] y and bool z: by closures in variables and a
 * function that calls itself, and by If and Loop alone */
void flow_function_programs (guint64 seed, char **functions, char **without);
