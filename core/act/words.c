/* What the words of an act mean: operators, types, attributes, contents of tensors. */
#include "config.h"

#include "core/act/act-private.h"
#include "core/io/io.h"
#include "core/op/op.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* -- operators -- */

static const IrGraph *
find_function (const IrModel *model, const char *domain, const char *name)
{
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];

      if (graph->state == IR_STATE_LIVE && graph->function != NULL &&
          strcmp (graph->function->name, name) == 0 &&
          (domain == NULL || strcmp (graph->function->domain, domain) == 0))
        return graph;
    }
  return NULL;
}

#define MAX_NAME 64

/* How many letters are to be put in, left out or changed, two that have changed places counting once;
 * case aside. */
static guint
distance (const char *a, const char *b)
{
  guint rows_of[3][MAX_NAME + 1];
  guint *before = rows_of[0], *last = rows_of[1], *row = rows_of[2];
  const guint n_a = (guint) strlen (a), n_b = (guint) strlen (b);

  if (n_a > MAX_NAME || n_b > MAX_NAME)
    return G_MAXUINT;
  for (guint k = 0; k <= n_b; k++)
    last[k] = k;
  for (guint i = 1; i <= n_a; i++)
    {
      guint *spare = before;

      row[0] = i;
      for (guint k = 1; k <= n_b; k++)
        {
          const gboolean same = g_ascii_tolower (a[i - 1]) == g_ascii_tolower (b[k - 1]);

          row[k] = MIN (MIN (last[k], row[k - 1]) + 1, last[k - 1] + !same);
          if (i > 1 && k > 1 && g_ascii_tolower (a[i - 1]) == g_ascii_tolower (b[k - 2]) &&
              g_ascii_tolower (a[i - 2]) == g_ascii_tolower (b[k - 1]))
            row[k] = MIN (row[k], before[k - 2] + 1);
        }
      before = last;
      last = row;
      row = spare;
    }
  return last[n_b];
}

/* The row whose name is nearest; (nullable): none is near. */
static const char *
similar_operator (const char *word)
{
  const char *nearest = NULL;
  guint least = MIN (3, (guint) strlen (word) / 2 + 1);

  for (guint i = 1; i < ir_op_n (); i++)
    {
      const char *name = ir_op_by_id ((IrOpId) i)->name;
      const guint letters = distance (word, name);

      if (letters < least)
        {
          least = letters;
          nearest = name;
        }
    }
  return nearest;
}

/* "Relu", "ai.onnx.ml.Scaler", or the name of a function of the model. */
gboolean
act_operator (const IrModel *model, const char *word, IrActOperator *found, GError **error)
{
  const char *dot = strrchr (word, '.');
  g_autofree char *domain = dot != NULL ? g_strndup (word, (gsize) (dot - word)) : NULL;
  const char *name = dot != NULL ? dot + 1 : word, *similar;
  const IrGraph *function = find_function (model, domain, name);

  *found = (IrActOperator){ 0 };
  if (function != NULL)
    *found = (IrActOperator){ NULL, function->function->domain, function->function->name,
                              function };
  else
    {
      found->op = ir_op_find (domain != NULL ? domain : "", name);
      for (guint i = 1; found->op == NULL && domain == NULL && i < ir_op_n (); i++)
        if (strcmp (ir_op_by_id ((IrOpId) i)->name, name) == 0)
          found->op = ir_op_by_id ((IrOpId) i);
      if (found->op == NULL)
        {
          similar = similar_operator (name);
          g_set_error (error, IR_ACT_ERROR, IR_ACT_ERROR_NOT_FOUND,
                       "there is no operator '%s'%s%s%s docs/OPS.md lists them", word,
                       similar != NULL ? "; is it " : "", similar != NULL ? similar : "",
                       similar != NULL ? "?" : ";");
          return FALSE;
        }
      found->name = found->op->name;
      found->domain = found->op->domain != NULL ? found->op->domain : "";
    }
  return TRUE;
}

/* -- types -- */

IrDtype
act_dtype (const char *text, GError **error)
{
  const IrDtype dtype = ir_dtype_from_name (text);

  if (dtype == IR_DTYPE_UNDEFINED)
    act_misread (error, "'%s' is no element type; needs one such as float, float16, int64, bool",
                 text);
  return dtype;
}

/* A size is a name or a number; what begins like a number and is none would become a name. */
static gboolean
check_sizes (const char *text, GError **error)
{
  for (const char *at = strpbrk (text, "[,"); at != NULL; at = strpbrk (at + 1, "[,"))
    {
      const char *size = at + 1 + strspn (at + 1, " ");
      char *end = NULL;

      if (*size != '-' && !g_ascii_isdigit (*size))
        continue;
      errno = 0;
      if (g_ascii_strtoll (size, &end, 10) < 0 || errno != 0 || strchr (" ,]*+", *end) == NULL)
        return act_misread (error,
                            "'%s': '%.*s' is no size; needs a number of at least 0 or a name", text,
                            (int) strcspn (size, ",]"), size);
    }
  return TRUE;
}

