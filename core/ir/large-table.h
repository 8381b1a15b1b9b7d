/* A hash table that may hold millions: it never takes long to grow, nor to be let go. */
#pragma once

#include <glib.h>

typedef struct _IrLargeTable IrLargeTable;

IrLargeTable *ir_large_table_new (GHashFunc hash,
                                  GEqualFunc equal,
                                  GDestroyNotify free_key,
                                  GDestroyNotify free_value);
void ir_large_table_free (IrLargeTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrLargeTable, ir_large_table_free)
guint64 ir_large_table_size (const IrLargeTable *table);
void ir_large_table_insert (IrLargeTable *table, gpointer key, gpointer value);
gpointer ir_large_table_lookup (const IrLargeTable *table, gconstpointer key);
void ir_large_table_remove (IrLargeTable *table, gconstpointer key);
