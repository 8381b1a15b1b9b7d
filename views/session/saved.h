/* What is open as a session file, and a session file as what is open. */
#pragma once

#include "passes/session/session-file.h"
#include "views/session/session.h"

IrSessionFile *ir_session_to_file (
    IrSession *self); /* (transfer full) (nullable): nothing is open */
/* Opens the model and does again what was done to it; the outcome comes by signals, and what could not be
 * restored by "failed". @file: (transfer full) */
void ir_session_restore (IrSession *self, IrSessionFile *file);
/* The same; calls @restored (nullable) with @data when it is done, not where it fails. @data: (transfer full) */
void ir_session_restore_then (IrSession *self,
                              IrSessionFile *file,
                              void (*restored) (gpointer data),
                              gpointer data,
                              GDestroyNotify data_free);

/* -- notes that are pinned to nodes: %IR_CHANGED_NOTES -- */
const char *ir_session_get_note (IrSession *self, const char *node);        /* (nullable) */
const char *ir_session_get_node_note (IrSession *self, const IrNode *node); /* (nullable) */
void ir_session_set_note (IrSession *self,
                          const char *node,
                          const char *text); /* (nullable): none */
GPtrArray *ir_session_list_notes (
    IrSession *self); /* (transfer container): names of nodes, in order */
