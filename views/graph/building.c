/* Building in the graph. */
#include "config.h"

#include "views/graph/building.h"

#include "core/act/act.h"
#include "core/op/op.h"
#include "views/graph/ask.h"
#include "views/graph/palette.h"
#include "views/session/act.h"
#include "views/session/frame.h"
#include "views/session/places.h"
#include "views/session/selection.h"

#include <string.h>

#define KEY "building" /* data of the view */

struct _IrBuilding
{
  IrView *view;     /* not referenced: owns this */
  IrCanvas *canvas; /* not referenced */
  IrOpPalette *palette;
  double x, y; /* of the canvas: where a menu was opened */
  gboolean has_point;
  char *act;        /* what the palette is open for: "add" or "insert" */
  char *at;         /* (nullable): "at=NODE:INPUT", or "in=NODE:ATTR" */
  GPtrArray *reads; /* of char *: what a new node reads if no value is typed */
};

static IrBuilding *
building (GtkWidget *widget)
{
  return g_object_get_data (G_OBJECT (widget), KEY);
}

static IrSession *
session (IrBuilding *self)
{
  return ir_view_get_session (self->view);
}

/* -- what is selected -- */

static const IrModel *
model (IrBuilding *self)
{
  const IrFrame *frame = ir_session_get_frame (session (self));

  return frame != NULL ? frame->model : NULL;
}

/* Live nodes of the graph on screen as "#N". (transfer full) */
static GPtrArray *
selected_nodes (IrBuilding *self)
{
  GPtrArray *words = g_ptr_array_new_with_free_func (g_free);
  GtkBitsetIter iter;
  guint id;

  for (gboolean more =
           model (self) != NULL &&
           gtk_bitset_iter_init_first (&iter, ir_session_get_selection (session (self)), &id);
       more; more = gtk_bitset_iter_next (&iter, &id))
    if (ir_model_live_node (model (self), id) != NULL)
      g_ptr_array_add (words, g_strdup_printf ("#%u", id));
  return words;
}

static const IrNode *
one_node (IrBuilding *self)
{
  return model (self) != NULL
             ? ir_model_live_node (model (self), ir_session_get_selected_node (session (self)))
             : NULL;
}

/* A value that is selected itself, as a line or a pill. (nullable) */
static const IrValue *
plain_value (IrBuilding *self)
{
  return model (self) != NULL
             ? ir_model_live_value (model (self), ir_session_get_selected_value (session (self)))
             : NULL;
}

/* The value that is selected, else what the selected node gives. (nullable) */
static const IrValue *
any_value (IrBuilding *self)
{
  const IrValue *value = plain_value (self);

  return value != NULL             ? value
         : one_node (self) != NULL ? ir_node_output (one_node (self), 0)
                                   : NULL;
}

/* -- doing -- */

/* What was typed is still in the palette. */
static gboolean
on_refused (const char *why, gpointer view)
{
  IrBuilding *self = building (view);

  return self != NULL && gtk_widget_get_mapped (view) && ir_op_palette_reopen (self->palette, why);
}

/* The act @name on @words; what is refused is said where it was chosen, in the palette or in a dialog. */
static void
act (IrBuilding *self, const char *name, GPtrArray *words, gboolean in_palette)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new ();

  g_ptr_array_add (all, (gpointer) name);
  for (guint i = 0; i < words->len; i++)
    g_ptr_array_add (all, words->pdata[i]);
  g_ptr_array_add (all, NULL);
  ir_session_act_or (session (self), (const char *const *) all->pdata,
                     in_palette ? on_refused : NULL, in_palette ? g_object_ref (self->view) : NULL,
                     in_palette ? g_object_unref : NULL);
}

static void
act_on_nodes (GtkWidget *widget, const char *name)
{
  g_autoptr (GPtrArray) nodes = selected_nodes (building (widget));

  if (nodes->len > 0)
    act (building (widget), name, nodes, FALSE);
}

/* An act on one value, as "#N". */
static void
act_on_value (IrBuilding *self, const char *name, const IrValue *value)
{
  g_autofree char *word = g_strdup_printf ("#%u", value->id);

  ir_session_act (session (self), (const char *const[]){ name, word, NULL });
}