const IrType *
act_type (const IrModel *model, const char *text, GError **error)
{
  g_autoptr (GError) why = NULL;
  g_autofree char *scalar = ir_dtype_from_name (text) != IR_DTYPE_UNDEFINED
                                ? g_strdup_printf ("%s[]", text)
                                : NULL; /* as ONNX text says it */
  const IrType *type;

  if (!check_sizes (text, error))
    return NULL;
  type = ir_type_parse (model->context, scalar != NULL ? scalar : text, &why);
  if (type == NULL)
    act_misread (error, "'%s' is no type: %s; needs one such as float[batch,3,224]", text,
                 why != NULL ? why->message : "it cannot be read");
  return type;
}

/* -- contents of tensors -- */

static gboolean
is_file (const char *text)
{
  return g_str_has_suffix (text, ".npy") || g_str_has_suffix (text, ".pb");
}

/* Without the place in a text that nobody wrote, nor what stands there behind what was written. (transfer full) */
static char *
without_place (const IrProblem *problem)
{
  g_autofree char *place = g_strdup_printf ("Line %u, column %u: ", problem->line, problem->column);
  const char *said = problem->message +
                     (g_str_has_prefix (problem->message, place) ? strlen (place) : 0);
  const char *end = strstr (said, "> {\""), *found = strstr (said, ", found \"> {\"");

  if (found != NULL)
    return g_strndup (said, (gsize) (found - said));
  return end != NULL ? g_strdup_printf ("%.*s\"", (int) (end - said), said) : g_strdup (said);
}

/* "float[2] {1, 2}", as ONNX text writes an initializer. (transfer full) */
static IrTensor *
read_typed (const char *text, GError **error)
{
  g_autofree char *graph = g_strdup_printf ("<ir_version: 8, opset_import: [\"\": 17]>\n"
                                            "g () => () <%.*s c = %s> {\n}\n",
                                            (int) strcspn (text, "{"), text,
                                            text + strcspn (text, "{"));
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) why = NULL;
  g_autoptr (IrModel) model = ir_text_read (graph, -1, problems, &why);
  g_autoptr (IrModel) none = ir_model_new ();
  g_autofree char *type = g_strchomp (g_strndup (text, strcspn (text, "{")));
  const IrValue *value = model != NULL ? ir_graph_find_value (model->main, "c") : NULL;
  g_autofree char *first = problems->len > 0 ? without_place (problems->pdata[0]) : NULL;

  if (value != NULL && value->initializer != NULL &&
      ir_problems_count (problems, IR_SEVERITY_ERROR) == 0)
    return ir_tensor_ref (value->initializer);
  if (act_type (none, type, error) == NULL)
    return NULL;
  act_misread (error, "'%.60s' cannot be read: %s", text,
               first != NULL ? first
               : why != NULL ? why->message
                             : "it is no tensor; needs float[2] {1, 2}");
  return NULL;
}

/* Numbers alone: of the type that is expected, or, without one, float or int64 and a list as long as
 * there are. (transfer full) */
static IrTensor *
read_numbers (IrContext *context, const IrType *like, const char *text, GError **error)
{
  g_auto (GStrv) words = g_strsplit_set (text, ", []{}", -1);
  g_autoptr (GString) list = g_string_new (NULL);
  g_autofree char *type = NULL, *typed = NULL;
  gboolean whole = TRUE;
  guint n = 0;

  for (guint i = 0; words[i] != NULL; i++)
    {
      if (words[i][0] == '\0')
        continue;
      whole = whole && strcspn (words[i], ".eEnN") == strlen (words[i]);
      g_string_append_printf (list, "%s%s", n++ > 0 ? ", " : "", words[i]);
    }
  if (n == 0)
    {
      act_misread (error, "'%s' has no numbers; needs a .npy file, 1,2,3, or float[3] {1,2,3}",
                   text);
      return NULL;
    }
  if (like != NULL && ir_type_is_static (like))
    type = ir_type_to_string (context, like);
  else
    {
      const char *dtype = like != NULL && like->dtype != IR_DTYPE_UNDEFINED
                              ? ir_dtype_name (like->dtype)
                          : whole ? "int64"
                                  : "float";
      const gboolean is_list = n > 1 || strpbrk (text, ",[") != NULL;

      type = is_list ? g_strdup_printf ("%s[%u]", dtype, n) : g_strdup (dtype);
    }
  typed = g_strdup_printf ("%s {%s}", type, list->str);
  return read_typed (typed, error);
}

