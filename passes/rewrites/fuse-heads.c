/* The reshapes and transposes around an attention that take its heads apart and put them together
 * again become part of it:
 *
 *     x --Reshape [b, s, h, d]--Transpose--> q                 x, z, w -> MultiHeadAttention -> y
 *     z --Reshape--Transpose--> k
 *     w --Reshape--Transpose--> v
 *     Attention (q, k, v) --Transpose--Reshape [b, s, h * d]--> y
 *
 * Queries, keys and values that are the thirds of one value (a Split, or a Reshape, a Transpose and
 * three Gathers) stay together: irscope.PackedAttention; the standard operator gets a Split. Which
 * elements an axis has is followed atom by atom (axes.h), so it does not matter how an exporter
 * spelled it: with dims that are symbols, positions first, axes of size 1 in between. A rotary
 * embedding between is taken along. No element is computed differently; kernels may sum in another
 * order: rounding. Source: ONNX Runtime AttentionFusion, MultiHeadAttentionFusion; PyTorch
 * Inductor's patterns of scaled dot product attention. */
#include "config.h"

#include "passes/rule/rule.h"
#include "passes/rule/step.h"
#include "passes/rewrites/axes.h"
#include "passes/rewrites/heads.h"

#include <string.h>

#define RULE        "fuse-heads"
#define PACKED_RULE "fuse-packed-heads"
#define MAX_STEPS   10

/* -- what there is -- */

/* Where queries, keys or values come from. */
typedef struct
{
  IrValue *source;
  IrNode *rotary; /* (nullable) between source and attention */
  IrAxes axes;    /* from the source to [batch, heads, positions, size] */
  gboolean positions_first, direct;
  IrDim batch, length, size;
  gint64 heads, part; /* part -1: no selection */
} Origin;

typedef struct
{
  IrPassContext *context;
  IrNode *attention;
  Origin origins[3];
  gboolean packed;
  IrValue *end; /* what is replaced: the last value that only regroups the result */
  gboolean end_positions_first;
  IrNode *fresh; /* (nullable) */
  guint n_added, n_removed;
} Site;

static gboolean
refuse (const Site *site, const char *reason)
{
  ir_edit_refuse (site->context->edit, RULE, site->attention->id, reason);
  return FALSE;
}

/* -- layouts -- */

static void
append (IrAxis *all, const IrAxis *axis)
{
  for (guint i = 0; i < axis->n && all->n < IR_AXES_ATOMS; i++)
    all->atoms[all->n++] = axis->atoms[i];
}

static gboolean
same_atoms (const IrAxis *a, const IrAxis *b)
{
  return a->n == b->n && memcmp (a->atoms, b->atoms, a->n) == 0;
}

/* The atoms that are fixed to one index, in the order of the source. */
static IrAxis
selected_atoms (const IrAxes *axes)
{
  IrAxis found = { 0 };

  for (guint i = 0; i < axes->source_rank; i++)
    for (guint k = 0; k < axes->source[i].n; k++)
      if (axes->selected[axes->source[i].atoms[k]] >= 0)
        found.atoms[found.n++] = axes->source[i].atoms[k];
  return found;
}

static IrDim
product (const IrAxes *axes, const IrAxis *axis)
{
  IrDim all = 1;

  for (guint i = 0; i < axis->n; i++)
    all = ir_dim_mul (axes->context, all, axes->sizes[axis->atoms[i]]);
  return all;
}

/* Whether the source is batch, positions (or the other way round), perhaps parts, heads, size. */
static gboolean
layout_fits (Origin *origin, gboolean positions_first)
{
  const IrAxes *axes = &origin->axes;
  const IrAxis *batch = &axes->made[0], *heads = &axes->made[1], *length = &axes->made[2];
  IrAxis all = { 0 }, wanted = { 0 }, last = { 0 }, parts = selected_atoms (axes);
  const IrAxis *first = positions_first ? length : batch;
  const IrAxis *second = positions_first ? batch : length;

  for (guint i = 0; i < axes->source_rank; i++)
    append (&all, &axes->source[i]);
  append (&last, &parts);
  append (&last, heads);
  append (&last, &axes->made[3]);
  append (&wanted, first);
  append (&wanted, second);
  append (&wanted, &last);
  if (!same_atoms (&all, &wanted))
    return FALSE;
  origin->positions_first = positions_first;
  origin->direct = axes->source_rank == 3 && same_atoms (&axes->source[0], first) &&
                   same_atoms (&axes->source[1], second);
  return TRUE;
}

