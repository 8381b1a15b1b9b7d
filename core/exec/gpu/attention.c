/* Attention: of the standard, with past keys and values, masks, windows and lengths; and that of the domain
 * irscope, whose heads may lie side by side, packed, or be shared. */
#include "config.h"

#include "core/exec/gpu/writer.h"
#include "core/op/infer-util.h"

#include <math.h>
#include <string.h>

#define I64     "%" G_GINT64_FORMAT
#define THREADS 128
/* Heads up to that size are computed by tiles; up to so many rows of queries, those of a tile are few. */
#define TILE_SIZE 128
#define FEW_ROWS  8192

/* A tensor as [batch, heads, positions, size], whichever form it has. Strides in elements. */
typedef struct
{
  gint64 batch, heads, length, size;
  gint64 start, batch_stride, head_stride, row_stride;
} Heads;

typedef struct
{
  Heads q, k, v, y;
  gint64 past; /* positions */
  guint mask;  /* slot; 0: none */
  gboolean ours;
} Attention;

static gboolean
heads_of (GpuWriter *w, const IrType *type, gint64 n, Heads *heads)
{
  GpuShape shape;

  if (!gpu_shape (type, &shape) || (shape.rank != 4 && (shape.rank != 3 || n < 1)))
    {
      gpu_refuse (w, gpu_unknown_shape);
      return FALSE;
    }
  *heads = (Heads){ .batch = shape.dims[0] };
  if (shape.rank == 4)
    {
      heads->heads = shape.dims[1];
      heads->length = shape.dims[2];
      heads->size = heads->row_stride = shape.dims[3];
      heads->head_stride = heads->length * heads->size;
      heads->batch_stride = heads->heads * heads->head_stride;
      return TRUE;
    }
  heads->heads = n;
  heads->length = shape.dims[1];
  heads->row_stride = shape.dims[2];
  heads->size = heads->head_stride = heads->row_stride / n;
  heads->batch_stride = heads->length * heads->row_stride;
  return TRUE;
}

/* Part 0, 1 or 2 of queries, keys and values side by side. */
static Heads
part_of (Heads all, gint64 part)
{
  all.size = all.head_stride = all.size / 3;
  all.start = part * all.heads * all.size;
  return all;
}

/* Text of where row @row of a head begins. */
static void
put_start (GpuWriter *w, const char *word, const Heads *heads, const char *head, const char *row)
{
  gpu_put (w, word, "(" I64 " + batch * " I64 " + %s * " I64 " + (%s) * " I64 ")", heads->start,
           heads->batch_stride, head, heads->head_stride, row, heads->row_stride);
}

/* -- scores -- */

static void
print_mask (GpuWriter *w, const Attention *a, GString *text)
{
  static const char *const places[] = { "batch", "head", "row", "j" };
  gboolean selects = ir_op_attr (w->call->op, "fill") != NULL;
  gboolean pads = !a->ours && (w->call->opset <= 0 || w->call->opset >= 24);
  const GpuElement *element = gpu_put_input (w, "mask", a->mask);
  gint64 own[IR_MAX_RANK];
  GpuShape mask;

  if (element == NULL || !gpu_shape_of_input (w, a->mask, &mask) || mask.rank > 4)
    {
      gpu_refuse (w, gpu_unknown_shape);
      return;
    }
  gpu_contiguous_strides (&mask, own);
  GString *index = g_string_new ("0");
  for (guint i = 0; i < mask.rank; i++)
    if (mask.dims[i] != 1)
      g_string_append_printf (index, " + %s * " I64, places[4 - mask.rank + i], own[i]);
  /* Since version 24 keys behind the last axis of the mask are hidden. */
  gint64 last = mask.rank > 0 && pads ? mask.dims[mask.rank - 1] : G_MAXINT64;
  g_string_append_printf (
      text, "          if (j >= " I64 ")\n            s += -K_INFINITY;\n          else ", last);
  if (selects)
    g_string_append_printf (
        text, "if (!($load_mask (K_LOAD (mask, %s))))\n            s = r_$name ($fill);\n",
        index->str);
  else if (element->dtype == IR_DTYPE_BOOL)
    g_string_append_printf (
        text, "if (!($load_mask (K_LOAD (mask, %s))))\n            s += -K_INFINITY;\n",
        index->str);
  else
    g_string_append_printf (
        text,
        "\n            s = r_$name (s + r_$name (($compute) $load_mask (K_LOAD (mask, %s))));\n",
        index->str);
  g_string_free (index, TRUE);
}