static void
ask (IrBuilding *self, const char *name, guint32 id, const IrAskField *fields)
{
  g_autofree char *word = g_strdup_printf ("#%u", id);

  ir_ask_act (GTK_WIDGET (self->canvas), session (self),
              (const char *const[]){ name, id != 0 ? word : NULL, NULL }, id != 0 ? 2 : 1, fields);
}

/* -- the palette -- */

static gboolean
is_value_word (const char *word)
{
  return strchr (word, '=') == NULL;
}

/* What was typed after the operator stands for what is selected. */
static void
on_chosen (const char *const *typed, gpointer data)
{
  IrBuilding *self = data;
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  gboolean says_values = FALSE;
  const IrOp *op = ir_op_find ("", typed[0]);
  const IrModel *about = model (self);

  for (guint i = 1; typed[i] != NULL; i++)
    says_values = says_values || is_value_word (typed[i]);
  g_ptr_array_add (words, g_strdup (typed[0]));
  if (says_values && g_strcmp0 (self->act, "insert") != 0)
    ;
  else if (self->reads->len == 1 && op != NULL && about != NULL)
    { /* at the input that takes it */
      const IrValue *value = ir_model_live_value (
          about, (IrValueId) g_ascii_strtoull ((char *) self->reads->pdata[0] + 1, NULL, 10));
      const gint slot = value != NULL ? ir_act_op_slot_for (op, value) : 0;

      for (gint i = 0; i < slot; i++)
        g_ptr_array_add (words, g_strdup ("-"));
      g_ptr_array_add (words, g_strdup (self->reads->pdata[0]));
    }
  else
    for (guint i = 0; i < self->reads->len && (op == NULL || op->in.max != 0); i++)
      g_ptr_array_add (words, g_strdup (self->reads->pdata[i]));
  for (guint i = 1; typed[i] != NULL; i++)
    g_ptr_array_add (words, g_strdup (typed[i]));
  if (self->at != NULL)
    g_ptr_array_add (words, g_strdup (self->at));
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
  act (self, self->act, words, TRUE);
}

/* At the pointer where a menu was, else at what is selected, else in the middle. */
static void
place_palette (IrBuilding *self, double *x, double *y)
{
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  const gint32 index = ir_canvas_selected_box (self->canvas);
  const int width = gtk_widget_get_width (GTK_WIDGET (self->view));
  const int height = gtk_widget_get_height (GTK_WIDGET (self->view));
  double at_x = width / 2.0, at_y = height / 3.0;
  guint n;

  if (self->has_point || (index >= 0 && frame != NULL && frame->scene != NULL))
    {
      double cx = self->x, cy = self->y;

      if (!self->has_point)
        {
          const IrSceneBox *box = &ir_scene_boxes (frame->scene, &n)[index];
          const IrCamera camera = ir_canvas_get_camera (self->canvas);
          const graphene_rect_t r = ir_camera_rect (&camera, box);

          cx = r.origin.x + r.size.width / 2;
          cy = r.origin.y + r.size.height;
        }
      gtk_widget_translate_coordinates (GTK_WIDGET (self->canvas), GTK_WIDGET (self->view), cx, cy,
                                        &at_x, &at_y);
    }
  self->has_point = FALSE;
  *x = CLAMP (at_x, 8, MAX (width - 8, 8));
  *y = CLAMP (at_y, 8, MAX (height - 8, 8));
}

