#include "config.h"

#include "views/graph/search.h"

#include "core/exec/exec.h"
#include "core/layout/scene.h"
#include "views/session/runs.h"

#define MAX_LOOKED_AT (64u << 20) /* elements of values, of what is looked for by contents */

G_DEFINE_FINAL_TYPE (IrFound, ir_found, G_TYPE_OBJECT)

static void
ir_found_finalize (GObject *object)
{
  IrFound *self = IR_FOUND (object);

  g_free (self->title);
  g_free (self->name);
  g_free (self->scope);
  g_free (self->shape);
  G_OBJECT_CLASS (ir_found_parent_class)->finalize (object);
}

static void
ir_found_class_init (IrFoundClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_found_finalize;
}

static void
ir_found_init (IrFound *self)
{
}

typedef struct
{
  IrSession *session;
  const IrFrame *frame;
  const IrQuery *query;
  GListStore *found;
  guint64 left; /* elements that may still be looked at */
} Search;

static char *
shape_of (const IrValue *value)
{
  const IrType *type = value != NULL ? ir_value_shown_type (value) : NULL;

  return type != NULL ? ir_type_to_string (value->graph->model->context, type) : g_strdup ("");
}

/* What constants hold, and what the last run gave. */
static gboolean
holds (const IrValue *value, IrQueryContent content, gpointer data)
{
  Search *search = data;
  const IrTensor *constant = ir_value_constant (value);
  g_autoptr (IrTensor) tensor = NULL;
  IrTensorStats stats;

  if (!ir_dtype_is_float (ir_value_dtype (value)))
    return FALSE;
  if (constant == NULL && value->graph->model == search->frame->model)
    tensor = ir_session_dup_tensor (search->session, value->id, IR_SIDE_AFTER, NULL);
  if (constant == NULL)
    constant = tensor;
  if (constant == NULL || (guint64) ir_tensor_n_elements (constant) > search->left)
    return FALSE;
  search->left -= (guint64) ir_tensor_n_elements (constant);
  ir_tensor_stats (constant, 1, &stats);
  return content == IR_QUERY_NAN ? stats.n_nan > 0 : stats.n_pos_inf + stats.n_neg_inf > 0;
}

static const char *
state_name (const Search *search, const IrNode *node, gboolean later)
{
  static const IrSceneState states[IR_N_DIFF_KINDS] = {
    [IR_DIFF_ADDED] = IR_SCENE_NEW,
    [IR_DIFF_REMOVED] = IR_SCENE_REMOVED,
    [IR_DIFF_CHANGED] = IR_SCENE_CHANGED,
  };
  const IrNodeDiff *row = later ? ir_diff_of_b (search->frame->diff, node->id)
                                : ir_diff_of_a (search->frame->diff, node->id);

  return row != NULL && row->kind != IR_DIFF_SAME ? ir_scene_state_name (states[row->kind]) : NULL;
}

static void
add_node (Search *search, const IrNode *node, IrNodeId id)
{
  IrFound *found = g_object_new (IR_TYPE_FOUND, NULL);

  found->node = id;
  found->title = g_strdup (node->op_type);
  found->name = g_strdup (node->name);
  found->scope = g_strdup (node->scope != NULL ? node->scope : "");
  found->shape = shape_of (ir_node_output (node, 0));
  g_list_store_append (search->found, found);
  g_object_unref (found);
}

static void
search_nodes (Search *search, const IrModel *model, gboolean later)
{
  const IrNodeId other = later || !search->frame->foreign ? 0 : IR_OTHER_SIDE;

  for (guint id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);
      IrQueryFacts facts = { .holds = holds, .data = search };

      if (node == NULL || node->graph->kind == IR_GRAPH_FUNCTION)
        continue;
      facts.also = state_name (search, node, later);
      if (!later && (facts.also == NULL || ir_diff_of_a (search->frame->diff, id)->b != 0))
        continue; /* on the other side as well */
      if (ir_query_matches_node (search->query, node, &facts))
        add_node (search, node, id | other);
    }
}

static void
search_inputs (Search *search)
{
  const IrModel *model = search->frame->model;
  const IrQueryFacts facts = { .holds = holds, .data = search, .also = "input" };

  for (guint id = 1; id < model->graphs->len; id++)
    {
      const IrGraph *graph = ir_model_graph (model, id);

      if (graph == NULL || graph->state != IR_STATE_LIVE || graph->kind == IR_GRAPH_FUNCTION)
        continue;
      for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
        {
          const IrValue *value = ir_graph_input (graph, i);
          IrFound *found;

          if (value == NULL || ir_value_constant (value) != NULL ||
              !ir_query_matches_value (search->query, value, &facts))
            continue;
          found = g_object_new (IR_TYPE_FOUND, NULL);
          found->value = value->id;
          found->title = g_strdup ("Input");
          found->name = g_strdup (value->name);
          found->scope = g_strdup ("");
          found->shape = shape_of (value);
          g_list_store_append (search->found, found);
          g_object_unref (found);
        }
    }
}

GListStore *
ir_search_frame (IrSession *session, const IrFrame *frame, const char *text, GError **error)
{
  g_autoptr (IrQuery) query = ir_query_new (text, error);
  g_autoptr (GListStore) found = g_list_store_new (IR_TYPE_FOUND);
  Search search = { session, frame, query, found, MAX_LOOKED_AT };

  if (query == NULL)
    return NULL;
  if (!ir_query_is_empty (query))
    {
      search_nodes (&search, frame->model, TRUE);
      if (frame->from != frame->to || frame->foreign)
        search_nodes (&search, frame->before, FALSE);
      search_inputs (&search);
    }
  return g_steal_pointer (&found);
}
