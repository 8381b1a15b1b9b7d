#include "config.h"

#include "app/cli/plans.h"

IrModel *
cli_static_model (const CliModelOptions *options, IrModel *model, GError **error)
{
  g_autoptr (IrModel) copy = ir_model_clone (model);
  g_autoptr (GHashTable) inputs = cli_inputs (options, model, error);
  g_autoptr (IrEdit) edit = NULL;
  GHashTableIter iter;
  gpointer id, tensor;

  if (inputs == NULL)
    return NULL;
  edit = ir_edit_new_import (copy);
  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    ir_infer_bind_input (edit, ir_model_value (copy, GPOINTER_TO_UINT (id)),
                         ir_tensor_rank (tensor), ir_tensor_dims (tensor));
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  g_clear_pointer (&edit, ir_edit_free);
  return g_steal_pointer (&copy);
}