static void
open_palette (IrBuilding *self, const char *name, const char *at)
{
  const IrValue *value = NULL;
  g_autofree char *title = NULL;
  double x, y;

  g_free (self->act);
  g_free (self->at);
  self->act = g_strdup (name);
  self->at = g_strdup (at);
  if (self->reads->len == 1)
    value = ir_model_live_value (
        model (self), (IrValueId) g_ascii_strtoull ((char *) self->reads->pdata[0] + 1, NULL, 10));
  if (value != NULL)
    {
      const IrType *type = ir_value_shown_type (value);
      g_autofree char *text = type != NULL ? ir_type_to_string (model (self)->context, type) : NULL;

      title = g_strdup_printf ("%s %s %s%s%s", ir_act_find (name)->title,
                               strcmp (name, "insert") == 0 ? "behind" : "that reads", value->name,
                               text != NULL ? ", " : "", text != NULL ? text : "");
    }
  else if (self->reads->len > 1)
    title = g_strdup_printf ("Add Node that reads %u values", self->reads->len);
  else
    title = g_strdup (ir_act_find (name)->title);
  place_palette (self, &x, &y);
  if (self->palette == NULL)
    self->palette = ir_op_palette_new (GTK_WIDGET (self->view), on_chosen, self);
  ir_op_palette_open (self->palette, x, y, title, value);
}

/* The first outputs of the selected nodes, or the selected value. */
static void
collect_reads (IrBuilding *self)
{
  g_autoptr (GPtrArray) nodes = selected_nodes (self);

  g_ptr_array_set_size (self->reads, 0);
  if (plain_value (self) != NULL)
    {
      g_ptr_array_add (self->reads, g_strdup_printf ("#%u", plain_value (self)->id));
      return;
    }
  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (
          model (self), (IrNodeId) g_ascii_strtoull ((char *) nodes->pdata[i] + 1, NULL, 10));
      const IrValue *value = ir_node_output (node, 0);

      if (value != NULL)
        g_ptr_array_add (self->reads, g_strdup_printf ("#%u", value->id));
    }
}

/* The branch or body at the place of a menu or a drop, as "in=NODE:ATTR"; (transfer full) (nullable) */
static char *
graph_at_point (IrBuilding *self)
{
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  guint n;
  const IrSceneBox *boxes;
  gint32 index;

  if (!self->has_point || frame == NULL || frame->scene == NULL)
    return NULL;
  boxes = ir_scene_boxes (frame->scene, &n);
  for (index = ir_canvas_pick (self->canvas, self->x, self->y).box; index >= 0;
       index = boxes[index].parent)
    {
      const gint32 around = boxes[index].parent;
      const IrNode *owner = around >= 0 && boxes[index].node == 0
                                ? ir_model_live_node (frame->model, boxes[around].node)
                                : NULL;

      if (owner != NULL && boxes[index].kind == IR_SCENE_CLUSTER && boxes[index].tip != NULL &&
          ir_node_attr_graph (owner, boxes[index].tip) != NULL)
        return g_strdup_printf ("in=#%u:%s", owner->id, boxes[index].tip);
    }
  return NULL;
}

static void
activate_add_node (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrBuilding *self = building (widget);
  g_autofree char *in = NULL;

  if (model (self) == NULL)
    return;
  collect_reads (self);
  in = graph_at_point (self);
  open_palette (self, "add", in);
}

static void
activate_insert_node (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrBuilding *self = building (widget);
  const IrValue *value = any_value (self);
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  const gint32 index = ir_canvas_clicked_line (self->canvas);
  g_autofree char *at = NULL;
  guint n;

  if (value == NULL)
    return;
  if (plain_value (self) != NULL && index >= 0 && frame != NULL && frame->scene != NULL)
    { /* on that line alone, where the value has others */
      const IrSceneLine *line = &ir_scene_lines (frame->scene, &n)[index];
      const IrSceneBox *boxes = ir_scene_boxes (frame->scene, &n);
      const IrNode *user = line->to >= 0 ? ir_model_live_node (frame->model, boxes[line->to].node)
                                         : NULL;

      if (line->value == value->id && user != NULL && boxes[line->to].kind == IR_SCENE_NODE &&
          ir_node_input (user, line->to_slot) == value && value->n_uses > 1)
        at = g_strdup_printf ("at=#%u:%u", user->id, line->to_slot);
    }
  g_ptr_array_set_size (self->reads, 0);
  g_ptr_array_add (self->reads, g_strdup_printf ("#%u", value->id));
  open_palette (self, "insert", at);
}

