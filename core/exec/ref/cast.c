/* Reference kernels of conversion between element types. */
#include "config.h"

#include "core/exec/ref/string-util.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

typedef struct
{
  gboolean saturate;
  IrDtypeRounding rounding;
} Rules;

static gboolean
read_rules (const IrCall *call, Rules *rules, GError **error)
{
  static const char *const names[] = { "nearest", "up", "down" }; /* as IrDtypeRounding */
  const char *round_mode = ir_call_string (call, "round_mode", "up");
  guint i = 0;

  while (i < G_N_ELEMENTS (names) && strcmp (names[i], round_mode) != 0)
    i++;
  if (i == G_N_ELEMENTS (names))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "round_mode is \"%s\", needed is up, down or nearest", round_mode);
  rules->saturate = ir_call_int (call, "saturate", 1) != 0;
  rules->rounding = (IrDtypeRounding) i;
  return TRUE;
}

/* What lies outside of an integer type is the nearest end of its range; of those below 8 bits,
 * whose whole range is small, it is what the low bits say. The standard leaves both open. */
static void
store_reals (IrTensor *out, guint64 first, guint n, const double *reals, Rules rules)
{
  IrDtype dtype = ir_tensor_dtype (out);
  void *data = ir_tensor_data_writable (out);
  gint64 whole;

  for (guint i = 0; i < n; i++)
    if (ir_dtype_is_integer (dtype) && ir_dtype_bits (dtype) < 8)
      {
        ir_dtype_get_int64 (IR_DTYPE_DOUBLE, reals, i, &whole);
        ir_dtype_set_int64 (dtype, data, first + i, isfinite (reals[i]) ? whole : 0);
      }
    else
      ir_dtype_cast_double (dtype, data, first + i, reals[i], rules.saturate, rules.rounding);
}

/* Integers keep their low bits; floats lose their fraction. */
static gboolean
cast_numbers (const IrCall *call, const IrTensor *in, IrTensor *out, Rules rules)
{
  guint64 total = ir_tensor_n_elements (in);
  gboolean integers = ir_ref_kind (ir_tensor_dtype (in)) != IR_REF_REAL;
  gboolean from_uint64 = ir_tensor_dtype (in) == IR_DTYPE_UINT64;
  gboolean to_integers = ir_ref_kind (ir_tensor_dtype (out)) != IR_REF_REAL;
  gboolean wide = ir_dtype_bits (ir_tensor_dtype (out)) >= 32;
  gint64 offsets[IR_REF_CHUNK], whole[IR_REF_CHUNK];
  double reals[IR_REF_CHUNK];
  for (guint64 first = 0; first < total; first += IR_REF_CHUNK)
    {
      guint n = (guint) MIN (total - first, IR_REF_CHUNK);
      for (guint i = 0; i < n; i++)
        offsets[i] = (gint64) (first + i);
      if (integers && (to_integers || (wide && !from_uint64)))
        {
          ir_ref_load_int (in, offsets, n, whole);
          ir_ref_store_int (out, first, n, whole);
        }
      else
        {
          ir_block_load (in, first, n, reals);
          store_reals (out, first, n, reals, rules);
        }
    }
  return TRUE;
}

/* -- strings -- */

