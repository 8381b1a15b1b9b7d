/* Element by element: an expression for each kind of number, from the column SCALAR, becomes a function
 * of the text, and a kernel calls it for one element a thread, or for four where all operands are in
 * order and their elements have four bytes. */
#include "config.h"

#include "core/exec/gpu/emit.h"

#include <math.h>
#include <string.h>

typedef struct
{
  const GpuElement *element; /* (nullable) the input is left out */
  guint slot;
} Operand;

typedef struct
{
  IrCall *call;
  guint n; /* inputs that are there */
  Operand operands[IR_GPU_MAX_ARGS];
  const GpuElement *out;
  GpuShape shape;
  GpuLoop loop;
  const char *compute; /* of the kind of number that counts */
} Elementwise;

static void
print_expression (const Elementwise *e, const char *expression, GString *text)
{
  g_autofree char *printed = gpu_expression (e->call, e->compute, e->n, expression);

  g_string_append (text, printed);
}

/* -- text -- */

/* The function of one element: parameters in what their elements are computed with. */
static void
print_function (const Elementwise *e,
                const GpuScalar *scalar,
                const char *expression,
                GString *text)
{
  if (strstr (expression, "r_$name") != NULL)
    g_string_append_printf (text, "K_FUNCTION %s\nr_$name (%s v)\n{\n  return %s (%s (v));\n}\n\n",
                            e->out->compute, e->out->compute, e->out->load, e->out->store);
  g_string_append_printf (text, "K_FUNCTION %s\nf_$name (", e->out->compute);
  for (guint i = 0; i < e->n; i++)
    g_string_append_printf (text, "%s%s %c", i > 0 ? ", " : "", e->operands[i].element->compute,
                            'a' + i);
  if (scalar != NULL && scalar->fails != NULL && !gpu_is_real (e->compute))
    g_string_append (text, ", unsigned int *fault");
  g_string_append (text, ")\n{\n");
  if (scalar != NULL && scalar->fails != NULL && !gpu_is_real (e->compute))
    {
      g_string_append (text, "  if (");
      print_expression (e, scalar->fails, text);
      g_string_append_printf (
          text, ")\n    {\n      K_FAULT (fault, %uu);\n      return 0;\n    }\n", scalar->fault);
    }
  g_string_append (text, "  return ");
  print_expression (e, expression, text);
  g_string_append (text, ";\n}\n\n");
}

/* Of any number of inputs. */
static void
print_fold (const Elementwise *e, const GpuScalar *scalar, const char *expression, GString *text)
{
  g_string_append_printf (text, "K_FUNCTION %s\ng_$name (%s a, %s b)\n{\n  return ", e->compute,
                          e->compute, e->compute);
  print_expression (e, expression, text);
  g_string_append_printf (text, ";\n}\n\nK_FUNCTION %s\nf_$name (", e->compute);
  for (guint i = 0; i < e->n; i++)
    g_string_append_printf (text, "%s%s x%u", i > 0 ? ", " : "", e->compute, i);
  g_string_append_printf (text, ")\n{\n  %s a = x0;\n", e->compute);
  for (guint i = 1; i < e->n; i++)
    g_string_append_printf (text, "  a = g_$name (a, x%u);\n", i);
  g_string_append (text, "  return ");
  print_expression (e, scalar->end != NULL ? scalar->end : "a", text);
  g_string_append (text, ";\n}\n\n");
}

static void
print_parameters (const Elementwise *e, gboolean fault, GString *text)
{
  g_string_append (text, "IR_KERNEL ($name) (");
  for (guint i = 0; i < e->n; i++)
    g_string_append_printf (text, "const %s *x%u, ", e->operands[i].element->storage, i);
  g_string_append_printf (text, "%s *y%s)\n{\n", e->out->storage,
                          fault ? ", unsigned int *fault" : "");
}

static void
print_body (const Elementwise *e, gboolean fault, GString *text)
{
  const char *type = gpu_index_type (&e->loop), *suffix = type[9] == 'l' ? "ull" : "u";

  g_string_append_printf (text,
                          "  %s i = (%s) K_BLOCK * %uu + K_THREAD;\n\n"
                          "  if (i >= %" G_GUINT64_FORMAT "%s)\n    return;\n",
                          type, type, GPU_THREADS, e->loop.n, suffix);
  gpu_loop_print (&e->loop, "i", text);
  g_string_append_printf (text, "  K_STORE (y, i, %s (f_$name (", e->out->store);
  for (guint i = 0; i < e->n; i++)
    g_string_append_printf (text, "%s%s (K_LOAD (x%u, o%u))", i > 0 ? ", " : "",
                            e->operands[i].element->load, i, i);
  g_string_append_printf (text, "%s)));\n}\n", fault ? ", fault" : "");
}

