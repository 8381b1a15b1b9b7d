#include "config.h"

#include "passes/rewrites/axes.h"

#include "core/op/op.h"

#include <string.h>

/* Begins with a tensor as it is. Returns whether all its dims are known or symbolic, and there
 * are not too many. */
gboolean
ir_axes_start (IrAxes *axes, IrContext *context, const IrType *type)
{
  memset (axes, 0, sizeof *axes);
  axes->context = context;
  if (!ir_type_is_tensor (type) || !ir_type_has_rank (type) || type->rank > IR_AXES_RANK)
    return FALSE;
  axes->rank = axes->source_rank = (guint) type->rank;
  for (guint i = 0; i < axes->rank; i++)
    {
      if (type->dims[i] == IR_DIM_UNKNOWN || type->dims[i] == 0)
        return FALSE;
      if (type->dims[i] == 1)
        continue;
      axes->sizes[axes->n_atoms] = type->dims[i];
      axes->selected[axes->n_atoms] = -1;
      axes->made[i] = (IrAxis){ .n = 1, .atoms = { (guint8) axes->n_atoms++ } };
      axes->source[i] = axes->made[i];
    }
  return TRUE;
}

static void
insert_behind (IrAxis *axis, guint8 atom, guint8 fresh)
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
split_atom (IrAxes *axes, IrAxis *also, guint8 atom, IrDim outer, IrDim inner)
{
  guint8 fresh = (guint8) axes->n_atoms;

  if (axes->n_atoms == IR_AXES_ATOMS)
    return FALSE;
  axes->n_atoms++;
  axes->sizes[atom] = outer;
  axes->sizes[fresh] = inner;
  axes->selected[fresh] = -1;
  for (guint i = 0; i < axes->source_rank; i++)
    insert_behind (&axes->source[i], atom, fresh);
  for (guint i = 0; i < axes->rank; i++)
    insert_behind (&axes->made[i], atom, fresh);
  insert_behind (also, atom, fresh);
  return TRUE;
}

/* Takes atoms from the front of @all, from @at on, that make an axis of size @need. */
static gboolean
take_atoms (IrAxes *axes, IrAxis *all, guint *at, IrDim need, IrAxis *axis)
{
  IrDim rest;

  for (axis->n = 0; need != 1; need = rest)
    {
      if (*at == all->n)
        return FALSE;
      guint8 atom = all->atoms[(*at)++];
      if (axes->sizes[atom] == need)
        rest = 1;
      else if (ir_dim_divides (axes->context, axes->sizes[atom], need, &rest))
        {
          if (!split_atom (axes, all, atom, need, rest))
            return FALSE;
          rest = 1;
        }
      else if (!ir_dim_divides (axes->context, need, axes->sizes[atom], &rest))
        return FALSE;
      axis->atoms[axis->n++] = atom;
    }
  return TRUE;
}

static gboolean
regroup (IrAxes *axes, const IrType *type)
{
  IrAxis all = { 0 }, parts[IR_AXES_RANK] = { 0 };
  guint at = 0;

  if (!ir_type_is_tensor (type) || !ir_type_has_rank (type) || type->rank > IR_AXES_RANK)
    return FALSE;
  for (guint i = 0; i < axes->rank; i++)
    for (guint k = 0; k < axes->made[i].n; k++)
      all.atoms[all.n++] = axes->made[i].atoms[k];
  axes->rank = 0; /* the atoms are in @all now */
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] == IR_DIM_UNKNOWN || type->dims[i] == 0 ||
        !take_atoms (axes, &all, &at, type->dims[i], &parts[i]))
      return FALSE;
  axes->rank = (guint) type->rank;
  memcpy (axes->made, parts, sizeof parts);
  return at == all.n;
}

static gboolean
transpose (IrAxes *axes, const IrNode *node)
{
  IrAxis before[IR_AXES_RANK];
  guint n = 0;
  const gint64 *perm = ir_node_attr_ints (node, "perm", &n);

  memcpy (before, axes->made, sizeof before);
  if (perm != NULL && n != axes->rank)
    return FALSE;
  for (guint i = 0; i < axes->rank; i++)
    {
      gint64 from = perm != NULL ? perm[i] : (gint64) (axes->rank - 1 - i);
      if (from < 0 || from >= (gint64) axes->rank)
        return FALSE;
      axes->made[i] = before[from];
    }
  return TRUE;
}

