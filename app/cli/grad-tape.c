/* irscope grad --mode tape: a run that records, played forwards and back. */
#include "config.h"

#include "app/cli/grad.h"
#include "app/cli/output.h"
#include "core/exec/tape/tape.h"
#include "passes/pipeline/derive.h"
#include "passes/rewrites/gradient.h"

#include <math.h>
#include <string.h>

#define MAX_PATHS 20

typedef struct
{
  const CliGradOptions *options;
  IrValue *of;
  GPtrArray *by; /* of IrValue */
  IrTape *tape;
} Answer;

static void
answer_clear (Answer *answer)
{
  g_clear_pointer (&answer->by, g_ptr_array_unref);
  g_clear_pointer (&answer->tape, ir_tape_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Answer, answer_clear)

static gboolean
play (Answer *answer, Cli *cli, IrModel *model, GError **error)
{
  const CliGradOptions *options = answer->options;
  g_autofree char *wrt = cli_grad_names (options->wrt, "params");
  g_autoptr (GHashTable) inputs = NULL;
  IrTapeOptions how = { .cancellable = cli->cancellable, .seed = (guint64) options->model.seed };

  if (!ir_prepare_to_derive (model, &wrt, cli->cancellable, error) ||
      (answer->of = ir_gradient_of (model, options->of != NULL ? options->of : "", error)) ==
          NULL ||
      (answer->by = ir_gradient_wrt (model, wrt, error)) == NULL)
    return FALSE;
  for (guint i = 0; i < answer->by->len; i++)
    {
      const IrValue *value = answer->by->pdata[i];
      if (value->producer == NULL)
        continue;
      g_set_error (error, CLI_ERROR, 0,
                   "%s is computed; the tape derives by inputs and parameters, reverse mode by any "
                   "value",
                   value->name);
      return FALSE;
    }
  if (!cli_limits (&options->model, &how.limits, error) ||
      (inputs = cli_inputs_within (cli, &options->model, model, how.limits.memory_limit, error)) ==
          NULL)
    return FALSE;
  answer->tape = ir_tape_run (model, inputs, answer->of, answer->by, &how, NULL, error);
  return answer->tape != NULL;
}

/* -- what is said -- */

static const char *
name_of (const Answer *answer, IrValueId value)
{
  return ir_model_value (answer->tape->model, value)->name;
}

/* The element, or of several the norm */
static double
size_of (const IrTensor *tensor)
{
  IrTensorStats stats = { 0 };

  if (tensor == NULL)
    return 0;
  if (ir_tensor_n_elements (tensor) == 1)
    return ir_tensor_get_double (tensor, 0);
  ir_tensor_stats (tensor, 0, &stats);
  return ir_tensor_stats_norm (&stats);
}

static void
add_double (cJSON *array, double number)
{
  cJSON *object = cJSON_CreateObject ();

  cli_json_add_double (object, "", number);
  cJSON_AddItemToArray (array, cJSON_DetachItemFromArray (object, 0));
  cJSON_Delete (object);
}

static void
add_row (const Answer *answer, const IrTapeRow *row, cJSON *array)
{
  cJSON *object = cJSON_CreateObject (), *list;
  const IrTensor *contents = row->contents;

  cJSON_AddStringToObject (object, "name", name_of (answer, row->value));
  cli_grad_add_node (ir_model_node (answer->tape->model, row->node), object);
  list = cJSON_AddArrayToObject (object, "shape");
  for (guint i = 0; contents != NULL && i < ir_tensor_rank (contents); i++)
    add_double (list, (double) ir_tensor_dims (contents)[i]);
  cli_json_add_double (object, "value", size_of (contents));
  list = cJSON_AddArrayToObject (object, "tangent");
  for (guint i = 0; i < row->tangents->len; i++)
    add_double (list, size_of (row->tangents->pdata[i]));
  list = cJSON_AddArrayToObject (object, "adjoint");
  for (guint i = 0; i < row->adjoints->len; i++)
    add_double (list, size_of (row->adjoints->pdata[i]));
  list = cJSON_AddArrayToObject (object, "partials");
  for (guint i = 0; i < row->partials->len; i++)
    {
      const IrTapePartial *partial = &g_array_index (row->partials, IrTapePartial, i);
      cJSON *item = cJSON_CreateObject ();
      cJSON_AddStringToObject (item, "input", name_of (answer, partial->input));
      if (isnan (partial->slope))
        cJSON_AddNullToObject (item, "slope");
      else
        cli_json_add_double (item, "slope", partial->slope);
      cJSON_AddItemToArray (list, item);
    }
  cJSON_AddItemToArray (array, object);
}

static void
add_events (const Answer *answer, cJSON *json)
{
  cJSON *array = cJSON_AddArrayToObject (json, "tape");

  for (guint i = 0; i < answer->tape->events->len; i++)
    {
      const IrTapeEvent *event = &g_array_index (answer->tape->events, IrTapeEvent, i);
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "event", ir_tape_event_name (event->kind));
      cli_grad_add_node (ir_model_node (answer->tape->model, event->node), object);
      cJSON_AddStringToObject (object, "value", name_of (answer, event->value));
      cli_json_add_uint (object, "bytes_held", event->bytes_held);
      cJSON_AddItemToArray (array, object);
    }
}

