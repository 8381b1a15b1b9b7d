/* Recurrent layers: one loop over directions, sequences and steps, and what a cell of RNN, GRU and
 * LSTM does in one step. States and sums are doubles from the first step to the last. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/op/infer-recurrent.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

/* -- activations -- */

typedef struct
{
  const char *name;
  double (*function) (double x, double alpha, double beta);
  gboolean takes_alpha, takes_beta;
  double alpha, beta; /* defaults */
} Kind;

static double
relu (double x, double alpha, double beta)
{
  return x < 0 ? 0 : x;
}

static double
hyperbolic (double x, double alpha, double beta)
{
  return tanh (x);
}

static double
sigmoid (double x, double alpha, double beta)
{
  return 1 / (1 + exp (-x));
}

static double
affine (double x, double alpha, double beta)
{
  return alpha * x + beta;
}

static double
leaky_relu (double x, double alpha, double beta)
{
  return x < 0 ? alpha * x : x;
}

static double
thresholded_relu (double x, double alpha, double beta)
{
  return x < alpha ? 0 : x;
}

static double
scaled_tanh (double x, double alpha, double beta)
{
  return alpha * tanh (beta * x);
}

static double
hard_sigmoid (double x, double alpha, double beta)
{
  return CLAMP (alpha * x + beta, 0, 1);
}

static double
elu (double x, double alpha, double beta)
{
  return x < 0 ? alpha * expm1 (x) : x;
}

static double
softsign (double x, double alpha, double beta)
{
  return x / (1 + fabs (x));
}

static double
softplus (double x, double alpha, double beta)
{
  return MAX (x, 0) + log1p (exp (-fabs (x)));
}

/* Defaults are those of the operators of these names; Affine and ScaledTanh have none there. */
static const Kind kinds[] = {
  { "Relu", relu, FALSE, FALSE, 0, 0 },
  { "Tanh", hyperbolic, FALSE, FALSE, 0, 0 },
  { "Sigmoid", sigmoid, FALSE, FALSE, 0, 0 },
  { "Affine", affine, TRUE, TRUE, 1, 0 },
  { "LeakyRelu", leaky_relu, TRUE, FALSE, 0.01, 0 },
  { "ThresholdedRelu", thresholded_relu, TRUE, FALSE, 1, 0 },
  { "ScaledTanh", scaled_tanh, TRUE, TRUE, 1, 1 },
  { "HardSigmoid", hard_sigmoid, TRUE, TRUE, 0.2, 0.5 },
  { "Elu", elu, TRUE, FALSE, 1, 0 },
  { "Softsign", softsign, FALSE, FALSE, 0, 0 },
  { "Softplus", softplus, FALSE, FALSE, 0, 0 },
};

typedef struct
{
  const Kind *kind;
  double alpha, beta;
} Activation;

#define MAX_ACTIVATIONS 3 /* of a cell: LSTM has f, g, h */

static const Kind *
find_kind (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_ascii_strcasecmp (kinds[i].name, name) == 0) /* exporters differ in case */
      return &kinds[i];
  return NULL;
}

/* Each list of parameters is consumed by the activations that take such a parameter. */
static double
next_parameter (const IrAttr *list, gboolean takes, double fallback, guint *used)
{
  if (!takes || list == NULL || list->kind != IR_ATTR_FLOATS || *used >= list->n)
    return fallback;
  return (double) list->floats[(*used)++];
}

static gboolean
read_activations (const IrCall *call,
                  const char *const *defaults,
                  guint n_each,
                  guint n_directions,
                  Activation (*activations)[MAX_ACTIVATIONS],
                  GError **error)
{
  const IrAttr *names = ir_call_attr (call, "activations");
  const IrAttr *alphas = ir_call_attr (call, "activation_alpha");
  const IrAttr *betas = ir_call_attr (call, "activation_beta");
  guint used_alphas = 0, used_betas = 0, n = n_each * n_directions;

  if (names != NULL && (names->kind != IR_ATTR_STRINGS || (names->n > 0 && names->n < n)))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "activations has %u entries, needed are %u", names->n, n);
  for (guint i = 0; i < n; i++)
    {
      const char *name = names != NULL && names->n > 0 ? names->strings[i].data
                                                       : defaults[i % n_each];
      Activation *activation = &activations[i / n_each][i % n_each];
      activation->kind = find_kind (name);
      if (activation->kind == NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "there is no activation \"%s\"",
                             name);
      const Kind *kind = activation->kind;
      activation->alpha = next_parameter (alphas, kind->takes_alpha, kind->alpha, &used_alphas);
      activation->beta = next_parameter (betas, kind->takes_beta, kind->beta, &used_betas);
    }
  return TRUE;
}

