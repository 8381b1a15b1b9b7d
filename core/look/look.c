#include "config.h"

#include "core/look/look.h"

#include "core/query/query.h"

#include <math.h>
#include <string.h>

/* -- settings -- */

static GHashTable *
new_keys (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

static void
clear_rule (gpointer rule)
{
  g_free (((IrLookRule *) rule)->query);
}

/**
 * ir_look_new:
 *
 * Returns: (transfer full): a graph as it is drawn when nobody has asked for anything
 */
IrLook *
ir_look_new (void)
{
  IrLook *look = g_new0 (IrLook, 1);

  look->show = IR_SHOW_DEFAULT;
  look->folded = new_keys ();
  look->automatic = new_keys ();
  look->beside = new_keys ();
  look->calls = new_keys ();
  look->rules = g_array_new (FALSE, FALSE, sizeof (IrLookRule));
  g_array_set_clear_func (look->rules, clear_rule);
  return look;
}

/**
 * ir_look_free:
 * @look: (nullable) (transfer full): a look
 */
void
ir_look_free (IrLook *look)
{
  if (look == NULL)
    return;
  g_hash_table_unref (look->folded);
  g_hash_table_unref (look->automatic);
  g_hash_table_unref (look->beside);
  g_hash_table_unref (look->calls);
  g_clear_pointer (&look->nodes, g_hash_table_unref);
  g_array_unref (look->rules);
  g_free (look->root);
  g_free (look->overlay);
  g_free (look);
}

static void
copy_keys (GHashTable *to, GHashTable *from)
{
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, from);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    g_hash_table_add (to, g_strdup (key));
}

static GHashTable *
copy_ids (GHashTable *from)
{
  GHashTable *ids = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, from);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    g_hash_table_add (ids, id);
  return ids;
}

/**
 * ir_look_copy:
 * @look: a look
 *
 * Returns: (transfer full): one like it
 */
IrLook *
ir_look_copy (const IrLook *look)
{
  IrLook *copy = ir_look_new ();

  copy->show = look->show;
  copy_keys (copy->folded, look->folded);
  copy_keys (copy->automatic, look->automatic);
  copy_keys (copy->beside, look->beside);
  copy_keys (copy->calls, look->calls);
  copy->nodes = look->nodes != NULL ? copy_ids (look->nodes) : NULL;
  copy->root = g_strdup (look->root);
  copy->overlay = g_strdup (look->overlay);
  copy->scale = look->scale;
  for (guint i = 0; i < look->rules->len; i++)
    {
      const IrLookRule *rule = &g_array_index (look->rules, IrLookRule, i);

      ir_look_add_rule (copy, rule->query, rule->effect, rule->colour);
    }
  return copy;
}

/* The node that the key of a call is of. (nullable) */
static const IrNode *
caller (const IrModel *model, const char *fold)
{
  guint64 id;

  return g_str_has_prefix (fold, IR_SCENE_CALL_FOLD "node:") &&
                 g_ascii_string_to_unsigned (fold + strlen (IR_SCENE_CALL_FOLD "node:"), 10, 1,
                                             G_MAXUINT32, &id, NULL)
             ? ir_model_live_node (model, (IrNodeId) id)
             : NULL;
}

static gboolean
calls_the_same (gpointer key, gpointer value, gpointer data)
{
  const IrNode *one = data, *other = caller (one->graph->model, key);

  return other != NULL && ir_scene_node_body (other, 0) == ir_scene_node_body (one, 0);
}

/**
 * ir_look_toggle_call:
 * @look: a look
 * @model: that is drawn
 * @fold: of a node that calls a function of @model, from a box of its scene
 *
 * Opens it in its place, or closes it again. A function is drawn once: where it was open, it is closed.
 */
void
ir_look_toggle_call (IrLook *look, const IrModel *model, const char *fold)
{
  const IrNode *node = caller (model, fold);

  if (g_hash_table_remove (look->calls, fold) || node == NULL)
    return;
  g_hash_table_foreach_remove (look->calls, calls_the_same, (gpointer) node);
  g_hash_table_add (look->calls, g_strdup (fold));
}

