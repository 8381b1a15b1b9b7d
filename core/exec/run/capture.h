/* What a run has captured, and how any value of its graph is had afterwards: from memory, from the
 * file that a budget sends values to, or by running again the few nodes that lie between it and the
 * nearest values that are there. */
#pragma once

#include "core/exec/run/iteration-name.h"
#include "core/exec/run/run.h"
#include "core/ir/history.h"

typedef struct _IrCapture IrCapture;

/* How contents were had. */
typedef enum
{
  IR_FOUND_NOT,
  IR_FOUND_CONSTANT,
  IR_FOUND_GIVEN,    /* an input of the run */
  IR_FOUND_KEPT,     /* in memory */
  IR_FOUND_SPILLED,  /* in a file, as the budget was used up */
  IR_FOUND_COMPUTED, /* by running nodes again */
  IR_N_FOUNDS
} IrFoundHow;

/* Cleared with ir_found_clear(). */
typedef struct
{
  IrFoundHow how;
  guint n_nodes;        /* computed: that ran */
  guint64 n_iterations; /* computed: of loops that ran again */
  gint64 duration_ns;   /* computed: what that took */
  GPtrArray *from;      /* (nullable) of char *: names of values where computing began */
  gboolean in_body;     /* it lies in a body: contents are those of the last round */
  IrValueId stands_for; /* original values: the value of the run that holds the same; 0: none */
} IrFound;
void ir_found_clear (IrFound *found);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrFound, ir_found_clear)
const char *ir_found_name (IrFoundHow how); /* "kept" */
char *ir_found_text (const IrFound *found, const IrModel *model);

/* -- a run -- */
/* What @value held in @run, at any price. (transfer full) (nullable) */
IrTensor *ir_run_find (
    IrRun *run, IrValueId value, GCancellable *cancellable, IrFound *found, GError **error);
/* What it held in one iteration. (transfer full) (nullable) */
IrTensor *ir_run_find_iteration (IrRun *run,
                                 const IrIterationName *name,
                                 GCancellable *cancellable,
                                 IrFound *found,
                                 GError **error);
guint ir_run_n_spilled (const IrRun *run);
guint64 ir_run_spilled_bytes (const IrRun *run);
guint ir_run_n_lost (const IrRun *run);       /* that did not fit into the file */
char *ir_run_capture_note (const IrRun *run); /* (nullable): what went wrong, in words */

/* -- the original graph, from a run of the optimized one (originals.c) -- */
typedef struct _IrOriginals IrOriginals;

IrOriginals *ir_originals_new (IrModel *history, guint step, IrRun *run, GError **error);
void ir_originals_free (IrOriginals *originals);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrOriginals, ir_originals_free)
const IrModel *ir_originals_model (const IrOriginals *originals);
IrTensor *ir_originals_find (IrOriginals *originals,
                             IrValueId original,
                             GCancellable *cancellable,
                             IrFound *found,
                             GError **error);
/* Values of the optimized graph that ir_originals_find() would start from. */
GArray *ir_originals_needs (IrModel *history, guint step, IrValueId original, GError **error);

const IrRunOptions *ir_run_options (const IrRun *run); /* (transfer none): that it was made with */
GHashTable *ir_run_inputs (const IrRun *run);          /* (transfer none): value id -> IrTensor */

/* -- for the runner -- */
void ir_capture_ran_concurrently (IrRun *run, IrNodeId node);
gboolean ir_capture_is_concurrent (const IrRun *run, IrNodeId node);
IrCapture *ir_capture_new (const IrRunOptions *options, GHashTable *inputs);
void ir_capture_free (IrCapture *capture);
void ir_capture_drop_values (IrRun *run);

/* -- for whoever finds values afterwards -- */
gboolean ir_capture_is_spilled (const IrRun *run, IrValueId id);
IrTensor *ir_capture_present (IrRun *run,
                              IrValueId value,
                              GCancellable *cancellable,
                              GError **error);
IrTensor *ir_capture_peek (IrRun *run, IrValueId id);
/* What was made from a run and ends with it. */
typedef struct
{
  GMutex lock;
  gpointer data; /* (nullable) */
  GDestroyNotify free;
} IrCaptureAttachment;
IrCaptureAttachment *ir_capture_attachment (IrRun *run);