/* Whether each thread may take four elements by one access: of float32 in order. */
static gboolean
is_wide (const Elementwise *e)
{
  for (guint i = 0; i < e->n; i++)
    if (!gpu_loop_is_single (&e->loop, i) &&
        (!gpu_loop_is_whole (&e->loop, i) || e->operands[i].element->dtype != IR_DTYPE_FLOAT))
      return FALSE;
  return e->out->dtype == IR_DTYPE_FLOAT && e->loop.n >= 4;
}

static void
print_wide_call (const Elementwise *e, const char *lane, GString *text)
{
  g_string_append (text, "f_$name (");
  for (guint i = 0; i < e->n; i++)
    if (gpu_loop_is_single (&e->loop, i))
      g_string_append_printf (text, "%sa%u", i > 0 ? ", " : "", i);
    else
      g_string_append_printf (text, *lane == '\0' ? "%sK_LOAD (x%u, i)" : "%sa%u.%s",
                              i > 0 ? ", " : "", i, lane);
  g_string_append_c (text, ')');
}

static void
print_wide_body (const Elementwise *e, GString *text)
{
  static const char *const lanes[] = { "x", "y", "z", "w" };
  const char *type = gpu_index_type (&e->loop), *suffix = type[9] == 'l' ? "ull" : "u";

  g_string_append_printf (text, "  %s i = ((%s) K_BLOCK * %uu + K_THREAD) * 4;\n", type, type,
                          GPU_THREADS);
  for (guint i = 0; i < e->n; i++)
    if (gpu_loop_is_single (&e->loop, i))
      g_string_append_printf (text, "  %s a%u = %s (K_LOAD (x%u, 0));\n",
                              e->operands[i].element->compute, i, e->operands[i].element->load, i);
  g_string_append_printf (text,
                          "\n  if (i + 4 <= %" G_GUINT64_FORMAT "%s)\n    {\n      k_float4 v;\n",
                          e->loop.n, suffix);
  for (guint i = 0; i < e->n; i++)
    if (!gpu_loop_is_single (&e->loop, i))
      g_string_append_printf (text, "      k_float4 a%u = K_LOAD4 (x%u, i);\n", i, i);
  for (guint k = 0; k < G_N_ELEMENTS (lanes); k++)
    {
      g_string_append_printf (text, "      v.%s = ", lanes[k]);
      print_wide_call (e, lanes[k], text);
      g_string_append (text, ";\n");
    }
  g_string_append_printf (text,
                          "      K_STORE4 (y, i, v);\n      return;\n    }\n"
                          "  for (; i < %" G_GUINT64_FORMAT "%s; i++)\n    K_STORE (y, i, ",
                          e->loop.n, suffix);
  print_wide_call (e, "", text);
  g_string_append (text, ");\n}\n");
}

/* -- one call -- */

/* Reads types and shapes; returns why it cannot, or NULL. */
static const char *
read_call (Elementwise *e, IrCall *call)
{
  const IrType *type = call->outputs[0].type;
  GpuShape shape;

  *e = (Elementwise){ .call = call };
  if (!gpu_shape (type, &e->shape))
    return "its shape is not known before the run";
  if (type->rank > 32)
    return "it has more than 32 axes";
  e->out = gpu_element (type->dtype);
  if (e->out == NULL)
    return "no GPU kernel takes its element type";
  gpu_loop_init (&e->loop, &e->shape);
  for (guint i = 0; i < call->n_inputs; i++)
    {
      if (!ir_call_has_input (call, i))
        continue;
      if (e->n + 2 >= IR_GPU_MAX_ARGS)
        return "it has more inputs than a kernel has parameters";
      type = ir_call_input_type (call, i);
      if (!gpu_shape (type, &shape))
        return "the shape of an input is not known before the run";
      if (call->inputs[i].align_axis != 0)
        return "it broadcasts as operators before version 7 do";
      e->operands[e->n].element = gpu_element (type->dtype);
      e->operands[e->n].slot = i;
      if (e->operands[e->n].element == NULL)
        return "no GPU kernel takes the element type of an input";
      if (shape.rank > e->shape.rank)
        return "an input has more axes than the output";
      gpu_loop_add_broadcast (&e->loop, &shape);
      e->n++;
    }
  gpu_loop_join (&e->loop);
  return NULL;
}

