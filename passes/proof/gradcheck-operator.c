/* Derivatives of one operator against differences, on its own cases. */
#include "config.h"

#include "passes/proof/gradcheck.h"

#include "core/grad/cases.h"
#include "core/grad/vjp.h"
#include "core/io/io.h"
#include "core/op/op.h"
#include "passes/pass.h"

#include <string.h>

/* @type: in ONNX text, which leaves open what a scalar's rank is */
static void
fill (const IrValue *input, const IrType *type, const char *elements, GHashTable *inputs)
{
  g_autofree gint64 *dims = g_new (gint64, (gsize) type->rank + 1);
  const char *at = elements;

  for (int i = 0; i < type->rank; i++)
    dims[i] = type->dims[i];
  IrTensor *tensor = ir_tensor_new_alloc (type->dtype, (guint) type->rank, dims, NULL);
  double *numbers = ir_tensor_data_writable (tensor);
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      char *end;
      numbers[i] = g_ascii_strtod (at, &end);
      at = *end == '\0' ? elements : end;
    }
  g_hash_table_insert (inputs, GUINT_TO_POINTER (input->id), tensor);
}

/* With one output, "loss". (transfer full) (nullable) */
static IrModel *
model_of (const IrGradientCase *gradient_case, GHashTable **inputs, GError **error)
{
  const char *b_type = gradient_case->b_type;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autofree char *text = g_strdup_printf (
      "<ir_version: 10, opset_import: [\"\" : %d, \"ai.onnx.ml\" : 5, "
      "\"ai.onnx.preview.training\" : 1, \"irscope\" : 1]>\n"
      "graph (%s a%s%s%s) => (double[] loss)\n{\n%s" IR_GRADIENT_CASE_LOSS "}\n",
      IR_GRADIENT_CASE_OPSET, gradient_case->a_type, b_type != NULL ? ", " : "",
      b_type != NULL ? b_type : "", b_type != NULL ? " b" : "", gradient_case->body);
  IrModel *model = ir_text_read (text, -1, problems, error);

  if (model == NULL)
    return NULL;
  *inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  fill (ir_graph_input (model->main, 0),
        ir_type_parse (model->context, gradient_case->a_type, NULL), gradient_case->a, *inputs);
  if (b_type != NULL)
    fill (ir_graph_input (model->main, 1), ir_type_parse (model->context, b_type, NULL),
          gradient_case->b, *inputs);
  return model;
}

/* -- those of an operator -- */

/* "Gelu": of any domain; "com.microsoft.Gelu" */
static gboolean
is_named (const IrOp *op, const char *name)
{
  const char *domain = op->domain != NULL && *op->domain != '\0' ? op->domain : "ai.onnx";
  const gsize n = strlen (domain);

  return strcmp (op->name, name) == 0 ||
         (strncmp (name, domain, n) == 0 && name[n] == '.' && strcmp (name + n + 1, op->name) == 0);
}

/* Whether a node of the case is of a row with that name */
static gboolean
has_operator (const IrModel *model, const char *name)
{
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  for (guint i = 0; i < n; i++)
    if (order[i]->op != NULL && is_named (order[i]->op, name))
      return TRUE;
  return FALSE;
}

static const char *
nothing_of (const IrOp *op)
{
  const IrGradRow *row = ir_grad_row (op);

  return row != NULL && row->opaque != NULL ? row->opaque
         : row != NULL && row->zero
             ? "Nothing that it gives depends smoothly on its inputs: its derivative is 0."
         : op->until > 0 ? "It is upgraded to what has taken its place before it is derived."
         : g_str_has_suffix (op->name, "uantizeLinear")
             ? "It is derived straight through, which differences of a rounding do not say."
             : "It has no case of its own; give a FILE.";
}

/* Why there is nothing to check. */
static GArray *
refuse (const char *name, GError **error)
{
  for (guint id = 1; id < ir_op_n (); id++)
    if (is_named (ir_op_by_id ((IrOpId) id), name))
      {
        ir_pass_refuse (error, "gradcheck", "%s has nothing to check. %s", name,
                        nothing_of (ir_op_by_id ((IrOpId) id)));
        return NULL;
      }
  ir_pass_refuse (error, "gradcheck",
                  "there is no operator %s; 'irscope ops --gradients' lists them", name);
  return NULL;
}

static gboolean
check_case (const IrGradientCase *gradient_case,
            const char *name,
            const IrGradcheckOptions *options,
            GArray *items,
            GError **error)
{
  IrGradcheckOptions how = *options;
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (IrModel) model = model_of (gradient_case, &inputs, error);

  if (model == NULL || !has_operator (model, name))
    return model != NULL;
  how.of = "loss";
  how.wrt = "inputs";
  g_autoptr (GArray) found = ir_gradcheck (model, inputs, &how, error);
  if (found == NULL)
    return FALSE;
  for (guint i = 0; i < found->len; i++)
    g_array_index (found, IrGradcheckItem, i).graph = gradient_case->body;
  g_array_append_vals (items, found->data, found->len); /* their names go on with them */
  g_array_set_clear_func (found, NULL);
  return TRUE;
}

/**
 * ir_gradcheck_operator:
 * @name: of an operator, with or without its domain
 * @options: steps and tolerances; what is derived by what is said by the cases
 * @error: return location for an error
 *
 * Compares derivatives with differences on the operator's own cases. Fails where it is not known, or
 * not derived.
 *
 * Returns: (transfer full) (nullable) (element-type IrGradcheckItem): what was compared
 */
GArray *
ir_gradcheck_operator (const char *name, const IrGradcheckOptions *options, GError **error)
{
  const char *dot = strrchr (name, '.');
  g_autoptr (GArray) items = ir_gradcheck_items_new ();

  for (guint i = 0; ir_gradient_case (i) != NULL; i++)
    if (strcmp (ir_gradient_case (i)->op, dot != NULL ? dot + 1 : name) == 0 &&
        !check_case (ir_gradient_case (i), name, options, items, error))
      return NULL;
  return items->len > 0 ? g_steal_pointer (&items) : refuse (name, error);
}