/* -- a layer -- */

typedef struct _Layer Layer;

/* One direction of a layer: its rows of the weights, with the gates as blocks of hidden rows. */
typedef struct
{
  const double *w, *r;           /* [gates · hidden, in] and [gates · hidden, hidden] */
  const double *w_bias, *r_bias; /* [gates · hidden] each */
  const double *peephole;        /* [3 · hidden] */
  Activation activations[MAX_ACTIVATIONS];
} Direction;

/* The attention of AttnLSTM: the memory of all samples, and for each direction the memory as the state
 * is held against it. */
typedef struct
{
  IrRecurrentMemory sizes;
  double *contents, *keys[2]; /* [batch, steps, depth], [batch, steps, inner] */
  double *query, *v, *layer;  /* weights of all directions; the last nullable: AW */
  double *weights_of_memory;
  double *scores, *turned, *context; /* scratch: [steps], [inner], [depth] */
} Memory;

struct _Layer
{
  IrCall *call;
  IrRecurrent sizes;
  Memory *memory;    /* (nullable) */
  double *step_x;    /* (nullable) scratch: X of a step, and what it attends to behind it: [in] */
  gint64 in, hidden; /* columns of W */
  double clip;
  gboolean linear_before_reset, input_forget;
  /* One step: from x and the states h and c [hidden] to the next states. */
  void (*step) (
      const Layer *layer, const Direction *direction, const double *x, double *h, double *c);
  Direction directions[2];
  double *x, *weights[3], *bias, *peephole;
  double *gates; /* scratch of a step: [gates · hidden] */
  double *h, *c; /* states of the sequence in hand: [hidden] */
};

static double
activate (const Layer *layer, const Activation *activation, double x)
{
  return activation->kind->function (CLAMP (x, -layer->clip, layer->clip), activation->alpha,
                                     activation->beta);
}

static double
from_input (const Layer *layer, const Direction *d, gint64 row, const double *x)
{
  return ir_block_dot (d->w + row * layer->in, x, (guint64) layer->in) + d->w_bias[row];
}

static double
from_state (const Layer *layer, const Direction *d, gint64 row, const double *h)
{
  return ir_block_dot (d->r + row * layer->hidden, h, (guint64) layer->hidden) + d->r_bias[row];
}

/* H = f (W x + R H + B) */
static void
rnn_step (const Layer *layer, const Direction *d, const double *x, double *h, double *c)
{
  double *sums = layer->gates;

  for (gint64 row = 0; row < layer->hidden; row++)
    sums[row] = from_input (layer, d, row, x) + from_state (layer, d, row, h);
  for (gint64 row = 0; row < layer->hidden; row++)
    h[row] = activate (layer, &d->activations[0], sums[row]);
}

/* Gates in the order update, reset, hidden. */
static void
gru_step (const Layer *layer, const Direction *d, const double *x, double *h, double *c)
{
  gint64 n = layer->hidden;
  double *update = layer->gates, *reset = update + n, *hidden = reset + n;

  for (gint64 row = 0; row < 2 * n; row++)
    layer->gates[row] = activate (layer, &d->activations[0],
                                  from_input (layer, d, row, x) + from_state (layer, d, row, h));
  if (layer->linear_before_reset)
    for (gint64 k = 0; k < n; k++)
      hidden[k] = reset[k] * from_state (layer, d, 2 * n + k, h);
  else
    {
      for (gint64 k = 0; k < n; k++)
        reset[k] *= h[k];
      for (gint64 k = 0; k < n; k++)
        hidden[k] = from_state (layer, d, 2 * n + k, reset);
    }
  for (gint64 k = 0; k < n; k++)
    {
      hidden[k] = activate (layer, &d->activations[1],
                            from_input (layer, d, 2 * n + k, x) + hidden[k]);
      h[k] = (1 - update[k]) * hidden[k] + update[k] * h[k];
    }
}

