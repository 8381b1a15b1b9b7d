/* Nodes and values by what users call them: a name, or #id. */
#include "config.h"

#include "app/cli/model.h"

#include <string.h>

static gboolean
parse_id (const char *name, guint32 *id)
{
  gint64 n;

  if (name[0] != '#' || !g_ascii_string_to_signed (name + 1, 10, 1, G_MAXINT32, &n, NULL))
    return FALSE;
  *id = n;
  return TRUE;
}

IrNode *
cli_find_node (const IrModel *model, const char *name, GError **error)
{
  guint32 id;
  IrNode *found = NULL;

  if (parse_id (name, &id))
    found = ir_model_node (model, id);
  for (guint i = 1; i < model->graphs->len && found == NULL; i++)
    found = ir_graph_find_node (model->graphs->pdata[i], name);
  for (guint i = 1; i < model->nodes->len && found == NULL; i++)
    if (strcmp (((IrNode *) model->nodes->pdata[i])->name, name) == 0)
      found = model->nodes->pdata[i];
  if (found == NULL)
    g_set_error (error, CLI_ERROR, 0, "there is no node '%s'; give a node's name, or #N for its id",
                 name);
  return found;
}

IrNode *
cli_find_node_in (const IrModel *model,
                  const char *name,
                  IrIterationName *iteration,
                  GError **error)
{
  g_autoptr (GError) local = NULL;
  IrNode *node = cli_find_node (model, name, &local);

  *iteration = (IrIterationName){ 0 };
  if (node == NULL && strchr (name, '/') == NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  else if (node == NULL && ir_iteration_name_parse_node (model, name, iteration, error))
    node = ir_model_node (model, iteration->node->id);
  return node;
}

IrValue *
cli_find_value (const IrModel *model, const char *name, GError **error)
{
  guint32 id;
  IrValue *found = NULL;

  if (parse_id (name, &id))
    found = ir_model_live_value (model, id);
  for (guint i = 1; i < model->graphs->len && found == NULL; i++)
    found = ir_graph_find_value (model->graphs->pdata[i], name);
  if (found == NULL)
    g_set_error (error, CLI_ERROR, 0,
                 "there is no value '%s' at this step; give a value's name, or #N for its id",
                 name);
  return found;
}

IrValue *
cli_find_run_value (
    IrModel *model, const IrBackend *backend, IrModel **expanded, const char *name, GError **error)
{
  g_autoptr (GError) local = NULL;
  IrValue *value = cli_find_value (model, name, &local);

  if (value == NULL && strchr (name, '/') != NULL)
    {
      if (*expanded == NULL)
        *expanded = ir_exec_lower (model, backend, NULL);
      if (*expanded != NULL)
        value = cli_find_value (*expanded, name, NULL);
    }
  if (value == NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  return value;
}

const IrValue *
cli_find_iteration (IrModel *model,
                    const IrBackend *backend,
                    IrModel **expanded,
                    const char *name,
                    IrIterationName *iteration,
                    GError **error)
{
  g_autoptr (GError) local = NULL;
  const IrValue *value = cli_find_run_value (model, backend, expanded, name, &local);

  *iteration = (IrIterationName){ 0 };
  if (value != NULL || strchr (name, '/') == NULL)
    {
      if (value == NULL)
        g_propagate_error (error, g_steal_pointer (&local));
      return value;
    }
  return ir_iteration_name_parse (model, name, iteration, NULL) ||
                 ir_iteration_name_parse (*expanded != NULL ? *expanded : model, name, iteration,
                                          error)
             ? iteration->value
             : NULL;
}
