/* The steps of a history in few rows: what each pass did in sum, equal steps together, how they
 * were judged, and which passes did nothing. */
#pragma once

#include "core/ir/history.h"

/* Steps of one pass with the same rule, at nodes of the same operator. */
typedef struct
{
  const char *rule; /* interned by the model */
  const char *op;   /* (nullable) of the nodes that they begin at */
  GArray *steps;    /* of guint, ascending */
} IrStepGroup;

/* Steps that were not judged, or could not be, for one reason. */
typedef struct
{
  IrVerdict verdict;  /* IR_VERDICT_NONE or IR_VERDICT_SKIPPED */
  const char *reason; /* (nullable) interned */
  guint n, first;     /* how many; the first of them */
} IrUnproved;

/* A run of a pass that made steps, or edits by hand that follow each other. */
typedef struct
{
  const char *pass;          /* interned */
  guint first_run, last_run; /* pass runs */
  guint first_step, n_steps;
  guint n_wanted;                     /* of these, what was asked for */
  gint64 nodes, flops, bytes, params; /* by how much they changed */
  gint64 duration_ns;                 /* of the pass: search and rewrites */
  guint n_verdicts[IR_N_VERDICTS];
  GArray *unproved;  /* of IrUnproved */
  GPtrArray *groups; /* of IrStepGroup, in the order of their first steps */
} IrPassSummary;

typedef struct
{
  GPtrArray *passes; /* of IrPassSummary */
  GPtrArray *idle;   /* of const char *: passes that ran and did nothing, each once */
  guint n_wanted;
} IrStepSummary;

typedef gboolean (*IrStepWanted) (const IrModel *history, guint step, gpointer data);

/* @wanted: (nullable): all steps. Passes without steps that are wanted are left out. */
IrStepSummary *ir_step_summary_new (const IrModel *history, IrStepWanted wanted, gpointer data);
void ir_step_summary_free (IrStepSummary *summary);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrStepSummary, ir_step_summary_free)