/* Gates in the order input, output, forget, cell; the output gate looks at the new cell. */
static void
lstm_step (const Layer *layer, const Direction *d, const double *x, double *h, double *c)
{
  gint64 n = layer->hidden;
  const Activation *f = &d->activations[0], *g = &d->activations[1], *last = &d->activations[2];
  const double *gates = layer->gates, *peephole = d->peephole;

  for (gint64 row = 0; row < 4 * n; row++)
    layer->gates[row] = from_input (layer, d, row, x) + from_state (layer, d, row, h);
  for (gint64 k = 0; k < n; k++)
    {
      double input = activate (layer, f, gates[k] + peephole[k] * c[k]);
      double forget = layer->input_forget
                          ? 1 - input
                          : activate (layer, f, gates[2 * n + k] + peephole[2 * n + k] * c[k]);
      c[k] = forget * c[k] + input * activate (layer, g, gates[3 * n + k]);
      double output = activate (layer, f, gates[n + k] + peephole[n + k] * c[k]);
      /* Of AttnLSTM, ONNX Runtime does not clip the cell. */
      h[k] = output * (layer->memory != NULL ? last->kind->function (c[k], last->alpha, last->beta)
                                             : activate (layer, last, c[k]));
    }
}

/* -- contents -- */

static double *
zeros_new (const IrCall *call, guint64 n, GError **error)
{
  double *values = ir_block_new (call, n, error);

  if (values != NULL)
    memset (values, 0, sizeof *values * n);
  return values;
}

/* An optional input, or zeros. */
static double *
load_or_zeros (const IrCall *call, guint slot, guint64 n, GError **error)
{
  return ir_call_has_input (call, slot) ? ir_block_load_new (call, slot, error)
                                        : zeros_new (call, n, error);
}

static void
layer_clear (Layer *layer)
{
  g_free (layer->x);
  g_free (layer->step_x);
  for (guint i = 0; i < G_N_ELEMENTS (layer->weights); i++)
    g_free (layer->weights[i]);
  g_free (layer->bias);
  g_free (layer->peephole);
  g_free (layer->gates);
  g_free (layer->h);
  g_free (layer->c);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Layer, layer_clear)

static gboolean
layer_load (Layer *layer, GError **error)
{
  IrCall *call = layer->call;
  guint64 hidden = (guint64) layer->hidden, n = layer->sizes.n_directions;
  guint64 rows = layer->sizes.n_gates * hidden;

  layer->x = ir_block_load_new (call, 0, error);
  layer->weights[0] = layer->x != NULL ? ir_block_load_new (call, 1, error) : NULL;
  layer->weights[1] = layer->weights[0] != NULL ? ir_block_load_new (call, 2, error) : NULL;
  layer->bias = layer->weights[1] != NULL ? load_or_zeros (call, 3, 2 * n * rows, error) : NULL;
  layer->peephole = layer->bias != NULL ? load_or_zeros (call, 7, 3 * n * hidden, error) : NULL;
  layer->gates = layer->peephole != NULL ? ir_block_new (call, rows, error) : NULL;
  layer->h = layer->gates != NULL ? ir_block_new (call, hidden, error) : NULL;
  layer->c = layer->h != NULL ? ir_block_new (call, hidden, error) : NULL;
  if (layer->c == NULL)
    return FALSE;
  for (guint64 d = 0; d < n; d++)
    {
      Direction *direction = &layer->directions[d];
      direction->w = layer->weights[0] + d * rows * (guint64) layer->in;
      direction->r = layer->weights[1] + d * rows * hidden;
      direction->w_bias = layer->bias + 2 * d * rows;
      direction->r_bias = direction->w_bias + rows;
      direction->peephole = layer->peephole + 3 * d * hidden;
    }
  return TRUE;
}

static gboolean
read_length (const IrCall *call, gint64 sequence, gint64 n_steps, gint64 *length, GError **error)
{
  const IrTensor *lengths = ir_call_input (call, 4);

  *length = lengths != NULL ? ir_tensor_get_int64 (lengths, (guint64) sequence) : n_steps;
  return (*length >= 0 && *length <= n_steps) ||
         ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                       "sequence %" G_GINT64_FORMAT " has length %" G_GINT64_FORMAT
                       ", there are %" G_GINT64_FORMAT " steps",
                       sequence, *length, n_steps);
}

