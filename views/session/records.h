/* What the last run took, and what it changed against the one before it. */
#pragma once

#include "core/exec/measure/times.h"
#include "passes/debug/bisect.h"
#include "views/session/session.h"

/* -- what the last run took, ms -- */
IrTimes ir_session_get_run_times (IrSession *self); /* n 0: none */
IrTimes ir_session_get_node_times (IrSession *self, IrNodeId node);
char *ir_times_text (const IrTimes *times); /* (transfer full) "52.1 µs (50.2–55.7 µs, 5 runs)" */
char *ir_times_tip (const IrTimes *times); /* (transfer full) (nullable): what that says */
char *ir_ms_text (double ms);              /* (transfer full) "52.1 µs" */
/* (transfer full) (nullable): the last run in a line: time, threads, policies, what it kept */
char *ir_session_run_text (IrSession *self);

/* -- what it changed against the run before -- */
typedef struct
{
  guint from_step, step;
  IrTimes before, after; /* ms */
  gboolean other_inputs; /* nothing was compared */
  guint n_compared, n_differ;
  IrValueId worst; /* 0: no difference */
  IrDifference worst_difference;
} IrRunChange;

const IrRunChange *ir_session_get_run_change (IrSession *self);             /* (nullable) */
char *ir_run_change_text (const IrRunChange *change, const IrModel *model); /* (transfer full) */

typedef struct
{
  IrTimes before, after; /* ms; n 0: it was not there */
  gboolean compared;
  IrDifference difference; /* of its outputs, the largest */
} IrNodeChange;

gboolean ir_session_get_node_change (IrSession *self, IrNodeId node, IrNodeChange *change);
char *ir_difference_text (const IrDifference *difference); /* (transfer full) */
