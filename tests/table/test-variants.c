/* What inference says of each operator when one thing about it is another: a type, a rank, a size, an input, an
 * attribute, or contents that are known only as the shape of something; and when several are, or all is, drawn by a fixed seed.
 * How many of these it takes, as what and with which contents, at which cost, and whether cpu has a kernel, is in
 * variants.txt (snapshot.h); messages are no part of it. */
#include "config.h"

#include "core/exec/kernel/backend.h"
#include "core/io/io.h"
#include "core/ir/edit.h"
#include "core/op/infer.h"
#include "core/op/op.h"
#include "tests/fuzz/op-trial.h"
#include "tests/table/recipes.h"
#include "tests/table/snapshot.h"

#include <string.h>

#define MAX_RANK   9
#define UNKNOWN    -1 /* a rank; a dim: a symbol */
#define NONE       -2 /* no type at all */
#define MAX_INPUTS 16
#define LATEST     24
#define N_OLD      3
#define N_DRAWS    200
#define N_SEVERAL  160 /* draws of each recipe in which several things are others */

typedef struct
{
  char container[4]; /* of q and o, from the outermost */
  const char *dtype; /* NULL: absent */
  int rank, dims[MAX_RANK];
  int end; /* whole numbers below; 0: it has no contents */
  gboolean constant;
  gboolean measured; /* it is the shape of another value, or how many elements that has */
} Input;

typedef struct
{
  const IrOp *op;
  Input inputs[MAX_INPUTS];
  guint n_inputs, opset;
  GPtrArray *attrs; /* name, value, ... as in recipes */
  GString *said;
  guint n_tried, n_taken;
} Variant;

static gboolean
is_standard (const IrOp *op)
{
  return op->domain == NULL || op->domain[0] == '\0';
}

/* -- writing a variant as ONNX text -- */

static void
put_type (GString *text, const Input *input)
{
  if (input->rank == NONE)
    return;
  for (const char *c = input->container; *c != '\0'; c++)
    g_string_append (text, *c == 'q' ? "seq(" : "optional(");
  g_string_append (text, input->dtype);
  if (input->rank == UNKNOWN)
    g_string_append (text, "[]");
  for (int i = 0; i < input->rank; i++)
    {
      g_string_append (text, i == 0 ? "[" : ",");
      if (input->dims[i] == UNKNOWN)
        g_string_append_printf (text, "n%d", i);
      else
        g_string_append_printf (text, "%d", input->dims[i]);
    }
  g_string_append (text, input->rank > 0 ? "]" : "");
  for (gsize i = strlen (input->container); i > 0; i--)
    g_string_append_c (text, ')');
  g_string_append_c (text, ' ');
}

/* As whole numbers of a vector or a scalar are, whose dims are the contents. */
static gboolean
is_measured (const Input *input)
{
  return input->measured && (input->rank == 0 || input->rank == 1) && input->dims[0] >= 0 &&
         input->dims[0] < MAX_RANK && strcmp (input->dtype, "int64") == 0 &&
         input->container[0] == '\0';
}

/* Every second dim of what is measured has a name only. */
static void
put_measured (GString *inputs, GString *nodes, const Input *input, guint slot)
{
  Input of = { .dtype = "float", .rank = input->rank == 0 ? 1 : input->dims[0] };

  for (int i = 0; i < of.rank; i++)
    of.dims[i] = i % 2 == 0 ? UNKNOWN : (i * 3 + 1) % MAX (input->end, 1);
  put_type (inputs, &of);
  g_string_append_printf (inputs, "m%u", slot);
  g_string_append_printf (nodes, "x%u = %s (m%u) ", slot, input->rank == 0 ? "Size" : "Shape",
                          slot);
}

static gboolean
is_constant (const Input *input)
{
  gboolean known = input->constant && input->rank >= 0 && input->container[0] == '\0' &&
                   strcmp (input->dtype, "string") != 0;

  for (int i = 0; i < input->rank; i++)
    known = known && input->dims[i] >= 0;
  return known;
}

