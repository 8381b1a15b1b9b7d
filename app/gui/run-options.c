#include "config.h"

#include "app/gui/run-options.h"

#include "app/gui/state.h"
#include "core/exec/gpu/runtime.h"
#include "core/exec/kernel/size.h"
#include "views/name.h"
#include "views/session/frame.h"
#include "views/session/runs.h"
#include "views/session/selection.h"
#include "views/spin.h"

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
  KIND_SIZE,  /* empty: the default */
  KIND_VALUES /* names, with commas between */
} Kind;

typedef struct
{
  const char *name, *title;
  const char *doc; /* (nullable): in place of the row's subtitle while it is chosen */
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
  const char *only_with; /* (nullable): what "capture" has to be for the row to mean something */
  /* (nullable) What to say of a choice that takes a while to find out, in any thread. (transfer full) */
  char *(*explain) (const char *name);
} Row;

static const Choice captures[] = {
  { "all", "All values", "Of the graph on screen and of the original one, which both run" },
  { "original", "All of the original graph",
    "From one run of the graph on screen; the original graph does not run" },
  { "chosen", "Chosen values", "Others are computed again when they are looked at" },
  { "checkpoints", "A few; others again",
    "So many that each other one is soon computed again when it is looked at" },
  { "statistics", "Statistics of all", "The values are computed again when they are looked at" },
  { "outputs", "Outputs only", "Others are computed again when they are looked at" },
  { NULL, NULL, NULL },
};

static const struct
{
  IrCaptureKind kind;
  gboolean one_run;
} capture_kinds[] = {
  { IR_CAPTURE_ALL, FALSE },         { IR_CAPTURE_ALL, TRUE },    { IR_CAPTURE_CHOSEN, FALSE },
  { IR_CAPTURE_CHECKPOINTS, FALSE }, { IR_CAPTURE_STATS, FALSE }, { IR_CAPTURE_NONE, FALSE },
};

static const Choice devices[] = {
  { "cpu", "CPU", "Its own kernels; reference kernels for the rest" },
  { "ref", "Reference kernels", "Slow, and what all others are held against" },
  { "gpu", "GPU", "Looking for one…" },
  { NULL, NULL, NULL },
};

static const Choice precisions[] = {
  { "strict", "Strict", "Products in float32 as they are" },
  { "tf32", "TF32", "cuBLAS may round the operands of products in float32 to 10 bits of mantissa" },
  { "half", "Half", "cuBLAS may round the operands of products in float32 to float16" },
  { NULL, NULL, NULL },
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

/* Lent: the session copies it. Without one, a run says what is missing. */
static gboolean
apply_device (IrRunSettings *settings, const char *text)
{
  if (ir_backend_find (text) == NULL)
    return FALSE;
  settings->device = strcmp (text, devices[0].name) != 0 ? text : NULL;
  return TRUE;
}

static gboolean
apply_precision (IrRunSettings *settings, const char *text)
{
  return ir_gpu_precision_find (text, &settings->precision);
}

static char *
explain_device (const char *name)
{
  g_autoptr (GError) error = NULL;
  const IrBackend *backend = ir_backend_require (name, &error);

  if (backend == NULL)
    return g_strdup_printf ("Not here. %s", error->message);
  if (backend->memory == NULL)
    return NULL;
  return g_strdup (ir_gpu_runtime_is_stand_in ()
                       ? "A stand-in, which imitates a GPU on the processor: times say nothing"
                       : "The original graph, or without steps the same one, runs on the CPU "
                         "beside it, and values are compared");
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
  settings->options.capture = capture_kinds[index].kind;
  settings->one_run = capture_kinds[index].one_run;
  return TRUE;
}

/* Lent: the session copies it. */
static gboolean
apply_chosen (IrRunSettings *settings, const char *text)
{
  settings->chosen = text;
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
  { NULL, "device", "Device", NULL, KIND_CHOICE, "cpu", apply_device, devices,
    .explain = explain_device },
  { NULL, "precision", "Precision on a GPU", NULL, KIND_CHOICE, "strict", apply_precision,
    precisions },
  { NULL, "threads", "Threads", "0: one for each core", KIND_NUMBER, "0", apply_threads,
    .most = 256 },
  { NULL, "parallel", "Concurrent Nodes",
    "Those that do not wait for each other, on one thread each. Auto tries both in 16 runs before",
    KIND_CHOICE, "off", apply_parallel, parallel_modes },
  { NULL, "deterministic", "Deterministic",
    "The same bits at any number of threads, for some speed", KIND_SWITCH, "false",
    apply_deterministic },
  { "What is kept", "capture", "Keep", NULL, KIND_CHOICE, "all", apply_capture, captures },
  { NULL, "chosen-values", "Chosen values",
    "Names with commas between; CALL/NAME in the body of a function", KIND_VALUES, "", apply_chosen,
    .only_with = "chosen" },
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
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      char *text = ir_state_get_string (rows[i].key, rows[i].fallback);

      g_ptr_array_add (texts, text);
      if (!rows[i].apply (&settings, text))
        rows[i].apply (&settings, rows[i].fallback);
    }
  ir_session_set_run_settings (session, &settings);
}

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
  GtkWidget *widget;  /* (unowned) of the row: it has the control that holds this */
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