/* "float", "int64[2,3]" */
static gboolean
is_type (const char *text)
{
  g_autofree char *name = g_strndup (text, strcspn (text, "["));

  return ir_dtype_from_name (g_strstrip (name)) != IR_DTYPE_UNDEFINED;
}

/* A tensor from a file, numbers, or a type and numbers. @like: (nullable): the type that is expected
 * of numbers alone. (transfer full) (nullable) */
IrTensor *
act_contents (IrContext *context, const IrType *like, const char *text, GError **error)
{
  IrTensor *tensor;

  if (is_file (text))
    tensor = ir_tensor_load (text, error);
  else if (strchr (text, '{') != NULL && g_ascii_isalpha (text[0]))
    tensor = read_typed (text, error);
  else if (is_type (text))
    {
      act_misread (error, "'%s' has no numbers; needs them behind the type, as in %s {1,2,3}", text,
                   text);
      return NULL;
    }
  else
    tensor = read_numbers (context, like, text, error);
  return tensor;
}

/* The same numbers as elements of another type. (transfer full) (nullable) */
IrTensor *
act_cast (const IrTensor *tensor, IrDtype dtype, GError **error)
{
  const IrDtype from = ir_tensor_dtype (tensor);
  const gboolean integers = ir_dtype_is_integer (from) && ir_dtype_is_integer (dtype);
  IrTensor *cast;
  gpointer data;

  if (ir_tensor_data (tensor) == NULL || from == IR_DTYPE_STRING || dtype == IR_DTYPE_STRING ||
      ir_dtype_kind (from) == IR_DTYPE_KIND_COMPLEX ||
      ir_dtype_kind (dtype) == IR_DTYPE_KIND_COMPLEX)
    {
      act_refuse (error, "elements of %s cannot be converted into %s", ir_dtype_name (from),
                  ir_dtype_name (dtype));
      return NULL;
    }
  cast = ir_tensor_new_alloc (dtype, ir_tensor_rank (tensor), ir_tensor_dims (tensor), error);
  if (cast == NULL)
    return NULL;
  data = ir_tensor_data_writable (cast);
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    if (integers)
      ir_dtype_set_int64 (dtype, data, i, ir_tensor_get_int64 (tensor, i));
    else
      ir_dtype_cast_double (dtype, data, i, ir_tensor_get_double (tensor, i), TRUE,
                            IR_DTYPE_ROUND_NEAREST);
  return cast;
}

/* -- attributes -- */

static gboolean
read_ints (const char *text, GArray *ints)
{
  g_auto (GStrv) words = g_strsplit_set (text, ", []{}", -1);

  for (guint i = 0; words[i] != NULL; i++)
    {
      gint64 number;

      if (words[i][0] == '\0')
        continue;
      if (!g_ascii_string_to_signed (words[i], 10, G_MININT64, G_MAXINT64, &number, NULL))
        return FALSE;
      g_array_append_val (ints, number);
    }
  return TRUE;
}

static gboolean
read_floats (const char *text, GArray *floats)
{
  g_auto (GStrv) words = g_strsplit_set (text, ", []{}", -1);

  for (guint i = 0; words[i] != NULL; i++)
    {
      char *end;
      float number = (float) g_ascii_strtod (words[i], &end);

      if (words[i][0] == '\0')
        continue;
      if (*end != '\0')
        return FALSE;
      g_array_append_val (floats, number);
    }
  return TRUE;
}

static const IrAttr *
make_strings (IrContext *context, const char *name, const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, ",", -1);
  const guint n = text[0] != '\0' ? g_strv_length (words) : 0;
  g_autofree IrString *strings = g_new0 (IrString, n + 1);

  for (guint i = 0; i < n; i++)
    strings[i] = (IrString){ strlen (words[i]), words[i] };
  return ir_attr_strings (context, name, strings, n);
}

/* What a text looks like, where no row says what is needed. */
IrAttrKind
act_guess_kind (const char *text)
{
  g_autoptr (GArray) ints = g_array_new (FALSE, FALSE, sizeof (gint64)),
                     floats = g_array_new (FALSE, FALSE, sizeof (float));
  const gboolean is_list = strpbrk (text, ",[") != NULL;

  if (is_file (text) || (strchr (text, '{') != NULL && g_ascii_isalpha (text[0])))
    return IR_ATTR_TENSOR;
  if (text[0] != '\0' && read_ints (text, ints) && ints->len > 0)
    return is_list ? IR_ATTR_INTS : IR_ATTR_INT;
  if (text[0] != '\0' && read_floats (text, floats) && floats->len > 0)
    return is_list ? IR_ATTR_FLOATS : IR_ATTR_FLOAT;
  return IR_ATTR_STRING;
}

