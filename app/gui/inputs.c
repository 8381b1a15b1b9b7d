#include "config.h"

#include "app/gui/inputs.h"

#include "app/gui/data-sets.h"
#include "app/gui/sizes.h"
#include "core/io/io.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"

#include <adwaita.h>

typedef struct
{
  IrSession *session; /* referenced */
  GtkWidget *window;
  GtkWidget *row;
  IrValueId input;
} InputRow;

static void
input_row_free (gpointer data)
{
  InputRow *self = data;

  g_clear_object (&self->session);
  g_free (self);
}

static char *
tensor_text (const IrTensor *tensor)
{
  g_autofree char *head = ir_tensor_to_string (tensor, 4);

  if (ir_tensor_is_container (tensor))
    {
      g_autoptr (IrContext) context = ir_context_new ();
      g_autofree char *type = ir_type_to_string (context, ir_tensor_type (tensor, context));
      return g_strdup_printf ("%s · %s", type, head);
    }
  GString *text = g_string_new (ir_dtype_name (ir_tensor_dtype (tensor)));

  g_string_append_c (text, '[');
  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "",
                            ir_tensor_dims (tensor)[i]);
  g_string_append_printf (text, "] · %s", head);
  return g_string_free (text, FALSE);
}

static void
update_row (IrSession *session, GtkWidget *row, IrValueId input)
{
  const IrFrame *frame = ir_session_get_frame (session);
  const IrValue *value = frame != NULL ? ir_model_value (frame->before, input) : NULL;
  IrTensor *given = g_hash_table_lookup (ir_session_get_inputs (session), GUINT_TO_POINTER (input));
  g_autofree char *text = NULL;

  if (value == NULL)
    return;
  if (given != NULL)
    text = tensor_text (given);
  else
    {
      g_autofree char *type = value->type != NULL
                                  ? ir_type_to_string (frame->model->context, value->type)
                                  : g_strdup ("unknown type");

      text = g_strdup_printf ("%s · random", type);
    }
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), text);
}

static void
show_error (GtkWidget *parent, const char *title, const char *text)
{
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (parent), title, text);

  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "close", "_Close");
  gtk_window_present (GTK_WINDOW (dialog));
}

/* Of an archive the array with the name of the input, or the only one. */
static IrTensor *
load_array (const char *path, const char *name, GError **error)
{
  g_autoptr (GPtrArray) arrays = ir_npz_load (path, error);

  for (guint i = 0; arrays != NULL && i < arrays->len; i++)
    {
      const IrNamedTensor *array = arrays->pdata[i];

      if (arrays->len == 1 || strcmp (array->name, name) == 0)
        return ir_tensor_ref (array->tensor);
    }
  if (arrays != NULL)
    g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT, "%s has no array called %s.", path, name);
  return NULL;
}

static void
on_chosen (GtkNativeDialog *dialog, int response, InputRow *self)
{
  g_autoptr (GFile) file = NULL;
  g_autofree char *path = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) tensor = NULL;

  if (response == GTK_RESPONSE_ACCEPT)
    file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
  g_object_unref (dialog);
  path = file != NULL ? g_file_get_path (file) : NULL;
  if (path == NULL)
    return;
  const IrFrame *frame = ir_session_get_frame (self->session);
  const IrValue *value = frame != NULL ? ir_model_value (frame->before, self->input) : NULL;
  if (value == NULL)
    return;
  tensor = g_str_has_suffix (path, ".npz") ? load_array (path, value->name, &error)
                                           : ir_value_load (path, value->type, &error);
  if (tensor == NULL)
    {
      show_error (self->window, "The tensor could not be read", error->message);
      return;
    }
  ir_session_set_input (self->session, self->input, tensor);
  update_row (self->session, self->row, self->input);
}

