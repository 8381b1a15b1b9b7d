#include "config.h"

/* A scene as Graphviz DOT: boxes are nodes with the texts and colours that they have in the picture,
 * frames are clusters, lines are edges. Graphviz places them anew. What is new, removed or changed
 * has the colour, the badge and a style of its own, so that it can be told without colours. */

#include "core/render/render.h"

#include <string.h>

typedef struct
{
  GString *out;
  const IrScene *scene;
  const IrSceneBox *boxes;
  const IrSceneText *texts;
  guint n_boxes;
  const IrPalette *palette;
  GPtrArray *inside; /* per box, and behind the last one the picture: (nullable) GArray of guint */
} Writer;

static const char *
style_of (IrSceneState state)
{
  static const char *const styles[IR_N_SCENE_STATES] = {
    [IR_SCENE_SAME] = "solid",     [IR_SCENE_NEW] = "bold",     [IR_SCENE_REMOVED] = "dashed",
    [IR_SCENE_CHANGED] = "dotted", [IR_SCENE_MATCHED] = "bold", [IR_SCENE_MISFIT] = "dotted",
    [IR_SCENE_MISSING] = "dashed",
  };

  return styles[state];
}

static gboolean
is_ghost (const IrSceneBox *box)
{
  return box->state == IR_SCENE_REMOVED || box->state == IR_SCENE_MISSING;
}

/* A quoted string; a line break becomes Graphviz's. */
static void
put_quoted (GString *out, const char *text)
{
  g_string_append_c (out, '"');
  for (const char *p = text; *p != '\0'; p++)
    if (*p == '"' || *p == '\\')
      g_string_append_printf (out, "\\%c", *p);
    else if (*p == '\n')
      g_string_append (out, "\\n");
    else
      g_string_append_c (out, (guchar) *p < ' ' ? ' ' : *p);
  g_string_append_c (out, '"');
}

static void
put_attribute (Writer *w, const char *name, const char *text)
{
  g_string_append_printf (w->out, " %s=", name);
  put_quoted (w->out, text);
}

static void
put_colour (Writer *w, const char *name, guint32 colour)
{
  g_string_append_printf (w->out, " %s=\"#%06x\"", name, colour);
}

static void
put_indent (Writer *w, guint depth)
{
  for (guint i = 0; i < depth; i++)
    g_string_append (w->out, "  ");
}

/* Without the mark of what a click opens or closes. */
static const char *
text_of (const IrSceneText *text)
{
  return g_str_has_prefix (text->text, "\342\226\276 ") ||
                 g_str_has_prefix (text->text, "\342\226\270 ")
             ? text->text + 4
             : text->text;
}

/* (transfer full): the badge and what is written in the box; of rows both halves in a line */
static char *
label_of (const Writer *w, const IrSceneBox *box)
{
  g_autoptr (GString) label = g_string_new (NULL);
  const IrSceneText *last = NULL;
  gsize line = 0;

  if (box->state != IR_SCENE_SAME)
    g_string_append_printf (label, "%s ", ir_scene_state_glyph (box->state));
  for (guint i = 0; i < box->n_texts; i++)
    {
      const IrSceneText *text = &w->texts[box->first_text + i];

      if (last != NULL && last->y == text->y) /* the right half came first */
        {
          g_string_insert (label, (gssize) line, "  ");
          g_string_insert (label, (gssize) line, text_of (text));
          continue;
        }
      if (last != NULL)
        g_string_append_c (label, '\n');
      line = label->len;
      g_string_append (label, text_of (text));
      last = text;
    }
  return g_string_free (g_steal_pointer (&label), FALSE);
}

/* -- boxes -- */

static guint32
fill_of (const Writer *w, const IrSceneBox *box)
{
  if (is_ghost (box))
    return w->palette->background;
  return box->has_tint ? ir_palette_ramp (w->palette, box->tint) : w->palette->header[box->colour];
}

static void
put_node (Writer *w, const IrSceneBox *box, guint depth)
{
  const gboolean is_pill = box->kind == IR_SCENE_INPUT || box->kind == IR_SCENE_OUTPUT ||
                           box->kind == IR_SCENE_CONSTANT;
  const guint32 fill = fill_of (w, box);
  g_autofree char *label = label_of (w, box);

  put_indent (w, depth);
  put_quoted (w->out, box->id);
  g_string_append (w->out, " [");
  g_string_append_printf (w->out, "shape=%s style=\"filled,%s%s\"", is_pill ? "ellipse" : "box",
                          is_pill ? "" : "rounded,", style_of (box->state));
  put_attribute (w, "label", label);
  put_attribute (w, "tooltip", box->tip);
  put_attribute (w, "class", ir_scene_state_name (box->state));
  put_colour (w, "fillcolor", fill);
  put_colour (w, "fontcolor", ir_palette_on (w->palette, fill));
  put_colour (w, "color",
              box->state != IR_SCENE_SAME ? w->palette->state[box->state] : w->palette->border);
  if (box->state != IR_SCENE_SAME)
    g_string_append (w->out, " penwidth=2");
  g_string_append (w->out, "];\n");
}

static void put_inside (Writer *w, guint index, guint depth);

static void
put_cluster (Writer *w, guint index, guint depth)
{
  const IrSceneBox *box = &w->boxes[index];
  g_autofree char *id = g_strdup_printf ("cluster_%s", box->id), *label = label_of (w, box);

  put_indent (w, depth);
  g_string_append (w->out, "subgraph ");
  put_quoted (w->out, id);
  g_string_append (w->out, " {\n");
  put_indent (w, depth + 1);
  g_string_append_printf (w->out, "style=\"filled,rounded,%s\"", style_of (box->state));
  put_attribute (w, "label", label);
  put_attribute (w, "class", ir_scene_state_name (box->state));
  put_colour (w, "fillcolor", w->palette->frame);
  put_colour (w, "color",
              box->state != IR_SCENE_SAME ? w->palette->state[box->state]
                                          : w->palette->frame_border);
  g_string_append (w->out, ";\n");
  put_inside (w, index, depth + 1);
  put_indent (w, depth);
  g_string_append (w->out, "}\n");
}

