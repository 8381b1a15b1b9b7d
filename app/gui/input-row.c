/* A row that opens: random numbers, a file, a picture or typed numbers, in the words that `irscope run`
 * takes for --fill, --input, --image and --value. */
#include "config.h"

#include "app/gui/input-row.h"

#include "core/exec/eval/given.h"
#include "core/exec/eval/picture.h"
#include "core/io/io.h"
#include "views/entry-row.h"
#include "views/name.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"

#include <string.h>

#define PAUSE_MS     250 /* what is typed is taken then */
#define PREVIEW_SIDE 128 /* px */

typedef enum
{
  RANDOM,
  FILE_KIND,
  PICTURE,
  NUMBERS,
  N_KINDS
} Kind;

static const struct
{
  const char *title, *name;
} kinds[N_KINDS] = {
  [RANDOM] = { "Random", IR_INPUT_FILL },
  [FILE_KIND] = { "File", "file" },
  [PICTURE] = { "Picture", "picture" },
  [NUMBERS] = { "Numbers", "numbers" },
};

/* What can be set of a kind, behind its first word. */
typedef struct
{
  Kind kind;
  const char *key, *title;
  const char *values[6]; /* (nullable) one of these; else what is typed */
  const char *titles[6];
} Setting;

static const Setting settings[] = {
  { RANDOM, "mean", "Mean (normal)" },
  { RANDOM, "std", "Standard deviation (normal)" },
  { RANDOM, "low", "Lowest (uniform)" },
  { RANDOM, "high", "Highest (uniform)" },
  { RANDOM, "seed", "Seed; without one, that of all inputs" },
  { PICTURE,
    "fit",
    "Fit",
    { "", "crop", "stretch", "pad" },
    { "By the preset", "Crop the middle", "Stretch", "With a rim" } },
  { PICTURE,
    "layout",
    "Layout",
    { "", "nchw", "nhwc" },
    { "By the type of the input", "Channels first (NCHW)", "Channels last (NHWC)" } },
  { PICTURE,
    "channels",
    "Channels",
    { "", "rgb", "bgr", "gray" },
    { "By the preset", "RGB", "BGR", "Gray" } },
  { PICTURE, "invert", "Dark on light", { "", "yes" }, { "As it is", "Inverted" } },
  { PICTURE, "mean", "Mean, one or three: 0.5 or 0.485:0.456:0.406" },
  { PICTURE, "std", "Standard deviation, likewise" },
  { PICTURE, "scale", "Scale of the bytes before that, such as 1/255" },
  { PICTURE, "size", "Width x height, where the input leaves them open" },
};

static const char *const fills[] = { "suitable", "normal", "uniform", "zeros", "ones", NULL };
static const char *const fill_titles[] = {
  "What its uses ask for", "Normal", "Uniform", "Zeros", "Ones", NULL
};
static const char *const default_titles[] = {
  "What the model holds", "Normal", "Uniform", "Zeros", "Ones", NULL
};

typedef struct
{
  IrSession *session; /* referenced */
  GtkWindow *window;
  AdwExpanderRow *row;
  GtkDropDown *kind;
  GPtrArray *parts; /* of GtkWidget: rows below */
  GtkWidget *first; /* a GtkEditable or AdwComboRow: path, numbers, distribution */
  GtkWidget *chosen[G_N_ELEMENTS (settings)]; /* of settings; NULL: of another kind */
  GtkPicture *preview;
  IrValueId input;
  gboolean has_default; /* what the model holds stands in the place of random numbers */
  guint timeout;
  gboolean updating;
  char *failure; /* (nullable) why it cannot be what is said */
} InputRow;

static void
input_row_free (gpointer data)
{
  InputRow *self = data;

  g_clear_handle_id (&self->timeout, g_source_remove);
  g_clear_object (&self->session);
  g_ptr_array_unref (self->parts);
  g_free (self->failure);
  g_free (self);
}

static const IrValue *
value_of (InputRow *self)
{
  const IrFrame *frame = ir_session_get_frame (self->session);

  return frame != NULL ? ir_model_live_value (frame->before, self->input) : NULL;
}

