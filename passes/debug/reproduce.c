/* Cutting the smallest failing part out of a graph.
 *
 * The seed is what the step found has read and written: nodes that it removed or changed. Values
 * that lead into a part become its inputs, with the contents that they had in a run of the graph
 * before the step; those that lead out become its outputs. On each part the pass is run alone and
 * the result measured as any history is. While nothing fails there, the part grows by the nodes
 * next to it (a rule may look around: at users, at shapes), at last to the whole graph; then nodes
 * are taken away one by one while it goes on failing.
 *
 * What fails in a part is that its outputs differ by at least half of what the step changed: the
 * values that the user's condition names need not lie in it. Conditions that measure the graph as a
 * whole (nodes, flops, memory, commands) keep the graph whole.
 *
 * Cost: one run of the graph with all values kept, and a run of a part per try. */
#include "config.h"

#include "passes/debug/reproduce.h"

#include "core/act/act.h"

#include <math.h>
#include <string.h>

#define MAX_SHRINK 64 /* nodes of a part that is tried to be made smaller one by one */

void
ir_reproducer_clear (IrReproducer *result)
{
  g_clear_pointer (&result->model, ir_model_unref);
  g_clear_pointer (&result->inputs, g_hash_table_unref);
  g_clear_pointer (&result->predicate, g_free);
}

typedef struct
{
  IrTrial *trial;
  IrModel *before; /* (owned) the graph before the step */
  IrRun *run;      /* (owned) of it, all values kept */
  const IrReproduceOptions *options;
  IrReproducer *result;
} Search;

static void
search_clear (Search *search)
{
  g_clear_pointer (&search->before, ir_model_unref);
  g_clear_pointer (&search->run, ir_run_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Search, search_clear)

/* -- sets of nodes of the main graph, by id -- */

/* The node of the main graph that @node is or lies in; NULL in functions. */
static IrNode *
main_node (const IrModel *model, IrNode *node)
{
  while (node != NULL && node->graph->kind == IR_GRAPH_SUBGRAPH)
    node = ir_model_live_node (model, node->graph->owner);
  return node != NULL && node->graph == model->main ? node : NULL;
}

static gboolean
add_node (GHashTable *set, const IrModel *model, IrNodeId id)
{
  const IrNode *node = main_node (model, ir_model_live_node (model, id));

  return node != NULL && g_hash_table_add (set, GUINT_TO_POINTER (node->id));
}

static gboolean
has_node (GHashTable *set, const IrNode *node)
{
  return node != NULL && g_hash_table_contains (set, GUINT_TO_POINTER (node->id));
}

/* Constants cost nothing, and rules look at them. */
static void
add_constants (GHashTable *set, const IrModel *model)
{
  g_autoptr (GList) ids = g_hash_table_get_keys (set);

  for (GList *l = ids; l != NULL; l = l->next)
    {
      const IrNode *node = ir_model_live_node (model, GPOINTER_TO_UINT (l->data));

      ir_node_for_each_input (node, i, input)
        {
          if (input->producer != NULL && ir_value_constant (input) != NULL)
            add_node (set, model, input->producer->id);
        }
    }
}

static GHashTable *
touched_nodes (const Search *search, const IrStep *step)
{
  GHashTable *set = g_hash_table_new (NULL, NULL);

  add_node (set, search->before, step->anchor);
  for (guint i = 0; step->nodes != NULL && i < step->nodes->len; i++)
    add_node (set, search->before, g_array_index (step->nodes, IrIdPair, i).before);
  for (guint i = 0; step->values != NULL && i < step->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (search->before,
                                                  g_array_index (step->values, IrIdPair, i).before);
      if (value != NULL && value->producer != NULL)
        add_node (set, search->before, value->producer->id);
    }
  add_constants (set, search->before);
  return set;
}

/* With all nodes next to those of @set. FALSE if there were none. */
static gboolean
grow (GHashTable *set, const IrModel *model)
{
  g_autoptr (GList) ids = g_hash_table_get_keys (set);
  gboolean grown = FALSE;

  for (GList *l = ids; l != NULL; l = l->next)
    {
      const IrNode *node = ir_model_live_node (model, GPOINTER_TO_UINT (l->data));

      ir_node_for_each_input (node, i, input)
        {
          if (input->producer != NULL)
            grown |= add_node (set, model, input->producer->id);
        }
      for (guint i = 0; i < node->n_outputs; i++)
        for (guint k = 0; node->outputs[i] != NULL && k < node->outputs[i]->n_uses; k++)
          {
            IrUse use = ir_value_use (node->outputs[i], k);
            grown |= use.node != NULL && add_node (set, model, use.node->id);
          }
    }
  add_constants (set, model);
  return grown;
}

/* -- cutting out -- */

static gboolean
leads_out (GHashTable *set, const IrModel *model, const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);

      if (use.node == NULL ? use.graph == model->main
                           : !has_node (set, main_node (model, use.node)))
        return TRUE;
    }
  return FALSE;
}

