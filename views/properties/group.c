/* What the properties show of a group: a scope, a node with branches, copies of a block, arithmetic on shapes. */
#include "config.h"

#include "views/properties/sections.h"

#include "core/op/infer.h"
#include "core/ir/count.h"
#include "views/session/frame.h"

#include <string.h>

#define MAX_PASSING 12 /* values that come into a group, or go out */

static gboolean
is_in_group (const IrSceneBox *boxes, gint32 index, gint32 group)
{
  while (index >= 0 && index != group)
    index = boxes[index].parent;
  return index == group && group >= 0;
}

/* What comes in, or goes out. */
static void
add_passing (IrPropertyPage *page, const IrFrame *frame, gint32 group_index, gboolean out)
{
  guint n, n_boxes, n_shown = 0;
  const IrSceneLine *lines = ir_scene_lines (frame->scene, &n);
  const IrSceneBox *boxes = ir_scene_boxes (frame->scene, &n_boxes);
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  GtkWidget *group = NULL;

  for (guint i = 0; i < n; i++)
    {
      const gboolean from = is_in_group (boxes, lines[i].from, group_index);
      const gboolean to = is_in_group (boxes, lines[i].to, group_index);
      const IrValue *value = ir_frame_value (frame, ir_frame_line_value (frame, &lines[i]));
      g_autofree char *type = NULL;

      if (from != out || to == out || value == NULL || !g_hash_table_add (seen, (gpointer) value))
        continue;
      if (group == NULL)
        group = ir_property_group (page, out ? "Outputs" : "Inputs");
      if (n_shown++ < MAX_PASSING)
        {
          type = ir_value_shown_type (value) != NULL
                     ? ir_type_to_string (value->graph->model->context, ir_value_shown_type (value))
                     : g_strdup ("type not known");
          ir_property_row (group, value->name, type);
        }
    }
  if (n_shown > MAX_PASSING)
    {
      g_autofree char *more = g_strdup_printf ("and %u more", n_shown - MAX_PASSING);

      ir_property_row (group, more, "");
    }
}

void
ir_properties_show_group (IrPropertyPage *page, const IrFrame *frame, const IrSceneBox *box)
{
  guint n, n_texts, n_nodes = 0;
  const IrSceneBox *boxes = ir_scene_boxes (frame->scene, &n);
  const IrSceneText *texts = ir_scene_texts (frame->scene, &n_texts);
  const gint32 index = (gint32) (box - boxes);
  const gboolean open = box->kind == IR_SCENE_CLUSTER;
  const char *title = box->n_texts > 0 ? texts[box->first_text].text : "Group";
  guint64 flops = 0, bytes = 0;
  gboolean partial = FALSE;
  GtkWidget *group, *button;

  for (guint i = 0; i < n; i++)
    if (boxes[i].kind != IR_SCENE_CLUSTER && is_in_group (boxes, (gint32) i, index))
      {
        n_nodes += boxes[i].n_nodes > 0 ? boxes[i].n_nodes : boxes[i].kind == IR_SCENE_NODE;
        flops += boxes[i].flops;
        bytes += boxes[i].bytes;
        partial |= boxes[i].partial;
      }
  g_autofree char *count = ir_count_text (n_nodes), *work = ir_flops_text (flops, partial);
  g_autofree char *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS),
                  *moved = g_strconcat (partial ? "at least " : "", size, NULL);
  const char *blank = strchr (title, ' ');
  ir_property_heading (page, blank != NULL ? blank + 1 : title,
                       open ? "Open group" : "Closed group", NULL);
  button = gtk_button_new_with_label (open ? "Close Group" : "Open Group");
  gtk_actionable_set_detailed_action_name (
      GTK_ACTIONABLE (button), open ? "win.view('close-group')" : "win.view('open-group')");
  gtk_widget_set_halign (button, GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (page->box), button);
  group = ir_property_group (page, "Contents");
  ir_property_row (group, "Nodes", count);
  ir_property_row (group, "Work", work);
  ir_property_row (group, "Read and written", moved);
  add_passing (page, frame, index, FALSE);
  add_passing (page, frame, index, TRUE);
}