static void
put_contents (GString *text, const Input *input)
{
  int n = 1;

  for (int i = 0; i < input->rank; i++)
    n *= input->dims[i];
  g_string_append (text, "= {");
  for (int i = 0; i < n; i++)
    g_string_append_printf (text, "%s%d", i > 0 ? "," : "", (i * 3 + 1) % MAX (input->end, 1));
  g_string_append_c (text, '}');
}

static void
put_attr (GString *text, const IrAttrSpec *spec, const char *value)
{
  gboolean list = spec->kind == IR_ATTR_INTS || spec->kind == IR_ATTR_FLOATS ||
                  spec->kind == IR_ATTR_STRINGS;
  gboolean real = spec->kind == IR_ATTR_FLOAT || spec->kind == IR_ATTR_FLOATS;
  gboolean words = spec->kind == IR_ATTR_STRINGS;
  g_auto (GStrv) parts = g_strsplit (value, ",", -1);

  g_string_append_printf (text, "%s%s = %s", spec->name,
                          spec->kind == IR_ATTR_INTS      ? ": ints"
                          : spec->kind == IR_ATTR_FLOATS  ? ": floats"
                          : spec->kind == IR_ATTR_STRINGS ? ": strings"
                                                          : "",
                          list ? "[" : "");
  if (spec->kind == IR_ATTR_TENSOR)
    g_string_append_printf (text, "float[%u] {%s}", g_strv_length (parts), value);
  if (spec->kind == IR_ATTR_STRING)
    g_string_append_printf (text, "\"%s\"", value);
  for (guint i = 0;
       spec->kind != IR_ATTR_TENSOR && spec->kind != IR_ATTR_STRING && parts[i] != NULL; i++)
    g_string_append_printf (text, "%s%s%s%s%s", i > 0 ? "," : "", words ? "\"" : "", parts[i],
                            real && strpbrk (parts[i], ".e") == NULL ? ".0" : "",
                            words ? "\"" : "");
  g_string_append (text, list ? "]" : "");
}

static char *
text_of (const Variant *v)
{
  GString *text = g_string_new (NULL), *inputs = g_string_new ("("),
          *constants = g_string_new (NULL), *uses = g_string_new (NULL),
          *attrs = g_string_new (NULL), *before = g_string_new (NULL);
  guint n_outputs = v->op->out.max < 0 ? 2 : MIN ((guint) v->op->out.max, 4);
  const char *domain = v->op->domain != NULL ? v->op->domain : "";

  for (guint i = 0; i < v->n_inputs; i++)
    {
      const Input *input = &v->inputs[i];
      GString *to = input->dtype != NULL && !is_measured (input) && is_constant (input) ? constants
                                                                                        : inputs;

      if (i > 0)
        g_string_append_c (uses, ',');
      if (input->dtype == NULL)
        continue;
      g_string_append_printf (uses, "x%u", i);
      if (to->len > (to == inputs))
        g_string_append (to, ", ");
      if (is_measured (input))
        {
          put_measured (to, before, input, i);
          continue;
        }
      put_type (to, input);
      g_string_append_printf (to, "%sx%u ", input->rank == NONE ? "? " : "", i);
      if (to == constants)
        put_contents (constants, input);
    }
  for (guint i = 0; i + 1 < v->attrs->len; i += 2)
    {
      const IrAttrSpec *spec = ir_op_attr (v->op, v->attrs->pdata[i]);
      if (spec == NULL || v->attrs->pdata[i + 1] == NULL)
        continue;
      g_string_append (attrs, attrs->len > 0 ? ", " : " <");
      put_attr (attrs, spec, v->attrs->pdata[i + 1]);
    }
  g_string_append_printf (text,
                          "<ir_version: 10, opset_import: [\"\" : %u, \"%s\" : 1]>\ng %s) => (",
                          v->opset, domain[0] != '\0' ? domain : "irscope", inputs->str);
  for (guint i = 0; i < n_outputs; i++)
    g_string_append_printf (text, "%sy%u", i > 0 ? "," : "", i);
  g_string_append_printf (text, ") <%s> { %s", constants->str, before->str);
  for (guint i = 0; i < n_outputs; i++)
    g_string_append_printf (text, "%sy%u", i > 0 ? "," : "", i);
  g_string_append_printf (text, " = %s%s%s%s%s (%s) }", domain, domain[0] != '\0' ? "." : "",
                          v->op->name, attrs->str, attrs->len > 0 ? ">" : "", uses->str);
  g_string_free (inputs, TRUE);
  g_string_free (constants, TRUE);
  g_string_free (uses, TRUE);
  g_string_free (attrs, TRUE);
  g_string_free (before, TRUE);
  return g_string_free (text, FALSE);
}

