#include "config.h"

#include "tests/fuzz/graph-gen.h"

#include "core/op/infer.h"
#include "tests/fuzz/graph-parts.h"

#include <math.h>

#define LARGEST_VALUE (1 << 17) /* bytes */

/* -- families -- */

static const GraphFamily families[] = {
  { "conv-2d", "convolutions over planes, 1 to 80 channels", 6, graph_conv_2d },
  { "conv-few", "values of 1 to 4 channels between others", 5, graph_conv_few },
  { "conv-1d", "convolutions along one axis", 2, graph_conv_1d },
  { "conv-3d", "convolutions in space", 2, graph_conv_3d },
  { "transposed", "transposed convolutions, 1-D to 3-D", 3, graph_conv_transposed },
  { "attention", "attention node for node, with masks of every rank", 4, graph_attention },
  { "attention-op", "the operator Attention: masks, causal, past, grouped heads", 3,
    graph_attention_op },
  { "recurrent", "LSTM, GRU and RNN", 3, graph_recurrent },
  { "norms", "normalizations, as operators and node for node", 3, graph_norms },
  { "products", "matrix products, sums over axes and activations", 4, graph_products },
  { "quantized", "quantize and dequantize pairs around floats", 3, graph_quantized },
  { "quantized-ops", "operators on quantized integers", 2, graph_quantized_ops },
  { "control", "If, Loop and Scan that read values around them", 3, graph_control },
  { "shapes", "shape arithmetic with free dimensions", 4, graph_shapes },
  { "integers", "integers of every width, and bool", 3, graph_integers },
  { "indices", "gathers, scatters, orders and slices", 3, graph_indices },
  { "float16", "convolutions and products in float16", 2, graph_float16 },
  { "bfloat16", "convolutions and products in bfloat16", 2, graph_bfloat16 },
  { "double", "convolutions and products in double", 2, graph_double },
  { "edge", "sizes of 0 and 1", 3, graph_edge },
  { "mixed", "several families in one graph", 4, graph_mixed },
  { "sequences", "sequences and optional values", 0, graph_sequences },
  { "strings", "strings", 0, graph_strings },
};

const GraphFamily *
graph_families (guint *n)
{
  *n = G_N_ELEMENTS (families);
  return families;
}

const GraphFamily *
graph_family_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (families); i++)
    if (strcmp (families[i].name, name) == 0)
      return &families[i];
  return NULL;
}

#define LATER                                                                                      \
  16 /* one of so many seeds is of a family that came later; others stay what they were */

static const GraphFamily *
later_family (guint32 seed)
{
  guint n = 0, at;

  for (guint i = 0; i < G_N_ELEMENTS (families); i++)
    n += families[i].weight == 0;
  at = seed / LATER % n;
  for (guint i = 0;; i++)
    if (families[i].weight == 0 && at-- == 0)
      return &families[i];
}

static const GraphFamily *
choose_family (GRand *rand, guint32 seed)
{
  guint all = 0, at;

  for (guint i = 0; i < G_N_ELEMENTS (families); i++)
    all += families[i].weight;
  at = (guint) g_rand_int_range (rand, 0, (gint) all);
  if (seed % LATER == 0)
    return later_family (seed);
  for (guint i = 0;; i++)
    {
      if (at < families[i].weight)
        return &families[i];
      at -= families[i].weight;
    }
}

static void (*const mixable[]) (Gen *) = { graph_conv_2d, graph_conv_few,  graph_products,
                                           graph_norms,   graph_shapes,    graph_indices,
                                           graph_control, graph_quantized, graph_attention,
                                           graph_integers };

void
graph_mixed (Gen *gen)
{
  for (guint i = 2 + gen_below (gen, 2); i > 0; i--)
    CHOOSE (gen, mixable) (gen);
}

void
graph_edge (Gen *gen)
{
  static void (*const others[]) (Gen *) = { graph_recurrent, graph_conv_1d, graph_conv_3d,
                                            graph_conv_transposed, graph_attention_op };
  gen->edge = TRUE;
  if (gen_one_in (gen, 3))
    CHOOSE (gen, others) (gen);
  else
    CHOOSE (gen, mixable) (gen);
}

