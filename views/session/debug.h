/* The debugger: scoreboard, breakpoints, what-if, bisection, and why a rule did not fire. */
#pragma once

#include "passes/debug/bisect.h"
#include "passes/debug/breakpoint.h"
#include "passes/debug/what-if.h"
#include "passes/debug/why.h"
#include "views/session/session.h"

/* -- scoreboard: %IR_CHANGED_SCORES -- */
/* The scoreboard of the steps; %NULL until it was asked for and made. */
IrScoreboard *ir_session_get_scoreboard (IrSession *self);
void ir_session_request_scoreboard (IrSession *self); /* makes it beside other work */
gboolean ir_session_is_scoring (IrSession *self);
/* Measured times: a run of the graph after each step, some of them where there are many. */
void ir_session_measure_times (IrSession *self);
double ir_session_get_time (IrSession *self, guint step, double *spread); /* ms, NaN: unknown */

/* -- what the pipeline would gain: %IR_CHANGED_SCORES -- */
void ir_session_measure_gain (IrSession *self);
void ir_session_cancel_gain (IrSession *self);
gboolean ir_session_is_measuring_gain (IrSession *self);
const char *ir_session_get_gain (IrSession *self); /* (nullable) */

/* -- breakpoints: %IR_CHANGED_BREAKPOINTS -- */
GPtrArray *ir_session_get_breakpoints (IrSession *self); /* of IrBreakpoint */
gboolean ir_session_add_breakpoint (IrSession *self, const char *text, GError **error);
void ir_session_remove_breakpoint (IrSession *self, guint index);
void ir_session_switch_breakpoint (IrSession *self, guint index, gboolean on);
gboolean ir_session_breakpoint_is_on (IrSession *self, guint index);
guint ir_session_breakpoint_hits (IrSession *self, guint index, gboolean *last); /* how often */
void ir_session_run_to_breakpoint (IrSession *self, gboolean forward);

/* -- what if: the pipeline again without an application (by its stable key), a rule or a pass;
 * %IR_CHANGED_WHAT_IF -- */
void ir_session_skip (IrSession *self, const char *name);
void ir_session_skip_nothing (IrSession *self);                   /* back to the original result */
void ir_session_show_what_if (IrSession *self, gboolean what_if); /* FALSE: shows the original */
const IrWhatIf *ir_session_get_what_if (IrSession *self);         /* (nullable) */
gboolean ir_session_shows_what_if (IrSession *self);
const char *const *ir_session_get_skips (IrSession *self); /* (nullable) */

/* -- bisection: %IR_CHANGED_BISECTION -- */
/* Finds the step that makes the predicate fail and goes there. */
void ir_session_bisect (IrSession *self, const char *predicate);
const IrBisection *ir_session_get_bisection (IrSession *self); /* (nullable) */
const char *ir_session_get_bisected (IrSession *self);         /* (nullable) the predicate */
char *ir_session_bisection_text (IrSession *self);             /* (transfer full) for people */
/* Writes what shows the failure that was found, without the rest of the graph, into @folder. */
void ir_session_reproduce (IrSession *self, const char *folder);
gboolean ir_session_can_reproduce (IrSession *self);

/* -- why not: %IR_CHANGED_WHY -- */
/* Compares all rules that start at the operator of @node. */
void ir_session_ask_why (IrSession *self, IrNodeId node);
GPtrArray *ir_session_get_whys (IrSession *self); /* (nullable) of IrWhy */
IrNodeId ir_session_get_asked (IrSession *self);  /* the node of the newest question */
/* Draws an answer of ir_session_get_whys() on the graph; (nullable): none any more. */
void ir_session_show_why (IrSession *self, const IrWhy *why);