/* (nullable) */
static const IrAttr *
make_tensor (IrContext *context, const char *name, const char *text, GError **error)
{
  g_autoptr (IrTensor) tensor = act_contents (context, NULL, text, error);

  return tensor != NULL ? ir_attr_tensor (context, name, tensor) : NULL;
}

static const IrAttr *
make_type (IrContext *context, const char *name, const char *text)
{
  const IrType *type = ir_type_parse (context, text, NULL);

  return type != NULL ? ir_attr_types (context, name, IR_ATTR_TYPE, &type, 1) : NULL;
}

/* (nullable): a text that is none of the kind */
static const IrAttr *
make_attr (IrContext *context, const char *name, IrAttrKind kind, const char *text, GError **error)
{
  g_autoptr (GArray) ints = g_array_new (FALSE, FALSE, sizeof (gint64)),
                     floats = g_array_new (FALSE, FALSE, sizeof (float));

  if (kind == IR_ATTR_STRING)
    return ir_attr_string (context, name, text, -1);
  if (kind == IR_ATTR_STRINGS)
    return make_strings (context, name, text);
  if (kind == IR_ATTR_TENSOR)
    return make_tensor (context, name, text, error);
  if (kind == IR_ATTR_TYPE)
    return make_type (context, name, text);
  if (kind == IR_ATTR_INT && ir_dtype_from_name (text) != IR_DTYPE_UNDEFINED)
    return ir_attr_int (context, name, ir_dtype_from_name (text)); /* "to=float16" */
  if ((kind == IR_ATTR_INT || kind == IR_ATTR_INTS) && read_ints (text, ints))
    return kind == IR_ATTR_INTS
               ? ir_attr_ints (context, name, (const gint64 *) ints->data, ints->len)
           : ints->len == 1 ? ir_attr_int (context, name, g_array_index (ints, gint64, 0))
                            : NULL;
  if ((kind == IR_ATTR_FLOAT || kind == IR_ATTR_FLOATS) && read_floats (text, floats))
    return kind == IR_ATTR_FLOATS
               ? ir_attr_floats (context, name, (const float *) floats->data, floats->len)
           : floats->len == 1 ? ir_attr_float (context, name, g_array_index (floats, float, 0))
                              : NULL;
  return NULL;
}

/* What a text has to be for an attribute of that kind. */
static const char *
needed_for (IrAttrKind kind)
{
  static const char *const needed[IR_N_ATTR_KINDS] = {
    [IR_ATTR_FLOAT] = "a number, such as 0.5",
    [IR_ATTR_FLOATS] = "numbers, such as 0.5,2",
    [IR_ATTR_INT] = "a whole number, such as 1, or an element type, such as float16",
    [IR_ATTR_INTS] = "whole numbers, such as 1,2",
    [IR_ATTR_TYPE] = "a type, such as float[batch,3]",
  };

  return needed[kind] != NULL ? needed[kind] : "the graph's text: words cannot say it";
}

const IrAttr *
act_attr (IrContext *context, const char *name, IrAttrKind kind, const char *text, GError **error)
{
  g_autoptr (GError) why = NULL;
  const IrAttr *attr = make_attr (context, name, kind, text, &why);

  if (attr == NULL && why != NULL)
    act_misread (error, "attribute %s: %s", name, why->message);
  else if (attr == NULL)
    act_misread (error, "attribute %s: '%s' is no %s; needs %s", name, text,
                 ir_attr_kind_name (kind), needed_for (kind));
  return attr;
}

/* What an attribute that is needed has at first; (nullable): a graph. */
const IrAttr *
act_default_attr (IrContext *context, const IrAttrSpec *spec)
{
  static const gint64 ones[] = { 1, 1 };

  switch (spec->kind)
    {
    case IR_ATTR_INT:
      return ir_attr_int (context, spec->name, 1);
    case IR_ATTR_FLOAT:
      return ir_attr_float (context, spec->name, 1);
    case IR_ATTR_STRING:
      return ir_attr_string (context, spec->name, "", 0);
    case IR_ATTR_INTS:
      return ir_attr_ints (context, spec->name, ones, 2);
    case IR_ATTR_TENSOR:
      {
        g_autoptr (IrTensor) zero = ir_tensor_new_scalar (IR_DTYPE_FLOAT, 0);

        return ir_attr_tensor (context, spec->name, zero);
      }
    case IR_ATTR_UNDEFINED:
    case IR_ATTR_GRAPH:
    case IR_ATTR_FLOATS:
    case IR_ATTR_STRINGS:
    case IR_ATTR_TENSORS:
    case IR_ATTR_GRAPHS:
    case IR_ATTR_SPARSE_TENSOR:
    case IR_ATTR_SPARSE_TENSORS:
    case IR_ATTR_TYPE:
    case IR_ATTR_TYPES:
    case IR_N_ATTR_KINDS:
    default:
      return NULL;
    }
}
