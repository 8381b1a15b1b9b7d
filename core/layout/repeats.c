#include "config.h"

/* What may be one box besides scopes: copies of one block, and arithmetic on shapes.
 *
 * Copies are scopes whose last part differs in a number alone ("layers.0" ... "layers.11"). Each is
 * written down in one canonical text: operators, attributes, wires and types of constants, with
 * nodes counted from its first. Equal texts are equal copies: nothing is left to a hash. Where most
 * copies are equal they make a group; those that differ are named.
 *
 * Arithmetic on shapes is what only Shape and Size lead to, besides constants, and what gives short
 * vectors of integers. A part never contains a way out and back in, so that a box for it makes no
 * cycle: nodes are counted by how often the way to them has left such arithmetic. */

#include "core/layout/draft-private.h"
#include "core/op/op.h"

#include <string.h>

#define LEAST_COPIES 3
#define MAX_NAMED    4

/* -- copies of one block -- */

typedef struct
{
  const char *name; /* its scope, in the chunk */
  GPtrArray *nodes;
} Copy;

typedef struct
{
  GPtrArray *copies; /* of Copy */
} Series;

static void
free_copy (gpointer data)
{
  g_ptr_array_unref (((Copy *) data)->nodes);
  g_free (data);
}

static void
free_series (gpointer data)
{
  g_ptr_array_unref (((Series *) data)->copies);
  g_free (data);
}

/* Where the number at the end of @scope[0 .. @length) begins; @length: there is none. */
static gsize
number_of (const char *scope, gsize length)
{
  gsize at = length;

  while (at > 0 && g_ascii_isdigit (scope[at - 1]))
    at--;
  return at;
}

/* The key of the group that a scope would be a copy in, or NULL. */
char *
scene_repeat_fold (guint64 graph, const char *scope, gsize length)
{
  const gsize at = number_of (scope, length);

  if (at == length)
    return NULL;
  return graph == 0 ? g_strdup_printf (SCENE_REPEAT_FOLD "%.*s", (int) at, scope)
                    : g_strdup_printf (SCENE_REPEAT_FOLD "%" G_GINT64_MODIFIER "x:%.*s", graph,
                                       (int) at, scope);
}

/* "layers × 12": without what stands before the last part, and without signs at the end. */
static char *
repeat_title (const char *scope, gsize at, guint n)
{
  gsize start, end = at;

  while (end > 0 && strchr ("._-/", scope[end - 1]) != NULL)
    end--;
  for (start = end; start > 0 && scope[start - 1] != '/'; start--)
    ;
  return g_strdup_printf ("%.*s \303\227 %u", (int) (end - start), scope + start, n);
}

static void
write_attr (GString *text, const IrAttr *attr)
{
  g_string_append_printf (text, " %s=%d:", attr->name, attr->kind);
  if (attr->ref_name != NULL)
    g_string_append (text, attr->ref_name);
  for (guint i = 0; i < attr->n; i++)
    {
      if (attr->kind == IR_ATTR_INT || attr->kind == IR_ATTR_INTS)
        g_string_append_printf (text, "%" G_GINT64_FORMAT ",", attr->ints[i]);
      else if (attr->kind == IR_ATTR_FLOAT || attr->kind == IR_ATTR_FLOATS)
        g_string_append_printf (text, "%a,", (double) attr->floats[i]);
      else if (attr->kind == IR_ATTR_STRING || attr->kind == IR_ATTR_STRINGS)
        g_string_append_len (text, attr->strings[i].data, (gssize) attr->strings[i].length);
      else if (attr->kind == IR_ATTR_TENSOR || attr->kind == IR_ATTR_TENSORS)
        g_string_append (text, "tensor,");
      else
        g_string_append_printf (text, "%p,", (gconstpointer) attr); /* itself alone */
    }
}

static void
write_input (GString *text, const IrValue *value, GHashTable *index)
{
  const gpointer at = value != NULL && value->producer != NULL
                          ? g_hash_table_lookup (index, value->producer)
                          : NULL;

  if (value == NULL)
    g_string_append (text, " -");
  else if (at != NULL)
    g_string_append_printf (text, " %u.%u", GPOINTER_TO_UINT (at), value->output_slot);
  else if (ir_value_constant (value) != NULL)
    {
      g_autofree char *type = scene_type_text (value);
      g_string_append_printf (text, " c%s", type != NULL ? type : "");
    }
  else
    g_string_append (text, " x");
}

/* What a copy is, whatever it is called and wherever it stands. */
static char *
canonical_text (const Copy *copy)
{
  g_autoptr (GHashTable) index = g_hash_table_new (NULL, NULL);
  GString *text = g_string_new (NULL);
  const gsize length = strlen (copy->name);

  for (guint i = 0; i < copy->nodes->len; i++)
    g_hash_table_insert (index, copy->nodes->pdata[i], GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < copy->nodes->len; i++)
    {
      const IrNode *node = copy->nodes->pdata[i];

      g_string_append_printf (text, "%s.%s %s", node->domain, node->op_type, node->scope + length);
      for (guint k = 0; k < node->n_attrs; k++)
        write_attr (text, node->attrs[k]);
      for (guint k = 0; k < node->n_inputs; k++)
        write_input (text, node->inputs[k], index);
      g_string_append_printf (text, " > %u\n", node->n_outputs);
    }
  return g_string_free (text, FALSE);
}

