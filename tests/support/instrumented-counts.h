/* For builds with ThreadSanitizer, by -include: GLib's atomic reference counts as the compiler's, which are
 * instrumented. Those in the library are not, so that freeing behind the last of them looks like a race. */
#pragma once

#include <glib.h>

#define g_atomic_ref_count_inc(count) ((void) __atomic_fetch_add ((count), 1, __ATOMIC_RELAXED))
#define g_atomic_ref_count_dec(count) (__atomic_fetch_sub ((count), 1, __ATOMIC_ACQ_REL) == 1)
