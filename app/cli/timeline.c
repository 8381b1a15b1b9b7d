#include "config.h"

#include "app/cli/timeline.h"

#include "app/cli/model.h"
#include "app/cli/output.h"

#include <math.h>

static const IrTimelineItem *
item_at (const IrTimeline *timeline, guint i)
{
  return &g_array_index (timeline->items, IrTimelineItem, i);
}

static char *
label_of (const IrTimeline *timeline, guint i)
{
  return ir_node_label (ir_model_node (timeline->model, item_at (timeline, i)->node));
}

gboolean
cli_timeline_wanted (const CliTimelineOptions *options)
{
  return options->from != NULL || options->to != NULL || options->node != NULL;
}

/* -- reading -- */

static gboolean
read_ms (const char *option, const char *text, double *ms, GError **error)
{
  char *end = NULL;
  const double value = text != NULL ? g_ascii_strtod (text, &end) : *ms;

  if (text != NULL && (end == text || *end != '\0' || !(value >= 0) || !isfinite (value)))
    {
      g_set_error (error, CLI_ERROR, 0,
                   "%s %s: needs milliseconds from the start of the run, such as 0 or 1.5", option,
                   text);
      return FALSE;
    }
  *ms = value;
  return TRUE;
}

/* @node: (out): 0 where none is asked for */
static gboolean
read_options (const CliTimelineOptions *options,
              const IrTimeline *timeline,
              double *from,
              double *to,
              IrNodeId *node,
              GError **error)
{
  const IrNode *found;

  *from = 0;
  *to = timeline->duration_ms;
  *node = 0;
  if (!read_ms ("--from", options->from, from, error) || !read_ms ("--to", options->to, to, error))
    return FALSE;
  if (*from > *to)
    {
      g_set_error (error, CLI_ERROR, 0,
                   "the range ends at %g ms and begins at %g ms; it must not end before it begins",
                   *to, *from);
      return FALSE;
    }
  if (options->node == NULL)
    return TRUE;
  found = cli_find_node (timeline->model, options->node, error);
  *node = found != NULL ? found->id : 0;
  return found != NULL;
}

/* Whether it is among what is shown: of the node that was asked for, if one was. */
static gboolean
is_shown (const IrTimeline *timeline, guint i, IrNodeId node)
{
  return node == 0 || item_at (timeline, i)->node == node;
}

/* -- JSON -- */

static cJSON *
item_json (const IrTimeline *timeline, guint i)
{
  const IrTimelineItem *item = item_at (timeline, i);
  const IrNode *node = ir_model_node (timeline->model, item->node);
  g_autofree char *why = ir_timeline_gap_text (timeline, i);
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "node", node->name);
  cJSON_AddStringToObject (object, "op", node->op_type);
  cJSON_AddNumberToObject (object, "worker", item->worker);
  cJSON_AddStringToObject (object, "lane", timeline->lanes->pdata[item->lane]);
  cJSON_AddNumberToObject (object, "start_ms", item->start_ms);
  cJSON_AddNumberToObject (object, "end_ms", item->end_ms);
  cJSON_AddStringToObject (object, "kernel", item->kernel);
  cJSON_AddBoolToObject (object, "critical", item->critical);
  cJSON_AddNumberToObject (object, "idle_ms", item->idle_ms);
  if (item->behind >= 0)
    {
      cJSON_AddStringToObject (
          object, "behind",
          ir_model_node (timeline->model, item_at (timeline, (guint) item->behind)->node)->name);
      cJSON_AddStringToObject (object, "waits_by", ir_wait_name (item->wait));
    }
  if (why != NULL)
    cJSON_AddStringToObject (object, "why_idle", why);
  return object;
}

