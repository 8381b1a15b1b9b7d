/* Idioms of rules in random models: as they stand, or wild: with another axis, constant, order of
 * operands, input or type, with a constant that callers may replace, with a reader of a value that
 * the rule wants for itself, or with such a value as an output of the graph. */
#include "config.h"

#include "tests/fuzz/idioms.h"
#include "tests/fuzz/gen.h"
#include "tests/fuzz/pass-trial.h"

#include <string.h>

static gboolean
strays (Gen *gen, guint n)
{
  return gen->wild && gen_one_in (gen, n);
}

static const IrAttr *
copy_attr (Gen *gen, const IrAttr *attr)
{
  if (attr->ref_name != NULL)
    return NULL;
  if (attr->kind == IR_ATTR_INT)
    return INT (attr->name, strays (gen, 25) ? attr->ints[0] ^ 1 : attr->ints[0]);
  if (attr->kind == IR_ATTR_INTS)
    {
      g_autofree gint64 *copy = g_memdup2 (attr->ints, attr->n * sizeof (gint64));
      if (strays (gen, 12))
        gen_shuffle (gen, copy, attr->n);
      return INTS (attr->name, copy, attr->n);
    }
  if (attr->kind == IR_ATTR_FLOAT)
    return FLOAT (attr->name, strays (gen, 25) ? attr->floats[0] * 1.5F : attr->floats[0]);
  if (attr->kind == IR_ATTR_STRING)
    return ir_attr_string (gen->context, attr->name, attr->strings[0].data,
                           (gssize) attr->strings[0].length);
  if (attr->kind == IR_ATTR_FLOATS)
    return ir_attr_floats (gen->context, attr->name, attr->floats, attr->n);
  return NULL;
}

/* A copy, of @to if it is of floats. */
static IrTensor *
converted (const IrTensor *tensor, IrDtype to)
{
  if (ir_tensor_dtype (tensor) != IR_DTYPE_FLOAT)
    to = ir_tensor_dtype (tensor);
  IrTensor *copy = ir_tensor_new_alloc (to, ir_tensor_rank (tensor), ir_tensor_dims (tensor), NULL);
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ir_dtype_set_double (to, ir_tensor_data_writable (copy), i, ir_tensor_get_double (tensor, i));
  return copy;
}

/* A number among integers is one more or less: axes, shapes, ends. */
static IrTensor *
stray_integers (Gen *gen, const IrTensor *tensor)
{
  guint64 n = ir_tensor_n_elements (tensor), at = gen_below (gen, (guint) MAX (n, 1));
  IrTensor *copy = converted (tensor, ir_tensor_dtype (tensor));

  if (n > 0)
    ir_dtype_set_double (ir_tensor_dtype (copy), ir_tensor_data_writable (copy), at,
                         ir_tensor_get_double (copy, at) + (gen_one_in (gen, 2) ? 1 : -1));
  return copy;
}

static gboolean
same_shape (const IrTensor *a, IrDtype dtype, guint rank, const gint64 *dims)
{
  return ir_tensor_dtype (a) == dtype && ir_tensor_rank (a) == rank &&
         (rank == 0 || memcmp (ir_tensor_dims (a), dims, rank * sizeof *dims) == 0);
}

/* A constant that a caller may replace is no constant. */
static void
let_callers_replace (Gen *gen, IrValue *value)
{
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  if (value->initializer == NULL || value->graph != gen->model->main ||
      ir_value_is_graph_input (value))
    return;
  for (guint i = 0; i < ir_graph_n_inputs (gen->model->main); i++)
    g_ptr_array_add (inputs, ir_graph_input (gen->model->main, i));
  g_ptr_array_add (inputs, value);
  ir_edit_set_graph_inputs (gen->edit, gen->model->main, (IrValue *const *) inputs->pdata,
                            inputs->len);
}

/* What stands for an input of an idiom. @other: where sizes of 2 to 9 are mapped */
static IrValue *
planted_input (Gen *gen, const IrValue *input, IrDtype floats, const gint64 *other)
{
  gint64 dims[IR_MAX_RANK];
  IrDtype dtype = input->type->dtype == IR_DTYPE_FLOAT ? floats : input->type->dtype;
  guint rank = (guint) MAX (input->type->rank, 0);

  for (guint i = 0; i < rank; i++)
    {
      gint64 dim = input->type->dims[i] >= 0 ? input->type->dims[i] : gen->n;
      dims[i] = dim >= 2 && dim <= 9 ? other[dim] : strays (gen, 25) ? 1 : dim;
    }
  if (g_ascii_isupper (input->name[0]) && !strays (gen, 12))
    {
      if (input->name[0] != 'V')
        return gen_constant (gen, dtype, rank, dims);
      g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (dtype, rank, dims, NULL);
      for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
        ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i,
                             g_rand_double_range (gen->rand, 0.5, 2));
      return gen_tensor (gen, tensor);
    }
  if (dtype == IR_DTYPE_STRING)
    return gen_input (gen, dtype, rank, dims);
  for (guint i = gen->pool->len; i > 0 && !gen_one_in (gen, 3); i--)
    if (same_shape (gen_held (gen, gen->pool->pdata[i - 1]), dtype, rank, dims))
      return gen->pool->pdata[i - 1];
  return gen_input (gen, dtype, rank, dims);
}

