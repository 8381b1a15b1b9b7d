/* Files and numbers; pictures are in picture.c. */
#include "config.h"

#include "core/exec/eval/given.h"

#include "core/exec/eval/picture.h"
#include "core/io/io.h"
#include "core/op/infer.h"

#include <string.h>

static IrTensor *refuse (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

static IrTensor *
refuse (GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_propagate_error (error, g_error_new_valist (IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT, format, args));
  va_end (args);
  return NULL;
}

/* -- files -- */

/* The array called @key; without one, that of the input's name, or the only one. (transfer full) */
static IrTensor *
array_of (
    const GPtrArray *arrays, const char *path, const char *key, const char *name, GError **error)
{
  g_autoptr (GString) keys = g_string_new (NULL);

  for (guint i = 0; i < arrays->len; i++)
    {
      const IrNamedTensor *array = arrays->pdata[i];

      if (strcmp (array->name, key != NULL ? key : name) == 0 || (key == NULL && arrays->len == 1))
        return ir_tensor_ref (array->tensor);
      g_string_append_printf (keys, "%s%s", i > 0 ? ", " : "", array->name);
    }
  return refuse (error, "%s: has no array '%s'; it has %s", path, key != NULL ? key : name,
                 arrays->len > 0 ? keys->str : "none");
}

/* @path: FILE.npz or FILE.npz:KEY. (transfer full) (nullable) */
static IrTensor *
load_array (const char *path, const char *name, GError **error)
{
  const char *colon = g_str_has_suffix (path, ".npz") ? NULL : strrchr (path, ':');
  g_autofree char *file = g_strndup (path, colon != NULL ? (gsize) (colon - path) : strlen (path));
  g_autoptr (GPtrArray) arrays = ir_npz_load (file, error);

  return arrays != NULL ? array_of (arrays, file, colon != NULL ? colon + 1 : NULL, name, error)
                        : NULL;
}

/**
 * ir_given_arrays:
 * @model: a model
 * @path: an .npz file
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable) (element-type IrNamedTensor): its arrays with the name of an input;
 *   there is one, or it is an %IR_EXEC_ERROR_INPUT
 */
GPtrArray *
ir_given_arrays (const IrModel *model, const char *path, GError **error)
{
  g_autoptr (GPtrArray) arrays = ir_npz_load (path, error);

  for (guint i = arrays != NULL ? arrays->len : 0; i-- > 0;)
    {
      const IrNamedTensor *array = arrays->pdata[i];
      const IrValue *input = ir_graph_find_value (model->main, array->name);

      if (input == NULL || !ir_value_is_graph_input (input))
        g_ptr_array_remove_index (arrays, i);
    }
  if (arrays == NULL || arrays->len > 0)
    return g_steal_pointer (&arrays);
  refuse (error, "none of its arrays has the name of an input; give INPUT=%s:ARRAY", path);
  return NULL;
}

static IrTensor *
make_file (const IrValue *input, GHashTable *sizes, const char *path, GError **error)
{
  if (g_str_has_suffix (path, ".npz") ||
      (strstr (path, ".npz:") != NULL && !g_file_test (path, G_FILE_TEST_EXISTS)))
    return load_array (path, input->name, error);
  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return refuse (error, "there is no file '%s'", path);
  return ir_value_load (path, input->type, error);
}

/* -- numbers -- */

/* One number for each element; a shape that is open takes the sizes of @sizes, and where only one is
 * left, what makes the numbers fit. FALSE: they do not. */
static gboolean
shape_of_numbers (const IrValue *input, GArray *sizes, guint n, gint64 *dims, guint *rank)
{
  const IrType *type = ir_value_shown_type (input);
  guint64 known = 1;
  int open = -1;

  *rank = 1;
  dims[0] = n;
  if (!ir_type_has_rank (type))
    return TRUE;
  *rank = (guint) type->rank;
  for (int axis = 0; axis < type->rank; axis++)
    {
      g_autofree char *text = ir_dim_to_string (input->graph->model->context, type->dims[axis]);
      g_autofree char *name = type->dims[axis] == IR_DIM_UNKNOWN
                                  ? ir_infer_dim_name (input, (guint) axis)
                                  : g_steal_pointer (&text);
      const IrFreeDim *dim = NULL;

      for (guint i = 0; i < sizes->len && dim == NULL; i++)
        if (strcmp (g_array_index (sizes, IrFreeDim, i).name, name) == 0)
          dim = &g_array_index (sizes, IrFreeDim, i);
      dims[axis] = type->dims[axis];
      if (!ir_dim_is_known (dims[axis]))
        {
          dims[axis] = dim != NULL ? dim->size : 1;
          open = open >= 0 || n == 1 || (dim != NULL && dim->given) ? open : axis;
        }
      if (axis != open && !g_uint64_checked_mul (&known, known, (guint64) dims[axis]))
        return FALSE;
    }
  if (open >= 0)
    dims[open] = known > 0 ? (gint64) (n / known) : 0;
  return n == 1 || (open >= 0 ? known * (guint64) dims[open] : known) == n;
}

static gboolean
put_number (IrTensor *tensor, guint64 at, const char *text)
{
  const IrDtype dtype = ir_tensor_dtype (tensor);
  void *data = ir_tensor_data_writable (tensor);
  char *end = NULL;

  if (ir_dtype_is_float (dtype))
    ir_dtype_set_double (dtype, data, at, g_ascii_strtod (text, &end));
  else
    {
      const gint64 integer = g_ascii_strtoll (text, &end, 10);

      ir_dtype_set_int64 (dtype, data, at, integer);
      if (ir_tensor_get_int64 (tensor, at) != integer)
        return FALSE;
    }
  return end != text && *end == '\0';
}

static IrTensor *
make_numbers (const IrValue *input, GHashTable *bindings, const char *text, GError **error)
{
  const IrType *shown = ir_value_shown_type (input);
  const IrDtype dtype = shown != NULL && ir_type_is_tensor (shown) ? shown->dtype
                                                                   : IR_DTYPE_UNDEFINED;
  g_auto (GStrv) texts = g_strsplit (text, ",", -1);
  const guint n = g_strv_length (texts);
  g_autoptr (GArray) sizes = ir_free_dims (input->graph->model, bindings);
  gint64 dims[IR_MAX_RANK];
  guint rank;

  if (shown == NULL || !ir_type_is_tensor (shown) ||
      !(ir_dtype_is_float (dtype) || ir_dtype_is_integer (dtype) || dtype == IR_DTYPE_BOOL))
    return refuse (error, "the input is no tensor of numbers");
  if (!shape_of_numbers (input, sizes, n, dims, &rank))
    {
      g_autofree char *type = ir_type_to_string (input->graph->model->context, shown);

      return refuse (error, "%u numbers do not fit %s", n, type);
    }
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (dtype, rank, dims, error);
  for (guint64 i = 0; tensor != NULL && i < ir_tensor_n_elements (tensor); i++)
    if (!put_number (tensor, i, g_strstrip (texts[n == 1 ? 0 : i])))
      return refuse (error, "needs numbers of type %s with commas between, found '%s'",
                     ir_dtype_name (dtype), texts[n == 1 ? 0 : i]);
  return g_steal_pointer (&tensor);
}

/* -- all -- */

static const struct
{
  const char *name;
  IrTensor *(*make) (const IrValue *input, GHashTable *sizes, const char *text, GError **error);
} rows[IR_N_GIVEN] = {
  [IR_GIVEN_FILE] = { "file", make_file },
  [IR_GIVEN_PICTURE] = { "picture", ir_picture_tensor },
  [IR_GIVEN_NUMBERS] = { "numbers", make_numbers },
};

/**
 * ir_given_name:
 * @kind: a kind
 *
 * Returns: (transfer none): its name where it is written down, such as "picture"
 */
const char *
ir_given_name (IrGivenKind kind)
{
  return rows[kind].name;
}

/**
 * ir_given_find:
 * @name: as ir_given_name() gives it
 * @kind: (out): what it names
 *
 * Returns: whether it names something
 */
gboolean
ir_given_find (const char *name, IrGivenKind *kind)
{
  for (IrGivenKind i = 0; i < IR_N_GIVEN; i++)
    if (strcmp (rows[i].name, name) == 0)
      {
        *kind = i;
        return TRUE;
      }
  return FALSE;
}

/**
 * ir_given_make:
 * @kind: what @text is
 * @input: an input of the main graph
 * @sizes: (nullable): name -> #gint64 *: sizes of free dims that are asked for
 * @text: a path, a path with settings, or numbers
 * @error: return location for an error
 *
 * Fails with %IR_EXEC_ERROR_INPUT, or as reading a file fails.
 *
 * Returns: (transfer full) (nullable): contents for @input; whether their shape fits is for the run to
 *   say
 */
IrTensor *
ir_given_make (
    IrGivenKind kind, const IrValue *input, GHashTable *sizes, const char *text, GError **error)
{
  return rows[kind].make (input, sizes, text, error);
}
