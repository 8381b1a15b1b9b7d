/* Notes that are pinned to nodes, by their names: they stay when the graph is another. */
#include "config.h"

#include "views/session/hub.h"
#include "views/session/notes-private.h"

#include <string.h>

typedef struct
{
  GHashTable *texts; /* char * -> char * */
} Notes;

static void
init (gpointer state)
{
  ((Notes *) state)->texts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
}

static void
clear (gpointer state)
{
  g_hash_table_unref (((Notes *) state)->texts);
}

IR_SESSION_NOUN (Notes, init, clear)

void
ir_session_forget_notes (IrSession *self)
{
  g_hash_table_remove_all (own (self)->texts);
}

const char *
ir_session_get_note (IrSession *self, const char *node)
{
  return g_hash_table_lookup (own (self)->texts, node);
}

const char *
ir_session_get_node_note (IrSession *self, const IrNode *node)
{
  g_autofree char *id = g_strdup_printf ("#%u", node->id);

  return ir_session_get_note (self, node->name[0] != '\0' ? node->name : id);
}

/**
 * ir_session_set_note:
 * @node: name of a node, or # and its id
 * @text: (nullable): what is pinned to it; %NULL or empty: nothing any more
 */
void
ir_session_set_note (IrSession *self, const char *node, const char *text)
{
  if (text == NULL || text[0] == '\0')
    g_hash_table_remove (own (self)->texts, node);
  else
    g_hash_table_replace (own (self)->texts, g_strdup (node), g_strdup (text));
  ir_session_changed (self, IR_CHANGED_NOTES);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

GPtrArray *
ir_session_list_notes (IrSession *self)
{
  GPtrArray *names = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer name;

  g_hash_table_iter_init (&iter, own (self)->texts);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    g_ptr_array_add (names, name);
  g_ptr_array_sort (names, compare_names);
  return names;
}
