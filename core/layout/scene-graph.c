#include "config.h"

/* From the draft to the picture: what is written in each box, how big that
 * makes it, the layout, and the finished scene. All sizes are multiples of 8.
 *
 *    .------------------.
 *    |#Conv###########+#|   header: operator, badges
 *    | conv1            |   name
 *    | kernel 7x7, ...  |   attributes
 *    | W      64x3x7x7  |   folded constants
 *    '------------------' */

#include "core/ir/problem.h"
#include "core/layout/draft-private.h"
#include "core/layout/scene-private.h"
#include "core/op/op.h"

#include <math.h>
#include <string.h>

#define PAD           12.0  /* px, left and right of texts */
#define HEADER        24.0  /* px */
#define BARE          32.0  /* px, height of a box that is all header */
#define PILL          40.0  /* px */
#define LINE          16.0  /* px */
#define MIN_WIDTH     80.0  /* px */
#define MAX_WIDTH     256.0 /* px */
#define BADGE         20.0  /* px kept free in the header for each badge */
#define CHEVRON       14.0  /* px, the mark of what can be opened, before a title */
#define PORT_GAP      24.0  /* px */
#define THUMB_HEIGHT  40.0  /* px, of what its value holds */
#define MAX_ROWS      6
#define MAX_TIP_LINES 12

typedef struct
{
  IrSceneTextStyle style;
  char *left;
  char *right; /* (nullable) set at the right edge */
} Body;

typedef struct
{
  GArray *body; /* of Body */
  double width, height, header;
  double *in_x, *out_x;
  guint8 colour;
  guint8 problem;
  IrSceneStyle style;
} Look;

typedef struct
{
  IrScene *scene;
  const SceneDraft *draft;
  const IrSceneOptions *options;
  IrModel *model;
  const IrDiff *diff;
  Look *looks;          /* per item */
  GHashTable *problems; /* node id -> first IrProblem of the worst severity */
  gint32 *box_of;       /* scene box per item */
  guint64 most_flops;   /* of an item */
} Build;

static void
clear_body (gpointer data)
{
  Body *body = data;

  g_free (body->left);
  g_free (body->right);
}

