/* Finding boxes of a scene by name, operator or element type. */
#pragma once

#include "views/session/frame.h"

/* Boxes (gint32) that match all words of @text, in the scene's order. (transfer full) */
GArray *ir_search_frame (const IrFrame *frame, const char *text);
