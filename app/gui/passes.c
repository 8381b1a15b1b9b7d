#include "config.h"

#include "app/gui/passes.h"

#include "passes/pipeline/pipeline.h"
#include "views/entry-row.h"
#include "views/session/timeline.h"

#include <adwaita.h>
#include <string.h>

typedef struct
{
  IrSession *session;
  GtkWindow *window;
  AdwPreferencesGroup *chosen;
  GtkWidget *run, *search, *error;
  GPtrArray *rows;   /* of the chosen group, those of options too: of GtkWidget */
  GPtrArray *others; /* rows of all passes */
  GPtrArray *passes; /* of const IrPass: what is chosen, in order */
  GHashTable *texts; /* "PASS.OPTION" -> what was typed */
} Sheet;

static void show_chosen (Sheet *self);

static void
sheet_free (gpointer data)
{
  Sheet *self = data;

  g_object_unref (self->session);
  g_ptr_array_unref (self->rows);
  g_ptr_array_unref (self->others);
  g_ptr_array_unref (self->passes);
  g_hash_table_unref (self->texts);
  g_free (self);
}

static guint
index_of (GtkWidget *widget)
{
  return GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (widget), "index"));
}

static const IrPass *
pass_of (GtkWidget *widget)
{
  return g_object_get_data (G_OBJECT (widget), "pass");
}

/* @what: (nullable): nothing is wrong */
static void
show_error (Sheet *self, const char *what)
{
  gtk_label_set_text (GTK_LABEL (self->error), what != NULL ? what : "");
  gtk_widget_set_visible (self->error, what != NULL);
}

/* -- buttons -- */

static GtkWidget *
icon_button (const char *icon, const char *verb, const IrPass *pass)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);
  g_autofree char *name = g_strdup_printf ("%s: %s", verb, pass->name);

  gtk_widget_set_tooltip_text (button, verb);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  g_object_set_data (G_OBJECT (button), "pass", (gpointer) pass);
  return button;
}

static void
on_add (Sheet *self, GtkWidget *button)
{
  g_ptr_array_add (self->passes, (gpointer) pass_of (button));
  show_chosen (self);
}

static void
on_remove (Sheet *self, GtkWidget *button)
{
  g_ptr_array_remove_index (self->passes, index_of (button));
  show_chosen (self);
  gtk_widget_grab_focus (self->search); /* the row that had it is gone */
}

static void
on_earlier (Sheet *self, GtkWidget *button)
{
  const guint i = index_of (button);
  gpointer moved = self->passes->pdata[i];

  self->passes->pdata[i] = self->passes->pdata[i - 1];
  self->passes->pdata[i - 1] = moved;
  show_chosen (self);
  gtk_widget_grab_focus (self->search);
}

/* Those of the pipeline that is set. */
static void
on_take (Sheet *self)
{
  g_autoptr (IrPipeline)
      pipeline = ir_pipeline_load (ir_session_get_pipeline (self->session), NULL);

  for (guint i = 0; pipeline != NULL && i < pipeline->passes->len; i++)
    {
      const IrPass *pass = pipeline->passes->pdata[i];

      g_ptr_array_add (self->passes, (gpointer) ir_pass_find (pass->name));
    }
  show_chosen (self);
}

static void
on_typed (Sheet *self, GtkEditable *entry)
{
  const char *key = g_object_get_data (G_OBJECT (entry), "key"),
             *text = gtk_editable_get_text (entry);

  if (text[0] != '\0')
    g_hash_table_insert (self->texts, g_strdup (key), g_strdup (text));
  else
    g_hash_table_remove (self->texts, key);
}

static char *
key_of (const IrPass *pass, const IrPassOption *option)
{
  return g_strdup_printf ("%s.%s", pass->name, option->name);
}

/* A pass may be chosen twice; its options are set once. */
static gboolean
is_first (Sheet *self, guint i)
{
  guint first;

  return g_ptr_array_find (self->passes, self->passes->pdata[i], &first) && first == i;
}