static gboolean
origin_fits (Origin *origin, gboolean may_select)
{
  const IrAxes *axes = &origin->axes;
  IrAxis parts = selected_atoms (axes);

  if (axes->rank != 4 || parts.n > (may_select ? 1 : 0))
    return FALSE;
  origin->batch = product (axes, &axes->made[0]);
  origin->heads = product (axes, &axes->made[1]);
  origin->length = product (axes, &axes->made[2]);
  origin->size = product (axes, &axes->made[3]);
  origin->part = -1;
  if (parts.n == 1)
    origin->part = axes->sizes[parts.atoms[0]] == 3 ? axes->selected[parts.atoms[0]] : -1;
  if (!ir_dim_is_known (origin->heads) || !ir_dim_is_known (origin->size) ||
      origin->batch == IR_DIM_UNKNOWN || origin->length == IR_DIM_UNKNOWN ||
      (parts.n == 1 && origin->part < 0))
    return FALSE;
  return layout_fits (origin, FALSE) || layout_fits (origin, TRUE);
}

static guint
slot_of (const IrNode *node, const IrValue *value)
{
  guint slot = 0;

  while (slot < node->n_outputs && node->outputs[slot] != value)
    slot++;
  return slot;
}

/* The values that @value is a view of, itself first. */
static guint
chain_of (const Site *site, IrValue *value, IrValue **chain)
{
  guint n = 0;

  chain[0] = value;
  while (n < MAX_STEPS && chain[n]->producer != NULL && ir_axes_is_step (chain[n]->producer))
    {
      IrNode *node = chain[n]->producer;

      if (node->graph != site->attention->graph || ir_pass_is_open (node) ||
          ir_pass_has_control (site->context, node))
        break;
      chain[++n] = node->inputs[0];
    }
  return n;
}

/* The farthest place above @value whose axes fit; one that needs nothing in between, if there is.
 */
static gboolean
find_origin (const Site *site, IrValue *value, gboolean may_select, Origin *origin)
{
  IrValue *chain[MAX_STEPS + 1];
  gboolean found = FALSE;

  for (guint start = chain_of (site, value, chain); start > 0; start--)
    {
      Origin here = { .source = chain[start], .rotary = origin->rotary };
      gboolean known = ir_axes_start (&here.axes, site->context->model->context,
                                      chain[start]->type);

      for (guint i = start; known && i > 0; i--)
        known = ir_axes_apply (&here.axes, chain[i - 1]->producer,
                               slot_of (chain[i - 1]->producer, chain[i - 1]));
      if (!known || !origin_fits (&here, may_select) ||
          (found && (!here.direct || here.positions_first)))
        continue;
      *origin = here;
      found = TRUE;
      if (here.direct && !here.positions_first)
        break;
    }
  return found;
}

/* A rotary embedding of heads that stand apart, which only the attention reads. */
static IrNode *
rotary_of (const Site *site, const IrValue *value)
{
  IrNode *node = value->producer;

  if (node == NULL || strcmp (node->op_type, "RotaryEmbedding") != 0 || value->n_uses != 1 ||
      node->graph != site->attention->graph || ir_value_rank (value) != 4 ||
      (node->domain[0] != '\0' && strcmp (node->domain, "irscope") != 0) ||
      ir_node_attr (node, "num_heads") != NULL || ir_pass_is_open (node) ||
      ir_pass_has_control (site->context, node))
    return NULL;
  return node;
}

static gboolean
find_origins (Site *site, gboolean packed)
{
  for (guint i = 0; i < 3; i++)
    {
      Origin *origin = &site->origins[i];
      IrValue *value = site->attention->inputs[i];

      origin->rotary = i < 2 ? rotary_of (site, value) : NULL;
      if ((packed && origin->rotary != NULL) ||
          !find_origin (site, origin->rotary != NULL ? origin->rotary->inputs[0] : value, packed,
                        origin) ||
          (packed && (origin->part != i || origin->source != site->origins[0].source ||
                      origin->size != site->origins[0].size)))
        return FALSE;
    }
  return TRUE;
}

/* Takes @value as the end if it is batch, positions (or the other way round), heads, size. */
static gboolean
end_fits (Site *site, const IrAxes *axes, IrValue *value, gboolean positions_first)
{
  IrAxis all = { 0 }, wanted = { 0 };

  for (guint k = 0; k < axes->rank; k++)
    append (&all, &axes->made[k]);
  append (&wanted, &axes->source[positions_first ? 2 : 0]);
  append (&wanted, &axes->source[positions_first ? 0 : 2]);
  append (&wanted, &axes->source[1]);
  append (&wanted, &axes->source[3]);
  if (!same_atoms (&all, &wanted))
    return FALSE;
  site->end = value;
  site->end_positions_first = positions_first;
  return TRUE;
}

