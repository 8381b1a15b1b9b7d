/* RNN, GRU and LSTM in float32: what the inputs add to the gates is one matrix product over all
 * steps, then each step adds what the state does. Directions run side by side. Behind its length a
 * sequence keeps its state, so that backwards it begins there. Peepholes and other activations than the
 * usual ones are left to the reference kernels. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/op/infer-recurrent.h"
#include "core/op/infer-util.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <string.h>

#define LARGE_STEP      2000000 /* multiply-adds of one step that are worth a second thread */
#define INPUT_LENGTHS   4
#define INPUT_PEEPHOLES 7

typedef struct _Layer Layer;

/* One direction, with memory of its own. */
typedef struct
{
  const Layer *layer;
  gint64 index;
  const float *w, *r, *w_bias, *r_bias; /* biases nullable */
  float *gates;                         /* [rows of X, gates · hidden] */
  float *h, *c, *scratch;               /* [batch, hidden] each */
  float *kept_h, *kept_c;               /* likewise, of sequences that have ended */
  gboolean backwards, done;
} Direction;

struct _Layer
{
  IrCall *call;
  IrRecurrent sizes;
  gint64 steps, batch, in, hidden, width; /* width: of the gates of one row */
  gint64 step_rows, batch_rows;           /* rows of X from one step, one sequence, to the next */
  gboolean linear_before_reset;
  const IrTensor *lengths; /* of the sequences; NULL: all steps */
  float *y;                /* nullable */
  /* One step of all sequences: @gates is the row of the first, batch_rows · width apart. */
  gboolean (*step) (Direction *d, float *gates);
  Direction directions[2];
  float *memory;
};

/* Y [m, n] (rows @y_distance apart) += A [m, k] · B [n, k] transposed */
static gboolean
add_product (const Layer *l,
             gint64 m,
             gint64 n,
             gint64 k,
             const float *a,
             const float *b,
             float *y,
             gint64 y_distance)
{
  if (m == 0 || n == 0 || k == 0)
    return TRUE;
  return cpu_multiply (l->call, &(CpuProduct){
                                    .m = m,
                                    .n = n,
                                    .k = k,
                                    .alpha = 1,
                                    .beta = 1,
                                    .a = { a, k, FALSE },
                                    .b = { b, k, TRUE },
                                    .y = y,
                                    .y_distance = y_distance,
                                });
}

static void
activate (IrActivation activation, float *values, gint64 n)
{
  CpuEpilogue epilogue = { .activation = activation };

  cpu_epilogue (&epilogue, values, (guint64) n, 0);
}

/* -- cells -- */

static gboolean
rnn_step (Direction *d, float *gates)
{
  const Layer *l = d->layer;
  gint64 n = l->hidden, apart = l->batch_rows * l->width;

  if (!add_product (l, l->batch, n, n, d->h, d->r, gates, apart))
    return FALSE;
  for (gint64 row = 0; row < l->batch; row++)
    {
      activate (IR_ACTIVATION_TANH, gates + row * apart, n);
      memcpy (d->h + row * n, gates + row * apart, sizeof (float) * (gsize) n);
    }
  return TRUE;
}

CPU_VECTORIZED static void
multiply_into (const float *a, const float *b, float *y, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    y[i] = a[i] * b[i];
}

CPU_VECTORIZED static void
multiply_add (const float *a, const float *b, float *y, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    y[i] += a[i] * b[i];
}

CPU_VECTORIZED static void
gru_mix (const float *update, const float *hidden, float *h, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    h[i] = (1 - update[i]) * hidden[i] + update[i] * h[i];
}

/* The state's part of the hidden gate, with the reset gate before or behind the product. */
static gboolean
gru_hidden (Direction *d, float *gates, gint64 apart)
{
  const Layer *l = d->layer;
  gint64 n = l->hidden;
  const float *r = d->r + 2 * n * n;

  if (!l->linear_before_reset)
    {
      for (gint64 row = 0; row < l->batch; row++)
        multiply_into (gates + row * apart + n, d->h + row * n, d->scratch + row * n, n);
      return add_product (l, l->batch, n, n, d->scratch, r, gates + 2 * n, apart);
    }
  memset (d->scratch, 0, sizeof (float) * (gsize) (l->batch * n));
  for (gint64 row = 0; d->r_bias != NULL && row < l->batch; row++)
    memcpy (d->scratch + row * n, d->r_bias + 2 * n, sizeof (float) * (gsize) n);
  if (!add_product (l, l->batch, n, n, d->h, r, d->scratch, n))
    return FALSE;
  for (gint64 row = 0; row < l->batch; row++)
    multiply_add (gates + row * apart + n, d->scratch + row * n, gates + row * apart + 2 * n, n);
  return TRUE;
}