static void
set_outputs (IrEdit *edit, GHashTable *set)
{
  IrModel *model = ir_edit_model (edit);
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  for (guint i = 0; i < n; i++)
    for (guint k = 0; has_node (set, order[i]) && k < order[i]->n_outputs; k++)
      {
        IrValue *value = order[i]->outputs[k];

        if (value != NULL && !ir_node_is_constant (order[i]) && leads_out (set, model, value))
          g_ptr_array_add (outputs, value);
      }
  ir_edit_set_graph_outputs (edit, model->main, (IrValue *const *) outputs->pdata, outputs->len);
}

static void
remove_others (IrEdit *edit, GHashTable *set)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (ir_edit_model (edit)->main);

  for (guint i = nodes->len; i > 0; i--)
    {
      IrNode *node = nodes->pdata[i - 1];

      while (node->controls != NULL && node->controls->n > 0)
        ir_edit_remove_control (edit, node,
                                ir_model_node (ir_edit_model (edit), node->controls->ids[0]));
      if (has_node (set, node))
        continue;
      for (guint k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != NULL && node->outputs[k]->n_uses > 0)
          ir_edit_set_output (edit, node, k, NULL);
      ir_edit_remove_node (edit, node);
    }
}

/* The contents that a value had become its type where that is not known. */
static void
make_input (IrEdit *edit, IrValue *value, const IrTensor *contents)
{
  IrContext *context = ir_edit_model (edit)->context;
  guint rank = ir_tensor_is_container (contents) ? 0 : ir_tensor_rank (contents);
  IrDim dims[IR_MAX_RANK];

  if (!ir_tensor_is_container (contents) && !ir_type_has_rank (value->type))
    {
      for (guint i = 0; i < rank; i++)
        dims[i] = ir_tensor_dims (contents)[i];
      ir_edit_set_type (edit, value,
                        ir_type_tensor (context, ir_tensor_dtype (contents), (int) rank, dims));
    }
  ir_edit_set_claim (edit, value, NULL);
  ir_edit_set_flags (edit, value, value->flags | IR_VALUE_DECLARED);
}

static gboolean
set_inputs (const Search *search, IrEdit *edit, GHashTable *contents)
{
  IrModel *model = ir_edit_model (edit);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  g_autoptr (GPtrArray) unused = g_ptr_array_new ();
  guint n;
  IrValue *const *values = ir_graph_values (model->main, &n);

  for (guint i = 0; i < n; i++)
    {
      const IrTensor *tensor = NULL;

      if (values[i]->n_uses == 0 && values[i]->producer == NULL)
        g_ptr_array_add (unused, values[i]);
      else if (values[i]->producer == NULL && ir_value_constant (values[i]) == NULL)
        {
          tensor = ir_trial_contents (search->trial, search->run, values[i]->id);
          if (tensor == NULL && values[i]->initializer == NULL)
            return FALSE;
          g_ptr_array_add (inputs, values[i]);
        }
      if (tensor != NULL)
        g_hash_table_insert (contents, GUINT_TO_POINTER (values[i]->id),
                             ir_tensor_ref ((IrTensor *) tensor));
    }
  ir_edit_set_graph_inputs (edit, model->main, (IrValue *const *) inputs->pdata, inputs->len);
  for (guint i = 0; i < inputs->len; i++)
    {
      const IrTensor *tensor = g_hash_table_lookup (
          contents, GUINT_TO_POINTER (((IrValue *) inputs->pdata[i])->id));
      if (tensor != NULL)
        make_input (edit, inputs->pdata[i], tensor);
    }
  for (guint i = 0; i < unused->len; i++)
    ir_edit_remove_value (edit, unused->pdata[i]);
  return TRUE;
}