typedef struct
{
  GHashTable *series; /* key of a group -> Series */
  GHashTable *copies; /* key of a scope -> Copy */
  GStringChunk *names;
} Collect;

static void
collect_scope (Collect *c, const IrNode *node, guint64 graph, gsize length)
{
  g_autofree char *group = scene_repeat_fold (graph, node->scope, length);
  g_autofree char *scope = NULL;
  Copy *copy;

  if (group == NULL)
    return;
  scope = scene_scope_fold (graph, node->scope, length);
  copy = g_hash_table_lookup (c->copies, scope);
  if (copy == NULL)
    {
      Series *series = g_hash_table_lookup (c->series, group);

      if (series == NULL)
        {
          series = g_new0 (Series, 1);
          series->copies = g_ptr_array_new ();
          g_hash_table_insert (c->series, g_strdup (group), series);
        }
      copy = g_new0 (Copy, 1);
      copy->name = g_string_chunk_insert_len (c->names, node->scope, (gssize) length);
      copy->nodes = g_ptr_array_new ();
      g_hash_table_insert (c->copies, g_strdup (scope), copy);
      g_ptr_array_add (series->copies, copy);
    }
  g_ptr_array_add (copy->nodes, (gpointer) node);
}

static void
collect (Collect *c, const IrDiff *diff, const IrModel *model)
{
  for (guint id = 1; id < model->graphs->len; id++)
    {
      const IrGraph *graph = ir_model_graph (model, id);
      guint64 key;
      guint n;

      if (graph == NULL || graph->state != IR_STATE_LIVE || graph->kind == IR_GRAPH_FUNCTION)
        continue;
      key = scene_graph_key (diff, graph, TRUE);
      IrNode *const *order = ir_graph_order (graph, &n);
      for (guint i = 0; i < n; i++)
        for (const char *p = order[i]->scope; p != NULL && *p != '\0'; p++)
          if (p[1] == '/' || p[1] == '\0')
            collect_scope (c, order[i], key, (gsize) (p + 1 - order[i]->scope));
    }
}

/* The text that most copies have, and which do not have it. */
static gboolean
judge (const Series *series, GString *differ)
{
  g_autoptr (GHashTable) counts = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);
  const char *usual = NULL;
  guint most = 0, n_differ = 0;

  for (guint i = 0; i < series->copies->len; i++)
    {
      char *text = canonical_text (series->copies->pdata[i]);
      const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, text)) + 1;

      g_ptr_array_add (texts, text);
      g_hash_table_insert (counts, text, GUINT_TO_POINTER (n));
      if (n > most)
        {
          most = n;
          usual = text;
        }
    }
  if (2 * most < series->copies->len || most < 2)
    return FALSE;
  for (guint i = 0; i < texts->len; i++)
    if (strcmp (texts->pdata[i], usual) != 0)
      {
        const char *name = ((const Copy *) series->copies->pdata[i])->name;
        const char *slash = strrchr (name, '/');

        if (n_differ++ < MAX_NAMED)
          g_string_append_printf (differ, "%s%s", differ->len > 0 ? ", " : "",
                                  slash != NULL ? slash + 1 : name);
      }
  if (n_differ > MAX_NAMED)
    g_string_append_printf (differ, " and %u more", n_differ - MAX_NAMED);
  return TRUE;
}

static void
free_repeat (gpointer data)
{
  SceneRepeat *repeat = data;

  g_free (repeat->title);
  g_free (repeat->differ);
  g_free (repeat);
}

/* Groups of copies in @model: key of the group -> SceneRepeat */
GHashTable *
scene_repeats_new (const IrDiff *diff, const IrModel *model)
{
  GHashTable *repeats = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_repeat);
  Collect c = {
    .series = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_series),
    .copies = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_copy),
    .names = g_string_chunk_new (1024),
  };
  GHashTableIter iter;
  gpointer key, value;

  collect (&c, diff, model);
  g_hash_table_iter_init (&iter, c.series);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      const Series *series = value;
      g_autoptr (GString) differ = g_string_new (NULL);
      const Copy *first = series->copies->pdata[0];
      SceneRepeat *repeat;

      if (series->copies->len < LEAST_COPIES || first->nodes->len < 2 || !judge (series, differ))
        continue;
      repeat = g_new0 (SceneRepeat, 1);
      repeat->title = repeat_title (first->name, number_of (first->name, strlen (first->name)),
                                    series->copies->len);
      if (differ->len > 0)
        repeat->differ = g_strdup_printf ("differ: %s", differ->str);
      g_hash_table_insert (repeats, g_strdup (key), repeat);
    }
  g_hash_table_unref (c.series);
  g_hash_table_unref (c.copies);
  g_string_chunk_free (c.names);
  return repeats;
}