/* -- trying it -- */

static void
say_contents (GString *said, IrModel *model)
{
  g_autoptr (GHashTable) contents = ir_infer_contents (model);

  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    {
      const IrShapeData *data = g_hash_table_lookup (contents, ir_graph_output (model->main, i));
      for (guint k = 0; data != NULL && k < data->n; k++)
        {
          g_autofree char *dim = ir_dim_to_string (model->context,
                                                   ir_number_to_dim (data->numbers[k]));
          g_string_append_printf (said, "%s%s", k > 0 ? "," : data->scalar ? " =" : " = [", dim);
          if (data->numbers[k].known) /* it may be below 0, as no dim is */
            g_string_append_printf (said, "(%" G_GINT64_FORMAT ")", data->numbers[k].value);
        }
    }
}

/* @problems: what the reader of the model has found, if it was read */
static void
judge (Variant *v, IrModel *model, IrEdit *edit, GPtrArray *problems)
{
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  v->n_tried++;
  v->n_taken += problems->len == 0;
  g_string_append (v->said, problems->len == 0 ? "  ->" : "  -> refused");
  for (guint i = 0; problems->len == 0 && i < ir_graph_n_outputs (model->main); i++)
    {
      const IrType *type = ir_graph_output (model->main, i)->type;
      g_autofree char *text = type != NULL ? ir_type_to_string (model->context, type) : NULL;
      g_string_append_printf (v->said, " %s", text != NULL ? text : "unknown");
    }
  if (problems->len == 0)
    {
      say_contents (v->said, model);
      gboolean partial = FALSE;
      IrCost cost = ir_cost_model (model, &partial);
      const IrNode *node = ir_model_node (model, model->nodes->len - 1);
      const char *why = ir_backend_find ("cpu")->refuses (node);
      g_string_append_printf (
          v->said, ", %" G_GUINT64_FORMAT " FLOPs, %" G_GUINT64_FORMAT " bytes%s, %s", cost.flops,
          cost.bytes, partial ? " at least" : "", why == NULL ? "cpu" : "ref");
    }
  g_string_append_c (v->said, '\n');
}

static void
try_variant (Variant *v)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *text = text_of (v);
  g_autoptr (IrModel) model = ir_text_read (text, -1, problems, &error);

  g_string_append (v->said, strchr (text, '\n') + 1);
  if (model == NULL)
    g_error ("%s: %s", text, error->message);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  judge (v, model, edit, problems);
}

/* Random applications: any number of inputs of any type, odd attributes, all opsets, types that say less. */
static void
try_draws (Variant *v)
{
  for (guint32 seed = 0; seed < N_DRAWS; seed++)
    {
      g_auto (Trial) trial = { 0 };
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      trial_init (&trial, v->op, seed, 0);
      ir_edit_set_graph_outputs (trial.edit, trial.model->main, trial.node->outputs,
                                 trial.node->n_outputs);
      g_string_append_printf (v->said, "draw %u", seed);
      judge (v, trial.model, trial.edit, problems);
    }
}