/* Rows that mean nothing with the choice that was made cannot be changed. */
static void
update_dependents (GtkWidget *widget, const char *chosen)
{
  GtkWidget *group = gtk_widget_get_parent (widget);

  for (GtkWidget *child = gtk_widget_get_first_child (group); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      const char *only_with = g_object_get_data (G_OBJECT (child), "only-with");

      if (only_with != NULL)
        gtk_widget_set_sensitive (child, strcmp (only_with, chosen) == 0);
    }
}

static void
set_doc (GtkWidget *widget, const char *doc)
{
  g_autofree char *escaped = g_markup_escape_text (doc, -1);

  adw_action_row_set_subtitle (ADW_ACTION_ROW (widget), escaped);
}

/* What is asked about a choice beside the window. */
typedef struct
{
  const Row *row;
  const Choice *choice;
} Asked;

static void
explain (GTask *task, gpointer widget, gpointer data, GCancellable *cancellable)
{
  const Asked *asked = data;

  g_task_return_pointer (task, asked->row->explain (asked->choice->name), g_free);
}

/* Unless another choice was made meanwhile. */
static void
on_explained (GObject *widget, GAsyncResult *result, gpointer data)
{
  const Asked *asked = g_task_get_task_data (G_TASK (result));
  g_autofree char *text = g_task_propagate_pointer (G_TASK (result), NULL);

  if (text != NULL && g_object_get_data (widget, "choice") == asked->choice)
    set_doc (GTK_WIDGET (widget), text);
}

static void
show_choice (GtkWidget *widget, const Row *row, const Choice *choice)
{
  g_object_set_data (G_OBJECT (widget), "choice", (gpointer) choice);
  if (choice->doc != NULL)
    set_doc (widget, choice->doc);
  update_dependents (widget, choice->name);
  if (row->explain == NULL)
    return;
  g_autoptr (GTask) task = g_task_new (widget, NULL, on_explained, NULL);
  g_task_set_task_data (task, g_memdup2 (&(Asked){ row, choice }, sizeof (Asked)), g_free);
  g_task_run_in_thread (task, explain);
}

static void
on_choice (GtkDropDown *widget, GParamSpec *pspec, gpointer data)
{
  const Setter *self = data;
  const Choice *choice = &self->row->choices[gtk_drop_down_get_selected (widget)];

  set (self, choice->name);
  show_choice (self->widget, self->row, choice);
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
  ir_name (gtk_widget_get_first_child (widget), row->title); /* the row names the rest */
  return widget;
}

static GtkWidget *
number_widget (const Row *row, const char *text)
{
  GtkWidget *widget = ir_spin_new (0, row->most);

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

static void
on_values (GtkEditable *widget, gpointer data)
{
  set (data, gtk_editable_get_text (widget));
}

static GtkWidget *
values_widget (const Row *row, const char *text)
{
  GtkWidget *widget = gtk_entry_new ();

  gtk_editable_set_text (GTK_EDITABLE (widget), text);
  gtk_editable_set_width_chars (GTK_EDITABLE (widget), 20);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (widget), 20);
  gtk_entry_set_placeholder_text (GTK_ENTRY (widget), "none");
  return widget;
}

/* (nullable): of the value that is selected, or that the selected node gives first */
static const char *
selected_name (IrSession *session)
{
  const IrFrame *frame = ir_session_get_frame (session);
  const IrNode *node;
  const IrValue *value;

  if (frame == NULL)
    return NULL;
  node = ir_frame_node (frame, ir_session_get_selected_node (session));
  value = ir_frame_value (frame, ir_session_get_selected_value (session));
  if (value == NULL)
    value = ir_session_get_body_value (session, ir_session_get_selected_value (session), NULL);
  if (value == NULL && node != NULL)
    value = ir_node_output (node, 0);
  return value != NULL ? value->name : NULL;
}