/* What becomes of a product before the softmax: a bound, a mask, the keys that its query sees. */
static void
put_scores (GpuWriter *w, const Attention *a)
{
  const IrCall *call = w->call;
  GString *text = g_string_new (NULL);
  gint64 left = ir_call_int (call, "left_window_size", -1),
         right = ir_call_int (call, "right_window_size", -1);

  if (ir_call_float (call, "softcap", 0) > 0)
    g_string_append (text,
                     "          s = r_$name (r_$name (tanh$f (r_$name (s / $cap))) * $cap);\n");
  if (a->mask != 0)
    print_mask (w, a, text);
  if (ir_call_int (call, "is_causal", 0) != 0)
    g_string_append (text, "          if (j > row + offset)\n            s += -K_INFINITY;\n");
  if (left >= 0)
    g_string_append_printf (
        text, "          if (row + offset - j > " I64 ")\n            s += -K_INFINITY;\n", left);
  if (right >= 0)
    g_string_append_printf (
        text, "          if (j - row - offset > " I64 ")\n            s += -K_INFINITY;\n", right);
  if (ir_call_has_input (call, 6))
    g_string_append (text, "          if (j >= valid)\n            s += -K_INFINITY;\n");
  gpu_put_text (w, "scores", g_string_free (text, FALSE));
}

/* From which key on positions count, and how many keys there are in a sample. */
static void
put_valid (GpuWriter *w, const Attention *a)
{
  if (!ir_call_has_input (w->call, 6))
    {
      gpu_put (w, "valid", "  k_i64 offset = " I64 ";\n", a->past);
      return;
    }
  gpu_put_input (w, "lengths", 6);
  gpu_put_fault (w);
  gpu_put (
      w, "valid",
      "  k_i64 valid = K_LOAD (lengths, batch), offset = valid - $rows;\n"
      "  if (valid < 0 || valid > $keys)\n    {\n      K_FAULT (fault, 2u);\n      return;\n    }\n");
}

/* -- keys and values -- */

/* Element d of the key or value at @row: past ones come first. */
static void
put_past (GpuWriter *w,
          const char *word,
          const char *name,
          const char *past_name,
          guint past_slot,
          const char *row,
          const Heads *heads,
          gint64 past)
{
  g_autofree char *start = g_strconcat (word, "_start", NULL);
  g_autofree char *behind = g_strdup_printf ("%s - " I64, row, past);

  put_start (w, start, heads, "shared", behind);
  if (past == 0)
    {
      gpu_put (w, word, "(K_LOAD (%s, $%s + d))", name, start);
      return;
    }
  gpu_put_input (w, past_name, past_slot);
  gpu_put (w, word,
           "(%s < " I64 " ? K_LOAD (%s, ((batch * " I64 " + shared) * " I64 " + %s) * " I64
           " + d) : K_LOAD (%s, $%s + d))",
           row, past, past_name, heads->heads, past, row, heads->size, name, start);
}

/* Past and new rows behind each other, as an output. */
static const char *
add_present (IrGpuProgram *program,
             const IrCall *call,
             guint slot,
             guint past_slot,
             guint in,
             const Heads *heads,
             gint64 past)
{
  gint64 length = past + heads->length;
  const char *why = NULL;

  for (guint part = 0; part < 2 && why == NULL; part++)
    {
      gint64 n = part == 0 ? past : heads->length;
      GpuShape shape = { .rank = 4, .dims = { heads->batch, heads->heads, n, heads->size } };
      gint64 to[] = { heads->heads * length * heads->size, length * heads->size, heads->size, 1 };
      gint64 own[] = { heads->heads * past * heads->size, past * heads->size, heads->size, 1 };
      gint64 from[] = { heads->batch_stride, heads->head_stride, heads->row_stride, 1 };
      g_auto (GpuWriter) w;
      GpuLoop loop;
      shape.n = (guint64) (heads->batch * heads->heads * n * heads->size);
      gpu_writer_init (&w, program, call, "copy");
      gpu_loop_init (&loop, &shape);
      gpu_loop_add (&loop, part == 0 ? own : from, 0);
      gpu_loop_add (&loop, to, part == 0 ? 0 : past * heads->size);
      gpu_loop_join (&loop);
      gpu_put_moved (&w, "x", IR_GPU_INPUT, part == 0 ? past_slot : in);
      gpu_put_moved (&w, "y", IR_GPU_OUTPUT, slot);
      gpu_put_loop (&w, "offsets", &loop, "i");
      if (shape.n > 0)
        why = gpu_write_each (&w, "copy", shape.n);
    }
  return why;
}

