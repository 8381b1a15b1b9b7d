/* Text for a terminal: names come from files, and must not steer it. */
#pragma once

#include <glib.h>

char *ir_printable (const char *text, gboolean lines);
gboolean ir_is_printable (const char *text, gboolean lines);
