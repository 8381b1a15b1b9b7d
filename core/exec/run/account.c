/* By the address of the bytes, in an open-addressing table with linear probing: each value that a node gives
 * comes and goes. */
#include "config.h"

#include "core/exec/run/account.h"

typedef struct
{
  gconstpointer key; /* (nullable) what the bytes are known by; %NULL: free */
  guint64 bytes;
  guint count;   /* values and containers that share them */
  guint n_items; /* of the longest of the containers that share them */
} Holding;

struct _IrAccount
{
  Holding *slots; /* a power of two of them, at most half in use */
  guint n_slots, n_used;
};

#define LEAST_SLOTS 64

IrAccount *
ir_account_new (void)
{
  IrAccount *account = g_new0 (IrAccount, 1);

  account->n_slots = LEAST_SLOTS;
  account->slots = g_new0 (Holding, LEAST_SLOTS);
  return account;
}

void
ir_account_free (IrAccount *account)
{
  g_free (account->slots);
  g_free (account);
}

/* -- the table -- */

/* The place that @key would have if nothing else were there */
static guint
home_of (const IrAccount *account, gconstpointer key)
{
  guint64 bits = (guint64) GPOINTER_TO_SIZE (key) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);

  return (guint) (bits >> 32) & (account->n_slots - 1);
}

/* That of @key, or the free one where it would be */
static Holding *
slot_of (const IrAccount *account, gconstpointer key)
{
  guint at = home_of (account, key);

  while (account->slots[at].key != NULL && account->slots[at].key != key)
    at = (at + 1) & (account->n_slots - 1);
  return &account->slots[at];
}

static Holding * /* (nullable) */
find (const IrAccount *account, gconstpointer key)
{
  Holding *found = slot_of (account, key);

  return found->key != NULL ? found : NULL;
}

static void
grow (IrAccount *account)
{
  g_autofree Holding *before = account->slots;
  const guint n_before = account->n_slots;

  account->n_slots *= 2;
  account->slots = g_new0 (Holding, account->n_slots);
  for (guint i = 0; i < n_before; i++)
    if (before[i].key != NULL)
      *slot_of (account, before[i].key) = before[i];
}

static void
insert (IrAccount *account, const Holding *holding)
{
  if (2 * (account->n_used + 1) > account->n_slots)
    grow (account);
  *slot_of (account, holding->key) = *holding;
  account->n_used++;
}

/* Those behind it that would have liked its place, or one before it, move up. */
static void
take_out (IrAccount *account, Holding *holding)
{
  const guint mask = account->n_slots - 1;
  guint hole = (guint) (holding - account->slots);

  for (guint at = (hole + 1) & mask; account->slots[at].key != NULL; at = (at + 1) & mask)
    {
      guint home = home_of (account, account->slots[at].key);
      if (((at - home) & mask) < ((at - hole) & mask))
        continue;
      account->slots[hole] = account->slots[at];
      hole = at;
    }
  account->slots[hole] = (Holding){ 0 };
  account->n_used--;
}

/* -- tensors -- */

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
add_items (IrAccount *account, gconstpointer key, const IrTensor *tensor)
{
  const guint n = ir_tensor_n_items (tensor);
  Holding *holding = find (account, key);
  guint64 bytes = 0;

  guint first = holding->n_items;
  holding->n_items = MAX (first, n);
  for (guint i = first; i < n; i++) /* the table may grow */
    bytes += sizeof (gpointer) + ir_account_add (account, ir_tensor_item (tensor, i));
  return bytes;
}

/* By how many bytes more is held */
guint64
ir_account_add (IrAccount *account, const IrTensor *tensor)
{
  const gboolean contains = ir_tensor_is_container (tensor);
  gconstpointer key = key_of (tensor);
  Holding *found = find (account, key);
  guint64 bytes = 0;

  if (found != NULL)
    found->count++;
  else
    {
      bytes = contains ? 0 : ir_tensor_n_bytes (tensor);
      insert (account, &(Holding){ key, bytes, 1, 0 });
    }
  return bytes + (contains ? add_items (account, key, tensor) : 0);
}

/* By how many bytes less is held. @tensor: what is held once less; nothing happens if it was not
 * held. */
guint64
ir_account_remove (IrAccount *account, const IrTensor *tensor)
{
  Holding *found = find (account, key_of (tensor));

  if (found == NULL || --found->count > 0)
    return 0;
  const guint n_items = found->n_items;
  guint64 bytes = found->bytes + n_items * sizeof (gpointer);
  take_out (account, found);
  for (guint i = 0; i < n_items; i++)
    bytes += ir_account_remove (account, ir_tensor_stored_item (tensor, i));
  return bytes;
}

/* How many of the items of @tensor are held, by it or by one that shares them */
guint
ir_account_n_items (IrAccount *account, const IrTensor *tensor)
{
  const Holding *found = find (account, key_of (tensor));

  return found != NULL ? found->n_items : 0;
}