/* -- calls -- */

static const char *
end_text (const GpuWriter *w, const Attention *a, gint64 keys)
{
  if (keys == 0)
    return "0";
  if ((w->call->op->flags & IR_OP_SAFE_WEIGHTS) != 0)
    return "sum != sum ? 0 : sum == 0 ? sums[e] : sums[e] / sum";
  return a->ours ? "sums[e] / sum" : "sum == 0 ? sums[e] : sums[e] / sum";
}

/* Rows of queries together, 16 or 32; keys as many as shared memory has room for. */
static const char *
write_tiles (GpuWriter *w, const Attention *a)
{
  gint64 heads = a->q.batch * a->q.heads, rows = heads * a->q.length < FEW_ROWS ? 1 : 2,
         keys = MAX (a->q.size, a->v.size) <= 64 ? 4 : 2, tiles, blocks;
  gint64 width = (a->q.size + 3) / 4 * 4, columns = MAX ((a->v.size + 63) / 64, 1) * 4;

  tiles = (a->q.length + rows * 16 - 1) / (rows * 16);
  gpu_put (w, "rm", "%uu", (guint) rows);
  gpu_put (w, "bq", "%uu", (guint) rows * 16);
  gpu_put (w, "cn", "%uu", (guint) keys);
  gpu_put (w, "bk", "%uu", (guint) keys * 16);
  gpu_put (w, "width", "%uu", (guint) width);
  gpu_put (w, "pitch", "%uu", (guint) width + 4);
  gpu_put (w, "columns", "%uu", (guint) columns);
  gpu_put (w, "value_width", "%uu", (guint) columns * 16);
  gpu_put (w, "value_pitch", "%uu", (guint) columns * 16 + 4);
  gpu_put (w, "tile_pitch", "%uu", (guint) MAX (width, columns * 16) + 4);
  gpu_put_int (w, "row_tiles", MAX (tiles, 1));
  if (__builtin_mul_overflow (heads, tiles, &blocks))
    return gpu_refuse (w, "it has more rows than a launch has blocks");
  return gpu_write (w, "attention-tile", (guint64) blocks, 256);
}

static const char *
write_attention (GpuWriter *w, const Attention *a, const GpuElement *e)
{
  gint64 keys = a->past + a->k.length;
  float standard = 1.0f / sqrtf ((float) a->q.size);

  if (a->k.heads == 0 || a->q.heads % a->k.heads != 0 || a->q.size > 4096 || a->v.size > 4096)
    return gpu_refuse (w, "its heads do not fit, or are too long");
  gpu_put_element (w, e);
  gpu_put_int (w, "rows", MAX (a->q.length, 1));
  gpu_put_int (w, "heads", MAX (a->q.heads, 1));
  gpu_put_int (w, "group", a->q.heads / a->k.heads);
  gpu_put_int (w, "keys", keys);
  gpu_put_int (w, "size", a->q.size);
  gpu_put_int (w, "value_size", a->v.size);
  gpu_put_int (w, "n_sums", MAX ((a->v.size + THREADS - 1) / THREADS, 1));
  gpu_put_number (w, "root", sqrtf ((float) ir_call_float (w->call, "scale", (double) standard)),
                  e->compute);
  gpu_put (w, "root", "r_$name (%s)", (const char *) w->words->pdata[w->words->len - 1]);
  gpu_put_number (w, "fill", ir_call_float (w->call, "fill", 0), e->compute);
  gpu_put_number (w, "cap", ir_call_float (w->call, "softcap", 0), e->compute);
  put_start (w, "query", &a->q, "head", "row");
  put_start (w, "result", &a->y, "head", "row");
  put_past (w, "key", "$kname", "pk", 4, "j", &a->k, a->past);
  put_past (w, "value", "$vname", "pv", 5, "(first + n)", &a->v, a->past);
  put_scores (w, a);
  put_valid (w, a);
  gpu_put (w, "end", "%s", end_text (w, a, keys));
  gpu_put_output (w, "y", 0);
  if (g_str_equal (e->compute, "float") && MAX (a->q.size, a->v.size) <= TILE_SIZE)
    return write_tiles (w, a);
  return gpu_write (w, "attention", (guint64) (a->q.batch * a->q.heads * a->q.length), THREADS);
}

