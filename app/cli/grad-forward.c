/* irscope grad --mode forward: how values move, by the pass tangent. */
#include "config.h"

#include "app/cli/grad.h"
#include "app/cli/output.h"
#include "app/cli/save.h"
#include "core/io/io.h"
#include "passes/pipeline/derive.h"
#include "passes/rewrites/gradient.h"

#include <string.h>

typedef struct
{
  Cli *cli;
  const CliGradOptions *options;
  gboolean hessian; /* what is derived are derivatives, by the same values */
  IrModel *model;
  GPtrArray *of;       /* of IrValue: what is derived */
  GPtrArray *tangents; /* per value of @of (nullable): of IrValue */
  IrCost forward, all;
  IrRun *run;
} Answer;

static void
answer_clear (Answer *answer)
{
  g_clear_pointer (&answer->of, g_ptr_array_unref);
  g_clear_pointer (&answer->tangents, g_ptr_array_unref);
  g_clear_pointer (&answer->run, ir_run_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Answer, answer_clear)

/* -- the graph -- */

/* What --tangent gives becomes constants of the graph. *names: (out): their names */
static gboolean
add_directions (const Answer *answer, const char *wrt, char **names, GError **error)
{
  g_autoptr (IrEdit) edit = NULL;
  g_autoptr (GPtrArray) by = ir_gradient_wrt (answer->model, wrt, error);
  g_autoptr (GString) text = g_string_new (NULL);

  *names = NULL;
  if (by == NULL)
    return FALSE;
  if (answer->options->tangents != NULL)
    {
      edit = ir_edit_new (answer->model);
      ir_edit_begin_step (edit, "direction", IR_CLASS_EDIT, 0);
    }
  for (guint i = 0; edit != NULL && i < by->len; i++)
    {
      IrValue *value = by->pdata[i];
      GError *inner = NULL;
      g_autoptr (IrTensor) tensor = cli_grad_direction (answer->options, value, &inner);
      g_autofree char *name = g_strdup_printf ("%s.direction", value->name);
      if (tensor == NULL)
        {
          g_propagate_error (error, inner);
          return FALSE;
        }
      IrValue *along = ir_edit_add_initializer (edit, answer->model->main, name, tensor);
      g_string_append_printf (text, "%s%s", i > 0 ? "," : "", along->name);
    }
  if (edit != NULL)
    ir_edit_end_step (edit);
  *names = g_string_free (g_steal_pointer (&text), FALSE);
  return TRUE;
}

static gboolean
set (IrPipeline *pipeline, const char *option, const char *value, GError **error)
{
  g_autofree char *assignment = g_strdup_printf ("tangent.%s=%s", option, value);

  return ir_pipeline_set (pipeline, assignment, error);
}

static gboolean
run_pass (const Answer *answer, IrPipeline *pipeline, GError **error)
{
  const IrPipelineOptions how = { .max_class = IR_CLASS_ROUNDING };

  return ir_pipeline_run (answer->model, pipeline, &how, NULL, answer->cli->cancellable, error);
}

/* The derivatives first: they are what is derived once more. */
static gboolean
derive_backwards (Answer *answer, const char *wrt, GError **error)
{
  const char *const passes[] = { "gradient", NULL };
  const IrGraph *graph = answer->model->main;
  const guint n_outputs = ir_graph_n_outputs (graph);
  g_autofree char *stop = cli_grad_names (answer->options->stop, "");
  g_autofree char *of = g_strdup_printf ("gradient.of=%s",
                                         answer->options->of != NULL ? answer->options->of : "");
  g_autofree char *by = g_strdup_printf ("gradient.wrt=%s", wrt);
  g_autofree char *held = g_strdup_printf ("gradient.stop=%s", stop);
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (passes, NULL);

  if (!ir_pipeline_set (pipeline, of, error) || !ir_pipeline_set (pipeline, by, error) ||
      !ir_pipeline_set (pipeline, held, error) || !run_pass (answer, pipeline, error))
    return FALSE;
  answer->of = g_ptr_array_new ();
  for (guint i = n_outputs; i < ir_graph_n_outputs (graph); i++)
    g_ptr_array_add (answer->of, ir_graph_output (graph, i));
  return TRUE;
}

static char *
names_of (const GPtrArray *values)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < values->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? "," : "", ((IrValue *) values->pdata[i])->name);
  return g_string_free (text, FALSE);
}

