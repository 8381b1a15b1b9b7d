#include "config.h"

#include "tests/fuzz/gen.h"

#include "core/op/infer.h"

guint
gen_below (Gen *gen, guint n)
{
  return (guint) g_rand_int_range (gen->rand, 0, (gint) n);
}

gboolean
gen_one_in (Gen *gen, guint n)
{
  return gen_below (gen, n) == 0;
}

void
gen_shuffle (Gen *gen, gint64 *list, guint n)
{
  for (guint i = n; i > 1; i--)
    {
      guint k = gen_below (gen, i);
      gint64 swap = list[i - 1];
      list[i - 1] = list[k];
      list[k] = swap;
    }
}

IrTensor *
gen_held (Gen *gen, const IrValue *value)
{
  return g_hash_table_lookup (gen->tensors, value);
}

void
gen_offer (Gen *gen, IrValue *value, IrTensor *tensor)
{
  g_hash_table_insert (gen->tensors, value, ir_tensor_ref (tensor));
  g_ptr_array_add (gen->pool, value);
}

IrValue *
gen_tensor (Gen *gen, IrTensor *tensor)
{
  IrValue *value;

  if (gen_one_in (gen, 4))
    {
      IrNode *node = ir_edit_add_node (gen->edit, gen->graph, "Constant", "", "", 0, NULL, 1);
      ir_edit_set_attr (gen->edit, node, ir_attr_tensor (gen->context, "value", tensor));
      ir_infer_node (gen->edit, node, NULL);
      value = node->outputs[0];
    }
  else
    value = ir_edit_add_initializer (gen->edit, gen_one_in (gen, 4) ? gen->graph : gen->model->main,
                                     ir_edit_unique_name (gen->edit, "c"), tensor);
  g_hash_table_insert (gen->tensors, value, ir_tensor_ref (tensor));
  return value;
}

static char *
random_name (Gen *gen)
{
  return gen_one_in (gen, 3) ? g_strdup ("")
                             : g_strdup_printf ("node%u", gen_one_in (gen, 4) ? 1 : ++gen->n_names);
}

gboolean
gen_infer (Gen *gen, IrNode *node)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  ir_infer_node (gen->edit, node, problems);
  return ir_problems_count (problems, IR_SEVERITY_ERROR) == 0;
}

static gboolean
is_wanted (const Gen *gen, const IrTensor *tensor)
{
  if (ir_tensor_is_container (tensor))
    return gen->containers;
  return ir_tensor_rank (tensor) <= 6 && (gen->accepts == NULL || gen->accepts (tensor));
}

/* Adds a node and what it computes; NULL if it cannot be computed. */
IrNode *
gen_emit (Gen *gen,
          const char *op,
          const char *domain,
          guint n_in,
          IrValue *const *in,
          guint n_out,
          const IrAttr *const *attrs)
{
  const IrTensor *inputs[GEN_MAX_IN] = { NULL };
  IrTensor *outputs[GEN_MAX_IN] = { NULL };
  g_autofree char *name = random_name (gen);
  gboolean fits = TRUE;

  for (guint i = 0; i < n_in; i++)
    if (in[i] != NULL && (inputs[i] = gen_held (gen, in[i])) == NULL)
      return NULL;
  IrNode *node = ir_edit_add_node (gen->edit, gen->graph, op, domain, name, n_in, in, n_out);
  for (; attrs != NULL && *attrs != NULL; attrs++)
    ir_edit_set_attr (gen->edit, node, *attrs);
  gboolean known = node->op != NULL && (gen->accepts == NULL || node->op->domain != NULL ||
                                        node->op->since <= ir_graph_opset (gen->graph, ""));
  /* The bodies of irscope's own operators, which files carry, are for float. */
  fits = known &&
         (node->op->domain == NULL || inputs[0] == NULL ||
          ir_tensor_dtype (inputs[0]) == IR_DTYPE_FLOAT) &&
         ir_eval_node (node, inputs, outputs, ir_backend_find ("ref"), gen->output_limit, NULL) &&
         gen_infer (gen, node);
  for (guint i = 0; i < n_out; i++)
    if (outputs[i] == NULL || !is_wanted (gen, outputs[i]))
      fits = FALSE;
  for (guint i = 0; i < n_out && fits; i++)
    if (ir_tensor_is_container (outputs[i]))
      g_hash_table_insert (gen->tensors, node->outputs[i], ir_tensor_ref (outputs[i]));
    else
      gen_offer (gen, node->outputs[i], outputs[i]);
  for (guint i = 0; i < GEN_MAX_IN; i++)
    g_clear_pointer (&outputs[i], ir_tensor_unref);
  if (!fits)
    ir_edit_remove_node (gen->edit, node);
  return fits ? node : NULL;
}

/* One output; where it cannot be, the first input, so that chains go on. */
IrValue *
gen_one (Gen *gen, const char *op, IrValue *a, IrValue *b, const IrAttr *const *attrs)
{
  IrNode *node = gen_emit (gen, op, "", b != NULL ? 2 : 1, (IrValue *const[]){ a, b }, 1, attrs);
  return node != NULL ? node->outputs[0] : a;
}

IrGraph *
gen_enter (Gen *gen, const char *name)
{
  gen->graph = ir_edit_add_graph (gen->edit, IR_GRAPH_SUBGRAPH, name);
  gen->depth++;
  return gen->graph;
}

void
gen_leave (Gen *gen, IrGraph *outer)
{
  const IrGraph *left = gen->graph;

  gen->graph = outer;
  gen->depth--;
  for (guint i = gen->pool->len; i > 0; i--)
    if (((IrValue *) gen->pool->pdata[i - 1])->graph == left)
      g_ptr_array_remove_index (gen->pool, i - 1);
}

IrNode *
gen_add_owner (Gen *gen,
               const char *op,
               guint n_in,
               IrValue *const *in,
               guint n_out,
               const IrAttr *const *attrs)
{
  IrNode *node = ir_edit_add_node (gen->edit, gen->graph, op, "", "", n_in, in, n_out);

  for (; *attrs != NULL; attrs++)
    ir_edit_set_attr (gen->edit, node, *attrs);
  gen_infer (gen, node);
  return node;
}
