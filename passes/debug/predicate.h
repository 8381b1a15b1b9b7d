/* What --fail says: a condition on the graph after a step, parsed from text and checked on a trial.
 *
 *     max_abs(logits) > 1e-3 or has_nan(logits)      nodes(Conv) <= 53      cmd: ./check.sh {}
 *
 * The grammar and the measures are in the essay at the top of predicate.c. */
#pragma once

#include "passes/debug/probe.h"

#define IR_PREDICATE_ERROR (ir_predicate_error_quark ())
GQuark ir_predicate_error_quark (void);
typedef enum
{
  IR_PREDICATE_ERROR_SYNTAX,  /* the text cannot be read: the message says where */
  IR_PREDICATE_ERROR_VALUE,   /* no such value in the original graph */
  IR_PREDICATE_ERROR_COMMAND, /* the external command could not be started */
} IrPredicateErrorCode;

typedef struct _IrPredicate IrPredicate;

typedef struct
{
  gboolean fails;
  double value;    /* of the test that was measured last, which decided; truth: 0 or 1 */
  gboolean broken; /* the graph does not run; value is NaN */
  char *finding;   /* (owned) (nullable) what decided, in words: "y holds a NaN" */
  char *problem;   /* (owned) (nullable) why it does not run */
} IrCheck;

IrPredicate *ir_predicate_parse (const char *text, GError **error);
void ir_predicate_free (IrPredicate *predicate);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrPredicate, ir_predicate_free)
gboolean ir_predicate_bind (IrPredicate *predicate, IrTrial *trial, GError **error);
gboolean ir_predicate_is_there (const IrPredicate *predicate, IrTrial *trial, guint step);
gboolean ir_predicate_runs_graph (const IrPredicate *predicate);
gboolean ir_predicate_check (
    const IrPredicate *predicate, IrTrial *trial, guint step, IrCheck *check, GError **error);
void ir_check_clear (IrCheck *check);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrCheck, ir_check_clear)
