/* Random structured programs for the tests of control flow. */
#pragma once

#include <glib.h>

/* (transfer full) ONNX text of a graph of If, Loop, Scan and SequenceMap in each other, of the inputs int64 x,
 * float[3] y, bool z and int64[2] v. @n_constructs: (out) how many it has */
char *flow_program (guint64 seed, guint *n_constructs);