/* -- what inputs hold -- */

static gint64
size_of (const IrValue *value, guint axis, gint64 more)
{
  IrDim dim = value->type->dims[axis];
  const char *name = dim < -1 ? ir_dim_symbol_name (value->graph->model->context, dim) : NULL;

  return dim >= 0 ? dim : name != NULL && name[0] != '\0' ? atoi (name + 1) + more : 1;
}

static double
element (GRand *rand, const char *name, IrDtype dtype)
{
  gint32 most = MAX (1, atoi (name + 1));

  if (dtype == IR_DTYPE_BOOL)
    return g_rand_boolean (rand);
  if (ir_dtype_is_float (dtype))
    return name[0] == 'p' ? g_rand_double_range (rand, 0.5, 1.5)
                          : g_rand_double_range (rand, -1, 1);
  if (name[0] == 'k' || name[0] == 'l')
    return g_rand_int_range (rand, 0, most) + (name[0] == 'l');
  if (ir_dtype_kind (dtype) == IR_DTYPE_KIND_UINT)
    return g_rand_int_range (rand, 0, name[0] == 'q' ? 256 : 7);
  return name[0] == 'q' ? g_rand_int_range (rand, -128, 128) : g_rand_int_range (rand, -6, 7);
}

IrTensor *
graph_words (GRand *rand, guint rank, const gint64 *dims)
{
  static const char *const words[] = { "",     "a",      "b",  "irscope", "one two", "A B c",
                                       "über", "a-b--c", "12", "-0.5",    " x ",     "日本 語" };
  GBytes *strings[1024];
  guint64 n = 1;

  for (guint i = 0; i < rank; i++)
    n *= (guint64) dims[i];
  g_assert_cmpuint (n, <=, G_N_ELEMENTS (strings));
  for (guint64 i = 0; i < n; i++)
    {
      const char *word = words[g_rand_int_range (rand, 0, G_N_ELEMENTS (words))];
      strings[i] = g_bytes_new_static (word, strlen (word));
    }
  IrTensor *tensor = ir_tensor_new_strings (rank, dims, strings);
  for (guint64 i = 0; i < n; i++)
    g_bytes_unref (strings[i]);
  return tensor;
}

IrTensor *
graph_input_contents (const IrValue *value, guint32 seed, gint64 more)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed ^ g_str_hash (value->name));
  guint rank = (guint) value->type->rank;
  gint64 dims[IR_MAX_RANK];

  for (guint i = 0; i < rank; i++)
    dims[i] = size_of (value, i, more);
  if (value->type->dtype == IR_DTYPE_STRING)
    return graph_words (rand, rank, dims);
  IrTensor *tensor = ir_tensor_new_alloc (value->type->dtype, rank, dims, NULL);
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ir_dtype_set_double (value->type->dtype, ir_tensor_data_writable (tensor), i,
                         element (rand, value->name, value->type->dtype));
  return tensor;
}

GHashTable *
graph_inputs (IrModel *model, guint32 seed, gint64 more)
{
  GHashTable *inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      const IrValue *value = ir_graph_input (model->main, i);
      if (value->initializer == NULL)
        g_hash_table_insert (inputs, GUINT_TO_POINTER (value->id),
                             graph_input_contents (value, seed, more));
    }
  return inputs;
}

gboolean
graph_has_symbols (const IrModel *model)
{
  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    if (!ir_type_is_static (ir_graph_input (model->main, i)->type))
      return TRUE;
  return FALSE;
}

/* -- the graph -- */

/* Numbers that rounding changes little: neither NaN nor too large; what hides scores is. */
static gboolean
is_moderate (const IrTensor *tensor)
{
  if (!ir_dtype_is_float (ir_tensor_dtype (tensor)))
    return TRUE;
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    if (!(ir_tensor_get_double (tensor, i) < 1000))
      return FALSE;
  return TRUE;
}

static void
add_output (GPtrArray *outputs, IrValue *value)
{
  if (!g_ptr_array_find (outputs, value, NULL))
    g_ptr_array_add (outputs, value);
}