/* Follows the result downwards over what only regroups it. */
static gboolean
find_end (Site *site)
{
  IrValue *value = site->attention->outputs[0];
  IrAxes axes;

  if (!ir_axes_start (&axes, site->context->model->context, value->type))
    return FALSE;
  for (guint i = 0; i < MAX_STEPS; i++)
    {
      IrUse use = value->n_uses == 1 ? ir_value_use (value, 0) : (IrUse){ 0 };

      if (use.node == NULL || use.slot != 0 || !ir_axes_is_step (use.node) ||
          use.node->graph != site->attention->graph || use.node->n_outputs != 1 ||
          ir_pass_is_open (use.node) || ir_pass_has_control (site->context, use.node) ||
          !ir_axes_apply (&axes, use.node, 0) || selected_atoms (&axes).n > 0)
        break;
      value = use.node->outputs[0];
      if (!end_fits (site, &axes, value, FALSE))
        end_fits (site, &axes, value, TRUE);
      else if (axes.rank == 3 && same_atoms (&axes.made[0], &axes.source[0]) &&
               same_atoms (&axes.made[1], &axes.source[2]))
        break;
    }
  return site->end != NULL;
}

/* -- what is made -- */

static IrNode *
add_node (Site *site,
          const char *domain,
          const char *op_type,
          guint n,
          IrValue *const *inputs,
          guint n_outputs)
{
  ir_pass_import (site->context, site->attention->graph, domain);
  site->n_added++;
  return ir_edit_add_node (site->context->edit, site->attention->graph, op_type, domain, NULL, n,
                           inputs, n_outputs);
}

static IrValue *
infer (Site *site, IrNode *node)
{
  ir_infer_node (site->context->edit, node, NULL);
  return node->outputs[0];
}

/* The contents of a shape for Reshape: numbers, 0 for a dim that stays in its place, one -1. */
static gboolean
shape_contents (const IrType *from, guint n, const IrDim *dims, gint64 *contents)
{
  gboolean left_open = FALSE;

  for (guint i = 0; i < n; i++)
    {
      contents[i] = dims[i];
      if (ir_dim_is_known (dims[i]))
        continue;
      if (dims[i] != IR_DIM_UNKNOWN && (int) i < from->rank && from->dims[i] == dims[i])
        contents[i] = 0;
      else if (left_open)
        return FALSE;
      else
        {
          contents[i] = -1;
          left_open = TRUE;
        }
    }
  return TRUE;
}

static IrValue *
add_reshape (Site *site, IrValue *value, guint n, const IrDim *dims)
{
  gint64 contents[IR_AXES_RANK];

  if (!ir_type_is_tensor (value->type) || !shape_contents (value->type, n, dims, contents))
    return NULL;
  g_autoptr (IrTensor) shape = ir_tensor_new_int64s (contents, n);
  IrValue *inputs[] = { value, ir_pass_add_constant (site->context, site->attention->graph, "shape",
                                                     shape) };
  return infer (site, add_node (site, "", "Reshape", 2, inputs, 1));
}

static IrValue *
add_swap (Site *site, IrValue *value)
{
  static const gint64 perm[] = { 1, 0, 2 };
  IrNode *node = add_node (site, "", "Transpose", 1, &value, 1);

  ir_edit_set_attr (site->context->edit, node,
                    ir_attr_ints (site->context->model->context, "perm", perm, 3));
  return infer (site, node);
}

/* The source as [batch, positions, what is left]; NULL: its dims cannot be written down. */
static IrValue *
add_source (Site *site, const Origin *origin, gint64 parts)
{
  IrValue *value = origin->source;
  IrDim dims[] = { origin->positions_first ? origin->length : origin->batch,
                   origin->positions_first ? origin->batch : origin->length,
                   parts * origin->heads * origin->size };

  if (!origin->direct)
    value = add_reshape (site, value, 3, dims);
  return value != NULL && origin->positions_first ? add_swap (site, value) : value;
}

