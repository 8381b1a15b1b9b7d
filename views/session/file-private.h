/* Putting a model in the place of the one that is open, for the folder alone. */
#pragma once

#include "views/session/file.h"
#include "views/session/replace.h"

/* Of a graph that is too large to be taken in at once, scopes are closed. */
void ir_successor_fold_large (IrSuccessor *opened,
                              const IrPictureSettings *settings,
                              GCancellable *cancellable);
/* All that was said of the model before is forgotten; tells. */
void ir_session_take_opened (
    IrSession *self, IrSuccessor *opened, const char *path, const char *title, const char *other);
