/* Calls of operators that have a GPU kernel, with what the reference gives for them: what tests of
 * kernels try. */
#pragma once

#include "core/exec/gpu/program.h"
#include "tests/fuzz/op-trial.h"

#define MAX_OUTPUTS 16

typedef struct
{
  Trial trial;
  guint32 seed;
  IrTensor
      *wanted[MAX_OUTPUTS]; /* entries nullable; all, where the reference refuses the contents */
  gboolean refused;
  guint first, end; /* launches */
  struct
  {
    IrDtype dtype;
    guint64 n;
  } outputs[MAX_OUTPUTS]; /* as inferred */
} Case;

typedef struct
{
  GPtrArray *list; /* of Case */
  IrGpuProgram *program;
  GHashTable *why; /* by name of the row: the last reason why there was no kernel for a call */
} Cases;

void cases_init (Cases *cases);
void cases_clear (Cases *cases);
/* Adds up to @n random calls of @op, and those in certain shapes. */
void cases_add (Cases *cases, const IrOp *op, guint n);
