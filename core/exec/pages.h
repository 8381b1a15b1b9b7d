/* Memory for the values of a run. */
#pragma once

#include <glib.h>

gpointer ir_pages_new (gsize bytes);