static void
vary_input (Variant *v, guint slot)
{
  static const char *const dtypes[] = { "int32", "double", "bool", "uint8", "string" };
  static const int sizes[] = { 0, 1, 2, 3, 5, UNKNOWN };
  Input *input = &v->inputs[slot], kept = *input;

  if (input->dtype == NULL)
    {
      *input = (Input){ .dtype = "float", .rank = 1, .dims = { 3 } };
      try_variant (v);
      *input = kept;
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++, *input = kept)
    {
      input->dtype = dtypes[i];
      try_variant (v);
    }
  for (int rank = NONE; rank <= MIN (kept.rank + 1, 6); rank++, *input = kept)
    {
      if (rank > kept.rank)
        input->dims[rank - 1] = 2;
      input->rank = rank;
      try_variant (v);
    }
  for (int axis = 0; axis < kept.rank; axis++)
    for (guint i = 0; i < G_N_ELEMENTS (sizes); i++, *input = kept)
      {
        input->dims[axis] = sizes[i];
        try_variant (v);
      }
  for (int end = 1; kept.end > 0 && end < 6; end += 2, *input = kept)
    {
      input->constant = TRUE;
      input->end = end;
      try_variant (v);
    }
  input->constant = kept.end > 0 && !kept.constant;
  try_variant (v);
  input->measured = TRUE;
  if (is_measured (input))
    try_variant (v);
  *input = (Input){ .dtype = NULL };
  try_variant (v);
  *input = kept;
}

/* Numbers of axes that may have to do with each other. */
static void
vary_ranks (Variant *v)
{
  Input first = v->inputs[0], second = v->inputs[1];

  if (v->n_inputs < 2 || first.dtype == NULL || second.dtype == NULL)
    return;
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 4; k++)
      {
        v->inputs[0].rank = i;
        v->inputs[1].rank = k;
        for (int axis = 0; axis < 4; axis++)
          v->inputs[0].dims[axis] = v->inputs[1].dims[axis] = 2;
        try_variant (v);
        v->inputs[0] = first;
        v->inputs[1] = second;
      }
}

/* Values for an attribute of a kind; NULL: it has none here. */
static const char *const *
values_for (const IrAttrSpec *spec, guint *n)
{
  static const char *const ints[] = { "0", "1",  "-1",    "2",          "-9",         "5", "6",
                                      "7", "10", "65536", "2147483647", "2147483648", "3" };
  static const char *const lists[] = { "0",
                                       "1",
                                       "1,1",
                                       "2,2",
                                       "1,1,1",
                                       "0,1",
                                       "1,0",
                                       "-1",
                                       "1,1,1,1",
                                       "-1,1,1,1",
                                       "2,1",
                                       "2,2147483648",
                                       "2147483648,2",
                                       "2147483647,2147483647" };
  static const char *const words[] = { "", "VALID", "SAME_UPPER", "linear", "pqr" };
  gboolean list = spec->kind == IR_ATTR_INTS || spec->kind == IR_ATTR_FLOATS;
  const char *const *values = list ? lists : spec->kind == IR_ATTR_STRING ? words : ints;

  *n = list                                                       ? G_N_ELEMENTS (lists)
       : spec->kind == IR_ATTR_STRING                             ? G_N_ELEMENTS (words)
       : spec->kind == IR_ATTR_INT || spec->kind == IR_ATTR_FLOAT ? G_N_ELEMENTS (ints)
                                                                  : 0;
  return values;
}

/* Where the value of an attribute stands. */
static gpointer *
attr_of (Variant *v, const IrAttrSpec *spec)
{
  guint at = 0;

  while (at < v->attrs->len && strcmp (v->attrs->pdata[at], spec->name) != 0)
    at += 2;
  if (at == v->attrs->len)
    {
      g_ptr_array_add (v->attrs, (gpointer) spec->name);
      g_ptr_array_add (v->attrs, NULL);
    }
  return &v->attrs->pdata[at + 1];
}

static void
vary_attr (Variant *v, const IrAttrSpec *spec)
{
  guint n;
  const char *const *values = values_for (spec, &n);

  if (n == 0)
    return;
  gpointer *value = attr_of (v, spec), kept = *value;
  for (guint i = 0; i <= n; i++)
    {
      *value = i < n ? (gpointer) values[i] : NULL;
      try_variant (v);
    }
  *value = kept;
}

/* -- several changes at once -- */