/**
 * ir_look_add_rule:
 * @look: a look
 * @query: as ir_query_new() reads it
 * @effect: what it does with the nodes that it names
 * @colour: of %IR_RULE_COLOUR, 1 … %IR_SCALE_CLASSES
 *
 * Rules of one effect hold together: what all %IR_RULE_ONLY name is drawn. Of colours the last one
 * that names a node counts.
 */
void
ir_look_add_rule (IrLook *look, const char *query, IrRuleEffect effect, guint colour)
{
  const IrLookRule rule = { g_strdup (query), effect, colour };

  g_array_append_val (look->rules, rule);
}

/**
 * ir_look_remove_rule:
 * @look: a look
 * @index: of a rule
 *
 * Returns: whether there was one
 */
gboolean
ir_look_remove_rule (IrLook *look, guint index)
{
  if (index >= look->rules->len)
    return FALSE;
  g_array_remove_index (look->rules, index);
  return TRUE;
}

static const char *const effects[IR_N_RULE_EFFECTS] = { "only", "dim", "colour" };
static const char *const colours[IR_SCALE_CLASSES] = { "blue", "orange", "green",  "pink",
                                                       "sky",  "red",    "yellow", "grey" };

/**
 * ir_rule_effect_name:
 * @effect: an effect
 *
 * Returns: (transfer none): "only", "dim" or "colour"
 */
const char *
ir_rule_effect_name (IrRuleEffect effect)
{
  return effect < IR_N_RULE_EFFECTS ? effects[effect] : "";
}

/**
 * ir_rule_colour_name:
 * @colour: 1 … %IR_SCALE_CLASSES
 *
 * Returns: (transfer none): such as "blue"
 */
const char *
ir_rule_colour_name (guint colour)
{
  return colour > 0 && colour <= IR_SCALE_CLASSES ? colours[colour - 1] : "";
}

/**
 * ir_rule_colour_find:
 * @name: such as "blue"
 *
 * Returns: its number; 0 if there is none of that name
 */
guint
ir_rule_colour_find (const char *name)
{
  for (guint i = 0; i < IR_SCALE_CLASSES; i++)
    if (g_ascii_strcasecmp (colours[i], name) == 0)
      return i + 1;
  return 0;
}

/* -- what decides places -- */

static guint64
hash_text (const char *text)
{
  guint64 h = 0xcbf29ce484222325u;

  for (; *text != '\0'; text++)
    h = (h ^ (guchar) *text) * 0x100000001b3u;
  return h * 0x9e3779b97f4a7c15u;
}

/* The sum: in any order. */
static guint64
hash_keys (GHashTable *keys)
{
  GHashTableIter iter;
  gpointer key;
  guint64 sum = 0;

  g_hash_table_iter_init (&iter, keys);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    sum += hash_text (key);
  return sum;
}

static guint64
hash_ids (GHashTable *ids)
{
  GHashTableIter iter;
  gpointer id;
  guint64 sum = 1;

  g_hash_table_iter_init (&iter, ids);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    sum += (GPOINTER_TO_UINT (id) + (guint64) 1) * 0x9e3779b97f4a7c15u;
  return sum;
}

/**
 * ir_look_shape:
 * @look: a look
 *
 * Returns: the same number for looks that put the boxes of one graph into the same places
 */
guint64
ir_look_shape (const IrLook *look)
{
  guint64 shape = hash_keys (look->folded) * 31 + hash_keys (look->automatic) * 7 +
                  hash_keys (look->beside) * 13 + hash_keys (look->calls) * 17 +
                  (guint64) look->show;

  if (look->root != NULL)
    shape += hash_text (look->root) * 17;
  if (look->nodes != NULL)
    shape += hash_ids (look->nodes) * 19;
  for (guint i = 0; i < look->rules->len; i++)
    if (g_array_index (look->rules, IrLookRule, i).effect == IR_RULE_ONLY)
      shape += hash_text (g_array_index (look->rules, IrLookRule, i).query) * 23;
  /* figures of an overlay make boxes higher */
  return look->overlay != NULL ? shape + hash_text (look->overlay) * 29 : shape;
}

/* -- styles -- */

typedef struct
{
  const IrLook *look;
  const IrOverlay *overlay;    /* (nullable) */
  const IrOverlayFacts *facts; /* (nullable) */
  const char *unit;
  IrQuery **queries; /* per rule; NULL: it cannot be read and says nothing */
} Styler;

