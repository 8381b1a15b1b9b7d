/* Bisection of a plan: which of its decisions make a predicate fail, and for which values. */
#pragma once

#include "passes/debug/bisect.h"

#define IR_PLAN_BISECTION_VALUES 4 /* of one decision, at most */

/* A value for which a decision has to be taken for the predicate to fail. */
typedef struct
{
  IrDecisions decision;
  char *value; /* its name */
  char *node;  /* what gives it */
  char *how;   /* (nullable) in words: what the plan decides for it */
} IrPlanCulprit;

typedef struct
{
  IrBisectAnswer answer;
  IrDecisions decisions; /* FOUND: with these it fails, and without any one of them it does not */
  GArray *culprits;      /* (owned) of IrPlanCulprit: likewise of values, of each decision alone */
  guint checks;          /* runs that the predicate was checked on */
  double value;          /* measured where it fails last, or nothing fails */
  char *finding;         /* (owned) (nullable) the same in words */
  char *problem;         /* (owned) (nullable) why the graph does not run by the plan */
} IrPlanBisection;

gboolean ir_bisect_plan (IrTrial *trial,
                         IrPredicate *predicate,
                         IrParallelMode parallel,
                         void (*progress) (guint checks, guint expected, gpointer data),
                         gpointer data,
                         IrPlanBisection *result,
                         GError **error);
void ir_plan_bisection_clear (IrPlanBisection *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrPlanBisection, ir_plan_bisection_clear)