static void
change_input (Input *input, GRand *rand)
{
  static const char *const dtypes[] = { "float", "int64", "int32", "double", "bool", "uint8" };
  const int axis = input->rank > 0 ? g_rand_int_range (rand, 0, input->rank) : 0;

  switch (g_rand_int_range (rand, 0, 7))
    {
    case 0:
      input->dtype = dtypes[g_rand_int_range (rand, 0, G_N_ELEMENTS (dtypes))];
      break;
    case 1:
      input->rank = g_rand_int_range (rand, NONE, 6);
      for (int i = 0; i < input->rank; i++)
        input->dims[i] = input->dims[i] != 0 ? input->dims[i] : 2;
      break;
    case 2:
      input->constant = !input->constant;
      break;
    case 3:
      input->measured = TRUE;
      break;
    case 4:
      input->dtype = NULL;
      break;
    default:
      input->dims[axis] = g_rand_int_range (rand, UNKNOWN, 5);
    }
}

static void
change_something (Variant *v, GRand *rand)
{
  guint n_specs = 0, n, slot;

  while (v->op->attrs != NULL && v->op->attrs[n_specs].name != NULL)
    n_specs++;
  slot = (guint) g_rand_int_range (rand, 0, (gint) MAX (n_specs + 2 * v->n_inputs, 1));
  if (slot < 2 * v->n_inputs)
    {
      Input *input = &v->inputs[slot / 2];
      if (input->dtype == NULL)
        *input = (Input){ .dtype = "int64", .rank = 1, .dims = { 2 }, .end = 3 };
      change_input (input, rand);
    }
  else if (n_specs > 0)
    {
      const IrAttrSpec *spec = &v->op->attrs[slot - 2 * v->n_inputs];
      const char *const *values = values_for (spec, &n);
      if (n > 0)
        *attr_of (v, spec) = (gpointer) values[g_rand_int_range (rand, 0, (gint) n)];
    }
}

static void
vary_several (Variant *v)
{
  const Variant kept = *v;
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);

  for (guint i = 0; i < N_SEVERAL; i++)
    {
      v->attrs = g_ptr_array_copy (kept.attrs, NULL, NULL);
      for (guint n = 2 + i % 2; n > 0; n--)
        change_something (v, rand);
      if (is_standard (v->op) && v->op->since < LATEST && i % 4 == 0)
        v->opset = (guint) g_rand_int_range (rand, MAX ((gint) v->op->since, 7), LATEST);
      try_variant (v);
      g_ptr_array_unref (v->attrs);
      memcpy (v->inputs, kept.inputs, sizeof v->inputs);
      v->attrs = kept.attrs;
      v->opset = kept.opset;
    }
}

/* Inputs that the recipe has none for. */
static void
vary_count (Variant *v)
{
  const guint n = v->n_inputs, most = v->op->in.max < 0 ? n + 1 : (guint) v->op->in.max;

  for (v->n_inputs = n + 1; v->n_inputs <= MIN (most + 1, MAX_INPUTS); v->n_inputs++)
    {
      Input *input = &v->inputs[v->n_inputs - 1];
      *input = (Input){ .dtype = "float", .dims = { 3, 2, 4, 3, 2 } };
      for (input->rank = 0; input->rank <= 5; input->rank++)
        try_variant (v);
      input->rank = 1;
      input->dtype = "int32";
      try_variant (v);
      *input = (Input){ .dtype = NULL };
    }
  v->n_inputs = n;
  if (n > 1)
    {
      v->n_inputs--;
      try_variant (v);
      v->n_inputs++;
    }
}

/* A form that a later opset has changed: what it has and lacks is another. */
static void
vary_old (Variant *v, guint opset)
{
  v->opset = opset;
  try_variant (v);
  vary_count (v);
  for (guint i = 0; i < v->n_inputs; i++)
    {
      Input kept = v->inputs[i];
      v->inputs[i] = (Input){ .dtype = NULL };
      try_variant (v);
      v->inputs[i] = kept;
      v->inputs[i].constant = kept.end > 0 && !kept.constant;
      try_variant (v);
      v->inputs[i] = kept;
    }
  for (const IrAttrSpec *spec = v->op->attrs; spec != NULL && spec->name != NULL; spec++)
    vary_attr (v, spec);
}