/* A line to a frame ends at something in it; an empty one has a point for that. */
static void
put_inside (Writer *w, guint index, guint depth)
{
  const GArray *inside = w->inside->pdata[index];

  for (guint i = 0; inside != NULL && i < inside->len; i++)
    {
      const guint child = g_array_index (inside, guint, i);

      if (w->boxes[child].kind == IR_SCENE_CLUSTER)
        put_cluster (w, child, depth);
      else
        put_node (w, &w->boxes[child], depth);
    }
  if (index < w->n_boxes && inside == NULL)
    {
      put_indent (w, depth);
      put_quoted (w->out, w->boxes[index].id);
      g_string_append (w->out, " [shape=point style=invis];\n");
    }
}

/* -- lines -- */

static const IrSceneBox *
end_in (const Writer *w, gint32 box)
{
  const GArray *inside = w->inside->pdata[box];

  return w->boxes[box].kind == IR_SCENE_CLUSTER && inside != NULL
             ? end_in (w, (gint32) g_array_index (inside, guint, 0))
             : &w->boxes[box];
}

static void
put_end (Writer *w, const char *attribute, gint32 box)
{
  g_autofree char *id = g_strdup_printf ("cluster_%s", w->boxes[box].id);

  if (w->boxes[box].kind == IR_SCENE_CLUSTER)
    put_attribute (w, attribute, id);
}

/* Its type stands behind the name of the value. */
static const char *
type_of (const IrSceneLine *line)
{
  const char *colon = line->tip != NULL ? g_strrstr (line->tip, ": ") : NULL;

  return colon != NULL && strcmp (colon, ": ?") != 0 ? colon + 2 : NULL;
}

static void
put_line (Writer *w, const IrSceneLine *line)
{
  const char *type = type_of (line);

  if (line->from < 0 || line->to < 0)
    return;
  g_string_append (w->out, "  ");
  put_quoted (w->out, end_in (w, line->from)->id);
  g_string_append (w->out, " -> ");
  put_quoted (w->out, end_in (w, line->to)->id);
  g_string_append_printf (w->out, " [style=\"%s\"",
                          line->state == IR_SCENE_SAME &&
                                  (line->captured || line->kind == IR_SCENE_LINE_CONTROL)
                              ? "dashed"
                              : style_of (line->state));
  put_colour (w, "color",
              line->state != IR_SCENE_SAME          ? w->palette->state[line->state]
              : line->kind == IR_SCENE_LINE_CONTROL ? w->palette->control
                                                    : w->palette->line);
  put_attribute (w, "class", ir_scene_state_name (line->state));
  if (type != NULL)
    put_attribute (w, "label", type);
  if (line->tip != NULL)
    put_attribute (w, "tooltip", line->tip);
  put_end (w, "ltail", line->from);
  put_end (w, "lhead", line->to);
  g_string_append (w->out, "];\n");
}

/* -- all -- */

static void
unref_inside (gpointer data)
{
  if (data != NULL)
    g_array_unref (data);
}

static void
collect_inside (Writer *w)
{
  w->inside = g_ptr_array_new_with_free_func (unref_inside);
  g_ptr_array_set_size (w->inside, (int) w->n_boxes + 1);
  for (guint i = 0; i < w->n_boxes; i++)
    {
      const guint around = w->boxes[i].parent >= 0 ? (guint) w->boxes[i].parent : w->n_boxes;

      if (w->inside->pdata[around] == NULL)
        w->inside->pdata[around] = g_array_new (FALSE, FALSE, sizeof (guint));
      g_array_append_val ((GArray *) w->inside->pdata[around], i);
    }
}

/**
 * ir_render_dot:
 * @scene: a finished scene
 * @options: (nullable): colours
 * @error: return location for an error, or %NULL
 *
 * Returns: (transfer full): what the picture shows, for Graphviz
 */
GBytes *
ir_render_dot (const IrScene *scene, IrRenderOptions *options, GError **error)
{
  Writer w = { .out = g_string_new (NULL),
               .scene = scene,
               .palette = ir_palette (options != NULL ? options->colours : IR_PALETTE_LIGHT) };
  const gboolean transparent = options != NULL && options->transparent;
  const IrSceneLine *lines;
  guint n, n_texts;

  w.boxes = ir_scene_boxes (scene, &w.n_boxes);
  w.texts = ir_scene_texts (scene, &n_texts);
  lines = ir_scene_lines (scene, &n);
  collect_inside (&w);
  g_string_append (w.out, "digraph {\n  compound=true;");
  if (!transparent)
    put_colour (&w, "bgcolor", w.palette->background);
  g_string_append (w.out, ";\n  graph [fontname=\"Helvetica\" fontsize=12");
  put_colour (&w, "fontcolor", w.palette->text);
  g_string_append (w.out, "];\n  node [fontname=\"Helvetica\" fontsize=11];\n"
                          "  edge [fontname=\"Helvetica\" fontsize=9");
  put_colour (&w, "fontcolor", w.palette->muted);
  g_string_append (w.out, "];\n");
  put_inside (&w, w.n_boxes, 1);
  for (guint i = 0; i < n; i++)
    put_line (&w, &lines[i]);
  g_string_append (w.out, "}\n");
  g_ptr_array_unref (w.inside);
  return g_string_free_to_bytes (w.out);
}