static void
on_value_dropped (IrCanvas *canvas, guint value, double x, double y, IrBuilding *self)
{
  g_autofree char *in = NULL;

  g_ptr_array_set_size (self->reads, 0);
  g_ptr_array_add (self->reads, g_strdup_printf ("#%u", value));
  ir_building_point (self, x, y);
  in = graph_at_point (self);
  open_palette (self, "add", in);
}

/* -- acts on what is selected -- */

static void
activate_delete (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrBuilding *self = building (widget);
  g_autoptr (GPtrArray) nodes = selected_nodes (self);

  if (nodes->len > 0)
    act (self, "delete", nodes, FALSE);
  else if (plain_value (self) != NULL)
    act_on_value (self, "remove", plain_value (self));
}

static void
activate_bypass (GtkWidget *widget, const char *name, GVariant *parameter)
{
  act_on_nodes (widget, "bypass");
}

static void
activate_duplicate (GtkWidget *widget, const char *name, GVariant *parameter)
{
  act_on_nodes (widget, "duplicate");
}

static void
activate_rename (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrBuilding *self = building (widget);
  const IrValue *value = plain_value (self);
  const IrNode *node = one_node (self);

  if (value != NULL)
    ask (self, "rename-value", value->id, (const IrAskField[]){ { "Name", value->name }, { 0 } });
  else if (node != NULL)
    ask (self, "rename", node->id, (const IrAskField[]){ { "Name", node->name }, { 0 } });
}

static void
activate_make_output (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrBuilding *self = building (widget);

  if (any_value (self) != NULL)
    act_on_value (self, "output", any_value (self));
}

static void
activate_set_type (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrBuilding *self = building (widget);
  const IrValue *value = any_value (self);
  const IrType *type = value != NULL ? ir_value_shown_type (value) : NULL;
  g_autofree char *text = type != NULL ? ir_type_to_string (model (self)->context, type) : NULL;

  if (value != NULL)
    ask (self, "type", value->id,
         (const IrAskField[]){ { "Type, such as float[batch,3,224]", text }, { 0 } });
}

static void
activate_set_dtype (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrBuilding *self = building (widget);
  const IrValue *value = any_value (self);

  if (value != NULL)
    ask (self, "dtype", value->id,
         (const IrAskField[]){
             { "Element type, such as float16", ir_dtype_name (ir_value_dtype (value)) }, { 0 } });
}

static void
activate_set_constant (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrBuilding *self = building (widget);
  const IrValue *value = any_value (self);

  if (value != NULL)
    ask (self, "constant", value->id,
         (const IrAskField[]){ { "A file, 1,2,3, or float[3] {1,2,3}", NULL, TRUE }, { 0 } });
}

static void
activate_add_input (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ask (building (widget), "input", 0,
       (const IrAskField[]){
           { "Name", "x" }, { "Type, such as float[batch,3]", "float[1]" }, { 0 } });
}

static void
activate_add_constant (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ask (building (widget), "add-constant", 0,
       (const IrAskField[]){
           { "Name", "c" }, { "A file, 1.0, or float[3] {1,2,3}", NULL, TRUE }, { 0 } });
}

static void
activate_fix_size (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ask (building (widget), "dim", 0,
       (const IrAskField[]){ { "Free size", NULL }, { "Number", NULL }, { 0 } });
}

static void
activate_set_opset (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrBuilding *self = building (widget);
  g_autofree char *text = model (self) != NULL ? g_strdup_printf ("%" G_GINT64_FORMAT,
                                                                  ir_model_opset (model (self), ""))
                                               : NULL;

  ask (self, "opset", 0, (const IrAskField[]){ { "Version of ai.onnx", text }, { 0 } });
}

static void
activate_convert (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ask (building (widget), "convert", 0,
       (const IrAskField[]){ { "From", "float" }, { "To", "float16" }, { 0 } });
}

static void
activate_wrap (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrBuilding *self = building (widget);
  g_autoptr (GPtrArray) words = selected_nodes (self);

  if (words->len == 0)
    return;
  g_ptr_array_insert (words, 0, g_strdup ("wrap"));
  g_ptr_array_add (words, NULL);
  ir_ask_act (GTK_WIDGET (self->canvas), session (self), (const char *const *) words->pdata, 1,
              (const IrAskField[]){ { "Name of the function", "Block" }, { 0 } });
}

