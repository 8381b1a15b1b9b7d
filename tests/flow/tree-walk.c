/* A tree walker: see tree-walk.h. */
#include "config.h"

#include "tests/flow/tree-walk.h"

#include "core/exec/ref/ref.h"
#include "core/ir/inline.h"

#include <string.h>

#define MAX_ROUNDS 100000

/* A graph that is being computed: each branch, iteration and call has one of its own. */
typedef struct _Scope
{
  const struct _Scope *outer; /* (nullable): of the graph around */
  const IrGraph *graph;
  GHashTable *known; /* IrValue -> IrTensor */
} Scope;

static void
scope_init (Scope *scope, const Scope *outer, const IrGraph *graph)
{
  scope->outer = outer;
  scope->graph = graph;
  scope->known = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
}

static void
scope_clear (Scope *scope)
{
  g_hash_table_unref (scope->known);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Scope, scope_clear)

static void
scope_set (const Scope *scope, const IrValue *value, IrTensor *tensor)
{
  g_hash_table_replace (scope->known, (gpointer) value, ir_tensor_ref (tensor));
}

static gboolean
fail (const IrNode *node, const char *what, GError **error)
{
  g_autofree char *label = ir_node_label (node);

  g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "tree walk: %s: %s", label, what);
  return FALSE;
}

static IrTensor *value_of (const Scope *scope, const IrValue *value, GError **error);

static GPtrArray *
new_tensors (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
}

/* What @graph gives for the first of its inputs, @inputs. (transfer full) (nullable) */
static GPtrArray *
walk_graph (const Scope *outer,
            const IrGraph *graph,
            IrTensor *const *inputs,
            guint n_inputs,
            GError **error)
{
  g_auto (Scope) scope = { NULL };
  g_autoptr (GPtrArray) results = new_tensors ();

  scope_init (&scope, outer, graph);
  for (guint i = 0; i < n_inputs; i++)
    scope_set (&scope, ir_graph_input (graph, i), inputs[i]);
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    {
      IrTensor *tensor = value_of (&scope, ir_graph_output (graph, i), error);
      if (tensor == NULL)
        return NULL;
      g_ptr_array_add (results, ir_tensor_ref (tensor));
    }
  return g_steal_pointer (&results);
}

/* -- tensors cut and put together -- */

/* @n elements of @from, from @first on, to @at of @to */
static void
copy (IrTensor *to, guint64 at, const IrTensor *from, guint64 first, guint64 n)
{
  const gsize size = ir_dtype_bits (ir_tensor_dtype (to)) / 8;

  if (n > 0)
    memcpy ((char *) ir_tensor_data_writable (to) + at * size,
            (const char *) ir_tensor_data (from) + first * size, n * size);
}

static guint64
product (const gint64 *dims, guint from, guint to)
{
  guint64 n = 1;

  for (guint i = from; i < to; i++)
    n *= (guint64) dims[i];
  return n;
}

/* @tensor at @place of @axis, which goes */
static IrTensor *
slice (const IrTensor *tensor, guint axis, gint64 place)
{
  const gint64 *dims = ir_tensor_dims (tensor);
  const guint rank = ir_tensor_rank (tensor);
  const IrDtype dtype = ir_tensor_dtype (tensor);
  const guint64 inner = product (dims, axis + 1, rank), outer = product (dims, 0, axis);
  gint64 left[IR_MAX_RANK];

  for (guint i = 0, k = 0; i < rank; i++)
    if (i != axis)
      left[k++] = dims[i];
  IrTensor *part = ir_tensor_new_alloc (dtype, rank - 1, left, NULL);
  for (guint64 o = 0; o < outer; o++)
    copy (part, o * inner, tensor, (o * (guint64) dims[axis] + (guint64) place) * inner, inner);
  return part;
}