/* -- what it holds -- */

/* (transfer full) (nullable): the name of the file that it was read from */
static char *
file_name_of (const IrInputWords *words)
{
  const char *settings_behind;
  g_autofree char *path = words == NULL || strcmp (words->kind, kinds[PICTURE].name) != 0
                              ? NULL
                              : ir_picture_path (words->text, &settings_behind);

  if (path == NULL && words != NULL && strcmp (words->kind, kinds[FILE_KIND].name) == 0)
    path = g_strdup (words->text);
  return path != NULL ? g_path_get_basename (path) : NULL;
}

static char *
tensor_text (const IrTensor *tensor, const char *file)
{
  g_autofree char *numbers = ir_tensor_to_string (tensor, 4),
                  *head = file != NULL ? g_strdup_printf ("%s · %s", file, numbers)
                                       : g_steal_pointer (&numbers);

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

/* The channels as the network sees them, from the lowest value to the highest. (transfer full)
 * (nullable): it is no picture */
static GdkTexture *
preview_of (const IrTensor *tensor)
{
  const gint64 *dims = ir_tensor_dims (tensor);
  const guint rank = ir_tensor_rank (tensor), at = rank == 4 ? 1 : 0;
  const gboolean last = rank > 2 && dims[at] != 3 && dims[at] != 1;
  const gint64 n_channels = rank == 2 ? 1 : dims[last ? rank - 1 : at];
  const gint64 height = dims[rank == 2 || last ? at : at + 1];
  const gint64 width = dims[(rank == 2 || last ? at : at + 1) + 1], n = width * height;
  double low = G_MAXDOUBLE, high = -G_MAXDOUBLE;
  guint8 *bytes;

  for (gint64 i = 0; i < n * n_channels; i++)
    {
      const double number = ir_tensor_get_double (tensor, (guint64) i);

      low = MIN (low, number);
      high = MAX (high, number);
    }
  bytes = g_malloc ((gsize) n * 3);
  for (gint64 i = 0; i < n; i++)
    for (gint64 c = 0; c < 3; c++)
      {
        const gint64 channel = MIN (c, n_channels - 1);
        const double number = ir_tensor_get_double (
            tensor, (guint64) (last ? i * n_channels + channel : channel * n + i));

        bytes[i * 3 + c] = high > low ? (guint8) ((number - low) / (high - low) * 255) : 0;
      }
  g_autoptr (GBytes) pixels = g_bytes_new_take (bytes, (gsize) n * 3);
  return gdk_memory_texture_new ((int) width, (int) height, GDK_MEMORY_R8G8B8, pixels,
                                 (gsize) width * 3);
}

static void
update_preview (InputRow *self, const IrTensor *given)
{
  g_autoptr (GdkTexture) texture = NULL;

  if (self->preview == NULL)
    return;
  if (given != NULL && self->failure == NULL && !ir_tensor_is_container (given) &&
      ir_tensor_rank (given) >= 2 && ir_tensor_rank (given) <= 4)
    texture = preview_of (given);
  gtk_picture_set_paintable (self->preview, GDK_PAINTABLE (texture));
  gtk_widget_set_visible (GTK_WIDGET (self->preview), texture != NULL);
}

static void
update (InputRow *self)
{
  const IrValue *value = value_of (self);
  const IrTensor *given = g_hash_table_lookup (ir_session_get_inputs (self->session),
                                               GUINT_TO_POINTER (self->input));
  const IrInputWords *words = ir_session_input_words (self->session, self->input);
  g_autofree char *text = NULL;

  if (value == NULL)
    return;
  if (self->failure != NULL)
    text = g_strdup (self->failure);
  else if (given != NULL)
    {
      g_autofree char *file = file_name_of (words);

      text = tensor_text (given, file);
    }
  else if (words == NULL && value->initializer != NULL)
    text = tensor_text (value->initializer, "by default");
  else
    {
      g_autofree char *type = value->type != NULL
                                  ? ir_type_to_string (value->graph->model->context, value->type)
                                  : g_strdup ("unknown type");

      text = g_strdup_printf ("%s · %s", type, words != NULL ? words->text : "random");
    }
  adw_expander_row_set_subtitle (self->row, text);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->row), self->failure != NULL ? text : NULL);
  if (self->failure != NULL)
    gtk_widget_add_css_class (GTK_WIDGET (self->row), "error");
  else
    gtk_widget_remove_css_class (GTK_WIDGET (self->row), "error");
  update_preview (self, given);
}

