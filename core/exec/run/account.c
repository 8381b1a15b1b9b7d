/* By the address of the bytes. */
#include "config.h"

#include "core/exec/run/account.h"

typedef struct
{
  guint64 bytes;
  guint count;   /* values and containers that share them */
  guint n_items; /* of the longest of the containers that share them */
} Holding;

IrAccount *
ir_account_new (void)
{
  return g_hash_table_new_full (g_direct_hash, g_direct_equal, NULL, g_free);
}

void
ir_account_free (IrAccount *account)
{
  g_hash_table_unref (account);
}

/* What the bytes of @tensor are known by; several tensors may share them. */
static gconstpointer
key_of (const IrTensor *tensor)
{
  gconstpointer data = ir_tensor_is_container (tensor) ? ir_tensor_item_store (tensor)
                                                       : ir_tensor_data (tensor);

  return data != NULL ? data : tensor; /* strings */
}

/* Items that a sequence has beyond those of the ones that share theirs with it */
static guint64
add_items (IrAccount *account, Holding *holding, const IrTensor *tensor)
{
  guint64 bytes = 0;

  for (guint i = holding->n_items; i < ir_tensor_n_items (tensor); i++)
    bytes += sizeof (gpointer) + ir_account_add (account, ir_tensor_item (tensor, i));
  holding->n_items = MAX (holding->n_items, ir_tensor_n_items (tensor));
  return bytes;
}

/* By how many bytes more is held */
guint64
ir_account_add (IrAccount *account, const IrTensor *tensor)
{
  gconstpointer key = key_of (tensor);
  Holding *found = g_hash_table_lookup (account, key);

  if (found != NULL)
    {
      found->count++;
      return add_items (account, found, tensor);
    }
  found = g_new (Holding, 1);
  *found = (Holding){ ir_tensor_is_container (tensor) ? 0 : ir_tensor_n_bytes (tensor), 1, 0 };
  g_hash_table_replace (account, (gpointer) key, found);
  return found->bytes + add_items (account, found, tensor);
}

/* By how many bytes less is held. @tensor: what is held once less; nothing happens if it was not
 * held. */
guint64
ir_account_remove (IrAccount *account, const IrTensor *tensor)
{
  gconstpointer key = key_of (tensor);
  Holding *found = g_hash_table_lookup (account, key);

  if (found == NULL || --found->count > 0)
    return 0;
  const guint n_items = found->n_items;
  guint64 bytes = found->bytes + n_items * sizeof (gpointer);
  g_hash_table_remove (account, key);
  for (guint i = 0; i < n_items; i++)
    bytes += ir_account_remove (account, ir_tensor_stored_item (tensor, i));
  return bytes;
}

/* How many of the items of @tensor are held, by it or by one that shares them */
guint
ir_account_n_items (IrAccount *account, const IrTensor *tensor)
{
  const Holding *found = g_hash_table_lookup (account, key_of (tensor));

  return found != NULL ? found->n_items : 0;
}