static gboolean
matches (const Styler *styler, guint rule, const IrNode *node)
{
  static const IrQueryFacts nothing = { 0 };

  return ir_query_matches_node (styler->queries[rule], node, &nothing);
}

/* Whether the rules of @effect name @node; TRUE where there are none. */
static gboolean
passes (const Styler *styler, IrRuleEffect effect, const IrNode *node)
{
  for (guint i = 0; i < styler->look->rules->len; i++)
    if (g_array_index (styler->look->rules, IrLookRule, i).effect == effect &&
        styler->queries[i] != NULL && !matches (styler, i, node))
      return FALSE;
  return TRUE;
}

static gboolean
is_drawn (const IrNode *node, gpointer data)
{
  const Styler *styler = data;

  if (styler->look->nodes != NULL &&
      !g_hash_table_contains (styler->look->nodes, GUINT_TO_POINTER (node->id)))
    return FALSE;
  return passes (styler, IR_RULE_ONLY, node);
}

static guint8
colour_of (const Styler *styler, const IrNode *node)
{
  guint8 colour = 0;

  for (guint i = 0; i < styler->look->rules->len; i++)
    {
      const IrLookRule *rule = &g_array_index (styler->look->rules, IrLookRule, i);

      if (rule->effect == IR_RULE_COLOUR && styler->queries[i] != NULL && matches (styler, i, node))
        colour = (guint8) rule->colour;
    }
  return colour;
}

static void
put_amount (const Styler *styler, const IrNode *node, IrSceneStyle *style)
{
  const double value = styler->overlay->value (styler->facts, node);

  if (isnan (value))
    return;
  if (isnan (style->amount))
    style->amount = value;
  else if (styler->overlay->kind == IR_OVERLAY_AMOUNT)
    style->amount += value;
  else
    style->amount = MAX (style->amount, value);
}

/* The class that all of a group share; else it has none. */
static void
put_class (const Styler *styler, const IrNode *node, IrSceneStyle *style, gboolean is_first)
{
  const char *name = styler->overlay->name (styler->facts, node);

  if (is_first)
    style->class_name = name;
  else if (g_strcmp0 (style->class_name, name) != 0)
    style->class_name = NULL;
}

static void
put_thumb (const Styler *styler, const IrNode *node, IrSceneStyle *style)
{
  IrSceneThumb *thumb = styler->overlay->thumb (styler->facts, node);

  style->thumb = thumb != NULL ? ir_scene_thumb_ref (thumb) : NULL;
}

/* One node, or those of a closed group. */
static void
style_nodes (const IrNode *const *nodes, guint n, IrSceneStyle *style, gpointer data)
{
  const Styler *styler = data;

  style->dimmed = n > 0;
  for (guint i = 0; i < n; i++)
    {
      const guint8 colour = colour_of (styler, nodes[i]);

      style->dimmed &= !passes (styler, IR_RULE_DIM, nodes[i]);
      style->accent = colour != 0 ? colour : style->accent;
      if (styler->overlay != NULL && styler->overlay->value != NULL)
        put_amount (styler, nodes[i], style);
      else if (styler->overlay != NULL && styler->overlay->name != NULL)
        put_class (styler, nodes[i], style, i == 0);
    }
  if (n == 1 && styler->overlay != NULL && styler->overlay->thumb != NULL)
    put_thumb (styler, nodes[0], style);
  if (!isnan (style->amount))
    style->label = ir_scale_text (style->amount, styler->unit);
  else if (style->class_name != NULL)
    style->label = g_strdup (style->class_name);
}

static char *
note_value (const IrValue *value, gpointer data)
{
  const Styler *styler = data;

  return g_strdup (styler->overlay->line (styler->facts, value));
}

/* -- drawing -- */

static void
free_queries (Styler *styler)
{
  for (guint i = 0; i < styler->look->rules->len; i++)
    ir_query_free (styler->queries[i]);
  g_free (styler->queries);
}

static void
read_queries (Styler *styler)
{
  styler->queries = g_new0 (IrQuery *, styler->look->rules->len + 1);
  for (guint i = 0; i < styler->look->rules->len; i++)
    styler->queries[i] = ir_query_new (g_array_index (styler->look->rules, IrLookRule, i).query,
                                       NULL);
}

