/* Breakpoints of runs, and watchpoints: what may hold of a value that a node has given, at which nodes.
 *
 *     nan                    max>6 op:relu          saturated>0.9       memory>1G
 *     abs>=65504 -op:cast    zeros name:block.3     diverges            op:conv cost>1M
 *     diverges:original      iteration>=3 frame:loop    max>6 loop@3/NAME
 *
 * Words of the table below are tests; all others are a question about the node as
 * core/query/query.h has it. All hold together. Without a test it is about the node alone, and a run
 * stops before it. */
#pragma once

#include "core/exec/kernel/stats.h"
#include "core/query/query.h"

#define IR_RUN_BREAK_ERROR (ir_run_break_error_quark ())
GQuark ir_run_break_error_quark (void);
typedef enum
{
  IR_RUN_BREAK_ERROR_SYNTAX,
  IR_RUN_BREAK_ERROR_NOTHING /* no node is what it asks for */
} IrRunBreakErrorCode;

/* What a breakpoint looks at; none of them: the node alone. */
typedef enum
{
  IR_RUN_BREAK_STATS = 1 << 0,    /* statistics of a value */
  IR_RUN_BREAK_CONTENTS = 1 << 1, /* its elements, too */
  IR_RUN_BREAK_MEMORY = 1 << 2,   /* bytes that values hold */
  IR_RUN_BREAK_REF = 1 << 3,      /* what the reference kernel makes of the node's inputs */
  IR_RUN_BREAK_ORIGINAL = 1 << 4  /* what the original graph holds in the same run */
} IrRunBreakNeeds;

typedef struct _IrRunBreak IrRunBreak;
IrRunBreak *ir_run_break_parse (const char *text, GError **error);
IrRunBreak *ir_run_break_ref (IrRunBreak *self);
void ir_run_break_unref (IrRunBreak *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrRunBreak, ir_run_break_unref)
const char *ir_run_break_text (const IrRunBreak *self);
IrRunBreakNeeds ir_run_break_needs (const IrRunBreak *self);
/* It is of @model from now on: names of iterations are looked up there. */
gboolean ir_run_break_check (IrRunBreak *self, const IrModel *model, GError **error);
/* Whether it asks in which iteration of which loop. */
gboolean ir_run_break_has_place (const IrRunBreak *self);
/* Whether it is about what runs there; @frame: (nullable) in no loop, else "outer@3/inner"; @name: of the
 * innermost */
gboolean ir_run_break_is_in (const IrRunBreak *self,
                             const char *frame,
                             const char *name,
                             gint64 iteration);
gboolean ir_run_break_is_of_any (const IrRunBreak *self); /* node, and inputs too */
gboolean ir_run_break_matches (const IrRunBreak *self, const IrNode *node);

/* What was found, where a breakpoint holds. */
typedef struct
{
  char *text;         /* "max is 7.25" */
  const char *advice; /* (nullable) what it most often comes of, a sentence or two */
} IrRunFinding;
void ir_run_finding_clear (IrRunFinding *finding);
gboolean ir_run_break_holds (const IrRunBreak *self,
                             const IrTensor *tensor, /* (nullable): nothing but @stats is known */
                             const IrTensorStats *stats,
                             IrRunFinding *finding);
gboolean ir_run_break_exceeded (const IrRunBreak *self, guint64 bytes, IrRunFinding *finding);
const char *const *ir_run_break_examples (void); /* NULL-terminated: text, what it means, ... */
