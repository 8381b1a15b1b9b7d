/* By the address of the bytes. There are several tables, as one that holds millions takes longer to
 * grow than a run that is stopped may go on. */
#include "config.h"

#include "core/exec/charges.h"

#include "core/ir/release.h"

#define TABLE_BITS 6
#define LOOK       256 /* items of a sequence between two looks: few tables grow meanwhile */

typedef struct
{
  guint64 bytes;
  guint count; /* values and containers that share them */
} Charge;

struct _IrCharges
{
  GHashTable *tables[1 << TABLE_BITS]; /* (nullable) address -> Charge */
};

/**
 * ir_charges_new:
 *
 * Returns: (transfer full): no charges
 */
IrCharges *
ir_charges_new (void)
{
  return g_new0 (IrCharges, 1);
}

static void
charges_free (gpointer data)
{
  IrCharges *charges = data;

  for (guint i = 0; i < G_N_ELEMENTS (charges->tables); i++)
    g_clear_pointer (&charges->tables[i], g_hash_table_unref);
  g_free (charges);
}

/**
 * ir_charges_free:
 * @charges: (transfer full): charges
 */
void
ir_charges_free (IrCharges *charges)
{
  guint64 n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (charges->tables); i++)
    n += charges->tables[i] != NULL ? g_hash_table_size (charges->tables[i]) : 0;
  ir_release (charges, charges_free, n);
}

/* What the bytes of @tensor are known by; several tensors may share them. */
static gconstpointer
key_of (const IrTensor *tensor)
{
  gconstpointer data = ir_tensor_data (tensor);

  return data != NULL ? data : tensor; /* strings and containers */
}

static GHashTable **
table_of (IrCharges *charges, gconstpointer key)
{
  return &charges->tables[(guint64) (guintptr) key * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS)];
}

/**
 * ir_charges_add:
 * @charges: charges
 * @tensor: what has come to be held once more
 * @call: looked at whether the run is to stop; then the rest of the items is left out
 *
 * Returns: by how many bytes more is held
 */
guint64
ir_charges_add (IrCharges *charges, const IrTensor *tensor, const IrCall *call)
{
  gconstpointer key = key_of (tensor);
  GHashTable **table = table_of (charges, key);
  Charge *found = *table != NULL ? g_hash_table_lookup (*table, key) : NULL;

  if (found != NULL)
    {
      found->count++;
      return 0;
    }
  guint n_items = ir_tensor_n_items (tensor);
  guint64 bytes = ir_tensor_is_container (tensor) ? n_items * sizeof (gpointer)
                                                  : ir_tensor_n_bytes (tensor);
  if (*table == NULL)
    *table = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  found = g_new (Charge, 1);
  *found = (Charge){ bytes, 1 };
  g_hash_table_insert (*table, (gpointer) key, found);
  for (guint i = 0; i < n_items && !(i % LOOK == LOOK - 1 && ir_call_stopped (call)); i++)
    bytes += ir_charges_add (charges, ir_tensor_item (tensor, i), call);
  return bytes;
}

/**
 * ir_charges_remove:
 * @charges: charges
 * @tensor: what is held once less; nothing happens if it was not held
 * @call: looked at whether the run is to stop; then the rest of the items is left out
 *
 * Returns: by how many bytes less is held
 */
guint64
ir_charges_remove (IrCharges *charges, const IrTensor *tensor, const IrCall *call)
{
  gconstpointer key = key_of (tensor);
  GHashTable *table = *table_of (charges, key);
  Charge *found = table != NULL ? g_hash_table_lookup (table, key) : NULL;

  if (found == NULL || --found->count > 0)
    return 0;
  guint64 bytes = found->bytes;
  g_hash_table_remove (table, key);
  guint n_items = ir_tensor_n_items (tensor);
  for (guint i = 0; i < n_items && !(i % LOOK == LOOK - 1 && ir_call_stopped (call)); i++)
    bytes += ir_charges_remove (charges, ir_tensor_item (tensor, i), call);
  return bytes;
}