/* Elements of 16 bits are rounded at each step of the function body, which a softmax that goes along cannot. */
static gboolean
is_same (const GpuElement *e, const GpuElement *other)
{
  return e != NULL && gpu_is_real (e->compute) && *e->load == '\0' && e == other;
}

static const char *
emit_attention (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  Attention a = { .ours = g_strcmp0 (call->op->domain, "irscope") == 0 };
  gint64 q_heads = ir_call_int (call, "q_num_heads", 0), kv = ir_call_int (call, "kv_num_heads", 0);
  g_auto (GpuWriter) w;
  Heads past;
  const char *why = NULL;

  gpu_writer_init (&w, program, call, "attention");
  if (call->n_outputs > 3 && call->outputs[3].present)
    return gpu_refuse (&w, "no GPU kernel gives its products");
  if (!heads_of (&w, ir_call_input_type (call, 0), q_heads, &a.q) ||
      !heads_of (&w, ir_call_input_type (call, 1), kv, &a.k) ||
      !heads_of (&w, ir_call_input_type (call, 2), kv, &a.v) ||
      !heads_of (&w, call->outputs[0].type, a.q.heads, &a.y))
    return w.why;
  const GpuElement *e = gpu_put_input (&w, "q", 0);
  if (!is_same (e, gpu_put_input (&w, "k", 1)) || !is_same (e, gpu_put_input (&w, "v", 2)))
    return gpu_refuse (&w, gpu_no_element);
  if (ir_call_has_input (call, 4))
    {
      if (!heads_of (&w, ir_call_input_type (call, 4), 0, &past) || !ir_call_has_input (call, 5) ||
          gpu_element (ir_call_input_dtype (call, 4)) != e ||
          gpu_element (ir_call_input_dtype (call, 5)) != e)
        return gpu_refuse (&w, "its past is of another type");
      a.past = past.length;
    }
  a.mask = ir_call_has_input (call, 3) ? 3 : 0;
  gpu_put (&w, "kname", "k");
  gpu_put (&w, "vname", "v");
  if (call->n_outputs > 1 && call->outputs[1].present)
    why = add_present (program, call, 1, 4, 1, &a.k, a.past);
  if (why == NULL && call->n_outputs > 2 && call->outputs[2].present)
    why = add_present (program, call, 2, 5, 2, &a.v, a.past);
  return why != NULL ? why : write_attention (&w, &a, e);
}

static const char *
emit_packed_attention (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  Attention a = { .ours = TRUE };
  g_auto (GpuWriter) w;
  Heads all;

  gpu_writer_init (&w, program, call, "attention");
  gint64 n = ir_call_int (call, "num_heads", 0);
  if (!heads_of (&w, ir_call_input_type (call, 0), n, &all) ||
      !heads_of (&w, call->outputs[0].type, n, &a.y))
    return w.why;
  const GpuElement *e = gpu_put_input (&w, "q", 0);
  if (!is_same (e, e))
    return gpu_refuse (&w, gpu_no_element);
  a.q = part_of (all, 0);
  a.k = part_of (all, 1);
  a.v = part_of (all, 2);
  a.mask = ir_call_has_input (call, 1) ? 1 : 0;
  gpu_put (&w, "kname", "q");
  gpu_put (&w, "vname", "q");
  gpu_put (&w, "load_k", "%s", e->load);
  gpu_put (&w, "load_v", "%s", e->load);
  return write_attention (&w, &a, e);
}

const IrGpuKernel gpu_attention = { "attention", emit_attention };
const IrGpuKernel gpu_packed_attention = { "packed-attention", emit_packed_attention };
