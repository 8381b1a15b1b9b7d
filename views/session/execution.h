/* Whether what runs the graph on screen computes what it should: the checks of a run, made by a
 * command of their own or behind the proofs of a pipeline, and what they found. */
#pragma once

#include "core/ir/model.h"
#include "core/ir/problem.h"
#include "views/session/session.h"

/* A node that is wrong, or that was not judged. */
typedef struct
{
  IrNodeId node; /* of the graph on screen; 0: in a body that only a run has */
  gboolean is_fault;
  char *title; /* the node */
  char *text;  /* kernel, layout, place, and what is wrong or why it was not judged */
} IrExecutionFinding;

typedef struct
{
  guint step;     /* whose graph was checked */
  guint n_faults; /* nodes that are wrong */
  guint n_judged; /* nodes that were held against another kernel */
  char *summary;  /* a sentence: what was found, first what is wrong */
  char *counts;   /* how many nodes got which verdict */
  char *error;    /* (nullable) why the run did not come to its end */
  GHashTable
      *errors; /* node id -> double *: difference of each node as a part of what is allowed */
  GPtrArray *findings; /* of IrExecutionFinding: faults in the order of execution, then what was not
                        * judged */
} IrExecutionReport;

/* Runs the graph on screen with its checks; %IR_CHANGED_PROBLEMS says when the report is there. */
void ir_session_check_execution (IrSession *self);
/* (transfer none) (nullable): of the graph on screen; NULL: that was not checked */
const IrExecutionReport *ir_session_get_execution (IrSession *self);

/* What is wrong with the graph on screen: of IrProblem, (transfer none). */
GPtrArray *ir_session_get_problems (IrSession *self);
