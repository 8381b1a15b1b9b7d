/* The CPU kernel of a random node is called as a plan might call it, by what it declares: operands
 * in blocks of channels, whose lanes beyond the last channel hold NaN, as kernels may leave there
 * what they like; operands at odd addresses; the output over an input; pieces of operands. Where it
 * declares what it does not do, it gives something else than the reference kernel. */
#include "config.h"

#include "tests/fuzz/op-terms.h"

#include "core/exec/cpu/cpu.h"

#include <math.h>
#include <string.h>

#define MOST_OUTPUTS 16
#define MOST_BYTES   (1 << 20) /* of an operand: larger ones are left alone */

typedef struct
{
  const Trial *trial;
  const IrNode *node;
  const IrBackend *backend;
  GRand *rand;
  guint lanes;                        /* of blocks; 0: there are none on this machine */
  IrTensor *inputs[TRIAL_MAX_INPUTS]; /* (owned) (nullable) as they are given */
  guint8 *memory[TRIAL_MAX_INPUTS];   /* (owned) (nullable) of inputs */
  guint blocks[TRIAL_MAX_INPUTS], out_block;
  guint8 *over; /* (nullable) where output 0 is written: an input */
  gsize over_bytes;
  char *broken; /* (nullable) what the kernel got and does not declare */
} Try;

