#include "config.h"

#include "views/training/form.h"

#include "core/grad/loss.h"
#include "views/entry-row.h"
#include "views/name.h"
#include "views/spin.h"

#include <math.h>
#include <string.h>

#define WIDTH      264 /* px */
#define MAX_BATCH  65536
#define MAX_EPOCHS 100000

static const char *const optimizers[] = { "adam",     "adamw",   "sgd", "momentum",
                                          "nesterov", "adagrad", NULL };

/* What is seldom told: as the options of irscope train, empty: without. */
static const struct
{
  const char *title, *tip;
  gsize field;         /* of IrTrainingWish; or */
  const char *setting; /* (nullable) of a pass */
} more_rows[] = {
#define FIELD(name) G_STRUCT_OFFSET (IrTrainingWish, name), NULL
  { "Rate over time",
    "constant, cosine or step:EPOCHS:FACTOR; a warm-up before it as warm-up:100,cosine",
    FIELD (schedule) },
  { "Momentum", "Of sgd: what stays of the velocity", 0, "optimizer.momentum" },
  { "Betas", "Of adam and adamw: what stays of mean and mean square; 0.9,0.999 without", 0,
    "optimizer.betas" },
  { "Epsilon", "Added to the root that is divided by; 1e-8 without, adagrad 1e-10", 0,
    "optimizer.epsilon" },
  { "Weight decay", "How much parameters shrink; 0 without, adamw 0.01", 0,
    "optimizer.weight-decay" },
  { "Longest derivative", "Derivatives whose norm, all together, is longer are shortened to it", 0,
    "optimizer.clip" },
  { "Loss scale", "Derivatives are multiplied by that, so that small ones do not vanish in float16",
    FIELD (loss_scale) },
  { "Frozen", "Initializers that stay as they are: patterns of names, with commas between",
    FIELD (freeze) },
  { "Held constant", "Values that nothing comes back through, with commas between", 0,
    "gradient.stop" },
  { "Compared value",
    "What the loss compares with the targets; without: the only floating-point output",
    FIELD (of) },
  { "Memory budget",
    "Most memory of the values between nodes, in bytes or as a share (20M, 50%): values are dropped and "
    "computed again, with the same results",
    FIELD (budget) },
#undef FIELD
};

struct _IrTrainingForm
{
  GtkWidget parent;
  GtkWidget *scroller, *box, *data, *target, *loss, *optimizer, *rate, *batch, *epochs, *validate,
      *seed, *path, *go_on, *deterministic, *more[G_N_ELEMENTS (more_rows)];
  GPtrArray *inputs; /* of char *: names, as the rows of @data */
  GPtrArray *rows;   /* of GtkWidget: likewise */
  GStrv losses;
  gboolean rate_typed; /* and not entered yet */
};

G_DEFINE_FINAL_TYPE (IrTrainingForm, ir_training_form, GTK_TYPE_WIDGET)

enum
{
  CHANGED,
  RATE,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

static void
on_changed (IrTrainingForm *self)
{
  g_signal_emit (self, signals[CHANGED], 0);
}

/* -- files -- */

static void
on_chosen (GtkNativeDialog *chooser, int response, GtkEditable *entry)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (chooser))
                               : NULL;
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;

  if (path != NULL)
    gtk_editable_set_text (entry, path);
  g_object_unref (chooser);
}