/* -- the loop -- */

static guint64
state_place (const Layer *layer, gint64 d, gint64 sequence)
{
  const IrRecurrent *sizes = &layer->sizes;

  return (guint64) ((sizes->batch_first ? sequence * sizes->n_directions + d
                                        : d * sizes->batch + sequence) *
                    layer->hidden);
}

static void
load_state (const Layer *layer, guint slot, gint64 d, gint64 sequence, double *state)
{
  const IrTensor *initial = ir_call_input (layer->call, slot);

  if (initial != NULL)
    ir_block_load (initial, state_place (layer, d, sequence), (guint64) layer->hidden, state);
  else
    memset (state, 0, sizeof *state * (gsize) layer->hidden);
}

static void
store_state (const Layer *layer, guint slot, gint64 d, gint64 sequence, const double *state)
{
  if (ir_call_has_output (layer->call, slot))
    ir_block_store (layer->call->outputs[slot].tensor, state_place (layer, d, sequence),
                    (guint64) layer->hidden, state);
}

static void
store_step (const Layer *layer, gint64 t, gint64 d, gint64 sequence, const double *h)
{
  const IrRecurrent *sizes = &layer->sizes;
  gint64 n = sizes->n_directions;
  gint64 place = sizes->batch_first ? (sequence * sizes->steps + t) * n + d
                                    : (t * n + d) * sizes->batch + sequence;

  if (ir_call_has_output (layer->call, 0))
    ir_block_store (layer->call->outputs[0].tensor, (guint64) (place * layer->hidden),
                    (guint64) layer->hidden, h);
}

/* -- what AttnLSTM attends to -- */

/* Adds @x [k] times @weights [k, n] to @y [n]. */
static void
multiply (const double *x, const double *weights, gint64 k, gint64 n, double *y)
{
  for (gint64 i = 0; i < k; i++)
    ir_block_add_scaled (x[i], weights + i * n, (guint64) n, y);
}

static gboolean
memory_length (const Layer *layer, gint64 sequence, gint64 *length, GError **error)
{
  const IrTensor *lengths = ir_call_input (layer->call, 12);
  gint64 steps = layer->memory->sizes.steps;

  *length = lengths != NULL ? ir_tensor_get_int64 (lengths, (guint64) sequence) : steps;
  return (*length > 0 && *length <= steps) ||
         ir_call_fail (layer->call, error, IR_OP_ERROR_VALUE,
                       "memory %" G_GINT64_FORMAT " has length %" G_GINT64_FORMAT
                       ", there are %" G_GINT64_FORMAT " steps",
                       sequence, *length, steps);
}

/* The sum of the memory, by how well each step of it fits the state @h. */
static void
attend (const Layer *layer, gint64 d, gint64 sequence, gint64 length, const double *h)
{
  const Memory *m = layer->memory;
  const IrRecurrentMemory *sizes = &m->sizes;
  const double *v = m->v + d * sizes->inner;
  double most = -INFINITY, sum = 0;

  ir_block_fill (m->turned, (guint64) sizes->inner, 0);
  multiply (h, m->query + d * layer->hidden * sizes->inner, layer->hidden, sizes->inner, m->turned);
  for (gint64 t = 0; t < length; t++)
    {
      const double *key = m->keys[d] + (sequence * sizes->steps + t) * sizes->inner;
      m->scores[t] = 0;
      for (gint64 i = 0; i < sizes->inner; i++)
        m->scores[t] += v[i] * tanh (key[i] + m->turned[i]);
      most = MAX (most, m->scores[t]);
    }
  for (gint64 t = 0; t < length; t++)
    sum += m->scores[t] = exp (m->scores[t] - most);
  ir_block_fill (m->context, (guint64) sizes->depth, 0);
  for (gint64 t = 0; t < length; t++)
    ir_block_add_scaled (m->scores[t] / sum,
                         m->contents + (sequence * sizes->steps + t) * sizes->depth,
                         (guint64) sizes->depth, m->context);
}