static gboolean
has_filter (const IrLook *look)
{
  if (look->nodes != NULL)
    return TRUE;
  for (guint i = 0; i < look->rules->len; i++)
    if (g_array_index (look->rules, IrLookRule, i).effect == IR_RULE_ONLY)
      return TRUE;
  return FALSE;
}

/* A file says itself what its numbers are. */
static const char *
title_of (const IrOverlay *overlay, const IrOverlayFacts *facts, const char **unit)
{
  *unit = overlay->unit;
  if (!(overlay->needs & IR_OVERLAY_NEEDS_FILE) || facts == NULL || facts->numbers == NULL)
    return overlay->title;
  *unit = ir_numbers_unit (facts->numbers);
  return ir_numbers_title (facts->numbers);
}

/* Which need no legend. */
static gboolean
shows_pictures (const IrScene *scene)
{
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].thumb != NULL)
      return TRUE;
  return FALSE;
}

/**
 * ir_look_draw:
 * @look: how
 * @subject: what
 * @scale: (out) (optional) (nullable) (transfer full): what the colours mean; %NULL without overlay
 * @cancellable: (nullable): checked by the layout
 * @error: return location for an error, or %NULL
 *
 * Fails as ir_layout_new() does.
 *
 * Returns: (transfer full) (nullable): a finished scene
 */
IrScene *
ir_look_draw (const IrLook *look,
              const IrLookSubject *subject,
              IrScale **scale,
              GCancellable *cancellable,
              GError **error)
{
  static const IrOverlayFacts nothing = { 0 };
  Styler styler = { look, ir_overlay_find (look->overlay),
                    subject->facts != NULL ? subject->facts : &nothing, "", NULL };
  const char *title = styler.overlay != NULL
                          ? title_of (styler.overlay, subject->facts, &styler.unit)
                          : NULL;
  IrSceneOptions options = {
    .measure = subject->measure,
    .measure_data = subject->measure_data,
    .show_constants = (look->show & IR_SHOW_CONSTANTS) != 0,
    .hide_shapes = (look->show & IR_SHOW_SHAPES) == 0,
    .hide_names = (look->show & IR_SHOW_NAMES) == 0,
    .flat = (look->show & IR_SHOW_SCOPES) == 0,
    .wrapped = (look->show & IR_SHOW_COLUMNS) != 0,
    .direction = look->show & IR_SHOW_SIDEWAYS ? IR_LAYOUT_LEFT_TO_RIGHT : IR_LAYOUT_TOP_TO_BOTTOM,
    .folded = subject->closed,
    .calls = look->calls,
    .beside = look->beside,
    .root = look->root,
    .is_drawn = has_filter (look) ? is_drawn : NULL,
    .style = styler.overlay != NULL || look->rules->len > 0 ? style_nodes : NULL,
    .note = styler.overlay != NULL && styler.overlay->line != NULL ? note_value : NULL,
    .style_data = &styler,
    .problems = subject->problems,
    .marks = subject->marks,
    .previous = subject->previous,
    .keep = subject->keep,
  };
  g_autoptr (GHashTable) closed = NULL;
  IrScene *scene;

  if (scale != NULL)
    *scale = NULL;
  if (options.folded == NULL)
    {
      closed = new_keys ();
      copy_keys (closed, look->folded);
      copy_keys (closed, look->automatic);
      options.folded = closed;
    }
  read_queries (&styler);
  scene = subject->diff != NULL
              ? ir_scene_new_for_diff (subject->diff, &options, cancellable, error)
              : ir_scene_new_for_model (subject->model, &options, cancellable, error);
  free_queries (&styler);
  if (scene == NULL)
    return NULL;
  if (subject->moves != NULL && g_hash_table_size (subject->moves) > 0)
    ir_scene_move (scene, subject->moves);
  if (styler.overlay != NULL && !shows_pictures (scene))
    {
      IrScale *made = styler.overlay->kind == IR_OVERLAY_CLASS
                          ? ir_scale_apply_classes (scene, title)
                          : ir_scale_apply (scene, title, styler.unit, look->scale);

      made->lacks = styler.overlay->lacks;
      if (scale != NULL)
        *scale = made;
      else
        ir_scale_unref (made);
    }
  return scene;
}
