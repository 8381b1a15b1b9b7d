/* Numbers as people read them. */
#pragma once

#include <glib.h>

char *ir_count_text (guint64 count);                   /* (transfer full) "108,892,966" */
char *ir_percent_text (double before, double after);   /* (transfer full) "−15 %" */
char *ir_flops_text (guint64 flops, gboolean partial); /* (transfer full) "1.07 MFLOP" */
char *ir_unbroken (const char *text); /* (transfer full): the same, never broken between lines */