/* Tensors of one shape along a new axis; of none, sizes are those of @like, and 0 where they are not known. */
static IrTensor *
stack (const GPtrArray *parts, gint64 given, gboolean backward, const IrType *like)
{
  const IrTensor *first = parts->len > 0 ? parts->pdata[0] : NULL;
  const guint rank = first != NULL ? ir_tensor_rank (first) : (guint) MAX (like->rank, 0);
  const guint axis = (guint) (given < 0 ? given + (gint64) rank + 1 : given);
  const IrDtype dtype = first != NULL ? ir_tensor_dtype (first) : like->dtype;
  gint64 dims[IR_MAX_RANK];

  for (guint i = 0; i <= rank; i++)
    {
      const guint from = i - (i > axis);
      dims[i] = i == axis       ? parts->len
                : first != NULL ? ir_tensor_dims (first)[from]
                                : MAX (like->dims[from], 0);
    }
  IrTensor *whole = ir_tensor_new_alloc (dtype, rank + 1, dims, NULL);
  const guint64 inner = product (dims, axis + 1, rank + 1), outer = product (dims, 0, axis);
  for (guint64 o = 0; o < outer; o++)
    for (guint k = 0; k < parts->len; k++)
      copy (whole, (o * parts->len + k) * inner, parts->pdata[backward ? parts->len - 1 - k : k],
            o * inner, inner);
  return whole;
}

/* -- what owns graphs -- */

static gboolean
truth (const IrTensor *tensor)
{
  return ir_tensor_get_int64 (tensor, 0) != 0;
}

static gboolean
walk_if (const Scope *scope,
         const IrNode *node,
         IrTensor *const *inputs,
         GPtrArray *results,
         GError **error)
{
  const IrGraph *branch = ir_node_attr_graph (node,
                                              truth (inputs[0]) ? "then_branch" : "else_branch");
  g_autoptr (GPtrArray) given = walk_graph (scope, branch, NULL, 0, error);

  if (given == NULL)
    return FALSE;
  g_ptr_array_extend_and_steal (results, g_steal_pointer (&given));
  return TRUE;
}

/* What a body has stacked, by output */
static void
collect (GPtrArray *stacks, const GPtrArray *given, guint first)
{
  for (guint i = 0; i < stacks->len; i++)
    g_ptr_array_add (stacks->pdata[i], ir_tensor_ref (given->pdata[first + i]));
}

static GPtrArray *
new_stacks (guint n)
{
  GPtrArray *stacks = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);

  for (guint i = 0; i < n; i++)
    g_ptr_array_add (stacks, new_tensors ());
  return stacks;
}

static void
keep (GPtrArray *tensors, guint first, const GPtrArray *given, guint from, guint n)
{
  g_ptr_array_set_size (tensors, (gint) first);
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (tensors, ir_tensor_ref (given->pdata[from + i]));
}

static gboolean
walk_loop (const Scope *scope,
           const IrNode *node,
           IrTensor *const *inputs,
           GPtrArray *results,
           GError **error)
{
  const IrGraph *body = ir_node_attr_graph (node, "body");
  const guint n_carried = node->n_inputs - 2;
  const gint64 limit = inputs[0] != NULL ? ir_tensor_get_int64 (inputs[0], 0) : MAX_ROUNDS;
  gboolean go_on = inputs[1] == NULL || truth (inputs[1]);
  g_autoptr (GPtrArray) stacks = new_stacks (ir_graph_n_outputs (body) - 1 - n_carried);

  for (guint i = 0; i < n_carried; i++)
    g_ptr_array_add (results, ir_tensor_ref (inputs[2 + i]));
  for (gint64 round = 0; go_on && round < limit; round++)
    {
      g_autoptr (GPtrArray) arguments = new_tensors ();
      g_ptr_array_add (arguments, ir_tensor_new_int64s (&round, -1));
      g_ptr_array_add (arguments, ir_tensor_new_scalar (IR_DTYPE_BOOL, TRUE));
      keep (arguments, 2, results, 0, n_carried);
      g_autoptr (GPtrArray) given = walk_graph (scope, body, (IrTensor *const *) arguments->pdata,
                                                arguments->len, error);
      if (given == NULL)
        return FALSE;
      go_on = truth (given->pdata[0]);
      keep (results, 0, given, 1, n_carried);
      collect (stacks, given, 1 + n_carried);
    }
  for (guint i = 0; i < stacks->len; i++)
    g_ptr_array_add (results,
                     stack (stacks->pdata[i], 0, FALSE,
                            ir_value_shown_type (ir_graph_output (body, 1 + n_carried + i))));
  return TRUE;
}

static gint64
entry (const IrNode *node, const char *attr, guint index)
{
  guint n = 0;
  const gint64 *values = ir_node_attr_ints (node, attr, &n);

  return values != NULL && index < n ? values[index] : 0;
}