/* Gates in the order update, reset, hidden. */
static gboolean
gru_step (Direction *d, float *gates)
{
  const Layer *l = d->layer;
  gint64 n = l->hidden, apart = l->batch_rows * l->width;

  if (!add_product (l, l->batch, 2 * n, n, d->h, d->r, gates, apart))
    return FALSE;
  for (gint64 row = 0; row < l->batch; row++)
    activate (IR_ACTIVATION_SIGMOID, gates + row * apart, 2 * n);
  if (!gru_hidden (d, gates, apart))
    return FALSE;
  for (gint64 row = 0; row < l->batch; row++)
    {
      float *hidden = gates + row * apart + 2 * n;
      activate (IR_ACTIVATION_TANH, hidden, n);
      gru_mix (gates + row * apart, hidden, d->h + row * n, n);
    }
  return TRUE;
}

CPU_VECTORIZED static void
lstm_cell (const float *input, const float *forget, const float *cell, float *c, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    c[i] = forget[i] * c[i] + input[i] * cell[i];
}

/* Gates in the order input, output, forget, cell. */
static gboolean
lstm_step (Direction *d, float *gates)
{
  const Layer *l = d->layer;
  gint64 n = l->hidden, apart = l->batch_rows * l->width;

  if (!add_product (l, l->batch, 4 * n, n, d->h, d->r, gates, apart))
    return FALSE;
  for (gint64 row = 0; row < l->batch; row++)
    {
      float *g = gates + row * apart, *c = d->c + row * n;
      activate (IR_ACTIVATION_SIGMOID, g, 3 * n);
      activate (IR_ACTIVATION_TANH, g + 3 * n, n);
      lstm_cell (g, g + 2 * n, g + 3 * n, c, n);
      memcpy (d->scratch, c, sizeof (float) * (gsize) n);
      activate (IR_ACTIVATION_TANH, d->scratch, n);
      multiply_into (g + n, d->scratch, d->h + row * n, n);
    }
  return TRUE;
}

/* -- a direction -- */

/* Biases in every row; the last gate of GRU has that of the state inside, where it is reset. */
static void
spread_bias (const Direction *d)
{
  const Layer *l = d->layer;
  gint64 shared = l->linear_before_reset ? 2 * l->hidden : l->width;

  for (gint64 row = 0; row < l->steps * l->batch; row++)
    if (d->w_bias == NULL)
      memset (d->gates + row * l->width, 0, sizeof (float) * (gsize) l->width);
    else
      for (gint64 i = 0; i < l->width; i++)
        d->gates[row * l->width + i] = d->w_bias[i] + (i < shared ? d->r_bias[i] : 0);
}

static gint64
state_place (const Direction *d, gint64 row)
{
  const Layer *l = d->layer;
  gint64 n = l->sizes.n_directions;

  return (l->sizes.batch_first ? row * n + d->index : d->index * l->batch + row) * l->hidden;
}

static void
load_state (const Direction *d, guint slot, float *state)
{
  const Layer *l = d->layer;
  const float *initial = cpu_floats (l->call, slot);

  for (gint64 row = 0; row < l->batch; row++)
    if (initial != NULL)
      memcpy (state + row * l->hidden, initial + state_place (d, row),
              sizeof (float) * (gsize) l->hidden);
    else
      memset (state + row * l->hidden, 0, sizeof (float) * (gsize) l->hidden);
}

static void
store_state (const Direction *d, guint slot, const float *state)
{
  const Layer *l = d->layer;

  if (!ir_call_has_output (l->call, slot))
    return;
  float *last = ir_tensor_data_writable (l->call->outputs[slot].tensor);
  for (gint64 row = 0; row < l->batch; row++)
    memcpy (last + state_place (d, row), state + row * l->hidden,
            sizeof (float) * (gsize) l->hidden);
}

static gboolean
has_ended (const Layer *l, gint64 row, gint64 t)
{
  return l->lengths != NULL && t >= ir_tensor_get_int64 (l->lengths, (guint64) row);
}

static void
store_step (const Direction *d, gint64 t)
{
  const Layer *l = d->layer;
  gint64 n = l->sizes.n_directions;

  for (gint64 row = 0; l->y != NULL && row < l->batch; row++)
    {
      gint64 place = l->sizes.batch_first ? (row * l->steps + t) * n + d->index
                                          : (t * n + d->index) * l->batch + row;
      if (has_ended (l, row, t))
        memset (l->y + place * l->hidden, 0, sizeof (float) * (gsize) l->hidden);
      else
        memcpy (l->y + place * l->hidden, d->h + row * l->hidden,
                sizeof (float) * (gsize) l->hidden);
    }
}

