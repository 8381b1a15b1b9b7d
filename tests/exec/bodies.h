/* Graphs written as the nodes of a body in ONNX text, with constants for inputs. */
#pragma once

#include "core/exec/exec.h"

/* Runs a graph without inputs whose output is "TYPE y" on both back ends, which must agree; checks
 * that inference said what the kernels did. (transfer full); NULL with @error where it fails. */
IrTensor *run_body (gint64 opset, const char *output, const char *body, GError **error);
IrModel *read_graph (gint64 opset, const char *signature, const char *body); /* (transfer full) */
void assert_body (
    gint64 opset, const char *type, const char *elements, double atol, const char *body);
/* @strings: separated by |, each element of y in turn. */
void assert_strings (const char *type, const char *strings, const char *body);
