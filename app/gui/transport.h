/* The transport bar: buttons, and sliders over all steps: of the one that is shown, and of the one that
 * it is compared with. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

#define IR_TYPE_TRANSPORT (ir_transport_get_type ())
G_DECLARE_FINAL_TYPE (IrTransport, ir_transport, IR, TRANSPORT, GtkBox)

void ir_transport_set_session (IrTransport *self, IrSession *session);
void ir_transport_set_compact (IrTransport *self, gboolean compact); /* without the scores */
GtkWidget *ir_compare_chooser_new (IrSession *session);              /* (transfer floating) */