static gboolean
find_of (Answer *answer, GError **error)
{
  const IrGraph *graph = answer->model->main;
  const char *of = answer->options->of;

  answer->of = g_ptr_array_new ();
  if (of != NULL)
    {
      IrValue *value = ir_gradient_of (answer->model, of, error);
      if (value != NULL)
        g_ptr_array_add (answer->of, value);
      return value != NULL;
    }
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (ir_dtype_is_float (ir_value_dtype (ir_graph_output (graph, i))) &&
        !g_ptr_array_find (answer->of, ir_graph_output (graph, i), NULL))
      g_ptr_array_add (answer->of, ir_graph_output (graph, i));
  return TRUE;
}

/* The outputs behind the model's own, in the order of what is derived */
static void
find_tangents (Answer *answer, guint n_outputs)
{
  const IrGraph *graph = answer->model->main;
  guint at = n_outputs;

  answer->tangents = g_ptr_array_new ();
  for (guint i = 0; i < answer->of->len; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s.tangent",
                                               ((IrValue *) answer->of->pdata[i])->name);
      gboolean there = at < ir_graph_n_outputs (graph) &&
                       g_str_has_prefix (ir_graph_output (graph, at)->name, name);
      g_ptr_array_add (answer->tangents, there ? ir_graph_output (graph, at) : NULL);
      at += there;
    }
}

static gboolean
derive (Answer *answer, GError **error)
{
  const CliGradOptions *options = answer->options;
  const char *const passes[] = { "tangent", NULL };
  g_autofree char *wrt = cli_grad_wrt (options, error), *along = NULL, *of = NULL;
  g_autofree char *stop = cli_grad_names (options->stop, "");
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (passes, NULL);
  gboolean partial = FALSE;

  if (wrt == NULL ||
      !ir_prepare_to_derive (answer->model, &wrt, answer->cli->cancellable, error))
    return FALSE;
  answer->forward = ir_cost_model (answer->model, &partial);
  if (!(answer->hessian ? derive_backwards (answer, wrt, error) : find_of (answer, error)))
    return FALSE;
  of = answer->hessian ? names_of (answer->of) : g_strdup (options->of != NULL ? options->of : "");
  guint n_outputs = ir_graph_n_outputs (answer->model->main);
  if (!add_directions (answer, wrt, &along, error) || !set (pipeline, "of", of, error) ||
      !set (pipeline, "wrt", wrt, error) || !set (pipeline, "tangent", along, error) ||
      !set (pipeline, "stop", stop, error) || !run_pass (answer, pipeline, error))
    return FALSE;
  answer->all = ir_cost_model (answer->model, &partial);
  find_tangents (answer, n_outputs);
  return TRUE;
}

static gboolean
run_all (Answer *answer, GError **error)
{
  g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));

  for (guint i = 0; i < answer->of->len; i++)
    g_array_append_val (chosen, ((IrValue *) answer->of->pdata[i])->id);
  answer->run = cli_run (answer->cli, &answer->options->model, answer->model, IR_CAPTURE_CHOSEN,
                         chosen, NULL, error);
  if (answer->run == NULL || answer->run->missing == NULL || answer->run->missing->len == 0)
    return answer->run != NULL;
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED, "%s",
               g_array_index (answer->run->missing, IrMissing, 0).why);
  return FALSE;
}

/* -- what is said -- */

static const IrTensor *
tangent_of (const Answer *answer, guint i)
{
  const IrValue *value = answer->tangents->pdata[i];

  return value != NULL ? ir_run_value (answer->run, value->id) : NULL;
}

