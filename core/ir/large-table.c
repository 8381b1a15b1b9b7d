/* Many tables of GLib, each of which has a part of the keys: one that holds millions takes longer
 * to grow than a run that is stopped may go on. */
#include "config.h"

#include "core/ir/large-table.h"

#include "core/ir/release.h"

#define PART_BITS 6

struct _IrLargeTable
{
  GHashFunc hash;
  GEqualFunc equal;
  GDestroyNotify free_key, free_value; /* (nullable) */
  guint64 n;
  GHashTable *parts[1 << PART_BITS]; /* (nullable) until something is in it */
};

/**
 * ir_large_table_new:
 * @hash: as of g_hash_table_new_full()
 * @equal: likewise
 * @free_key: (nullable): from any thread
 * @free_value: (nullable): likewise
 *
 * Returns: (transfer full): an empty table
 */
IrLargeTable *
ir_large_table_new (GHashFunc hash,
                    GEqualFunc equal,
                    GDestroyNotify free_key,
                    GDestroyNotify free_value)
{
  IrLargeTable *table = g_new0 (IrLargeTable, 1);

  table->hash = hash;
  table->equal = equal;
  table->free_key = free_key;
  table->free_value = free_value;
  return table;
}

static void
free_parts (gpointer data)
{
  IrLargeTable *table = data;

  for (guint i = 0; i < G_N_ELEMENTS (table->parts); i++)
    g_clear_pointer (&table->parts[i], g_hash_table_unref);
  g_free (table);
}

/**
 * ir_large_table_free:
 * @table: (transfer full): a table
 *
 * What it holds is given back by another thread where that takes long.
 */
void
ir_large_table_free (IrLargeTable *table)
{
  ir_release (table, free_parts, ir_large_table_size (table));
}

/**
 * ir_large_table_size:
 * @table: a table
 *
 * Returns: how many keys it has
 */
guint64
ir_large_table_size (const IrLargeTable *table)
{
  return table->n;
}

/* The parts themselves use the low bits of the hash: the highest bits of a product depend on all.
 */
static guint
part_of (const IrLargeTable *table, gconstpointer key)
{
  return table->hash (key) * 0x9e3779b9u >> (32 - PART_BITS);
}

/**
 * ir_large_table_insert:
 * @table: a table
 * @key: (transfer full): a key; in place of one that is equal
 * @value: (transfer full): its value
 */
void
ir_large_table_insert (IrLargeTable *table, gpointer key, gpointer value)
{
  GHashTable **part = &table->parts[part_of (table, key)];

  if (*part == NULL)
    *part = g_hash_table_new_full (table->hash, table->equal, table->free_key, table->free_value);
  table->n += g_hash_table_replace (*part, key, value) ? 1 : 0;
}

/**
 * ir_large_table_lookup:
 * @table: a table
 * @key: a key
 *
 * Returns: (transfer none) (nullable): its value
 */
gpointer
ir_large_table_lookup (const IrLargeTable *table, gconstpointer key)
{
  GHashTable *part = table->parts[part_of (table, key)];

  return part != NULL ? g_hash_table_lookup (part, key) : NULL;
}

/**
 * ir_large_table_remove:
 * @table: a table
 * @key: a key, which need not be there
 */
void
ir_large_table_remove (IrLargeTable *table, gconstpointer key)
{
  GHashTable *part = table->parts[part_of (table, key)];

  if (part != NULL && g_hash_table_remove (part, key))
    table->n--;
}
