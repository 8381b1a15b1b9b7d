#include "config.h"

#include "app/gui/run-options.h"

#include "app/gui/state.h"
#include "core/exec/size.h"
#include "views/session-runs.h"

#include <adwaita.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- the settings: one row each -- */

typedef enum
{
  KIND_CHOICE,
  KIND_SWITCH,
  KIND_NUMBER,
  KIND_SIZE /* empty: the default */
} Kind;

typedef struct
{
  const char *name, *title;
} Choice;

typedef struct
{
  const char *group; /* (nullable): that of the row before */
  const char *key;   /* in the file of the window's state */
  const char *title, *subtitle;
  Kind kind;
  const char *fallback;
  /* FALSE: @text is no such setting, which then stays what it was */
  gboolean (*apply) (IrRunSettings *settings, const char *text);
  const Choice *choices; /* (nullable) ends with a NULL name */
  double most;           /* of numbers */
} Row;

static const Choice captures[] = {
  { "all", "All values" },
  { "checkpoints", "A few; others again" },
  { "statistics", "Statistics of all" },
  { "outputs", "Outputs only" },
  { NULL, NULL },
};

static const IrCaptureKind capture_kinds[] = {
  IR_CAPTURE_ALL,
  IR_CAPTURE_CHECKPOINTS,
  IR_CAPTURE_STATS,
  IR_CAPTURE_NONE,
};

static const Choice parallel_modes[] = {
  { "off", "Off" },
  { "on", "On" },
  { "auto", "Auto" },
  { NULL, NULL },
};

static guint
choice_index (const Choice *choices, const char *name)
{
  guint i = 0;

  while (choices[i].name != NULL && strcmp (choices[i].name, name) != 0)
    i++;
  return i;
}

/* @text: a number that a spin button has written; anything else is not in the file. */
static guint
number_of (const char *text, guint most)
{
  const guint64 number = g_ascii_strtoull (text, NULL, 10);

  return (guint) MIN (number, most);
}

static gboolean
apply_runs (IrRunSettings *settings, const char *text)
{
  settings->n_runs = MAX (number_of (text, 1000), 1);
  return TRUE;
}

static gboolean
apply_threads (IrRunSettings *settings, const char *text)
{
  settings->options.n_threads = number_of (text, 256);
  return TRUE;
}

static gboolean
apply_parallel (IrRunSettings *settings, const char *text)
{
  return ir_parallel_mode_find (text, &settings->options.parallel);
}

static gboolean
apply_deterministic (IrRunSettings *settings, const char *text)
{
  settings->options.deterministic = strcmp (text, "true") == 0;
  return TRUE;
}

static gboolean
apply_capture (IrRunSettings *settings, const char *text)
{
  const guint index = choice_index (captures, text);

  if (captures[index].name == NULL)
    return FALSE;
  settings->options.capture = capture_kinds[index];
  return TRUE;
}

static guint64
memory_of_machine (void)
{
  const long pages = sysconf (_SC_PHYS_PAGES), size = sysconf (_SC_PAGESIZE);

  return pages > 0 && size > 0 ? (guint64) pages * (guint64) size : 0;
}

static gboolean
apply_size (const char *text, gsize *bytes)
{
  guint64 size = 0;

  if (text[0] != '\0' && !ir_size_parse (text, memory_of_machine (), &size))
    return FALSE;
  *bytes = size;
  return TRUE;
}

static gboolean
apply_budget (IrRunSettings *settings, const char *text)
{
  return apply_size (text, &settings->options.capture_budget);
}

/* No file at all is one of a byte, into which no value fits. */
static gboolean
apply_spill (IrRunSettings *settings, const char *text)
{
  if (strcmp (text, "0") != 0)
    return apply_size (text, &settings->options.spill_limit);
  settings->options.spill_limit = 1;
  return TRUE;
}

static gboolean
apply_memory (IrRunSettings *settings, const char *text)
{
  return apply_size (text, &settings->options.memory_limit);
}

static gboolean
apply_output (IrRunSettings *settings, const char *text)
{
  return apply_size (text, &settings->options.output_limit);
}

static gboolean
apply_time (IrRunSettings *settings, const char *text)
{
  settings->options.time_limit_ms = number_of (text, 1000000) * 1000;
  return TRUE;
}

