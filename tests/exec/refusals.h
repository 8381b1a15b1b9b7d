/* What the machine may refuse a kernel: memory, and primitives of oneDNN. The linker puts what asks before the functions
 * of the C library, GLib and oneDNN (meson.build). */
#pragma once

#include <glib.h>

typedef struct
{
  const char *of;
  int n;     /* atomic: so many were asked for */
  int fails; /* atomic: this one is refused, counted from 1; 0: none */
} Refusals;

extern Refusals allocations, primitives;

/* Counts anew. @fails: as above */
void refusals_begin (Refusals *refusals, int fails);
/* Ends it. Returns whether one was refused. */
gboolean refusals_end (Refusals *refusals);
