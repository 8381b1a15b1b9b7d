#include "config.h"

#include "app/cli/plans.h"

IrModel *
cli_sized_model (const CliModelOptions *options, IrModel *model, GError **error)
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

guint
cli_n_workers (const CliModelOptions *options)
{
  return options->threads > 0 ? (guint) options->threads : g_get_num_processors ();
}

IrSchedule *
cli_schedule (const CliModelOptions *options,
              IrModel *model,
              guint n_workers,
              IrModel **sized,
              GError **error)
{
  const IrBackend *backend = cli_backend (options, error);

  *sized = backend != NULL ? cli_sized_model (options, model, error) : NULL;
  return *sized != NULL ? ir_schedule_new (*sized, backend, n_workers, error) : NULL;
}

IrMemPlan *
cli_mem_plan (const CliModelOptions *options, IrModel *model, IrModel **sized, GError **error)
{
  g_autoptr (IrSchedule) schedule = cli_schedule (options, model, 1, sized, error);
  return schedule != NULL ? ir_mem_plan_new (*sized, schedule, CLI_ALIGN_BYTES) : NULL;
}
