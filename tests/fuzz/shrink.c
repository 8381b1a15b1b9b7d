#include "config.h"

#include "tests/fuzz/shrink.h"

#include "core/op/infer.h"

#include <math.h>

static void
remove_unused (IrEdit *edit, IrModel *model)
{
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  gboolean changed = TRUE;

  while (changed)
    {
      changed = FALSE;
      for (guint i = model->nodes->len; i > 1; i--)
        {
          IrNode *node = ir_model_live_node (model, i - 1);
          gboolean used = node == NULL || node->graph != model->main;
          for (guint k = 0; !used && k < node->n_outputs; k++)
            used = node->outputs[k] != NULL && node->outputs[k]->n_uses > 0;
          if (!used)
            {
              ir_edit_remove_node (edit, node);
              changed = TRUE;
            }
        }
    }
  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    if (ir_graph_input (model->main, i)->n_uses > 0)
      g_ptr_array_add (inputs, ir_graph_input (model->main, i));
  ir_edit_set_graph_inputs (edit, model->main, (IrValue *const *) inputs->pdata, inputs->len);
  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (model, i);
      if (value != NULL && value->graph == model->main && value->producer == NULL &&
          value->n_uses == 0)
        ir_edit_remove_value (edit, value);
    }
}

gboolean
shrink_to (Shrink *shrink, IrModel *candidate)
{
  gboolean fails = shrink->fails (candidate, shrink->data);

  ir_model_unref (fails ? shrink->model : candidate);
  if (fails)
    shrink->model = candidate;
  return fails;
}

void
shrink_outputs (Shrink *shrink)
{
  for (guint i = ir_graph_n_outputs (shrink->model->main);
       i > 0 && ir_graph_n_outputs (shrink->model->main) > 1; i--)
    {
      IrModel *model = ir_model_clone (shrink->model);
      IrEdit *edit = ir_edit_new_import (model);
      g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

      for (guint k = 0; k < ir_graph_n_outputs (model->main); k++)
        if (k != i - 1)
          g_ptr_array_add (outputs, ir_graph_output (model->main, k));
      ir_edit_set_graph_outputs (edit, model->main, (IrValue *const *) outputs->pdata,
                                 outputs->len);
      remove_unused (edit, model);
      ir_edit_free (edit);
      shrink_to (shrink, model);
    }
}

/* The node goes; what read it reads its input, a new input, or a constant instead. */
static gboolean
cut_node (Shrink *shrink, IrNodeId id, guint how, IrRun *captured)
{
  IrModel *model = ir_model_clone (shrink->model);
  IrEdit *edit = ir_edit_new_import (model);
  IrNode *node = ir_model_live_node (model, id);
  IrValue *output = node->outputs[0], *with = NULL;
  const IrTensor *tensor = output != NULL && captured != NULL ? ir_run_value (captured, output->id)
                                                              : NULL;
  gboolean possible = node->n_outputs == 1 && output != NULL && !ir_value_is_graph_output (output);

  if (possible && how == 0 && node->n_inputs > 0)
    with = node->inputs[0];
  else if (possible && tensor != NULL && ir_type_is_tensor (output->type))
    {
      with = how == 1 ? ir_edit_add_value (edit, model->main, ir_edit_unique_name (edit, "cut"),
                                           ir_tensor_type (tensor, model->context))
                      : ir_edit_add_initializer (edit, model->main, NULL, (IrTensor *) tensor);
      if (how == 1)
        {
          g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
          for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
            g_ptr_array_add (inputs, ir_graph_input (model->main, i));
          g_ptr_array_add (inputs, with);
          ir_edit_set_graph_inputs (edit, model->main, (IrValue *const *) inputs->pdata,
                                    inputs->len);
        }
    }
  if (with != NULL && with != output)
    {
      ir_edit_replace_uses (edit, output, with);
      ir_edit_remove_node (edit, node);
      remove_unused (edit, model);
      for (guint i = 1; i < model->values->len; i++)
        {
          IrValue *value = ir_model_live_value (model, i);
          if (value != NULL && value->producer != NULL)
            ir_edit_set_type (edit, value, NULL);
        }
      ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
    }
  ir_edit_free (edit);
  if (with == NULL || with == output)
    {
      ir_model_unref (model);
      return FALSE;
    }
  return shrink_to (shrink, model);
}

