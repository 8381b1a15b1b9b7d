/* IrArena: a bump allocator. Memory is freed all at once; pointers never move. */
#pragma once

#include <glib.h>

typedef struct _IrArena IrArena;

IrArena *ir_arena_new (void);
void ir_arena_free (IrArena *arena);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrArena, ir_arena_free)
gpointer ir_arena_alloc (IrArena *arena, gsize size); /* zeroed, aligned for any type */
gpointer ir_arena_dup (IrArena *arena, gconstpointer data, gsize size);
gsize ir_arena_bytes (const IrArena *arena); /* held from the system */

#define ir_arena_new_array(arena, Type, n)                                                         \
  ((Type *) ir_arena_alloc ((arena), sizeof (Type) * (gsize) (n)))
