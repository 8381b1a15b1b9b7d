/* What the files of core/ir share about the context: its arena and its tables of interned things.
 */
#pragma once

#include "core/ir/arena.h"
#include "core/ir/context.h"

/* Open addressing with stored hashes; entries are never removed. */
typedef struct
{
  guint n, capacity; /* capacity 0 or a power of two */
  guint *hashes;
  gpointer *entries;
} IrInternTable;

typedef gboolean (*IrInternEqual) (gconstpointer entry, gconstpointer key);

gpointer ir_intern_table_find (const IrInternTable *table,
                               guint hash,
                               IrInternEqual equal,
                               gconstpointer key); /* (nullable) */
void ir_intern_table_add (IrInternTable *table, guint hash, gpointer entry);
void ir_intern_table_clear (IrInternTable *table);

static inline guint
ir_hash_mix (guint hash, guint64 word)
{
  guint64 mixed = (hash ^ word) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return (guint) (mixed ^ (mixed >> 32));
}

struct _IrContext
{
  gatomicrefcount ref_count;
  GRecMutex lock; /* held while anything below is read or written */
  IrArena *arena;
  GArray *owned; /* of destroy notifies, run last in first out */
  IrInternTable strings, id_lists;
  IrInternTable types;               /* type.c */
  IrInternTable atoms, monos, exprs; /* poly.c */
  GPtrArray *expr_by_index;          /* poly.c */
};
