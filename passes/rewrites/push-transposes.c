/* Transposes are pushed through what does not care for the order of axes, and meet others there:
 *
 *     x --T--> --Relu--> --T^-1--> y                     x --Relu--> y
 *     a --T--> --+
 *                +--Concat axis 3--> --ReduceMean 1-->   a, b --Concat axis 1--> --ReduceMean 2-->
 *     b --T--> --+                                                                          --T-->
 *
 * From each Transpose a region grows, forwards and backwards, over operators that compute the same
 * on permuted axes: elementwise ones, reductions, Softmax, Concat, Split, Slice, Pad. Every value
 * of the region gets a permutation p, such that the old value is the new one transposed by p. On
 * the edge, values that enter are transposed back and values that leave are transposed; constants
 * are rewritten, Transposes on the edge are composed with, and often cancel. Cost model: elements
 * that Transposes move (unknown dims count as 1), then their number. A region is rewritten, in one
 * step, if the first falls and the second does not rise, or the second falls and the first does not
 * rise; so a run ends, and a second one finds nothing. Reductions and Softmax may add in another
 * order: a region with one of them is a rule of its own, which rounds. Softmax before opset 13
 * flattens and Reshape mixes axes: these are no members. Source: ONNX Runtime TransposeOptimizer;
 * TVM ConvertLayout. */
#include "config.h"

#include "passes/rewrites/axis-kinds.h"
#include "passes/rule/move.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

#define RULE_EXACT    "push-transposes"
#define RULE_ROUNDING "push-transposes-through-sums"
#define MAX_MEMBERS   10000

/* old axis i is new axis at[i] */
typedef struct
{
  guint n;
  gint64 at[IR_MAX_RANK];
} Perm;

typedef struct
{
  IrPassContext *context;
  IrGraph *graph;
  GHashTable *perms;   /* IrValue -> Perm: of all values that change */
  GHashTable *members; /* IrNode: set */
  GPtrArray *list;     /* of IrNode: the same, as found; then in a valid order */
  GQueue queue;        /* of IrValue: whose neighbours were not looked at */
  gboolean rounds;     /* some member adds */
  GHashTable *fresh;   /* IrValue -> IrValue: while rewriting */
} Region;

typedef struct
{
  guint64 elements;
  guint count;
} Cost;

/* -- permutations -- */

static gboolean
perm_of (const IrNode *transpose, Perm *perm)
{
  int rank = transpose->inputs[0] != NULL ? ir_value_rank (transpose->inputs[0]) : -1;
  guint n = 0;
  const gint64 *given = ir_node_attr_ints (transpose, "perm", &n);
  guint64 seen = 0;

  if (rank < 1 || rank > IR_MAX_RANK || (given != NULL && n != (guint) rank) ||
      (given == NULL && ir_node_attr (transpose, "perm") != NULL))
    return FALSE;
  perm->n = rank;
  for (int i = 0; i < rank; i++)
    {
      gint64 axis = given != NULL ? given[i] : rank - 1 - i;

      if (axis < 0 || axis >= rank || (seen >> axis & 1))
        return FALSE;
      seen |= (guint64) 1 << axis;
      perm->at[i] = axis;
    }
  return TRUE;
}

static Perm
inverse (const Perm *perm)
{
  Perm result = { .n = perm->n };

  for (guint i = 0; i < perm->n; i++)
    result.at[perm->at[i]] = i;
  return result;
}

/* Transpose by @first, then by @second. */
static Perm
composed (const Perm *first, const Perm *second)
{
  Perm result = { .n = second->n };

  for (guint i = 0; i < second->n; i++)
    result.at[i] = first->at[second->at[i]];
  return result;
}

static gboolean
is_identity (const Perm *perm)
{
  for (guint i = 0; i < perm->n; i++)
    if (perm->at[i] != i)
      return FALSE;
  return TRUE;
}