gboolean
shrink_nodes (Shrink *shrink)
{
  gboolean changed = FALSE;

  for (guint how = 0; how < 3; how++)
    for (guint i = shrink->model->nodes->len; i > 1; i--)
      {
        const IrNode *node = i <= shrink->model->nodes->len
                                 ? ir_model_live_node (shrink->model, i - 1)
                                 : NULL;
        if (node == NULL || node->graph != shrink->model->main || ir_node_is (node, "Constant"))
          continue;
        g_autoptr (IrRun) captured = shrink->captured (shrink->model, shrink->data);
        changed |= cut_node (shrink, i - 1, how, captured);
      }
  return changed;
}

/* -- sizes -- */

static gboolean
has_size (const IrTensor *tensor, gint64 size)
{
  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    if (ir_tensor_dims (tensor)[i] == size)
      return TRUE;
  return FALSE;
}

/* The first @to of each @from, and numbers @from among integers become @to. */
static IrTensor *
resized (const IrTensor *tensor, gint64 from, gint64 to)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  guint rank = ir_tensor_rank (tensor);
  gint64 dims[IR_MAX_RANK], at[IR_MAX_RANK] = { 0 };
  guint64 n = 1;

  for (guint i = 0; i < rank; i++)
    n *= (guint64) (dims[i] = ir_tensor_dims (tensor)[i] == from ? to : ir_tensor_dims (tensor)[i]);
  IrTensor *copy = ir_tensor_new_alloc (dtype, rank, dims, NULL);
  for (guint64 k = 0; k < n; k++)
    {
      guint64 source = 0;
      for (guint i = 0; i < rank; i++)
        source = source * (guint64) ir_tensor_dims (tensor)[i] + (guint64) at[i];
      double x = ir_tensor_get_double (tensor, source);
      ir_dtype_set_double (dtype, ir_tensor_data_writable (copy), k,
                           dtype == IR_DTYPE_INT64 && x == (double) from ? (double) to : x);
      for (guint i = rank; i > 0 && ++at[i - 1] == dims[i - 1]; i--)
        at[i - 1] = 0;
    }
  return copy;
}

static gboolean
resize_value (IrEdit *edit, IrModel *model, IrValue *value, gint64 from, gint64 to)
{
  const IrTensor *tensor = value->initializer;

  if (tensor != NULL && !ir_tensor_is_container (tensor) &&
      ir_tensor_dtype (tensor) != IR_DTYPE_STRING && ir_tensor_n_elements (tensor) > 0 &&
      (has_size (tensor, from) || ir_tensor_dtype (tensor) == IR_DTYPE_INT64))
    {
      g_autoptr (IrTensor) copy = resized (tensor, from, to);
      ir_edit_set_initializer (edit, value, copy);
      ir_edit_set_type (edit, value, ir_tensor_type (copy, model->context));
      return TRUE;
    }
  if (tensor == NULL && value->producer == NULL && value->graph == model->main &&
      ir_type_is_tensor (value->type) && ir_type_has_rank (value->type))
    {
      IrDim dims[IR_MAX_RANK];
      for (int i = 0; i < value->type->rank; i++)
        dims[i] = value->type->dims[i] == from ? to : value->type->dims[i];
      ir_edit_set_type (
          edit, value,
          ir_type_tensor (model->context, value->type->dtype, value->type->rank, dims));
      return TRUE;
    }
  return FALSE;
}

/* Attributes that count what is resized, as those of depthwise convolutions do. */
static void
resize_attrs (IrEdit *edit, IrModel *model, gint64 from, gint64 to)
{
  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = ir_model_live_node (model, i);
      for (guint k = 0; node != NULL && k < node->n_attrs; k++)
        {
          const IrAttr *attr = node->attrs[k];
          if (attr->kind == IR_ATTR_INT && attr->ints[0] == from && from > 1)
            ir_edit_set_attr (edit, node, ir_attr_int (model->context, attr->name, to));
        }
    }
}