/* The rotary embedding of heads side by side. */
static IrValue *
add_rotary (Site *site, const Origin *origin, IrValue *value)
{
  IrEdit *edit = site->context->edit;
  const IrNode *old = origin->rotary;
  gboolean ours = old->domain[0] != '\0';
  g_autofree IrValue **inputs = g_memdup2 (old->inputs, old->n_inputs * sizeof (IrValue *));

  inputs[0] = value;
  IrNode *node = add_node (site, old->domain, ours ? "MultiHeadRotaryEmbedding" : "RotaryEmbedding",
                           old->n_inputs, inputs, 1);
  for (guint i = 0; i < old->n_attrs; i++)
    ir_edit_set_attr (edit, node, old->attrs[i]);
  ir_edit_set_attr (edit, node,
                    ir_attr_int (site->context->model->context, "num_heads", origin->heads));
  ir_edit_step_map_node (edit, old->id, node->id);
  return infer (site, node);
}

static gboolean
add_split (Site *site, IrValue *value, IrValue **parts)
{
  const Origin *origin = &site->origins[0];
  gint64 third = origin->heads * origin->size, sizes[] = { third, third, third };
  g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (sizes, 3);
  IrValue *inputs[] = { value, ir_pass_add_constant (site->context, site->attention->graph, "sizes",
                                                     tensor) };
  IrNode *split = add_node (site, "", "Split", 2, inputs, 3);

  ir_edit_set_attr (site->context->edit, split,
                    ir_attr_int (site->context->model->context, "axis", 2));
  infer (site, split);
  memcpy (parts, split->outputs, 3 * sizeof (IrValue *));
  return TRUE;
}

/* Whether the new attention reads one value for Q, K and V. */
static gboolean
is_packed (const Site *site)
{
  return site->packed && ir_heads_op (site->attention, IR_HEADS_PACKED) != NULL;
}

/* Q, K and V, or QKV, in front of @inputs; how many they are, or 0. */
static guint
add_inputs (Site *site, IrValue **inputs)
{
  if (site->packed)
    {
      IrValue *all = add_source (site, &site->origins[0], 3);

      if (all == NULL)
        return 0;
      inputs[0] = all;
      return is_packed (site) ? 1 : add_split (site, all, inputs) ? 3 : 0;
    }
  for (guint i = 0; i < 3; i++)
    {
      inputs[i] = add_source (site, &site->origins[i], 1);
      if (inputs[i] == NULL)
        return 0;
      if (site->origins[i].rotary != NULL)
        inputs[i] = add_rotary (site, &site->origins[i], inputs[i]);
    }
  return 3;
}

static void
set_heads (Site *site, IrNode *node)
{
  IrContext *context = site->context->model->context;
  gboolean packed = is_packed (site);

  for (guint i = 0; i < site->attention->n_attrs; i++)
    ir_edit_set_attr (site->context->edit, node, site->attention->attrs[i]);
  ir_edit_set_attr (
      site->context->edit, node,
      ir_attr_int (context, packed ? "num_heads" : "q_num_heads", site->origins[0].heads));
  if (!packed)
    ir_edit_set_attr (site->context->edit, node,
                      ir_attr_int (context, "kv_num_heads", site->origins[1].heads));
}

/* The new attention, and what gives its result the form that it had; NULL: cannot be. */
static IrValue *
add_attention (Site *site)
{
  const IrNode *old = site->attention;
  const char *op = ir_heads_op (old, is_packed (site) ? IR_HEADS_PACKED : IR_HEADS_TOGETHER);
  g_autofree IrValue **inputs = g_new0 (IrValue *, old->n_inputs + 3);
  guint n = add_inputs (site, inputs);

  if (n == 0)
    return NULL;
  for (guint i = 3; i < old->n_inputs; i++)
    inputs[n++] = old->inputs[i];
  IrNode *node = add_node (site, old->domain, op, n, inputs, 1);
  set_heads (site, node);
  site->fresh = node;
  IrValue *value = infer (site, node);
  if (site->end_positions_first)
    value = add_swap (site, value);
  const IrType *type = site->end->type;
  return ir_types_identical (value->type, type)
             ? value
             : add_reshape (site, value, (guint) type->rank, type->dims);
}

/* -- a step -- */

static void
remove_unused (Site *site, IrNode *node)
{
  g_autofree IrValue **inputs = NULL;
  guint n = node->n_inputs;

  if (node->state != IR_STATE_LIVE)
    return;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL &&
        (node->outputs[i]->n_uses > 0 || ir_value_is_graph_output (node->outputs[i])))
      return;
  inputs = g_memdup2 (node->inputs, n * sizeof (IrValue *));
  ir_edit_step_map_node (site->context->edit, node->id, site->fresh->id);
  ir_pass_remove_node (site->context, node);
  site->n_removed++;
  for (guint i = 0; i < n; i++)
    if (inputs[i] != NULL && inputs[i]->state == IR_STATE_LIVE && inputs[i]->producer != NULL &&
        (ir_axes_is_step (inputs[i]->producer) || inputs[i]->producer == site->attention ||
         inputs[i]->producer == site->origins[0].rotary ||
         inputs[i]->producer == site->origins[1].rotary))
      remove_unused (site, inputs[i]->producer);
}

