/* A convolution on oneDNN (2.6, C API). Activations come and go as NCHW and are reordered where the
 * primitive wants blocks. Weights that are constant are packed once. */
#include "config.h"

#include "core/exec/cpu/conv.h"
#include "core/ir/pages.h"

#include <string.h>

/* Its scratch memory is ours. The library's own belongs to the thread that makes the primitive,
 * while concurrent nodes run, and plans are freed, on any thread. */
typedef struct
{
  dnnl_primitive_t primitive; /* NULL: there is none */
  dnnl_memory_t scratch;      /* (nullable) its handle is set before each use */
  gsize scratch_bytes;
} Primitive;

struct _CpuConvPlan
{
  CpuConvShape shape;
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_desc_t desc;
  dnnl_primitive_attr_t attr;
  Primitive conv, reorder_x, reorder_w, reorder_y;     /* no reorders where layouts agree */
  dnnl_memory_t x_plain, x, w_plain, w, b, y, y_plain; /* handles are set before each use */
  gpointer x_buffer, w_buffer, y_buffer;
  IrScratch *call_scratch;  /* (nullable) scratch memory of the call under way */
  IrScratch own;            /* where it has none */
  GHashTable *packed;       /* (nullable) of constant weights: element of the first -> memory */
  const float *packed_from; /* weights that @packed was made of */
};

static dnnl_format_tag_t
plain_tag (int ndims)
{
  static const dnnl_format_tag_t tags[] = {
    [3] = dnnl_abc, [4] = dnnl_abcd, [5] = dnnl_abcde, [6] = dnnl_abcdef
  };
  return tags[ndims];
}

void
cpu_conv_plan_free (CpuConvPlan *plan)
{
  dnnl_memory_t memories[] = { plan->x_plain, plan->x, plan->w_plain, plan->w,
                               plan->b,       plan->y, plan->y_plain };
  const Primitive primitives[] = { plan->conv, plan->reorder_x, plan->reorder_w, plan->reorder_y };

  for (guint i = 0; i < G_N_ELEMENTS (memories); i++)
    if (memories[i] != NULL)
      dnnl_memory_destroy (memories[i]);
  for (guint i = 0; i < G_N_ELEMENTS (primitives); i++)
    {
      if (primitives[i].primitive != NULL)
        dnnl_primitive_destroy (primitives[i].primitive);
      if (primitives[i].scratch != NULL)
        dnnl_memory_destroy (primitives[i].scratch);
    }
  if (plan->attr != NULL)
    dnnl_primitive_attr_destroy (plan->attr);
  if (plan->desc != NULL)
    dnnl_primitive_desc_destroy (plan->desc);
  if (plan->stream != NULL)
    dnnl_stream_destroy (plan->stream);
  if (plan->engine != NULL)
    dnnl_engine_destroy (plan->engine);
  g_clear_pointer (&plan->packed, g_hash_table_unref);
  free (plan->x_buffer);
  free (plan->w_buffer);
  free (plan->y_buffer);
  ir_scratch_clear (&plan->own);
  g_free (plan);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CpuConvPlan, cpu_conv_plan_free)

/* Plain; @of: (nullable): spatial sizes of what it is cut out from. */
static gboolean
describe_plain (dnnl_memory_desc_t *desc, const dnnl_dims_t dims, const dnnl_dims_t of, int ndims)
{
  dnnl_dims_t strides;

  if (of == NULL || memcmp (dims + 2, of + 2, (gsize) (ndims - 2) * sizeof *dims) == 0)
    return dnnl_memory_desc_init_by_tag (desc, ndims, dims, dnnl_f32, plain_tag (ndims)) ==
           dnnl_success;
  strides[ndims - 1] = 1;
  for (int i = ndims - 2; i > 0; i--)
    strides[i] = strides[i + 1] * of[i + 1];
  strides[0] = strides[1] * dims[1];
  return dnnl_memory_desc_init_by_strides (desc, ndims, dims, dnnl_f32, strides) == dnnl_success;
}

static gboolean
make_primitive (const CpuConvPlan *plan, dnnl_primitive_desc_t desc, Primitive *made)
{
  const dnnl_memory_desc_t *scratch = dnnl_primitive_desc_query_md (desc, dnnl_query_scratchpad_md,
                                                                    0);

  made->scratch_bytes = scratch != NULL ? dnnl_memory_desc_get_size (scratch) : 0;
  return dnnl_primitive_create (&made->primitive, desc) == dnnl_success &&
         (made->scratch_bytes == 0 || dnnl_memory_create (&made->scratch, scratch, plan->engine,
                                                          DNNL_MEMORY_NONE) == dnnl_success);
}