/* What the file says of the whole network is not of a part of it. */
static void
forget_file (IrEdit *edit)
{
  IrModelInfo info = *ir_edit_model (edit)->info;

  info.extra = (IrExtra){ 0 };
  ir_edit_set_info (edit, &info);
  ir_edit_set_graph_extra (edit, ir_edit_model (edit)->main, NULL);
  ir_act_remove_functions (edit);
}

/* (transfer full) (nullable): the nodes of @set as a model; NULL if some input was not computed. */
static IrModel *
cut_out (const Search *search, GHashTable *set, GHashTable *contents)
{
  g_autoptr (IrModel) part = ir_model_clone (search->before);
  g_autoptr (IrEdit) edit = ir_edit_new_import (part);

  set_outputs (edit, set);
  remove_others (edit, set);
  forget_file (edit);
  if (!set_inputs (search, edit, contents))
    return NULL;
  return g_steal_pointer (&part);
}

/* -- trying -- */

static IrPipeline *
pipeline_of (const IrPass *pass)
{
  IrPipeline *pipeline = g_new0 (IrPipeline, 1);

  pipeline->name = g_strdup (pass->name);
  pipeline->title = g_strdup (pass->title);
  pipeline->doc = g_strdup ("");
  pipeline->passes = g_ptr_array_new ();
  g_ptr_array_add (pipeline->passes, (gpointer) pass);
  pipeline->max_iterations = 1;
  return pipeline;
}

/* Fails as ir_pipeline_run() and ir_bisect() do. Returns FALSE if it could not be told. @model:
 * a model without steps; the pass is run on it. @found: the bisection; clear with
 * ir_bisection_clear(). */
gboolean
ir_reproduce_check (IrModel *model,
                    GHashTable *inputs,
                    const char *predicate,
                    const IrReproduceOptions *options,
                    IrBisection *found,
                    GError **error)
{
  g_autoptr (IrPipeline) pipeline = pipeline_of (options->pass);
  IrPipelineOptions how = { .max_class = options->max_class, .backend = options->backend };
  g_autoptr (IrPredicate) parsed = NULL;
  g_autoptr (IrTrial) trial = NULL;

  memset (found, 0, sizeof *found);
  if (!ir_pipeline_run (model, pipeline, &how, NULL, options->cancellable, error))
    return FALSE;
  parsed = ir_predicate_parse (predicate, error);
  if (parsed == NULL)
    return FALSE;
  trial = ir_trial_new (model, inputs, options->backend, options->n_threads, options->cancellable);
  return ir_bisect (trial, parsed, NULL, NULL, found, error);
}

/* A part that does not run by itself, or in which a name is not unique, is none that fails. */
static gboolean
try_set (Search *search, GHashTable *set, gboolean *fails, GError **error)
{
  g_autoptr (GHashTable)
      contents = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_autoptr (IrModel) part = cut_out (search, set, contents);
  IrReproducer *result = search->result;
  g_auto (IrBisection) found = { 0 };
  g_autoptr (GError) local = NULL;

  *fails = FALSE;
  if (search->options->cancellable != NULL &&
      g_cancellable_set_error_if_cancelled (search->options->cancellable, error))
    return FALSE;
  if (part == NULL || ir_graph_n_outputs (part->main) == 0)
    return TRUE;
  result->tries++;
  if (!ir_reproduce_check (part, contents, result->predicate, search->options, &found, &local) ||
      found.answer != IR_BISECT_FOUND)
    return TRUE;
  *fails = TRUE;
  g_clear_pointer (&result->model, ir_model_unref);
  g_clear_pointer (&result->inputs, g_hash_table_unref);
  result->model = g_steal_pointer (&part);
  result->inputs = g_steal_pointer (&contents);
  result->step = found.step;
  result->value = found.value;
  return TRUE;
}