static const char *
add_launch (const Elementwise *e, IrGpuProgram *program, GString *text, gboolean fault)
{
  gboolean wide = !fault && is_wide (e);
  guint64 blocks = gpu_blocks (wide ? e->loop.n / 4 + (e->loop.n % 4 != 0) : e->loop.n,
                               GPU_THREADS);
  IrGpuLaunch *launch;

  if (blocks == 0)
    {
      g_string_free (text, TRUE);
      return e->loop.n == 0 ? NULL : "it has more elements than a launch has threads";
    }
  print_parameters (e, fault, text);
  if (wide)
    print_wide_body (e, text);
  else
    print_body (e, fault, text);
  launch = gpu_launch (program, "elementwise", g_string_free (text, FALSE), blocks, GPU_THREADS);
  for (guint i = 0; i < e->n; i++)
    gpu_launch_arg (launch, IR_GPU_INPUT, e->operands[i].slot);
  gpu_launch_arg (launch, IR_GPU_OUTPUT, 0);
  if (fault)
    gpu_launch_arg (launch, IR_GPU_FAULT, 0);
  return NULL;
}

/* "direction=LEFT", "fmod=1", against the attribute or its default. */
static gboolean
holds (const IrCall *call, const char *when)
{
  g_auto (GStrv) pair = g_strsplit (when, "=", 2);
  const IrAttrSpec *spec = ir_op_attr (call->op, pair[0]);

  if (spec->kind == IR_ATTR_STRING)
    return g_str_equal (
        ir_call_string (call, pair[0], spec->fallback != NULL ? spec->fallback : ""), pair[1]);
  return ir_call_int (call, pair[0],
                      spec->fallback != NULL ? g_ascii_strtoll (spec->fallback, NULL, 10) : 0) ==
         g_ascii_strtoll (pair[1], NULL, 10);
}

static const GpuScalar *
choose (const IrCall *call)
{
  const GpuScalar *scalars = gpu_scalars (call->op);

  for (guint i = 0; i < GPU_MAX_SCALARS && (scalars[i].real != NULL || scalars[i].uint != NULL);
       i++)
    if (scalars[i].when == NULL || holds (call, scalars[i].when))
      return &scalars[i];
  return NULL;
}

static const char *
expression_of (const GpuScalar *scalar, const char *compute)
{
  return gpu_is_real (compute)            ? scalar->real
         : g_str_equal (compute, "k_i64") ? scalar->sint
                                          : scalar->uint;
}

/* Puts what stands for inputs that are left out in place of a, b, c. */
static char *
with_absent (const GpuScalar *scalar, const IrCall *call, const char *expression)
{
  GString *text = g_string_new (expression);
  guint present = 0;

  for (guint i = 0; i < G_N_ELEMENTS (scalar->absent); i++)
    {
      char from[] = { '\\', 'b', (char) ('a' + i), '\\', 'b', '\0' },
           to[] = { (char) ('a' + present), '\0' };
      gboolean there = ir_call_has_input (call, i);
      if (scalar->absent[i] == NULL && !there)
        continue;
      g_autoptr (GRegex) regex = g_regex_new (from, 0, 0, NULL);
      char *replaced = g_regex_replace_literal (regex, text->str, -1, 0,
                                                there ? to : scalar->absent[i], 0, NULL);
      g_string_assign (text, replaced);
      g_free (replaced);
      present += there;
    }
  return g_string_free (text, FALSE);
}

/* The kernel of operators that have the column SCALAR. */
const char *
gpu_emit_scalar (IrCall *call, IrGpuProgram *program)
{
  const GpuScalar *scalar = choose (call);
  Elementwise e;
  const char *why = read_call (&e, call), *expression;
  gboolean fault;
  GString *text;

  if (why != NULL)
    return why;
  if (scalar == NULL || e.n == 0)
    return "no GPU kernel does what its attributes ask for";
  e.compute = e.operands[e.n - 1].element->compute;
  expression = expression_of (scalar, e.compute);
  if (expression == NULL)
    return "no GPU kernel takes its element type";
  if (scalar->fold)
    for (guint i = 0; i + 1 < e.n; i++)
      if (e.operands[i].element != e.operands[e.n - 1].element)
        return "its inputs are of different types";
  for (guint i = 0; !scalar->fold && i + 1 < e.n; i++)
    if (!g_str_equal (e.operands[i].element->compute, e.compute) &&
        !(i == 0 && e.n == 3 && e.operands[0].element->dtype == IR_DTYPE_BOOL))
      return "its inputs are of different types";
  fault = scalar->fails != NULL && !gpu_is_real (e.compute);
  text = g_string_new (NULL);
  if (scalar->fold)
    print_fold (&e, scalar, expression, text);
  else
    {
      g_autofree char *full = with_absent (scalar, call, expression);
      print_function (&e, scalar, full, text);
    }
  return add_launch (&e, program, text, fault);
}