/* The shortest text that reads back as the same number, as numpy writes it. */
static char *
number_to_string (const IrTensor *in, guint64 index)
{
  IrDtype dtype = ir_tensor_dtype (in);
  char text[64];
  gint64 offset = (gint64) index, whole;
  if (dtype == IR_DTYPE_BOOL)
    return g_strdup (ir_tensor_get_int64 (in, index) != 0 ? "True" : "False");
  if (ir_ref_kind (dtype) != IR_REF_REAL)
    {
      ir_ref_load_int (in, &offset, 1, &whole);
      return dtype == IR_DTYPE_UINT64 ? g_strdup_printf ("%" G_GUINT64_FORMAT, (guint64) whole)
                                      : g_strdup_printf ("%" G_GINT64_FORMAT, whole);
    }
  double value = ir_tensor_get_double (in, index);
  if (isnan (value))
    return g_strdup ("NaN");
  if (isinf (value))
    return g_strdup (value > 0 ? "INF" : "-INF");
  for (int digits = 1; digits <= 17; digits++)
    {
      char format[16];
      g_snprintf (format, sizeof format, "%%.%dg", digits);
      g_ascii_formatd (text, sizeof text, format, value);
      if (ir_block_round (dtype, g_ascii_strtod (text, NULL)) == value)
        break;
    }
  if (strpbrk (text, ".e") == NULL)
    g_strlcat (text, ".0", sizeof text);
  return g_strdup (text);
}

static gboolean
cast_to_strings (IrCall *call, const IrTensor *in, GError **error)
{
  g_auto (IrRefWriter) out = { 0 };
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  if (!ir_ref_writer_init (&out, call, 0, error))
    return FALSE;
  for (guint64 i = 0; i < out.n; i++)
    {
      char *text = number_to_string (in, i);
      GBytes *bytes = g_bytes_new_take (text, strlen (text));
      g_ptr_array_add (texts, bytes);
      ((GBytes **) (gpointer) out.data)[i] = bytes;
    }
  return ir_ref_writer_finish (&out, error);
}

static gboolean
cast_from_strings (IrCall *call, const IrTensor *in, Rules rules, GError **error)
{
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  gboolean integers = ir_ref_kind (ir_tensor_dtype (out)) != IR_REF_REAL;
  for (guint64 i = 0; i < ir_tensor_n_elements (in); i++)
    {
      const IrStringNumber number = ir_string_number (ir_tensor_string (in, i), integers);
      if (number.is_whole)
        ir_ref_store_int (out, i, 1, &number.whole);
      else if (number.is_real)
        store_reals (out, i, 1, &number.real, rules);
      else
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "element %" G_GUINT64_FORMAT " is not a number", i);
    }
  return TRUE;
}

/* -- any type -- */

static gboolean
copy_elements (IrCall *call, const IrTensor *in, GError **error)
{
  g_auto (IrRefReader) reader = { 0 };
  g_auto (IrRefWriter) writer = { 0 };
  if (!ir_ref_reader_init (&reader, call, in, error) ||
      !ir_ref_writer_init (&writer, call, 0, error))
    return FALSE;
  ir_ref_copy_run (&writer, 0, &reader, 0, reader.n);
  return ir_ref_writer_finish (&writer, error);
}

gboolean
ir_ref_cast (IrCall *call, GError **error)
{
  Rules rules;
  if (!ir_ref_prepare (call, error) || !read_rules (call, &rules, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  IrDtype from = ir_tensor_dtype (in), to = call->outputs[0].type->dtype;
  gboolean from_number = ir_ref_kind (from) != IR_REF_OTHER;
  gboolean to_number = ir_ref_kind (to) != IR_REF_OTHER;
  if (from == to)
    return copy_elements (call, in, error);
  if (from_number && to == IR_DTYPE_STRING)
    return cast_to_strings (call, in, error);
  if (from == IR_DTYPE_STRING && to_number)
    return cast_from_strings (call, in, rules, error);
  if (!from_number || !to_number)
    return ir_ref_fail_dtype (call, from_number ? to : from, error);
  IrTensor *out = ir_block_new_output (call, 0, error);
  return out != NULL && cast_numbers (call, in, out, rules);
}

/* Both types have elements of the same width, so the bytes of one are those of the other. */
gboolean
ir_ref_bit_cast (IrCall *call, GError **error)
{
  return ir_ref_prepare (call, error) && copy_elements (call, ir_call_input (call, 0), error);
}

gboolean
ir_ref_cast_like (IrCall *call, GError **error)
{
  return ir_ref_cast (call, error);
}