static void
add_json (
    Cli *cli, const IrTimeline *timeline, const IrTimelineRange *range, IrNodeId node, cJSON *json)
{
  cJSON *object = cJSON_AddObjectToObject (json, "timeline"), *rows, *items;

  cJSON_AddBoolToObject (object, "measured", timeline->measured);
  cJSON_AddNumberToObject (object, "duration_ms", timeline->duration_ms);
  cJSON_AddNumberToObject (object, "critical_path_ms", timeline->critical_path_ms);
  cJSON_AddNumberToObject (object, "from_ms", range->from_ms);
  cJSON_AddNumberToObject (object, "to_ms", range->to_ms);
  cJSON_AddNumberToObject (object, "busy_ms", range->busy_ms);
  cJSON_AddNumberToObject (object, "idle_ms", range->idle_ms);
  rows = cJSON_AddArrayToObject (object, "operators");
  for (guint i = 0; i < range->rows->len; i++)
    {
      const IrTimelineRow *row = &g_array_index (range->rows, IrTimelineRow, i);
      cJSON *line = cJSON_CreateObject ();

      cJSON_AddStringToObject (line, "op", row->op);
      cJSON_AddNumberToObject (line, "calls", row->n_calls);
      cJSON_AddNumberToObject (line, "ms", row->ms);
      cJSON_AddItemToArray (rows, line);
    }
  items = cJSON_AddArrayToObject (object, "items");
  for (guint i = 0; i < range->items->len && !cli_cut (cli); i++)
    {
      const guint index = g_array_index (range->items, guint, i);

      if (is_shown (timeline, index, node))
        cJSON_AddItemToArray (items, item_json (timeline, index));
    }
}

/* -- text -- */

static void
print_item (const IrTimeline *timeline, guint i)
{
  const IrTimelineItem *item = item_at (timeline, i);
  g_autofree char *label = label_of (timeline, i), *why = ir_timeline_gap_text (timeline, i);

  cli_print ("%10.4f %10.4f  %s %s %-28s %s\n", item->start_ms, item->end_ms,
             (const char *) timeline->lanes->pdata[item->lane], item->critical ? "*" : " ",
             item->kernel, label);
  if (why != NULL)
    cli_print ("%27s%s\n", "", why);
}

static void
print_text (Cli *cli, const IrTimeline *timeline, const IrTimelineRange *range, IrNodeId node)
{
  const double all = (range->to_ms - range->from_ms) * timeline->lanes->len;

  cli_print ("%s: %.4f ms in %u %s; critical path (*) %.4f ms\n",
             timeline->measured ? "measured" : "predicted", timeline->duration_ms,
             timeline->lanes->len, timeline->lanes->len == 1 ? "lane" : "lanes",
             timeline->critical_path_ms);
  cli_print ("%.4f to %.4f ms: %u calls, busy %.4f ms, idle %.4f ms (%.0f %%)\n", range->from_ms,
             range->to_ms, range->items->len, range->busy_ms, range->idle_ms,
             all > 0 ? 100 * range->idle_ms / all : 0);
  for (guint i = 0; node == 0 && i < range->rows->len; i++)
    {
      const IrTimelineRow *row = &g_array_index (range->rows, IrTimelineRow, i);

      cli_print ("  %-24s %6u calls %12.4f ms\n", row->op, row->n_calls, row->ms);
    }
  cli_print ("     start        end (ms)\n");
  for (guint i = 0; i < range->items->len && !cli_cut (cli); i++)
    {
      const guint index = g_array_index (range->items, guint, i);

      if (is_shown (timeline, index, node))
        print_item (timeline, index);
    }
}

gboolean
cli_timeline_show (Cli *cli,
                   const CliTimelineOptions *options,
                   const IrTimeline *timeline,
                   cJSON *json,
                   GError **error)
{
  double from, to;
  IrNodeId node;

  if (!read_options (options, timeline, &from, &to, &node, error))
    return FALSE;
  g_autoptr (IrTimelineRange) range = ir_timeline_range (timeline, from, to);
  if (json != NULL)
    add_json (cli, timeline, range, node, json);
  else
    print_text (cli, timeline, range, node);
  return TRUE;
}