static IrNode *
plant_node (Gen *gen, const IrNode *node, GHashTable *map, IrDtype floats)
{
  IrValue *in[GEN_MAX_IN] = { NULL };
  g_autofree const IrAttr **attrs = g_new0 (const IrAttr *, node->n_attrs + 1);
  guint n_attrs = 0;

  if (node->n_inputs > GEN_MAX_IN || node->n_outputs > GEN_MAX_IN)
    return NULL;
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && (in[i] = g_hash_table_lookup (map, node->inputs[i])) == NULL)
      return NULL;
  if (node->n_inputs == 2 && strays (gen, 10)) /* the other way round */
    {
      IrValue *swap = in[0];
      in[0] = in[1];
      in[1] = swap;
    }
  if (node->n_inputs > 0 && strays (gen, 25))
    in[gen_below (gen, node->n_inputs)] = gen_pick (gen, floats, 0);
  for (guint i = 0; i < node->n_attrs; i++)
    if ((attrs[n_attrs] = copy_attr (gen, node->attrs[i])) != NULL)
      n_attrs++;
  return gen_emit (gen, node->op_type, node->domain, node->n_inputs, in, node->n_outputs, attrs);
}

static IrValue *
planted_constant (Gen *gen, const IrTensor *tensor, IrDtype floats)
{
  g_autoptr (IrTensor) copy = converted (tensor, floats);
  gboolean is_float = ir_dtype_is_float (ir_tensor_dtype (copy));

  if (!is_float && strays (gen, 10))
    {
      g_autoptr (IrTensor) other = stray_integers (gen, copy);
      return gen_tensor (gen, other);
    }
  if (is_float && strays (gen, 12))
    return gen_constant (gen, ir_tensor_dtype (copy), ir_tensor_rank (copy), ir_tensor_dims (copy));
  return gen_tensor (gen, copy);
}

/* Somebody else sees what the rule may want for itself. */
static void
stray_readers (Gen *gen, const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && strays (gen, 15))
      g_ptr_array_add (gen->seen, node->outputs[i]);
    else if (node->outputs[i] != NULL && strays (gen, 15))
      gen_one (gen, "Identity", node->outputs[i], NULL, NULL);
}

static void
choose_sizes (Gen *gen, gint64 *other)
{
  gboolean changed = strays (gen, 4);

  for (guint i = 0; i < 10; i++)
    other[i] = changed && gen_one_in (gen, 2) ? 1 + (gint64) gen_below (gen, 5) : (gint64) i;
}

static void
plant (Gen *gen, IrModel *example, IrDtype floats)
{
  g_autoptr (GHashTable) map = g_hash_table_new (NULL, NULL);
  gint64 other[10];
  IrNode *const *nodes;
  guint n;

  choose_sizes (gen, other);
  for (guint i = 0; i < ir_graph_n_inputs (example->main); i++)
    {
      IrValue *input = ir_graph_input (example->main, i);
      if (!ir_type_has_rank (input->type))
        return;
      IrValue *planted = planted_input (gen, input, floats, other);
      if (strays (gen, 20))
        let_callers_replace (gen, planted);
      g_hash_table_insert (map, input, planted);
    }
  for (guint i = 0; i < example->values->len; i++)
    {
      IrValue *value = example->values->pdata[i];
      if (value == NULL || value->initializer == NULL)
        continue;
      IrValue *planted = planted_constant (gen, value->initializer, floats);
      if (strays (gen, 20))
        let_callers_replace (gen, planted);
      g_hash_table_insert (map, value, planted);
    }
  nodes = ir_graph_order (example->main, &n);
  for (guint i = 0; i < n; i++)
    {
      const IrTensor *tensor = ir_node_is (nodes[i], "Constant")
                                   ? ir_value_constant (nodes[i]->outputs[0])
                                   : NULL;
      if (tensor != NULL)
        {
          g_hash_table_insert (map, nodes[i]->outputs[0], planted_constant (gen, tensor, floats));
          continue;
        }
      IrNode *node = plant_node (gen, nodes[i], map, floats);
      if (node == NULL)
        return;
      for (guint k = 0; k < node->n_outputs; k++)
        g_hash_table_insert (map, nodes[i]->outputs[k], node->outputs[k]);
      stray_readers (gen, node);
    }
}