static void
on_load (GtkButton *button, gpointer user_data)
{
  InputRow *self = user_data;
  g_autoptr (GtkFileFilter) filter = gtk_file_filter_new ();
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      "Open a Tensor", GTK_WINDOW (self->window), GTK_FILE_CHOOSER_ACTION_OPEN, "_Open", "_Cancel");

  gtk_file_filter_set_name (filter, "Tensors (.npy, .npz, .pb)");
  gtk_file_filter_add_suffix (filter, "npy");
  gtk_file_filter_add_suffix (filter, "npz");
  gtk_file_filter_add_suffix (filter, "pb");
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (dialog), filter);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  if (ir_session_get_path (self->session) != NULL)
    {
      g_autofree char *dir = g_path_get_dirname (ir_session_get_path (self->session));
      g_autoptr (GFile) folder = g_file_new_for_path (dir);

      gtk_file_chooser_set_current_folder (GTK_FILE_CHOOSER (dialog), folder, NULL);
    }
  g_signal_connect (dialog, "response", G_CALLBACK (on_chosen), self);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static void
on_random (GtkButton *button, gpointer user_data)
{
  InputRow *self = user_data;

  ir_session_set_input (self->session, self->input, NULL);
  update_row (self->session, self->row, self->input);
}

static GtkWidget *
small_button (const char *label, const char *of, GCallback callback, InputRow *data)
{
  GtkWidget *button = gtk_button_new_with_label (label);
  g_autofree char *name = g_strdup_printf ("%s: %s", of, label);

  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (button, "flat");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  g_signal_connect (button, "clicked", callback, data);
  return button;
}

/* Another row may have given it something: a data set, or an archive. */
static void
on_changed (IrSession *session, guint flags, GtkWidget *row)
{
  const InputRow *self = g_object_get_data (G_OBJECT (row), "input");

  if (flags & IR_CHANGED_INPUTS)
    update_row (session, row, self->input);
}

static GtkWidget *
input_row_new (IrSession *session, GtkWidget *window, const IrValue *value)
{
  GtkWidget *row = adw_action_row_new ();
  InputRow *data = g_new0 (InputRow, 1);

  data->session = g_object_ref (session);
  data->window = window;
  data->row = row;
  data->input = value->id;
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), value->name);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 1);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row),
                             small_button ("Random", value->name, G_CALLBACK (on_random), data));
  adw_action_row_add_suffix (ADW_ACTION_ROW (row),
                             small_button ("Open…", value->name, G_CALLBACK (on_load), data));
  g_object_set_data_full (G_OBJECT (row), "input", data, input_row_free);
  g_signal_connect_object (session, "changed", G_CALLBACK (on_changed), row, 0);
  update_row (session, row, value->id);
  return row;
}

static void
on_seed (GtkSpinButton *spin, gpointer user_data)
{
  ir_session_set_seed (IR_SESSION (user_data), (guint64) gtk_spin_button_get_value (spin));
}

static GtkWidget *
seed_row (IrSession *session)
{
  GtkWidget *row = adw_action_row_new ();
  GtkWidget *spin = gtk_spin_button_new_with_range (0, 1000000, 1);

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

/* Shows the inputs of the open graph; changes take effect with the next run. */
void
ir_inputs_dialog_present (GtkWindow *parent, IrSession *session)
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
      "Used by the next run. An input without a file gets random numbers that suit its uses.");
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    {
      const IrValue *value = ir_graph_input (graph, i);

      if (value->initializer == NULL)
        adw_preferences_group_add (ADW_PREFERENCES_GROUP (inputs),
                                   input_row_new (session, window, value));
    }
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (random), seed_row (session));
  if (sizes != NULL)
    adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (sizes));
  if (sets != NULL)
    adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (sets));
  adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (inputs));
  adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (random));
  adw_preferences_window_add (ADW_PREFERENCES_WINDOW (window), ADW_PREFERENCES_PAGE (page));
  adw_preferences_window_set_search_enabled (ADW_PREFERENCES_WINDOW (window), FALSE);
  gtk_window_set_title (GTK_WINDOW (window), "Inputs");
  gtk_window_set_default_size (GTK_WINDOW (window), 560, 520);
  gtk_window_set_transient_for (GTK_WINDOW (window), parent);
  gtk_window_set_modal (GTK_WINDOW (window), TRUE);
  gtk_window_present (GTK_WINDOW (window));
}
