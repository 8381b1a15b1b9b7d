/* One case of the sweep: a graph around a node with odd numbers of inputs and outputs, empty names
 * or broken initializers, as the text of a JSON model. Made from its number alone. */
#pragma once

#include "core/op/op.h"

/* What stands in one input slot. */
typedef enum
{
  SWEEP_VALUE,    /* an input of the graph, behind what surrounds the node */
  SWEEP_CONSTANT, /* an initializer */
  SWEEP_EMPTY,    /* an empty name */
  SWEEP_UNKNOWN,  /* a name that nothing defines */
  SWEEP_NOTHING,  /* an initializer without data */
  SWEEP_SHORT,    /* one with too few elements */
  SWEEP_BYTES,    /* one with too many bytes */
  SWEEP_N_SOURCES
} SweepSource;

typedef struct
{
  const IrOp *op;
  guint n_inputs, n_outputs;
  SweepSource others;   /* of all slots but one */
  SweepSource odd;      /* of slot @at */
  guint at;             /* G_MAXUINT: none is odd */
  guint around, shapes; /* which nodes stand around it, and of which types inputs are */
} SweepCase;

GArray *sweep_cases (void); /* (transfer full) of SweepCase: all there are */
char *sweep_case_to_json (const SweepCase *self);
char *sweep_case_to_string (const SweepCase *self);
