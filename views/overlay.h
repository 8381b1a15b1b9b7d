/* Overlays: a number per node that tints the graph. Each is a row of data, so that the painter
 * knows nothing of what it shows. */
#pragma once

#include "core/exec/exec.h"

typedef struct
{
  const IrModel *model;
  GHashTable *time_ns; /* (nullable): node id -> gint64 *, of the last run */
} IrOverlayContext;

typedef struct
{
  const char *id, *title;
  const char *unit; /* "ms", "B", "FLOP" */
  const char *doc;
  gboolean needs_run;
  double (*value) (const IrOverlayContext *context, const IrNode *node); /* NAN: nothing to say */
} IrOverlay;

GHashTable *ir_overlay_times (const IrRun *run); /* (nullable) run; (transfer full) (nullable) */
const IrOverlay *ir_overlays (guint *n);
const IrOverlay *ir_overlay_find (const char *id);
