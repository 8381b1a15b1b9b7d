/* Which of several a name asks for. */
#pragma once

#include <glib.h>

int ir_name_find (const char *const *names, guint n, const char *name);
