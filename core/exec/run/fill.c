/* Random numbers: splitmix64 (Steele, Lea and Flood 2014), normal by Box and Muller 1958. */
#include "config.h"

#include "core/exec/run/fill.h"

#include "core/exec/run/run.h"
#include "core/ir/hash.h"

#include <math.h>
#include <string.h>

/**
 * ir_random_bits:
 * @state: (inout): changes with each number
 *
 * Returns: 64 random bits
 */
guint64
ir_random_bits (guint64 *state)
{
  return ir_mix64 (*state += G_GUINT64_CONSTANT (0x9e3779b97f4a7c15));
}

/**
 * ir_random_uniform:
 * @state: (inout): changes with each number
 *
 * Returns: a number between 0 and 1, without both
 */
double
ir_random_uniform (guint64 *state)
{
  return ((double) (ir_random_bits (state) >> 11) + 0.5) / 9007199254740992.0;
}

/**
 * ir_random_normal:
 * @state: (inout): changes with each number
 *
 * Returns: a number of the standard normal distribution
 */
double
ir_random_normal (guint64 *state)
{
  double radius = sqrt (-2 * log (ir_random_uniform (state)));

  return radius * cos (2 * G_PI * ir_random_uniform (state));
}

/**
 * ir_random_in_range:
 * @state: (inout): changes with each number
 * @low: the lowest
 * @high: the highest, not below @low
 *
 * Returns: a number from @low to @high, both included
 */
gint64
ir_random_in_range (guint64 *state, gint64 low, gint64 high)
{
  guint64 span = (guint64) high - (guint64) low + 1;

  return (gint64) ((guint64) low +
                   (span != 0 ? ir_random_bits (state) % span : ir_random_bits (state)));
}

/* -- what people say -- */

static const struct
{
  const char *name;
  IrFillKind kind;
  const char *keys[2]; /* (nullable) of a and b */
  double a, b;
} rows[] = {
  { "suitable", IR_FILL_SUITABLE, { NULL }, 0, 0 },
  { "normal", IR_FILL_NORMAL, { "mean", "std" }, 0, 1 },
  { "uniform", IR_FILL_UNIFORM, { "low", "high" }, 0, 1 },
  { "zeros", IR_FILL_CONSTANT, { NULL }, 0, 0 },
  { "ones", IR_FILL_CONSTANT, { NULL }, 1, 0 },
  { "constant", IR_FILL_CONSTANT, { "value" }, 0, 0 },
};

static gboolean
refuse (GError **error, const char *text, const char *needs)
{
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT, "'%s': needs %s", text, needs);
  return FALSE;
}

static gboolean
parse_setting (IrFill *fill, guint row, const char *text, GError **error)
{
  const char *equals = strchr (text, '=');
  const gsize length = equals != NULL ? (gsize) (equals - text) : 0;
  char *end = NULL;
  double number = equals != NULL ? g_ascii_strtod (equals + 1, &end) : 0;

  if (length == 4 && strncmp (text, "seed", 4) == 0)
    {
      fill->has_seed = TRUE;
      if (!g_ascii_string_to_unsigned (equals + 1, 10, 0, G_MAXUINT64, &fill->seed, NULL))
        return refuse (error, text, "a whole number that is not negative");
      return TRUE;
    }
  for (guint i = 0; length > 0 && i < 2; i++)
    if (rows[row].keys[i] != NULL && strlen (rows[row].keys[i]) == length &&
        strncmp (text, rows[row].keys[i], length) == 0)
      {
        *(i == 0 ? &fill->a : &fill->b) = number;
        return (end != equals + 1 && *end == '\0' && isfinite (number)) ||
               refuse (error, text, "a number");
      }
  g_autofree char *needs = g_strdup_printf (
      "%s%s%s%sseed=N of '%s'", rows[row].keys[0] != NULL ? rows[row].keys[0] : "",
      rows[row].keys[0] != NULL ? "=X, " : "", rows[row].keys[1] != NULL ? rows[row].keys[1] : "",
      rows[row].keys[1] != NULL ? "=X or " : "", rows[row].name);
  return refuse (error, text, needs);
}

/**
 * ir_fill_parse:
 * @text: a distribution, and its settings with commas between: "uniform,low=-1,high=1,seed=3"
 * @fill: (out): what it says
 * @error: return location for an error
 *
 * Fails with %IR_EXEC_ERROR_INPUT.
 *
 * Returns: whether it means something
 */
gboolean
ir_fill_parse (const char *text, IrFill *fill, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);

  for (guint i = 0; parts[0] != NULL && i < G_N_ELEMENTS (rows); i++)
    {
      if (strcmp (parts[0], rows[i].name) != 0)
        continue;
      *fill = (IrFill){ rows[i].kind, rows[i].a, rows[i].b, 0, FALSE };
      for (guint k = 1; parts[k] != NULL; k++)
        if (!parse_setting (fill, i, parts[k], error))
          return FALSE;
      if (fill->kind == IR_FILL_UNIFORM && fill->a > fill->b)
        return refuse (error, text, "low not above high");
      return fill->kind != IR_FILL_NORMAL || fill->b >= 0 ||
             refuse (error, text, "a standard deviation that is not negative");
    }
  return refuse (error, text, "suitable, normal, uniform, zeros, ones or constant");
}

/**
 * ir_fill_draw:
 * @fill: not %IR_FILL_SUITABLE
 * @integer: for a whole number
 * @state: (inout): of the numbers
 *
 * Returns: the next number
 */
double
ir_fill_draw (const IrFill *fill, gboolean integer, guint64 *state)
{
  double number = fill->a;

  if (fill->kind == IR_FILL_NORMAL)
    number += fill->b * ir_random_normal (state);
  else if (fill->kind == IR_FILL_UNIFORM && integer)
    number = floor (ceil (fill->a) +
                    ir_random_uniform (state) * (floor (fill->b) - ceil (fill->a) + 1));
  else if (fill->kind == IR_FILL_UNIFORM)
    number += (fill->b - fill->a) * ir_random_uniform (state);
  return integer ? rint (number) : number;
}