static gboolean
walk_scan (const Scope *scope,
           const IrNode *node,
           IrTensor *const *inputs,
           GPtrArray *results,
           GError **error)
{
  const IrGraph *body = ir_node_attr_graph (node, "body");
  const guint n_scanned = (guint) ir_node_attr_int (node, "num_scan_inputs", 1),
              n_states = node->n_inputs - n_scanned;
  g_autoptr (GPtrArray) stacks = new_stacks (ir_graph_n_outputs (body) - n_states);
  gint64 n_rounds = 0;

  for (guint i = 0; i < n_states; i++)
    g_ptr_array_add (results, ir_tensor_ref (inputs[i]));
  for (gint64 round = 0; round == 0 || round < n_rounds; round++)
    {
      g_autoptr (GPtrArray) arguments = new_tensors ();
      keep (arguments, 0, results, 0, n_states);
      for (guint i = 0; i < n_scanned; i++)
        {
          const IrTensor *whole = inputs[n_states + i];
          const gint64 axis = entry (node, "scan_input_axes", i);
          const guint along = (guint) (axis < 0 ? axis + (gint64) ir_tensor_rank (whole) : axis);
          n_rounds = ir_tensor_dims (whole)[along];
          if (n_rounds > 0)
            g_ptr_array_add (arguments, slice (whole, along,
                                               entry (node, "scan_input_directions", i) == 1
                                                   ? n_rounds - 1 - round
                                                   : round));
        }
      if (n_rounds == 0)
        break;
      g_autoptr (GPtrArray) given = walk_graph (scope, body, (IrTensor *const *) arguments->pdata,
                                                arguments->len, error);
      if (given == NULL)
        return FALSE;
      keep (results, 0, given, 0, n_states);
      collect (stacks, given, n_states);
    }
  for (guint i = 0; i < stacks->len; i++)
    g_ptr_array_add (results, stack (stacks->pdata[i], entry (node, "scan_output_axes", i),
                                     entry (node, "scan_output_directions", i) == 1,
                                     ir_value_shown_type (ir_graph_output (body, n_states + i))));
  return TRUE;
}

static gboolean
walk_map (const Scope *scope,
          const IrNode *node,
          IrTensor *const *inputs,
          GPtrArray *results,
          GError **error)
{
  const IrGraph *body = ir_node_attr_graph (node, "body");
  g_autoptr (GPtrArray) lists = new_stacks (node->n_outputs);

  for (guint k = 0; k < ir_tensor_n_items (inputs[0]); k++)
    {
      g_autoptr (GPtrArray) arguments = g_ptr_array_new ();
      for (guint i = 0; i < node->n_inputs; i++)
        g_ptr_array_add (arguments, ir_tensor_kind (inputs[i]) == IR_TYPE_SEQUENCE
                                        ? ir_tensor_item (inputs[i], k)
                                        : inputs[i]);
      g_autoptr (GPtrArray) given = walk_graph (scope, body, (IrTensor *const *) arguments->pdata,
                                                arguments->len, error);
      if (given == NULL)
        return FALSE;
      collect (lists, given, 0);
    }
  for (guint i = 0; i < lists->len; i++)
    {
      const GPtrArray *items = lists->pdata[i];
      g_ptr_array_add (results,
                       ir_tensor_new_sequence (
                           items->len > 0 ? NULL : ir_value_shown_type (ir_graph_output (body, i)),
                           (IrTensor *const *) items->pdata, items->len));
    }
  return TRUE;
}

/* -- functions -- */

static const IrGraph *
function_named (const IrModel *model, const char *key)
{
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      g_autofree char *own = graph->state == IR_STATE_LIVE && graph->kind == IR_GRAPH_FUNCTION
                                 ? ir_function_key (graph->function)
                                 : NULL;
      if (g_strcmp0 (own, key) == 0)
        return graph;
    }
  return NULL;
}

