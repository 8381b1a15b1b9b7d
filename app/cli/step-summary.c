#include "config.h"

#include "app/cli/step-summary.h"

#include "app/cli/output.h"

/* -- JSON -- */

static cJSON *
group_json (const IrStepGroup *group)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "rule", group->rule);
  if (group->op != NULL)
    cJSON_AddStringToObject (object, "op", group->op);
  cJSON_AddNumberToObject (object, "count", group->steps->len);
  cJSON_AddNumberToObject (object, "first", g_array_index (group->steps, guint, 0));
  return object;
}

static cJSON *
unproved_json (const IrUnproved *unproved)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "verdict", ir_verdict_name (unproved->verdict));
  if (unproved->reason != NULL)
    cJSON_AddStringToObject (object, "reason", unproved->reason);
  cJSON_AddNumberToObject (object, "count", unproved->n);
  cJSON_AddNumberToObject (object, "first", unproved->first);
  return object;
}

static cJSON *
pass_json (const IrPassSummary *pass)
{
  cJSON *object = cJSON_CreateObject (), *verdicts, *list;

  cJSON_AddStringToObject (object, "pass", pass->pass);
  cJSON_AddNumberToObject (object, "first", pass->first_step);
  cJSON_AddNumberToObject (object, "steps", pass->n_steps);
  cli_json_add_int (object, "nodes", pass->nodes);
  cli_json_add_int (object, "flops", pass->flops);
  cli_json_add_int (object, "bytes", pass->bytes);
  cli_json_add_int (object, "params", pass->params);
  cli_json_add_double (object, "ms", (double) pass->duration_ns / 1e6);
  verdicts = cJSON_AddObjectToObject (object, "verdicts");
  for (IrVerdict v = 0; v < IR_N_VERDICTS; v++)
    cJSON_AddNumberToObject (verdicts, ir_verdict_name (v), pass->n_verdicts[v]);
  list = cJSON_AddArrayToObject (object, "unproved");
  for (guint i = 0; i < pass->unproved->len; i++)
    cJSON_AddItemToArray (list, unproved_json (&g_array_index (pass->unproved, IrUnproved, i)));
  list = cJSON_AddArrayToObject (object, "groups");
  for (guint i = 0; i < pass->groups->len; i++)
    cJSON_AddItemToArray (list, group_json (pass->groups->pdata[i]));
  return object;
}

static void
print_json (const IrStepSummary *summary)
{
  cJSON *json = cJSON_CreateObject (), *passes = cJSON_AddArrayToObject (json, "passes"), *idle;

  for (guint i = 0; i < summary->passes->len; i++)
    cJSON_AddItemToArray (passes, pass_json (summary->passes->pdata[i]));
  idle = cJSON_AddArrayToObject (json, "idle");
  for (guint i = 0; i < summary->idle->len; i++)
    cJSON_AddItemToArray (idle, cJSON_CreateString (summary->idle->pdata[i]));
  cli_json_print (json);
}

/* -- text -- */

/* (transfer full): "12 exact, 3 rounding"; "" where nothing was judged */
static char *
verdicts_text (const IrPassSummary *pass)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (IrVerdict v = IR_VERDICT_EXACT; v < IR_N_VERDICTS; v++)
    if (pass->n_verdicts[v] > 0)
      g_string_append_printf (text, "%s%u %s", text->len > 0 ? ", " : "", pass->n_verdicts[v],
                              ir_verdict_name (v));
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
print_pass (const IrPassSummary *pass)
{
  g_autofree char *flops = cli_format_count ((guint64) ABS (pass->flops)),
                  *verdicts = verdicts_text (pass);

  cli_print ("%-28s %6u steps  %+6" G_GINT64_FORMAT " nodes  %s%s FLOP  %.3g ms  %s\n", pass->pass,
             pass->n_steps, pass->nodes, pass->flops < 0 ? "-" : "+", flops,
             (double) pass->duration_ns / 1e6, verdicts);
  for (guint i = 0; i < pass->groups->len; i++)
    {
      const IrStepGroup *group = pass->groups->pdata[i];

      cli_print ("    %s%s%s%s x %u, from step %u\n", group->rule, group->op != NULL ? " (" : "",
                 group->op != NULL ? group->op : "", group->op != NULL ? ")" : "",
                 group->steps->len, g_array_index (group->steps, guint, 0));
    }
  for (guint i = 0; i < pass->unproved->len; i++)
    {
      const IrUnproved *unproved = &g_array_index (pass->unproved, IrUnproved, i);

      if (unproved->reason != NULL)
        cli_print ("    %u not proved, from step %u: %s\n", unproved->n, unproved->first,
                   unproved->reason);
    }
}

static void
print_text (const IrStepSummary *summary)
{
  for (guint i = 0; i < summary->passes->len; i++)
    print_pass (summary->passes->pdata[i]);
  if (summary->idle->len == 0)
    return;
  cli_print ("%u %s did nothing:", summary->idle->len, summary->idle->len == 1 ? "pass" : "passes");
  for (guint i = 0; i < summary->idle->len; i++)
    cli_print ("%s %s", i > 0 ? "," : "", (const char *) summary->idle->pdata[i]);
  cli_print ("\n");
}

void
cli_print_step_summary (Cli *cli, const IrModel *history)
{
  g_autoptr (IrStepSummary) summary = ir_step_summary_new (history, NULL, NULL);

  if (cli->json)
    print_json (summary);
  else
    print_text (summary);
}
