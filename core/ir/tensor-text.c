/* Elements of tensors as text: where they lie, what they are, and files with a line for each row. */
#include "config.h"

#include "core/ir/tensor-text.h"

#include <math.h>
#include <string.h>

/**
 * ir_tensor_index_text:
 * @tensor: a tensor
 * @index: of an element, in the order of memory
 *
 * Returns: (transfer full): its index along each axis, such as "[0, 3, 1]"
 */
char *
ir_tensor_index_text (const IrTensor *tensor, guint64 index)
{
  g_autoptr (GString) text = g_string_new ("]");

  for (guint i = ir_tensor_rank (tensor); i > 0; i--)
    {
      guint64 dim = (guint64) MAX (ir_tensor_dims (tensor)[i - 1], 1);
      g_autofree char *part = g_strdup_printf ("%s%" G_GUINT64_FORMAT, i > 1 ? ", " : "",
                                               index % dim);

      g_string_prepend (text, part);
      index /= dim;
    }
  g_string_prepend_c (text, '[');
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/**
 * ir_tensor_index_parse:
 * @tensor: a tensor
 * @text: "0, 3, 1" or "[0 3 1]", or the index in the order of memory
 * @index: (out): of the element, in the order of memory
 *
 * Returns: %FALSE if @tensor has no such element
 */
gboolean
ir_tensor_index_parse (const IrTensor *tensor, const char *text, guint64 *index)
{
  guint rank = ir_tensor_rank (tensor), n = 0;
  guint64 flat = 0, first = 0;

  while (*text != '\0')
    {
      guint64 part;

      if (!g_ascii_isdigit (*text))
        {
          text++;
          continue;
        }
      part = g_ascii_strtoull (text, (char **) &text, 10);
      if (n == 0)
        first = part;
      if (n < rank && part < (guint64) ir_tensor_dims (tensor)[n])
        flat = flat * (guint64) ir_tensor_dims (tensor)[n] + part;
      else if (n > 0)
        return FALSE;
      else if (rank > 1)
        flat = G_MAXUINT64; /* good as a flat index only */
      n++;
    }
  if (n > 1 && first >= (guint64) ir_tensor_dims (tensor)[0])
    return FALSE;
  *index = n == 1 ? first : flat;
  return n > 0 && (n == 1 || n == rank) && *index < ir_tensor_n_elements (tensor);
}

static char *
complex_text (const IrTensor *tensor, guint64 index)
{
  const IrDtype dtype = ir_tensor_dtype (tensor);
  gconstpointer data = ir_tensor_data (tensor);
  double re, im;

  if (data == NULL)
    return g_strdup_printf ("%.9g", ir_tensor_get_double (tensor, index));
  re = dtype == IR_DTYPE_COMPLEX64 ? ((const float *) data)[2 * index]
                                   : ((const double *) data)[2 * index];
  im = dtype == IR_DTYPE_COMPLEX64 ? ((const float *) data)[2 * index + 1]
                                   : ((const double *) data)[2 * index + 1];
  return g_strdup_printf ("%.9g %s %.9gi", re, signbit (im) ? "−" : "+", fabs (im));
}

/* Whether a NaN is negative means nothing. */
static char *
real_text (double value, int digits)
{
  if (isnan (value))
    return g_strdup ("NaN");
  if (isinf (value))
    return g_strdup (value < 0 ? "-Inf" : "Inf");
  return g_strdup_printf ("%.*g", digits, value);
}

#define SHOWN_BYTES 1024 /* of a string: more is not read in a cell, and takes long to lay out */

static char *
string_text (GBytes *string)
{
  gsize length;
  const char *data = g_bytes_get_data (string, &length);
  g_autofree char *start = length > 0 ? g_utf8_make_valid (data, (gssize) MIN (length, SHOWN_BYTES))
                                      : g_strdup ("");

  return length <= SHOWN_BYTES
             ? g_steal_pointer (&start)
             : g_strdup_printf ("%s\u2026 (%" G_GSIZE_FORMAT " bytes)", start, length);
}

/**
 * ir_tensor_element_text:
 * @tensor: (nullable): a tensor
 * @index: of an element, in the order of memory
 *
 * Returns: (transfer full): the element with all its digits, or the start of a long string; "" if there
 *   is none
 */
char *
ir_tensor_element_text (const IrTensor *tensor, guint64 index)
{
  IrDtype dtype;

  if (tensor == NULL || index >= ir_tensor_n_elements (tensor))
    return g_strdup ("");
  dtype = ir_tensor_dtype (tensor);
  if (dtype == IR_DTYPE_STRING)
    return string_text (ir_tensor_string (tensor, index));
  if (dtype == IR_DTYPE_BOOL)
    return g_strdup (ir_tensor_get_int64 (tensor, index) != 0 ? "true" : "false");
  if (dtype == IR_DTYPE_COMPLEX64 || dtype == IR_DTYPE_COMPLEX128)
    return complex_text (tensor, index);
  if (dtype == IR_DTYPE_UINT64 && ir_tensor_data (tensor) != NULL)
    return g_strdup_printf ("%" G_GUINT64_FORMAT,
                            ((const guint64 *) ir_tensor_data (tensor))[index]);
  if (ir_dtype_is_integer (dtype))
    return g_strdup_printf ("%" G_GINT64_FORMAT, ir_tensor_get_int64 (tensor, index));
  return real_text (ir_tensor_get_double (tensor, index), dtype == IR_DTYPE_DOUBLE ? 17 : 9);
}

/* -- formats -- */

static const char *const format_names[IR_N_NUMBER_FORMATS] = {
  [IR_NUMBER_EXACT] = "exact",           [IR_NUMBER_SHORT] = "short", [IR_NUMBER_FIXED] = "fixed",
  [IR_NUMBER_SCIENTIFIC] = "scientific", [IR_NUMBER_BITS] = "bits",
};

/**
 * ir_number_format_name:
 * @format: a format
 *
 * Returns: its name, as ir_number_format_find() takes it
 */
const char *
ir_number_format_name (IrNumberFormat format)
{
  return format_names[format];
}

/**
 * ir_number_format_find:
 * @name: a name
 * @format: (out): which format it is
 *
 * Returns: %FALSE if there is none of that name
 */
gboolean
ir_number_format_find (const char *name, IrNumberFormat *format)
{
  for (*format = 0; *format < IR_N_NUMBER_FORMATS; (*format)++)
    if (g_strcmp0 (name, format_names[*format]) == 0)
      return TRUE;
  return FALSE;
}

/* The most significant byte first; the parts of a complex number in their order. */
static char *
bits_text (IrDtype dtype, const guint8 *data, guint64 index)
{
  const guint bits = ir_dtype_bits (dtype), size = bits / 8;
  const guint part = dtype == IR_DTYPE_COMPLEX64 || dtype == IR_DTYPE_COMPLEX128 ? size / 2 : size;
  GString *text = g_string_new ("0x");

  if (bits < 8)
    g_string_append_printf (text, "%x", ir_dtype_get_code (dtype, data, index));
  for (guint begin = 0; begin < size; begin += part)
    {
      if (begin > 0)
        g_string_append (text, " 0x");
      for (guint i = part; i > 0; i--)
        g_string_append_printf (text, "%02x", data[index * size + begin + i - 1]);
    }
  return g_string_free (text, FALSE);
}

/**
 * ir_tensor_element_format:
 * @tensor: (nullable): a tensor
 * @index: of an element, in the order of memory
 * @format: how it is written; integers, strings and what is no finite number have all their digits but in
 *   %IR_NUMBER_BITS, complex numbers too
 *
 * Returns: (transfer full): the element as text; "" if there is none
 */
char *
ir_tensor_element_format (const IrTensor *tensor, guint64 index, IrNumberFormat format)
{
  const gboolean there = tensor != NULL && index < ir_tensor_n_elements (tensor);
  const IrDtype dtype = there ? ir_tensor_dtype (tensor) : IR_DTYPE_UNDEFINED;

  if (!there || format == IR_NUMBER_EXACT || dtype == IR_DTYPE_STRING)
    return ir_tensor_element_text (tensor, index);
  if (format == IR_NUMBER_BITS && ir_tensor_data (tensor) != NULL)
    return bits_text (dtype, ir_tensor_data (tensor), index);
  const double value = ir_tensor_get_double (tensor, index);
  if (!ir_dtype_is_float (dtype) || !isfinite (value))
    return ir_tensor_element_text (tensor, index);
  if (format == IR_NUMBER_SHORT)
    return g_strdup_printf ("%.4g", value);
  if (format == IR_NUMBER_FIXED)
    return g_strdup_printf ("%.6f", value);
  return g_strdup_printf ("%.*e", dtype == IR_DTYPE_DOUBLE ? 16 : 8, value);
}

/* -- CSV -- */

/* With quotation marks where the text has what stands between fields. */
static void
append_field (GString *line, const char *text)
{
  if (strpbrk (text, ",\"\r\n") == NULL)
    {
      g_string_append (line, text);
      return;
    }
  g_string_append_c (line, '"');
  for (; *text != '\0'; text++)
    {
      if (*text == '"')
        g_string_append_c (line, '"');
      g_string_append_c (line, *text);
    }
  g_string_append_c (line, '"');
}

/**
 * ir_tensor_write_csv:
 * @tensor: a tensor
 * @stream: where to
 * @error: return location for an error
 *
 * A line for each row along the last axis, as numpy.loadtxt reads it; the other axes are one behind the
 * other.
 *
 * Returns: %FALSE if @stream fails
 */
gboolean
ir_tensor_write_csv (const IrTensor *tensor, GOutputStream *stream, GError **error)
{
  const guint rank = ir_tensor_rank (tensor);
  const guint64 n = ir_tensor_n_elements (tensor),
                columns = rank > 0 ? (guint64) MAX (ir_tensor_dims (tensor)[rank - 1], 1) : 1;
  g_autoptr (GString) line = g_string_new (NULL);

  for (guint64 i = 0; i < n; i++)
    {
      g_autofree char *text = ir_tensor_element_text (tensor, i);
      const gboolean ends = (i + 1) % columns == 0;

      append_field (line, text);
      g_string_append_c (line, ends ? '\n' : ',');
      if (!ends && line->len < 65536)
        continue;
      if (!g_output_stream_write_all (stream, line->str, line->len, NULL, NULL, error))
        return FALSE;
      g_string_truncate (line, 0);
    }
  return TRUE;
}