/* -- saying it -- */

static const char *
said (GtkWidget *widget, const char *const *values)
{
  if (ADW_IS_COMBO_ROW (widget))
    return values[adw_combo_row_get_selected (ADW_COMBO_ROW (widget))];
  return gtk_editable_get_text (GTK_EDITABLE (widget));
}

/* (transfer full): as the option of the command line has it */
static char *
words_of (InputRow *self)
{
  GString *text = g_string_new (said (self->first, fills));

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
    {
      const char *word = self->chosen[i] != NULL
                             ? said (self->chosen[i], (const char *const *) settings[i].values)
                             : "";

      if (word[0] != '\0' && gtk_widget_get_visible (self->chosen[i]))
        g_string_append_printf (text, ",%s=%s", settings[i].key, word);
    }
  if (self->preview != NULL)
    {
      guint n;
      const IrPicturePreset *presets = ir_picture_presets (&n);
      GtkWidget *combo = g_object_get_data (G_OBJECT (self->preview), "preset");

      g_string_append_printf (text, ",preset=%s",
                              presets[adw_combo_row_get_selected (ADW_COMBO_ROW (combo))].name);
    }
  return g_string_free (text, FALSE);
}

static gboolean
take (gpointer data)
{
  InputRow *self = data;
  const Kind kind = gtk_drop_down_get_selected (self->kind);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = words_of (self);

  self->timeout = 0;
  g_clear_pointer (&self->failure, g_free);
  self->updating = TRUE;
  if (kind == RANDOM && strcmp (text, "suitable") == 0)
    ir_session_set_input (self->session, self->input, NULL);
  else if (text[0] != '\0' && text[0] != ',' &&
           !ir_session_give_input (self->session, self->input, kinds[kind].name, text, &error))
    self->failure = g_strdup (error != NULL ? error->message : "It cannot be read");
  self->updating = FALSE;
  update (self);
  return G_SOURCE_REMOVE;
}

/* Settings of another distribution mean nothing. */
static void
show_settings_of_fill (InputRow *self)
{
  const char *fill = said (self->first, fills);

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
    if (settings[i].kind == RANDOM && self->chosen[i] != NULL)
      {
        const char *key = settings[i].key;
        GtkWidget *row = gtk_widget_get_ancestor (self->chosen[i], GTK_TYPE_LIST_BOX_ROW);
        const gboolean normal = strcmp (fill, "normal") == 0;
        const gboolean uniform = strcmp (fill, "uniform") == 0;
        const gboolean shown = strcmp (key, "mean") == 0 || strcmp (key, "std") == 0   ? normal
                               : strcmp (key, "low") == 0 || strcmp (key, "high") == 0 ? uniform
                                                                                       : TRUE;

        gtk_widget_set_visible (row, shown);
        gtk_widget_set_visible (self->chosen[i], shown);
      }
}

static void
on_said (InputRow *self)
{
  if (self->updating)
    return;
  if (gtk_drop_down_get_selected (self->kind) == RANDOM)
    show_settings_of_fill (self);
  g_clear_handle_id (&self->timeout, g_source_remove);
  self->timeout = g_timeout_add (PAUSE_MS, take, self);
}

/* -- the rows below -- */

/* What @text says of @key; (transfer full) (nullable) */
static char *
setting_in (const char *text, const char *key)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  const gsize length = strlen (key);

  for (guint i = 0; parts[i] != NULL; i++)
    if (strncmp (parts[i], key, length) == 0 && parts[i][length] == '=')
      return g_strdup (parts[i] + length + 1);
  return NULL;
}

