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

#define FUSED_CONV     "f2x4x9x8 f6x2x3x3 f6"
#define FUSED_RESIDUAL " f2x6x5x8"
#define FUSED_WINDOW   "group=2 pads=1,0,1,2 strides=2,1"
#define FUSED_BY_TILES "f2x9x7x6 f20x9x3x3 f20" /* with "pads=1,1,1,1" */
#define TILES_RESIDUAL " f2x20x7x6"

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
  { "MatMul", "h70x33 h33x130", "" },
  { "MatMul", "g2x1x5x70 g3x70x9", "" },
  { "Gemm", "h40x67 h66x40 h67x1", "transA=1 transB=1 alpha=0.5 beta=2" },
  { "Gemm", "f67x40 f40x66 f66", "" },
  { "Gemm", "f40x67 f66x40 f67x1", "transA=1 transB=1 alpha=0.5 beta=2" },
  { "Softmax", "f3x700", "" },
  { "Softmax", "f2x300x3", "axis=1" },
  { "Softmax", "f3x700<200", "" }, /* so far apart that only the largest keeps exp() finite */
  { "Softmax", "d3x70<2000", "" },
  { "Softmax", "f5x4x3<200", "axis=1" },
  { "LogSoftmax", "f3x257", "" },
  { "LayerNormalization", "f3x700 f700 f700", "" },
  { "LayerNormalization", "f3x4x80 f4x80 f80", "axis=1" },
  { "RMSNormalization", "f5x257 f257", "" },
  { "SoftmaxGrad", "f3x700 f3x700", "" },
  { "SoftmaxGrad", "f2x300x3 f2x300x3", "axis=1" },
  { "LayerNormalizationGrad", "f19x70 f19x70 f70", "" },
  { "LayerNormalizationGrad", "f3x4x80 f3x4x80 f80", "axis=1" },
  { "LayerNormalizationGrad", "f3x700 f3x700 f700", "" },
  { "BatchNormalizationGrad", "f3x4x9x11 f3x4x9x11 f4", "" },
  { "RMSNormalizationGrad", "f19x70 f19x70 f70", "" },
  { "RMSNormalizationGrad", "f3x700 f3x700 f700", "" },
  { "GroupNormalizationGrad", "f3x6x9x11 f3x6x9x11 f6", "num_groups=2" },
  { "GroupNormalizationGrad", "f2x3x300 f2x3x300 f3", "" },
  { "ReduceSum", "f3x1000 i1<2", "" },
  { "ReduceMax", "f900", "" },
  { "ReduceMean", "f5x7x60 i1<3", "keepdims=0" },
  { "ReduceProd", "j3x50 i1<2", "" },
  { "Transpose", "f3x40x30", "perm=0,2,1" },
  { "Transpose", "g40x30", "perm=1,0" },
  { "Transpose", "b2x33x70", "perm=0,2,1" },
  { "Transpose", "d40x30", "perm=1,0" },
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
  { "Conv", "f2x9x7x6 f70x9x3x3 f70", "pads=1,1,1,1" },
  { "Conv", "h2x40x9x9 h36x20x3x3", "group=2 pads=2,2,2,2 dilations=2,2" },
  /* Large enough for the larger tiles. */
  { "Conv", "f1x8x16640 f120x8x1 f120", "" },
  { "Conv", "f1x8x16640 f60x8x1 f60", "" },
  { "Conv", "f1x3x16640 f30x3x3", "" },
  { "Conv", "f1x3x16640 f14x3x3", "" },
  { "Conv", "g1x5x40 g8x5x4 g8", "strides=3 auto_pad=SAME_UPPER" },
  { "Conv", "f3x8x3x4x5 f9x8x2x2x2", "strides=1,2,1 pads=1,0,0,0,1,1" },
  { "AveragePool", "f2x3x9x9",
    "kernel_shape=3,3 strides=2,2 ceil_mode=1 pads=1,1,1,1 count_include_pad=1" },
  { "MaxPool", "f2x3x9x9", "kernel_shape=3,2 strides=2,2 dilations=2,1 pads=1,0,1,1" },
  { "GlobalAveragePool", "f2x3x20x20", "" },
  { "ConvTranspose", "f2x4x5x6 f4x3x3x3 f6", "group=2 strides=2,1 pads=1,0,0,2 dilations=1,2" },
  { "ConvGradWeight", "f2x4x20x17 f2x6x10x9", "kernel_shape=3,3 group=2 strides=2,2 pads=1,1,1,1" },
  { "ConvInteger", "u2x4x7x6 u6x2x3x3 u u6", "group=2 pads=1,1,1,1" },
  { "QLinearConv", "u1x2x8x7 f u u3x2x3x3 f3 u3 f u j3", "pads=1,1,0,1" },
  { "MatMulInteger", "u2x70x20 u20x66 u u66", "" },
  { "QLinearMatMul", "u70x20 f u u20x66 f66 u66 f u", "" },
  { "ConvRelu", FUSED_CONV, FUSED_WINDOW },
  { "ConvClip", FUSED_CONV " f f", FUSED_WINDOW },
  { "ConvLeakyRelu", FUSED_CONV, FUSED_WINDOW " activation_alpha=0.2" },
  { "ConvSigmoid", FUSED_CONV, FUSED_WINDOW },
  { "ConvTanh", FUSED_CONV, FUSED_WINDOW },
  { "ConvHardSwish", FUSED_CONV, FUSED_WINDOW },
  { "ConvSilu", FUSED_CONV, FUSED_WINDOW },
  { "ConvAdd", FUSED_CONV FUSED_RESIDUAL, FUSED_WINDOW },
  { "ConvAddRelu", FUSED_CONV FUSED_RESIDUAL, FUSED_WINDOW },
  { "ConvAddClip", FUSED_CONV FUSED_RESIDUAL " f f", FUSED_WINDOW },
  { "ConvAddLeakyRelu", FUSED_CONV FUSED_RESIDUAL, FUSED_WINDOW " activation_alpha=0.2" },
  { "ConvAddSigmoid", FUSED_CONV FUSED_RESIDUAL, FUSED_WINDOW },
  { "ConvAddTanh", FUSED_CONV FUSED_RESIDUAL, FUSED_WINDOW },
  { "ConvAddHardSwish", FUSED_CONV FUSED_RESIDUAL, FUSED_WINDOW },
  { "ConvAddSilu", FUSED_CONV FUSED_RESIDUAL, FUSED_WINDOW },
  { "ConvClip", FUSED_BY_TILES " f f", "pads=1,1,1,1" },
  { "ConvAdd", FUSED_BY_TILES TILES_RESIDUAL, "pads=1,1,1,1" },
  { "ConvAddRelu", "f1x8x16640 f120x8x1 f120 f1x120x16640", "" },
  { "ConvAddClip", FUSED_BY_TILES TILES_RESIDUAL " f f", "pads=1,1,1,1" },
  { "GemmGelu", "f67x40 f40x66 f66", "" },
  { "GemmClip", "f67x40 f40x66 f66 f f", "" },
  { "MatMulAddRelu", "f2x3x20 f20x70 f70", "" },
  { "MatMulAddGeluTanh", "f2x3x20 f20x70 f3x1", "" },
  { "MaxPool", "f2x3x9x8", "kernel_shape=3,2 strides=2,2 pads=1,0,1,1 storage_order=1" },
  { "LpPool", "f2x3x9x8", "kernel_shape=3,2 strides=2,2 pads=1,0,1,1 p=3" },
  { "MaxUnpool", "f1x2x3x3 i1x2x3x3<72", "kernel_shape=2,2 strides=2,2" },
  { "TopK", "f3x700 i1<6", "" },
  { "TopK", "j70x3 i1<60", "axis=0 largest=0" },
  { "ArgMax", "f3x700", "axis=1" },
  { "ArgMin", "u300x3", "select_last_index=1" },
  { "ArgMax", "f4x30x3", "axis=1" },
  { "TopK", "f4x30x3 i1<6", "axis=1" },
  { "Hardmax", "f3x300", "" },
  { "CumSum", "f5x70 j<2", "reverse=1 exclusive=1" },
  { "CumSum", "f3x4x5x2 j<3", "" },
  { "ScatterElements", "f40x5 i70x5<40 f70x5", "reduction=add" },
  { "ScatterElements", "f5x40 i3x70<40 f3x70", "axis=1" },
  { "ScatterND", "f40x7 i90x1<40 f90x7", "reduction=mul" },
  { "ScatterND", "f6x7x3 i20x2<6 f20x3", "reduction=max" },
  { "GatherND", "f6x7x3 i20x2<6", "" },
  { "OneHot", "i40<9 i<9 f2", "axis=0" },
  { "ReduceLogSumExp", "f3x700<200 i1<2", "" },
  { "LpNormalization", "f3x300", "p=1" },
  { "MeanVarianceNormalization", "f2x3x9x8", "" },
  { "LRN", "f2x7x5x4", "size=4 alpha=0.5" },
  { "SkipLayerNormalization", "f3x300 f3x300 f300 f300", "" },
  { "AddLayerNormalization", "f3x300 f3x300 f300 f300", "" },
  { "EmbedLayerNormalization", "f5x300 i2x3<5 f2x300 i2x3<2 f3x300 i1x3<3 f300 f300", "" },
  { "Attention", "f1x2x5x16 f1x2x300x16 f1x2x300x160", "is_causal=1" },
  { "Attention", "f1x2x3x16<3 f1x2x600x16<3 f1x2x600x160", "" }, /* the largest score comes late */
  /* A step of decoding, heads that share keys, and sizes that are no multiple of anything. */
  { "Attention", "f2x8x1x128 f2x2x3x128 f2x2x3x128 - f2x2x9x128 f2x2x9x128", "is_causal=1" },
  { "Attention", "f1x5x6 f1x70x6 f1x70x2 b5x70", "q_num_heads=2 kv_num_heads=2" },
  { "Attention", "f1x2x33x1 f1x2x1x1 f1x2x1x65", "" },
  { "Attention", "f1x2x37x20 f1x2x75x20 f1x2x75x100 f37x75", "softcap=2" },
  { "MaskedGroupedAttention", "f1x4x3x8 f1x2x200x8 f1x2x200x5 f3x200", "scale=0.5" },
  { "SelectedPackedAttention", "f1x140x24 b140x140", "scale=0.5 fill=-3 num_heads=2" },
  { "Resize", "f1x2x5x7 - f4<3", "mode=linear" },
  { "Resize", "f1x2x9x8 - - i4<6", "mode=cubic antialias=1 exclude_outside=1" },
  { "Resize", "f9x8 f4<2 f2<3",
    "coordinate_transformation_mode=tf_crop_and_resize extrapolation_value=7.5 mode=linear" },
  { "Resize", "f1x2x9x8 - - i4<20",
    "coordinate_transformation_mode=align_corners nearest_mode=ceil" },
  { "SoftmaxCrossEntropyLoss", "f5x300 i5<300", "" },
  { "SoftmaxCrossEntropyLoss", "f3x40x7 i3x7<40 f40", "reduction=none" },
  { "NegativeLogLikelihoodLoss", "f700x5 i700<5 f5", "ignore_index=2" },
  { "NegativeLogLikelihoodLoss", "f7x5x60 i7x60<5", "reduction=sum" },
  { "Einsum", "f2x20x8 f2x8x30", "equation=bij,bjk->bik" },
  { "Div", "j300 j300<2", "", TRUE },
  { "Div", "u300 u300<3", "", TRUE },
  { "Mod", "i300 i300<2", "", TRUE },
  { "Gather", "f30x5 i4x2<60", "", TRUE },
  { "GatherElements", "f3x5 j2x5<9", "", TRUE },
  { "GatherND", "f6x7x3 i20x2<30", "", TRUE },
  { "NegativeLogLikelihoodLoss", "f30x5 i30<40", "", TRUE },
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
  if (ir_eval_node (c->trial.node, inputs, c->wanted, ir_backend_find ("ref"), 1 << 24, &error))
    return TRUE;
  c->refused = strstr (error->message, "by zero") != NULL ||
               strstr (error->message, "is outside an axis") != NULL ||
               strstr (error->message, "is the class") != NULL;
  return c->refused;
}

static gboolean
is_of (const Case *c, IrDtype dtype)
{
  return c->trial.n > 0 && c->trial.tensors[0] != NULL &&
         ir_tensor_dtype (c->trial.tensors[0]) == dtype;
}

/* Of two operators of one name, shapes[] has calls of that of ai.onnx. */
static gboolean
is_meant (const IrOp *op, const char *name)
{
  return g_str_equal (op->name, name) &&
         (op->domain == NULL || *op->domain == '\0' ||
          (g_str_equal (op->domain, "irscope") && ir_op_find ("", name) == NULL));
}

/* The calls of @op in shapes[]; of contents that do not fit, the first seed that does. */
static void
add_shapes (Cases *cases, const IrOp *op)
{
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    for (guint32 seed = 1; is_meant (op, shapes[i].op) && seed < 200; seed++)
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
        if (seed == 199)
          g_error ("%s %s never fits", shapes[i].op, shapes[i].inputs);
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
