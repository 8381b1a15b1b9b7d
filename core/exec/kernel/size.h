/* Sizes of memory as people write them. */
#pragma once

#include <glib.h>

gboolean ir_size_parse (const char *text, guint64 whole, guint64 *bytes);
