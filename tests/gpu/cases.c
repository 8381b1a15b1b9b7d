/* Making the cases: random trials of tests/fuzz, and shapes where these hardly come. */
#include "config.h"

#include "tests/gpu/cases.h"

#include <string.h>

#define MAX_SEEDS     400
#define MOST_ELEMENTS 4000

static void
case_free (gpointer data)
{
  Case *c = data;

  for (guint i = 0; i < MAX_OUTPUTS; i++)
    g_clear_pointer (&c->wanted[i], ir_tensor_unref);
  trial_clear (&c->trial);
  g_free (c);
}

/* Where random calls hardly come: several tiles, warps and blocks, rows longer than a block, vectors with
 * a rest, negative indices and steps. Written as tests/table/recipes.h does. */
static const struct
{
  const char *op, *inputs, *attrs;
  gboolean fails; /* by what the inputs hold */
} shapes[] = {
  { "Add", "f3x1031 f3x1031", "" },
  { "Add", "f1030 f", "" },
  { "Add", "f7x1x33 f5x33", "" },
  { "Clip", "f1027 f f", "" },
  { "MatMul", "f70x33 f33x130", "" },
  { "MatMul", "f2x1x5x70 f3x70x9", "" },
  { "MatMul", "f70 f3x70x65", "" },
  { "MatMul", "f65x70 f70", "" },
  { "Gemm", "f67x40 f40x66 f66", "" },
  { "Gemm", "f40x67 f66x40 f67x1", "transA=1 transB=1 alpha=0.5 beta=2" },
  { "Softmax", "f3x700", "" },
  { "Softmax", "f2x300x3", "axis=1" },
  { "Softmax", "f3x700<200", "" }, /* so far apart that only the largest keeps exp() finite */
  { "Softmax", "d3x70<2000", "" },
  { "LogSoftmax", "f3x257", "" },
  { "LayerNormalization", "f3x700 f700 f700", "" },
  { "LayerNormalization", "f3x4x80 f4x80 f80", "axis=1" },
  { "RMSNormalization", "f5x257 f257", "" },
  { "ReduceSum", "f3x1000 i1<2", "" },
  { "ReduceMax", "f900", "" },
  { "ReduceMean", "f5x7x60 i1<3", "keepdims=0" },
  { "ReduceProd", "j3x50 i1<2", "" },
  { "Transpose", "f3x40x30", "perm=0,2,1" },
  { "Transpose", "u5x6x7", "perm=2,0,1" },
  { "Gather", "f30x5 i4x2", "" },
  { "Gather", "f5x30 j7", "axis=1" },
  { "GatherElements", "f3x5 i2x5", "" },
  { "Pad", "f3x5 i4<4", "mode=reflect" },
  { "Pad", "f3x5 i4<4", "mode=edge" },
  { "Pad", "f3x5 i4<4", "mode=wrap" },
  { "Slice", "f9x20 i2 i2 i2 i2", "" },
  { "Conv", "f2x4x9x8 f6x2x3x3 f6", "group=2 pads=1,0,1,2 strides=2,1" },
  { "Conv", "f1x3x40 f2x3x5", "dilations=3" },
  { "Conv", "f2x70x5x5 f9x70x1x1 f9", "" },
  { "AveragePool", "f2x3x9x9",
    "kernel_shape=3,3 strides=2,2 ceil_mode=1 pads=1,1,1,1 count_include_pad=1" },
  { "MaxPool", "f2x3x9x9", "kernel_shape=3,2 strides=2,2 dilations=2,1 pads=1,0,1,1" },
  { "GlobalAveragePool", "f2x3x20x20", "" },
  { "Div", "j300 j300<2", "", TRUE },
  { "Div", "u300 u300<3", "", TRUE },
  { "Mod", "i300 i300<2", "", TRUE },
  { "Gather", "f30x5 i4x2<60", "", TRUE },
  { "GatherElements", "f3x5 j2x5<9", "", TRUE },
};

/* -- making the cases -- */

static gboolean
is_small (const Case *c)
{
  for (guint i = 0; i < c->trial.n; i++)
    if (c->trial.tensors[i] != NULL && (ir_tensor_is_container (c->trial.tensors[i]) ||
                                        ir_tensor_n_elements (c->trial.tensors[i]) > MOST_ELEMENTS))
      return FALSE;
  for (guint i = 0; i < c->trial.node->n_outputs; i++)
    if (c->wanted[i] != NULL && ir_tensor_n_elements (c->wanted[i]) > MOST_ELEMENTS)
      return FALSE;
  return TRUE;
}