static void
try_clear (Try *self)
{
  for (guint i = 0; i < TRIAL_MAX_INPUTS; i++)
    {
      g_clear_pointer (&self->inputs[i], ir_tensor_unref);
      g_clear_pointer (&self->memory[i], g_free);
    }
  g_clear_pointer (&self->broken, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Try, try_clear)

static gboolean
flip (Try *self)
{
  return g_rand_boolean (self->rand);
}

/* Whether a plan may keep @value, which holds @tensor, in blocks. */
static gboolean
may_be_blocks (const Try *self, const IrValue *value, const IrTensor *tensor)
{
  return self->lanes != 0 && value != NULL && value->type != NULL &&
         ir_value_constant (value) == NULL && !ir_tensor_is_container (tensor) &&
         ir_tensor_dtype (tensor) == IR_DTYPE_FLOAT && ir_tensor_rank (tensor) == 4 &&
         ir_tensor_n_elements (tensor) > 0 && ir_tensor_n_bytes (tensor) <= MOST_BYTES &&
         ir_tensor_type (tensor, self->trial->model->context) == value->type;
}

/* -- operands -- */

static void
spoil_padding (float *blocks, const gint64 *dims, guint lanes)
{
  gint64 n_blocks = (dims[1] + lanes - 1) / lanes, plane = dims[2] * dims[3];

  for (gint64 i = 0; i < dims[0] * plane; i++)
    for (gint64 c = dims[1]; c < n_blocks * lanes; c++)
      {
        gint64 at = (i / plane * n_blocks + c / lanes) * plane + i % plane;
        blocks[at * lanes + c % lanes] = NAN;
      }
}

/* Room for a copy of @bytes, which begins @at bytes after a multiple of 64. */
static guint8 *
new_memory (Try *self, guint slot, gsize bytes, guint at)
{
  self->memory[slot] = g_malloc0 (bytes + 128);
  guintptr start = (GPOINTER_TO_SIZE (self->memory[slot]) + 63) & ~(guintptr) 63;
  return self->memory[slot] + (start - GPOINTER_TO_SIZE (self->memory[slot])) + at;
}

static void
give_in_blocks (Try *self, guint slot, const IrTensor *tensor)
{
  const gint64 *d = ir_tensor_dims (tensor);
  gint64 dims[] = { d[0], (d[1] + self->lanes - 1) / self->lanes, d[2], d[3], self->lanes };
  gsize bytes = (gsize) (dims[0] * dims[1] * dims[2] * dims[3] * dims[4]) * sizeof (float);
  float *to = (float *) (gpointer) new_memory (self, slot, bytes, 0);

  ir_nchwc_from_plain (ir_tensor_data (tensor), to, d[0], d[1], d[2] * d[3], self->lanes, 1);
  spoil_padding (to, d, self->lanes);
  self->inputs[slot] = ir_tensor_new_static (IR_DTYPE_FLOAT, 5, dims, to, bytes);
  self->blocks[slot] = self->lanes;
}

static void
give_copy (Try *self, guint slot, const IrTensor *tensor, guint at)
{
  gsize bytes = ir_tensor_n_bytes (tensor);
  guint8 *to = new_memory (self, slot, bytes, at);

  memcpy (to, ir_tensor_data (tensor), bytes);
  self->inputs[slot] = ir_tensor_new_static (ir_tensor_dtype (tensor), ir_tensor_rank (tensor),
                                             ir_tensor_dims (tensor), to, bytes);
}

static gboolean
has_bytes (const IrTensor *tensor)
{
  return !ir_tensor_is_container (tensor) && ir_tensor_sparse_values (tensor) == NULL &&
         ir_tensor_dtype (tensor) != IR_DTYPE_STRING && ir_tensor_n_bytes (tensor) > 0 &&
         ir_tensor_n_bytes (tensor) <= MOST_BYTES;
}

static void
give_as_is (Try *self, guint slot)
{
  if (self->inputs[slot] == NULL)
    self->inputs[slot] = ir_tensor_ref (self->trial->tensors[slot]);
}

/* -- calls -- */

static IrTensor *
give_memory (
    IrCall *call, guint output, IrDtype dtype, guint rank, const gint64 *dims, GError **error)
{
  const Try *self = call->alloc_data;
  gsize bytes = 0;
  guint64 n = 1;

  for (guint i = 0; i < rank; i++)
    n *= (guint64) dims[i];
  if (output == 0 && self->over != NULL && ir_dtype_storage_bytes (dtype, n, &bytes) &&
      bytes == self->over_bytes)
    return ir_tensor_new_static (dtype, rank, dims, self->over, bytes);
  return ir_tensor_new_alloc (dtype, rank, dims, error);
}

/* Called when the kernel gets what it gets. */
static void
look (const IrCall *call, gboolean blocks, gpointer data)
{
  Try *self = data;

  for (guint i = 0; i < call->n_inputs && i < self->node->n_inputs; i++)
    {
      if (!call->inputs[i].present || self->broken != NULL)
        continue;
      IrInputTerms terms = ir_backend_input_terms (self->backend, self->node, i, blocks);
      if (!(terms.layouts & (call->inputs[i].block != 0 ? IR_LAYOUT_NCHWC : IR_LAYOUT_PLAIN)))
        self->broken = g_strdup_printf ("input %u comes %s, which the kernel does not declare", i,
                                        call->inputs[i].block != 0 ? "in blocks" : "plain");
    }
}

static void
fill_call (Try *self, IrCall *call, IrScratch *scratch)
{
  for (guint i = 0; i < self->node->n_inputs; i++)
    {
      if (self->node->inputs[i] == NULL)
        continue;
      ir_call_set_input (call, i, self->inputs[i]);
      call->inputs[i].block = (guint8) self->blocks[i];
      if (self->blocks[i] != 0)
        call->inputs[i].type = self->node->inputs[i]->type;
    }
  if (call->n_outputs > 0)
    call->outputs[0].block = (guint8) self->out_block;
  call->scratch = scratch;
  call->alloc = give_memory;
  call->alloc_data = self;
  call->ready = look;
  call->ready_data = self;
}

static char *
compare_output (
    Try *self, guint slot, IrTensor *found, const IrTensor *wanted, TermsCompare compare)
{
  g_autoptr (IrTensor) plain = slot == 0 && self->out_block != 0
                                   ? ir_nchwc_to_graph (found, self->node->outputs[0]->type, NULL)
                                   : ir_tensor_ref (found);
  return compare (self->trial, slot, plain, wanted);
}

/* (transfer full) (nullable): what is wrong, @how that was being a few words */
static char *
call_kernel (Try *self, IrTensor *const *wanted, const char *how, TermsCompare compare)
{
  IrKernelFunc kernel = self->backend->kernel (self->node);
  g_autoptr (GError) error = NULL;
  g_autofree char *found = NULL;
  IrScratch scratch = { 0 };
  IrCall call;

  ir_call_layout (&call, self->node);
  fill_call (self, &call, &scratch);
  ir_call_adapt (&call);
  gboolean done = ir_call_check (&call, &error);
  if (done && self->backend->prepare != NULL)
    call.kernel_state = self->backend->prepare (&call, &error);
  done = done && error == NULL && kernel (&call, &error);
  if (call.kernel_state != NULL)
    self->backend->release (g_steal_pointer (&call.kernel_state));
  if (!done)
    found = g_strdup_printf ("refused: %s", error != NULL ? error->message : "without a reason");
  for (guint i = 0; done && found == NULL && i < self->node->n_outputs; i++)
    if (call.outputs[i].tensor != NULL && wanted[i] != NULL)
      found = compare_output (self, i, call.outputs[i].tensor, wanted[i], compare);
  if (found == NULL)
    found = g_steal_pointer (&self->broken);
  for (guint i = 0; i < call.n_outputs; i++)
    g_clear_pointer (&call.outputs[i].tensor, ir_tensor_unref);
  ir_call_clear (&call);
  ir_scratch_clear (&scratch);
  return found != NULL ? g_strdup_printf ("%s: %s", how, found) : NULL;
}

/* -- ways -- */

static char *
describe_layouts (const Try *self)
{
  GString *text = g_string_new ("inputs");

  for (guint i = 0; i < self->node->n_inputs; i++)
    if (self->node->inputs[i] != NULL)
      g_string_append_printf (text, " %s", self->blocks[i] != 0 ? "in blocks" : "plain");
  g_string_append (text, self->out_block != 0 ? ", output in blocks" : ", output plain");
  return g_string_free (text, FALSE);
}

static void
init (Try *self, const Trial *trial, GRand *rand)
{
  *self = (Try){ .trial = trial,
                 .node = trial->node,
                 .backend = ir_backend_find ("cpu"),
                 .rand = rand,
                 .lanes = cpu_lanes () };
}

static char *
try_layouts (Try *self, IrTensor *const *wanted, TermsCompare compare, TermsCounts *counts)
{
  const IrNode *node = self->node;
  const IrValue *out = node->outputs[0];
  gboolean some = FALSE;

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && flip (self) &&
        may_be_blocks (self, node->inputs[i], self->trial->tensors[i]))
      {
        give_in_blocks (self, i, self->trial->tensors[i]);
        some = TRUE;
      }
  if (wanted[0] != NULL && may_be_blocks (self, out, wanted[0]) && flip (self) &&
      (ir_backend_output_terms (self->backend, node).gives & IR_LAYOUT_NCHWC))
    {
      self->out_block = self->lanes;
      some = TRUE;
    }
  if (!some)
    return NULL;
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL)
      give_as_is (self, i);
  g_autofree char *how = describe_layouts (self);
  counts->n_blocks++;
  return call_kernel (self, wanted, how, compare);
}