/* -- arithmetic on shapes -- */

typedef struct
{
  const IrDiff *diff;
  GHashTable *levels; /* node -> how often the way to it has left such arithmetic */
  GHashTable *parts;  /* node of such arithmetic -> the one that its part is called by */
} Shapes;

static gboolean
is_short_integer (const IrValue *value)
{
  const IrType *type = value != NULL ? ir_value_shown_type (value) : NULL;

  return type != NULL && ir_type_is_tensor (type) && type->rank >= 0 && type->rank <= 1 &&
         (type->dtype == IR_DTYPE_INT64 || type->dtype == IR_DTYPE_INT32 ||
          type->dtype == IR_DTYPE_BOOL) &&
         !ir_value_is_graph_output (value);
}

static gboolean
is_same (const Shapes *s, const IrNode *node)
{
  const IrNode *a, *b;

  return s->diff == NULL || scene_find_sides (s->diff, node, node->graph->model == s->diff->b, &a,
                                              &b) == IR_SCENE_SAME;
}

static gboolean
is_part (const Shapes *s, const IrNode *node)
{
  guint n_shapes = 0;

  if (node->op == NULL || (node->op->flags & (IR_OP_RANDOM | IR_OP_SUBGRAPHS)) != 0 ||
      node->n_outputs == 0 || !is_same (s, node))
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (!is_short_integer (node->outputs[i]))
      return FALSE;
  if (ir_op_is (node, IR_OP_SHAPE) || ir_op_is (node, IR_OP_SIZE))
    return TRUE;
  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *value = node->inputs[i];

      if (value == NULL || ir_value_constant (value) != NULL)
        continue;
      if (value->producer == NULL || !g_hash_table_contains (s->parts, value->producer))
        return FALSE;
      n_shapes++;
    }
  return n_shapes > 0;
}

static const IrNode *
root_of (const Shapes *s, const IrNode *node)
{
  const IrNode *up;

  while ((up = g_hash_table_lookup (s->parts, node)) != node)
    node = up;
  return node;
}

static guint
level_of (const Shapes *s, const IrNode *node)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (s->levels, node));
}

static void
visit (Shapes *s, const IrNode *node)
{
  const gboolean part = is_part (s, node);
  guint level = 0;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrNode *from = node->inputs[i] != NULL ? node->inputs[i]->producer : NULL;

      if (from != NULL)
        level = MAX (level, level_of (s, from) +
                                (!part && g_hash_table_contains (s->parts, from) ? 1 : 0));
    }
  g_hash_table_insert (s->levels, (gpointer) node, GUINT_TO_POINTER (level));
  if (!part)
    return;
  g_hash_table_insert (s->parts, (gpointer) node, (gpointer) node);
  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrNode *from = node->inputs[i] != NULL ? node->inputs[i]->producer : NULL;

      if (from == NULL || !g_hash_table_contains (s->parts, from) || level_of (s, from) != level ||
          from->graph != node->graph || g_strcmp0 (from->scope, node->scope) != 0)
        continue;
      const IrNode *a = root_of (s, from), *b = root_of (s, node);
      if (a != b) /* the one with the smaller id names the part */
        g_hash_table_insert (s->parts, (gpointer) (a->id < b->id ? b : a),
                             (gpointer) (a->id < b->id ? a : b));
    }
}

/* Parts of more than one node: node -> id of the node that the part is called by */
GHashTable *
scene_shapes_new (const IrDiff *diff, const IrModel *model)
{
  Shapes s = { diff, g_hash_table_new (NULL, NULL), g_hash_table_new (NULL, NULL) };
  g_autoptr (GHashTable) sizes = g_hash_table_new (NULL, NULL);
  GHashTable *shapes = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer node;

  for (guint id = 1; id < model->graphs->len; id++)
    {
      const IrGraph *graph = ir_model_graph (model, id);
      guint n;

      if (graph == NULL || graph->state != IR_STATE_LIVE || graph->kind == IR_GRAPH_FUNCTION)
        continue;
      IrNode *const *order = ir_graph_order (graph, &n);
      for (guint i = 0; i < n; i++)
        visit (&s, order[i]);
    }
  for (guint pass = 0; pass < 2; pass++)
    {
      g_hash_table_iter_init (&iter, s.parts);
      while (g_hash_table_iter_next (&iter, &node, NULL))
        {
          const IrNode *root = root_of (&s, node);
          const guint size = GPOINTER_TO_UINT (g_hash_table_lookup (sizes, root));

          if (pass == 0)
            g_hash_table_insert (sizes, (gpointer) root, GUINT_TO_POINTER (size + 1));
          else if (size > 1)
            g_hash_table_insert (shapes, node, GUINT_TO_POINTER (root->id));
        }
    }
  g_hash_table_unref (s.levels);
  g_hash_table_unref (s.parts);
  return shapes;
}

char *
scene_shape_fold (IrNodeId root)
{
  return g_strdup_printf (SCENE_SHAPE_FOLD "%u", root);
}
