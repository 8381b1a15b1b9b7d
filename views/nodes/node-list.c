/* Rows are made as they come into sight: a graph may have 100,000. */
#include "config.h"

#include "views/nodes/node-list.h"

#include "core/query/query.h"

#include <string.h>

struct _IrNodeRow
{
  GObject parent;
  IrModel *model; /* frozen */
  IrNodeId node;
};

G_DEFINE_FINAL_TYPE (IrNodeRow, ir_node_row, G_TYPE_OBJECT)

static void
ir_node_row_finalize (GObject *object)
{
  ir_model_unref (IR_NODE_ROW (object)->model);
  G_OBJECT_CLASS (ir_node_row_parent_class)->finalize (object);
}

static void
ir_node_row_class_init (IrNodeRowClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_node_row_finalize;
}

static void
ir_node_row_init (IrNodeRow *self)
{
}

static const IrNode *
node_of (IrNodeRow *self)
{
  return ir_model_node (self->model, self->node);
}

IrNodeId
ir_node_row_get_node (IrNodeRow *self)
{
  return self->node;
}

static const IrType *
type_of (IrNodeRow *self)
{
  const IrValue *output = ir_node_output (node_of (self), 0);
  const IrType *type = output != NULL ? ir_value_shown_type (output) : NULL;

  return type;
}

static char *
inputs_text (const IrNode *node)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < node->n_inputs; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? ", " : "",
                            node->inputs[i] != NULL ? node->inputs[i]->name : "–");
  return g_string_free (text, FALSE);
}

char *
ir_node_row_text (IrNodeRow *self, IrNodeColumn column)
{
  const IrNode *node = node_of (self);
  const IrType *type = type_of (self);
  const gboolean is_tensor = type != NULL && ir_type_is_tensor (type);
  g_autofree char *text = NULL;
  char *bracket;

  switch (column)
    {
    case IR_NODE_COLUMN_OPERATOR:
      return g_strdup (node->op_type);
    case IR_NODE_COLUMN_NAME:
      return node->name[0] != '\0' ? g_strdup (node->name) : ir_node_label (node);
    case IR_NODE_COLUMN_INPUTS:
      return inputs_text (node);
    case IR_NODE_COLUMN_TYPE:
      return is_tensor      ? g_strdup (ir_dtype_name (type->dtype))
             : type != NULL ? ir_type_to_string (self->model->context, type)
                            : g_strdup ("");
    case IR_NODE_COLUMN_SHAPE:
    case IR_N_NODE_COLUMNS:
    default:
      text = is_tensor ? ir_type_to_string (self->model->context, type) : g_strdup ("");
      bracket = strchr (text, '[');
      return g_strdup (bracket != NULL ? bracket : is_tensor && type->rank == 0 ? "[]" : "");
    }
}

/* Elements, where that is known. */
static gint64
size_of (const IrType *type)
{
  gint64 n = 1;

  if (type == NULL || !ir_type_is_tensor (type) || !ir_type_has_rank (type))
    return -1;
  for (int i = 0; i < type->rank; i++)
    n = ir_dim_is_known (type->dims[i]) ? n * type->dims[i] : n;
  return n;
}

/* Shapes by their size, inputs by their number; what is equal as the graph has it. */
int
ir_node_row_compare (IrNodeRow *a, IrNodeRow *b, IrNodeColumn column)
{
  const IrNode *one = node_of (a), *two = node_of (b);
  gint64 order = 0;

  if (column == IR_NODE_COLUMN_OPERATOR)
    order = strcmp (one->op_type, two->op_type);
  else if (column == IR_NODE_COLUMN_NAME)
    order = strcmp (one->name, two->name);
  else if (column == IR_NODE_COLUMN_INPUTS)
    order = (gint64) one->n_inputs - two->n_inputs;
  else if (column == IR_NODE_COLUMN_SHAPE)
    order = size_of (type_of (a)) - size_of (type_of (b));
  else
    {
      g_autofree char *first = ir_node_row_text (a, column), *second = ir_node_row_text (b, column);

      order = strcmp (first, second);
    }
  if (order == 0)
    order = (gint64) a->node - b->node;
  return order < 0 ? -1 : order > 0;
}

/* -- the list -- */

struct _IrNodeList
{
  GObject parent;
  IrModel *model; /* (nullable) */
  GArray *nodes;  /* of IrNodeId: those that are shown */
  guint n_nodes;
};

static GType
ir_node_list_get_item_type (GListModel *model)
{
  return IR_TYPE_NODE_ROW;
}

static guint
ir_node_list_get_n_items (GListModel *model)
{
  return IR_NODE_LIST (model)->nodes->len;
}

static gpointer
ir_node_list_get_item (GListModel *model, guint position)
{
  IrNodeList *self = IR_NODE_LIST (model);
  IrNodeRow *row;

  if (position >= self->nodes->len)
    return NULL;
  row = g_object_new (IR_TYPE_NODE_ROW, NULL);
  row->model = ir_model_ref (self->model);
  row->node = g_array_index (self->nodes, IrNodeId, position);
  return row;
}

static void
ir_node_list_iface_init (GListModelInterface *iface)
{
  iface->get_item_type = ir_node_list_get_item_type;
  iface->get_n_items = ir_node_list_get_n_items;
  iface->get_item = ir_node_list_get_item;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (IrNodeList,
                               ir_node_list,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, ir_node_list_iface_init))

static void
ir_node_list_finalize (GObject *object)
{
  IrNodeList *self = IR_NODE_LIST (object);

  g_clear_pointer (&self->model, ir_model_unref);
  g_array_unref (self->nodes);
  G_OBJECT_CLASS (ir_node_list_parent_class)->finalize (object);
}

static void
ir_node_list_class_init (IrNodeListClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_node_list_finalize;
}

static void
ir_node_list_init (IrNodeList *self)
{
  self->nodes = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
}

IrNodeList *
ir_node_list_new (void)
{
  return g_object_new (IR_TYPE_NODE_LIST, NULL);
}

gboolean
ir_node_list_load (
    IrNodeList *self, IrModel *model, const char *text, const GtkBitset *among, GError **error)
{
  g_autoptr (IrQuery) query = ir_query_new (text, error);
  const IrQueryFacts facts = { 0 };
  const guint removed = self->nodes->len;

  g_clear_pointer (&self->model, ir_model_unref);
  self->model = model != NULL ? ir_model_ref (model) : NULL;
  self->n_nodes = 0;
  g_array_set_size (self->nodes, 0);
  for (IrNodeId id = 1; model != NULL && id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);

      if (node == NULL)
        continue;
      self->n_nodes++;
      if (among != NULL && !gtk_bitset_contains (among, id))
        continue;
      if (query == NULL || ir_query_is_empty (query) || ir_query_matches_node (query, node, &facts))
        g_array_append_val (self->nodes, id);
    }
  g_list_model_items_changed (G_LIST_MODEL (self), 0, removed, self->nodes->len);
  return query != NULL;
}

guint
ir_node_list_n_nodes (IrNodeList *self)
{
  return self->n_nodes;
}