static void
build_clear (Build *build)
{
  for (guint i = 0; build->looks != NULL && i < build->draft->items->len; i++)
    {
      g_clear_pointer (&build->looks[i].body, g_array_unref);
      g_free (build->looks[i].in_x);
      g_free (build->looks[i].out_x);
      g_free (build->looks[i].style.label);
      g_clear_pointer (&build->looks[i].style.thumb, ir_scene_thumb_unref);
    }
  g_free (build->looks);
  g_free (build->box_of);
  g_clear_pointer (&build->problems, g_hash_table_unref);
  g_clear_pointer (&build->scene, ir_scene_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Build, build_clear)

static const SceneItem *
item_at (const Build *build, guint i)
{
  return &g_array_index (build->draft->items, SceneItem, i);
}

static const SceneGroup *
group_at (const Build *build, guint i)
{
  return &g_array_index (build->draft->groups, SceneGroup, i);
}

static double
round_up (double size, double grid)
{
  return grid * ceil (size / grid);
}

/* --- what is written ------------------------------------------------------ */

static void
add_body (Look *look, IrSceneTextStyle style, char *left, char *right)
{
  Body body = { .style = style, .left = left, .right = right };

  g_array_append_val (look->body, body);
}

static void
write_rows (Look *look, const SceneItem *item)
{
  guint n = item->rows ? item->rows->len : 0;
  guint shown = n > MAX_ROWS ? MAX_ROWS - 1 : n;

  for (guint i = 0; i < shown; i++)
    {
      const SceneRow *row = &g_array_index (item->rows, SceneRow, i);
      add_body (look, IR_SCENE_TEXT_ROW, g_strdup (row->name), g_strdup (row->figure));
    }
  if (shown < n)
    add_body (look, IR_SCENE_TEXT_SUBTITLE, g_strdup_printf ("and %u more constants", n - shown),
              NULL);
}

static void
write_style (const Build *build, Look *look, const SceneItem *item)
{
  const IrNode *one = item->b ? item->b : item->a;
  const IrNode *const *nodes = item->nodes != NULL ? (const IrNode *const *) item->nodes->pdata
                                                   : &one;
  const guint n = item->nodes != NULL ? item->nodes->len : one != NULL;

  look->style.amount = NAN;
  if (build->options->style == NULL || n == 0)
    return;
  build->options->style (nodes, n, &look->style, build->options->style_data);
  if (look->style.label != NULL)
    add_body (look, IR_SCENE_TEXT_NUMBER, g_strdup (look->style.label), NULL);
}

/* The name without what the frame around it and the header say already:
 * "/block/conv1/Conv" within "block" is "conv1". */
static char *
short_name (const Build *build, const SceneItem *item, const IrNode *node)
{
  const char *name = node->name + (node->name[0] == '/');
  const char *fold = item->group >= 0 ? group_at (build, (guint) item->group)->fold : NULL;
  g_autofree char *tail = g_strconcat ("/", node->op_type, NULL);

  if (fold != NULL && g_str_has_prefix (fold, SCENE_SCOPE_FOLD))
    {
      const char *path = strrchr (fold, ':') + 1;
      gsize n = strlen (path);
      if (strncmp (name, path, n) == 0 && name[n] == '/')
        name += n + 1;
    }
  if (name[0] == '\0' || strcmp (name, node->op_type) == 0)
    return NULL;
  return g_strndup (name, strlen (name) - (g_str_has_suffix (name, tail) ? strlen (tail) : 0));
}

#define MAX_FIELDS 3

/* What changed of it: no line and no name says that. */
static void
write_changes (const Build *build, Look *look, const SceneItem *item)
{
  const IrNodeDiff *row = item->state == IR_SCENE_CHANGED && build->diff != NULL && item->b != NULL
                              ? ir_diff_of_b (build->diff, item->b->id)
                              : NULL;
  guint n = 0;

  for (guint i = 0; row != NULL && row->changes != NULL && i < row->changes->len; i++)
    {
      g_autofree char *brief = ir_diff_change_brief (build->diff, row, i);

      if (brief != NULL && ++n <= MAX_FIELDS)
        add_body (look, IR_SCENE_TEXT_ROW, g_strdup_printf ("~ %s", brief), NULL);
    }
  if (n > MAX_FIELDS)
    add_body (look, IR_SCENE_TEXT_SUBTITLE, g_strdup_printf ("and %u more", n - MAX_FIELDS), NULL);
}

static void
write_node (const Build *build, Look *look, const SceneItem *item)
{
  const IrNode *node = item->b ? item->b : item->a;
  char *attrs = scene_attrs_text (node);
  char *name = build->options->hide_names || node->name == NULL ? NULL
                                                                : short_name (build, item, node);

  look->colour = node->op ? (guint8) node->op->family : IR_SCENE_COLOUR_UNKNOWN;
  if (name != NULL)
    add_body (look, IR_SCENE_TEXT_SUBTITLE, name, NULL);
  if (attrs != NULL)
    add_body (look, IR_SCENE_TEXT_SUBTITLE, attrs, NULL);
  write_rows (look, item);
  write_changes (build, look, item);
  const IrProblem *problem = item->b ? g_hash_table_lookup (build->problems,
                                                            GUINT_TO_POINTER (item->b->id))
                                     : NULL;
  look->problem = problem ? (guint8) (1 + problem->severity) : 0;
}

static void
write_ghost (Look *look, const SceneItem *item)
{
  look->colour = IR_SCENE_COLOUR_CLUSTER;
  if (item->ghost->detail != NULL)
    add_body (look, IR_SCENE_TEXT_SUBTITLE, g_strdup (item->ghost->detail), NULL);
}

static guint
n_inside (const SceneItem *item)
{
  guint n = 0;

  for (int s = 0; s < IR_N_SCENE_STATES; s++)
    n += item->n_inside[s];
  return n;
}

/* "1.2 G" */
static char *
short_amount (double amount)
{
  static const char *const prefixes[] = { "", " k", " M", " G", " T", " P" };
  guint i = 0;

  for (; amount >= 999.5 && i + 1 < G_N_ELEMENTS (prefixes); i++)
    amount /= 1000;
  return g_strdup_printf (amount < 9.95 && i > 0 ? "%.1f%s" : "%.0f%s", amount, prefixes[i]);
}

static void
write_fold (Look *look, const SceneItem *item)
{
  const guint n = n_inside (item);
  g_autofree char *flops = short_amount ((double) item->flops);
  GString *text;

  text = g_string_new (NULL);
  if (n > 0) /* else it is one node with branches or a body */
    g_string_append_printf (text, n == 1 ? "%u node" : "%u nodes", n);
  for (int s = IR_SCENE_NEW; s < IR_N_SCENE_STATES; s++)
    if (item->n_inside[s] > 0)
      g_string_append_printf (text, "  %s%u", ir_scene_state_glyph (s), item->n_inside[s]);
  if (item->flops > 0)
    g_string_append_printf (text, "%s%s%s%s", text->len > 0 ? " \302\267 " : "",
                            item->partial ? "\342\211\245 " : "", flops,
                            item->flops >= 1000 ? "FLOP" : " FLOP");
  look->colour = item->a || item->b ? IR_FAMILY_CONTROL : IR_SCENE_COLOUR_FOLD;
  if (text->len == 0)
    g_string_append (text, "closed");
  add_body (look, IR_SCENE_TEXT_SUBTITLE, g_string_free (text, FALSE), NULL);
  if (item->note != NULL)
    add_body (look, IR_SCENE_TEXT_SUBTITLE, g_strdup (item->note), NULL);
}

static void
write_pill (Look *look, const SceneItem *item)
{
  const IrValue *value = item->vb ? item->vb : item->va;
  char *type = value ? scene_type_text (value) : NULL;

  look->colour = item->kind == IR_SCENE_INPUT    ? IR_SCENE_COLOUR_INPUT
                 : item->kind == IR_SCENE_OUTPUT ? IR_SCENE_COLOUR_OUTPUT
                                                 : IR_SCENE_COLOUR_CONSTANT;
  if (type != NULL)
    add_body (look, IR_SCENE_TEXT_LABEL, type, NULL);
}

static guint
n_badges (const Look *look, const SceneItem *item)
{
  return (item->state != IR_SCENE_SAME && !scene_is_pill (item)) + (look->problem > 0);
}

/* px that the badge of the state takes from the lines of a pill, which are in its middle */
static double
both_sides (const SceneItem *item)
{
  return item->state != IR_SCENE_SAME ? 2 * BADGE : 0;
}

/* px, of square cells */
static double
thumb_width (const IrSceneThumb *thumb)
{
  return THUMB_HEIGHT * thumb->width / thumb->height;
}

static void
measure_item (const Build *build, Look *look, const SceneItem *item)
{
  const IrScene *scene = build->scene;
  gboolean round = scene_is_pill (item);
  double width = ir_scene_measure (scene, item->title,
                                   round ? IR_SCENE_TEXT_PILL : IR_SCENE_TEXT_TITLE) +
                 (item->fold != NULL ? CHEVRON : 0) + BADGE * n_badges (look, item);

  for (guint i = 0; i < look->body->len; i++)
    {
      const Body *body = &g_array_index (look->body, Body, i);
      double line = ir_scene_measure (scene, body->left, body->style);
      if (body->right != NULL)
        line += 16 + ir_scene_measure (scene, body->right, IR_SCENE_TEXT_NUMBER);
      width = MAX (width, line);
    }
  if (look->style.thumb != NULL)
    width = MAX (width, thumb_width (look->style.thumb));
  width += 2 * PAD + (round ? 8 + both_sides (item) : 0);
  /* Room for the ports, so that lines do not run off the corners. */
  width = MAX (width, PORT_GAP * (MAX (item->in->len, item->out->len) + 1));
  look->width = round_up (
      CLAMP (width, MIN_WIDTH, MAX (MAX_WIDTH, MIN (2048, PORT_GAP * (item->in->len + 1)))), 16);
  const gboolean bare = look->body->len == 0 && look->style.thumb == NULL;
  look->header = bare ? BARE : HEADER;
  look->height = bare ? BARE
                      : round_up (HEADER + 4 + LINE * look->body->len + 4 +
                                      (look->style.thumb != NULL ? THUMB_HEIGHT + 4 : 0),
                                  8);
  if (round)
    look->header = look->height = look->body->len == 0 ? BARE : PILL;
}

/* Of two ports the first is in the middle: the main line of binary operators goes straight down. */
static double *
place_ports (guint n, double width)
{
  double *x = g_new (double, MAX (1, n));
  double gap = n > 1 ? MIN (PORT_GAP, (width - 16) / (n - 1)) : 0;

  for (guint i = 0; i < n; i++)
    x[i] = n == 2 ? width / 2 + i * MIN (PORT_GAP, width / 2 - 12)
                  : floor (width / 2 + (i - (n - 1) / 2.0) * gap);
  return x;
}

static void
write_items (Build *build)
{
  guint n = build->draft->items->len;

  build->looks = g_new0 (Look, MAX (1, n));
  for (guint i = 0; i < n; i++)
    {
      Look *look = &build->looks[i];
      const SceneItem *item = item_at (build, i);
      build->most_flops = MAX (build->most_flops, item->flops);
      look->body = g_array_new (FALSE, FALSE, sizeof (Body));
      g_array_set_clear_func (look->body, clear_body);
      if (scene_is_pill (item))
        write_pill (look, item);
      else if (item->kind == IR_SCENE_FOLD)
        write_fold (look, item);
      else if (item->ghost != NULL)
        write_ghost (look, item);
      else
        write_node (build, look, item);
      write_style (build, look, item);
      measure_item (build, look, item);
      gboolean turned = build->options->direction == IR_LAYOUT_LEFT_TO_RIGHT;
      double side = turned ? look->height : look->width;
      look->in_x = place_ports (item->in->len, side);
      look->out_x = place_ports (item->out->len, side);
    }
}

/* --- the layout ------------------------------------------------------------ */

static IrLayoutGroup
frame_of (const Build *build, const SceneGroup *group)
{
  double title = ir_scene_measure (build->scene, group->title, IR_SCENE_TEXT_CLUSTER) +
                 (group->fold != NULL ? CHEVRON : 0);

  return (IrLayoutGroup){ .key = group->key,
                          .parent = group->parent,
                          .pad_left = 16,
                          .pad_right = 16,
                          .pad_top = 40,
                          .pad_bottom = 16,
                          .min_width = round_up (title + 2 * PAD + 2 * BADGE, 16),
                          .n_in = group->n_in,
                          .n_out = group->n_out };
}

static gint32
link_port (const Build *build, gint32 end, guint64 port, gboolean out)
{
  if (end < 0)
    return (gint32) MIN (port, 1 << 20);
  return (gint32) scene_draft_port (
      out ? item_at (build, (guint) end)->out : item_at (build, (guint) end)->in, port);
}

static gboolean
lay_out (Build *build, GCancellable *cancellable, GError **error)
{
  guint n = build->draft->items->len, n_groups = build->draft->groups->len;
  guint n_links = build->draft->links->len;
  g_autofree IrLayoutBox *boxes = g_new0 (IrLayoutBox, MAX (1, n));
  g_autofree IrLayoutGroup *groups = g_new0 (IrLayoutGroup, MAX (1, n_groups));
  g_autofree IrLayoutEdge *edges = g_new0 (IrLayoutEdge, MAX (1, n_links));
  const IrScene *previous = build->options->previous;

  for (guint i = 0; i < n; i++)
    {
      const SceneItem *item = item_at (build, i);
      const Look *look = &build->looks[i];
      boxes[i] = (IrLayoutBox){ .key = item->key,
                                .width = look->width,
                                .height = look->height,
                                .group = item->group,
                                .n_in = item->in->len,
                                .n_out = item->out->len,
                                .in_x = look->in_x,
                                .out_x = look->out_x };
    }
  for (guint i = 0; i < n_groups; i++)
    groups[i] = frame_of (build, group_at (build, i));
  for (guint i = 0; i < n_links; i++)
    {
      const SceneLink *link = &g_array_index (build->draft->links, SceneLink, i);
      edges[i] = (IrLayoutEdge){ .from = link->from,
                                 .from_port = link_port (build, link->from, link->from_port, TRUE),
                                 .to = link->to,
                                 .to_port = link_port (build, link->to, link->to_port, FALSE),
                                 .back = link->back };
    }
  IrLayoutInput input = { .boxes = boxes,
                          .n_boxes = n,
                          .edges = edges,
                          .n_edges = n_links,
                          .groups = groups,
                          .n_groups = n_groups,
                          .direction = build->options->direction,
                          .keep = build->options->keep,
                          .previous = previous ? previous->layout : NULL,
                          .layer_gap = 48,
                          .lead = build->options->hide_shapes ? 12 : 20 };
  build->scene->layout = ir_layout_new (&input, cancellable, error);
  return build->scene->layout != NULL;
}

/* --- the scene -------------------------------------------------------------- */

static void
append_changes (GString *tip, const IrNodeDiff *row)
{
  guint n = row && row->changes ? row->changes->len : 0;

  for (guint i = 0; i < MIN (n, MAX_TIP_LINES); i++)
    g_string_append_printf (tip, "\n%s", (const char *) row->changes->pdata[i]);
  if (n > MAX_TIP_LINES)
    g_string_append_printf (tip, "\nand %u more changes", n - MAX_TIP_LINES);
}

static char *
node_tip (const Build *build, const IrNode *a, const IrNode *b, IrSceneState state)
{
  const IrNode *node = b ? b : a;
  g_autofree char *label = ir_node_label (node);
  g_autoptr (GString) tip = g_string_new (label);
  const IrProblem *problem = b ? g_hash_table_lookup (build->problems, GUINT_TO_POINTER (b->id))
                               : NULL;

  if (state != IR_SCENE_SAME)
    g_string_append_printf (tip, ", %s", ir_scene_state_name (state));
  for (guint i = 0; i < MIN (node->n_outputs, 4); i++)
    {
      g_autofree char *type = node->outputs[i] ? scene_type_text (node->outputs[i]) : NULL;
      if (node->outputs[i] != NULL)
        g_string_append_printf (tip, "\n%s: %s", node->outputs[i]->name, type ? type : "?");
    }
  if (build->diff != NULL)
    append_changes (tip, b ? ir_diff_of_b (build->diff, b->id) : ir_diff_of_a (build->diff, a->id));
  if (problem != NULL)
    g_string_append_printf (tip, "\n%s: %s", ir_severity_name (problem->severity),
                            problem->message);
  return g_string_free (g_steal_pointer (&tip), FALSE);
}

/* What can be opened or closed says so. */
static char *
chevron (const char *title, gboolean open)
{
  return g_strdup_printf ("%s %s", open ? "\342\226\276" : "\342\226\270", title);
}

/* Where the part of a path begins that ends before @end */
static const char *
part_before (const char *path, const char *end)
{
  while (end > path && strchr ("./", end[-1]) == NULL)
    end--;
  return end;
}

/* Of a path of scopes, what says most: "0.a" of "tail.0.a", "layers.3" of "encoder.layers.3". (nullable) */
static const char *
last_part (const char *path)
{
  const char *last = part_before (path, path + strlen (path));
  const char *before = last > path ? part_before (path, last - 1) : path;

  if (g_ascii_isdigit (last[0]) || g_ascii_isdigit (before[0]))
    last = before;
  return last > path && last[0] != '\0' ? last : NULL;
}

#define MANY_LETTERS 8
#define FEW_LETTERS  6

/* The end of a path, or how a long word begins. (transfer full) (nullable) */
static char *
short_title (const char *title)
{
  const char *last = last_part (title), *end;

  if (last != NULL || g_utf8_strlen (title, -1) <= MANY_LETTERS)
    return g_strdup (last);
  end = g_utf8_offset_to_pointer (title, FEW_LETTERS);
  while (end > title + 1 && strchr ("_-: ", end[-1]) != NULL)
    end--;
  return g_strdup_printf ("%.*s\342\200\246", (int) (end - title), title);
}

static void
add_frames (Build *build)
{
  for (guint i = 0; i < build->draft->groups->len; i++)
    {
      const SceneGroup *group = group_at (build, i);
      IrLayoutRect r = ir_layout_group (build->scene->layout, i);
      g_autofree char *id = g_strdup_printf ("g%u", i);
      const IrNode *node = group->b ? group->b : group->a;
      g_autofree char *brief = short_title (group->title);
      g_autofree char *shown = group->fold != NULL ? chevron (group->title, TRUE)
                                                   : g_strdup (group->title);
      g_autofree char *tip = node ? node_tip (build, group->a, group->b, group->state)
                                  : g_strdup (group->title);
      const IrProblem *problem = group->b ? g_hash_table_lookup (build->problems,
                                                                 GUINT_TO_POINTER (group->b->id))
                                          : NULL;
      IrSceneBox box = { .kind = IR_SCENE_CLUSTER,
                         .state = group->state,
                         .colour = node ? IR_FAMILY_CONTROL : IR_SCENE_COLOUR_CLUSTER,
                         .problem = problem ? (guint8) (1 + problem->severity) : 0,
                         .parent = group->parent,
                         .x = r.x,
                         .y = r.y,
                         .width = r.width,
                         .height = r.height,
                         .header = HEADER,
                         .amount = NAN,
                         .node = group->b ? group->b->id : 0,
                         .before = group->a ? group->a->id : 0,
                         .brief = brief,
                         .key = group->key,
                         .fold = group->fold,
                         .id = id,
                         .tip = tip };
      gint32 index = ir_scene_add_box (build->scene, &box);
      IrSceneText title = { .style = IR_SCENE_TEXT_CLUSTER,
                            .box = index,
                            .on_header = TRUE,
                            .x = r.x + PAD,
                            .y = r.y + 17,
                            .text = shown };
      ir_scene_add_text (build->scene, &title, r.width - 2 * PAD - BADGE);
    }
}

/* (transfer full) (nullable) */
static char *
brief_of (const SceneItem *item)
{
  const IrNode *node = item->b != NULL ? item->b : item->a;

  if (node != NULL && node->op != NULL)
    return g_strdup (node->op->brief);
  return short_title (item->title);
}

static void
add_pill_texts (
    Build *build, gint32 index, const IrSceneBox *box, const SceneItem *item, const Look *look)
{
  IrSceneText text = { .style = IR_SCENE_TEXT_PILL,
                       .align = IR_SCENE_ALIGN_MIDDLE,
                       .box = index,
                       .on_header = TRUE,
                       .x = box->x + box->width / 2,
                       .y = box->y + (look->body->len > 0 ? 17 : 20),
                       .text = item->title };
  double room = box->width - 2 * PAD - 4 - both_sides (item);

  ir_scene_add_text (build->scene, &text, room);
  if (look->body->len == 0)
    return;
  text.style = IR_SCENE_TEXT_LABEL;
  text.y = box->y + 31;
  text.text = g_array_index (look->body, Body, 0).left;
  ir_scene_add_text (build->scene, &text, room);
}

static void
add_node_texts (
    Build *build, gint32 index, const IrSceneBox *box, const SceneItem *item, const Look *look)
{
  double inner = box->width - 2 * PAD;
  g_autofree char *shown = item->fold != NULL ? chevron (item->title, FALSE)
                                              : g_strdup (item->title);
  IrSceneText text = { .style = IR_SCENE_TEXT_TITLE,
                       .box = index,
                       .on_header = TRUE,
                       .x = box->x + PAD,
                       .y = box->y + look->header / 2 + 4.5,
                       .text = shown };

  if (look->body->len == 0 && n_badges (look, item) == 0)
    {
      text.align = IR_SCENE_ALIGN_MIDDLE;
      text.x = box->x + box->width / 2;
    }
  ir_scene_add_text (build->scene, &text, inner - BADGE * n_badges (look, item));
  text.on_header = FALSE;
  for (guint i = 0; i < look->body->len; i++)
    {
      const Body *body = &g_array_index (look->body, Body, i);
      double right = 0;
      text.y = box->y + look->header + 4 + LINE * i + 12;
      if (body->right != NULL)
        {
          text.style = IR_SCENE_TEXT_NUMBER;
          text.align = IR_SCENE_ALIGN_END;
          text.x = box->x + box->width - PAD;
          text.text = body->right;
          gint32 at = ir_scene_add_text (build->scene, &text, inner * 0.75);
          right = g_array_index (build->scene->texts, IrSceneText, at).width + 12;
        }
      text.style = body->style;
      text.align = IR_SCENE_ALIGN_START;
      text.x = box->x + PAD;
      text.text = body->left;
      ir_scene_add_text (build->scene, &text, inner - right);
    }
}

static char *
item_tip (const Build *build, const SceneItem *item)
{
  static const char *const what[IR_N_SCENE_BOX_KINDS] = {
    [IR_SCENE_INPUT] = "input", [IR_SCENE_OUTPUT] = "output", [IR_SCENE_CONSTANT] = "constant"
  };
  const IrValue *value = item->vb ? item->vb : item->va;
  g_autofree char *type = value ? scene_type_text (value) : NULL;

  if (item->a != NULL || item->b != NULL)
    return node_tip (build, item->a, item->b, item->state);
  if (item->ghost != NULL)
    return g_strdup_printf ("%s, missing%s%s", item->title, item->ghost->detail ? "\n" : "",
                            item->ghost->detail ? item->ghost->detail : "");
  if (item->kind == IR_SCENE_FOLD)
    return g_strdup (item->title);
  return g_strdup_printf (
      "%s (%s)%s%s: %s", item->title, what[item->kind], item->state != IR_SCENE_SAME ? ", " : "",
      item->state != IR_SCENE_SAME ? ir_scene_state_name (item->state) : "", type ? type : "?");
}

static char *
item_id (const SceneItem *item, guint index)
{
  if (item->b != NULL)
    return g_strdup_printf ("n%u", item->b->id);
  if (item->a != NULL)
    return g_strdup_printf ("r%u", item->a->id);
  if (item->kind == IR_SCENE_FOLD)
    return g_strdup_printf ("f%u", index);
  if (item->ghost != NULL)
    return g_strdup_printf ("m%u", index);
  return g_strdup_printf ("%c%u",
                          item->kind == IR_SCENE_INPUT    ? 'i'
                          : item->kind == IR_SCENE_OUTPUT ? 'o'
                                                          : 'c',
                          item->vb ? item->vb->id : index);
}

/* At the foot of its box: as wide as its cells are square, or as the box. */
static void
place_thumb (IrSceneBox *box, const Look *look)
{
  IrSceneThumb *thumb = look->style.thumb;
  const double inner = box->width - 2 * PAD;

  if (thumb == NULL)
    return;
  const double width = MIN (thumb_width (thumb), inner);
  box->thumb = thumb;
  box->thumb_rect = (IrLayoutRect){ PAD, box->height - THUMB_HEIGHT - 6, MAX (width, 4),
                                    THUMB_HEIGHT };
}

/* A closed group has no state of its own, but where it is one node with branches or a body. */
static void
count_nodes (IrScene *scene, const SceneItem *item)
{
  for (int s = 0; s < IR_N_SCENE_STATES; s++)
    scene->n_nodes[s] += item->n_inside[s];
  if (item->kind == IR_SCENE_NODE || (item->kind == IR_SCENE_FOLD && (item->a || item->b)))
    scene->n_nodes[item->state]++;
}

static void
add_items (Build *build)
{
  guint n = build->draft->items->len;

  build->box_of = g_new (gint32, MAX (1, n));
  for (guint i = 0; i < n; i++)
    {
      const SceneItem *item = item_at (build, i);
      const Look *look = &build->looks[i];
      IrLayoutRect r = ir_layout_box (build->scene->layout, i);
      g_autofree char *id = item_id (item, i);
      g_autofree char *tip = item_tip (build, item), *brief = brief_of (item);
      IrSceneBox box = { .kind = item->kind,
                         .state = item->state,
                         .colour = look->colour,
                         .problem = look->problem,
                         .parent = item->group,
                         .x = r.x,
                         .y = r.y,
                         .width = r.width,
                         .height = r.height,
                         .header = look->header,
                         .amount = look->style.amount,
                         .class_name = look->style.class_name,
                         .accent = look->style.accent,
                         .dimmed = look->style.dimmed,
                         .heat = build->most_flops > 0
                                     ? sqrt ((double) item->flops / (double) build->most_flops)
                                     : 0,
                         .flops = item->flops,
                         .bytes = item->bytes,
                         .partial = item->partial,
                         .n_nodes = n_inside (item),
                         .brief = brief,
                         .node = item->b ? item->b->id : 0,
                         .before = item->a ? item->a->id : 0,
                         .value = item->vb ? item->vb->id : 0,
                         .key = item->key,
                         .fold = item->fold,
                         .id = id,
                         .tip = tip };
      count_nodes (build->scene, item);
      place_thumb (&box, look);
      build->box_of[i] = ir_scene_add_box (build->scene, &box);
      if (scene_is_pill (item))
        add_pill_texts (build, build->box_of[i], &box, item, look);
      else
        add_node_texts (build, build->box_of[i], &box, item, look);
    }
}

static gint32
box_of_end (const Build *build, gint32 end)
{
  return end >= 0 ? build->box_of[end] : -1 - end;
}

static gboolean
is_dimmed (const Build *build, gint32 end)
{
  return end >= 0 && build->looks[end].style.dimmed;
}

/* Lines that differ come last, over the others. */
static void
add_lines (Build *build)
{
  static const IrSceneState order[] = { IR_SCENE_SAME,   IR_SCENE_REMOVED, IR_SCENE_CHANGED,
                                        IR_SCENE_NEW,    IR_SCENE_MATCHED, IR_SCENE_MISFIT,
                                        IR_SCENE_MISSING };

  for (guint pass = 0; pass < (build->scene->is_diff ? G_N_ELEMENTS (order) : 1); pass++)
    for (guint i = 0; i < build->draft->links->len; i++)
      {
        const SceneLink *link = &g_array_index (build->draft->links, SceneLink, i);
        const IrValue *value = link->vb ? link->vb : link->va;
        guint n;
        const IrLayoutPoint *points = ir_layout_edge (build->scene->layout, i, &n);
        if (link->state != order[pass])
          continue;
        g_autofree char *type = value ? scene_type_text (value) : NULL;
        g_autofree char *tip = value ? g_strdup_printf ("%s: %s", value->name, type ? type : "?")
                                     : NULL;
        IrSceneLine line = { .kind = link->kind,
                             .state = link->state,
                             .captured = link->captured,
                             .dimmed = is_dimmed (build, link->from) || is_dimmed (build, link->to),
                             .from = box_of_end (build, link->from),
                             .to = box_of_end (build, link->to),
                             .from_slot = link->from_slot,
                             .to_slot = link->to_slot,
                             .value = link->vb ? link->vb->id : 0,
                             .before = link->va ? link->va->id : 0,
                             .tip = tip };
        ir_scene_add_line (build->scene, &line, points, n);
      }
}

static GHashTable *
index_problems (const GPtrArray *problems)
{
  GHashTable *table = g_hash_table_new (NULL, NULL);

  for (guint i = 0; problems != NULL && i < problems->len; i++)
    {
      IrProblem *problem = problems->pdata[i];
      const IrProblem *known = g_hash_table_lookup (table, GUINT_TO_POINTER (problem->node));
      if (problem->node != 0 && (known == NULL || problem->severity > known->severity))
        g_hash_table_insert (table, GUINT_TO_POINTER (problem->node), problem);
    }
  return table;
}

IrScene *
scene_from_draft (const SceneDraft *draft,
                  IrModel *model,
                  const IrDiff *diff,
                  const IrSceneOptions *o,
                  GCancellable *cancellable,
                  GError **error)
{
  g_auto (Build) build = { .draft = draft, .options = o, .model = model, .diff = diff };

  build.scene = ir_scene_new (o->measure, o->measure_data);
  build.scene->is_diff = draft->is_diff || o->marks != NULL;
  build.problems = index_problems (o->problems);
  write_items (&build);
  build.scene->has_heat = build.most_flops > 0 && o->style == NULL;
  if (!lay_out (&build, cancellable, error))
    return NULL;
  add_frames (&build);
  add_items (&build);
  add_lines (&build);
  if (!o->hide_shapes || o->note != NULL)
    scene_add_labels (build.scene, draft, o);
  if (o->wrapped && o->direction == IR_LAYOUT_TOP_TO_BOTTOM)
    ir_scene_wrap (build.scene, o->keep == IR_LAYOUT_KEEP_PLACES ? o->previous : NULL);
  if (diff != NULL && diff->descents != NULL)
    scene_add_brackets (build.scene, diff);
  ir_scene_finish (build.scene);
  return g_steal_pointer (&build.scene);
}

static IrScene *
build_scene (IrModel *model,
             const IrDiff *diff,
             const IrSceneOptions *options,
             GCancellable *cancellable,
             GError **error)
{
  static const IrSceneOptions defaults = { 0 };
  const IrSceneOptions *o = options ? options : &defaults;
  g_autoptr (SceneDraft) draft = scene_draft_new (diff, model, o);

  return scene_from_draft (draft, model, diff, o, cancellable, error);
}

/**
 * ir_scene_new_for_model:
 * @model: a model that nobody edits meanwhile, best a snapshot
 * @options: (nullable): what to show; %NULL: the defaults
 * @cancellable: (nullable): checked by the layout
 * @error: return location for an error, or %NULL
 *
 * The picture of the main graph, with subgraphs inside the nodes that own
 * them. The scene does not keep @model.
 *
 * Fails as ir_layout_new() does.
 *
 * Returns: (transfer full) (nullable): a finished scene
 */
IrScene *
ir_scene_new_for_model (IrModel *model,
                        const IrSceneOptions *options,
                        GCancellable *cancellable,
                        GError **error)
{
  g_return_val_if_fail (model != NULL, NULL);

  return build_scene (model, NULL, options, cancellable, error);
}

/**
 * ir_scene_new_for_diff:
 * @diff: two models
 * @options: (nullable): what to show; %NULL: the defaults
 * @cancellable: (nullable): checked by the layout
 * @error: return location for an error, or %NULL
 *
 * The union of both models in one layout, so that what both have has one place; states say what is new,
 * removed or changed. Fails as ir_layout_new() does.
 *
 * Returns: (transfer full) (nullable): a finished scene
 */
IrScene *
ir_scene_new_for_diff (const IrDiff *diff,
                       const IrSceneOptions *options,
                       GCancellable *cancellable,
                       GError **error)
{
  g_return_val_if_fail (diff != NULL, NULL);

  return build_scene (diff->b, diff, options, cancellable, error);
}