static void
activate_select_all (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrBuilding *self = building (widget);
  g_autoptr (GtkBitset) all = gtk_bitset_new_empty ();

  for (IrNodeId id = 1; model (self) != NULL && id < model (self)->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model (self), id);

      if (node != NULL && node->graph == model (self)->main)
        gtk_bitset_add (all, id);
    }
  ir_session_select_value (session (self), 0);
  ir_session_set_selection (session (self), all);
}

static void
activate_arrange (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_session_arrange (session (building (widget)));
}

/* -- the clipboard -- */

static gboolean
copy (IrBuilding *self)
{
  g_autofree char *text = ir_session_copy_text (session (self));

  if (text != NULL)
    gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (self->view)), text);
  return text != NULL;
}

static void
activate_copy (GtkWidget *widget, const char *name, GVariant *parameter)
{
  copy (building (widget));
}

static void
activate_cut (GtkWidget *widget, const char *name, GVariant *parameter)
{
  if (copy (building (widget)))
    act_on_nodes (widget, "delete");
}

static void
on_pasted (GObject *clipboard, GAsyncResult *result, gpointer view)
{
  g_autoptr (GtkWidget) widget = view;
  g_autofree char *text = gdk_clipboard_read_text_finish (GDK_CLIPBOARD (clipboard), result, NULL);
  IrBuilding *self = building (widget);

  if (self == NULL || model (self) == NULL)
    return;
  if (text == NULL)
    ir_session_refuse (session (self), "The clipboard has no text");
  else
    ir_session_act (session (self), (const char *const[]){ "paste", text, NULL });
}

static void
activate_paste (GtkWidget *widget, const char *name, GVariant *parameter)
{
  gdk_clipboard_read_text_async (gtk_widget_get_clipboard (widget), NULL, on_pasted,
                                 g_object_ref (widget));
}

/* -- extracting -- */

/* What the selected nodes read and give: the part's ends. */
static void
find_ends (IrBuilding *self, GPtrArray *from, GPtrArray *to)
{
  const GtkBitset *selection = ir_session_get_selection (session (self));
  GtkBitsetIter iter;
  guint id;

  for (gboolean more = gtk_bitset_iter_init_first (&iter, selection, &id); more;
       more = gtk_bitset_iter_next (&iter, &id))
    {
      const IrNode *node = ir_model_live_node (model (self), id);

      for (guint i = 0; node != NULL && i < node->n_inputs; i++)
        {
          const IrValue *value = node->inputs[i];

          if (value != NULL && ir_value_constant (value) == NULL && value->initializer == NULL &&
              (value->producer == NULL || !gtk_bitset_contains (selection, value->producer->id)))
            g_ptr_array_add (from, g_strdup_printf ("#%u", value->id));
        }
      for (guint i = 0; node != NULL && i < node->n_outputs; i++)
        {
          const IrValue *value = node->outputs[i];
          gboolean inside = value == NULL || value->n_uses > 0;

          for (guint k = 0; inside && value != NULL && k < value->n_uses; k++)
            {
              const IrUse use = ir_value_use (value, k);

              inside = use.node != NULL && gtk_bitset_contains (selection, use.node->id);
            }
          if (!inside)
            g_ptr_array_add (to, g_strdup_printf ("#%u", value->id));
        }
    }
  g_ptr_array_add (from, NULL);
  g_ptr_array_add (to, NULL);
}

static void
on_extract_response (GtkNativeDialog *chooser, int response, gpointer view)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (chooser))
                               : NULL;
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
  g_autoptr (GPtrArray) from = g_ptr_array_new_with_free_func (g_free),
                        to = g_ptr_array_new_with_free_func (g_free);
  IrBuilding *self = building (view);

  if (path != NULL && model (self) != NULL)
    {
      find_ends (self, from, to);
      ir_session_extract (session (self), (const char *const *) from->pdata,
                          (const char *const *) to->pdata, path);
    }
  g_object_unref (chooser);
}

