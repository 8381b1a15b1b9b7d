/* Numbers as people read them. */
#pragma once

#include <glib.h>

char *ir_count_text (guint64 count); /* (transfer full) "108,892,966" */
