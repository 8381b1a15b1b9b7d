#include "config.h"

#include "core/exec/kernel/element-test.h"

#include <math.h>
#include <string.h>

#define POLL_ELEMENTS 65536 /* between looks at whether it was cancelled */

static const struct
{
  const char *text;
  int kind;
} signs[] = {
  { ">=", IR_ELEMENT_GREATER_EQUAL }, { ">", IR_ELEMENT_GREATER }, { "<=", IR_ELEMENT_LESS_EQUAL },
  { "<", IR_ELEMENT_LESS },           { "!=", IR_ELEMENT_OTHER },  { "=", IR_ELEMENT_EQUAL },
  { "", IR_ELEMENT_EQUAL },
};

static const char *
behind_space (const char *text)
{
  while (g_ascii_isspace (*text))
    text++;
  return text;
}

/**
 * ir_element_test_parse:
 * @text: such as "3", ">6", "abs>1e3", "nan" or "inf"
 * @test: (out caller-allocates): what it asks for
 *
 * Returns: %FALSE if it cannot be read
 */
gboolean
ir_element_test_parse (const char *text, IrElementTest *test)
{
  g_autofree char *word = g_ascii_strdown (behind_space (text), -1);
  const char *rest;
  char *end;

  *test = (IrElementTest){ 0 };
  g_strchomp (word);
  if (strcmp (word, "nan") == 0 || strcmp (word, "inf") == 0)
    {
      test->kind = word[0] == 'n' ? IR_ELEMENT_NAN : IR_ELEMENT_INF;
      return TRUE;
    }
  rest = word;
  test->magnitude = g_str_has_prefix (rest, "abs");
  rest = behind_space (rest + (test->magnitude ? strlen ("abs") : 0));
  for (guint i = 0; i < G_N_ELEMENTS (signs); i++)
    if (g_str_has_prefix (rest, signs[i].text))
      {
        test->kind = signs[i].kind;
        rest = behind_space (rest + strlen (signs[i].text));
        break;
      }
  test->number = g_ascii_strtod (rest, &end);
  return end != rest && *end == '\0' && !isnan (test->number);
}

/**
 * ir_element_test_holds:
 * @test: what is searched for
 * @x: an element
 *
 * Returns: whether @x is that
 */
gboolean
ir_element_test_holds (const IrElementTest *test, double x)
{
  const double y = test->magnitude ? fabs (x) : x;

  switch (test->kind)
    {
    case IR_ELEMENT_NAN:
      return isnan (x);
    case IR_ELEMENT_INF:
      return isinf (x);
    case IR_ELEMENT_OTHER:
      return y != test->number;
    case IR_ELEMENT_GREATER:
      return y > test->number;
    case IR_ELEMENT_GREATER_EQUAL:
      return y >= test->number;
    case IR_ELEMENT_LESS:
      return y < test->number;
    case IR_ELEMENT_LESS_EQUAL:
      return y <= test->number;
    case IR_ELEMENT_EQUAL:
    default:
      return y == test->number || (float) y == (float) test->number;
    }
}

/**
 * ir_tensor_find_element:
 * @tensor: a tensor of numbers
 * @test: what is searched for
 * @from: element to begin at
 * @cancellable: (nullable): polled
 *
 * Returns: the first such element; the number of elements if there is none
 */
guint64
ir_tensor_find_element (const IrTensor *tensor,
                        const IrElementTest *test,
                        guint64 from,
                        GCancellable *cancellable)
{
  const guint64 n = ir_tensor_n_elements (tensor);

  for (guint64 i = from; i < n; i++)
    {
      if (i % POLL_ELEMENTS == 0 && g_cancellable_is_cancelled (cancellable))
        return n;
      if (ir_element_test_holds (test, ir_tensor_get_double (tensor, i)))
        return i;
    }
  return n;
}