static gboolean
is_transpose (const Region *r, const IrNode *node, Perm *perm)
{
  return node != NULL && node->graph == r->graph && ir_op_is (node, IR_OP_TRANSPOSE) &&
         node->n_inputs == 1 && node->n_outputs == 1 && node->outputs[0] != NULL &&
         !ir_pass_has_control (r->context, node) && perm_of (node, perm);
}

/* -- what may be a member -- */

static gboolean
has_one_element (const IrValue *value)
{
  guint64 n;

  return ir_type_n_elements (value->type, &n) && n == 1;
}

/* What @slot of @node is to the region. */
typedef enum
{
  ROLE_BAD,
  ROLE_KEEP, /* stays as it is: left out, one element, or no data */
  ROLE_DATA,
} Role;

static Role
role_of (const Region *r, const IrNode *node, Kind kind, guint slot, guint rank)
{
  const IrValue *value = node->inputs[slot];
  int own = value != NULL ? ir_value_rank (value) : 0;

  if (value == NULL || (slot > 0 && kind != KIND_ELEMENTWISE && kind != KIND_AXIS))
    return ROLE_KEEP;
  if (kind == KIND_ELEMENTWISE && own >= 0 && own <= (int) rank && has_one_element (value))
    return ROLE_KEEP;
  if (value->graph != r->graph)
    return ROLE_BAD;
  if (own == (int) rank)
    return ROLE_DATA;
  return kind == KIND_ELEMENTWISE && own >= 0 && own < (int) rank &&
                 ir_value_constant (value) != NULL
             ? ROLE_DATA
             : ROLE_BAD;
}

static gboolean
has_known_axes (const IrNode *node, Kind kind, guint rank)
{
  g_autofree gint64 *axes = NULL, *numbers = NULL;
  gint64 axis;
  guint n, n_numbers;

  switch (kind)
    {
    case KIND_ELEMENTWISE:
      return TRUE;
    case KIND_AXIS:
    case KIND_SPLIT:
      return ir_axis_of (node, rank, &axis);
    case KIND_REDUCE:
      return ir_axis_constant_ints (node, "axes", 1, &axes, &n) && ir_axes_in_range (axes, n, rank);
    case KIND_SLICE:
      return ir_axis_constant_ints (node, NULL, 3, &axes, &n) && ir_axes_in_range (axes, n, rank) &&
             ir_axis_constant_ints (node, NULL, 1, &numbers, &n_numbers) && numbers != NULL &&
             (axes == NULL ? n_numbers <= rank : n_numbers == n);
    case KIND_PAD:
      return ir_axis_constant_ints (node, NULL, 3, &axes, &n) && ir_axes_in_range (axes, n, rank) &&
             (axes != NULL || (ir_axis_constant_ints (node, NULL, 1, &numbers, &n_numbers) &&
                               n_numbers == 2 * rank));
    case KIND_NONE:
    default:
      return FALSE;
    }
}

/* Rank of the data that @node reads: the output's, as inputs may broadcast. */
static int
data_rank (const IrNode *node, Kind kind)
{
  const IrValue *value = kind == KIND_ELEMENTWISE ? node->outputs[0] : ir_node_input (node, 0);

  return value != NULL ? ir_value_rank (value) : IR_RANK_UNKNOWN;
}

/* -- growing -- */

static gboolean
assign (Region *r, IrValue *value, const Perm *perm)
{
  const Perm *known = g_hash_table_lookup (r->perms, value);

  if (known != NULL)
    return known->n == perm->n && memcmp (known->at, perm->at, perm->n * sizeof (gint64)) == 0;
  g_hash_table_insert (r->perms, value, g_memdup2 (perm, sizeof *perm));
  g_queue_push_tail (&r->queue, value);
  return TRUE;
}

static gboolean
contradicts (const Region *r, const IrValue *value, const Perm *perm)
{
  const Perm *known = g_hash_table_lookup (r->perms, value);

  return known != NULL &&
         (known->n != perm->n || memcmp (known->at, perm->at, perm->n * sizeof (gint64)) != 0);
}