static char *
try_addresses (Try *self, IrTensor *const *wanted, TermsCompare compare, TermsCounts *counts)
{
  const IrNode *node = self->node;
  gboolean some = FALSE;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      if (node->inputs[i] == NULL)
        continue;
      if (has_bytes (self->trial->tensors[i]) &&
          (ir_backend_input_terms (self->backend, node, i, FALSE).any_address || flip (self)))
        {
          give_copy (self, i, self->trial->tensors[i], (guint) g_rand_int_range (self->rand, 1, 8));
          some = TRUE;
        }
      give_as_is (self, i);
    }
  if (!some)
    return NULL;
  counts->n_loose++;
  return call_kernel (self, wanted, "inputs at odd addresses", compare);
}

/* The same conditions as for a plan: equal bytes, and beyond input 0 one element type. */
static gboolean
may_lie_over (const Try *self, guint slot, const IrTensor *wanted)
{
  const IrTensor *tensor = self->trial->tensors[slot];

  return has_bytes (tensor) && has_bytes (wanted) &&
         ir_tensor_n_bytes (tensor) == ir_tensor_n_bytes (wanted) &&
         (slot == 0 || ir_tensor_dtype (tensor) == ir_tensor_dtype (wanted));
}

static char *
try_over (Try *self, guint slot, IrTensor *const *wanted, TermsCompare compare, TermsCounts *counts)
{
  const IrNode *node = self->node;
  const IrTensor *tensor = self->trial->tensors[slot];
  gboolean blocks = may_be_blocks (self, node->inputs[slot], tensor) &&
                    may_be_blocks (self, node->outputs[0], wanted[0]) &&
                    memcmp (ir_tensor_dims (tensor), ir_tensor_dims (wanted[0]),
                            4 * sizeof (gint64)) == 0 &&
                    (ir_backend_output_terms (self->backend, node).gives & IR_LAYOUT_NCHWC) &&
                    flip (self);

  if (blocks)
    give_in_blocks (self, slot, tensor);
  else
    give_copy (self, slot, tensor, 0);
  self->out_block = blocks ? self->lanes : 0;
  self->over = ir_tensor_data_writable (self->inputs[slot]);
  self->over_bytes = ir_tensor_n_bytes (self->inputs[slot]);
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL)
      give_as_is (self, i);
  g_autofree char *layouts = describe_layouts (self);
  g_autofree char *how = g_strdup_printf ("output over input %u, %s", slot, layouts);
  counts->n_over++;
  return call_kernel (self, wanted, how, compare);
}