/* What was typed for the options of pass @i. */
static void
add_values (Sheet *self, guint i, GStrvBuilder *values)
{
  const IrPass *pass = self->passes->pdata[i];

  for (const IrPassOption *option = pass->options; option != NULL && option->name != NULL; option++)
    {
      g_autofree char *key = key_of (pass, option);
      const char *text = g_hash_table_lookup (self->texts, key);
      g_autofree char *value = text != NULL ? g_strdup_printf ("%s=%s", key, text) : NULL;

      if (value != NULL)
        g_strv_builder_add (values, value);
    }
}

static void
on_run (Sheet *self)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) values = NULL;
  g_autoptr (GError) error = NULL;
  IrSession *session = self->session;

  for (guint i = 0; i < self->passes->len; i++)
    {
      g_ptr_array_add (names, (gpointer) ((const IrPass *) self->passes->pdata[i])->name);
      if (is_first (self, i))
        add_values (self, i, builder);
    }
  g_ptr_array_add (names, NULL);
  values = g_strv_builder_end (builder);
  if (!ir_session_set_passes (session, (const char *const *) names->pdata,
                              (const char *const *) values, &error))
    {
      show_error (self, error->message);
      return;
    }
  g_object_ref (session);
  gtk_window_destroy (self->window);
  ir_session_run_pipeline (session, NULL);
  g_object_unref (session);
}

/* -- rows -- */

static GtkWidget *
pass_row (const IrPass *pass)
{
  GtkWidget *row = adw_action_row_new ();
  g_autofree char *subtitle = g_strdup_printf (
      "%s · %s%s", pass->name, pass->doc,
      pass->step_class == IR_CLASS_UNSAFE ? " Unsafe: holds for real numbers only." : "");

  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), pass->title);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), subtitle);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 2);
  gtk_widget_set_tooltip_text (row, pass->doc);
  gtk_widget_set_focusable (row, FALSE);
  g_object_set_data (G_OBJECT (row), "pass", (gpointer) pass);
  return row;
}

static void
add_row (Sheet *self, GtkWidget *row)
{
  adw_preferences_group_add (self->chosen, row);
  g_ptr_array_add (self->rows, row);
}

static void
add_option_rows (Sheet *self, const IrPass *pass)
{
  for (const IrPassOption *option = pass->options; option != NULL && option->name != NULL; option++)
    {
      g_autofree char *key = key_of (pass, option),
                      *title = g_strdup_printf ("%s: %s", option->name, option->doc);
      GtkWidget *row = ir_entry_row_new (title, g_hash_table_lookup (self->texts, key));
      GtkEntry *entry = ir_entry_row_entry (row);

      gtk_entry_set_placeholder_text (entry, option->fallback);
      gtk_widget_set_tooltip_text (GTK_WIDGET (entry), option->doc);
      g_object_set_data_full (G_OBJECT (entry), "key", g_steal_pointer (&key), g_free);
      g_signal_connect_swapped (entry, "changed", G_CALLBACK (on_typed), self);
      gtk_entry_set_activates_default (entry, TRUE);
      add_row (self, row);
    }
}

static void
add_chosen_row (Sheet *self, guint i)
{
  const IrPass *pass = self->passes->pdata[i];
  GtkWidget *row = pass_row (pass);
  GtkWidget *earlier = icon_button ("go-up-symbolic", "Run it earlier", pass),
            *remove = icon_button ("list-remove-symbolic", "Leave it out", pass);
  g_autofree char *title = g_strdup_printf ("%u. %s", i + 1, pass->title);

  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 1);
  gtk_widget_set_sensitive (earlier, i > 0);
  g_object_set_data (G_OBJECT (earlier), "index", GUINT_TO_POINTER (i));
  g_object_set_data (G_OBJECT (remove), "index", GUINT_TO_POINTER (i));
  g_signal_connect_swapped (earlier, "clicked", G_CALLBACK (on_earlier), self);
  g_signal_connect_swapped (remove, "clicked", G_CALLBACK (on_remove), self);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), earlier);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), remove);
  add_row (self, row);
  if (is_first (self, i))
    add_option_rows (self, pass);
}