/* Axes that a reduction without keepdims leaves, in their new order. */
static gboolean
output_perm (const IrNode *node, Kind kind, const Perm *in, Perm *out)
{
  g_autofree gint64 *axes = NULL;
  gboolean gone[IR_MAX_RANK] = { FALSE };
  gint64 place[IR_MAX_RANK] = { 0 };
  Perm back = inverse (in);
  guint n = 0;

  *out = *in;
  if (kind != KIND_REDUCE || ir_node_attr_int (node, "keepdims", 1) != 0)
    return TRUE;
  if (!ir_axis_constant_ints (node, "axes", 1, &axes, &n) || !ir_axes_in_range (axes, n, in->n))
    return FALSE;
  if (n == 0)
    {
      out->n = ir_node_attr_int (node, "noop_with_empty_axes", 0) != 0 ? in->n : 0;
      return TRUE;
    }
  for (guint i = 0; i < n; i++)
    gone[axes[i]] = TRUE;
  out->n = 0;
  for (guint i = 0; i < in->n; i++) /* new axes in their order */
    if (!gone[back.at[i]])
      place[i] = out->n++;
  out->n = 0;
  for (guint i = 0; i < in->n; i++) /* old axes in theirs */
    if (!gone[i])
      out->at[out->n++] = place[in->at[i]];
  return TRUE;
}

/* @node computes on data of @perm from now on, if it can. */
static void
join (Region *r, IrNode *node, const Perm *perm)
{
  Kind kind = ir_axis_kind_of (node);
  Perm out;

  if (g_hash_table_contains (r->members, node) || kind == KIND_NONE || node->graph != r->graph ||
      node->n_outputs == 0 || node->n_inputs == 0 || r->list->len >= MAX_MEMBERS ||
      (kind != KIND_SPLIT && node->n_outputs > 1) || ir_pass_has_control (r->context, node) ||
      data_rank (node, kind) != (int) perm->n || !has_known_axes (node, kind, perm->n) ||
      !output_perm (node, kind, perm, &out))
    return;
  for (guint i = 0; i < node->n_inputs; i++)
    {
      Role role = role_of (r, node, kind, i, perm->n);
      if (role == ROLE_BAD || (role == ROLE_DATA && contradicts (r, node->inputs[i], perm)))
        return;
    }
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] == NULL || ir_value_rank (node->outputs[i]) != (int) out.n ||
        contradicts (r, node->outputs[i], &out))
      return;
  g_hash_table_add (r->members, node);
  g_ptr_array_add (r->list, node);
  r->rounds |= !(node->op->flags & IR_OP_ELEMENTWISE) &&
               (node->op->tol.rtol > 0 || node->op->tol.atol > 0);
  for (guint i = 0; i < node->n_inputs; i++)
    if (role_of (r, node, kind, i, perm->n) == ROLE_DATA)
      assign (r, node->inputs[i], perm);
  for (guint i = 0; i < node->n_outputs; i++)
    assign (r, node->outputs[i], &out);
}

/* A reduction without keepdims could have had several inputs: it is not joined from behind. */
static gboolean
keeps_rank (const IrNode *node)
{
  return ir_axis_kind_of (node) != KIND_REDUCE || ir_node_attr_int (node, "keepdims", 1) != 0;
}

static void
grow (Region *r)
{
  while (!g_queue_is_empty (&r->queue))
    {
      IrValue *value = g_queue_pop_head (&r->queue);
      const Perm *perm = g_hash_table_lookup (r->perms, value);

      if (ir_value_constant (value) != NULL)
        continue; /* others that read it do not take part */
      for (guint i = 0; i < value->n_uses; i++)
        {
          IrUse use = ir_value_use (value, i);
          Kind kind = use.node != NULL ? ir_axis_kind_of (use.node) : KIND_NONE;

          if (kind != KIND_NONE && /* so that it captures nothing */
              role_of (r, use.node, kind, use.slot, perm->n) == ROLE_DATA)
            join (r, use.node, perm);
        }
      if (value->producer != NULL && keeps_rank (value->producer))
        join (r, value->producer, perm);
    }
}