/* -- pieces -- */

/* Elements [first, first + n) of every operand that has as many as the output. */
static char *
call_piece (Try *self, IrCall *whole, IrTensor *out, guint64 total, guint64 first, guint64 n)
{
  gint64 dims[] = { (gint64) n };
  IrCallInput inputs[3];
  IrCallOutput output = whole->outputs[0];
  g_autoptr (GError) error = NULL;
  IrCall call = *whole;
  IrTensor *pieces[3] = { NULL };
  char *found = NULL;

  memcpy (inputs, whole->inputs, call.n_inputs * sizeof *inputs);
  for (guint i = 0; i < call.n_inputs; i++)
    if (inputs[i].present && ir_tensor_n_elements (inputs[i].tensor) == total)
      {
        float *data = (float *) ir_tensor_data (inputs[i].tensor);
        pieces[i] = ir_tensor_new_static (IR_DTYPE_FLOAT, 1, dims, data + first,
                                          n * sizeof (float));
        inputs[i].tensor = pieces[i];
      }
  self->over = (guint8 *) ((float *) ir_tensor_data_writable (out) + first);
  self->over_bytes = n * sizeof (float);
  call.inputs = inputs;
  call.outputs = &output;
  if (!self->backend->kernel (self->node) (&call, &error))
    found = g_strdup_printf ("a piece is refused: %s", error->message);
  else if (ir_tensor_data (output.tensor) != self->over)
    found = g_strdup ("a piece is not written where it belongs");
  g_clear_pointer (&output.tensor, ir_tensor_unref);
  for (guint i = 0; i < call.n_inputs; i++)
    g_clear_pointer (&pieces[i], ir_tensor_unref);
  return found;
}

