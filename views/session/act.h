/* Acts by hand: what menus, keys and the pointer do to the graph, by the words of core/act/act.h. */
#pragma once

#include "views/session/session.h"

/* @words: (array zero-terminated=1): copied. What was made is selected; what cannot be done is said. */
void ir_session_act (IrSession *self, const char *const *words);
/* Whether it says @why itself, where it was asked for: else a dialog does. */
typedef gboolean (*IrSessionRefused) (const char *why, gpointer data);
void ir_session_act_or (IrSession *self,
                        const char *const *words,
                        IrSessionRefused refused,
                        gpointer data,
                        GDestroyNotify data_free);
/* The selected nodes of the graph on screen as ONNX text, for the clipboard; (transfer full) (nullable) */
char *ir_session_copy_text (IrSession *self);
/* Writes the part of the graph that computes @to from @from as a model of its own. */
void ir_session_extract (IrSession *self,
                         const char *const *from,
                         const char *const *to,
                         const char *path);
void ir_session_refuse (IrSession *self, const char *why); /* says why something cannot be done */