/* -- normalization by known statistics -- */

/* X, and four vectors of which each has an element for a channel, which is axis 1. */
static const char *
emit_batch_norm (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  Elementwise e = { .call = call, .n = 5 };
  gint64 strides[IR_MAX_RANK] = { 0 };
  GString *text;

  if (ir_call_int (call, "training_mode", 0) != 0 || call->n_outputs > 1)
    return "no GPU kernel gives statistics";
  if (!gpu_shape (call->outputs[0].type, &e.shape) || e.shape.rank > 32)
    return "its shape is not known before the run";
  e.out = gpu_element (call->outputs[0].type->dtype);
  if (e.out == NULL || !gpu_is_real (e.out->compute))
    return "no GPU kernel takes its element type";
  e.compute = e.out->compute;
  gpu_loop_init (&e.loop, &e.shape);
  for (guint i = 0; i < e.n; i++)
    {
      e.operands[i] = (Operand){ gpu_element (ir_call_input_type (call, i)->dtype), i };
      if (e.operands[i].element == NULL || !g_str_equal (e.operands[i].element->compute, e.compute))
        return "its inputs are of different types";
      if (i == 0)
        gpu_loop_add_broadcast (&e.loop, &e.shape);
      else
        {
          if (e.shape.rank > 1)
            strides[1] = 1;
          gpu_loop_add (&e.loop, strides, 0);
        }
    }
  gpu_loop_join (&e.loop);
  text = g_string_new (NULL);
  print_function (&e, NULL, "(a - d) / sqrtF (e + @epsilon) * b + c", text);
  return add_launch (&e, program, text, FALSE);
}

/* -- conversion -- */

static double
end_of (IrDtype dtype, gboolean high)
{
  guint bits = ir_dtype_bits (dtype);

  if (ir_dtype_kind (dtype) == IR_DTYPE_KIND_SINT)
    return high ? ldexp (1, (int) bits - 1) : -ldexp (1, (int) bits - 1);
  return high ? ldexp (1, (int) bits) : 0;
}

/* From a real number: what lies outside is the nearest end, what is no number 0, as by ref. */
static char *
real_to_integer (const Elementwise *e)
{
  gboolean is_signed = g_str_equal (e->out->compute, "k_i64");
  guint bits = ir_dtype_bits (e->out->dtype);
  g_autofree char *low = gpu_number (end_of (e->out->dtype, FALSE), TRUE);
  g_autofree char *high = gpu_number (end_of (e->out->dtype, TRUE), TRUE);
  guint64 most = is_signed ? (G_GUINT64_CONSTANT (1) << (bits - 1)) - 1
                           : G_MAXUINT64 >> (64 - bits);

  if (e->out->dtype == IR_DTYPE_BOOL)
    return g_strdup ("a != 0");
  return g_strdup_printf ("a != a ? 0 : (double) a >= %s ? (%s) %" G_GUINT64_FORMAT
                          "ull : (double) a <= %s ? %s : (%s) a",
                          high, e->out->compute, most, low,
                          is_signed ? bits == 64 ? "(-0x7fffffffffffffffll - 1)" : low : "0ull",
                          e->out->compute);
}

static const char *
emit_cast (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  Elementwise e;
  guint n_inputs = call->n_inputs;
  const char *why;
  g_autofree char *expression = NULL;
  GString *text;

  call->n_inputs = 1; /* CastLike has another one, for its type */
  why = read_call (&e, call);
  call->n_inputs = n_inputs;
  if (why != NULL)
    return why;
  e.compute = e.operands[0].element->compute;
  if (gpu_is_real (e.compute) && !gpu_is_real (e.out->compute))
    expression = real_to_integer (&e);
  else
    expression = g_strdup_printf ("(%s) a", e.out->compute);
  text = g_string_new (NULL);
  print_function (&e, NULL, expression, text);
  return add_launch (&e, program, text, FALSE);
}

const IrGpuKernel gpu_cast = { "cast", emit_cast };
const IrGpuKernel gpu_batch_norm = { "batch-norm", emit_batch_norm };