static void
add_hint_row (Sheet *self)
{
  GtkWidget *row = adw_action_row_new (), *take;
  const char *name = ir_session_get_pipeline (self->session);
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load (name, NULL);
  g_autofree char *label = NULL;

  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), "None yet");
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), "Press + beside a pass below");
  gtk_widget_set_focusable (row, FALSE);
  if (pipeline != NULL)
    {
      label = g_strdup_printf ("Those of %s", pipeline->title != NULL ? pipeline->title : name);
      take = gtk_button_new_with_label (label);
      gtk_widget_set_valign (take, GTK_ALIGN_CENTER);
      gtk_widget_set_tooltip_text (take, "Begin with the passes of the pipeline that is set");
      g_signal_connect_swapped (take, "clicked", G_CALLBACK (on_take), self);
      adw_action_row_add_suffix (ADW_ACTION_ROW (row), take);
    }
  add_row (self, row);
}

/* Makes the rows of what is chosen anew. The button that was pressed may be among the old ones. */
static void
show_chosen (Sheet *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    adw_preferences_group_remove (self->chosen, self->rows->pdata[i]);
  g_ptr_array_set_size (self->rows, 0);
  for (guint i = 0; i < self->passes->len; i++)
    add_chosen_row (self, i);
  if (self->passes->len == 0)
    add_hint_row (self);
  gtk_widget_set_sensitive (self->run, self->passes->len > 0);
  show_error (self, NULL);
}

/* -- all passes -- */

static gboolean
contains (const char *text, const char *typed)
{
  g_autofree char *lower = g_utf8_strdown (text, -1);

  return strstr (lower, typed) != NULL;
}

static void
on_search (Sheet *self)
{
  g_autofree char *typed = g_utf8_strdown (gtk_editable_get_text (GTK_EDITABLE (self->search)), -1);

  for (guint i = 0; i < self->others->len; i++)
    {
      const IrPass *pass = pass_of (self->others->pdata[i]);

      gtk_widget_set_visible (self->others->pdata[i], contains (pass->name, typed) ||
                                                          contains (pass->title, typed) ||
                                                          contains (pass->doc, typed));
    }
}

/* Enter takes the first one that is found. */
static void
on_found (Sheet *self)
{
  for (guint i = 0; i < self->others->len; i++)
    if (gtk_widget_get_visible (self->others->pdata[i]))
      {
        on_add (self, self->others->pdata[i]);
        gtk_editable_set_text (GTK_EDITABLE (self->search), "");
        return;
      }
}

static GtkWidget *
all_passes (Sheet *self)
{
  GtkWidget *group = adw_preferences_group_new ();
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  self->search = gtk_search_entry_new ();
  g_object_set (self->search, "placeholder-text", "Find a pass", NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->search), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Find a pass", -1);
  g_signal_connect_swapped (self->search, "changed", G_CALLBACK (on_search), self);
  g_signal_connect_swapped (self->search, "activate", G_CALLBACK (on_found), self);
  g_signal_connect_swapped (self->search, "stop-search", G_CALLBACK (gtk_window_close),
                            self->window);
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), "Passes");
  adw_preferences_group_set_header_suffix (ADW_PREFERENCES_GROUP (group), self->search);
  for (guint i = 0; i < n; i++)
    {
      GtkWidget *row = pass_row (passes[i]),
                *add = icon_button ("list-add-symbolic", "Add", passes[i]);

      g_signal_connect_swapped (add, "clicked", G_CALLBACK (on_add), self);
      adw_action_row_add_suffix (ADW_ACTION_ROW (row), add);
      adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
      g_ptr_array_add (self->others, row);
    }
  return group;
}

/* -- the sheet -- */

static void
on_unsafe (GtkSwitch *widget, GParamSpec *pspec, gpointer session)
{
  ir_session_set_unsafe (session, gtk_switch_get_active (widget));
}

