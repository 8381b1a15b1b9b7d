/* One node in forward mode, for those who build its tangent. */
#pragma once

#include "core/grad/grad.h"

struct _IrDual
{
  IrForward *forward;
  IrNode *node;
  IrVjp emit; /* where its nodes go; captured: what its subgraphs read and that has a tangent */
  IrValue **tangents; /* per input (nullable) */
  IrValue **results;  /* per output: to be found; NULL: it is 0 */
  IrValue **values;   /* per output: what gives it, too, and takes its place; NULL: nothing */
};

/* Derives all of @path, copies of a body, within a graph of its own. */
gboolean ir_forward_each (IrForward *forward, const GPtrArray *path, GError **error);