static void
apply (Site *site)
{
  IrPassContext *context = site->context;
  IrValue *old = site->end, *fresh;
  const IrType *type = old->type;

  if (!ir_pass_begin (context, site->packed ? PACKED_RULE : RULE, IR_CLASS_ROUNDING,
                      site->attention))
    return;
  ir_edit_step_reason (context->edit, "%" G_GINT64_FORMAT " heads of size %" G_GINT64_FORMAT,
                       site->origins[0].heads, site->origins[0].size);
  site->n_added = site->n_removed = 0;
  fresh = add_attention (site);
  if (fresh == NULL || !ir_types_identical (fresh->type, type))
    {
      ir_pass_abort (context);
      refuse (site, "the shapes around the attention cannot be written as numbers");
      return;
    }
  ir_edit_replace_uses (context->edit, old, fresh);
  remove_unused (site, old->producer);
  ir_pass_take_name (context, old, fresh);
  if (site->n_added >= site->n_removed)
    {
      ir_pass_abort (context);
      refuse (site, "what is around the attention has other readers, so nothing would be saved");
      return;
    }
  ir_pass_end (context);
}

/* Inputs, attributes and types that the fused operators know. */
static gboolean
is_simple (Site *site)
{
  const IrNode *node = site->attention;

  if (node->n_inputs < 3 || ir_pass_has_control (site->context, node) || ir_pass_is_open (node))
    return refuse (site, "queries, keys or values are missing");
  for (guint i = 0; i < 3; i++)
    if (node->inputs[i] == NULL || ir_value_rank (node->inputs[i]) != 4)
      return refuse (site, "queries, keys and values do not have four axes");
  for (guint i = 4; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL)
      return refuse (site, "the attention has a past");
  for (guint i = 1; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      return refuse (site, "the attention gives more than its result");
  return TRUE;
}

static void
visit (IrPassContext *context, IrNode *node)
{
  Site site = { .context = context, .attention = node };

  if (!ir_heads_are_apart (node) || node->state != IR_STATE_LIVE ||
      ir_node_attr (node, "q_num_heads") != NULL || !is_simple (&site))
    return;
  if (!find_end (&site))
    {
      refuse (&site, "the result is not put together as [batch, positions, heads * size]");
      return;
    }
  site.packed = find_origins (&site, TRUE);
  if (!site.packed && !find_origins (&site, FALSE))
    {
      refuse (&site, "queries, keys or values are not taken apart from [batch, positions, heads * "
                     "size]");
      return;
    }
  apply (&site);
}

/* Split takes its sizes as an input from opset 13 on. */
static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);

  for (guint i = 0; i < graphs->len; i++)
    {
      IrGraph *graph = graphs->pdata[i];
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);

      if (ir_graph_opset (graph, "") < 13)
        continue;
      for (guint k = 0; k < nodes->len && !context->stopped; k++)
        {
          if (ir_pass_cancelled (context, error))
            return FALSE;
          visit (context, nodes->pdata[k]);
        }
    }
  return TRUE;
}

static const IrRule rules[] = {
  { RULE,
    "an attention whose heads are taken apart by Reshape and Transpose, and put together again",
    "the attention of heads side by side", IR_CLASS_ROUNDING,
    "Heads that are only taken apart for an attention stay side by side." },
  { PACKED_RULE, "the same, with queries, keys and values that are the thirds of one value",
    "the attention of that value", IR_CLASS_ROUNDING,
    "Queries, keys and values from one product stay side by side." },
  { NULL },
};

const IrPass ir_pass_fuse_heads = {
  .name = "fuse-heads",
  .title = "Fuse heads into attention",
  .doc =
      "The changes of shape and transposes that take the heads of queries, keys and values apart "
      "and put those of the result together become part of the attention, and so do rotary "
      "embeddings and the Split of a packed product.",
  .source = "ONNX Runtime AttentionFusion, MultiHeadAttentionFusion; PyTorch Inductor",
  .step_class = IR_CLASS_ROUNDING,
  .before_after =
      "x -> Split -> Reshape, Transpose (three times) -> Attention -> Transpose, Reshape -> y\n"
      "x -> PackedAttention -> y",
  .run = run,
  .documented_rules = rules,
};