static void
region_clear (Region *r)
{
  g_clear_pointer (&r->perms, g_hash_table_unref);
  g_clear_pointer (&r->members, g_hash_table_unref);
  g_clear_pointer (&r->list, g_ptr_array_unref);
  g_clear_pointer (&r->fresh, g_hash_table_unref);
  g_queue_clear (&r->queue);
}

static void
region_init (Region *r, IrPassContext *context, IrGraph *graph)
{
  *r = (Region){ .context = context, .graph = graph };
  r->perms = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  r->members = g_hash_table_new (NULL, NULL);
  r->fresh = g_hash_table_new (NULL, NULL);
  r->list = g_ptr_array_new ();
  g_queue_init (&r->queue);
}

/* -- cost -- */

static void
add_cost (Cost *cost, const IrValue *value)
{
  guint64 n = 1;

  for (int i = 0; ir_type_is_tensor (value->type) && i < value->type->rank; i++)
    if (value->type->dims[i] >= 0 && n < G_MAXUINT32)
      n *= MAX (value->type->dims[i], 1);
  cost->elements += n;
  cost->count++;
}

static gboolean
is_made_inside (const Region *r, const IrValue *value)
{
  return value->producer != NULL && g_hash_table_contains (r->members, value->producer);
}

static gboolean
is_read_only_inside (const Region *r, const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (use.node == NULL || !g_hash_table_contains (r->members, use.node))
        return FALSE;
    }
  return TRUE;
}

/* A value that enters. FALSE: a Transpose leads from the region back into it, which is not done. */
static gboolean
count_entry (const Region *r, const IrValue *value, const Perm *perm, Cost *before, Cost *after)
{
  Perm own;

  if (ir_value_constant (value) != NULL)
    return TRUE;
  if (is_transpose (r, value->producer, &own))
    {
      if (is_made_inside (r, value->producer->inputs[0]))
        return FALSE;
      Perm back = inverse (perm), both = composed (&own, &back);

      if (is_read_only_inside (r, value))
        add_cost (before, value);
      if (is_identity (&both))
        return TRUE;
    }
  add_cost (after, value);
  return TRUE;
}

/* A value that a member makes: Transposes that read it are composed with, all others share one. */
static void
count_exit (const Region *r, const IrValue *value, const Perm *perm, Cost *before, Cost *after)
{
  gboolean shared = FALSE;
  Perm own;

  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);

      if (use.node != NULL && g_hash_table_contains (r->members, use.node))
        continue;
      if (is_transpose (r, use.node, &own))
        {
          Perm both = composed (perm, &own);

          add_cost (before, value);
          if (!is_identity (&both))
            add_cost (after, value);
        }
      else
        shared = TRUE;
    }
  if (shared && !is_identity (perm))
    add_cost (after, value);
}

static gboolean
is_worth_it (const Region *r, Cost *before, Cost *after)
{
  GHashTableIter iter;
  gpointer value, perm;

  *before = *after = (Cost){ 0, 0 };
  g_hash_table_iter_init (&iter, r->perms);
  while (g_hash_table_iter_next (&iter, &value, &perm))
    if (is_made_inside (r, value))
      count_exit (r, value, perm, before, after);
    else if (!count_entry (r, value, perm, before, after))
      return FALSE;
  return after->elements <= before->elements && after->count <= before->count &&
         (after->elements < before->elements || after->count < before->count);
}

/* -- rewriting -- */

static IrValue *
add_transpose (Region *r, const IrNode *origin, IrValue *value, const Perm *perm)
{
  IrNode *node = ir_edit_add_node (r->context->edit, r->graph, "Transpose", NULL, NULL, 1, &value,
                                   1);

  ir_edit_set_attr (r->context->edit, node,
                    ir_attr_ints (r->context->model->context, "perm", perm->at, perm->n));
  ir_infer_node (r->context->edit, node, NULL);
  ir_edit_step_map_node (r->context->edit, origin->id, node->id);
  return node->outputs[0];
}

