/* Memory for the values of a run, and for packed weights. */
#pragma once

#include <glib.h>

#define IR_ALIGN_BYTES 64 /* of data: a cache line, and the widest vector register */

gpointer ir_pages_new (gsize bytes);