static const Row rows[] = {
  { "How often and on what", "runs", "Runs that count",
    "Median and spread are of these; where there are several, one before them warms up",
    KIND_NUMBER, "1", apply_runs, .most = 1000 },
  { NULL, "threads", "Threads", "0: one for each core", KIND_NUMBER, "0", apply_threads,
    .most = 256 },
  { NULL, "parallel", "Nodes beside each other",
    "Those that do not wait for each other, on one thread each. Auto tries both in 16 runs before",
    KIND_CHOICE, "off", apply_parallel, parallel_modes },
  { NULL, "deterministic", "Deterministic",
    "The same bits at any number of threads, for some speed", KIND_SWITCH, "false",
    apply_deterministic },
  { "What is kept", "capture", "Keep", "What is not kept is computed again when it is looked at",
    KIND_CHOICE, "all", apply_capture, captures },
  { NULL, "capture-budget", "Memory for kept values",
    "Such as 500M, or 10% of memory; the others go to a file. Empty: a quarter of memory",
    KIND_SIZE, "", apply_budget },
  { NULL, "spill-limit", "File for the others",
    "Such as 4G; 0: none. Empty: as much as the disk has", KIND_SIZE, "", apply_spill },
  { "Limits", "memory-limit", "Memory of all values",
    "Such as 2G or 50%. Empty: a quarter of memory", KIND_SIZE, "", apply_memory },
  { NULL, "output-limit", "Memory of one value", "Empty: a quarter of memory", KIND_SIZE, "",
    apply_output },
  { NULL, "time-limit", "Seconds of one run", "0: an hour", KIND_NUMBER, "0", apply_time,
    .most = 1000000 },
};

static void
apply_all (IrSession *session)
{
  IrRunSettings settings = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *text = ir_state_get_string (rows[i].key, rows[i].fallback);

      if (!rows[i].apply (&settings, text))
        rows[i].apply (&settings, rows[i].fallback);
    }
  ir_session_set_run_settings (session, &settings);
}

/**
 * ir_run_options_load:
 * @session: whose runs from now on are made as the user last wished
 */
void
ir_run_options_load (IrSession *session)
{
  apply_all (session);
}

/* -- the window -- */

/* A row and the session that it sets. */
typedef struct
{
  const Row *row;
  IrSession *session; /* referenced */
} Setter;

static void
setter_free (gpointer data, GClosure *closure)
{
  Setter *self = data;

  g_object_unref (self->session);
  g_free (self);
}

/* Returns: whether @text is such a setting; it is kept then. */
static gboolean
set (const Setter *self, const char *text)
{
  IrRunSettings scratch = { 0 };

  if (!self->row->apply (&scratch, text))
    return FALSE;
  ir_state_set_string (self->row->key, text);
  ir_state_save ();
  apply_all (self->session);
  return TRUE;
}

static void
on_choice (GtkDropDown *widget, GParamSpec *pspec, gpointer data)
{
  const Setter *self = data;

  set (self, self->row->choices[gtk_drop_down_get_selected (widget)].name);
}

static void
on_switch (GtkSwitch *widget, GParamSpec *pspec, gpointer data)
{
  set (data, gtk_switch_get_active (widget) ? "true" : "false");
}

static void
on_number (GtkSpinButton *widget, gpointer data)
{
  g_autofree char *text = g_strdup_printf ("%d", gtk_spin_button_get_value_as_int (widget));

  set (data, text);
}

static void
on_size (GtkEditable *widget, gpointer data)
{
  g_autofree char *text = g_strstrip (g_strdup (gtk_editable_get_text (widget)));

  if (set (data, text))
    gtk_widget_remove_css_class (GTK_WIDGET (widget), "error");
  else
    gtk_widget_add_css_class (GTK_WIDGET (widget), "error");
  gtk_accessible_update_state (GTK_ACCESSIBLE (widget), GTK_ACCESSIBLE_STATE_INVALID,
                               gtk_widget_has_css_class (GTK_WIDGET (widget), "error")
                                   ? GTK_ACCESSIBLE_INVALID_TRUE
                                   : GTK_ACCESSIBLE_INVALID_FALSE,
                               -1);
}