/* What stands behind X in the next step. */
static void
attend_for_next (const Layer *layer, gint64 d, gint64 sequence, gint64 length, const double *h)
{
  const Memory *m = layer->memory;
  const IrRecurrentMemory *sizes = &m->sizes;
  double *next = layer->step_x + layer->sizes.in;

  attend (layer, d, sequence, length, h);
  if (m->layer == NULL)
    {
      memcpy (next, m->context, sizeof *next * (gsize) sizes->depth);
      return;
    }
  const double *weights = m->layer + d * (layer->hidden + sizes->depth) * sizes->size;
  ir_block_fill (next, (guint64) sizes->size, 0);
  multiply (h, weights, layer->hidden, sizes->size, next);
  multiply (m->context, weights + layer->hidden * sizes->size, sizes->depth, sizes->size, next);
}

static void
memory_clear (Memory *m)
{
  g_free (m->contents);
  g_free (m->keys[0]);
  g_free (m->keys[1]);
  g_free (m->query);
  g_free (m->v);
  g_free (m->layer);
  g_free (m->weights_of_memory);
  g_free (m->scores);
  g_free (m->turned);
  g_free (m->context);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Memory, memory_clear)

static gboolean
memory_load (Layer *layer, GError **error)
{
  IrCall *call = layer->call;
  Memory *m = layer->memory;
  const IrRecurrentMemory *sizes = &m->sizes;
  gint64 rows = layer->sizes.batch * sizes->steps;

  if ((m->query = ir_block_load_new (call, 8, error)) == NULL ||
      (m->weights_of_memory = ir_block_load_new (call, 9, error)) == NULL ||
      (m->v = ir_block_load_new (call, 10, error)) == NULL ||
      (m->contents = ir_block_load_new (call, 11, error)) == NULL ||
      (ir_call_has_input (call, 13) && (m->layer = ir_block_load_new (call, 13, error)) == NULL) ||
      (m->scores = ir_block_new (call, (guint64) sizes->steps, error)) == NULL ||
      (m->turned = ir_block_new (call, (guint64) sizes->inner, error)) == NULL ||
      (m->context = ir_block_new (call, (guint64) sizes->depth, error)) == NULL ||
      (layer->step_x = ir_block_new (call, (guint64) layer->in, error)) == NULL)
    return FALSE;
  for (guint d = 0; d < layer->sizes.n_directions; d++)
    {
      m->keys[d] = zeros_new (call, (guint64) (rows * sizes->inner), error);
      if (m->keys[d] == NULL)
        return FALSE;
      for (gint64 row = 0; row < rows && !ir_block_cancelled (call, error); row++)
        multiply (m->contents + row * sizes->depth,
                  m->weights_of_memory + d * sizes->depth * sizes->inner, sizes->depth,
                  sizes->inner, m->keys[d] + row * sizes->inner);
    }
  return !ir_block_cancelled (call, error);
}

/* What a step reads: X, and what the last one attended to. */
static const double *
step_input (const Layer *layer, gint64 row)
{
  if (layer->memory == NULL)
    return layer->x + row * layer->in;
  memcpy (layer->step_x, layer->x + row * layer->sizes.in,
          sizeof *layer->step_x * (gsize) layer->sizes.in);
  return layer->step_x;
}

/* -- a sequence -- */

/* The reverse of a sequence is that of its own steps; those beyond its length stay where they are
 * and give zeros. */
static gboolean
run_sequence (const Layer *layer, gint64 d, gint64 sequence, GError **error)
{
  const IrRecurrent *sizes = &layer->sizes;
  gboolean backwards = sizes->reverse || d == 1;
  gint64 length, there = 0;

  if (!read_length (layer->call, sequence, sizes->steps, &length, error) ||
      (layer->memory != NULL && !memory_length (layer, sequence, &there, error)))
    return FALSE;
  for (gint64 i = sizes->in; layer->memory != NULL && i < layer->in; i++)
    layer->step_x[i] = 0;
  load_state (layer, 5, d, sequence, layer->h);
  load_state (layer, 6, d, sequence, layer->c);
  for (gint64 step = 0; step < length; step++)
    {
      gint64 t = backwards ? length - 1 - step : step;
      gint64 row = sizes->batch_first ? sequence * sizes->steps + t : t * sizes->batch + sequence;
      if (ir_block_cancelled (layer->call, error))
        return FALSE;
      layer->step (layer, &layer->directions[d], step_input (layer, row), layer->h, layer->c);
      store_step (layer, t, d, sequence, layer->h);
      if (layer->memory != NULL)
        attend_for_next (layer, d, sequence, there, layer->h);
    }
  store_state (layer, 1, d, sequence, layer->h);
  store_state (layer, 2, d, sequence, layer->c);
  memset (layer->h, 0, sizeof *layer->h * (gsize) layer->hidden);
  for (gint64 t = length; t < sizes->steps; t++)
    store_step (layer, t, d, sequence, layer->h);
  return TRUE;
}