/* @args has room for one more. */
static gboolean
run_primitive (CpuConvPlan *plan, const Primitive *made, dnnl_exec_arg_t *args, int n)
{
  if (made->scratch != NULL)
    {
      IrScratch *scratch = plan->call_scratch != NULL ? plan->call_scratch : &plan->own;
      gpointer memory = ir_scratch_get (scratch, IR_SCRATCH_KERNEL, made->scratch_bytes);

      if (memory == NULL || dnnl_memory_set_data_handle (made->scratch, memory) != dnnl_success)
        return FALSE;
      args[n++] = (dnnl_exec_arg_t){ DNNL_ARG_SCRATCHPAD, made->scratch };
    }
  return dnnl_primitive_execute (made->primitive, plan->stream, n, args) == dnnl_success;
}

/* One side of the convolution: a plain memory, and where the primitive wants another layout a
 * buffer in that layout, if @buffer is given, with the reorder between the two. */
static gboolean
plan_side (CpuConvPlan *plan,
           dnnl_query_t query,
           int index,
           const dnnl_dims_t dims,
           const dnnl_dims_t of,
           int ndims,
           gboolean outwards,
           dnnl_memory_t *plain,
           dnnl_memory_t *blocked,
           Primitive *reorder,
           gpointer *buffer)
{
  const dnnl_memory_desc_t *wanted = dnnl_primitive_desc_query_md (plan->desc, query, index);
  dnnl_memory_desc_t given;
  dnnl_primitive_desc_t desc;
  gsize bytes = dnnl_memory_desc_get_size (wanted);

  if (!describe_plain (&given, dims, of, ndims) ||
      dnnl_memory_create (plain, &given, plan->engine, DNNL_MEMORY_NONE) != dnnl_success)
    return FALSE;
  if (dnnl_memory_desc_equal (wanted, &given))
    return dnnl_memory_create (blocked, &given, plan->engine, DNNL_MEMORY_NONE) == dnnl_success;
  if (buffer != NULL && posix_memalign (buffer, IR_ALIGN_BYTES, MAX (bytes, IR_ALIGN_BYTES)) != 0)
    return FALSE;
  if (dnnl_memory_create (blocked, wanted, plan->engine,
                          buffer != NULL ? *buffer : DNNL_MEMORY_NONE) != dnnl_success ||
      dnnl_reorder_primitive_desc_create (&desc, outwards ? wanted : &given, plan->engine,
                                          outwards ? &given : wanted, plan->engine,
                                          plan->attr) != dnnl_success)
    return FALSE;
  gboolean made = make_primitive (plan, desc, reorder);
  dnnl_primitive_desc_destroy (desc);
  return made;
}

static gboolean
describe (CpuConvPlan *plan)
{
  const CpuConvShape *s = &plan->shape;
  int w_ndims = s->ndims + (s->group > 1);
  dnnl_memory_desc_t x, w, b, y;
  dnnl_convolution_desc_t conv;

  if (dnnl_memory_desc_init_by_tag (&x, s->ndims, s->x, dnnl_f32, dnnl_format_tag_any) !=
          dnnl_success ||
      dnnl_memory_desc_init_by_tag (&w, w_ndims, s->w, dnnl_f32, dnnl_format_tag_any) !=
          dnnl_success ||
      dnnl_memory_desc_init_by_tag (&y, s->ndims, s->y, dnnl_f32, dnnl_format_tag_any) !=
          dnnl_success ||
      dnnl_memory_desc_init_by_tag (&b, 1, s->b, dnnl_f32, dnnl_a) != dnnl_success)
    return FALSE;
  return dnnl_dilated_convolution_forward_desc_init (
             &conv, dnnl_forward_inference, dnnl_convolution_direct, &x, &w,
             s->has_bias ? &b : NULL, &y, s->strides, s->dilations, s->pad_begin,
             s->pad_end) == dnnl_success &&
         dnnl_primitive_desc_create (&plan->desc, &conv, plan->attr, plan->engine, NULL) ==
             dnnl_success &&
         make_primitive (plan, plan->desc, &plan->conv);
}

CpuConvPlan *
cpu_conv_plan_new (const CpuConvShape *shape)
{
  g_autoptr (CpuConvPlan) plan = g_new0 (CpuConvPlan, 1);
  dnnl_memory_desc_t b;
  int w_ndims = shape->ndims + (shape->group > 1);

  plan->shape = *shape;
  if (dnnl_engine_create (&plan->engine, dnnl_cpu, 0) != dnnl_success ||
      dnnl_stream_create (&plan->stream, plan->engine, dnnl_stream_default_flags) != dnnl_success ||
      dnnl_primitive_attr_create (&plan->attr) != dnnl_success ||
      dnnl_primitive_attr_set_scratchpad_mode (plan->attr, dnnl_scratchpad_mode_user) !=
          dnnl_success ||
      !describe (plan) ||
      !plan_side (plan, dnnl_query_src_md, 0, shape->x, shape->x_of, shape->ndims, FALSE,
                  &plan->x_plain, &plan->x, &plan->reorder_x, &plan->x_buffer) ||
      !plan_side (plan, dnnl_query_weights_md, 0, shape->w, NULL, w_ndims, FALSE, &plan->w_plain,
                  &plan->w, &plan->reorder_w, NULL) ||
      !plan_side (plan, dnnl_query_dst_md, 0, shape->y, shape->y_of, shape->ndims, TRUE,
                  &plan->y_plain, &plan->y, &plan->reorder_y, &plan->y_buffer))
    return NULL;
  if (shape->has_bias &&
      (dnnl_memory_desc_init_by_tag (&b, 1, shape->b, dnnl_f32, dnnl_a) != dnnl_success ||
       dnnl_memory_create (&plan->b, &b, plan->engine, DNNL_MEMORY_NONE) != dnnl_success))
    return NULL;
  return g_steal_pointer (&plan);
}

