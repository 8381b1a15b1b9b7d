#include "config.h"

#include "passes/view.h"

#include "core/op/op.h"

#include <string.h>

/**
 * ir_view_start:
 * @view: (out caller-allocates): a view
 * @context: that of the type
 * @type: type of the source
 *
 * Begins with a tensor as it is.
 *
 * Returns: whether all its dims are known or symbolic, and there are not too many
 */
gboolean
ir_view_start (IrView *view, IrContext *context, const IrType *type)
{
  memset (view, 0, sizeof *view);
  view->context = context;
  if (!ir_type_is_tensor (type) || !ir_type_has_rank (type) || type->rank > IR_VIEW_RANK)
    return FALSE;
  view->rank = view->source_rank = (guint) type->rank;
  for (guint i = 0; i < view->rank; i++)
    {
      if (type->dims[i] == IR_DIM_UNKNOWN || type->dims[i] == 0)
        return FALSE;
      if (type->dims[i] == 1)
        continue;
      view->sizes[view->n_atoms] = type->dims[i];
      view->selected[view->n_atoms] = -1;
      view->axes[i] = (IrViewAxis){ .n = 1, .atoms = { (guint8) view->n_atoms++ } };
      view->source[i] = view->axes[i];
    }
  return TRUE;
}

static void
insert_behind (IrViewAxis *axis, guint8 atom, guint8 fresh)
{
  for (guint i = 0; i < axis->n; i++)
    if (axis->atoms[i] == atom)
      {
        memmove (axis->atoms + i + 2, axis->atoms + i + 1, axis->n - i - 1);
        axis->atoms[i + 1] = fresh;
        axis->n++;
        return;
      }
}

/* An atom becomes two: itself, now of size @outer, and a new one of size @inner behind it. */
static gboolean
split_atom (IrView *view, IrViewAxis *also, guint8 atom, IrDim outer, IrDim inner)
{
  guint8 fresh = (guint8) view->n_atoms;

  if (view->n_atoms == IR_VIEW_ATOMS)
    return FALSE;
  view->n_atoms++;
  view->sizes[atom] = outer;
  view->sizes[fresh] = inner;
  view->selected[fresh] = -1;
  for (guint i = 0; i < view->source_rank; i++)
    insert_behind (&view->source[i], atom, fresh);
  for (guint i = 0; i < view->rank; i++)
    insert_behind (&view->axes[i], atom, fresh);
  insert_behind (also, atom, fresh);
  return TRUE;
}

/* Takes atoms from the front of @all, from @at on, that make an axis of size @need. */
static gboolean
take_atoms (IrView *view, IrViewAxis *all, guint *at, IrDim need, IrViewAxis *axis)
{
  IrDim rest;

  for (axis->n = 0; need != 1; need = rest)
    {
      if (*at == all->n)
        return FALSE;
      guint8 atom = all->atoms[(*at)++];
      if (view->sizes[atom] == need)
        rest = 1;
      else if (ir_dim_divides (view->context, view->sizes[atom], need, &rest))
        {
          if (!split_atom (view, all, atom, need, rest))
            return FALSE;
          rest = 1;
        }
      else if (!ir_dim_divides (view->context, need, view->sizes[atom], &rest))
        return FALSE;
      axis->atoms[axis->n++] = atom;
    }
  return TRUE;
}

static gboolean
regroup (IrView *view, const IrType *type)
{
  IrViewAxis all = { 0 }, axes[IR_VIEW_RANK] = { 0 };
  guint at = 0;

  if (!ir_type_is_tensor (type) || !ir_type_has_rank (type) || type->rank > IR_VIEW_RANK)
    return FALSE;
  for (guint i = 0; i < view->rank; i++)
    for (guint k = 0; k < view->axes[i].n; k++)
      all.atoms[all.n++] = view->axes[i].atoms[k];
  view->rank = 0; /* the atoms are in @all now */
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] == IR_DIM_UNKNOWN || type->dims[i] == 0 ||
        !take_atoms (view, &all, &at, type->dims[i], &axes[i]))
      return FALSE;
  view->rank = (guint) type->rank;
  memcpy (view->axes, axes, sizeof axes);
  return at == all.n;
}

static gboolean
transpose (IrView *view, const IrNode *node)
{
  IrViewAxis axes[IR_VIEW_RANK];
  guint n = 0;
  const gint64 *perm = ir_node_attr_ints (node, "perm", &n);

  memcpy (axes, view->axes, sizeof axes);
  if (perm != NULL && n != view->rank)
    return FALSE;
  for (guint i = 0; i < view->rank; i++)
    {
      gint64 from = perm != NULL ? perm[i] : (gint64) (view->rank - 1 - i);
      if (from < 0 || from >= (gint64) view->rank)
        return FALSE;
      view->axes[i] = axes[from];
    }
  return TRUE;
}

