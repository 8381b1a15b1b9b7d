/* Constants as kernels want them, made at first use. */
#include "config.h"

#include "core/exec/kernel/prepack.h"

#include "core/io/mapped-file.h"

#include <pthread.h>
#include <stdlib.h>

struct _IrPacked
{
  gatomicrefcount ref_count;
  pthread_mutex_t mutex; /* concurrent nodes ask at once; one that race checkers know */
  GHashTable *entries;   /* (nullable) set of Entry; NULL: nothing is kept */
};

typedef struct
{
  IrTensor *constant; /* held: its address is the key */
  guint64 form;
  gpointer memory;   /* (nullable) */
  IrTensor *retyped; /* (nullable) */
} Entry;

#define RETYPED G_MAXUINT64 /* the form of what is a tensor again */

static guint
entry_hash (gconstpointer key)
{
  const Entry *entry = key;

  return g_direct_hash (entry->constant) ^ g_int64_hash (&entry->form);
}

static gboolean
entry_equal (gconstpointer a, gconstpointer b)
{
  const Entry *left = a, *right = b;

  return left->constant == right->constant && left->form == right->form;
}

static void
entry_free (gpointer data)
{
  Entry *entry = data;

  ir_tensor_unref (entry->constant);
  free (entry->memory); /* from IrPackFunc */
  g_clear_pointer (&entry->retyped, ir_tensor_unref);
  g_free (entry);
}

/**
 * ir_packed_new:
 *
 * Returns: (transfer full): an empty store
 */
IrPacked *
ir_packed_new (void)
{
  IrPacked *packed = g_new0 (IrPacked, 1);

  g_atomic_ref_count_init (&packed->ref_count);
  pthread_mutex_init (&packed->mutex, NULL);
  packed->entries = g_hash_table_new_full (entry_hash, entry_equal, entry_free, NULL);
  return packed;
}

/**
 * ir_packed_new_closed:
 *
 * Returns: (transfer full): a store that takes nothing, so that kernels read constants as they lie
 */
IrPacked *
ir_packed_new_closed (void)
{
  IrPacked *packed = ir_packed_new ();

  g_clear_pointer (&packed->entries, g_hash_table_unref);
  return packed;
}

/**
 * ir_packed_keeps:
 * @packed: (nullable): a store
 *
 * Returns: whether a kernel may keep what it makes of constants from run to run
 */
gboolean
ir_packed_keeps (const IrPacked *packed)
{
  return packed == NULL || packed->entries != NULL;
}

/**
 * ir_packed_ref:
 * @packed: a store
 *
 * Returns: (transfer full): @packed
 */
IrPacked *
ir_packed_ref (IrPacked *packed)
{
  g_atomic_ref_count_inc (&packed->ref_count);
  return packed;
}

/**
 * ir_packed_unref:
 * @packed: (transfer full) (nullable): a store
 */
void
ir_packed_unref (IrPacked *packed)
{
  if (packed == NULL || !g_atomic_ref_count_dec (&packed->ref_count))
    return;
  g_clear_pointer (&packed->entries, g_hash_table_unref);
  pthread_mutex_destroy (&packed->mutex);
  g_free (packed);
}

static Entry *
add (IrPacked *packed, const IrTensor *constant, guint64 form)
{
  Entry *entry = g_new0 (Entry, 1);

  entry->constant = ir_tensor_ref ((IrTensor *) constant);
  entry->form = form;
  g_hash_table_add (packed->entries, entry);
  ir_mapped_file_give_back (ir_tensor_raw (constant), ir_tensor_n_bytes (constant));
  return entry;
}

static gconstpointer
find_or_pack (
    IrPacked *packed, const IrTensor *constant, guint64 form, IrPackFunc pack, gpointer data)
{
  const Entry key = { .constant = (IrTensor *) constant, .form = form };
  const Entry *found = g_hash_table_lookup (packed->entries, &key);
  gpointer memory = found != NULL ? found->memory : pack (constant, data);

  if (found != NULL || memory == NULL)
    return memory;
  add (packed, constant, form)->memory = memory;
  return memory;
}

/**
 * ir_packed_get:
 * @packed: a store
 * @constant: what is packed; an initializer of the graph, which nothing writes to
 * @form: says how, where there are several ways
 * @pack: makes it, if it is not there; called by one thread at a time
 * @data: for @pack
 *
 * The pages of @constant leave the memory of the process if they are of a mapped file.
 *
 * Returns: (transfer none) (nullable): what @pack has made, as long as the store lives; %NULL if it
 *   made nothing, and is asked again the next time
 */
gconstpointer
ir_packed_get (
    IrPacked *packed, const IrTensor *constant, guint64 form, IrPackFunc pack, gpointer data)
{
  gconstpointer memory;

  if (packed->entries == NULL)
    return NULL;
  pthread_mutex_lock (&packed->mutex);
  memory = find_or_pack (packed, constant, form, pack, data);
  pthread_mutex_unlock (&packed->mutex);
  return memory;
}

static IrTensor *
find_or_retype (IrPacked *packed, const IrTensor *constant, IrRetypeFunc retype, gpointer data)
{
  const Entry key = { .constant = (IrTensor *) constant, .form = RETYPED };
  const Entry *found = g_hash_table_lookup (packed->entries, &key);
  IrTensor *made = found != NULL ? ir_tensor_ref (found->retyped) : retype (constant, data);

  if (found == NULL && made != NULL)
    add (packed, constant, RETYPED)->retyped = ir_tensor_ref (made);
  return made;
}

/**
 * ir_packed_tensor:
 * @packed: a store
 * @constant: an initializer of the graph, as in ir_packed_get()
 * @retype: makes it anew in another type, always the same, if it is not there
 * @data: for @retype
 *
 * Returns: (transfer full) (nullable): what @retype has made, the same tensor for every call, so that
 *   more can be made of it; %NULL if nothing is kept, or it made nothing
 */
IrTensor *
ir_packed_tensor (IrPacked *packed, const IrTensor *constant, IrRetypeFunc retype, gpointer data)
{
  IrTensor *made;

  if (packed->entries == NULL)
    return NULL;
  pthread_mutex_lock (&packed->mutex);
  made = find_or_retype (packed, constant, retype, data);
  pthread_mutex_unlock (&packed->mutex);
  return made;
}
