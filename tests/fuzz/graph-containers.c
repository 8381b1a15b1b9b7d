/* Sequences and optional values, as exporters of lists write them: made of tensors, changed, and taken
 * apart again. They are not offered as values to read: what is taken out of them is. */
#include "config.h"

#include "tests/fuzz/graph-parts.h"

static IrValue *
position (Gen *gen, gint64 n)
{
  gint64 at = (gint64) gen_below (gen, (guint) MAX (n, 1)) - (n > 0 && gen_one_in (gen, 3) ? n : 0);

  return gen_one_in (gen, 4) && at >= 0 && n > 0 ? part_input (gen, "k1_", IR_DTYPE_INT64, 0, NULL)
                                                 : part_ints (gen, &at, -1);
}

/* How many items a sequence has. */
static gint64
length_of (Gen *gen, const IrValue *sequence)
{
  return (gint64) ir_tensor_n_items (gen_held (gen, sequence));
}

static IrValue *
item (Gen *gen, const IrValue *like)
{
  IrValue *beside = gen_one_in (gen, 3) ? NULL : part_beside (gen, like, -1);

  return beside != NULL ? beside : part_keeping (gen, (IrValue *) like);
}

static IrValue *
construct (Gen *gen, IrValue *x)
{
  IrValue *items[4] = { x };
  guint n = 1 + gen_below (gen, 4);

  for (guint i = 1; i < n; i++)
    items[i] = item (gen, x);
  return part_try (gen, "SequenceConstruct", n, items, NULL);
}

/* Rows, or parts of some size, along an axis. */
static IrValue *
split (Gen *gen, IrValue *x)
{
  gint64 axis = gen_below (gen, part_rank (gen, x)), each = 1 + gen_below (gen, 3);
  IrValue *sizes = gen_one_in (gen, 2) ? part_ints (gen, &each, -1) : NULL;

  return PART (gen, "SplitToSequence",
               ATTRS (INT ("axis", axis), INT ("keepdims", gen_one_in (gen, 2))), x, sizes);
}

static IrValue *
begin (Gen *gen, IrValue *x)
{
  IrValue *sequence = NULL;

  if (part_rank (gen, x) > 0 && gen_one_in (gen, 2))
    sequence = split (gen, x);
  else if (gen_one_in (gen, 4))
    {
      sequence = part_try (gen, "SequenceEmpty", 0, NULL,
                           ATTRS (INT ("dtype", part_dtype (gen, x))));
      if (sequence != NULL)
        sequence = PART (gen, "SequenceInsert", NULL, sequence, x);
    }
  return sequence != NULL ? sequence : construct (gen, x);
}

static IrValue *
change (Gen *gen, IrValue *sequence, IrValue *x)
{
  gint64 n = length_of (gen, sequence);
  IrValue *y = NULL;

  switch (gen_below (gen, 4))
    {
    case 0:
      y = gen_one_in (gen, 2)
              ? PART (gen, "SequenceInsert", NULL, sequence, item (gen, x))
              : PART (gen, "SequenceInsert", NULL, sequence, item (gen, x), position (gen, n));
      break;
    case 1:
      if (n > 1)
        y = gen_one_in (gen, 2) ? PART (gen, "SequenceErase", NULL, sequence)
                                : PART (gen, "SequenceErase", NULL, sequence, position (gen, n));
      break;
    case 2:
      y = PART (gen, "Identity", NULL, sequence);
      break;
    default:
      y = PART (gen, "Optional", NULL, sequence);
      if (y != NULL)
        y = PART (gen, "OptionalGetElement", NULL, y);
    }
  return y != NULL ? y : sequence;
}

static void
take_apart (Gen *gen, IrValue *sequence)
{
  gint64 n = length_of (gen, sequence);
  IrValue *y = NULL;

  switch (gen_below (gen, 4))
    {
    case 0:
      y = PART (gen, "ConcatFromSequence",
                ATTRS (INT ("axis", gen_below (gen, 2)), INT ("new_axis", 0)), sequence);
      break;
    case 1:
      y = PART (gen, "ConcatFromSequence", ATTRS (INT ("axis", 0), INT ("new_axis", 1)), sequence);
      break;
    case 2:
      y = PART (gen, "SequenceLength", NULL, sequence);
      if (y != NULL)
        PART (gen, "Add", NULL, y, part_ints (gen, &n, -1));
      return;
    default:
      if (n > 0)
        y = PART (gen, "SequenceAt", NULL, sequence, position (gen, n));
    }
  if (y != NULL && ir_dtype_is_float (part_dtype (gen, y)) && gen_one_in (gen, 2))
    part_keeping (gen, y);
}

void
graph_sequences (Gen *gen)
{
  for (guint round = 1 + gen_below (gen, 3); round > 0; round--)
    {
      gint64 dims[3];
      guint rank = gen_below (gen, 4);

      for (guint i = 0; i < rank; i++)
        dims[i] = part_size (gen, 6);
      IrValue *x = part_input (gen, "x", IR_DTYPE_FLOAT, rank, dims);
      IrValue *sequence;

      gen->containers = TRUE;
      sequence = begin (gen, gen_one_in (gen, 2) ? part_keeping (gen, x) : x);
      for (guint i = gen_below (gen, 4); sequence != NULL && i > 0; i--)
        sequence = change (gen, sequence, x);
      for (guint i = 1 + gen_below (gen, 3); sequence != NULL && i > 0; i--)
        take_apart (gen, sequence);
      gen->containers = FALSE;
    }
}
