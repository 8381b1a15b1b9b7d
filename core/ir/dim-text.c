/* Symbolic dimensions as text, and back. */
#include "config.h"

#include "core/ir/poly.h"
#include "core/ir/scanner.h"

#include <errno.h>
#include <string.h>

/**
 * ir_dim_to_string:
 * @context: context of @dim
 * @dim: any dim
 *
 * Returns: (transfer full): "?", "3", a symbol's own name, or an expression that ir_dim_parse()
 *   reads back: "2*n + 1", "batch*seq", "floor(n/2)", "max(n, 1)"
 */
char *
ir_dim_to_string (IrContext *context, IrDim dim)
{
  const char *name = ir_dim_symbol_name (context, dim);
  g_autoptr (GString) text = g_string_new (name);
  const IrPoly *poly;

  if (name != NULL)
    return g_strdup (name);
  if (dim >= 0)
    return g_strdup_printf ("%" G_GINT64_FORMAT, dim);
  g_rec_mutex_lock (&context->lock);
  poly = ir_poly_from_dim (context, dim);
  if (poly != NULL)
    ir_poly_append (text, poly);
  else
    g_string_append_c (text, '?');
  g_rec_mutex_unlock (&context->lock);
  return g_strdup (text->str);
}

/* A value while parsing is a fraction, so that floor(n/2 + 1/2) means what it says. */
typedef struct
{
  const IrPoly *above, *below; /* above NULL: not an expression */
} Fraction;

typedef struct
{
  IrContext *context;
  const char *at;
  guint depth;
} Parser;

static Fraction parse_sum (Parser *parser);

static Fraction
whole (Parser *parser, const IrPoly *poly)
{
  return (Fraction){ poly, ir_poly_constant (parser->context, 1) };
}

static const IrPoly *
to_poly (Parser *parser, Fraction value)
{
  return ir_poly_exact_div (parser->context, value.above, value.below);
}

static Fraction
add_fractions (Parser *parser, Fraction a, Fraction b, gint64 sign)
{
  IrContext *context = parser->context;

  if (a.above == NULL || b.above == NULL)
    return (Fraction){ NULL, NULL };
  if (a.below == b.below)
    return (Fraction){ ir_poly_combine (context, a.above, b.above, sign), a.below };
  return (Fraction){ ir_poly_combine (context, ir_poly_mul (context, a.above, b.below),
                                      ir_poly_mul (context, b.above, a.below), sign),
                     ir_poly_mul (context, a.below, b.below) };
}

static Fraction
mul_fractions (Parser *parser, Fraction a, Fraction b)
{
  return (Fraction){ ir_poly_mul (parser->context, a.above, b.above),
                     ir_poly_mul (parser->context, a.below, b.below) };
}

static Fraction
div_fractions (Parser *parser, Fraction a, Fraction b)
{
  if (b.above == NULL || b.above->n == 0)
    return (Fraction){ NULL, NULL };
  return (Fraction){ ir_poly_mul (parser->context, a.above, b.below),
                     ir_poly_mul (parser->context, a.below, b.above) };
}

static const IrPoly *
floor_fraction (Parser *parser, Fraction value)
{
  return ir_poly_floordiv (parser->context, value.above, value.below);
}

/* Arguments of a function, up to the closing parenthesis. */
static Fraction
parse_call (Parser *parser, const char *name)
{
  IrContext *context = parser->context;
  gboolean is_min = g_ascii_strcasecmp (name, "min") == 0;
  gboolean is_max = g_ascii_strcasecmp (name, "max") == 0;
  Fraction first = parse_sum (parser);
  const IrPoly *result = NULL;

  if (strcmp (name, "floor") == 0)
    result = floor_fraction (parser, first);
  else if (strcmp (name, "ceil") == 0 || strcmp (name, "ceiling") == 0)
    result = first.above != NULL ? ir_poly_ceildiv (context, first.above, first.below) : NULL;
  else if (g_ascii_strcasecmp (name, "mod") == 0 && ir_accept (&parser->at, ","))
    result = ir_poly_mod (context, to_poly (parser, first), to_poly (parser, parse_sum (parser)));
  else if (is_min || is_max)
    {
      result = to_poly (parser, first);
      while (result != NULL && ir_accept (&parser->at, ","))
        result = ir_poly_extreme (context, is_min ? IR_ATOM_MIN : IR_ATOM_MAX, result,
                                  to_poly (parser, parse_sum (parser)));
    }
  return whole (parser, result != NULL && ir_accept (&parser->at, ")") ? result : NULL);
}

static Fraction
parse_symbol (Parser *parser, const char *name, gsize length)
{
  IrAtom key = { .kind = IR_ATOM_SYMBOL };
  key.text = ir_context_intern_len (parser->context, name, (gssize) length);
  return whole (parser, ir_poly_of_atom (parser->context, ir_poly_atom (parser->context, &key)));
}

static Fraction
parse_number (Parser *parser)
{
  char *end;
  guint64 value;

  errno = 0;
  value = g_ascii_strtoull (parser->at, &end, 10);
  if (errno != 0 || value > (guint64) G_MAXINT64 || ir_dim_name_length (end) > 0 || *end == '.')
    return whole (parser, NULL);
  parser->at = end;
  return whole (parser, ir_poly_constant (parser->context, (gint64) value));
}