/* The elements of @tensor, dims put in front up to the rank of @perm, transposed back by it. */
static IrTensor *
permuted_constant (const IrTensor *tensor, const Perm *perm)
{
  gint64 dims[IR_MAX_RANK], old_dims[IR_MAX_RANK], strides[IR_MAX_RANK], at[IR_MAX_RANK] = { 0 };
  guint lead = perm->n - ir_tensor_rank (tensor);
  guint bits = ir_dtype_bits (ir_tensor_dtype (tensor));
  gsize size = bits % 8 == 0 ? bits / 8 : 0;
  const guint8 *from = ir_tensor_raw (tensor);
  guint64 n = ir_tensor_n_elements (tensor), offset = 0;
  gint64 stride = 1;
  IrTensor *result;

  for (guint i = perm->n; i > 0; i--)
    {
      old_dims[i - 1] = i - 1 < lead ? 1 : ir_tensor_dims (tensor)[i - 1 - lead];
      dims[perm->at[i - 1]] = old_dims[i - 1];
      strides[perm->at[i - 1]] = stride;
      stride *= old_dims[i - 1];
    }
  if (size == 0 || from == NULL ||
      (result = ir_tensor_new_alloc (ir_tensor_dtype (tensor), perm->n, dims, NULL)) == NULL)
    return NULL;
  for (guint64 i = 0; i < n; i++)
    {
      memcpy ((guint8 *) ir_tensor_data_writable (result) + i * size, from + offset * size, size);
      for (guint axis = perm->n; axis > 0; axis--)
        {
          offset += strides[axis - 1];
          if (++at[axis - 1] < dims[axis - 1])
            break;
          offset -= at[axis - 1] * strides[axis - 1];
          at[axis - 1] = 0;
        }
    }
  return result;
}

/* The value that stands for the data @value in the new layout. NULL: it cannot be made. */
static IrValue *
new_data (Region *r, const IrNode *node, IrValue *value)
{
  const Perm *perm = g_hash_table_lookup (r->perms, value);
  const IrTensor *constant = ir_value_constant (value);
  IrValue *fresh = g_hash_table_lookup (r->fresh, value);
  Perm own, back;

  if (fresh != NULL)
    return fresh;
  back = inverse (perm);
  if (constant != NULL)
    {
      g_autoptr (IrTensor) tensor = permuted_constant (constant, perm);
      if (tensor != NULL)
        fresh = ir_pass_add_constant (r->context, r->graph, value->name, tensor);
    }
  else if (is_transpose (r, value->producer, &own))
    {
      Perm both = composed (&own, &back);
      IrValue *source = value->producer->inputs[0];
      fresh = is_identity (&both) ? source : add_transpose (r, value->producer, source, &both);
    }
  else
    fresh = add_transpose (r, node, value, &back);
  if (fresh != NULL)
    g_hash_table_insert (r->fresh, value, fresh);
  return fresh;
}

static IrValue *
int_constant (Region *r, const char *name, const gint64 *numbers, guint n)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (numbers, n);

  return ir_pass_add_constant (r->context, r->graph, name, tensor);
}

static void
set_input (Region *r, IrNode *node, guint slot, IrValue *value)
{
  if (slot >= node->n_inputs)
    ir_edit_set_n_inputs (r->context->edit, node, slot + 1);
  ir_edit_set_input (r->context->edit, node, slot, value);
}

/* Axes of @old, which may be left out, to @fresh, where they are spelled out. */
static void
write_axes (Region *r, const IrNode *old, IrNode *fresh, guint slot, const Perm *perm)
{
  g_autofree gint64 *axes = NULL;
  gboolean by_attr = ir_axis_kind_of (old) == KIND_REDUCE && ir_node_attr (old, "axes") != NULL;
  guint n = 0;

  ir_axis_constant_ints (old, by_attr ? "axes" : NULL, slot, &axes, &n);
  if (axes == NULL && ir_axis_kind_of (old) == KIND_SLICE)
    {
      const IrTensor *starts = ir_value_constant (old->inputs[1]);
      n = (guint) ir_tensor_n_elements (starts);
      axes = g_new (gint64, MAX (n, 1));
      for (guint i = 0; i < n; i++)
        axes[i] = i;
    }
  if (axes == NULL)
    return;
  ir_axes_in_range (axes, n, perm->n);
  for (guint i = 0; i < n; i++)
    axes[i] = perm->at[axes[i]];
  if (by_attr)
    ir_edit_set_attr (r->context->edit, fresh,
                      ir_attr_ints (r->context->model->context, "axes", axes, n));
  else
    set_input (r, fresh, slot, int_constant (r, "axes", axes, n));
}