static gboolean
reorder (CpuConvPlan *plan, const Primitive *made, dnnl_memory_t from, dnnl_memory_t to)
{
  dnnl_exec_arg_t args[3] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };
  return run_primitive (plan, made, args, 2);
}

/* Memory for a piece in the order of the primitive. */
static gpointer
packed_memory (CpuConvPlan *plan, const CpuConvWeights *w)
{
  gpointer memory = NULL;
  gsize bytes = dnnl_memory_desc_get_size (
      dnnl_primitive_desc_query_md (plan->desc, dnnl_query_weights_md, 0));

  if (!w->constant && plan->w_buffer != NULL)
    return plan->w_buffer;
  if (posix_memalign (&memory, IR_ALIGN_BYTES, MAX (bytes, IR_ALIGN_BYTES)) != 0)
    return NULL;
  if (!w->constant)
    return plan->w_buffer = memory;
  if (plan->packed == NULL || plan->packed_from != w->weights)
    {
      g_clear_pointer (&plan->packed, g_hash_table_unref);
      plan->packed = g_hash_table_new_full (NULL, NULL, NULL, free);
      plan->packed_from = w->weights;
    }
  g_hash_table_insert (plan->packed, GSIZE_TO_POINTER (w->first), memory);
  return memory;
}

/* Constant weights are packed once; others each time, since a run may bring new ones. */
static gboolean
bring_weights (CpuConvPlan *plan, const CpuConvWeights *w)
{
  void *from = (void *) (w->weights + w->first);
  gpointer memory = NULL;

  if (plan->reorder_w.primitive == NULL)
    return dnnl_memory_set_data_handle (plan->w, from) == dnnl_success;
  if (w->constant && plan->packed != NULL && plan->packed_from == w->weights)
    memory = g_hash_table_lookup (plan->packed, GSIZE_TO_POINTER (w->first));
  if (memory != NULL)
    return dnnl_memory_set_data_handle (plan->w, memory) == dnnl_success;
  memory = packed_memory (plan, w);
  return memory != NULL && dnnl_memory_set_data_handle (plan->w, memory) == dnnl_success &&
         dnnl_memory_set_data_handle (plan->w_plain, from) == dnnl_success &&
         reorder (plan, &plan->reorder_w, plan->w_plain, plan->w);
}

gboolean
cpu_conv_plan_run (CpuConvPlan *plan,
                   IrScratch *scratch,
                   const float *x,
                   const CpuConvWeights *w,
                   const float *b,
                   float *y)
{
  dnnl_exec_arg_t args[5] = { { DNNL_ARG_SRC, plan->x },
                              { DNNL_ARG_WEIGHTS, plan->w },
                              { DNNL_ARG_DST, plan->y },
                              { DNNL_ARG_BIAS, plan->b } };

  plan->call_scratch = scratch;
  if (dnnl_memory_set_data_handle (plan->reorder_x.primitive != NULL ? plan->x_plain : plan->x,
                                   (void *) x) != dnnl_success ||
      dnnl_memory_set_data_handle (plan->reorder_y.primitive != NULL ? plan->y_plain : plan->y,
                                   y) != dnnl_success ||
      (plan->b != NULL && dnnl_memory_set_data_handle (plan->b, (void *) b) != dnnl_success) ||
      !bring_weights (plan, w))
    return FALSE;
  if (plan->reorder_x.primitive != NULL &&
      !reorder (plan, &plan->reorder_x, plan->x_plain, plan->x))
    return FALSE;
  if (!run_primitive (plan, &plan->conv, args, plan->b != NULL ? 4 : 3))
    return FALSE;
  if (plan->reorder_y.primitive != NULL &&
      !reorder (plan, &plan->reorder_y, plan->y, plan->y_plain))
    return FALSE;
  return dnnl_stream_wait (plan->stream) == dnnl_success;
}

const CpuConvShape *
cpu_conv_plan_shape (const CpuConvPlan *plan)
{
  return &plan->shape;
}