/* Copies the states of sequences that have ended, all three [batch, hidden]. */
static void
copy_ended (const Layer *l, gint64 t, const float *from, float *to)
{
  for (gint64 row = 0; row < l->batch; row++)
    if (has_ended (l, row, t))
      memcpy (to + row * l->hidden, from + row * l->hidden, sizeof (float) * (gsize) l->hidden);
}

static gboolean
run_step (Direction *d, gint64 t)
{
  const Layer *l = d->layer;

  copy_ended (l, t, d->h, d->kept_h);
  copy_ended (l, t, d->c, d->kept_c);
  if (!l->step (d, d->gates + t * l->step_rows * l->width))
    return FALSE;
  copy_ended (l, t, d->kept_h, d->h);
  copy_ended (l, t, d->kept_c, d->c);
  return TRUE;
}

static gboolean
run_direction (Direction *d)
{
  const Layer *l = d->layer;

  load_state (d, 5, d->h);
  load_state (d, 6, d->c);
  for (gint64 step = 0; step < l->steps; step++)
    {
      gint64 t = d->backwards ? l->steps - 1 - step : step;
      if (ir_call_stopped (l->call))
        return TRUE; /* the layer says so */
      if (!run_step (d, t))
        return FALSE;
      store_step (d, t);
    }
  store_state (d, 1, d->h);
  store_state (d, 2, d->c);
  return TRUE;
}

/* -- a layer -- */

static void
layer_clear (Layer *layer)
{
  g_free (layer->memory);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Layer, layer_clear)

static gboolean
set_lengths (Layer *l)
{
  l->lengths = ir_call_input (l->call, INPUT_LENGTHS);
  for (gint64 row = 0; l->lengths != NULL && row < l->batch; row++)
    if (has_ended (l, row, -1) || !has_ended (l, row, l->steps))
      return FALSE; /* negative, or beyond the steps */
  return TRUE;
}

/* FALSE: something does not fit, or there is no memory, which the reference kernel says better. */
static gboolean
layer_init (Layer *l, IrCall *call, guint n_gates)
{
  const IrRecurrent *sizes = &l->sizes;

  if (!ir_recurrent_init (&l->sizes, call, n_gates, NULL) || sizes->steps < 0 || sizes->batch < 0 ||
      sizes->in < 0 || sizes->hidden < 0)
    return FALSE;
  l->steps = sizes->steps;
  l->batch = sizes->batch;
  l->in = sizes->in;
  l->hidden = sizes->hidden;
  l->width = n_gates * l->hidden;
  l->step_rows = sizes->batch_first ? 1 : l->batch;
  l->batch_rows = sizes->batch_first ? l->steps : 1;
  guint64 wanted = ir_mul_saturated ((guint64) l->steps, (guint64) l->batch);
  wanted = ir_mul_saturated (wanted, (guint64) (l->width + l->hidden));
  if (wanted > G_MAXSSIZE / 64) /* axes of size 0 hide how large the others are */
    return FALSE;
  gint64 gates = l->steps * l->batch * l->width, state = l->batch * l->hidden;
  gint64 each = gates + 5 * state, n = sizes->n_directions;
  l->memory = g_try_new (float, (gsize) MAX (n * each, 1));
  const float *w = cpu_floats (call, 1), *r = cpu_floats (call, 2), *bias = cpu_floats (call, 3);
  for (gint64 i = 0; i < n && l->memory != NULL; i++)
    {
      Direction *d = &l->directions[i];
      d->layer = l;
      d->index = i;
      d->backwards = sizes->reverse || i == 1;
      d->w = w + i * l->width * l->in;
      d->r = r + i * l->width * l->hidden;
      d->w_bias = bias != NULL ? bias + i * 2 * l->width : NULL;
      d->r_bias = bias != NULL ? d->w_bias + l->width : NULL;
      d->gates = l->memory + i * each;
      d->h = d->gates + gates;
      d->c = d->h + state;
      d->scratch = d->c + state;
      d->kept_h = d->scratch + state;
      d->kept_c = d->kept_h + state;
    }
  return l->memory != NULL && set_lengths (l);
}

static gboolean
new_outputs (Layer *l, GError **error)
{
  const IrRecurrent *s = &l->sizes;
  gint64 n = s->n_directions;
  gint64 all[2][4] = { { l->steps, n, l->batch, l->hidden }, { l->batch, l->steps, n, l->hidden } };
  gint64 last[2][3] = { { n, l->batch, l->hidden }, { l->batch, n, l->hidden } };

  for (guint i = 0; i < l->call->n_outputs; i++)
    {
      if (!ir_call_has_output (l->call, i))
        continue;
      float *values = cpu_new_floats_shaped (
          l->call, i, i == 0 ? 4 : 3, i == 0 ? all[s->batch_first] : last[s->batch_first], error);
      if (values == NULL)
        return FALSE;
      if (i == 0)
        l->y = values;
    }
  return TRUE;
}

