/* What the inputs of the graph are given in runs, and the graph with the shapes that this makes. */
#include "config.h"

#include "core/op/infer.h"
#include "views/session/session-private.h"

GHashTable *
ir_session_get_inputs (IrSession *self)
{
  return self->inputs;
}

/**
 * ir_session_set_input:
 * @tensor: (nullable) (transfer none): what the input is given from the next run on; %NULL makes it
 *   random again
 */
void
ir_session_set_input (IrSession *self, IrValueId input, IrTensor *tensor)
{
  if (tensor != NULL)
    g_hash_table_insert (self->inputs, GUINT_TO_POINTER (input), ir_tensor_ref (tensor));
  else
    g_hash_table_remove (self->inputs, GUINT_TO_POINTER (input));
  ir_session_changed (self, IR_CHANGED_INPUTS);
}

guint64
ir_session_get_seed (IrSession *self)
{
  return self->seed;
}

void
ir_session_set_seed (IrSession *self, guint64 seed)
{
  if (self->seed == seed)
    return;
  self->seed = seed;
  ir_session_changed (self, IR_CHANGED_INPUTS);
}

/* Every input of @model: what was given, the rest random. */
GHashTable *
ir_session_all_inputs (
    IrModel *model, GHashTable *given, guint64 seed, GHashTable *sizes, GError **error)
{
  GHashTable *inputs = ir_random_inputs (model, seed, sizes, error);
  GHashTableIter iter;
  gpointer id, tensor;

  if (inputs == NULL)
    return NULL;
  g_hash_table_iter_init (&iter, given);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    if (ir_model_live_value (model, GPOINTER_TO_UINT (id)) != NULL)
      g_hash_table_insert (inputs, id, ir_tensor_ref (tensor));
  return inputs;
}

GHashTable *
ir_session_copy_inputs (GHashTable *inputs)
{
  GHashTable *copy = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    g_hash_table_insert (copy, id, ir_tensor_ref (tensor));
  return copy;
}

/* Those of @inputs that @model has: a run refuses others. */
GHashTable *
ir_session_inputs_of (const IrModel *model, GHashTable *inputs)
{
  GHashTable *own = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      const IrValue *value = ir_model_live_value (model, GPOINTER_TO_UINT (id));

      if (value != NULL && ir_graph_has_input (model->main, value))
        g_hash_table_insert (own, id, ir_tensor_ref (tensor));
    }
  return own;
}

/* -- shapes -- */

struct _IrSizer
{
  IrModel *model; /* frozen */
  GHashTable *inputs;
  guint64 seed;
  GHashTable *sizes;
};

/**
 * ir_session_new_sizer:
 *
 * Returns: (transfer full) (nullable): what ir_sizer_make() needs; %NULL: nothing is open
 */
IrSizer *
ir_session_new_sizer (IrSession *self)
{
  IrSizer *sizer;

  if (self->frame == NULL)
    return NULL;
  sizer = g_new0 (IrSizer, 1);
  sizer->model = ir_model_ref (self->frame->model);
  sizer->inputs = ir_session_copy_inputs (self->inputs);
  sizer->seed = self->seed;
  sizer->sizes = g_hash_table_ref (self->sizes);
  return sizer;
}

void
ir_sizer_free (IrSizer *sizer)
{
  ir_model_unref (sizer->model);
  g_hash_table_unref (sizer->inputs);
  g_hash_table_unref (sizer->sizes);
  g_free (sizer);
}

/**
 * ir_sizer_make:
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): a copy of the graph in which symbols have the sizes of the
 *   inputs that a run would take
 */
IrModel *
ir_sizer_make (const IrSizer *sizer, GError **error)
{
  g_autoptr (GHashTable) inputs = ir_session_all_inputs (sizer->model, sizer->inputs, sizer->seed,
                                                         sizer->sizes, error);
  g_autoptr (IrEdit) edit = NULL;
  IrModel *copy;
  GHashTableIter iter;
  gpointer id, tensor;

  if (inputs == NULL)
    return NULL;
  copy = ir_model_clone (sizer->model);
  edit = ir_edit_new_import (copy);
  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      IrValue *input = ir_model_live_value (copy, GPOINTER_TO_UINT (id));

      if (input != NULL && ir_value_is_graph_input (input) && !ir_tensor_is_container (tensor))
        ir_infer_bind_input (edit, input, ir_tensor_rank (tensor), ir_tensor_dims (tensor));
    }
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return copy;
}
