/* The model with its history, where in it one is, and what makes steps: pipelines and edits. */
#pragma once

#include "core/ir/history.h"
#include "core/ir/problem.h"
#include "passes/session/session-file.h"
#include "views/session/session.h"

/* -- reading -- */
IrModel *ir_session_get_history (IrSession *self);  /* (nullable) for ir_history_step() and such:
                                                      read only, main thread, until the next
                                                      IR_CHANGED_HISTORY; take snapshots only
                                                      through the frame */
IrModel *ir_session_get_original (IrSession *self); /* (nullable) frozen: step 0 */
guint ir_session_get_n_steps (IrSession *self);

/* Lineage, under the lock that guards the history: (transfer full), as in history.h. */
GArray *ir_session_origins (IrSession *self, IrNodeId node);
GArray *ir_session_descendants (IrSession *self, IrNodeId node, guint step);
GArray *ir_session_steps_of (IrSession *self, IrNodeId node);
GArray *ir_session_touches_of (IrSession *self, IrNodeId node);

/* -- the position -- */
guint ir_session_get_cursor (IrSession *self); /* where it is going, at once */
void ir_session_goto (IrSession *self, guint step);
void ir_session_step_by (IrSession *self, int n_steps);
void ir_session_pass_by (IrSession *self, int n_passes); /* to ends of pass runs */

/* -- verbs: each returns at once; the outcome comes by signals -- */
void ir_session_run_pipeline (IrSession *self, const char *name); /* (nullable): the current one */
const char *ir_session_get_pipeline (IrSession *self);
void ir_session_set_pipeline (IrSession *self, const char *name);
/* Of %IR_SESSION_PASSES. */
const char *const *ir_session_get_passes (IrSession *self); /* (nullable): none were */
const char *const *ir_session_get_pass_values (IrSession *self);
gboolean ir_session_set_passes (IrSession *self,
                                const char *const *passes,
                                const char *const *values,
                                GError **error);
gboolean ir_session_get_unsafe (IrSession *self);
void ir_session_set_unsafe (IrSession *self, gboolean unsafe);
gboolean ir_session_get_prove (IrSession *self);
void ir_session_set_prove (IrSession *self, gboolean prove); /* verdicts on steps */
/* Gives one step its verdict, also where all were not proved. */
void ir_session_prove_step (IrSession *self, guint step);
/* Whether proving all of its steps takes longer than somebody would wait for who did not ask. */
gboolean ir_history_is_large (const IrModel *model);
/* Those that have no verdict, and how they get one. */
guint ir_session_n_unproved (IrSession *self, gboolean *large);
guint ir_session_n_broken (IrSession *self);
void ir_session_next_broken (IrSession *self);
void ir_session_prove_all (IrSession *self);

/* Runs in the job's thread, between the begin and end of a pass run "edit" on a fork of the model
 * at the cursor; makes its own steps (ir_edit_begin_step). @problems gets what it finds beyond what
 * ir_verify_model() will. FALSE + @error changes nothing. */
typedef gboolean (*IrSessionEditFunc) (
    IrEdit *edit, gpointer data, GPtrArray *problems, GCancellable *cancellable, GError **error);
void ir_session_upgrade_opset (IrSession *self, gint64 opset);
/* How an edit is done again by a session: what kind it is, and its text; (transfer full) */
void ir_session_edit (IrSession *self,
                      const char *title,
                      IrDone *said,
                      IrSessionEditFunc func,
                      gpointer data,
                      GDestroyNotify data_free);