/* What nobody reads, some of what is read, and a constant now and then. */
static void
choose_outputs (Gen *gen)
{
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();
  gboolean inner = gen_one_in (gen, 2), constants = gen_one_in (gen, 12);

  for (guint i = 0; i < gen->pool->len; i++)
    {
      IrValue *value = gen->pool->pdata[i];
      if (value->producer != NULL && value->graph == gen->model->main &&
          (value->n_uses == 0 ? !gen_one_in (gen, 8) : inner && gen_one_in (gen, 6)))
        add_output (outputs, value);
    }
  for (guint i = 1; constants && i < gen->model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (gen->model, i);
      if (value != NULL && value->initializer != NULL && value->graph == gen->model->main &&
          gen_one_in (gen, 6))
        add_output (outputs, value);
    }
  if (outputs->len == 0)
    for (guint i = gen->pool->len; i > 0 && outputs->len == 0; i--)
      if (((IrValue *) gen->pool->pdata[i - 1])->producer != NULL)
        add_output (outputs, gen->pool->pdata[i - 1]);
  if (outputs->len == 0)
    add_output (outputs, gen_one (gen, "Identity", gen->pool->pdata[0], NULL, NULL));
  ir_edit_set_graph_outputs (gen->edit, gen->model->main, (IrValue *const *) outputs->pdata,
                             outputs->len);
  for (guint i = 0; i < outputs->len; i++)
    ir_edit_set_flags (gen->edit, outputs->pdata[i], IR_VALUE_NAMED_BY_USER | IR_VALUE_DECLARED);
}

/* Constants of nodes that could not be computed. */
static void
drop_unused (Gen *gen)
{
  for (guint i = 1; i < gen->model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (gen->model, i);
      if (value != NULL && value->initializer != NULL && value->n_uses == 0)
        ir_edit_remove_value (gen->edit, value);
    }
}

static void
repeat_some (Gen *gen)
{
  for (guint i = gen_below (gen, 3); i > 0 && gen->pool->len > 0; i--)
    {
      IrValue *x = gen->pool->pdata[gen_below (gen, gen->pool->len)], *y = part_again (gen, x);
      if (y != x && gen_one_in (gen, 2) && ir_dtype_is_float (part_dtype (gen, y)))
        part_activation (gen, y);
    }
}

static void
fill (Gen *gen, const GraphFamily *family)
{
  static const gint64 opsets[] = { 13, 17, 17, 18, 20, 21, 23 };

  ir_edit_set_opset (gen->edit, "", CHOOSE (gen, opsets));
  ir_edit_rename_graph (gen->edit, gen->model->main, "g");
  gen->free = gen_below (gen, 5) < 3 ? gen_below (gen, 2) : 2;
  family->make (gen);
  if (gen->pool->len == 0)
    part_input (gen, "x", IR_DTYPE_FLOAT, 1, (gint64[]){ 3 });
  if (gen_one_in (gen, 4))
    repeat_some (gen);
  choose_outputs (gen);
  drop_unused (gen);
  ir_infer_model (gen->edit, IR_INFER_DEFAULT, NULL);
}

void
graph_init (Graph *graph, guint32 seed, const GraphFamily *family)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  const GraphFamily *drawn = choose_family (rand, seed);
  IrModel *model = ir_model_new ();
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GPtrArray) pool = g_ptr_array_new (), seen = g_ptr_array_new ();
  g_autoptr (GHashTable)
      tensors = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  Gen gen = { .model = model,
              .edit = edit,
              .context = model->context,
              .graph = model->main,
              .rand = rand,
              .pool = pool,
              .seen = seen,
              .tensors = tensors,
              .seed = seed,
              .output_limit = LARGEST_VALUE,
              .accepts = is_moderate };

  *graph = (Graph){ model, family != NULL ? family : drawn,
                    g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref) };
  fill (&gen, graph->family);
  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    {
      IrTensor *held = gen_held (&gen, ir_graph_output (model->main, i));
      g_ptr_array_add (graph->outputs, held != NULL ? ir_tensor_ref (held) : NULL);
    }
}

void
graph_clear (Graph *graph)
{
  g_clear_pointer (&graph->model, ir_model_unref);
  g_clear_pointer (&graph->outputs, g_ptr_array_unref);
}
