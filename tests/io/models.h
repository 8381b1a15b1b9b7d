/* Models that the tests of core/io share, and helpers to compare states. */
#pragma once

#include "core/io/io.h"
#include "core/ir/dump.h"
#include "tests/support/folder.h"

extern const char test_rich_text[];   /* every kind of attribute, subgraphs, functions, extras */
extern const char test_dtypes_text[]; /* a tensor of every element type, with its extremes */

GBytes *test_npz (void);                    /* two arrays in an archive, one of them deflated */
IrModel *test_read_text (const char *text); /* no problem of error severity allowed */
IrModel *test_through_onnx (IrModel *model);
IrModel *test_through_text (IrModel *model);
IrModel *test_through_json (IrModel *model);
void test_assert_same (IrModel *a, IrModel *b);
void test_assert_no_errors (const GPtrArray *problems);
gboolean test_has_problem (const GPtrArray *problems, IrProblemCode code);
void test_write_weights (const char *path, guint n_tensors, gsize tensor_bytes); /* sums of zeros */
