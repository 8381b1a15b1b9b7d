/* Rows of the properties in which something is typed. */
#include "config.h"

#include "views/properties/editing.h"

#include "core/op/op.h"
#include "views/entry-row.h"
#include "views/session/act.h"

#include <string.h>

#define MAX_ELEMENTS 32 /* of what can be typed in a row */

typedef struct
{
  IrSession *session; /* not referenced: lives as long as the view */
  GStrv words;
  guint at;
  char *prefix;
} Edit;

static void
edit_free (gpointer data, GClosure *closure)
{
  Edit *edit = data;

  g_strfreev (edit->words);
  g_free (edit->prefix);
  g_free (edit);
}

static void
on_apply (GtkEditable *entry, Edit *edit)
{
  g_autofree char *text = g_strconcat (edit->prefix != NULL ? edit->prefix : "",
                                       gtk_editable_get_text (entry), NULL);
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  const guint n = g_strv_length (edit->words);

  for (guint i = 0; i <= n; i++)
    {
      if (i == edit->at)
        g_ptr_array_add (words, text);
      g_ptr_array_add (words, i < n ? edit->words[i] : NULL);
    }
  ir_session_act (edit->session, (const char *const *) words->pdata);
}

static void
on_icon (GtkEntry *entry)
{
  g_signal_emit_by_name (entry, "activate");
}

/* A check mark, while what stands there is not what is. */
static void
on_typed (GtkEntry *entry)
{
  const char *before = g_object_get_data (G_OBJECT (entry), "text");
  const gboolean changed = g_strcmp0 (gtk_editable_get_text (GTK_EDITABLE (entry)), before) != 0;

  gtk_entry_set_icon_from_icon_name (entry, GTK_ENTRY_ICON_SECONDARY,
                                     changed ? "object-select-symbolic" : NULL);
  if (changed)
    gtk_entry_set_icon_tooltip_text (entry, GTK_ENTRY_ICON_SECONDARY, "Apply (Enter)");
}

GtkWidget *
ir_editing_row (IrSession *session,
                const char *title,
                const char *text,
                const char *const *words,
                guint at,
                const char *prefix)
{
  GtkWidget *row = ir_entry_row_new (title, text);
  GtkEntry *entry = ir_entry_row_entry (row);
  Edit *edit = g_new0 (Edit, 1);

  edit->session = session;
  edit->words = g_strdupv ((char **) words);
  edit->at = at;
  edit->prefix = g_strdup (prefix);
  g_object_set_data_full (G_OBJECT (entry), "text", g_strdup (text), g_free);
  g_signal_connect (entry, "changed", G_CALLBACK (on_typed), NULL);
  g_signal_connect (entry, "icon-press", G_CALLBACK (on_icon), NULL);
  g_signal_connect_data (entry, "activate", G_CALLBACK (on_apply), edit, edit_free, 0);
  return row;
}

/* 0.001, not 0.00100000005: as few digits as read back as the same number. */
static const char *
shortest (char number[static G_ASCII_DTOSTR_BUF_SIZE], float value)
{
  static const char *const formats[] = { "%.6g", "%.7g", "%.8g", "%.9g" };
  guint i = 0;

  do
    g_ascii_formatd (number, G_ASCII_DTOSTR_BUF_SIZE, formats[i], value);
  while (++i < G_N_ELEMENTS (formats) && (float) g_ascii_strtod (number, NULL) != value);
  return number;
}

/* As "set" takes it. */
char *
ir_editing_attr_text (const IrAttr *attr)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (attr->ref_name != NULL || attr->n > MAX_ELEMENTS)
    return NULL;
  if (attr->kind == IR_ATTR_STRING)
    return g_utf8_validate (attr->strings[0].data, (gssize) attr->strings[0].length, NULL)
               ? g_strdup (attr->strings[0].data)
               : NULL;
  for (guint i = 0; i < attr->n; i++)
    {
      char number[G_ASCII_DTOSTR_BUF_SIZE];

      g_string_append (text, i > 0 ? ", " : "");
      if (attr->kind == IR_ATTR_INT || attr->kind == IR_ATTR_INTS)
        g_string_append_printf (text, "%" G_GINT64_FORMAT, attr->ints[i]);
      else if (attr->kind == IR_ATTR_FLOAT || attr->kind == IR_ATTR_FLOATS)
        g_string_append (text, shortest (number, attr->floats[i]));
      else
        return NULL;
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* -- focus -- */

static GtkWidget *
find_row (GtkWidget *root, const char *title)
{
  if (ADW_IS_PREFERENCES_ROW (root) && ir_entry_row_entry (root) != NULL &&
      g_strcmp0 (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (root)), title) == 0)
    return root;
  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = find_row (child, title);

      if (found != NULL)
        return found;
    }
  return NULL;
}