/* Leaves one index of the first @n atoms of an axis. */
static gboolean
select_atoms (IrView *view, IrViewAxis *axis, guint n, gint64 index)
{
  for (guint i = n; i-- > 0;)
    {
      guint8 atom = axis->atoms[i];

      if (!ir_dim_is_known (view->sizes[atom]))
        return FALSE;
      view->selected[atom] = index % view->sizes[atom];
      index /= view->sizes[atom];
    }
  memmove (axis->atoms, axis->atoms + n, axis->n - n);
  axis->n -= n;
  return index == 0;
}

static gboolean
normal_axis (const IrView *view, const IrNode *node, guint *axis)
{
  gint64 at = ir_node_attr_int (node, "axis", 0);

  if (at < 0)
    at += view->rank;
  *axis = (guint) at;
  return at >= 0 && at < (gint64) view->rank;
}

/* Gather of one scalar index. */
static gboolean
gather (IrView *view, const IrNode *node)
{
  const IrTensor *indices = ir_value_constant (node->inputs[1]);
  const IrType *in = node->inputs[0]->type;
  guint axis;

  if (indices == NULL || ir_tensor_rank (indices) != 0 || !normal_axis (view, node, &axis) ||
      !ir_dim_is_known (in->dims[axis]))
    return FALSE;
  gint64 index = ir_tensor_get_int64 (indices, 0);
  if (index < 0)
    index += in->dims[axis];
  if (index < 0 || index >= in->dims[axis] ||
      !select_atoms (view, &view->axes[axis], view->axes[axis].n, index))
    return FALSE;
  memmove (view->axes + axis, view->axes + axis + 1, sizeof (IrViewAxis) * (view->rank - axis - 1));
  view->rank--;
  return TRUE;
}

/* One of the equal parts that a Split makes. */
static gboolean
take_part (IrView *view, const IrNode *node, guint output)
{
  const IrType *in = node->inputs[0]->type;
  IrViewAxis part, rest = { 0 };
  guint axis, at = 0;

  if (!normal_axis (view, node, &axis) || !ir_dim_is_known (in->dims[axis]) ||
      in->dims[axis] % node->n_outputs != 0)
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrType *out = node->outputs[i] != NULL ? node->outputs[i]->type : NULL;
      if (!ir_type_is_tensor (out) || out->rank != (int) view->rank ||
          out->dims[axis] != in->dims[axis] / node->n_outputs)
        return FALSE;
    }
  rest = view->axes[axis];
  view->axes[axis].n = 0; /* its atoms are in @rest now */
  if (!take_atoms (view, &rest, &at, node->n_outputs, &part))
    return FALSE;
  view->axes[axis] = rest;
  return select_atoms (view, &view->axes[axis], at, output);
}

/**
 * ir_view_is_step:
 * @node: a node
 *
 * Returns: whether ir_view_apply() may know what it does to axes
 */
gboolean
ir_view_is_step (const IrNode *node)
{
  static const char *const ops[] = { "Reshape", "Transpose", "Squeeze", "Unsqueeze",
                                     "Flatten", "Gather",    "Split" };

  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    if (ir_node_is (node, ops[i]))
      return node->n_inputs > 0 && node->inputs[0] != NULL;
  return FALSE;
}

/**
 * ir_view_apply:
 * @view: how axes are made of those of the source
 * @node: a node for which ir_view_is_step() holds, whose input 0 the view describes
 * @output: which of its outputs
 *
 * Goes on to an output of @node.
 *
 * Returns: whether the axes of the output are known, too; if not, @view is worth nothing any more
 */
gboolean
ir_view_apply (IrView *view, const IrNode *node, guint output)
{
  if (ir_node_is (node, "Transpose"))
    return transpose (view, node);
  if (ir_node_is (node, "Gather"))
    return gather (view, node);
  if (ir_node_is (node, "Split"))
    return take_part (view, node, output);
  return regroup (view, node->outputs[output]->type);
}

/**
 * ir_view_keeps_order:
 * @node: a node
 *
 * Returns: whether its output has the elements of input 0 in the same order: a change of shape, or
 * a Transpose that moves none but axes of size 1
 */
gboolean
ir_view_keeps_order (const IrNode *node)
{
  guint n = 0;
  const gint64 *perm = ir_node_attr_ints (node, "perm", &n);
  const IrType *type = node->n_inputs > 0 && node->inputs[0] != NULL ? node->inputs[0]->type : NULL;
  gint64 last = -1;

  if (!ir_node_is (node, "Transpose"))
    return ir_node_is (node, "Reshape") || ir_node_is (node, "Squeeze") ||
           ir_node_is (node, "Unsqueeze") || ir_node_is (node, "Flatten");
  if (!ir_type_is_tensor (type) || !ir_type_has_rank (type) || perm == NULL ||
      n != (guint) type->rank)
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      if (perm[i] < 0 || perm[i] >= type->rank)
        return FALSE;
      if (type->dims[perm[i]] == 1)
        continue;
      if (perm[i] < last)
        return FALSE;
      last = perm[i];
    }
  return TRUE;
}