static void
add_paths (const Answer *answer, cJSON *json)
{
  cJSON *array = cJSON_AddArrayToObject (json, "paths");

  for (guint i = 0; i < answer->by->len; i++)
    {
      gboolean all;
      g_autoptr (GArray) paths = ir_tape_paths (
          answer->tape, ((IrValue *) answer->by->pdata[i])->id, MAX_PATHS, &all);
      for (guint k = 0; k < paths->len; k++)
        {
          const IrTapePath *path = &g_array_index (paths, IrTapePath, k);
          cJSON *object = cJSON_CreateObject (), *nodes;
          cJSON_AddStringToObject (object, "name", ((IrValue *) answer->by->pdata[i])->name);
          nodes = cJSON_AddArrayToObject (object, "nodes");
          for (guint v = 0; v < path->values->len; v++)
            cJSON_AddItemToArray (nodes, cJSON_CreateString (name_of (
                                             answer, g_array_index (path->values, IrValueId, v))));
          cli_json_add_double (object, "contribution", path->contribution);
          cJSON_AddItemToArray (array, object);
        }
    }
}

/* @paths: of char *, %NULL where nothing is to be written */
static gboolean
save_all (const Answer *answer, GPtrArray *paths, GError **error)
{
  for (guint i = 0; i < answer->by->len; i++)
    {
      const IrValue *by = answer->by->pdata[i];
      g_autofree char *name = g_strdup_printf ("%s.grad", by->name);
      char *path = NULL;
      if (!cli_grad_save (answer->options, name, ir_tape_gradient (answer->tape, by->id), &path,
                          error))
        {
          g_free (path);
          return FALSE;
        }
      g_ptr_array_add (paths, path);
    }
  return TRUE;
}

static void
print_json (const Answer *answer, const GPtrArray *paths)
{
  cJSON *json = cJSON_CreateObject (), *array;
  const IrTape *tape = answer->tape;

  cJSON_AddStringToObject (json, "of", answer->of->name);
  cJSON_AddStringToObject (json, "mode", "tape");
  cli_json_add_double (json, "value",
                       cli_grad_sum (ir_tape_row (tape, tape->of) != NULL
                                         ? ir_tape_row (tape, tape->of)->contents
                                         : NULL));
  array = cJSON_AddArrayToObject (json, "gradients");
  for (guint i = 0; i < answer->by->len; i++)
    {
      const IrValue *by = answer->by->pdata[i];
      const IrTensor *tensor = ir_tape_gradient (tape, by->id);
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddItemToArray (array, object);
      cJSON_AddStringToObject (object, "name", by->name);
      cli_grad_add_tensor (object, tensor, paths->pdata[i]);
      cli_grad_add_held (object, NAN);
      cJSON_AddNullToObject (object, "reason");
    }
  cJSON_AddNumberToObject (json, "directions", tape->n_directions);
  add_events (answer, json);
  array = cJSON_AddArrayToObject (json, "trace");
  for (guint i = 0; i < tape->rows->len; i++)
    add_row (answer, &g_array_index (tape->rows, IrTapeRow, i), array);
  add_paths (answer, json);
  cli_json_print (json);
}

