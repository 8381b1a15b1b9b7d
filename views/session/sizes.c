/* Sizes that the user gave to the free dims of the inputs. Jobs share the table that they began with:
 * a new size makes a new one. */
#include "config.h"

#include "views/session/inputs-private.h"
#include "views/session/timeline-private.h"

typedef struct
{
  GHashTable *sizes; /* name of a free dim -> gint64 *; never changed, as jobs share it */
  gboolean matter;   /* to the failure that is being told */
} Sizes;

static GHashTable *
new_sizes (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
}

static void
init (gpointer state)
{
  ((Sizes *) state)->sizes = new_sizes ();
}

static void
clear (gpointer state)
{
  g_hash_table_unref (((Sizes *) state)->sizes);
}

IR_SESSION_NOUN (Sizes, init, clear)

void
ir_session_forget_sizes (IrSession *self)
{
  g_hash_table_unref (own (self)->sizes);
  own (self)->sizes = new_sizes ();
}

GHashTable *
ir_session_get_sizes (IrSession *self)
{
  return own (self)->sizes;
}

/**
 * ir_session_set_size:
 * @name: of a free dim, as ir_session_free_dims() has it
 * @size: 0 or more; -1: none is asked for
 *
 * Takes effect with the next run.
 */
void
ir_session_set_size (IrSession *self, const char *name, gint64 size)
{
  const gint64 *now = g_hash_table_lookup (own (self)->sizes, name);
  GHashTable *sizes;
  GHashTableIter iter;
  gpointer key, value;

  if (now != NULL ? *now == size : size < 0)
    return;
  sizes = new_sizes ();
  g_hash_table_iter_init (&iter, own (self)->sizes);
  while (g_hash_table_iter_next (&iter, &key, &value))
    g_hash_table_insert (sizes, g_strdup (key), g_memdup2 (value, sizeof (gint64)));
  if (size < 0)
    g_hash_table_remove (sizes, name);
  else
    g_hash_table_replace (sizes, g_strdup (name), g_memdup2 (&size, sizeof size));
  g_hash_table_unref (own (self)->sizes);
  own (self)->sizes = sizes;
  ir_session_changed (self, IR_CHANGED_INPUTS);
}

/**
 * ir_session_free_dims:
 *
 * Returns: (transfer full) (element-type IrFreeDim): the dims that the inputs of the original graph
 *   leave open, with the sizes that a run would take
 */
GArray *
ir_session_free_dims (IrSession *self)
{
  return ir_free_dims (ir_session_get_original (self), own (self)->sizes);
}

/**
 * ir_session_size_conflicts:
 *
 * Returns: (transfer full) (element-type IrSizeConflict): what no sizes of the original graph suit, or
 *   not those that were asked for
 */
GArray *
ir_session_size_conflicts (IrSession *self)
{
  return ir_size_conflicts (ir_session_get_original (self), own (self)->sizes);
}

/* A kernel that refuses what it gets, or memory that does not suffice, may be due to sizes where any
 * are to be chosen; a missing kernel is not. */
void
ir_session_run_failed (IrSession *self, const char *title, const GError *error)
{
  g_autoptr (GArray) dims = ir_session_free_dims (self);

  own (self)->matter = dims->len > 0 && error != NULL &&
                       ((error->domain == IR_EXEC_ERROR &&
                         error->code != IR_EXEC_ERROR_UNSUPPORTED &&
                         error->code != IR_EXEC_ERROR_DEVICE &&
                         error->code != IR_EXEC_ERROR_CANCELLED) ||
                        error->domain == IR_OP_ERROR);
  ir_session_failed (self, title, error);
  own (self)->matter = FALSE;
}

/**
 * ir_session_failed_by_sizes:
 *
 * Returns: whether the failure that "failed" tells of may be due to sizes that
 *   ir_session_set_size() can change
 */
gboolean
ir_session_failed_by_sizes (IrSession *self)
{
  return own (self)->matter;
}