static GtkWidget *
choice_widget (const Row *row, const char *text)
{
  GtkStringList *titles = gtk_string_list_new (NULL);
  GtkWidget *widget;

  for (const Choice *choice = row->choices; choice->name != NULL; choice++)
    gtk_string_list_append (titles, choice->title);
  widget = gtk_drop_down_new (G_LIST_MODEL (titles), NULL);
  gtk_drop_down_set_selected (GTK_DROP_DOWN (widget), choice_index (row->choices, text));
  return widget;
}

static GtkWidget *
number_widget (const Row *row, const char *text)
{
  GtkWidget *widget = gtk_spin_button_new_with_range (0, row->most, 1);

  gtk_spin_button_set_value (GTK_SPIN_BUTTON (widget), number_of (text, (guint) row->most));
  gtk_editable_set_width_chars (GTK_EDITABLE (widget), 5);
  return widget;
}

static GtkWidget *
size_widget (const Row *row, const char *text)
{
  GtkWidget *widget = gtk_entry_new ();

  gtk_editable_set_text (GTK_EDITABLE (widget), text);
  gtk_editable_set_width_chars (GTK_EDITABLE (widget), 10);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (widget), 10);
  gtk_entry_set_placeholder_text (GTK_ENTRY (widget), "automatic");
  return widget;
}

static GtkWidget *
switch_widget (const Row *row, const char *text)
{
  GtkWidget *widget = gtk_switch_new ();

  gtk_switch_set_active (GTK_SWITCH (widget), strcmp (text, "true") == 0);
  return widget;
}

/* How a kind of setting is shown, and when it changes. */
static const struct
{
  GtkWidget *(*make) (const Row *row, const char *text);
  const char *signal;
  GCallback changed;
} kinds[] = {
  [KIND_CHOICE] = { choice_widget, "notify::selected", G_CALLBACK (on_choice) },
  [KIND_SWITCH] = { switch_widget, "notify::active", G_CALLBACK (on_switch) },
  [KIND_NUMBER] = { number_widget, "value-changed", G_CALLBACK (on_number) },
  [KIND_SIZE] = { size_widget, "changed", G_CALLBACK (on_size) },
};

static GtkWidget *
row_new (const Row *row, IrSession *session)
{
  GtkWidget *widget = adw_action_row_new (), *control;
  g_autofree char *text = ir_state_get_string (row->key, row->fallback);
  Setter *setter = g_new0 (Setter, 1);

  setter->row = row;
  setter->session = g_object_ref (session);
  control = kinds[row->kind].make (row, text);
  gtk_widget_set_valign (control, GTK_ALIGN_CENTER);
  gtk_accessible_update_property (GTK_ACCESSIBLE (control), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  row->subtitle, -1);
  g_signal_connect_data (control, kinds[row->kind].signal, kinds[row->kind].changed, setter,
                         setter_free, 0);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (widget), row->title);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (widget), row->subtitle);
  adw_action_row_add_suffix (ADW_ACTION_ROW (widget), control);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (widget), control); /* and names it */
  return widget;
}

/**
 * ir_run_options_present:
 * @parent: the window that it belongs to
 * @session: whose runs it sets
 *
 * Shows how graphs are run; changes take effect with the next run, and are kept.
 */
void
ir_run_options_present (GtkWindow *parent, IrSession *session)
{
  GtkWidget *window = adw_preferences_window_new (), *page = adw_preferences_page_new (),
            *group = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      if (rows[i].group != NULL)
        {
          group = adw_preferences_group_new ();
          adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), rows[i].group);
          adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (group));
        }
      adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row_new (&rows[i], session));
    }
  adw_preferences_window_add (ADW_PREFERENCES_WINDOW (window), ADW_PREFERENCES_PAGE (page));
  adw_preferences_window_set_search_enabled (ADW_PREFERENCES_WINDOW (window), FALSE);
  gtk_window_set_title (GTK_WINDOW (window), "Run Options");
  gtk_window_set_default_size (GTK_WINDOW (window), 600, 680);
  gtk_window_set_transient_for (GTK_WINDOW (window), parent);
  gtk_window_set_modal (GTK_WINDOW (window), TRUE);
  gtk_window_present (GTK_WINDOW (window));
}