static void
write_pads (Region *r, const IrNode *old, IrNode *fresh, const Perm *perm)
{
  g_autofree gint64 *pads = NULL;
  gint64 moved[2 * IR_MAX_RANK];
  guint n;

  if (ir_node_input (old, 3) != NULL)
    {
      write_axes (r, old, fresh, 3, perm);
      return;
    }
  ir_axis_constant_ints (old, NULL, 1, &pads, &n);
  for (guint i = 0; i < perm->n; i++)
    {
      moved[perm->at[i]] = pads[i];
      moved[perm->n + perm->at[i]] = pads[perm->n + i];
    }
  set_input (r, fresh, 1, int_constant (r, "pads", moved, 2 * perm->n));
}

static void
write_kind (Region *r, const IrNode *old, IrNode *fresh, const Perm *perm)
{
  Kind kind = ir_axis_kind_of (old);
  gint64 axis;

  if ((kind == KIND_AXIS || kind == KIND_SPLIT) && ir_axis_of (old, perm->n, &axis))
    ir_edit_set_attr (r->context->edit, fresh,
                      ir_attr_int (r->context->model->context, "axis", perm->at[axis]));
  else if (kind == KIND_REDUCE)
    write_axes (r, old, fresh, 1, perm);
  else if (kind == KIND_SLICE)
    write_axes (r, old, fresh, 3, perm);
  else if (kind == KIND_PAD)
    write_pads (r, old, fresh, perm);
}

static const Perm *
data_perm (const Region *r, const IrNode *node)
{
  Kind kind = ir_axis_kind_of (node);

  for (guint i = 0; i < node->n_inputs; i++)
    if (role_of (r, node, kind, i, data_rank (node, kind)) == ROLE_DATA)
      return g_hash_table_lookup (r->perms, node->inputs[i]);
  return g_hash_table_lookup (r->perms, node->outputs[0]);
}

static gboolean
rewrite_member (Region *r, IrNode *old)
{
  IrEdit *edit = r->context->edit;
  Kind kind = ir_axis_kind_of (old);
  const Perm *perm = data_perm (r, old);
  g_autofree IrValue **inputs = g_memdup2 (old->inputs, old->n_inputs * sizeof (IrValue *));
  IrNode *fresh;

  for (guint i = 0; i < old->n_inputs; i++)
    if (role_of (r, old, kind, i, perm->n) == ROLE_DATA &&
        (inputs[i] = new_data (r, old, old->inputs[i])) == NULL)
      return FALSE;
  fresh = ir_edit_add_node (edit, r->graph, old->op_type, old->domain, old->name, old->n_inputs,
                            inputs, old->n_outputs);
  for (guint i = 0; i < old->n_attrs; i++)
    ir_edit_set_attr (edit, fresh, old->attrs[i]);
  write_kind (r, old, fresh, perm);
  ir_edit_set_rank (edit, fresh, old->rank);
  ir_edit_set_scope (edit, fresh, old->scope);
  ir_edit_set_device (edit, fresh, old->device);
  if (old->extra != NULL)
    ir_edit_set_node_extra (edit, fresh, old->extra);
  ir_infer_node (edit, fresh, NULL);
  ir_edit_step_map_node (edit, old->id, fresh->id);
  for (guint i = 0; i < old->n_outputs; i++)
    g_hash_table_insert (r->fresh, old->outputs[i], fresh->outputs[i]);
  return TRUE;
}