/* Leaves one index of the first @n atoms of an axis. */
static gboolean
select_atoms (IrAxes *axes, IrAxis *axis, guint n, gint64 index)
{
  for (guint i = n; i-- > 0;)
    {
      guint8 atom = axis->atoms[i];

      if (!ir_dim_is_known (axes->sizes[atom]))
        return FALSE;
      axes->selected[atom] = index % axes->sizes[atom];
      index /= axes->sizes[atom];
    }
  memmove (axis->atoms, axis->atoms + n, axis->n - n);
  axis->n -= n;
  return index == 0;
}

static gboolean
normal_axis (const IrAxes *axes, const IrNode *node, guint *axis)
{
  gint64 at = ir_node_attr_int (node, "axis", 0);

  if (at < 0)
    at += axes->rank;
  *axis = (guint) at;
  return at >= 0 && at < (gint64) axes->rank;
}

/* Gather of one scalar index. */
static gboolean
gather (IrAxes *axes, const IrNode *node)
{
  const IrTensor *indices = ir_value_constant (node->inputs[1]);
  const IrType *in = node->inputs[0]->type;
  guint axis;

  if (indices == NULL || ir_tensor_rank (indices) != 0 || !normal_axis (axes, node, &axis) ||
      !ir_dim_is_known (in->dims[axis]))
    return FALSE;
  gint64 index = ir_tensor_get_int64 (indices, 0);
  if (index < 0)
    index += in->dims[axis];
  if (index < 0 || index >= in->dims[axis] ||
      !select_atoms (axes, &axes->made[axis], axes->made[axis].n, index))
    return FALSE;
  memmove (axes->made + axis, axes->made + axis + 1, sizeof (IrAxis) * (axes->rank - axis - 1));
  axes->rank--;
  return TRUE;
}

/* One of the equal parts that a Split makes. */
static gboolean
take_part (IrAxes *axes, const IrNode *node, guint output)
{
  const IrType *in = node->inputs[0]->type;
  IrAxis part, rest = { 0 };
  guint axis, at = 0;

  if (!normal_axis (axes, node, &axis) || !ir_dim_is_known (in->dims[axis]) ||
      in->dims[axis] % node->n_outputs != 0)
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrType *out = node->outputs[i] != NULL ? node->outputs[i]->type : NULL;
      if (!ir_type_is_tensor (out) || out->rank != (int) axes->rank ||
          out->dims[axis] != in->dims[axis] / node->n_outputs)
        return FALSE;
    }
  rest = axes->made[axis];
  axes->made[axis].n = 0; /* its atoms are in @rest now */
  if (!take_atoms (axes, &rest, &at, node->n_outputs, &part))
    return FALSE;
  axes->made[axis] = rest;
  return select_atoms (axes, &axes->made[axis], at, output);
}

/* Whether ir_axes_apply() may know what it does to axes */
gboolean
ir_axes_is_step (const IrNode *node)
{
  static const IrOpId ops[] = { IR_OP_RESHAPE, IR_OP_TRANSPOSE, IR_OP_SQUEEZE, IR_OP_UNSQUEEZE,
                                IR_OP_FLATTEN, IR_OP_GATHER,    IR_OP_SPLIT };

  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    if (ir_op_is (node, ops[i]))
      return node->n_inputs > 0 && node->inputs[0] != NULL;
  return FALSE;
}

/* Goes on to an output of @node. Returns whether the axes of the output are known, too; if not,
 * @axes is worth nothing any more. */
gboolean
ir_axes_apply (IrAxes *axes, const IrNode *node, guint output)
{
  if (ir_op_is (node, IR_OP_TRANSPOSE))
    return transpose (axes, node);
  if (ir_op_is (node, IR_OP_GATHER))
    return gather (axes, node);
  if (ir_op_is (node, IR_OP_SPLIT))
    return take_part (axes, node, output);
  return regroup (axes, node->outputs[output]->type);
}

/* Whether its output has the elements of input 0 in the same order: a change of shape, or a
 * Transpose that moves none but axes of size 1. */
gboolean
ir_axes_keeps_order (const IrNode *node)
{
  guint n = 0;
  const gint64 *perm = ir_node_attr_ints (node, "perm", &n);
  const IrType *type = node->n_inputs > 0 && node->inputs[0] != NULL ? node->inputs[0]->type : NULL;
  gint64 last = -1;

  if (!ir_op_is (node, IR_OP_TRANSPOSE))
    return ir_op_is (node, IR_OP_RESHAPE) || ir_op_is (node, IR_OP_SQUEEZE) ||
           ir_op_is (node, IR_OP_UNSQUEEZE) || ir_op_is (node, IR_OP_FLATTEN);
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
