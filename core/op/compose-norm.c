/* Normalizations, embeddings and activations that ONNX Runtime's optimizer fuses, as compositions
 * of what fusions of our own make. */
#include "config.h"

#include "core/op/compose-util.h"

/* -- activations -- */

void
ir_compose_bias_gelu (IrCompose *c)
{
  IrPart *sum = ir_compose (c, IR_OP_ADD, 2, ir_compose_input (c, 0), ir_compose_input (c, 1));

  ir_compose_result (c, 0, ir_compose (c, IR_OP_LATE_GELU, 1, sum));
}

void
ir_compose_fast_gelu (IrCompose *c)
{
  IrPart *x = ir_compose_input (c, 0), *bias = ir_compose_input (c, 1);

  if (bias != NULL)
    x = ir_compose (c, IR_OP_ADD, 2, x, bias);
  ir_compose_result (c, 0, ir_compose (c, IR_OP_LATE_GELU_TANH, 1, x));
}

void
ir_compose_quick_gelu (IrCompose *c)
{
  ir_compose_set_float (c, "alpha", ir_call_float (c->call, "alpha", 1.702f));
  ir_compose_result (c, 0, ir_compose (c, IR_OP_LATE_SWISH, 1, ir_compose_input (c, 0)));
}

/* -- normalizations of a sum -- */

static gboolean
same_shape (const IrPart *a, const IrPart *b)
{
  return a != NULL && b != NULL && a->type != NULL && a->type == b->type &&
         ir_type_is_static (a->type);
}

/* LayerNormalization over the last axis; outputs 1 and 2 are the mean and the inverse deviation. */
static void
normalize (IrCompose *c, IrPart *sum, IrPart *scale, IrPart *bias)
{
  gboolean plain = !ir_compose_wants (c, 1) && !ir_compose_wants (c, 2) && bias != NULL;
  IrPart *inputs[] = { sum, scale, bias }, *outputs[3] = { NULL };

  ir_compose_set_float (c, "epsilon", ir_call_float (c->call, "epsilon", 1e-12f));
  ir_compose_many (c, plain ? IR_OP_LATE_LAYER_NORMALIZATION : IR_OP_LAYER_NORMALIZATION, 3, inputs,
                   plain ? 1 : 3, outputs);
  for (guint i = 0; i < 3; i++)
    ir_compose_result (c, i, outputs[i]);
}

/* input, skip, gamma, beta, bias. The sum goes to output 3. */
void
ir_compose_skip_layer_norm (IrCompose *c)
{
  IrPart *x = ir_compose_input (c, 0), *skip = ir_compose_input (c, 1);
  IrPart *inputs[] = { x, skip, ir_compose_input (c, 2), ir_compose_input (c, 3) }, *outputs[2];
  IrPart *bias = ir_compose_input (c, 4);
  gboolean with_sum = ir_compose_wants (c, 3);

  if (bias == NULL && inputs[3] != NULL && same_shape (x, skip) && !ir_compose_wants (c, 1) &&
      !ir_compose_wants (c, 2))
    {
      ir_compose_set_float (c, "epsilon", ir_call_float (c->call, "epsilon", 1e-12f));
      ir_compose_many (c, with_sum ? IR_OP_ADD_LAYER_NORMALIZATION : IR_OP_SKIP_LAYER_NORMALIZATION,
                       4, inputs, with_sum ? 2 : 1, outputs);
      ir_compose_result (c, 0, outputs[0]);
      ir_compose_result (c, 3, with_sum ? outputs[1] : NULL);
      return;
    }
  IrPart *sum = ir_compose (c, IR_OP_ADD, 2, x, skip);
  if (bias != NULL)
    sum = ir_compose (c, IR_OP_ADD, 2, sum, bias);
  normalize (c, sum, inputs[2], inputs[3]);
  ir_compose_result (c, 3, sum);
}