static void
add_part (InputRow *self, GtkWidget *row)
{
  adw_expander_row_add_row (self->row, row);
  g_ptr_array_add (self->parts, row);
}

static GtkWidget *
add_combo (InputRow *self, const char *title, const char *const *titles, guint selected)
{
  GtkWidget *row = adw_combo_row_new ();
  g_autoptr (GtkStringList) list = gtk_string_list_new (titles);

  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  adw_combo_row_set_model (ADW_COMBO_ROW (row), G_LIST_MODEL (list));
  adw_combo_row_set_selected (ADW_COMBO_ROW (row), selected);
  g_signal_connect_swapped (row, "notify::selected", G_CALLBACK (on_said), self);
  add_part (self, row);
  return row;
}

static GtkWidget *
add_entry (InputRow *self, const char *title, const char *text)
{
  GtkWidget *row = ir_entry_row_new (title, text);
  GtkWidget *entry = GTK_WIDGET (ir_entry_row_entry (row));
  g_autofree char *label = g_strdup_printf (
      "%s: %s", adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self->row)), title);

  gtk_accessible_update_property (GTK_ACCESSIBLE (entry), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  gtk_entry_set_activates_default (GTK_ENTRY (entry), TRUE); /* Enter runs */
  g_signal_connect_swapped (entry, "changed", G_CALLBACK (on_said), self);
  add_part (self, row);
  return entry;
}

static guint
index_of (const char *const *words, const char *word)
{
  for (guint i = 0; word != NULL && words[i] != NULL; i++)
    if (strcmp (words[i], word) == 0)
      return i;
  return 0;
}

static void
add_settings (InputRow *self, Kind kind, const char *text)
{
  for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
    {
      const Setting *setting = &settings[i];
      g_autofree char *word = setting->kind == kind ? setting_in (text, setting->key) : NULL;

      if (setting->kind != kind)
        continue;
      self->chosen[i] = setting->titles[0] != NULL
                            ? add_combo (self, setting->title,
                                         (const char *const *) setting->titles,
                                         index_of ((const char *const *) setting->values, word))
                            : add_entry (self, setting->title, word);
    }
}

/* -- files -- */

/* All inputs that an archive has an array for get it; else this one gets the file. */
static gboolean
give_archive (InputRow *self, const char *path)
{
  const IrValue *value = value_of (self);
  g_autoptr (GPtrArray) arrays = value != NULL && g_str_has_suffix (path, ".npz")
                                     ? ir_given_arrays (value->graph->model, path, NULL)
                                     : NULL;
  gboolean has_own = FALSE;

  for (guint i = 0; arrays != NULL && arrays->len > 1 && i < arrays->len; i++)
    {
      const IrNamedTensor *array = arrays->pdata[i];
      const IrValue *input = ir_graph_find_value (value->graph, array->name);
      g_autofree char *text = g_strdup_printf ("%s:%s", path, array->name);

      if (input == value)
        has_own = TRUE;
      else
        ir_session_give_input (self->session, input->id, "file", text, NULL);
    }
  return has_own;
}

static void
on_chosen (GtkNativeDialog *dialog, int response, GtkWidget *row)
{
  InputRow *self = g_object_get_data (G_OBJECT (row), "input");
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog))
                               : NULL;
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;

  g_object_unref (dialog);
  if (path == NULL || !GTK_IS_EDITABLE (self->first))
    return;
  if (gtk_drop_down_get_selected (self->kind) == FILE_KIND && give_archive (self, path))
    {
      g_autofree char *text = g_strdup_printf (
          "%s:%s", path, adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self->row)));

      gtk_editable_set_text (GTK_EDITABLE (self->first), text);
    }
  else
    gtk_editable_set_text (GTK_EDITABLE (self->first), path);
}