static gboolean
shrink (Search *search, GHashTable *set, GError **error)
{
  g_autoptr (GList) ids = NULL;

  if (g_hash_table_size (set) > MAX_SHRINK)
    return TRUE;
  ids = g_hash_table_get_keys (set);
  for (GList *l = ids; l != NULL && g_hash_table_size (set) > 1; l = l->next)
    {
      gboolean fails;

      g_hash_table_remove (set, l->data);
      if (!try_set (search, set, &fails, error))
        return FALSE;
      if (!fails)
        g_hash_table_add (set, l->data);
    }
  return TRUE;
}

static gboolean
search_parts (Search *search, const IrStep *step, gboolean *found, GError **error)
{
  g_autoptr (GHashTable) set = touched_nodes (search, step);
  guint n_all = g_hash_table_size (set);

  ir_graph_order (search->before->main, &n_all);
  *found = FALSE;
  while (g_hash_table_size (set) > 0 && g_hash_table_size (set) < n_all)
    {
      if (!try_set (search, set, found, error))
        return FALSE;
      if (*found)
        return shrink (search, set, error);
      if (!grow (set, search->before))
        return TRUE;
    }
  return TRUE;
}

/* The whole graph before the step, with the condition as it was given. */
static gboolean
take_whole (Search *search, const char *predicate, GError **error)
{
  IrReproducer *result = search->result;
  g_auto (IrBisection) found = { 0 };

  g_free (result->predicate);
  result->predicate = g_strdup (predicate);
  result->is_whole = TRUE;
  result->model = ir_model_clone (search->before);
  result->inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  for (guint i = 0; i < ir_graph_n_inputs (result->model->main); i++)
    {
      const IrValue *input = ir_graph_input (result->model->main, i);
      const IrTensor *tensor = ir_trial_contents (search->trial, search->run, input->id);

      if (tensor != NULL)
        g_hash_table_insert (result->inputs, GUINT_TO_POINTER (input->id),
                             ir_tensor_ref ((IrTensor *) tensor));
    }
  result->tries++;
  if (!ir_reproduce_check (result->model, result->inputs, predicate, search->options, &found,
                           error))
    return FALSE;
  result->step = found.step;
  result->value = found.value;
  return TRUE;
}

/* If the pass, run alone on the graph before the step, does not make the failure even on the
 * whole graph, @result->step is 0. Returns FALSE if it could not be told. */
gboolean
ir_reproduce (IrTrial *trial,
              const IrBisection *found,
              const char *predicate,
              const IrReproduceOptions *options,
              IrReproducer *result,
              GError **error)
{
  g_auto (Search) search = { .trial = trial, .options = options, .result = result };
  const IrStep *step = ir_history_step (ir_trial_history (trial), found->step);
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  gboolean done = FALSE, local = found->diverges != 0 || found->problem != NULL;

  g_return_val_if_fail (found->answer == IR_BISECT_FOUND, FALSE);
  memset (result, 0, sizeof *result);
  search.before = ir_history_snapshot (ir_trial_history (trial), found->step - 1);
  search.run = ir_trial_run (trial, found->step - 1, NULL, error);
  if (search.run == NULL)
    return FALSE;
  result->n_whole = ir_model_n_counted_nodes (search.before);
  if (found->problem != NULL)
    result->predicate = g_strdup ("max_abs(*) > 0");
  else if (found->diverges != 0 && isinf (found->change.max_abs))
    result->predicate = g_strdup ("max_abs(*) >= inf");
  else if (found->diverges != 0)
    result->predicate = g_strconcat (
        "max_abs(*) > ", g_ascii_formatd (number, sizeof number, "%.3g", found->change.max_abs / 2),
        NULL);
  if (local && !search_parts (&search, step, &done, error))
    return FALSE;
  if (!done && !take_whole (&search, predicate, error))
    return FALSE;
  g_autoptr (IrModel) part = ir_history_snapshot (result->model, 0);
  result->n_part = ir_model_n_counted_nodes (part);
  return TRUE;
}