static gboolean
resize (Shrink *shrink, gint64 from, gint64 to, gboolean attrs)
{
  IrModel *model = ir_model_clone (shrink->model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (model, i);
      if (value != NULL && !resize_value (edit, model, value, from, to) && value->producer != NULL)
        ir_edit_set_type (edit, value, NULL);
    }
  if (attrs)
    resize_attrs (edit, model, from, to);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  g_clear_pointer (&edit, ir_edit_free);
  return shrink_to (shrink, model);
}

static gint64
largest_below (const IrModel *model, gint64 limit)
{
  gint64 largest = 1;

  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (model, i);
      if (value == NULL || value->producer != NULL || !ir_type_is_tensor (value->type))
        continue;
      for (int k = 0; k < value->type->rank; k++)
        if (value->type->dims[k] < limit)
          largest = MAX (largest, value->type->dims[k]);
    }
  return largest;
}

gboolean
shrink_sizes (Shrink *shrink)
{
  gboolean changed = FALSE;

  for (gint64 size = G_MAXINT64; (size = largest_below (shrink->model, size)) > 1;)
    {
      const gint64 smaller[] = { 1, 2, 3, 4, size / 2, size - 1 };
      gboolean less = FALSE;

      for (guint i = 0; i < 2 * G_N_ELEMENTS (smaller) && !less; i++)
        less = smaller[i / 2] < size && smaller[i / 2] > 0 &&
               resize (shrink, size, smaller[i / 2], i % 2);
      changed |= less;
    }
  return changed;
}

/* -- constants -- */

gboolean
shrink_constants (Shrink *shrink)
{
  IrModel *model = ir_model_clone (shrink->model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  gboolean any = FALSE;

  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = ir_model_live_node (model, i);
      const IrTensor *tensor = node != NULL && node->graph == model->main &&
                                       ir_node_is (node, "Constant")
                                   ? ir_value_constant (node->outputs[0])
                                   : NULL;
      if (tensor == NULL || ir_value_is_graph_output (node->outputs[0]))
        continue;
      IrValue *value = ir_edit_add_initializer (edit, model->main, NULL, (IrTensor *) tensor);
      ir_edit_replace_uses (edit, node->outputs[0], value);
      ir_edit_remove_node (edit, node);
      any = TRUE;
    }
  g_clear_pointer (&edit, ir_edit_free);
  if (any)
    return shrink_to (shrink, model);
  ir_model_unref (model);
  return FALSE;
}

/* Multiples of a quarter, which read well. */
static gboolean
round_value (Shrink *shrink, IrValueId id)
{
  const IrTensor *old = ir_model_live_value (shrink->model, id)->initializer;
  IrDtype dtype = ir_tensor_dtype (old);
  g_autoptr (IrTensor)
      tensor = ir_tensor_new_alloc (dtype, ir_tensor_rank (old), ir_tensor_dims (old), NULL);
  gboolean changed = FALSE;

  for (guint64 i = 0; i < ir_tensor_n_elements (old); i++)
    {
      double x = ir_tensor_get_double (old, i), rounded = round (x * 4) / 4;
      changed |= isfinite (x) && rounded != x;
      ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i, isfinite (x) ? rounded : x);
    }
  if (!changed)
    return FALSE;
  IrModel *model = ir_model_clone (shrink->model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_edit_set_initializer (edit, ir_model_live_value (model, id), tensor);
  g_clear_pointer (&edit, ir_edit_free);
  return shrink_to (shrink, model);
}

void
shrink_numbers (Shrink *shrink)
{
  for (guint i = 1; i < shrink->model->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (shrink->model, i);
      if (value != NULL && value->initializer != NULL &&
          !ir_tensor_is_container (value->initializer) &&
          ir_dtype_is_float (ir_tensor_dtype (value->initializer)))
        round_value (shrink, i);
    }
}