/* Whether all operands have as many elements as the output, or one. */
static gboolean
is_cut_easily (const IrCall *call, const IrTensor *wanted)
{
  guint64 total = ir_tensor_n_elements (wanted);

  if (call->n_inputs > 3 || call->n_outputs != 1 || total < 2 ||
      ir_tensor_dtype (wanted) != IR_DTYPE_FLOAT || ir_tensor_n_bytes (wanted) > MOST_BYTES)
    return FALSE;
  for (guint i = 0; i < call->n_inputs; i++)
    {
      const IrTensor *tensor = call->inputs[i].present ? call->inputs[i].tensor : NULL;
      guint64 n = tensor != NULL ? ir_tensor_n_elements (tensor) : 1;
      if ((n != total && n != 1) || (tensor != NULL && ir_tensor_dtype (tensor) != IR_DTYPE_FLOAT))
        return FALSE;
    }
  return TRUE;
}

static char *
try_pieces (Try *self, IrTensor *const *wanted, TermsCompare compare, TermsCounts *counts)
{
  g_autoptr (IrTensor) out = NULL;
  char *found = NULL;
  IrCall call;

  for (guint i = 0; i < self->node->n_inputs; i++)
    if (self->node->inputs[i] != NULL)
      give_as_is (self, i);
  ir_call_layout (&call, self->node);
  fill_call (self, &call, NULL);
  call.ready = NULL;
  ir_call_adapt (&call);
  if (ir_call_check (&call, NULL) && call.op->infer (&call, NULL) &&
      is_cut_easily (&call, wanted[0]) &&
      (out = ir_tensor_new_alloc (IR_DTYPE_FLOAT, ir_tensor_rank (wanted[0]),
                                  ir_tensor_dims (wanted[0]), NULL)) != NULL)
    {
      guint64 total = ir_tensor_n_elements (out);
      guint64 at = (guint64) g_rand_int_range (self->rand, 1, (gint32) total);
      call.shape_static = TRUE;
      counts->n_pieces++;
      found = call_piece (self, &call, out, total, 0, at);
      if (found == NULL)
        found = call_piece (self, &call, out, total, at, total - at);
      if (found == NULL)
        found = compare (self->trial, 0, out, wanted[0]);
    }
  ir_call_clear (&call);
  g_autofree char *what = found;
  return what != NULL ? g_strdup_printf ("in pieces: %s", what) : NULL;
}

/* -- the whole -- */

typedef char *(*Way) (Try *self,
                      IrTensor *const *wanted,
                      TermsCompare compare,
                      TermsCounts *counts);

/**
 * terms_trial:
 * @trial: a node that the CPU has a kernel for, on inputs that the reference kernel takes
 * @wanted: what that one gives
 * @seed: of what is tried
 * @compare: says what is wrong with an output
 * @counts: counts the calls
 *
 * Returns: (transfer full) (nullable): what is wrong
 */
char *
terms_trial (const Trial *trial,
             IrTensor *const *wanted,
             guint32 seed,
             TermsCompare compare,
             TermsCounts *counts)
{
  static const Way ways[] = { try_layouts, try_addresses };
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  const IrBackend *cpu = ir_backend_find ("cpu");
  const IrNode *node = trial->node;
  char *found = NULL;

  if (node->n_outputs == 0 || node->n_outputs > MOST_OUTPUTS || wanted[0] == NULL)
    return NULL;
  for (guint i = 0; i < G_N_ELEMENTS (ways) && found == NULL; i++)
    {
      g_auto (Try) self = { 0 };
      init (&self, trial, rand);
      found = ways[i](&self, wanted, compare, counts);
    }
  for (guint slot = 0; slot < node->n_inputs && found == NULL; slot++)
    {
      g_auto (Try) self = { 0 };
      init (&self, trial, rand);
      if (node->inputs[slot] != NULL && node->outputs[0] != NULL &&
          may_lie_over (&self, slot, wanted[0]) &&
          ir_backend_input_terms (cpu, node, slot, FALSE).overwritten)
        found = try_over (&self, slot, wanted, compare, counts);
    }
  if (found == NULL && ir_backend_output_terms (cpu, node).tiled)
    {
      g_auto (Try) self = { 0 };
      init (&self, trial, rand);
      found = try_pieces (&self, wanted, compare, counts);
    }
  return found;
}
