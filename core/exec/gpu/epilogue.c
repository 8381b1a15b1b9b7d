/* What fused operators do behind a convolution or a product: an addend, then an activation, whose
 * expression is the column ACT_SCALAR of core/op/activations.def. */
#include "config.h"

#include "core/exec/gpu/writer.h"

/* clang-format off */
static const char *const activations[] = {
  [IR_ACTIVATION_NONE] = "a",
#define IR_ACTIVATION(ID, ...) [IR_ACTIVATION_##ID] =
#define ACT_SCALAR(expression) expression,
#include "core/op/activations.def"
};
/* clang-format on */

/* A parameter beside those of the operator without the addition, for the functions as well. */
static void
put_more (GpuWriter *w, const char *name, guint slot, const GpuElement *element)
{
  const GpuElement *own = gpu_put_input (w, name, slot);

  if (own != NULL && own != element)
    gpu_refuse (w, "its inputs are of different types");
  g_string_append_printf (w->arguments, ", %s", name);
  g_string_append_printf (w->declarations, ", const %s *%s", element->storage, name);
}

static void
put_addend (
    GpuWriter *w, guint slot, const GpuShape *out, const GpuElement *element, GString *steps)
{
  GpuShape shape;
  GpuLoop loop;

  put_more (w, "z", slot, element);
  if (!gpu_shape_of_input (w, slot, &shape))
    return;
  if (shape.rank > out->rank)
    {
      gpu_refuse (w, "what is added does not broadcast to the result");
      return;
    }
  gpu_loop_init (&loop, out);
  gpu_loop_add_broadcast (&loop, &shape);
  gpu_loop_join (&loop);
  gpu_loop_print (&loop, "o", steps);
  g_string_append_printf (steps, "  a = r_$name (a + %s (K_LOAD (z, o0)));\n", element->load);
}

void
gpu_put_epilogue (GpuWriter *w, const GpuShape *out, const GpuElement *element)
{
  const IrOp *op = w->call->op;
  GString *steps = g_string_new (NULL);

  if (op->addend != 0)
    put_addend (w, op->addend, out, element, steps);
  if (op->activation == IR_ACTIVATION_CLIP)
    {
      put_more (w, "low", (guint) op->in.max - 2, element);
      put_more (w, "high", (guint) op->in.max - 1, element);
      g_string_append_printf (steps, "  %s b = %s (K_LOAD (low, 0)), c = %s (K_LOAD (high, 0));\n",
                              element->compute, element->load, element->load);
    }
  gpu_put_element (w, element);
  gpu_put_expression (w, "activation", element->compute, activations[op->activation]);
  gpu_put_text (w, "steps", g_string_free (steps, FALSE));
  gpu_put_part (w, "finishing", "epilogue");
}

IrGpuLaunch *
gpu_write_finish (const IrCall *call, const GpuChannels *channels)
{
  g_autoptr (IrGpuProgram) program = ir_gpu_program_new ();
  g_auto (GpuWriter) w;
  GpuShape out;

  gpu_writer_init (&w, program, call, "finish");
  const GpuElement *e = gpu_put_output (&w, "y", 0);
  if (e == NULL || !gpu_shape_of_output (&w, 0, &out))
    return NULL;
  if (channels != NULL && gpu_put_input (&w, "bias", channels->bias) != e)
    return NULL;
  if (channels != NULL)
    gpu_put (&w, "plus",
             " + $load_bias (K_LOAD (bias, i / %" G_GINT64_FORMAT " %% %" G_GINT64_FORMAT "))",
             channels->plane, channels->n);
  else
    gpu_put (&w, "plus", "%s", "");
  gpu_put_epilogue (&w, &out, e);
  if (gpu_write_each (&w, "finish", out.n) != NULL || program->launches->len == 0)
    return NULL;
  return g_ptr_array_steal_index (program->launches, 0);
}
