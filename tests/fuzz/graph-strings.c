/* Strings: joined, split, compared, normalized, counted, and moved as other elements are. */
#include "config.h"

#include "tests/fuzz/graph-parts.h"

/* Strings of the dims of @like, given or constant. */
static IrValue *
words_like (Gen *gen, IrValue *like)
{
  const IrTensor *held = gen_held (gen, like);

  if (gen_one_in (gen, 2))
    {
      IrValue *beside = part_beside (gen, like, -1);
      return beside != NULL ? beside : like;
    }
  return part_words (gen, ir_tensor_rank (held), ir_tensor_dims (held));
}

static IrValue *
compute (Gen *gen, IrValue *x)
{
  IrValue *y = NULL;

  switch (gen_below (gen, 6))
    {
    case 0:
      return PART_OR (PART (gen, "StringConcat", NULL, x, words_like (gen, x)), x);
    case 1:
      y = PART (gen, "Equal", NULL, x, words_like (gen, x));
      return y != NULL ? PART_OR (PART (gen, "Where", NULL, y, x, words_like (gen, x)), x) : x;
    case 2:
      PART (gen, "RegexFullMatch", ATTRS (STRING ("pattern", "[a-z]+( [a-z]+)*")), x);
      return x;
    case 3:
      PART (gen, "StringSplit", ATTRS (STRING ("delimiter", " "), INT ("maxsplit", 2)), x);
      return x;
    case 4:
      if (part_rank (gen, x) == 1)
        return PART_OR (
            PART (gen, "StringNormalizer",
                  ATTRS (STRING ("case_change_action", "UPPER"), INT ("is_case_sensitive", 1)), x),
            x);
      return x;
    default:
      PART (gen, "Unique", NULL, x);
      return x;
    }
}

static IrValue *
move (Gen *gen, IrValue *x)
{
  guint rank = part_rank (gen, x);
  gint64 axis = rank > 0 ? gen_below (gen, rank) : 0, all = -1, order[IR_MAX_RANK], zero = 0,
         twice[IR_MAX_RANK];

  for (guint i = 0; i < rank; i++)
    {
      order[i] = i;
      twice[i] = i == (guint) axis ? 2 : 1;
    }
  gen_shuffle (gen, order, rank);
  switch (rank > 0 ? gen_below (gen, 7) : 0)
    {
    case 0:
      return part_reshape (gen, x, 1, &all);
    case 1:
      return part_transpose (gen, x, order);
    case 2:
      return PART_OR (PART (gen, "Concat", ATTRS (INT ("axis", axis)), x, words_like (gen, x)), x);
    case 3:
      return part_dim (gen, x, (int) axis) > 1
                 ? part_slice (gen, x, axis, 0, part_dim (gen, x, (int) axis) - 1)
                 : x;
    case 4:
      return part_dim (gen, x, (int) axis) > 0
                 ? PART_OR (PART (gen, "Gather", ATTRS (INT ("axis", axis)), x,
                                  part_ints (gen, &zero, 1)),
                            x)
                 : x;
    case 5:
      return PART_OR (PART (gen, "Tile", NULL, x, part_ints (gen, twice, (gint) rank)), x);
    default:
      return PART_OR (PART (gen, "Identity", NULL, x), x);
    }
}

/* Numbers as strings and back. */
static void
convert (Gen *gen)
{
  gint64 dims[] = { part_size (gen, 5), part_size (gen, 4) };
  gboolean whole = gen_one_in (gen, 2);
  IrDtype dtype = whole ? IR_DTYPE_INT64 : IR_DTYPE_FLOAT;
  IrValue *x = part_input (gen, "x", dtype, 2, dims);
  IrValue *y = PART (gen, "Cast", ATTRS (INT ("to", IR_DTYPE_STRING)), x);

  if (y != NULL && gen_one_in (gen, 2))
    y = move (gen, y);
  if (y != NULL)
    PART (gen, "Cast", ATTRS (INT ("to", dtype)), y);
}

void
graph_strings (Gen *gen)
{
  gint64 dims[3];
  guint rank = 1 + gen_below (gen, 3);

  for (guint i = 0; i < rank; i++)
    dims[i] = part_size (gen, 5);
  IrValue *x = part_input (gen, "s", IR_DTYPE_STRING, rank, dims);
  if (gen_one_in (gen, 2))
    part_input (gen, "s", IR_DTYPE_STRING, rank, dims);
  for (guint i = 2 + gen_below (gen, 8); i > 0; i--)
    x = gen_one_in (gen, 2) ? compute (gen, x) : move (gen, x);
  if (gen_one_in (gen, 3))
    convert (gen);
}