static GtkFileFilter *
filter_of (Kind kind)
{
  static const char *const tensors[] = { "npy", "npz", "pb", NULL };
  GtkFileFilter *filter = gtk_file_filter_new ();

  gtk_file_filter_set_name (filter, kind == PICTURE ? "Pictures" : "Tensors (.npy, .npz, .pb)");
  if (kind == PICTURE)
    gtk_file_filter_add_mime_type (filter, "image/*");
  for (guint i = 0; kind != PICTURE && tensors[i] != NULL; i++)
    gtk_file_filter_add_suffix (filter, tensors[i]);
  return filter;
}

static void
choose (InputRow *self)
{
  const Kind kind = gtk_drop_down_get_selected (self->kind);
  g_autoptr (GtkFileFilter) filter = filter_of (kind);
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      kind == PICTURE ? "Open a Picture" : "Open a Tensor", self->window,
      GTK_FILE_CHOOSER_ACTION_OPEN, "_Open", "_Cancel");

  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (dialog), filter);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  if (ir_session_get_path (self->session) != NULL)
    {
      g_autofree char *dir = g_path_get_dirname (ir_session_get_path (self->session));
      g_autoptr (GFile) folder = g_file_new_for_path (dir);

      gtk_file_chooser_set_current_folder (GTK_FILE_CHOOSER (dialog), folder, NULL);
    }
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_chosen), self->row, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static void
add_path (InputRow *self, Kind kind, const char *path)
{
  GtkWidget *button = gtk_button_new_from_icon_name ("document-open-symbolic");
  g_autofree char *label = g_strdup_printf (
      "%s: choose a file", adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self->row)));

  self->first = add_entry (self,
                           kind == PICTURE ? "Picture: BMP, JPEG, PNG, PNM, TIFF or WebP"
                                           : "A .npy, .npz or .pb file; of an .npz FILE:ARRAY",
                           path);
  gtk_widget_set_tooltip_text (button, "Choose a file");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label,
                                  -1);
  g_signal_connect_swapped (button, "clicked", G_CALLBACK (choose), self);
  ir_entry_row_add_button (gtk_widget_get_ancestor (self->first, GTK_TYPE_LIST_BOX_ROW), button);
}

static void
add_picture (InputRow *self, const char *text)
{
  const char *words = "";
  g_autofree char *path = ir_picture_path (text, &words), *preset = setting_in (words, "preset");
  const IrValue *value = value_of (self);
  guint n, selected = 0;
  const IrPicturePreset *presets = ir_picture_presets (&n);
  g_autoptr (GPtrArray) titles = g_ptr_array_new ();
  GtkWidget *row = adw_preferences_row_new (), *combo;

  if (preset == NULL && value != NULL)
    preset = g_strdup (ir_picture_preset_for (value)->name);
  for (guint i = 0; i < n; i++)
    {
      g_ptr_array_add (titles, (gpointer) presets[i].title);
      selected = g_strcmp0 (presets[i].name, preset) == 0 ? i : selected;
    }
  g_ptr_array_add (titles, NULL);
  add_path (self, PICTURE, path);
  combo = add_combo (self, "Normalization", (const char *const *) titles->pdata, selected);
  self->preview = GTK_PICTURE (gtk_picture_new ());
  gtk_picture_set_alternative_text (self->preview, "The picture as the network sees it");
  gtk_widget_set_size_request (GTK_WIDGET (self->preview), -1, PREVIEW_SIDE);
  gtk_widget_set_margin_top (GTK_WIDGET (self->preview), 6);
  gtk_widget_set_margin_bottom (GTK_WIDGET (self->preview), 6);
  g_object_set_data (G_OBJECT (self->preview), "preset", combo);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), GTK_WIDGET (self->preview));
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), FALSE);
  gtk_widget_set_focusable (row, FALSE);
  add_part (self, row);
  add_settings (self, PICTURE, words);
}

