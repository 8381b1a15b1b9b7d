#include "config.h"

#include "app/gui/inputs.h"

#include "app/gui/data-sets.h"
#include "app/gui/input-row.h"
#include "app/gui/sizes.h"
#include "core/exec/eval/given.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"
#include "views/session/runs.h"
#include "views/session/timeline.h"
#include "views/spin.h"

#include <adwaita.h>

static void
on_seed (GtkSpinButton *spin, gpointer user_data)
{
  ir_session_set_seed (IR_SESSION (user_data), (guint64) gtk_spin_button_get_value (spin));
}

static GtkWidget *
seed_row (IrSession *session)
{
  GtkWidget *row = adw_action_row_new ();
  GtkWidget *spin = ir_spin_new (0, 1000000);

  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), "Seed of random inputs");
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), "The same seed gives the same numbers");
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (spin), (double) ir_session_get_seed (session));
  gtk_widget_set_valign (spin, GTK_ALIGN_CENTER);
  gtk_accessible_update_property (GTK_ACCESSIBLE (spin), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Seed of random inputs", -1);
  g_signal_connect_object (spin, "value-changed", G_CALLBACK (on_seed), session, 0);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), spin);
  return row;
}

/* Without the button: what waits for sizes is not wanted. */
static void
on_closed (GtkWidget *window, IrSession *session)
{
  ir_session_give_up (session);
}

static void
on_run (GtkWidget *window, GtkButton *button)
{
  g_autoptr (IrSession) session = g_object_ref (g_object_get_data (G_OBJECT (window), "session"));

  ir_session_see_sizes (session);
  if (!ir_session_go_on (session))
    ir_session_run_graph (session);
  gtk_window_destroy (GTK_WINDOW (window));
}

static GtkWidget *
run_button (GtkWidget *window, const char *what)
{
  GtkWidget *button = gtk_button_new_with_label (what != NULL ? "Continue" : "Run");
  g_autofree char *tip = g_strdup_printf ("%s, with these inputs",
                                          what != NULL ? what : "Running the graph");

  gtk_widget_add_css_class (button, "suggested-action");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_set_tooltip_text (button, tip);
  g_signal_connect_object (button, "clicked", G_CALLBACK (on_run), window, G_CONNECT_SWAPPED);
  gtk_window_set_default_widget (GTK_WINDOW (window), button);
  return button;
}

/* Kind of contents that a file may have; (nullable): a graph, or nothing that is known. */
static const char *
kind_of (const char *path)
{
  static const char *const tensors[] = { ".npy", ".pb", ".npz", NULL };
  g_autofree char *type = g_content_type_guess (path, NULL, 0, NULL);

  for (guint i = 0; tensors[i] != NULL; i++)
    if (g_str_has_suffix (path, tensors[i]))
      return ir_given_name (IR_GIVEN_FILE);
  return g_content_type_is_a (type, "image/*") || g_str_has_prefix (type, "image/")
             ? ir_given_name (IR_GIVEN_PICTURE)
             : NULL;
}

char *
ir_inputs_take_file (IrSession *session, const char *path, GError **error)
{
  const char *kind = ir_session_is_empty (session) ? NULL : kind_of (path);
  const IrGraph *graph = kind != NULL ? ir_session_get_original (session)->main : NULL;
  GError *why = NULL;

  for (guint i = 0; graph != NULL && i < ir_graph_n_inputs (graph); i++)
    {
      const IrValue *input = ir_graph_input (graph, i);

      if (input == NULL || (input->initializer != NULL && !ir_value_is_default (input)))
        continue;
      if (ir_session_give_input (session, input->id, kind, path, why == NULL ? &why : NULL))
        {
          g_clear_error (&why);
          return g_strdup (input->name);
        }
    }
  if (why != NULL)
    g_propagate_error (error, why);
  return NULL;
}

/* Shows the inputs of the open graph; changes take effect with the next run.
 * @what: (nullable): what goes on behind it, such as "Running the graph" */
void
ir_inputs_dialog_present (GtkWindow *parent, IrSession *session, const char *what)
{
  const IrFrame *frame = ir_session_get_frame (session);
  GtkWidget *window = adw_preferences_window_new ();
  GtkWidget *page = adw_preferences_page_new ();
  GtkWidget *inputs = adw_preferences_group_new ();
  GtkWidget *random = adw_preferences_group_new ();
  GtkWidget *sizes, *sets;
  const IrGraph *graph;

  if (frame == NULL)
    return;
  sizes = ir_sizes_group_new (session);
  sets = ir_data_sets_group_new (session);
  graph = frame->before->main;
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (inputs), "Inputs");
  adw_preferences_group_set_description (
      ADW_PREFERENCES_GROUP (inputs),
      "Used by the next run. Random numbers suit the uses of the input.");
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    {
      const IrValue *value = ir_graph_input (graph, i);

      if (value->initializer == NULL || ir_value_is_default (value))
        adw_preferences_group_add (ADW_PREFERENCES_GROUP (inputs),
                                   ir_input_row_new (session, GTK_WINDOW (window), value));
    }
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (random), seed_row (session));
  adw_preferences_group_set_header_suffix (ADW_PREFERENCES_GROUP (sizes != NULL ? sizes : inputs),
                                           run_button (window, what));
  if (sizes != NULL)
    adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (sizes));
  if (sets != NULL)
    adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (sets));
  adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (inputs));
  adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (random));
  adw_preferences_window_add (ADW_PREFERENCES_WINDOW (window), ADW_PREFERENCES_PAGE (page));
  adw_preferences_window_set_search_enabled (ADW_PREFERENCES_WINDOW (window), FALSE);
  g_object_set_data_full (G_OBJECT (window), "session", g_object_ref (session), g_object_unref);
  g_signal_connect_object (window, "destroy", G_CALLBACK (on_closed), session, 0);
  gtk_window_set_title (GTK_WINDOW (window), "Inputs");
  gtk_window_set_default_size (GTK_WINDOW (window), 580, 640);
  gtk_window_set_transient_for (GTK_WINDOW (window), parent);
  gtk_window_set_modal (GTK_WINDOW (window), TRUE);
  gtk_window_present (GTK_WINDOW (window));
}