static GtkWidget *
unsafe_group (IrSession *session)
{
  GtkWidget *group = adw_preferences_group_new (), *row = adw_action_row_new (),
            *widget = gtk_switch_new ();

  gtk_widget_set_valign (widget, GTK_ALIGN_CENTER);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), "Unsafe rewrites, too");
  adw_action_row_set_subtitle (
      ADW_ACTION_ROW (row), "Of every pipeline: what holds for real numbers only, and may change "
                            "NaN, infinities, −0 and overflow");
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), widget);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (row), widget);
  gtk_switch_set_active (GTK_SWITCH (widget), ir_session_get_unsafe (session));
  g_signal_connect_object (widget, "notify::active", G_CALLBACK (on_unsafe), session, 0);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
  return group;
}

static GtkWidget *
chosen_group (Sheet *self)
{
  GtkWidget *group = adw_preferences_group_new ();

  self->chosen = ADW_PREFERENCES_GROUP (group);
  self->run = gtk_button_new_with_label ("Run");
  self->error = gtk_label_new (NULL);
  gtk_widget_add_css_class (self->run, "suggested-action");
  gtk_widget_set_valign (self->run, GTK_ALIGN_CENTER);
  gtk_widget_set_tooltip_text (self->run, "Run these passes, recording every step");
  g_signal_connect_swapped (self->run, "clicked", G_CALLBACK (on_run), self);
  gtk_label_set_wrap (GTK_LABEL (self->error), TRUE);
  gtk_label_set_xalign (GTK_LABEL (self->error), 0);
  gtk_widget_add_css_class (self->error, "error");
  gtk_widget_set_margin_top (self->error, 6);
  adw_preferences_group_set_title (self->chosen, "In this order");
  adw_preferences_group_set_description (
      self->chosen,
      "Again and again until nothing changes, behind the last edit. F5 runs them again.");
  adw_preferences_group_set_header_suffix (self->chosen, self->run);
  adw_preferences_group_add (self->chosen, self->error);
  return group;
}

/* Options of the passes that were chosen before. */
static void
take_values (Sheet *self)
{
  const char *const *values = ir_session_get_pass_values (self->session);

  for (guint i = 0; values != NULL && values[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (values[i], "=", 2);

      g_hash_table_insert (self->texts, g_steal_pointer (&parts[0]), g_strdup (parts[1]));
    }
}

static void
take_passes (Sheet *self)
{
  const char *const *names = ir_session_get_passes (self->session);

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    g_ptr_array_add (self->passes, (gpointer) ir_pass_find (names[i]));
}

/* Shows the passes that were chosen last, and all others. */
void
ir_passes_dialog_present (GtkWindow *parent, IrSession *session)
{
  GtkWidget *window = adw_preferences_window_new (), *page = adw_preferences_page_new ();
  Sheet *self = g_new0 (Sheet, 1);

  self->session = g_object_ref (session);
  self->window = GTK_WINDOW (window);
  self->rows = g_ptr_array_new ();
  self->others = g_ptr_array_new ();
  self->passes = g_ptr_array_new ();
  self->texts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_object_set_data_full (G_OBJECT (window), "sheet", self, sheet_free);
  take_passes (self);
  take_values (self);
  for (GtkWidget **group =
           (GtkWidget *[]){ chosen_group (self), unsafe_group (session), all_passes (self), NULL };
       *group != NULL; group++)
    adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (*group));
  show_chosen (self);
  gtk_window_set_default_widget (GTK_WINDOW (window), self->run);
  adw_preferences_window_add (ADW_PREFERENCES_WINDOW (window), ADW_PREFERENCES_PAGE (page));
  adw_preferences_window_set_search_enabled (ADW_PREFERENCES_WINDOW (window), FALSE);
  gtk_window_set_title (GTK_WINDOW (window), "Choose Passes");
  gtk_window_set_default_size (GTK_WINDOW (window), 620, 680);
  gtk_window_set_transient_for (GTK_WINDOW (window), parent);
  gtk_window_set_modal (GTK_WINDOW (window), TRUE);
  gtk_window_present (GTK_WINDOW (window));
  gtk_widget_grab_focus (self->search);
}
