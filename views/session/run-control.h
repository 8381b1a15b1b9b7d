/* A run of the graph on screen that is stopped, looked at and driven, and watchpoints of runs. While it
 * stands, what it has kept so far is the last run, so every view shows it. %IR_CHANGED_RUN_CONTROL. */
#pragma once

#include "core/exec/run/control.h"
#include "views/session/session.h"

/* -- driving -- */
/* Begins a run that goes so, or has the one that stands go on so. */
void ir_session_drive (IrSession *self, IrRunCommand command);
void ir_session_pause_run (IrSession *self);
gboolean ir_session_is_driven (IrSession *self); /* such a run is under way, or stands */

/* Where it stands. */
typedef struct
{
  IrNodeId node; /* 0: the graph has not begun */
  gboolean after;
  IrValueId value; /* of which the breakpoint holds; 0: none */
  gint hit;        /* index of the breakpoint; -1: none */
  char *text;      /* a sentence */
  char *advice;    /* (nullable) what it most often comes of */
} IrStanding;
const IrStanding *ir_session_get_standing (IrSession *self); /* (nullable) */

/* -- breakpoints of runs, which are watchpoints, too -- */
GPtrArray *ir_session_get_run_breaks (IrSession *self); /* of IrRunBreak */
gboolean ir_session_add_run_break (IrSession *self, const char *text, GError **error);
void ir_session_remove_run_break (IrSession *self, guint index);
/* What holds of the values that the last run has kept; (nullable) of IrRunHit: there is none, or they are
 * not judged yet. */
const GArray *ir_session_get_run_hits (IrSession *self);
