#include "config.h"

#include "app/cli/memory-lists.h"

#include "app/cli/output.h"
#include "core/diff/match-values.h"

/* -- events -- */

static cJSON *
event_json (const IrModel *model, const IrMemEvent *event)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddNumberToObject (object, "step", event->step);
  cJSON_AddStringToObject (object, "what", event->allocates ? "allocate" : "free");
  cJSON_AddStringToObject (object, "value", ir_model_value (model, event->value)->name);
  cli_json_add_uint (object, "offset", event->offset);
  cli_json_add_uint (object, "size", event->size);
  cli_json_add_uint (object, "held_bytes", event->held);
  return object;
}

void
cli_memory_events (Cli *cli, const IrModel *model, const IrMemPlan *plan, cJSON *json)
{
  g_autoptr (GArray) events = ir_mem_plan_events (plan);
  cJSON *array = json != NULL ? cJSON_AddArrayToObject (json, "events") : NULL;

  if (json == NULL)
    cli_print ("%6s %-8s %12s %12s %12s  value\n", "step", "", "offset", "size", "held");
  for (guint i = 0; i < events->len && !cli_cut (cli); i++)
    {
      const IrMemEvent *event = &g_array_index (events, IrMemEvent, i);

      if (json != NULL)
        cJSON_AddItemToArray (array, event_json (model, event));
      else
        cli_print ("%6u %-8s %12" G_GUINT64_FORMAT " %12" G_GUINT64_FORMAT " %12" G_GUINT64_FORMAT
                   "  %s\n",
                   event->step, event->allocates ? "allocate" : "free", event->offset, event->size,
                   event->held, ir_model_value (model, event->value)->name);
    }
}

/* -- another plan -- */

static void
add_plan (cJSON *json, const IrMemPlan *plan)
{
  cli_json_add_uint (json, "peak_bytes", plan->peak_bytes);
  cli_json_add_uint (json, "lower_bound_bytes", plan->lower_bound_bytes);
  cli_json_add_uint (json, "naive_bytes", plan->naive_bytes);
}

static void
add_change (cJSON *array, const IrMemChange *change)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "value", change->name);
  cli_json_add_uint (object, "before_bytes", change->before_size);
  cli_json_add_uint (object, "after_bytes", change->after_size);
  cJSON_AddBoolToObject (object, "at_peak_before", change->before_peak);
  cJSON_AddBoolToObject (object, "at_peak_after", change->after_peak);
  cJSON_AddItemToArray (array, object);
}

static void
print_change (const IrMemChange *change)
{
  const char *peak = change->before_peak == change->after_peak ? ""
                     : change->before_peak                     ? "  no longer at the peak"
                                                               : "  at the peak now";

  cli_print ("%12" G_GUINT64_FORMAT " %12" G_GUINT64_FORMAT "  %s%s\n", change->before_size,
             change->after_size, change->name, peak);
}

static void
print_bytes (const char *what, guint64 before, guint64 after)
{
  g_autofree char *a = cli_format_bytes (before), *b = cli_format_bytes (after);

  cli_print ("%-14s %12s -> %s\n", what, a, b);
}

void
cli_memory_against (Cli *cli,
                    const char *name,
                    IrModel *before_model,
                    const IrMemPlan *before,
                    IrModel *model,
                    const IrMemPlan *plan,
                    cJSON *json)
{
  g_autoptr (IrDiff) diff = ir_diff_new (before_model, model, FALSE);
  g_autoptr (GHashTable) matched = ir_match_values (diff, NULL, cli->cancellable);
  g_autoptr (GArray) changes = ir_mem_plans_compare (before, before_model, plan, model, matched);
  cJSON *object = json != NULL ? cJSON_AddObjectToObject (json, "against") : NULL, *array = NULL;

  if (json != NULL)
    {
      cJSON_AddStringToObject (object, "model", name);
      add_plan (object, before);
      array = cJSON_AddArrayToObject (object, "values");
    }
  else
    {
      cli_print ("against %s:\n", name);
      print_bytes ("peak", before->peak_bytes, plan->peak_bytes);
      print_bytes ("lower bound", before->lower_bound_bytes, plan->lower_bound_bytes);
      print_bytes ("without reuse", before->naive_bytes, plan->naive_bytes);
      if (changes->len == 0)
        cli_print ("each value takes the same bytes in both\n");
      else
        cli_print ("%12s %12s  value (bytes; 0: not in the arena)\n", "before", "after");
    }
  for (guint i = 0; i < changes->len && !cli_cut (cli); i++)
    if (json != NULL)
      add_change (array, &g_array_index (changes, IrMemChange, i));
    else
      print_change (&g_array_index (changes, IrMemChange, i));
}