static void
vary (Variant *v)
{
  static const guint old[N_OLD] = { 8, 11, 17 };

  try_variant (v);
  for (guint i = 0; is_standard (v->op) && i < N_OLD; i++)
    if ((guint) v->op->since <= old[i])
      {
        v->opset = old[i];
        try_variant (v);
      }
  for (const IrAdapt *adapt = v->op->adapt; adapt->below != 0; adapt++)
    vary_old (v, (guint) adapt->below - 1);
  v->opset = LATEST;
  for (guint i = 0; i < v->n_inputs; i++)
    vary_input (v, i);
  vary_count (v);
  vary_ranks (v);
  for (const IrAttrSpec *spec = v->op->attrs; spec != NULL && spec->name != NULL; spec++)
    vary_attr (v, spec);
  vary_several (v);
}

/* -- recipes -- */

static void
input_init (Input *input, const char *token)
{
  static const char letters[] = "fdijubs";
  static const char *const names[] = { "float", "double", "int64", "int32",
                                       "uint8", "bool",   "string" };
  guint n = 0;

  *input = (Input){ .dtype = NULL };
  while ((*token == 'q' || *token == 'o') && n < 3)
    input->container[n++] = *token++;
  const char *found = *token != '\0' ? strchr (letters, *token) : NULL;
  if (found == NULL)
    return;
  input->dtype = names[found - letters];
  for (token++; g_ascii_isdigit (*token) && input->rank < MAX_RANK - 1; token += *token == 'x')
    input->dims[input->rank++] = (int) g_ascii_strtoll (token, (char **) &token, 10);
  if (*token == '<')
    input->end = (int) g_ascii_strtoll (token + 1, NULL, 10);
  input->constant = input->end > 0 && strcmp (input->dtype, "int64") == 0;
}

static void
try_recipe (Variant *v, const char *inputs, const char *attrs)
{
  g_auto (GStrv) tokens = g_strsplit (inputs, " ", -1), pairs = g_strsplit (attrs, " ", -1);
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);

  v->attrs = g_ptr_array_new ();
  v->opset = LATEST;
  v->n_inputs = MIN (g_strv_length (tokens), MAX_INPUTS);
  for (guint i = 0; i < v->n_inputs; i++)
    input_init (&v->inputs[i], tokens[i]);
  for (guint i = 0; pairs[i] != NULL && pairs[i][0] != '\0'; i++)
    {
      char **pair = g_strsplit (pairs[i], "=", 2);
      g_ptr_array_add (texts, pair);
      g_ptr_array_add (v->attrs, pair[0]);
      g_ptr_array_add (v->attrs, pair[1]);
    }
  vary (v);
  g_ptr_array_unref (v->attrs);
}

static char *
say (gconstpointer data, guint *n_tried, guint *n_taken)
{
  const IrOp *op = data;
  Variant v = { .op = op, .said = g_string_new (NULL) };
  gboolean any = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (recipes); i++)
    if (strcmp (recipes[i].op, op->name) == 0)
      {
        try_recipe (&v, recipes[i].inputs, recipes[i].attrs);
        any = TRUE;
      }
  if (!any)
    {
      g_autoptr (GString) inputs = g_string_new ("f2x3x4");
      for (guint i = 1; i < MIN ((guint) op->in.min, MAX_INPUTS); i++)
        g_string_append (inputs, " f2x3x4");
      try_recipe (&v, op->in.max != 0 ? inputs->str : "", "");
    }
  if (ir_ref_kernel (op) != NULL)
    try_draws (&v);
  *n_tried = v.n_tried;
  *n_taken = v.n_taken;
  return g_string_free (v.said, FALSE);
}

int
main (int argc, char **argv)
{
  for (guint i = 1; i < ir_op_n (); i++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) i);
      g_autofree char *name = g_strdup_printf ("%s%s%s", is_standard (op) ? "" : op->domain,
                                               is_standard (op) ? "" : ".", op->name);

      if (op->start == NULL) /* it owns no subgraphs */
        snapshot_add (name, say, op);
    }
  return snapshot_run (argc, argv, "variants.txt");
}
