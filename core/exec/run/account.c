/* By the address of the bytes. */
#include "config.h"

#include "core/exec/run/account.h"

typedef struct
{
  guint64 bytes;
  guint count; /* values and containers that share them */
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
  gconstpointer data = ir_tensor_data (tensor);

  return data != NULL ? data : tensor; /* strings and containers */
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
      return 0;
    }
  guint n_items = ir_tensor_n_items (tensor);
  guint64 bytes = ir_tensor_is_container (tensor) ? n_items * sizeof (gpointer)
                                                  : ir_tensor_n_bytes (tensor);
  found = g_new (Holding, 1);
  *found = (Holding){ bytes, 1 };
  g_hash_table_replace (account, (gpointer) key, found);
  for (guint i = 0; i < n_items; i++)
    bytes += ir_account_add (account, ir_tensor_item (tensor, i));
  return bytes;
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
  guint64 bytes = found->bytes;
  g_hash_table_remove (account, key);
  guint n_items = ir_tensor_n_items (tensor);
  for (guint i = 0; i < n_items; i++)
    bytes += ir_account_remove (account, ir_tensor_item (tensor, i));
  return bytes;
}