static void
append_sizes (GString *text, const GPtrArray *tensors)
{
  for (guint i = 0; i < tensors->len; i++)
    g_string_append_printf (text, "%s%.4g", i > 0 ? ", " : "", size_of (tensors->pdata[i]));
}

static void
print_rows (const Answer *answer)
{
  const IrTape *tape = answer->tape;

  cli_print ("%-24s %-16s %12s  %-24s %-24s %s\n", "value", "operator", "value", "tangents",
             "adjoints", "slopes");
  for (guint i = 0; i < tape->rows->len; i++)
    {
      const IrTapeRow *row = &g_array_index (tape->rows, IrTapeRow, i);
      const IrNode *node = ir_model_node (tape->model, row->node);
      g_autoptr (GString) tangents = g_string_new (NULL), adjoints = g_string_new (NULL);
      g_autoptr (GString) slopes = g_string_new (NULL);

      append_sizes (tangents, row->tangents);
      append_sizes (adjoints, row->adjoints);
      for (guint k = 0; k < row->partials->len; k++)
        {
          const IrTapePartial *partial = &g_array_index (row->partials, IrTapePartial, k);
          if (!isnan (partial->slope))
            g_string_append_printf (slopes, "%sby %s %.4g", k > 0 ? ", " : "",
                                    name_of (answer, partial->input), partial->slope);
        }
      cli_print ("%-24s %-16s %12.4g  %-24s %-24s %s\n", name_of (answer, row->value),
                 node != NULL ? node->op_type : "", size_of (row->contents), tangents->str,
                 adjoints->str, slopes->str);
    }
}

static void
print_paths (const Answer *answer)
{
  for (guint i = 0; i < answer->by->len; i++)
    {
      const IrValue *by = answer->by->pdata[i];
      gboolean all;
      g_autoptr (GArray) paths = ir_tape_paths (answer->tape, by->id, MAX_PATHS, &all);

      for (guint k = 0; k < paths->len; k++)
        {
          const IrTapePath *path = &g_array_index (paths, IrTapePath, k);
          g_autoptr (GString) text = g_string_new (NULL);
          for (guint v = 0; v < path->values->len; v++)
            g_string_append_printf (text, "%s%s", v > 0 ? " > " : "",
                                    name_of (answer, g_array_index (path->values, IrValueId, v)));
          cli_print ("%s %-48s %.6g\n", k == 0 ? "paths" : "     ", text->str, path->contribution);
        }
      if (!all)
        cli_print ("      and others that contribute less, or were not followed\n");
    }
}

static void
print_text (const Answer *answer, const GPtrArray *paths)
{
  guint64 most = 0;

  print_rows (answer);
  for (guint i = 0; i < answer->tape->events->len; i++)
    most = MAX (most, g_array_index (answer->tape->events, IrTapeEvent, i).bytes_held);
  print_paths (answer);
  g_autofree char *bytes = cli_format_bytes (most);
  cli_print ("%u pushed, %u events back; %u forward pass%s beside, and one back; at most %s held\n",
             answer->tape->n_pushed, answer->tape->events->len - answer->tape->n_pushed,
             answer->tape->n_directions, answer->tape->n_directions != 1 ? "es" : "", bytes);
  for (guint i = 0; i < paths->len; i++)
    if (paths->pdata[i] != NULL)
      cli_print ("%s -> %s\n", ((IrValue *) answer->by->pdata[i])->name, (char *) paths->pdata[i]);
}

gboolean
cli_grad_tape (Cli *cli, const CliGradOptions *options, IrModel *model, GError **error)
{
  g_auto (Answer) answer = { .options = options };

  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);

  if (!play (&answer, cli, model, error) || !save_all (&answer, paths, error))
    return FALSE;
  (cli->json ? print_json : print_text) (&answer, paths);
  return TRUE;
}