static void
on_browse (GtkWidget *button, GtkWidget *row)
{
  const gboolean saves = g_object_get_data (G_OBJECT (row), "saves") != NULL;
  GtkFileChooserNative *chooser = gtk_file_chooser_native_new (
      adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row)),
      GTK_WINDOW (gtk_widget_get_root (button)),
      saves ? GTK_FILE_CHOOSER_ACTION_SAVE : GTK_FILE_CHOOSER_ACTION_OPEN,
      saves ? "Write There" : "Take", NULL);

  if (saves)
    gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (chooser), "trained.onnx");
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (chooser), TRUE);
  g_signal_connect_object (chooser, "response", G_CALLBACK (on_chosen), ir_entry_row_entry (row),
                           0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

static GtkWidget *
file_row (IrTrainingForm *self, GtkWidget *list, const char *title, const char *tip)
{
  GtkWidget *row = ir_entry_row_new (title, NULL),
            *button = gtk_button_new_from_icon_name ("document-open-symbolic");
  g_autofree char *name = g_strdup_printf ("Choose a file: %s", title);

  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_tooltip_text (button, name);
  ir_name (button, name);
  gtk_widget_set_tooltip_text (GTK_WIDGET (ir_entry_row_entry (row)), tip);
  g_signal_connect (button, "clicked", G_CALLBACK (on_browse), row);
  g_signal_connect_object (ir_entry_row_entry (row), "changed", G_CALLBACK (on_changed), self,
                           G_CONNECT_SWAPPED);
  ir_entry_row_add_button (row, button);
  gtk_list_box_append (GTK_LIST_BOX (list), row);
  return row;
}

static const char *
text_of (GtkWidget *row)
{
  return gtk_editable_get_text (GTK_EDITABLE (ir_entry_row_entry (row)));
}

/* -- what the graph has -- */

static gboolean
has_inputs (IrTrainingForm *self, const GPtrArray *names)
{
  if (names->len != self->inputs->len)
    return FALSE;
  for (guint i = 0; i < names->len; i++)
    if (strcmp (names->pdata[i], self->inputs->pdata[i]) != 0)
      return FALSE;
  return TRUE;
}

static void
show_inputs (IrTrainingForm *self, const IrModel *model)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; model != NULL && i < ir_graph_n_inputs (model->main); i++)
    if (ir_graph_input (model->main, i)->initializer == NULL)
      g_ptr_array_add (names, g_strdup (ir_graph_input (model->main, i)->name));
  if (has_inputs (self, names))
    return;
  for (guint i = 0; i < self->rows->len; i++)
    gtk_list_box_remove (GTK_LIST_BOX (self->data), self->rows->pdata[i]);
  g_ptr_array_set_size (self->rows, 0);
  for (guint i = 0; i < names->len; i++)
    {
      g_autofree char *title = g_strdup_printf ("Samples of %s", (const char *) names->pdata[i]);
      g_ptr_array_add (self->rows, file_row (self, self->data, title,
                                             "A .npy or .pb file with a sample per row"));
    }
  g_ptr_array_unref (self->inputs);
  self->inputs = g_steal_pointer (&names);
}

/* Kinds, and values of the graph that can be the loss. */
static void
show_losses (IrTrainingForm *self, const IrModel *model)
{
  g_auto (GStrv) kinds = g_strsplit (ir_loss_names (), ", ", -1);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) losses = NULL;

  g_strv_builder_addv (builder, (const char **) kinds);
  for (guint i = 0; model != NULL && i < ir_graph_n_outputs (model->main); i++)
    {
      const IrValue *output = ir_graph_output (model->main, i);
      if (ir_dtype_is_float (ir_value_dtype (output)) && ir_value_rank (output) == 0)
        g_strv_builder_add (builder, output->name);
    }
  losses = g_strv_builder_end (builder);
  if (self->losses != NULL &&
      g_strv_equal ((const char *const *) losses, (const char *const *) self->losses))
    return;
  g_autoptr (GtkStringList) list = gtk_string_list_new ((const char *const *) losses);
  gtk_drop_down_set_model (GTK_DROP_DOWN (self->loss), G_LIST_MODEL (list));
  g_strfreev (self->losses);
  self->losses = g_steal_pointer (&losses);
}

void
ir_training_form_set (IrTrainingForm *self, const IrModel *model)
{
  show_inputs (self, model);
  show_losses (self, model);
}

/* -- what is asked for -- */

