/* The context: one locked arena, and one small hash table per kind of interned thing. Nothing is
 * ever removed from it before its end, so pointers into it need no reference counts. */
#include "config.h"

#include "core/ir/context-private.h"

#include <string.h>

typedef struct
{
  gpointer object;
  GDestroyNotify destroy;
} Owned;

/* -- tables -- */

gpointer
ir_intern_table_find (const IrInternTable *table,
                      guint hash,
                      IrInternEqual equal,
                      gconstpointer key)
{
  if (table->capacity == 0)
    return NULL;
  for (guint i = hash & (table->capacity - 1); table->entries[i] != NULL;
       i = (i + 1) & (table->capacity - 1))
    if (table->hashes[i] == hash && equal (table->entries[i], key))
      return table->entries[i];
  return NULL;
}

static void
place (IrInternTable *table, guint hash, gpointer entry)
{
  guint i = hash & (table->capacity - 1);
  while (table->entries[i] != NULL)
    i = (i + 1) & (table->capacity - 1);
  table->hashes[i] = hash;
  table->entries[i] = entry;
}

static void
grow (IrInternTable *table)
{
  IrInternTable old = *table;

  table->capacity = MAX (old.capacity * 2, 64);
  table->hashes = g_new (guint, table->capacity);
  table->entries = g_new0 (gpointer, table->capacity);
  for (guint i = 0; i < old.capacity; i++)
    if (old.entries[i] != NULL)
      place (table, old.hashes[i], old.entries[i]);
  g_free (old.hashes);
  g_free (old.entries);
}

void
ir_intern_table_add (IrInternTable *table, guint hash, gpointer entry)
{
  if (table->n >= table->capacity / 2)
    grow (table);
  place (table, hash, entry);
  table->n++;
}

void
ir_intern_table_clear (IrInternTable *table)
{
  g_clear_pointer (&table->hashes, g_free);
  g_clear_pointer (&table->entries, g_free);
  table->n = table->capacity = 0;
}

/* -- life -- */

IrContext *
ir_context_new (void)
{
  IrContext *context = g_new0 (IrContext, 1);

  g_atomic_ref_count_init (&context->ref_count);
  g_rec_mutex_init (&context->lock);
  context->arena = ir_arena_new ();
  context->owned = g_array_new (FALSE, FALSE, sizeof (Owned));
  context->expr_by_index = g_ptr_array_new ();
  return context;
}

IrContext *
ir_context_ref (IrContext *context)
{
  g_atomic_ref_count_inc (&context->ref_count);
  return context;
}

/* With the last reference everything in it goes: what it owns first, newest first, then its
 * memory. */
void
ir_context_unref (IrContext *context)
{
  if (!g_atomic_ref_count_dec (&context->ref_count))
    return;
  for (guint i = context->owned->len; i > 0; i--)
    {
      Owned *owned = &g_array_index (context->owned, Owned, i - 1);
      owned->destroy (owned->object);
    }
  g_array_unref (context->owned);
  g_ptr_array_unref (context->expr_by_index);
  ir_intern_table_clear (&context->strings);
  ir_intern_table_clear (&context->id_lists);
  ir_intern_table_clear (&context->types);
  ir_intern_table_clear (&context->atoms);
  ir_intern_table_clear (&context->monos);
  ir_intern_table_clear (&context->exprs);
  ir_arena_free (context->arena);
  g_rec_mutex_clear (&context->lock);
  g_free (context);
}

/* -- strings -- */

typedef struct
{
  const char *data;
  gsize length;
} StringKey;

static gboolean
string_equal (gconstpointer entry, gconstpointer key)
{
  const StringKey *wanted = key;
  const char *string = entry;
  return strncmp (string, wanted->data, wanted->length) == 0 && string[wanted->length] == '\0';
}

static guint
hash_string (const char *data, gsize length)
{
  guint64 hash = length;

  for (; length >= 8; data += 8, length -= 8)
    {
      guint64 word;
      memcpy (&word, data, 8);
      hash = (hash ^ word) * G_GUINT64_CONSTANT (0x9fb21c651e98df25);
      hash ^= hash >> 29;
    }
  for (; length > 0; data++, length--)
    hash = (hash ^ (guint8) *data) * G_GUINT64_CONSTANT (0x100000001b3);
  hash *= G_GUINT64_CONSTANT (0x9fb21c651e98df25);
  return (guint) (hash >> 32);
}