static gboolean
is_listed (const char *text, const char *name)
{
  g_auto (GStrv) names = g_strsplit (text, ",", -1);

  for (guint i = 0; names[i] != NULL; i++)
    if (strcmp (g_strstrip (names[i]), name) == 0)
      return TRUE;
  return FALSE;
}

static void
on_add_selected (GtkButton *button, GtkEditable *entry)
{
  const char *name = g_object_get_data (G_OBJECT (button), "name"),
             *text = gtk_editable_get_text (entry);
  g_autofree char *more = NULL;

  if (is_listed (text, name))
    return;
  more = text[0] != '\0' ? g_strdup_printf ("%s, %s", text, name) : g_strdup (name);
  gtk_editable_set_text (entry, more);
}

/* What is selected stays so while the window, which is modal, is there. */
static GtkWidget *
add_selected_button (IrSession *session, GtkWidget *entry)
{
  const char *name = selected_name (session);
  GtkWidget *button = gtk_button_new_from_icon_name ("list-add-symbolic");
  g_autofree char *tip = name != NULL
                             ? g_strdup_printf ("Add %s, which is selected", name)
                             : g_strdup ("Adds the value that is selected: there is none now");

  gtk_widget_set_tooltip_text (button, tip);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Add what is selected", -1);
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_set_sensitive (button, name != NULL);
  g_object_set_data_full (G_OBJECT (button), "name", g_strdup (name), g_free);
  g_signal_connect_object (button, "clicked", G_CALLBACK (on_add_selected), entry, 0);
  return button;
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
  [KIND_VALUES] = { values_widget, "changed", G_CALLBACK (on_values) },
};

static GtkWidget *
row_new (const Row *row, IrSession *session)
{
  GtkWidget *widget = adw_action_row_new (), *control;
  g_autofree char *text = ir_state_get_string (row->key, row->fallback);
  Setter *setter = g_new0 (Setter, 1);

  setter->row = row;
  setter->widget = widget;
  setter->session = g_object_ref (session);
  control = kinds[row->kind].make (row, text);
  gtk_widget_set_valign (control, GTK_ALIGN_CENTER);
  if (row->subtitle != NULL)
    gtk_accessible_update_property (GTK_ACCESSIBLE (control), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                    row->subtitle, -1);
  g_signal_connect_data (control, kinds[row->kind].signal, kinds[row->kind].changed, setter,
                         setter_free, 0);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (widget), row->title);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (widget), row->subtitle);
  adw_action_row_add_suffix (ADW_ACTION_ROW (widget), control);
  if (row->kind == KIND_VALUES)
    adw_action_row_add_suffix (ADW_ACTION_ROW (widget), add_selected_button (session, control));
  g_object_set_data (G_OBJECT (widget), "only-with", (gpointer) row->only_with);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (widget), control); /* and names it */
  return widget;
}

/* Shows how graphs are run; changes take effect with the next run, and are kept. */
void
ir_run_options_present (GtkWindow *parent, IrSession *session)
{
  GtkWidget *window = adw_preferences_window_new (), *page = adw_preferences_page_new (),
            *group = NULL, *widgets[G_N_ELEMENTS (rows)];

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      if (rows[i].group != NULL)
        {
          group = adw_preferences_group_new ();
          adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), rows[i].group);
          adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (group));
        }
      widgets[i] = row_new (&rows[i], session);
      adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), widgets[i]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (rows[i].kind == KIND_CHOICE)
      {
        g_autofree char *text = ir_state_get_string (rows[i].key, rows[i].fallback);
        const Choice *choice = &rows[i].choices[choice_index (rows[i].choices, text)];

        show_choice (widgets[i], &rows[i], choice->name != NULL ? choice : rows[i].choices);
      }
  adw_preferences_window_add (ADW_PREFERENCES_WINDOW (window), ADW_PREFERENCES_PAGE (page));
  adw_preferences_window_set_search_enabled (ADW_PREFERENCES_WINDOW (window), FALSE);
  gtk_window_set_title (GTK_WINDOW (window), "Run Options");
  gtk_window_set_default_size (GTK_WINDOW (window), 600, 680);
  gtk_window_set_transient_for (GTK_WINDOW (window), parent);
  gtk_window_set_modal (GTK_WINDOW (window), TRUE);
  gtk_window_present (GTK_WINDOW (window));
}
