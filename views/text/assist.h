/* What helps to read and write the text: colours, completion (Ctrl+Space), and which lines a step changed. */
#pragma once

#include "views/session/frame.h"

#include <gtksourceview/gtksource.h>

void ir_text_assist (GtkSourceView *view);
GPtrArray *ir_text_complete (GtkTextBuffer *buffer, guint *n_typed);
void ir_text_mark_changes (GtkTextBuffer *buffer, const IrFrame *frame); /* (nullable) */