static gboolean
layer_run (Layer *l, guint n_gates, GError **error)
{
  IrCall *call = l->call;

  if (!layer_init (l, call, n_gates))
    return ir_ref_run (call, error);
  if (!new_outputs (l, error))
    return FALSE;
  int n = (int) l->sizes.n_directions;
  gint64 rows = l->steps * l->batch, work = l->batch * l->width * l->hidden;
  gboolean done = TRUE;
  cpu_library_threads (call, cpu_n_threads (call, (guint64) (rows * l->width * l->in) / 64));
  for (int i = 0; i < n && done; i++)
    {
      Direction *d = &l->directions[i];
      spread_bias (d);
      done = add_product (l, rows, l->width, l->in, cpu_floats (call, 0), d->w, d->gates, l->width);
    }
  int available = cpu_n_threads (call, (guint64) (l->steps * work) / 64);
  cpu_library_threads (call, work >= LARGE_STEP ? available : 1);
  /* Inside of a parallel region products run on one thread. */
#pragma omp parallel for num_threads(MIN(n, available)) schedule(static) if (n > 1 && available > 1)
  for (int i = 0; i < n; i++)
    l->directions[i].done = done && run_direction (&l->directions[i]);
  for (int i = 0; i < n; i++)
    done = done && l->directions[i].done;
  if (ir_call_fail_if_stopped (call, error))
    return FALSE;
  return done || ir_ref_run (call, error);
}

static gboolean
run_rnn (IrCall *call, GError **error)
{
  g_auto (Layer) layer = { .call = call, .step = rnn_step };

  return layer_run (&layer, 1, error);
}

static gboolean
run_gru (IrCall *call, GError **error)
{
  g_auto (Layer) layer = { .call = call, .step = gru_step };

  layer.linear_before_reset = ir_call_int (call, "linear_before_reset", 0) != 0;
  return layer_run (&layer, 3, error);
}

static gboolean
run_lstm (IrCall *call, GError **error)
{
  g_auto (Layer) layer = { .call = call, .step = lstm_step };

  return layer_run (&layer, 4, error);
}

/* -- what is taken -- */

static gboolean
usual_activations (const IrNode *node, const char *const *usual, guint n)
{
  const IrAttr *names = ir_node_attr (node, "activations");

  if (names == NULL)
    return TRUE;
  /* Too few of them is an error, which the reference kernel reports. */
  if (names->kind != IR_ATTR_STRINGS || names->n < n || names->n % n != 0)
    return FALSE;
  for (guint i = 0; i < names->n; i++)
    if (g_ascii_strcasecmp (names->strings[i].data, usual[i % n]) != 0)
      return FALSE;
  const char *direction = ir_node_attr_string (node, "direction", "forward");
  return strcmp (direction, "bidirectional") != 0 || names->n >= 2 * n;
}

static const char *
refuses (const IrNode *node, const char *const *usual, guint n)
{
  if (node->n_inputs > INPUT_PEEPHOLES && node->inputs[INPUT_PEEPHOLES] != NULL)
    return "peepholes are not for the CPU kernel";
  if (ir_node_attr (node, "clip") != NULL || ir_node_attr_int (node, "input_forget", 0) != 0 ||
      !usual_activations (node, usual, n))
    return "the CPU kernel has only the usual activations, without a clip or coupled gates";
  return cpu_needs_float_but (node, INPUT_LENGTHS);
}

static const char *
rnn_refuses (const IrNode *node)
{
  static const char *const usual[] = { "Tanh" };

  return refuses (node, usual, G_N_ELEMENTS (usual));
}

static const char *
gru_refuses (const IrNode *node)
{
  static const char *const usual[] = { "Sigmoid", "Tanh" };

  return refuses (node, usual, G_N_ELEMENTS (usual));
}

static const char *
lstm_refuses (const IrNode *node)
{
  static const char *const usual[] = { "Sigmoid", "Tanh", "Tanh" };

  return refuses (node, usual, G_N_ELEMENTS (usual));
}

const IrCpuKernel cpu_rnn = { .name = "oneDNN sgemm, cells",
                              .refuses = rnn_refuses,
                              .run = run_rnn };
const IrCpuKernel cpu_gru = { .name = "oneDNN sgemm, cells",
                              .refuses = gru_refuses,
                              .run = run_gru };
const IrCpuKernel cpu_lstm = { .name = "oneDNN sgemm, cells",
                               .refuses = lstm_refuses,
                               .run = run_lstm };
