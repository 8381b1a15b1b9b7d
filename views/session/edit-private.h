/* Edits whose outcome is followed, for the folder alone. */
#pragma once

#include "views/session/timeline.h"

typedef void (*IrSessionEdited) (IrSession *self, gpointer data);
typedef void (*IrSessionNotEdited) (IrSession *self,
                                    const char *title,
                                    const GError *error,
                                    gpointer data);
void ir_session_edit_then (IrSession *self,
                           const char *title,
                           IrDone *said,
                           IrSessionEditFunc func,
                           IrSessionEdited edited,
                           IrSessionNotEdited not_edited,
                           gpointer data,
                           GDestroyNotify data_free);
