/* What the inputs of the graph are given in runs, from the next one on. */
#pragma once

#include "core/exec/exec.h"
#include "views/session/session.h"

GHashTable *ir_session_get_inputs (IrSession *self); /* value id -> IrTensor: those given */
void ir_session_set_input (IrSession *self, IrValueId input, IrTensor *tensor); /* (nullable) */
/* What an input is given, in words: as the options of `irscope run` have it. */
#define IR_INPUT_FILL "fill"
typedef struct
{
  char *kind, *text;
} IrInputWords;
gboolean ir_session_give_input (
    IrSession *self, IrValueId input, const char *kind, const char *text, GError **error);
const IrInputWords *ir_session_input_words (IrSession *self, IrValueId input); /* (nullable) */
guint64 ir_session_get_seed (IrSession *self); /* of the random inputs */
void ir_session_set_seed (IrSession *self, guint64 seed);
/* Sizes of free dims of inputs without a file, by name: what `irscope run --dim` gets. */
GHashTable *ir_session_get_sizes (IrSession *self); /* name -> gint64 *; not to be changed */
void ir_session_set_size (IrSession *self, const char *name, gint64 size); /* -1: by default */
gboolean ir_session_failed_by_sizes (IrSession *self); /* while "failed" is told */
GArray *ir_session_free_dims (IrSession *self);        /* of IrFreeDim, (transfer full) */
/* A command that runs the graph while some were not seen says "sizes-unseen", and waits where that is taken. */
void ir_session_see_sizes (IrSession *self);
gboolean ir_session_go_on (IrSession *self);
void ir_session_give_up (IrSession *self);
GArray *ir_session_size_conflicts (IrSession *self); /* of IrSizeConflict, (transfer full) */

/* The graph on screen with the shapes that a run of it would have: plans need them. Made in the
 * main thread, asked in any. */
typedef struct _IrSizer IrSizer;
IrSizer *ir_session_new_sizer (IrSession *self);
IrSizer *ir_session_new_sizer_of_other (IrSession *self); /* of what it is compared with */
IrModel *ir_sizer_make (const IrSizer *sizer, GError **error); /* (transfer full) */
/* What its inputs would hold. (transfer full) (nullable): value id -> IrTensor */
GHashTable *ir_sizer_inputs (const IrSizer *sizer, GError **error);
void ir_sizer_free (IrSizer *sizer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrSizer, ir_sizer_free)