/* The one copy of @string; equal strings are the same pointer. @string: any; NULL counts as "". */
const char *
ir_context_intern (IrContext *context, const char *string)
{
  return ir_context_intern_len (context, string, -1);
}

/* The one copy, NUL-terminated. @string: bytes; ends early at a NUL. @length: bytes, or -1 up to
 * the NUL. */
const char *
ir_context_intern_len (IrContext *context, const char *string, gssize length)
{
  StringKey key = { string != NULL ? string : "", 0 };
  guint hash;
  char *found;

  key.length = string == NULL || length < 0 ? strlen (key.data) : strnlen (string, (gsize) length);
  hash = hash_string (key.data, key.length);
  g_rec_mutex_lock (&context->lock);
  found = ir_intern_table_find (&context->strings, hash, string_equal, &key);
  if (found == NULL)
    {
      found = ir_arena_alloc (context->arena, key.length + 1);
      memcpy (found, key.data, key.length);
      ir_intern_table_add (&context->strings, hash, found);
    }
  g_rec_mutex_unlock (&context->lock);
  return found;
}

/* Returns TRUE if @string was interned before */
gboolean
ir_context_has_string (IrContext *context, const char *string)
{
  StringKey key = { string, strlen (string) };
  gboolean found;

  g_rec_mutex_lock (&context->lock);
  found = ir_intern_table_find (&context->strings, hash_string (key.data, key.length), string_equal,
                                &key) != NULL;
  g_rec_mutex_unlock (&context->lock);
  return found;
}

/* -- id lists -- */

typedef struct
{
  const guint32 *ids;
  guint n;
} IdListKey;

static gboolean
id_list_equal (gconstpointer entry, gconstpointer key)
{
  const IrIdList *list = entry;
  const IdListKey *wanted = key;
  return list->n == wanted->n &&
         (list->n == 0 || memcmp (list->ids, wanted->ids, sizeof (guint32) * list->n) == 0);
}

/* The one list with these ids in this order */
const IrIdList *
ir_context_id_list (IrContext *context, const guint32 *ids, guint n)
{
  IdListKey key = { ids, n };
  guint hash = n;
  IrIdList *found;

  for (guint i = 0; i < n; i++)
    hash = ir_hash_mix (hash, ids[i]);
  g_rec_mutex_lock (&context->lock);
  found = ir_intern_table_find (&context->id_lists, hash, id_list_equal, &key);
  if (found == NULL)
    {
      found = ir_arena_alloc (context->arena, sizeof (IrIdList) + sizeof (guint32) * n);
      found->n = n;
      if (n > 0)
        memcpy (found->ids, ids, sizeof (guint32) * n);
      ir_intern_table_add (&context->id_lists, hash, found);
    }
  g_rec_mutex_unlock (&context->lock);
  return found;
}

/* -- memory -- */

/* Zeroed memory that lives as long as @context. @size: bytes. */
gpointer
ir_context_alloc (IrContext *context, gsize size)
{
  gpointer memory;
  g_rec_mutex_lock (&context->lock);
  memory = ir_arena_alloc (context->arena, size);
  g_rec_mutex_unlock (&context->lock);
  return memory;
}

/* A copy that lives as long as @context. @data: @size bytes. @size: bytes. */
gpointer
ir_context_dup (IrContext *context, gconstpointer data, gsize size)
{
  gpointer memory = ir_context_alloc (context, size);
  if (size > 0)
    memcpy (memory, data, size);
  return memory;
}

/* @object: any; NULL is ignored */
void
ir_context_own (IrContext *context, gpointer object, GDestroyNotify destroy)
{
  Owned owned = { object, destroy };

  if (object == NULL)
    return;
  g_rec_mutex_lock (&context->lock);
  g_array_append_val (context->owned, owned);
  g_rec_mutex_unlock (&context->lock);
}

/* Bytes held, without what the owned objects hold themselves */
gsize
ir_context_bytes (IrContext *context)
{
  gsize bytes;

  g_rec_mutex_lock (&context->lock);
  bytes = ir_arena_bytes (context->arena) + context->owned->len * sizeof (Owned) +
          (context->strings.capacity + context->id_lists.capacity + context->types.capacity +
           context->atoms.capacity + context->monos.capacity + context->exprs.capacity) *
              (sizeof (guint) + sizeof (gpointer));
  g_rec_mutex_unlock (&context->lock);
  return bytes;
}