/* Emits the call with the types and contents of the trial; FALSE: there is no kernel for it. */
static gboolean
emit (Cases *cases, Case *c)
{
  const IrNode *node = c->trial.node;
  const char *why = "inference refuses it";
  IrCall call;

  ir_call_layout (&call, node);
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && c->trial.tensors[i] != NULL)
      ir_call_set_input (&call, i, c->trial.tensors[i]);
  ir_call_adapt (&call);
  c->first = cases->program->launches->len;
  if (ir_call_check (&call, NULL) && call.op->infer (&call, NULL))
    why = ir_gpu_program_add (cases->program, &call);
  c->end = cases->program->launches->len;
  for (guint i = 0; why == NULL && i < call.n_outputs; i++)
    if (call.outputs[i].present && ir_type_n_elements (call.outputs[i].type, &c->outputs[i].n))
      c->outputs[i].dtype = call.outputs[i].type->dtype;
  ir_call_clear (&call);
  if (why != NULL)
    g_hash_table_insert (cases->why, (gpointer) node->op->name, (gpointer) why);
  return why == NULL;
}

static gboolean
run_reference (Case *c)
{
  const IrTensor *inputs[TRIAL_MAX_INPUTS] = { NULL };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < c->trial.n; i++)
    inputs[i] = c->trial.tensors[i];
  if (c->trial.node->n_outputs > MAX_OUTPUTS)
    return FALSE;
  if (ir_eval_node (c->trial.node, inputs, c->wanted, ir_backend_find ("ref"), 1 << 20, &error))
    return TRUE;
  c->refused = strstr (error->message, "by zero") != NULL ||
               strstr (error->message, "is outside an axis") != NULL;
  return c->refused;
}

static gboolean
is_of (const Case *c, IrDtype dtype)
{
  return c->trial.n > 0 && c->trial.tensors[0] != NULL &&
         ir_tensor_dtype (c->trial.tensors[0]) == dtype;
}

/* The calls of @op in shapes[]; of contents that do not fit, the first seed that does. */
static void
add_shapes (Cases *cases, const IrOp *op)
{
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    for (guint32 seed = 1; (op->domain == NULL || *op->domain == 0) &&
                           g_str_equal (shapes[i].op, op->name) && seed < 200;
         seed++)
      {
        Case *c = g_new0 (Case, 1);
        c->seed = seed;
        trial_init_as (&c->trial, op, seed, shapes[i].inputs, shapes[i].attrs);
        if (run_reference (c) && c->refused == shapes[i].fails &&
            (c->refused || ir_tensor_n_elements (c->wanted[0]) > 0) && emit (cases, c))
          {
            g_ptr_array_add (cases->list, c);
            break;
          }
        case_free (c);
        g_assert_cmpuint (seed, <, 199); /* or the row of shapes[] never fits */
      }
}

/* Adds up to so many calls of @op, at least half of them of float32 where it takes that. */
static void
add_random (Cases *cases, const IrOp *op, guint most)
{
  guint n = 0, others = 0;

  for (guint32 seed = 1; seed <= MAX_SEEDS && n < most; seed++)
    {
      Case *c = g_new0 (Case, 1);
      c->seed = seed;
      trial_init (&c->trial, op, seed, 0);
      gboolean is_float = is_of (c, IR_DTYPE_FLOAT);
      if (c->trial.extreme || (!is_float && others >= most / 2 && seed < MAX_SEEDS / 2) ||
          !run_reference (c) || !is_small (c) || !emit (cases, c))
        {
          case_free (c);
          continue;
        }
      g_ptr_array_add (cases->list, c);
      others += !is_float;
      n++;
    }
}

void
cases_init (Cases *cases)
{
  cases->list = g_ptr_array_new_with_free_func (case_free);
  cases->program = ir_gpu_program_new ();
  cases->why = g_hash_table_new (g_str_hash, g_str_equal);
}

void
cases_clear (Cases *cases)
{
  g_ptr_array_unref (cases->list);
  ir_gpu_program_free (cases->program);
  g_hash_table_unref (cases->why);
}

void
cases_add (Cases *cases, const IrOp *op, guint n)
{
  add_shapes (cases, op);
  add_random (cases, op, n);
}
