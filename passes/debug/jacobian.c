#include "config.h"

#include "passes/debug/jacobian.h"

#include "passes/pass.h"
#include "passes/rewrites/gradient.h"

#include <string.h>

#define MAX_ELEMENTS (G_GUINT64_CONSTANT (1) << 26) /* of all matrices together */

static void
unref_tensor (gpointer tensor)
{
  if (tensor != NULL)
    ir_tensor_unref (tensor);
}

/**
 * ir_jacobian_free:
 * @jacobian: (transfer full) (nullable): a Jacobian
 */
void
ir_jacobian_free (IrJacobian *jacobian)
{
  if (jacobian == NULL)
    return;
  g_clear_pointer (&jacobian->gradients, ir_gradients_unref);
  g_clear_pointer (&jacobian->tensors, g_ptr_array_unref);
  g_free (jacobian);
}

static gboolean
refuse (GError **error, const char *what, const IrValue *of)
{
  return ir_pass_refuse (error, "gradient", "the Jacobian of %s: %s", of->name, what);
}

static IrTensor *
zeros (IrDtype dtype, guint rank, const gint64 *dims, GError **error)
{
  IrTensor *tensor = ir_tensor_new_alloc (dtype, rank, dims, error);

  if (tensor != NULL && ir_tensor_n_bytes (tensor) > 0)
    memset (ir_tensor_data_writable (tensor), 0, ir_tensor_n_bytes (tensor));
  return tensor;
}

/* What weighs the elements of @of becomes an input, by a step of its own. Where all others have contents, it has
 * some, too: they stay what the model is given by default. */
static IrValue *
add_seed (IrModel *model, const IrValue *of)
{
  g_autoptr (IrEdit) edit = ir_edit_new (model);
  g_autofree char *name = g_strdup_printf ("%s.cotangent", of->name);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  ir_edit_begin_step (edit, "cotangent", IR_CLASS_EDIT, 0);
  g_autofree char *unique = ir_model_has_value (model, name)
                                ? g_strdup (ir_edit_unique_name (edit, name))
                                : g_strdup (name);
  IrValue *seed = ir_edit_add_value (edit, model->main, unique, of->type);
  ir_edit_set_flags (edit, seed, IR_VALUE_DECLARED | IR_VALUE_NAMED_BY_USER);
  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    g_ptr_array_add (inputs, ir_graph_input (model->main, i));
  g_autoptr (IrTensor)
      none = inputs->len > 0 && ir_value_is_default (inputs->pdata[0])
                 ? zeros (ir_value_dtype (of), (guint) of->type->rank, of->type->dims, NULL)
                 : NULL;
  if (none != NULL)
    ir_edit_set_initializer (edit, seed, none);
  g_ptr_array_add (inputs, seed);
  ir_edit_set_graph_inputs (edit, model->main, (IrValue *const *) inputs->pdata, inputs->len);
  ir_edit_end_step (edit);
  return seed;
}

/**
 * ir_jacobian_new:
 * @model: a model whose types are known; it gets the backward part, in steps, and an input
 * @setup: what is derived, and by what; its cotangent and order are not looked at
 * @cancellable: (nullable): stops it
 * @error: return location for an error
 *
 * Derives @model as ir_gradients_new() does, each element of what is derived to be told from the
 * others by an input called NAME.cotangent. Fails where the sizes of what is derived are not known.
 *
 * Returns: (transfer full) (nullable): the Jacobian, which no run has computed yet
 */
IrJacobian *
ir_jacobian_new (IrModel *model,
                 const IrGradientsSetup *setup,
                 GCancellable *cancellable,
                 GError **error)
{
  IrValue *of = ir_gradient_of (model, setup->of, error);
  g_autoptr (IrJacobian) self = g_new0 (IrJacobian, 1);
  IrGradientsSetup weighed = *setup;

  if (of == NULL)
    return NULL;
  if (!ir_type_n_elements (of->type, &self->n))
    {
      refuse (error, "its sizes are not known; give them (--dim)", of);
      return NULL;
    }
  self->seed = add_seed (model, of)->id;
  weighed.of = of->name;
  weighed.cotangent = ir_model_value (model, self->seed)->name;
  weighed.order = NULL;
  self->gradients = ir_gradients_new (model, &weighed, cancellable, error);
  if (self->gradients == NULL)
    return NULL;
  GArray *rows = self->gradients->rows;
  for (guint i = rows->len; i-- > 0;)
    if (g_array_index (rows, IrGradientRow, i).by == self->seed)
      g_array_remove_index (rows, i);
  return g_steal_pointer (&self);
}