static void
activate_extract (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrBuilding *self = building (widget);
  g_autoptr (GPtrArray) nodes = selected_nodes (self);
  GtkFileChooserNative *chooser;

  if (nodes->len == 0)
    return;
  chooser = gtk_file_chooser_native_new ("Extract", GTK_WINDOW (gtk_widget_get_root (widget)),
                                         GTK_FILE_CHOOSER_ACTION_SAVE, "_Extract", "_Cancel");
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (chooser), "part.onnx");
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (chooser), TRUE);
  g_signal_connect_object (chooser, "response", G_CALLBACK (on_extract_response), widget, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

/* -- actions, keys and menus: one row each -- */

enum
{
  ON_NODES = 1 << 0,   /* in the menu of nodes */
  ON_VALUE = 1 << 1,   /* in that of a value */
  ON_GRAPH = 1 << 2,   /* in that of the canvas */
  NEEDS_MOVED = 1 << 3 /* boxes were moved */
};

#define IN_ONE_ROW 2 /* a section: its acts are icons beside each other */

static const struct
{
  const char *name, *title, *keys[2];
  GtkWidgetActionActivateFunc activate;
  guint where, section;
  const char *icon;
} rows[] = {
  { "view.add-node",
    "Add Node…",
    { "a", "Insert" },
    activate_add_node,
    ON_NODES | ON_VALUE | ON_GRAPH,
    0 },
  { "view.insert-node", "Insert Node…", { "i" }, activate_insert_node, ON_NODES | ON_VALUE, 0 },
  { "view.add-input", "Add Input…", { "n" }, activate_add_input, ON_GRAPH, 0 },
  { "view.add-constant", "Add Constant…", { "k" }, activate_add_constant, ON_GRAPH, 0 },
  { "view.make-output", "Make Output", { "o" }, activate_make_output, ON_NODES | ON_VALUE, 0 },
  { "view.rename", "Rename…", { "F2" }, activate_rename, ON_NODES | ON_VALUE, 1 },
  { "view.set-type", "Set Type…", { "t" }, activate_set_type, ON_VALUE, 1 },
  { "view.set-dtype", "Change Element Type…", { NULL }, activate_set_dtype, ON_VALUE, 1 },
  { "view.set-constant", "Set Constant…", { "c" }, activate_set_constant, ON_VALUE, 1 },
  { "view.duplicate", "Duplicate", { "d" }, activate_duplicate, ON_NODES, 1 },
  { "view.bypass", "Bypass", { "b" }, activate_bypass, ON_NODES, 1 },
  { "view.wrap", "Wrap as Function…", { "w" }, activate_wrap, ON_NODES, 1 },
  { "view.extract", "Extract…", { "x" }, activate_extract, ON_NODES, 1 },
  { "view.delete", "Delete", { "Delete", "BackSpace" }, activate_delete, ON_NODES | ON_VALUE, 1 },
  { "view.cut", "Cut", { "<Control>x" }, activate_cut, ON_NODES, IN_ONE_ROW, "edit-cut-symbolic" },
  { "view.copy",
    "Copy",
    { "<Control>c" },
    activate_copy,
    ON_NODES,
    IN_ONE_ROW,
    "edit-copy-symbolic" },
  { "view.paste",
    "Paste",
    { "<Control>v" },
    activate_paste,
    ON_NODES | ON_GRAPH,
    IN_ONE_ROW,
    "edit-paste-symbolic" },
  { "view.select-all",
    "Select All",
    { "<Control>a" },
    activate_select_all,
    ON_GRAPH,
    IN_ONE_ROW,
    "edit-select-all-symbolic" },
  { "view.fix-size", "Fix Size…", { NULL }, activate_fix_size, ON_GRAPH, 3 },
  { "view.set-opset", "Change Opset…", { NULL }, activate_set_opset, ON_GRAPH, 3 },
  { "view.convert", "Convert Element Type…", { NULL }, activate_convert, ON_GRAPH, 3 },
  { "view.arrange",
    "Arrange Again",
    { NULL },
    activate_arrange,
    ON_NODES | ON_GRAPH | NEEDS_MOVED,
    4 },
};

void
ir_building_install_actions (GtkWidgetClass *klass)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    gtk_widget_class_install_action (klass, rows[i].name, NULL, rows[i].activate);
}

