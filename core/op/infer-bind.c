/* Sizes in place of symbols, and other shapes of inputs: what is known and what is claimed of all other
 * values follows. */
#include "config.h"

#include "core/op/infer.h"

static gboolean
check_bindings (GHashTable *bindings, GError **error)
{
  GHashTableIter iter;
  gpointer name, number;
  g_hash_table_iter_init (&iter, bindings);
  while (g_hash_table_iter_next (&iter, &name, &number))
    if (*(gint64 *) number < 0)
      {
        g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_VALUE,
                     "dim %s cannot be %" G_GINT64_FORMAT "; it must be 0 or more",
                     (const char *) name, *(gint64 *) number);
        return FALSE;
      }
  return TRUE;
}

/**
 * ir_infer_bind:
 * @edit: an edit of the model, within a step unless it imports
 * @bindings: (element-type utf8 gint64): symbol name to its number
 * @problems: (nullable) (element-type IrProblem): what is known already; findings are added, each once
 * @error: return location for an error
 *
 * Replaces symbols by numbers in the types of all values outside of functions, then infers.
 *
 * Fails with %IR_OP_ERROR_VALUE if a number is negative; then nothing was changed.
 *
 * Returns: whether the numbers were put in
 */
gboolean
ir_infer_bind (IrEdit *edit, GHashTable *bindings, GPtrArray *problems, GError **error)
{
  IrModel *model = ir_edit_model (edit);
  g_autoptr (GPtrArray) found = ir_problems_new ();
  if (!check_bindings (bindings, error))
    return FALSE;
  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = g_ptr_array_index (model->values, i);
      if (value == NULL || value->state != IR_STATE_LIVE || value->graph->kind == IR_GRAPH_FUNCTION)
        continue;
      ir_edit_set_type (edit, value, ir_type_substitute (model->context, value->type, bindings));
      ir_edit_set_claim (edit, value, ir_type_substitute (model->context, value->claim, bindings));
    }
  ir_infer_model (edit, IR_INFER_DEFAULT, found);
  if (problems != NULL)
    ir_problems_merge (problems, found);
  return TRUE;
}

/* A tensor's element type alone, unless it is a scalar. */
static const IrType *
without_shape (IrContext *context, const IrType *type)
{
  if (type == NULL || !ir_type_is_tensor (type) || type->rank <= 0)
    return type;
  return ir_type_tensor (context, type->dtype, IR_RANK_UNKNOWN, NULL);
}

/* Shapes that inference can make again are forgotten: they hold for the old inputs. */
static void
forget_shapes (IrEdit *edit)
{
  IrModel *model = ir_edit_model (edit);
  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = g_ptr_array_index (model->values, i);
      if (value == NULL || value->state != IR_STATE_LIVE ||
          value->graph->kind == IR_GRAPH_FUNCTION || value->producer == NULL ||
          value->producer->op == NULL)
        continue;
      ir_edit_set_type (edit, value, without_shape (model->context, value->type));
      ir_edit_set_claim (edit, value, without_shape (model->context, value->claim));
    }
}

/**
 * ir_infer_bind_input:
 * @edit: an edit of the model, within a step unless it imports
 * @input: an input of the main graph
 * @rank: number of dims
 * @dims: (array length=rank): the dims, known ones
 *
 * Gives an input another shape, whatever was declared. If that contradicts what was known, all
 * shapes that follow from inputs are forgotten, declared ones too. Call ir_infer_model() when all
 * inputs are bound.
 */
void
ir_infer_bind_input (IrEdit *edit, IrValue *input, guint rank, const gint64 *dims)
{
  IrContext *context = ir_edit_model (edit)->context;
  IrDtype dtype = input->type != NULL ? input->type->dtype : IR_DTYPE_UNDEFINED;
  const IrType *type = ir_type_tensor (context, dtype, (int) rank, dims);
  if (input->type != NULL && ir_type_merge (context, input->type, type) == NULL)
    forget_shapes (edit);
  ir_edit_set_type (edit, input, type);
}

/**
 * ir_infer_dim_name:
 * @input: an input of a graph
 * @axis: one of its axes, whose dim has no name
 *
 * Returns: (transfer full): what its dim is called instead: "x[1]"
 */
char *
ir_infer_dim_name (const IrValue *input, guint axis)
{
  return g_strdup_printf ("%s[%u]", input->name, axis);
}