static Fraction
parse_primary (Parser *parser)
{
  gsize length;
  const char *start, *end;
  Fraction value = { NULL, NULL };

  ir_skip_space (&parser->at);
  start = parser->at;
  if (g_ascii_isdigit (*start))
    return parse_number (parser);
  if (*start == '\'' && (end = strchr (start + 1, '\'')) != NULL && end > start + 1)
    {
      parser->at = end + 1;
      return parse_symbol (parser, start + 1, (gsize) (end - start - 1));
    }
  if (ir_accept (&parser->at, "("))
    {
      value = parse_sum (parser);
      return ir_accept (&parser->at, ")") ? value : (Fraction){ NULL, NULL };
    }
  length = ir_dim_name_length (start);
  if (length == 0)
    return value;
  parser->at += length;
  if (*parser->at == '(')
    {
      g_autofree char *name = g_strndup (start, length);
      parser->at++;
      return parse_call (parser, name);
    }
  return parse_symbol (parser, start, length);
}

static Fraction
parse_power (Parser *parser)
{
  Fraction base = parse_primary (parser), result;
  guint64 exponent;
  char *end;

  if (base.above == NULL || !(ir_accept (&parser->at, "**") || ir_accept (&parser->at, "^")))
    return base;
  ir_skip_space (&parser->at);
  exponent = g_ascii_strtoull (parser->at, &end, 10);
  if (!g_ascii_isdigit (*parser->at) || exponent > IR_POLY_MAX_DEGREE)
    return (Fraction){ NULL, NULL };
  parser->at = end;
  result = whole (parser, ir_poly_constant (parser->context, 1));
  for (guint64 i = 0; i < exponent; i++)
    result = mul_fractions (parser, result, base);
  return result;
}

static Fraction
parse_unary (Parser *parser)
{
  gboolean negative = FALSE;

  for (guint i = 0; i < IR_DIM_MAX_DEPTH; i++)
    if (ir_accept (&parser->at, "-"))
      negative = !negative;
    else
      break;
  if (!negative)
    return parse_power (parser);
  return mul_fractions (parser, whole (parser, ir_poly_constant (parser->context, -1)),
                        parse_power (parser));
}

static Fraction
parse_product (Parser *parser)
{
  Fraction value = parse_unary (parser), by;
  IrContext *context = parser->context;

  while (value.above != NULL && value.below != NULL)
    if (ir_accept (&parser->at, "//"))
      {
        by = parse_unary (parser);
        value = whole (parser, floor_fraction (parser, div_fractions (parser, value, by)));
      }
    else if (ir_accept (&parser->at, "/"))
      value = div_fractions (parser, value, parse_unary (parser));
    else if (ir_accept (&parser->at, "%"))
      value = whole (parser, ir_poly_mod (context, to_poly (parser, value),
                                          to_poly (parser, parse_unary (parser))));
    else if (ir_accept (&parser->at, "*"))
      value = mul_fractions (parser, value, parse_unary (parser));
    else
      return value;
  return (Fraction){ NULL, NULL };
}

static Fraction
parse_sum (Parser *parser)
{
  Fraction value = { NULL, NULL };

  if (++parser->depth > IR_DIM_MAX_DEPTH)
    return value;
  value = parse_product (parser);
  while (value.above != NULL)
    if (ir_accept (&parser->at, "+"))
      value = add_fractions (parser, value, parse_product (parser), 1);
    else if (ir_accept (&parser->at, "-"))
      value = add_fractions (parser, value, parse_product (parser), -1);
    else
      break;
  parser->depth--;
  return value;
}

/**
 * ir_dim_parse:
 * @context: where it lives
 * @text: a dim as ir_dim_to_string() prints it, or any text (dim_param of a file)
 *
 * Knows numbers, names, 'quoted names', + - * / // % ** parentheses, floor, ceil, mod, min and max.
 * A text that is no expression in whole numbers is the name of a symbol, kept as it is.
 *
 * Returns: the dim; %IR_DIM_UNKNOWN for "" and "?"
 */
IrDim
ir_dim_parse (IrContext *context, const char *text)
{
  Parser parser = { context, text, 0 };
  const IrPoly *poly = NULL;
  IrNumber number;

  if (text[0] == '\0' || strcmp (text, "?") == 0)
    return IR_DIM_UNKNOWN;
  if (ir_dim_name_length (text) == strlen (text) || strlen (text) > IR_DIM_MAX_TEXT)
    return ir_dim_symbol (context, text);
  g_rec_mutex_lock (&context->lock);
  {
    Fraction value = parse_sum (&parser);
    ir_skip_space (&parser.at);
    if (value.above != NULL && value.below != NULL && *parser.at == '\0')
      poly = to_poly (&parser, value);
  }
  number = ir_poly_to_number (poly);
  g_rec_mutex_unlock (&context->lock);
  if (poly == NULL || (number.known && number.value < 0))
    return ir_dim_symbol (context, text);
  return ir_number_to_dim (number);
}