static void
append_section (GMenu *menu, GMenu *section, guint number)
{
  g_autoptr (GMenuItem) item = g_menu_item_new_section (NULL, G_MENU_MODEL (section));

  if (number == IN_ONE_ROW)
    g_menu_item_set_attribute (item, "display-hint", "s", "horizontal-buttons");
  if (g_menu_model_get_n_items (G_MENU_MODEL (section)) > 0)
    g_menu_append_item (menu, item);
  g_object_unref (section);
}

void
ir_building_append_menu (IrBuilding *self, GMenu *menu)
{
  GMenu *section = g_menu_new ();
  g_autoptr (GPtrArray) nodes = selected_nodes (self);
  const guint where = nodes->len > 0 ? ON_NODES : plain_value (self) != NULL ? ON_VALUE : ON_GRAPH;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GMenuItem) item = NULL;

      if (i > 0 && rows[i].section != rows[i - 1].section)
        {
          append_section (menu, section, rows[i - 1].section);
          section = g_menu_new ();
        }
      if ((rows[i].where & where) == 0 ||
          ((rows[i].where & NEEDS_MOVED) != 0 && !ir_session_has_places (session (self))))
        continue;
      item = g_menu_item_new (rows[i].title, rows[i].name);
      if (rows[i].keys[0] != NULL)
        g_menu_item_set_attribute (item, "accel", "s", rows[i].keys[0]);
      if (rows[i].icon != NULL)
        g_menu_item_set_attribute (item, "verb-icon", "s", rows[i].icon);
      g_menu_append_item (section, item);
    }
  append_section (menu, section, rows[G_N_ELEMENTS (rows) - 1].section);
}

void
ir_building_update_actions (IrBuilding *self)
{
  g_autoptr (GPtrArray) nodes = selected_nodes (self);
  const gboolean has_value = plain_value (self) != NULL;
  const guint where = (nodes->len > 0 ? ON_NODES : 0) | (has_value ? ON_VALUE : 0) | ON_GRAPH;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    ir_view_enable_action (
        self->view, rows[i].name,
        (rows[i].where & where) != 0 &&
            ((rows[i].where & NEEDS_MOVED) == 0 || ir_session_has_places (session (self))));
}

/* Keys that what has the focus in @widget leaves: entries take letters, and copy and paste text. */
void
ir_building_add_keys (GtkWidget *widget)
{
  GtkEventController *controller = gtk_shortcut_controller_new ();

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    for (guint k = 0; k < G_N_ELEMENTS (rows[i].keys) && rows[i].keys[k] != NULL; k++)
      gtk_shortcut_controller_add_shortcut (
          GTK_SHORTCUT_CONTROLLER (controller),
          gtk_shortcut_new (gtk_shortcut_trigger_parse_string (rows[i].keys[k]),
                            gtk_named_action_new (rows[i].name)));
  gtk_widget_add_controller (widget, controller);
}

void
ir_building_point (IrBuilding *self, double x, double y)
{
  self->x = x;
  self->y = y;
  self->has_point = TRUE;
}

IrBuilding *
ir_building_new (IrView *view, IrCanvas *canvas)
{
  IrBuilding *self = g_new0 (IrBuilding, 1);

  self->view = view;
  self->canvas = canvas;
  self->reads = g_ptr_array_new_with_free_func (g_free);
  g_object_set_data (G_OBJECT (view), KEY, self);
  g_signal_connect (canvas, "value-dropped", G_CALLBACK (on_value_dropped), self);
  return self;
}

void
ir_building_free (IrBuilding *self)
{
  g_signal_handlers_disconnect_by_data (self->canvas, self);
  g_object_set_data (G_OBJECT (self->view), KEY, NULL);
  g_clear_pointer (&self->palette, ir_op_palette_free);
  g_ptr_array_unref (self->reads);
  g_free (self->act);
  g_free (self->at);
  g_free (self);
}
