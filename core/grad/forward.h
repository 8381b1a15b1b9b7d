/* One node in forward mode, for those who build how it moves. */
#pragma once

#include "core/grad/grad.h"

struct _IrDual
{
  IrForward *forward;
  IrNode *node;
  IrVjp emit;        /* where its nodes go; captured: what its subgraphs read and that moves */
  IrValue **moves;   /* per input (nullable): how it moves */
  IrValue **results; /* per output: to be found; NULL: it does not move */
};

/* Has all of @path, copies of a body, move within a graph of its own. */
gboolean ir_forward_each (IrForward *forward, const GPtrArray *path, GError **error);
