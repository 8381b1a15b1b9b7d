/* Memory for the values of a run, and for packed weights. */
#pragma once

#include <glib.h>

gpointer ir_pages_new (gsize bytes);