static gboolean
add_data (IrTrainingForm *self, GStrvBuilder *data, char **why)
{
  for (guint i = 0; i < self->rows->len; i++)
    {
      g_autofree char *one = g_strdup_printf ("%s=%s", (const char *) self->inputs->pdata[i],
                                              text_of (self->rows->pdata[i]));
      if (*text_of (self->rows->pdata[i]) == '\0')
        {
          *why = g_strdup_printf ("Choose the file with the samples of %s.",
                                  (const char *) self->inputs->pdata[i]);
          return FALSE;
        }
      g_strv_builder_add (data, one);
    }
  return TRUE;
}

/* What is told of the seldom */
static void
add_more (IrTrainingForm *self, IrTrainingWish *wish)
{
  g_autoptr (GStrvBuilder) settings = g_strv_builder_new ();

  for (guint i = 0; i < G_N_ELEMENTS (more_rows); i++)
    {
      g_autofree char *text = g_strstrip (g_strdup (text_of (self->more[i])));
      if (*text == '\0')
        continue;
      if (more_rows[i].setting == NULL)
        *(char **) G_STRUCT_MEMBER_P (wish, more_rows[i].field) = g_steal_pointer (&text);
      else
        {
          g_autofree char *setting = g_strconcat (more_rows[i].setting, "=", text, NULL);
          g_strv_builder_add (settings, setting);
        }
    }
  wish->settings = g_strv_builder_end (settings);
  wish->deterministic = gtk_check_button_get_active (GTK_CHECK_BUTTON (self->deterministic));
}

gboolean
ir_training_form_get (IrTrainingForm *self, IrTrainingWish *wish, char **why)
{
  g_autoptr (GStrvBuilder) data = g_strv_builder_new ();
  const char *loss = self->losses[gtk_drop_down_get_selected (GTK_DROP_DOWN (self->loss))];
  char *end;
  const double rate = g_ascii_strtod (text_of (self->rate), &end);

  if (!add_data (self, data, why))
    return FALSE;
  if (ir_loss_find (loss) != NULL && *text_of (self->target) == '\0')
    *why = g_strdup_printf ("Choose the file with the targets, which %s compares with.", loss);
  else if (*text_of (self->rate) == '\0' || *end != '\0' || !isfinite (rate) || rate < 0)
    *why = g_strdup ("The rate is a number, 0 or more.");
  else if (!g_str_has_suffix (text_of (self->path), ".onnx"))
    *why = g_strdup ("The trained network is written as .onnx.");
  if (*why != NULL)
    return FALSE;
  *wish = (IrTrainingWish){
    .data = g_strv_builder_end (data),
    .target = g_strdup (text_of (self->target)),
    .loss = g_strdup (loss),
    .optimizer = g_strdup (
        optimizers[gtk_drop_down_get_selected (GTK_DROP_DOWN (self->optimizer))]),
    .rate = g_strdup (text_of (self->rate)),
    .validate = g_strdup (text_of (self->validate)),
    .batch = (guint64) gtk_spin_button_get_value (GTK_SPIN_BUTTON (self->batch)),
    .epochs = (guint64) gtk_spin_button_get_value (GTK_SPIN_BUTTON (self->epochs)),
    .seed = (guint64) gtk_spin_button_get_value (GTK_SPIN_BUTTON (self->seed)),
    .path = g_strdup (text_of (self->path)),
    .go_on = gtk_check_button_get_active (GTK_CHECK_BUTTON (self->go_on)),
  };
  add_more (self, wish);
  return TRUE;
}

/* What has the focus gives it up before it cannot have it any more. */
void
ir_training_form_enable (IrTrainingForm *self, gboolean idle)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  GtkWidget *focus = root != NULL && !idle ? gtk_root_get_focus (root) : NULL;

  if (focus != NULL && gtk_widget_is_ancestor (focus, self->box) &&
      !gtk_widget_is_ancestor (focus, self->rate))
    gtk_root_set_focus (root, NULL);
  for (GtkWidget *child = gtk_widget_get_first_child (self->box); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    gtk_widget_set_sensitive (child, idle || child == gtk_widget_get_parent (self->rate));
}