void
gen_plant (Gen *gen, IrModel *idiom)
{
  static const IrDtype others[] = { IR_DTYPE_FLOAT16, IR_DTYPE_DOUBLE, IR_DTYPE_BFLOAT16,
                                    IR_DTYPE_INT32 };

  gen->wild = gen_one_in (gen, 2);
  plant (gen, idiom, strays (gen, 3) ? CHOOSE (gen, others) : IR_DTYPE_FLOAT);
}

/* -- a model that begins as an idiom -- */

static void
stray_node (Gen *gen, IrNode *node)
{
  if (node->n_attrs > 0 && strays (gen, 6))
    {
      const IrAttr *attr = node->attrs[gen_below (gen, node->n_attrs)];
      const IrAttr *copy = copy_attr (gen, attr);
      if (copy != NULL)
        ir_edit_set_attr (gen->edit, node, copy);
    }
  if (node->n_inputs == 2 && strays (gen, 12))
    {
      IrValue *first = node->inputs[0];
      ir_edit_set_input (gen->edit, node, 0, node->inputs[1]);
      ir_edit_set_input (gen->edit, node, 1, first);
    }
}

static void
stray_sizes (Gen *gen, IrValue *value, const gint64 *other)
{
  IrDim dims[IR_MAX_RANK];
  const IrType *type = value->type;

  if (!ir_type_has_rank (type) || gen->model->graphs->len > 2) /* bodies declare sizes, too */
    return;
  for (int i = 0; i < type->rank; i++)
    dims[i] = type->dims[i] >= 2 && type->dims[i] <= 9 ? other[type->dims[i]]
              : strays (gen, 25)                       ? 1
                                                       : type->dims[i];
  ir_edit_set_type (gen->edit, value, ir_type_tensor (gen->context, type->dtype, type->rank, dims));
}

/* Inputs with upper-case names become constants; types are left to inference. */
static void
settle_values (Gen *gen)
{
  IrGraph *main = gen->model->main;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  guint n_values = gen->model->values->len;
  gint64 other[10];

  choose_sizes (gen, other);
  for (guint i = 0; i < ir_graph_n_inputs (main); i++)
    {
      IrValue *value = ir_graph_input (main, i);
      stray_sizes (gen, value, other);
      if (g_ascii_isupper (value->name[0]))
        {
          g_autoptr (IrTensor) tensor = pass_trial_tensor (value, gen->n, gen->seed,
                                                           strays (gen, 6), value->name[0] == 'V');
          ir_edit_set_initializer (gen->edit, value, tensor);
          ir_edit_set_flags (gen->edit, value, value->flags & (IrValueFlags) ~IR_VALUE_DECLARED);
        }
      else
        g_ptr_array_add (inputs, value);
    }
  ir_edit_set_graph_inputs (gen->edit, main, (IrValue *const *) inputs->pdata, inputs->len);
  for (guint i = 1; i < n_values; i++)
    {
      IrValue *value = ir_model_live_value (gen->model, i);
      if (value != NULL && value->initializer != NULL && strays (gen, 20))
        let_callers_replace (gen, value);
      if (value != NULL && value->producer != NULL)
        ir_edit_set_type (gen->edit, value, NULL);
    }
}

IrModel *
gen_start (const char *text, GRand *rand, gint64 n, guint32 seed, gboolean wild)
{
  g_autoptr (IrModel) model = idiom_read (text, NULL);
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  if (model == NULL)
    return NULL;
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  Gen gen = { .model = model,
              .edit = edit,
              .context = model->context,
              .graph = model->main,
              .rand = rand,
              .n = n,
              .seed = seed,
              .output_limit = GEN_OUTPUT_LIMIT,
              .wild = wild };
  settle_values (&gen);
  for (guint i = 1; i < model->nodes->len; i++)
    if (ir_model_live_node (model, i) != NULL)
      stray_node (&gen, ir_model_live_node (model, i));
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  return ir_problems_count (problems, IR_SEVERITY_ERROR) == 0 ? g_steal_pointer (&model) : NULL;
}

void
gen_offer_all (Gen *gen)
{
  IrRunOptions options = { .backend = ir_backend_find ("ref"),
                           .n_threads = 1,
                           .capture = IR_CAPTURE_ALL };
  g_autoptr (GHashTable) inputs = pass_trial_inputs (gen->model, gen->n, gen->seed, FALSE);
  g_autoptr (IrRun) run = ir_model_run (gen->model, inputs, &options, NULL, NULL);

  for (guint i = 1; run != NULL && i < gen->model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (gen->model, i);
      IrTensor *tensor = value == NULL || value->graph != gen->model->main ? NULL
                         : value->initializer != NULL                      ? value->initializer
                                                      : ir_run_value (run, value->id);
      if (tensor == NULL && value != NULL)
        tensor = g_hash_table_lookup (inputs, GUINT_TO_POINTER (value->id));
      if (tensor != NULL && !ir_tensor_is_container (tensor))
        gen_offer (gen, value, tensor);
    }
}