/* @with for @old, whose producer goes if nothing else keeps it. */
static gboolean
stand_in (Region *r, IrValue *old, IrValue *with, IrNode *producer)
{
  IrPassContext *context = r->context;

  if (!ir_pass_fit_type (context, old, with))
    return FALSE;
  ir_edit_replace_uses (context->edit, old, with);
  if (producer != NULL)
    ir_pass_remove_node (context, producer);
  if (old->state != IR_STATE_LIVE && with->producer != NULL)
    ir_pass_take_name (context, old, with);
  return TRUE;
}

/* Members behind this one are gone: what still reads @value is outside. */
static gboolean
leave (Region *r, IrValue *value)
{
  const Perm *perm = g_hash_table_lookup (r->perms, value);
  IrValue *fresh = g_hash_table_lookup (r->fresh, value);
  g_autoptr (GPtrArray) readers = g_ptr_array_new ();
  Perm own;

  for (guint i = 0; i < value->n_uses; i++)
    if (is_transpose (r, ir_value_use (value, i).node, &own))
      g_ptr_array_add (readers, ir_value_use (value, i).node);
  for (guint i = 0; i < readers->len; i++)
    {
      IrNode *reader = readers->pdata[i];
      perm_of (reader, &own);
      Perm both = composed (perm, &own);

      if (!stand_in (r, reader->outputs[0],
                     is_identity (&both) ? fresh : add_transpose (r, reader, fresh, &both), reader))
        return FALSE;
    }
  return value->n_uses == 0 ||
         stand_in (r, value,
                   is_identity (perm) ? fresh : add_transpose (r, value->producer, fresh, perm),
                   NULL);
}

static gboolean
rewrite (Region *r)
{
  g_autoptr (GPtrArray) entries = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer key;
  Perm own;

  g_hash_table_iter_init (&iter, r->perms);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (is_transpose (r, ((IrValue *) key)->producer, &own))
      g_ptr_array_add (entries, ((IrValue *) key)->producer);
  for (guint i = 0; i < r->list->len; i++)
    if (!rewrite_member (r, r->list->pdata[i]))
      return FALSE;
  for (guint i = r->list->len; i > 0; i--)
    {
      IrNode *node = r->list->pdata[i - 1];

      for (guint k = 0; k < node->n_outputs; k++)
        if (!leave (r, node->outputs[k]))
          return FALSE;
      ir_pass_remove_node (r->context, node);
    }
  for (guint i = 0; i < entries->len; i++)
    {
      IrNode *node = entries->pdata[i];
      if (node->state == IR_STATE_LIVE && node->outputs[0]->n_uses == 0)
        ir_pass_remove_node (r->context, node);
    }
  return TRUE;
}

/* -- the pass -- */

static guint
count_member_inputs (const Region *r, const IrNode *node)
{
  guint n = 0;

  ir_node_for_each_input (node, i, value)
    {
      n += is_made_inside (r, value);
    }
  return n;
}

/* Kahn, among members alone: what reads a member directly waits for it. */
static void
sort_members (Region *r)
{
  g_autoptr (GHashTable) waiting = g_hash_table_new (NULL, NULL);
  guint n = r->list->len, next = 0;

  for (guint i = 0; i < n; i++)
    {
      IrNode *node = r->list->pdata[i];
      guint inputs = count_member_inputs (r, node);

      if (inputs == 0)
        r->list->pdata[next++] = node;
      else
        g_hash_table_insert (waiting, node, GUINT_TO_POINTER (inputs));
    }
  g_ptr_array_set_size (r->list, next);
  for (guint i = 0; i < r->list->len; i++)
    {
      const IrNode *node = r->list->pdata[i];

      for (guint k = 0; k < node->n_outputs; k++)
        for (guint u = 0; u < node->outputs[k]->n_uses; u++)
          {
            IrUse use = ir_value_use (node->outputs[k], u);
            guint left = GPOINTER_TO_UINT (g_hash_table_lookup (waiting, use.node));

            if (left > 1)
              g_hash_table_insert (waiting, use.node, GUINT_TO_POINTER (left - 1));
            else if (left == 1)
              {
                g_hash_table_remove (waiting, use.node);
                g_ptr_array_add (r->list, use.node);
              }
          }
    }
}

