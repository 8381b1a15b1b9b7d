/* Breakpoints: where going through the steps of a history stops.
 *
 *     rule=fold-conv-*   pass=fuse-*   op=Conv   node=conv1   verdict=broken   nodes<50 memory>1MiB
 *
 * The grammar is in the essay at the top of breakpoint.c. */
#pragma once

#include "passes/debug/scoreboard.h"

#define IR_BREAKPOINT_ERROR (ir_breakpoint_error_quark ())
GQuark ir_breakpoint_error_quark (void);
typedef enum
{
  IR_BREAKPOINT_ERROR_SYNTAX
} IrBreakpointErrorCode;

typedef struct _IrBreakpoint IrBreakpoint;

IrBreakpoint *ir_breakpoint_parse (const char *text, GError **error);
/* FALSE: it names a rule, pass, operator or node that there is not, so that it never stops */
gboolean ir_breakpoint_check (const IrBreakpoint *breakpoint,
                              const IrModel *model,
                              GError **error);
void ir_breakpoint_free (IrBreakpoint *breakpoint);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrBreakpoint, ir_breakpoint_free)
const char *ir_breakpoint_text (const IrBreakpoint *breakpoint);
gboolean ir_breakpoint_needs_scores (const IrBreakpoint *breakpoint);
gboolean ir_breakpoint_needs_proof (const IrBreakpoint *breakpoint);
gboolean ir_breakpoint_hits (const IrBreakpoint *breakpoint,
                             const IrModel *model,
                             const IrScoreboard *board,
                             guint step);
/* @breakpoints: of IrBreakpoint. The step where going on from @from stops; with @hit NULL that is
 * an end of the history. */
guint ir_breakpoints_run (const GPtrArray *breakpoints,
                          const IrModel *model,
                          const IrScoreboard *board,
                          guint from,
                          gboolean forward,
                          const IrBreakpoint **hit);
const char *const *ir_breakpoint_examples (void); /* NULL-terminated: text, what it means, ... */