static gboolean
add_tangents (const Answer *answer, cJSON *json, GError **error)
{
  cJSON *array = cJSON_AddArrayToObject (json, "tangents");

  for (guint i = 0; i < answer->of->len; i++)
    {
      const IrValue *of = answer->of->pdata[i];
      g_autofree char *name = g_strdup_printf ("%s.tangent", of->name), *path = NULL;
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddItemToArray (array, object);
      if (!cli_grad_save (answer->options, name, tangent_of (answer, i), &path, error))
        return FALSE;
      cJSON_AddStringToObject (object, "name", of->name);
      cli_json_add_double (object, "value", cli_grad_sum (ir_run_value (answer->run, of->id)));
      cli_json_add_double (object, "sum",
                           tangent_of (answer, i) != NULL ? cli_grad_sum (tangent_of (answer, i))
                                                          : 0);
      cli_grad_add_tensor (object, tangent_of (answer, i), path);
      cJSON_AddBoolToObject (object, "depends", tangent_of (answer, i) != NULL);
    }
  return TRUE;
}

static cJSON *
json_of (const Answer *answer, GError **error)
{
  cJSON *json = cJSON_CreateObject ();

  cJSON_AddStringToObject (json, "mode", "forward");
  cJSON_AddStringToObject (json, "direction", answer->options->tangents != NULL ? "given" : "ones");
  cli_json_add_uint (json, "flops_forward", answer->forward.flops);
  cli_json_add_uint (json, "flops_tangent", answer->all.flops - answer->forward.flops);
  cJSON_AddNumberToObject (json, "nodes_forward", answer->forward.n_nodes);
  cJSON_AddNumberToObject (json, "nodes_tangent", answer->all.n_nodes - answer->forward.n_nodes);
  if (add_tangents (answer, json, error))
    return json;
  cJSON_Delete (json);
  return NULL;
}

static void
print_text (const Answer *answer)
{
  cli_print ("How they move, where %s\n", answer->options->tangents != NULL
                                              ? "what was named changes along its direction"
                                              : "each element that it is derived by changes by 1");
  for (guint i = 0; i < answer->of->len; i++)
    {
      const IrTensor *tensor = tangent_of (answer, i);
      g_autofree char *sum = g_strdup_printf ("sum %.9g", cli_grad_sum (tensor));
      cli_grad_print_tensor (((IrValue *) answer->of->pdata[i])->name, tensor,
                             tensor != NULL ? sum : "It does not move.");
    }
  cli_print ("%u nodes, %u beside them that say how they move, %.3g times the FLOPs\n",
             answer->forward.n_nodes, answer->all.n_nodes - answer->forward.n_nodes,
             (double) answer->all.flops / (double) MAX (answer->forward.flops, 1));
}

static gboolean
answer_with (
    Cli *cli, const CliGradOptions *options, IrModel *model, gboolean hessian, GError **error)
{
  g_auto (Answer) answer = { .cli = cli, .options = options, .model = model, .hessian = hessian };

  if (!derive (&answer, error) ||
      (options->output != NULL && !cli_save_model (cli, model, options->output, NULL, error)) ||
      !run_all (&answer, error))
    return FALSE;
  cJSON *json = json_of (&answer, error);
  if (json == NULL)
    return FALSE;
  if (cli->json)
    cli_json_print (json);
  else
    {
      cJSON_Delete (json);
      print_text (&answer);
    }
  return TRUE;
}

gboolean
cli_grad_forward (Cli *cli, const CliGradOptions *options, IrModel *model, GError **error)
{
  return answer_with (cli, options, model, FALSE, error);
}

gboolean
cli_grad_hessian (Cli *cli, const CliGradOptions *options, IrModel *model, GError **error)
{
  CliGradOptions along = *options;

  along.tangents = options->hvp;
  return answer_with (cli, &along, model, TRUE, error);
}