/* -- its rows -- */

/* (nullable) 1 at element @at, else 0 */
static IrTensor *
one_hot (const IrValue *seed, guint64 at, GError **error)
{
  g_autoptr (IrTensor)
      wide = zeros (IR_DTYPE_DOUBLE, (guint) seed->type->rank, seed->type->dims, error);

  if (wide == NULL)
    return NULL;
  ((double *) ir_tensor_data_writable (wide))[at] = 1;
  return ir_tensor_cast (wide, ir_value_dtype (seed));
}

/* (transfer full) (nullable): zeros of the shape [of.., by..] */
static IrTensor *
matrix_for (const IrValue *of, const IrTensor *row, guint64 *n_left, GError **error)
{
  gint64 dims[2 * IR_MAX_RANK];
  const guint rank = (guint) of->type->rank + ir_tensor_rank (row);
  guint64 n;

  for (int i = 0; i < of->type->rank; i++)
    dims[i] = of->type->dims[i];
  for (guint i = 0; i < ir_tensor_rank (row); i++)
    dims[of->type->rank + (int) i] = ir_tensor_dims (row)[i];
  if (rank > IR_MAX_RANK || !ir_type_n_elements (of->type, &n) ||
      !g_uint64_checked_mul (&n, n, ir_tensor_n_elements (row)) || n > *n_left)
    {
      refuse (
          error,
          "it has too many axes or elements (67,108,864 together are the most); derive by less, "
          "or a smaller value (--of, --wrt)",
          of);
      return NULL;
    }
  *n_left -= n;
  return zeros (ir_tensor_dtype (row), rank, dims, error);
}

static gboolean
take_rows (IrJacobian *self, const IrRun *run, guint64 at, guint64 *n_left, GError **error)
{
  const IrValue *of = ir_model_value (self->gradients->model, self->gradients->of);

  for (guint i = 0; i < self->gradients->rows->len; i++)
    {
      IrValueId id = g_array_index (self->gradients->rows, IrGradientRow, i).gradient;
      const IrTensor *row = id != 0 ? ir_run_value (run, id) : NULL;
      if (row == NULL)
        continue;
      if (self->tensors->pdata[i] == NULL &&
          (self->tensors->pdata[i] = matrix_for (of, row, n_left, error)) == NULL)
        return FALSE;
      const gsize bytes = ir_tensor_n_bytes (row);
      memcpy ((char *) ir_tensor_data_writable (self->tensors->pdata[i]) + at * bytes,
              ir_tensor_data (row), bytes);
    }
  return TRUE;
}

/**
 * ir_jacobian_run:
 * @jacobian: a Jacobian
 * @inputs: value id -> #IrTensor, of the model's own inputs
 * @options: of each run
 * @cancellable: (nullable): stops it
 * @error: return location for an error
 *
 * Runs forward and backward part once for each element of what is derived.
 *
 * Returns: %TRUE if all of @jacobian's tensors are there
 */
gboolean
ir_jacobian_run (IrJacobian *jacobian,
                 GHashTable *inputs,
                 const IrRunOptions *options,
                 GCancellable *cancellable,
                 GError **error)
{
  const IrValue *seed = ir_model_value (jacobian->gradients->model, jacobian->seed);
  g_autoptr (IrExecutable)
      executable = ir_executable_new (jacobian->gradients->model, options, error);
  guint64 n_left = MAX_ELEMENTS;

  g_clear_pointer (&jacobian->tensors, g_ptr_array_unref);
  jacobian->tensors = g_ptr_array_new_with_free_func (unref_tensor);
  g_ptr_array_set_size (jacobian->tensors, (int) jacobian->gradients->rows->len);
  for (guint64 i = 0; executable != NULL && i < jacobian->n; i++)
    {
      IrTensor *weights = one_hot (seed, i, error);
      if (weights == NULL)
        return FALSE;
      g_hash_table_replace (inputs, GUINT_TO_POINTER (jacobian->seed), weights);
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, cancellable, NULL, error);
      if (run == NULL || !take_rows (jacobian, run, i, &n_left, error))
        return FALSE;
    }
  return executable != NULL;
}