static gboolean
walk_call (const IrNode *node, IrTensor *const *inputs, GPtrArray *results, GError **error)
{
  const char *key = ir_tensor_closure_function (inputs[0]);
  const IrGraph *function = key != NULL ? function_named (node->graph->model, key) : NULL;
  g_autoptr (GPtrArray) arguments = g_ptr_array_new ();

  if (function == NULL)
    return fail (node, "what is called is no closure of a function", error);
  for (guint i = 0; i < ir_tensor_n_items (inputs[0]); i++)
    g_ptr_array_add (arguments, ir_tensor_item (inputs[0], i));
  for (guint i = 1; i < node->n_inputs; i++)
    g_ptr_array_add (arguments, inputs[i]);
  g_autoptr (GPtrArray) given = walk_graph (NULL, function, (IrTensor *const *) arguments->pdata,
                                            arguments->len, error);
  if (given == NULL)
    return FALSE;
  g_ptr_array_extend_and_steal (results, g_steal_pointer (&given));
  return TRUE;
}

/* -- nodes -- */

/* Its reference kernel, on what it reads. */
static gboolean
walk_kernel (const IrNode *node, IrTensor *const *inputs, GPtrArray *results, GError **error)
{
  IrCall call;

  if (node->op == NULL || ir_ref_kernel (node->op) == NULL)
    return fail (node, "there is no reference kernel", error);
  ir_call_layout (&call, node);
  for (guint i = 0; i < node->n_inputs; i++)
    if (inputs[i] != NULL)
      ir_call_set_input (&call, i, inputs[i]);
  ir_call_adapt (&call);
  const gboolean done = ir_call_check (&call, error) && ir_ref_kernel (node->op) (&call, error);
  for (guint i = 0; done && i < node->n_outputs; i++)
    g_ptr_array_add (results, g_steal_pointer (&call.outputs[i].tensor));
  ir_call_clear (&call);
  return done;
}

static gboolean
walk_node (const Scope *scope,
           const IrNode *node,
           IrTensor *const *inputs,
           GPtrArray *results,
           GError **error)
{
  if (ir_node_is (node, "If"))
    return walk_if (scope, node, inputs, results, error);
  if (ir_node_is (node, "Loop"))
    return walk_loop (scope, node, inputs, results, error);
  if (ir_node_is (node, "Scan"))
    return walk_scan (scope, node, inputs, results, error);
  if (ir_node_is (node, "SequenceMap"))
    return walk_map (scope, node, inputs, results, error);
  if (ir_op_is (node, IR_OP_CLOSURE_CALL))
    return walk_call (node, inputs, results, error);
  return walk_kernel (node, inputs, results, error);
}

/* (transfer none) (nullable): @value in the nearest graph around that it belongs to */
static IrTensor *
value_of (const Scope *scope, const IrValue *value, GError **error)
{
  g_autoptr (GPtrArray) inputs = g_ptr_array_new (), results = new_tensors ();

  while (scope != NULL && scope->graph != value->graph)
    scope = scope->outer;
  IrTensor *known = scope != NULL ? g_hash_table_lookup (scope->known, value) : NULL;
  if (known == NULL && scope != NULL)
    known = (IrTensor *) ir_value_constant (value);
  if (known != NULL)
    return known;
  if (scope == NULL || value->producer == NULL)
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "tree walk: nothing gives %s",
                   value->name);
      return NULL;
    }
  const IrNode *node = value->producer;
  for (guint i = 0; i < node->n_inputs; i++)
    {
      IrTensor *input = node->inputs[i] != NULL ? value_of (scope, node->inputs[i], error) : NULL;
      if (node->inputs[i] != NULL && input == NULL)
        return NULL;
      g_ptr_array_add (inputs, input);
    }
  if (!walk_node (scope, node, (IrTensor *const *) inputs->pdata, results, error))
    return NULL;
  for (guint i = 0; i < node->n_outputs && i < results->len; i++)
    if (node->outputs[i] != NULL && results->pdata[i] != NULL)
      scope_set (scope, node->outputs[i], results->pdata[i]);
  return g_hash_table_lookup (scope->known, value);
}

GPtrArray *
tree_walk (const IrModel *model, GHashTable *inputs, GError **error)
{
  g_autoptr (GPtrArray) given = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      const IrValue *input = ir_graph_input (model->main, i);
      IrTensor *tensor = g_hash_table_lookup (inputs, GUINT_TO_POINTER (input->id));
      g_ptr_array_add (given, tensor != NULL ? tensor : input->initializer);
    }
  return walk_graph (NULL, model->main, (IrTensor *const *) given->pdata, given->len, error);
}