/* input, skip, gamma, bias. */
void
ir_compose_skip_rms_norm (IrCompose *c)
{
  IrPart *sum = ir_compose (c, IR_OP_ADD, 2, ir_compose_input (c, 0), ir_compose_input (c, 1));
  IrPart *bias = ir_compose_input (c, 3);

  if (bias != NULL)
    sum = ir_compose (c, IR_OP_ADD, 2, sum, bias);
  ir_compose_set_float (c, "epsilon", ir_call_float (c->call, "epsilon", 1e-12f));
  ir_compose_result (c, 0,
                     ir_compose (c, IR_OP_LATE_RMS_NORMALIZATION, 2, sum, ir_compose_input (c, 2)));
  ir_compose_result (c, 3, sum);
}

/* -- embeddings -- */

/* The sums of a mask's rows, as int32, or zeros. */
static IrPart *
mask_index (IrCompose *c, IrPart *ids, IrPart *mask)
{
  const gint64 last = 1;

  if (mask == NULL)
    mask = ir_compose (c, IR_OP_SUB, 2, ids, ids);
  ir_compose_set_int (c, "keepdims", 0);
  return ir_compose (c, IR_OP_REDUCE_SUM, 2, mask, ir_compose_ints (c, 1, &last));
}

/* Row 0, 1, ... of the table of positions for each position. */
static IrPart *
all_positions (IrCompose *c, IrPart *table, IrPart *ids)
{
  const gint64 zero = 0;
  IrPart *count;

  ir_compose_set_int (c, "start", 1);
  count = ir_compose (c, IR_OP_SHAPE, 1, ids);
  return ir_compose (c, IR_OP_SLICE, 4, table, ir_compose_ints (c, 1, &zero), count,
                     ir_compose_ints (c, 1, &zero));
}

/* The tables of words, positions and (nullable) segments, and gamma and beta. */
typedef struct
{
  IrPart *words, *positions, *segments, *gamma, *beta;
} Tables;

static void
embed (IrCompose *c, const Tables *t, IrPart *mask, IrPart *position_ids)
{
  IrPart *ids = ir_compose_input (c, 0), *segment_ids = ir_compose_input (c, 1);
  IrPart *sum = ir_compose (c, IR_OP_GATHER, 2, t->words, ids), *inputs[3], *y;
  IrPart *at = position_ids != NULL ? ir_compose (c, IR_OP_GATHER, 2, t->positions, position_ids)
                                    : all_positions (c, t->positions, ids);

  sum = ir_compose (c, IR_OP_ADD, 2, sum, at);
  if (t->segments != NULL && segment_ids != NULL)
    sum = ir_compose (c, IR_OP_ADD, 2, sum,
                      ir_compose (c, IR_OP_GATHER, 2, t->segments, segment_ids));
  inputs[0] = sum;
  inputs[1] = t->gamma;
  inputs[2] = t->beta;
  ir_compose_set_float (c, "epsilon", ir_call_float (c->call, "epsilon", 1e-12f));
  ir_compose_many (c, IR_OP_LATE_LAYER_NORMALIZATION, 3, inputs, 1, &y);
  ir_compose_result (c, 0, y);
  if (ir_compose_wants (c, 1))
    ir_compose_result (c, 1, mask_index (c, ids, mask));
  ir_compose_result (c, 2, sum);
}

/* input_ids, segment_ids, three tables, gamma, beta, a mask, position_ids. */
void
ir_compose_embed_layer_norm (IrCompose *c)
{
  const Tables tables = { ir_compose_input (c, 2), ir_compose_input (c, 3), ir_compose_input (c, 4),
                          ir_compose_input (c, 5), ir_compose_input (c, 6) };

  embed (c, &tables, ir_compose_input (c, 7), ir_compose_input (c, 8));
}

static IrPart *
real_table (IrCompose *c, guint slot, guint scale)
{
  if (ir_compose_input (c, slot) == NULL)
    return NULL;
  return ir_compose (c, IR_OP_DEQUANTIZE_LINEAR, 3, ir_compose_input (c, slot),
                     ir_compose_input (c, scale), ir_compose_input (c, scale + 5));
}

/* The same with quantized tables: scales in inputs 8 to 12, zero points behind them. */
void
ir_compose_q_embed_layer_norm (IrCompose *c)
{
  const Tables tables = { real_table (c, 2, 8), real_table (c, 3, 9), real_table (c, 4, 10),
                          real_table (c, 5, 11), real_table (c, 6, 12) };

  embed (c, &tables, ir_compose_input (c, 7), NULL);
}
