/* Evaluating values of many states of one graph, each computation once.
 *
 * An evaluator gives every value of every state a number: equal numbers mean that the same kernels
 * would run on the same contents, so what was computed for one state serves all others. Proofs and
 * bisection ask for the values that differ between two states and pay for these alone. */
#pragma once

#include "core/exec/exec.h"

typedef struct _IrEvaluator IrEvaluator;

/* What an evaluator has done so far. */
typedef struct
{
  guint n_nodes;      /* kernels run */
  gint64 duration_ns; /* CPU time in them, packing of weights included */
} IrEvaluatorWork;

IrEvaluator *ir_evaluator_new (const IrBackend *backend,
                               guint n_threads,
                               GCancellable *cancellable);
void ir_evaluator_free (IrEvaluator *evaluator);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrEvaluator, ir_evaluator_free)
void ir_evaluator_limit (IrEvaluator *evaluator, const IrRunLimits *limits);
void ir_evaluator_tell (
    IrEvaluator *evaluator,
    void (*progress) (guint done, guint total, const IrNode *node, gpointer data),
    gpointer data);
void ir_evaluator_report (const IrEvaluator *evaluator,
                          guint done,
                          guint total,
                          const IrNode *node);
void ir_evaluator_start (IrEvaluator *evaluator);
void ir_evaluator_bound (const IrEvaluator *evaluator, IrEvalOptions *options);
void ir_evaluator_note_failure (IrEvaluator *evaluator, guint number, const GError *why);
guint ir_evaluator_leaf (IrEvaluator *evaluator, IrTensor *tensor); /* one number per tensor */
void ir_evaluator_equate (IrEvaluator *evaluator, IrTensor *tensor, guint number);
IrTensor *ir_evaluator_contents (const IrEvaluator *evaluator, guint number); /* (nullable) */
guint ir_evaluator_keep (IrEvaluator *evaluator, guint number, IrTensor *tensor);
gboolean ir_evaluator_hold (IrEvaluator *evaluator, guint number);
const IrEvaluatorWork *ir_evaluator_work (const IrEvaluator *evaluator);
gint64 ir_evaluator_clock_ns (void);                          /* CPU time of the process */
gboolean ir_evaluator_is_full (const IrEvaluator *evaluator); /* it has had to forget contents */

/* One state of a graph, without function calls: see ir_exec_expand(). */
typedef struct
{
  IrEvaluator *evaluator;
  const IrModel *model;
  /* Number of a value that is known and not to be computed here; 0: it is computed. */
  guint (*known) (const IrValue *value, gpointer data);
  gpointer data;
  GHashTable *numbers; /* value id -> number: those asked for */
  guint depth;
} IrScope;

void ir_scope_init (IrScope *scope,
                    IrEvaluator *evaluator,
                    const IrModel *model,
                    guint (*known) (const IrValue *value, gpointer data),
                    gpointer data);
void ir_scope_clear (IrScope *scope);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrScope, ir_scope_clear)
guint ir_scope_number (IrScope *scope, const IrValue *value, GError **error); /* 0: it cannot */
IrTensor *ir_scope_contents (IrScope *scope, const IrValue *value, GError **error);

/* -- starting from a run (evaluate-run.c) -- */
gboolean ir_model_has_calls (const IrModel *model); /* some state of it needs ir_exec_expand() */
/* Keeps what a run of @flat has captured. @numbers: (nullable) gets value id -> number. Without a
 * run: what its nodes give that can run. */
void ir_evaluator_take_run (IrEvaluator *evaluator,
                            const IrModel *flat,
                            const IrRun *run,
                            GHashTable *inputs,
                            GHashTable *numbers);
/* All nodes of @flat that are new to the evaluator run; contents of values are then there. */
gboolean ir_evaluator_run (IrEvaluator *evaluator,
                           const IrModel *flat,
                           GHashTable *inputs,
                           const GArray *chosen,
                           GHashTable *contents,
                           GError **error);
