#include "config.h"

#include "app/cli/origin.h"

#include "app/cli/output.h"

void
cli_json_add_origin (cJSON *object, const IrFound *found, const IrModel *model)
{
  cJSON *origin = cJSON_AddObjectToObject (object, "origin");
  const IrValue *as = found->stands_for != 0 ? ir_model_value (model, found->stands_for) : NULL;
  g_autofree char *text = ir_found_text (found, model);
  cJSON *from;

  cJSON_AddStringToObject (origin, "how", ir_found_name (found->how));
  cJSON_AddStringToObject (origin, "text", text);
  cJSON_AddBoolToObject (origin, "last_round", found->in_body);
  if (as != NULL)
    cJSON_AddStringToObject (origin, "stands_for", as->name);
  if (found->how != IR_FOUND_COMPUTED)
    return;
  cli_json_add_uint (origin, "nodes", found->n_nodes);
  cli_json_add_double (origin, "ms", (double) found->duration_ns / 1e6);
  from = cJSON_AddArrayToObject (origin, "from");
  for (guint i = 0; found->from != NULL && i < found->from->len; i++)
    cJSON_AddItemToArray (from, cJSON_CreateString (g_ptr_array_index (found->from, i)));
}

void
cli_print_origin (const IrFound *found, const IrModel *model)
{
  g_autofree char *text = ir_found_text (found, model);

  cli_print ("  origin: %s\n", text);
}