char *
ir_editing_focus (GtkWidget *box)
{
  GtkWidget *focus = gtk_root_get_focus (gtk_widget_get_root (box));
  GtkWidget *row = focus != NULL && gtk_widget_is_ancestor (focus, box)
                       ? gtk_widget_get_ancestor (focus, ADW_TYPE_PREFERENCES_ROW)
                       : NULL;

  return row != NULL ? g_strdup (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row))) : NULL;
}

void
ir_editing_restore_focus (GtkWidget *box, const char *title)
{
  GtkWidget *row = title != NULL ? find_row (box, title) : NULL;

  if (row != NULL)
    gtk_widget_grab_focus (GTK_WIDGET (ir_entry_row_entry (row)));
  else if (title != NULL) /* what was open is filled: one goes on in the graph */
    gtk_widget_activate_action (box, "win.show", "s", "graph");
}

/* -- a value -- */

static void
add_to (GtkWidget *group, GtkWidget *row)
{
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
}

/* As narrow as the pane: a row that does something. */
static void
add_button (GtkWidget *group, const char *label, const char *action)
{
  GtkWidget *row = adw_action_row_new ();

  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), label);
  gtk_actionable_set_detailed_action_name (GTK_ACTIONABLE (row), action);
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), TRUE);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row),
                             gtk_image_new_from_icon_name ("go-next-symbolic"));
  add_to (group, row);
}

static void
add_contents (GtkWidget *group, IrSession *session, const IrValue *value, const char *word)
{
  const IrTensor *tensor = ir_value_constant (value);
  g_autofree char *text = NULL;

  if (tensor == NULL || ir_tensor_n_elements (tensor) > MAX_ELEMENTS ||
      ir_tensor_is_container (tensor))
    return;
  text = ir_tensor_to_string (tensor, MAX_ELEMENTS);
  add_to (group, ir_editing_row (session, "Contents", text,
                                 (const char *const[]){ "constant", word, NULL }, 2, NULL));
}

/* What a constant holds, in place or from a file. */
void
ir_editing_add_constant (IrPropertyPage *page, GtkWidget *group, const IrValue *value)
{
  g_autofree char *word = g_strdup_printf ("#%u", value->id);

  add_to (group,
          ir_editing_row (page->session, "Element type", ir_dtype_name (ir_value_dtype (value)),
                          (const char *const[]){ "dtype", word, NULL }, 2, NULL));
  add_contents (group, page->session, value, word);
  add_button (group, "Replace…", "win.view('set-constant')");
}

/* Name, type and contents of the value, and what can be done with it. */
void
ir_editing_add_value (IrPropertyPage *page, const IrValue *value)
{
  const IrType *type = ir_value_shown_type (value);
  g_autofree char *word = g_strdup_printf ("#%u", value->id);
  g_autofree char *text = type != NULL ? ir_type_to_string (value->graph->model->context, type)
                                       : g_strdup ("");
  GtkWidget *group = ir_property_group (page, "Value");

  add_to (group, ir_editing_row (page->session, "Name", value->name,
                                 (const char *const[]){ "rename-value", word, NULL }, 2, NULL));
  if (ir_value_constant (value) != NULL)
    ir_editing_add_constant (page, group, value);
  else
    {
      add_to (group, ir_editing_row (page->session, "Type", text,
                                     (const char *const[]){ "type", word, NULL }, 2, NULL));
      if (value->producer == NULL)
        add_button (group, "Make Constant…", "win.view('set-constant')");
    }
  if (!ir_value_is_graph_output (value) && value->graph->kind == IR_GRAPH_MAIN)
    add_button (group, "Make Output", "win.view('make-output')");
  if (value->producer == NULL || ir_value_is_graph_output (value))
    add_button (group, value->producer != NULL ? "Remove from Outputs" : "Remove",
                "win.view('delete')");
}

/* -- free sizes -- */

void
ir_editing_add_sizes (IrPropertyPage *page, const IrModel *model)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  GtkWidget *group = NULL;

  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      const IrType *type = ir_graph_input (model->main, i)->type;

      for (int k = 0; ir_type_has_rank (type) && k < type->rank; k++)
        {
          const char *name = ir_dim_is_symbolic (type->dims[k])
                                 ? ir_dim_symbol_name (model->context, type->dims[k])
                                 : NULL;
          GtkWidget *row;

          if (name == NULL || !g_hash_table_add (seen, (gpointer) name))
            continue;
          group = group != NULL ? group : ir_property_group (page, "Free sizes");
          row = ir_editing_row (page->session, name, "", (const char *const[]){ "dim", name, NULL },
                                2, NULL);
          gtk_entry_set_placeholder_text (ir_entry_row_entry (row), "any; a number fixes it");
          add_to (group, row);
        }
    }
}