/* -- building -- */

/* Enter, or the focus goes elsewhere: on the way to 1e-4 there is a 1, which no step should take. */
static void
on_rate (IrTrainingForm *self)
{
  char *end;
  const double rate = g_ascii_strtod (text_of (self->rate), &end);

  if (self->rate_typed && *text_of (self->rate) != '\0' && *end == '\0' && isfinite (rate) &&
      rate >= 0)
    g_signal_emit (self, signals[RATE], 0, rate);
  self->rate_typed = FALSE;
}

static void
on_rate_typed (IrTrainingForm *self)
{
  self->rate_typed = TRUE;
  on_changed (self);
}

static void
watch_rate (IrTrainingForm *self)
{
  GtkEntry *entry = ir_entry_row_entry (self->rate);
  GtkEventController *focus = gtk_event_controller_focus_new ();

  g_signal_connect_object (entry, "changed", G_CALLBACK (on_rate_typed), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (entry, "activate", G_CALLBACK (on_rate), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (focus, "leave", G_CALLBACK (on_rate), self, G_CONNECT_SWAPPED);
  gtk_widget_add_controller (GTK_WIDGET (entry), focus);
}

static GtkWidget *
make_list (IrTrainingForm *self)
{
  GtkWidget *list = gtk_list_box_new ();

  gtk_list_box_set_selection_mode (GTK_LIST_BOX (list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class (list, "boxed-list");
  gtk_box_append (GTK_BOX (self->box), list);
  return list;
}

static GtkWidget *
text_row (GtkWidget *list, const char *title, const char *text, const char *tip)
{
  GtkWidget *row = ir_entry_row_new (title, text);

  gtk_widget_set_tooltip_text (GTK_WIDGET (ir_entry_row_entry (row)), tip);
  gtk_list_box_append (GTK_LIST_BOX (list), row);
  return row;
}

static void
add_action (GtkWidget *list, const char *title, GtkWidget *suffix)
{
  GtkWidget *row = adw_action_row_new ();

  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  gtk_widget_set_valign (suffix, GTK_ALIGN_CENTER);
  ir_name (suffix, title);
  gtk_widget_set_focusable (row, FALSE);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), suffix);
  gtk_list_box_append (GTK_LIST_BOX (list), row);
}

static GtkWidget *
spin_row (
    GtkWidget *list, const char *title, const char *tip, double least, double most, double value)
{
  GtkWidget *spin = ir_spin_new (least, most);

  gtk_spin_button_set_value (GTK_SPIN_BUTTON (spin), value);
  gtk_editable_set_width_chars (GTK_EDITABLE (spin), 4);
  gtk_widget_set_tooltip_text (spin, tip);
  add_action (list, title, spin);
  return spin;
}

static GtkWidget *
check_row (GtkWidget *list, const char *title, const char *tip)
{
  GtkWidget *check = gtk_check_button_new ();

  gtk_widget_set_tooltip_text (check, tip);
  add_action (list, title, check);
  return check;
}

static void
fill_more (IrTrainingForm *self)
{
  GtkWidget *list = make_list (self), *expander = adw_expander_row_new ();

  self->deterministic = check_row (list, "Same bits on any number of threads", "Costs some speed");
  ir_name (expander, "More options");
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (expander), "More");
  adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (expander),
                                 "Schedule, decay, clipping, freezing, memory");
  gtk_list_box_append (GTK_LIST_BOX (list), expander);
  for (guint i = 0; i < G_N_ELEMENTS (more_rows); i++)
    {
      self->more[i] = ir_entry_row_new (more_rows[i].title, NULL);
      gtk_widget_set_tooltip_text (GTK_WIDGET (ir_entry_row_entry (self->more[i])),
                                   more_rows[i].tip);
      adw_expander_row_add_row (ADW_EXPANDER_ROW (expander), self->more[i]);
    }
}

