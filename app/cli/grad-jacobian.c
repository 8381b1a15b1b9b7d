/* irscope grad --jacobian: all elements of a value by all elements of others. */
#include "config.h"

#include "app/cli/grad.h"
#include "app/cli/output.h"
#include "app/cli/save.h"
#include "passes/debug/jacobian.h"

#define SHOWN 12 /* rows and columns of a matrix that is printed */

typedef struct
{
  const CliGradOptions *options;
  IrModel *model;
  IrJacobian *jacobian;
  GPtrArray *paths; /* per row (nullable) */
} Answer;

static const IrGradientRow *
row_at (const Answer *answer, guint i)
{
  return &g_array_index (answer->jacobian->gradients->rows, IrGradientRow, i);
}

static const char *
name_at (const Answer *answer, guint i)
{
  return ir_model_value (answer->model, row_at (answer, i)->by)->name;
}

static const char *
of_name (const Answer *answer)
{
  return ir_model_value (answer->model, answer->jacobian->gradients->of)->name;
}

static gboolean
save_all (const Answer *answer, GError **error)
{
  for (guint i = 0; i < answer->paths->len; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s.jacobian", name_at (answer, i));
      if (!cli_grad_save (answer->options, name, answer->jacobian->tensors->pdata[i],
                          (char **) &answer->paths->pdata[i], error))
        return FALSE;
    }
  return TRUE;
}

static void
print_json (const Answer *answer)
{
  cJSON *json = cJSON_CreateObject ();

  cJSON_AddStringToObject (json, "of", of_name (answer));
  cJSON_AddStringToObject (json, "mode", "reverse");
  cJSON *array = cJSON_AddArrayToObject (json, "jacobian");
  for (guint i = 0; i < answer->paths->len; i++)
    {
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "name", name_at (answer, i));
      cli_grad_add_tensor (object, answer->jacobian->tensors->pdata[i], answer->paths->pdata[i]);
      cJSON_AddItemToObject (object, "why",
                             row_at (answer, i)->why != NULL
                                 ? cJSON_CreateString (row_at (answer, i)->why)
                                 : cJSON_CreateNull ());
      cJSON_AddItemToArray (array, object);
    }
  cli_json_print (json);
}

/* As a matrix of the elements of what is derived, a row each; only small ones */
static void
print_matrix (const Answer *answer, const IrTensor *tensor)
{
  const guint64 rows = answer->jacobian->n;
  const guint64 columns = rows > 0 ? ir_tensor_n_elements (tensor) / rows : 0;

  for (guint64 i = 0; rows <= SHOWN && columns <= SHOWN && i < rows; i++)
    {
      cli_print ("   ");
      for (guint64 k = 0; k < columns; k++)
        cli_print (" %11.5g", ir_tensor_get_double (tensor, i * columns + k));
      cli_print ("\n");
    }
}

static void
print_text (const Answer *answer)
{
  cli_print ("%s: each of %" G_GUINT64_FORMAT " %s derived by each of\n", of_name (answer),
             answer->jacobian->n, answer->jacobian->n == 1 ? "element" : "elements");
  for (guint i = 0; i < answer->paths->len; i++)
    {
      const IrTensor *tensor = answer->jacobian->tensors->pdata[i];
      cli_grad_print_tensor (name_at (answer, i), tensor, row_at (answer, i)->why);
      if (tensor != NULL)
        print_matrix (answer, tensor);
    }
}

gboolean
cli_grad_jacobian (Cli *cli, const CliGradOptions *options, IrModel *model, GError **error)
{
  g_autofree char *wrt = cli_grad_names (options->wrt, "params");
  const IrGradientsSetup setup = { .of = options->of != NULL ? options->of : "",
                                   .wrt = wrt,
                                   .stop = options->stop };
  g_autoptr (IrJacobian) jacobian = ir_jacobian_new (model, &setup, cli->cancellable, error);
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) inputs = NULL;
  const Answer answer = { options, model, jacobian, paths };
  IrRunOptions how;

  if (jacobian == NULL ||
      (options->output != NULL && !cli_save_model (cli, model, options->output, NULL, error)) ||
      !cli_run_setup (cli, &options->model, model, &how, &inputs, error))
    return FALSE;
  gboolean done = ir_jacobian_run (jacobian, inputs, &how, cli->cancellable, error);
  cli_progress_end (cli);
  g_ptr_array_set_size (paths, (int) jacobian->gradients->rows->len);
  if (!done || !save_all (&answer, error))
    return FALSE;
  if (cli->json)
    print_json (&answer);
  else
    print_text (&answer);
  return TRUE;
}