static void
fill_parts (InputRow *self, Kind kind, const char *text)
{
  for (guint i = 0; i < self->parts->len; i++)
    adw_expander_row_remove (self->row, self->parts->pdata[i]);
  g_ptr_array_set_size (self->parts, 0);
  memset (self->chosen, 0, sizeof self->chosen);
  self->preview = NULL;
  if (kind == PICTURE)
    add_picture (self, text);
  else if (kind == FILE_KIND)
    add_path (self, kind, text);
  else if (kind == NUMBERS)
    self->first = add_entry (self, "Numbers with commas between; one fills all of it", text);
  else
    {
      g_autofree char *name = g_strndup (text, strcspn (text, ","));

      self->first = add_combo (self, "Distribution",
                               self->has_default ? default_titles : fill_titles,
                               index_of (fills, name));
      add_settings (self, RANDOM, text);
      show_settings_of_fill (self);
    }
}

/* As the session has it. */
static void
show_words (InputRow *self)
{
  const IrInputWords *words = ir_session_input_words (self->session, self->input);
  Kind kind = RANDOM;

  for (Kind i = 0; words != NULL && i < N_KINDS; i++)
    kind = strcmp (kinds[i].name, words->kind) == 0 ? i : kind;
  self->updating = TRUE;
  gtk_drop_down_set_selected (self->kind, kind);
  fill_parts (self, kind, words != NULL ? words->text : kind == RANDOM ? "suitable" : "");
  self->updating = FALSE;
}

static void
on_kind (InputRow *self)
{
  const Kind kind = gtk_drop_down_get_selected (self->kind);

  if (self->updating)
    return;
  g_clear_pointer (&self->failure, g_free);
  self->updating = TRUE;
  fill_parts (self, kind, kind == RANDOM ? "suitable" : "");
  self->updating = FALSE;
  adw_expander_row_set_expanded (self->row, TRUE);
  if (kind == RANDOM)
    on_said (self);
  else
    gtk_widget_grab_focus (self->first);
  update (self);
}

/* Another row may have given it something: a data set, or an archive. */
static void
on_changed (IrSession *session, guint flags, GtkWidget *row)
{
  InputRow *self = g_object_get_data (G_OBJECT (row), "input");
  GtkRoot *root = gtk_widget_get_root (row);
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;

  if (!(flags & IR_CHANGED_INPUTS) || ir_session_is_empty (session) || root == NULL)
    return;
  if (!self->updating && self->timeout == 0 && self->failure == NULL &&
      (focus == NULL || !gtk_widget_is_ancestor (focus, row)))
    show_words (self);
  update (self);
}

static GtkWidget *
make_kinds (InputRow *self, const char *name)
{
  g_autoptr (GtkStringList) titles = gtk_string_list_new (NULL);
  GtkWidget *chooser;
  g_autofree char *label = g_strdup_printf ("%s: what it is given", name);

  for (Kind i = 0; i < N_KINDS; i++)
    gtk_string_list_append (titles, i == RANDOM && self->has_default ? "Default" : kinds[i].title);
  chooser = gtk_drop_down_new (G_LIST_MODEL (g_steal_pointer (&titles)), NULL);
  gtk_widget_set_valign (chooser, GTK_ALIGN_CENTER);
  ir_name (chooser, label);
  return chooser;
}

/* @input: one of the open graph, without contents of its own or with those that it has by default */
GtkWidget *
ir_input_row_new (IrSession *session, GtkWindow *window, const IrValue *input)
{
  InputRow *self = g_new0 (InputRow, 1);

  self->session = g_object_ref (session);
  self->window = window;
  self->row = ADW_EXPANDER_ROW (adw_expander_row_new ());
  self->parts = g_ptr_array_new ();
  self->input = input->id;
  self->has_default = input->initializer != NULL;
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (self->row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->row), input->name);
  ir_name (GTK_WIDGET (self->row), input->name);
  self->kind = GTK_DROP_DOWN (make_kinds (self, input->name));
  adw_expander_row_add_action (self->row, GTK_WIDGET (self->kind));
  g_object_set_data_full (G_OBJECT (self->row), "input", self, input_row_free);
  show_words (self);
  g_signal_connect_swapped (self->kind, "notify::selected", G_CALLBACK (on_kind), self);
  g_signal_connect_object (session, "changed", G_CALLBACK (on_changed), self->row, 0);
  update (self);
  return GTK_WIDGET (self->row);
}