static char *
default_path (void)
{
  g_autofree char *folder = g_build_filename (g_get_user_cache_dir (), "irscope", NULL);

  g_mkdir_with_parents (folder, 0700);
  return g_build_filename (folder, "trained.onnx", NULL);
}

static void
fill (IrTrainingForm *self)
{
  static const char *const none[] = { NULL };
  GtkWidget *list;
  g_autofree char *path = default_path ();

  self->data = make_list (self);
  list = make_list (self);
  self->target = file_row (self, list, "Targets", "What the network should answer to each sample");
  self->loss = gtk_drop_down_new_from_strings (none);
  add_action (list, "Loss", self->loss);
  self->validate = text_row (list, "Held out", "20%",
                             "The last samples, a share or a number: they are not trained on");
  list = make_list (self);
  self->rate = text_row (
      list, "Learning rate", "0.003",
      "It may be changed while the training runs: Enter, or leaving it, sets it");
  watch_rate (self);
  list = make_list (self);
  self->optimizer = gtk_drop_down_new_from_strings (optimizers);
  add_action (list, "Optimizer", self->optimizer);
  self->batch = spin_row (list, "Batch", "Samples of a step", 1, MAX_BATCH, 32);
  self->epochs = spin_row (list, "Epochs", "How often all samples are gone through", 1, MAX_EPOCHS,
                           5);
  self->seed = spin_row (list, "Seed", "Of the order of samples and of Dropout", 0, 1000000, 0);
  list = make_list (self);
  self->path = file_row (self, list, "Written to", "The trained network, after each epoch");
  g_object_set_data (G_OBJECT (self->path), "saves", GINT_TO_POINTER (TRUE));
  gtk_editable_set_text (GTK_EDITABLE (ir_entry_row_entry (self->path)), path);
  self->go_on = check_row (
      list, "Go on from there",
      "With the weights and states of that file; the same bits follow as without a break");
  fill_more (self);
}

static void
ir_training_form_dispose (GObject *object)
{
  IrTrainingForm *self = IR_TRAINING_FORM (object);

  g_clear_pointer (&self->scroller, gtk_widget_unparent);
  g_clear_pointer (&self->inputs, g_ptr_array_unref);
  g_clear_pointer (&self->rows, g_ptr_array_unref);
  g_clear_pointer (&self->losses, g_strfreev);
  G_OBJECT_CLASS (ir_training_form_parent_class)->dispose (object);
}

static void
ir_training_form_class_init (IrTrainingFormClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_training_form_dispose;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  signals[CHANGED] = g_signal_new ("changed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL,
                                   NULL, NULL, G_TYPE_NONE, 0);
  signals[RATE] = g_signal_new ("rate", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                NULL, G_TYPE_NONE, 1, G_TYPE_DOUBLE);
}

static void
ir_training_form_init (IrTrainingForm *self)
{
  self->inputs = g_ptr_array_new_with_free_func (g_free);
  self->rows = g_ptr_array_new ();
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  gtk_widget_set_margin_start (self->box, 12);
  gtk_widget_set_margin_end (self->box, 12);
  gtk_widget_set_margin_top (self->box, 6);
  gtk_widget_set_margin_bottom (self->box, 12);
  fill (self);
  self->scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (self->scroller), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->box);
  gtk_widget_set_size_request (self->scroller, WIDTH, -1);
  gtk_widget_set_vexpand (self->scroller, TRUE);
  gtk_widget_set_parent (self->scroller, GTK_WIDGET (self));
}

GtkWidget *
ir_training_form_new (void)
{
  return g_object_new (IR_TYPE_TRAINING_FORM, NULL);
}