static gboolean
layer_run (Layer *layer,
           guint n_gates,
           const char *const *activations,
           guint n_activations,
           GError **error)
{
  IrCall *call = layer->call;
  Activation chosen[2][MAX_ACTIVATIONS];

  if (!ir_ref_prepare (call, error) ||
      !(layer->memory != NULL
            ? ir_recurrent_init_attended (&layer->sizes, &layer->memory->sizes, call, error)
            : ir_recurrent_init (&layer->sizes, call, n_gates, error)) ||
      !read_activations (call, activations, n_activations, layer->sizes.n_directions, chosen,
                         error))
    return FALSE;
  layer->clip = ir_call_float (call, "clip", INFINITY);
  if (!(layer->clip > 0))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "clip is %g, it must be positive",
                         layer->clip);
  layer->in = layer->sizes.in + (layer->memory != NULL ? layer->memory->sizes.size : 0);
  layer->hidden = layer->sizes.hidden;
  for (guint i = 0; i < call->n_outputs; i++)
    if (ir_call_has_output (call, i) && ir_block_new_output (call, i, error) == NULL)
      return FALSE;
  if (!layer_load (layer, error) || (layer->memory != NULL && !memory_load (layer, error)))
    return FALSE;
  for (gint64 d = 0; d < layer->sizes.n_directions; d++)
    {
      memcpy (layer->directions[d].activations, chosen[d], sizeof chosen[d]);
      for (gint64 sequence = 0; sequence < layer->sizes.batch; sequence++)
        if (!run_sequence (layer, d, sequence, error))
          return FALSE;
    }
  return TRUE;
}

/* X, W, R, B, sequence_lens, initial_h. Source: ONNX RNN 22. */
gboolean
ir_ref_rnn (IrCall *call, GError **error)
{
  static const char *const activations[] = { "Tanh" };
  g_auto (Layer) layer = { .call = call, .step = rnn_step };

  return layer_run (&layer, 1, activations, G_N_ELEMENTS (activations), error);
}

/* X, W, R, B, sequence_lens, initial_h. Source: ONNX GRU 22. */
gboolean
ir_ref_gru (IrCall *call, GError **error)
{
  static const char *const activations[] = { "Sigmoid", "Tanh" };
  g_auto (Layer) layer = { .call = call, .step = gru_step };

  layer.linear_before_reset = ir_call_int (call, "linear_before_reset", 0) != 0;
  return layer_run (&layer, 3, activations, G_N_ELEMENTS (activations), error);
}

/* X, W, R, B, sequence_lens, initial_h, initial_c, P. Source: ONNX LSTM 22. */
gboolean
ir_ref_lstm (IrCall *call, GError **error)
{
  static const char *const activations[] = { "Sigmoid", "Tanh", "Tanh" };
  g_auto (Layer) layer = { .call = call, .step = lstm_step };

  layer.input_forget = ir_call_int (call, "input_forget", 0) != 0;
  return layer_run (&layer, 4, activations, G_N_ELEMENTS (activations), error);
}

/* As ir_ref_lstm(), and weights of an attention, the memory that it is of, the lengths of that, and
 * the weights of one more layer. Source: com.microsoft AttnLSTM 1. */
gboolean
ir_ref_attn_lstm (IrCall *call, GError **error)
{
  static const char *const activations[] = { "Sigmoid", "Tanh", "Tanh" };
  g_auto (Memory) memory = { 0 };
  g_auto (Layer) layer = { .call = call, .step = lstm_step, .memory = &memory };

  layer.input_forget = ir_call_int (call, "input_forget", 0) != 0;
  return layer_run (&layer, 4, activations, G_N_ELEMENTS (activations), error);
}