static void
apply (Region *r, IrNode *start, const Cost *before, const Cost *after)
{
  const char *rule = r->rounds ? RULE_ROUNDING : RULE_EXACT;
  IrNodeId id = start->id;

  if (!ir_pass_begin (r->context, rule, r->rounds ? IR_CLASS_ROUNDING : IR_CLASS_EXACT, start))
    return;
  ir_edit_step_reason (r->context->edit,
                       "through %u nodes: %u transposes of %" G_GUINT64_FORMAT
                       " elements become %u of %" G_GUINT64_FORMAT,
                       r->list->len, before->count, before->elements, after->count,
                       after->elements);
  sort_members (r);
  if (rewrite (r))
    {
      ir_pass_end (r->context);
      return;
    }
  ir_pass_abort (r->context);
  ir_edit_refuse (r->context->edit, rule, id, "less would be known of the type of a value");
}

/* Growing from a Transpose that would cancel with this region would find the same one. */
static void
mark_seen (const Region *r, GHashTable *seen)
{
  GHashTableIter iter;
  gpointer value, perm;
  Perm own;

  g_hash_table_iter_init (&iter, r->perms);
  while (g_hash_table_iter_next (&iter, &value, &perm))
    {
      IrNode *producer = ((const IrValue *) value)->producer;

      if (!is_transpose (r, producer, &own))
        continue;
      Perm back = inverse (perm), both = composed (&own, &back);
      if (is_identity (&both))
        g_hash_table_add (seen, producer);
    }
}

/* @seen: Transposes whose regions were not worth it. */
static void
push_from (IrPassContext *context, IrNode *start, GHashTable *seen)
{
  Cost before, after;
  Region r;
  Perm perm;

  region_init (&r, context, start->graph);
  if (is_transpose (&r, start, &perm) && !is_identity (&perm) &&
      ir_value_constant (start->inputs[0]) == NULL && !g_hash_table_contains (seen, start))
    {
      assign (&r, start->outputs[0], &perm);
      grow (&r);
      if (r.list->len > 0 && is_worth_it (&r, &before, &after))
        apply (&r, start, &before, &after);
      else if (r.list->len > 0)
        {
          mark_seen (&r, seen);
          ir_edit_refuse (context->edit, r.rounds ? RULE_ROUNDING : RULE_EXACT, start->id,
                          "as many elements would be transposed, or more");
        }
    }
  region_clear (&r);
}

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < graphs->len; i++)
    {
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (graphs->pdata[i]);

      for (guint k = 0; k < nodes->len && !context->stopped; k++)
        {
          IrNode *node = nodes->pdata[k];

          if (ir_pass_cancelled (context, error))
            return FALSE;
          if (node->state == IR_STATE_LIVE && ir_op_is (node, IR_OP_TRANSPOSE))
            push_from (context, node, seen);
        }
    }
  return TRUE;
}

static const IrRule rules[] = {
  { RULE_EXACT, "Transposes around elementwise operators, Concat, Split, Slice, Pad, maxima",
    "fewer of them, or of smaller values", IR_CLASS_EXACT,
    "Transposes move through operators to where they cancel or have less to move." },
  { RULE_ROUNDING, "the same with sums or Softmax in between",
    "fewer of them, or of smaller values", IR_CLASS_ROUNDING,
    "The sums are over the same elements, maybe in another order." },
  { NULL },
};

const IrPass ir_pass_push_transposes = {
  .name = "push-transposes",
  .title = "Push transposes together",
  .doc = "Transposes are pushed through operators that work on any order of axes, where fewer of "
         "them are left then, or they have fewer elements to move.",
  .source = "ONNX Runtime TransposeOptimizer; TVM ConvertLayout",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> Transpose p -> Relu -> Transpose p^-1 -> y\nx -> Relu -> y",
  .run = run,
  .documented_rules = rules,
};
