/* What was done to the graph, taken back and done again: edits, and runs of pipelines. What was taken back
 * when something else was done, and the steps behind an earlier one that was edited, stay as branches. */
#pragma once

#include "views/session/session.h"

/* What Undo would take back and Redo would do again, such as "Apply Text"; (nullable): nothing */
const char *ir_session_get_undo (IrSession *self);
const char *ir_session_get_redo (IrSession *self);

/* A history that was left for another; the last thing done in it names it. */
typedef struct
{
  const char *title; /* (transfer none) */
  guint n_steps;
  guint n_shared; /* how many of them, from the first on, the history on screen has too */
} IrBranch;

guint ir_session_get_n_branches (IrSession *self);
IrBranch ir_session_get_branch (IrSession *self, guint index);

/* -- verbs: each returns at once; the outcome comes by signals -- */
void ir_session_undo (IrSession *self);
void ir_session_redo (IrSession *self);
void ir_session_go_to_branch (IrSession *self, guint index);
