/* irscope grad --mode symbolic: derivatives as expressions, and how they swell. */
#include "config.h"

#include "app/cli/grad.h"
#include "app/cli/output.h"
#include "core/grad/symbolic.h"
#include "passes/pipeline/derive.h"
#include "passes/rewrites/gradient.h"

typedef struct
{
  const CliGradOptions *options;
  IrValue *of;
  GPtrArray *by; /* of IrValue */
  IrSymbolic *symbolic;
  GArray *expressions; /* of IrExpr: as they are shown */
} Answer;

static void
answer_clear (Answer *answer)
{
  g_clear_pointer (&answer->by, g_ptr_array_unref);
  g_clear_pointer (&answer->symbolic, ir_symbolic_free);
  g_clear_pointer (&answer->expressions, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Answer, answer_clear)

static gboolean
derive_all (const Answer *answer, IrSymbolicLevel level, GArray *expressions, GError **error)
{
  for (guint i = 0; i < answer->by->len; i++)
    {
      IrExpr expression = ir_symbolic_derive (answer->symbolic, answer->by->pdata[i], level);
      if (expression == 0)
        {
          g_set_error (error, CLI_ERROR, 0,
                       "the derivative by %s has more than a million parts; use reverse mode",
                       ((IrValue *) answer->by->pdata[i])->name);
          return FALSE;
        }
      g_array_append_val (expressions, expression);
    }
  return TRUE;
}

static gboolean
derive (Answer *answer, Cli *cli, IrModel *model, GError **error)
{
  const CliGradOptions *options = answer->options;
  g_autofree char *wrt = cli_grad_names (options->wrt, "inputs");
  IrSymbolicLevel level = options->simplify ? IR_SYMBOLIC_SIMPLIFIED : IR_SYMBOLIC_RAW;

  if (!ir_prepare_to_derive (model, &wrt, cli->cancellable, error) ||
      (answer->of = ir_gradient_of (model, options->of != NULL ? options->of : "", error)) ==
          NULL ||
      (answer->by = ir_gradient_wrt (model, wrt, error)) == NULL)
    return FALSE;
  answer->symbolic = ir_symbolic_new (model, answer->of, answer->by, NULL, error);
  answer->expressions = g_array_new (FALSE, FALSE, sizeof (IrExpr));
  return answer->symbolic != NULL && derive_all (answer, level, answer->expressions, error);
}

static double
tree_size (const Answer *answer, const GArray *expressions)
{
  double sum = 0;

  for (guint i = 0; i < expressions->len; i++)
    sum += ir_symbolic_tree_size (answer->symbolic, g_array_index (expressions, IrExpr, i));
  return sum;
}

static guint
dag_size (const Answer *answer, const GArray *expressions)
{
  return ir_symbolic_dag_size (answer->symbolic, (const IrExpr *) expressions->data,
                               expressions->len);
}

static gboolean
print_json (const Answer *answer, const GArray *raw, const GArray *folded)
{
  cJSON *json = cJSON_CreateObject (), *array, *swell;
  g_autofree char *text = ir_symbolic_text (answer->symbolic,
                                            ir_symbolic_expression (answer->symbolic, answer->of));

  cJSON_AddStringToObject (json, "of", answer->of->name);
  cJSON_AddStringToObject (json, "mode", "symbolic");
  cJSON_AddStringToObject (json, "level", answer->options->simplify ? "simplified" : "raw");
  cJSON_AddStringToObject (json, "expression", text);
  array = cJSON_AddArrayToObject (json, "expressions");
  for (guint i = 0; i < answer->by->len; i++)
    {
      IrExpr expression = g_array_index (answer->expressions, IrExpr, i);
      cJSON *object = cJSON_CreateObject ();
      g_autofree char *one = ir_symbolic_text (answer->symbolic, expression);
      cJSON_AddStringToObject (object, "name", ((IrValue *) answer->by->pdata[i])->name);
      cJSON_AddStringToObject (object, "text", one);
      cli_json_add_double (object, "tree", ir_symbolic_tree_size (answer->symbolic, expression));
      cJSON_AddNumberToObject (object, "dag",
                               ir_symbolic_dag_size (answer->symbolic, &expression, 1));
      cJSON_AddItemToArray (array, object);
    }
  swell = cJSON_AddObjectToObject (json, "swell");
  cli_json_add_double (swell, "tree", tree_size (answer, raw));
  cJSON_AddNumberToObject (swell, "dag", dag_size (answer, raw));
  cli_json_add_double (swell, "tree_folded", tree_size (answer, folded));
  cJSON_AddNumberToObject (swell, "dag_folded", dag_size (answer, folded));
  cli_json_print (json);
  return TRUE;
}

/* Names for what is shared come behind, a line each. */
static void
print_expression (const Answer *answer, const char *head, IrExpr expression)
{
  g_autofree char *text = ir_symbolic_text (answer->symbolic, expression);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint n = g_strv_length (lines);

  cli_print ("%s = %s%s\n", head, lines[n - 1], n > 1 ? ", where" : "");
  for (guint i = 0; i + 1 < n; i++)
    cli_print ("  %s\n", lines[i]);
}

static gboolean
print_text (const Answer *answer, const GArray *raw, const GArray *folded)
{
  print_expression (answer, answer->of->name,
                    ir_symbolic_expression (answer->symbolic, answer->of));
  for (guint i = 0; i < answer->by->len; i++)
    {
      g_autofree char *head = g_strdup_printf ("d %s / d %s", answer->of->name,
                                               ((IrValue *) answer->by->pdata[i])->name);
      print_expression (answer, head, g_array_index (answer->expressions, IrExpr, i));
    }
  cli_print ("as trees %.0f operators, numbers and variables, %u where what is equal is one; "
             "with 0 and 1 folded %.0f and %u\n",
             tree_size (answer, raw), dag_size (answer, raw), tree_size (answer, folded),
             dag_size (answer, folded));
  return TRUE;
}

gboolean
cli_grad_symbolic (Cli *cli, const CliGradOptions *options, IrModel *model, GError **error)
{
  g_auto (Answer) answer = { .options = options };
  g_autoptr (GArray) raw = g_array_new (FALSE, FALSE, sizeof (IrExpr));
  g_autoptr (GArray) folded = g_array_new (FALSE, FALSE, sizeof (IrExpr));

  return derive (&answer, cli, model, error) && derive_all (&answer, IR_SYMBOLIC_RAW, raw, error) &&
         derive_all (&answer, IR_SYMBOLIC_FOLDED, folded, error) &&
         (cli->json ? print_json : print_text) (&answer, raw, folded);
}
