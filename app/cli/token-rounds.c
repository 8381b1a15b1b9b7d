#include "config.h"

#include "app/cli/token-rounds.h"

#include "app/cli/output.h"
#include "core/exec/flow/token-round.h"

void
cli_token_rounds_print (const IrModel *model)
{
  g_autoptr (GArray) rounds = ir_token_rounds (model);

  for (guint i = 0; i < rounds->len; i++)
    {
      const IrTokenRound *round = &g_array_index (rounds, IrTokenRound, i);
      g_autofree char *text = ir_token_round_text (round, model);
      cli_print ("%s\n", text);
      for (guint k = 0; k < round->steps->len; k++)
        {
          const IrTokenStep *step = &g_array_index (round->steps, IrTokenStep, k);
          g_autofree char *label = ir_node_label (ir_model_node (model, step->node));
          cli_print ("%6u %12" G_GUINT64_FORMAT "  %s\n", k, step->live_bytes, label);
        }
    }
}

void
cli_token_rounds_json (cJSON *json, const IrModel *model)
{
  g_autoptr (GArray) rounds = ir_token_rounds (model);
  cJSON *array = rounds->len > 0 ? cJSON_AddArrayToObject (json, "frames") : NULL;

  for (guint i = 0; i < rounds->len; i++)
    {
      const IrTokenRound *round = &g_array_index (rounds, IrTokenRound, i);
      cJSON *object = cJSON_CreateObject (), *steps;
      cJSON_AddStringToObject (object, "frame", round->path);
      if (round->trips >= 0)
        cJSON_AddNumberToObject (object, "iterations", (double) round->trips);
      else
        cJSON_AddNullToObject (object, "iterations");
      cJSON_AddNumberToObject (object, "in_flight", round->in_flight);
      cli_json_add_uint (object, "peak_bytes", round->peak_bytes);
      cli_json_add_uint (object, "shared_bytes", round->shared_bytes);
      cJSON_AddBoolToObject (object, "partial", round->partial);
      steps = cJSON_AddArrayToObject (object, "iteration");
      for (guint k = 0; k < round->steps->len; k++)
        {
          const IrTokenStep *step = &g_array_index (round->steps, IrTokenStep, k);
          const IrNode *node = ir_model_node (model, step->node);
          cJSON *item = cJSON_CreateObject ();
          cJSON_AddStringToObject (item, "node", node->name);
          cJSON_AddStringToObject (item, "op", node->op_type);
          cli_json_add_uint (item, "live_bytes", step->live_bytes);
          cJSON_AddItemToArray (steps, item);
        }
      cJSON_AddItemToArray (array, object);
    }
}
