/* The least model that still shows a finding: outputs are dropped, nodes are cut out, and sizes
 * become smaller, as long as it stays. */
#pragma once

#include "core/exec/exec.h"
#include "core/ir/edit.h"

typedef struct
{
  IrModel *model;                                        /* (owned) the least so far */
  gboolean (*fails) (IrModel *candidate, gpointer data); /* in the same way */
  IrRun *(*captured) (IrModel *model, gpointer data);    /* (nullable) a run that kept all values */
  gpointer data;
} Shrink;

/* Takes @candidate (transfer full) if it fails in the same way. */
gboolean shrink_to (Shrink *shrink, IrModel *candidate);
void shrink_outputs (Shrink *shrink);
/* What reads a node reads its input, a new input, or a constant instead. Returns: whether any was
 * cut out */
gboolean shrink_nodes (Shrink *shrink);
/* In all graphs: a body comes in place of the node that owns it, and what reads an output reads something else of its
 * type. Returns: whether any did */
gboolean shrink_bodies (Shrink *shrink);
/* Each size, wherever it occurs, becomes a smaller one. */
gboolean shrink_sizes (Shrink *shrink);
/* Constant nodes become initializers, whose sizes can be made smaller. */
gboolean shrink_constants (Shrink *shrink);
/* Float constants become multiples of a quarter. */
void shrink_numbers (Shrink *shrink);
