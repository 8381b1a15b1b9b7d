#include "config.h"

#include "core/io/text/text.h"

#include <math.h>
#include <string.h>

/* -- reading: elements as their bits, then packed -- */

typedef struct
{
  IrDtype dtype;
  GArray *bits;       /* of guint64: elements, complex ones as two */
  GPtrArray *strings; /* of GBytes */
} Elements;

static guint
part_bits (IrDtype dtype)
{
  return ir_dtype_kind (dtype) == IR_DTYPE_KIND_COMPLEX ? ir_dtype_bits (dtype) / 2
                                                        : ir_dtype_bits (dtype);
}

static guint64
float_bits (double number)
{
  float single = (float) number;
  guint32 bits;

  memcpy (&bits, &single, sizeof bits);
  return bits;
}

static guint64
double_bits (double number)
{
  guint64 bits;

  memcpy (&bits, &number, sizeof bits);
  return bits;
}

/* Small float types are written as the integers that their bits are, as ONNX does; a literal with a
 * point or an exponent is taken as the value. */
static guint64
small_float_bits (IrDtype dtype, double number)
{
  guint8 data[8] = { 0 };
  guint16 wide;

  ir_dtype_set_double (dtype, data, 0, number);
  memcpy (&wide, data, sizeof wide);
  return ir_dtype_bits (dtype) == 16 ? wide : data[0];
}

static gboolean
integer_in_range (const IrTextLiteral *literal, IrDtype dtype, guint64 *bits)
{
  guint width = ir_dtype_bits (dtype);
  gboolean is_signed = ir_dtype_kind (dtype) == IR_DTYPE_KIND_SINT;
  guint64 top = width >= 64 ? G_MAXUINT64 : (G_GUINT64_CONSTANT (1) << width) - 1;
  guint64 limit = is_signed ? top / 2 + (literal->negative ? 1 : 0) : top;

  if (dtype == IR_DTYPE_BOOL)
    limit = 255;
  if (literal->magnitude > limit || (literal->negative && !is_signed && literal->magnitude > 0))
    return FALSE;
  *bits = (literal->negative ? 0 - literal->magnitude : literal->magnitude) & top;
  return TRUE;
}

static gboolean
literal_bits (IrTextParser *parser, const IrTextLiteral *literal, IrDtype dtype, guint64 *bits)
{
  IrDtypeKind kind = ir_dtype_kind (dtype);
  guint width = part_bits (dtype);

  if (literal->kind == IR_TEXT_STRING)
    return ir_text_fail (&parser->lexer, "a number is needed before this");
  if ((kind == IR_DTYPE_KIND_FLOAT || kind == IR_DTYPE_KIND_COMPLEX) && width >= 32)
    {
      *bits = width == 32 ? float_bits (literal->number) : double_bits (literal->number);
      return TRUE;
    }
  if (kind == IR_DTYPE_KIND_FLOAT && literal->kind == IR_TEXT_FLOAT)
    {
      *bits = small_float_bits (dtype, literal->number);
      return TRUE;
    }
  if (literal->kind == IR_TEXT_INT && integer_in_range (literal, dtype, bits))
    return TRUE;
  return ir_text_fail (&parser->lexer, "before this a value of type %s is needed",
                       ir_dtype_name (dtype));
}

static gboolean
read_element_string (IrTextParser *parser, GString *string)
{
  gsize length;
  guchar *data;

  if (!ir_text_at_prefixed_string (&parser->lexer, "bytes"))
    return ir_text_string (&parser->lexer, string);
  parser->lexer.next += strlen ("bytes");
  if (!ir_text_string (&parser->lexer, string))
    return FALSE;
  data = g_base64_decode (string->str, &length);
  g_string_truncate (string, 0);
  g_string_append_len (string, (const char *) data, (gssize) length);
  g_free (data);
  return TRUE;
}

static gboolean
read_element (IrTextParser *parser, Elements *elements)
{
  IrTextLiteral literal = { 0 };
  guint64 bits;

  if (elements->dtype == IR_DTYPE_STRING)
    {
      g_autoptr (GString) string = g_string_new (NULL);

      if (!read_element_string (parser, string))
        return FALSE;
      g_ptr_array_add (elements->strings, g_bytes_new (string->str, string->len));
      return TRUE;
    }
  if (ir_text_peek (&parser->lexer) == '"')
    return ir_text_fail (&parser->lexer, "a number is needed");
  if (!ir_text_literal (&parser->lexer, &literal) ||
      !literal_bits (parser, &literal, elements->dtype, &bits))
    return FALSE;
  g_array_append_val (elements->bits, bits);
  return TRUE;
}

static gboolean
read_elements (IrTextParser *parser, Elements *elements)
{
  if (!ir_text_expect (&parser->lexer, '{', "a tensor's contents"))
    return FALSE;
  if (ir_text_match (&parser->lexer, '}'))
    return TRUE;
  do
    if (!read_element (parser, elements))
      return FALSE;
  while (ir_text_match (&parser->lexer, ','));
  return ir_text_expect (&parser->lexer, '}', "a tensor's contents");
}

static GBytes *
pack_elements (const Elements *elements)
{
  guint width = part_bits (elements->dtype);
  gsize n = elements->bits->len;
  gsize size = (n * width + 7) / 8;
  guint8 *data = g_malloc0 (MAX (size, 1));

  for (gsize i = 0; i < n; i++)
    {
      guint64 bits = g_array_index (elements->bits, guint64, i);

      if (width < 8)
        ir_dtype_set_code (elements->dtype, data, i, (guint) bits);
      else
        for (guint b = 0; b < width / 8; b++)
          data[i * (width / 8) + b] = (guint8) (bits >> (8 * b));
    }
  return g_bytes_new_take (data, size);
}

static gboolean
static_dims (IrTextParser *parser, const IrType *type, guint64 *n_elements, gsize *n_bytes)
{
  *n_elements = 1;
  if (type == NULL || (type->kind != IR_TYPE_TENSOR && type->kind != IR_TYPE_SPARSE_TENSOR) ||
      type->dtype == IR_DTYPE_UNDEFINED || type->rank == IR_RANK_UNKNOWN)
    return ir_text_fail (&parser->lexer, "contents need a tensor type with a shape before them");
  for (int i = 0; i < type->rank; i++)
    if (!ir_dim_is_known (type->dims[i]))
      return ir_text_fail (&parser->lexer, "contents need dimensions that are numbers before them");
    else if (!g_uint64_checked_mul (n_elements, *n_elements, (guint64) type->dims[i]))
      return ir_text_fail (&parser->lexer, "a tensor that fits into memory is needed");
  if (*n_elements > G_MAXINT64 / 16 ||
      (type->dtype != IR_DTYPE_STRING &&
       !ir_dtype_storage_bytes (type->dtype, *n_elements, n_bytes)))
    return ir_text_fail (&parser->lexer, "a tensor that fits into memory is needed");
  return TRUE;
}

static IrTensor *
tensor_of_elements (IrTextParser *parser, const IrType *type, Elements *elements)
{
  guint per_element = ir_dtype_kind (type->dtype) == IR_DTYPE_KIND_COMPLEX ? 2 : 1;
  guint64 n_elements, n = elements->bits->len / per_element + elements->strings->len;
  gsize n_bytes;
  g_autoptr (GBytes) bytes = NULL;

  if (!static_dims (parser, type, &n_elements, &n_bytes))
    return NULL;
  if (n != n_elements || elements->bits->len % per_element != 0)
    {
      ir_text_fail (&parser->lexer,
                    "%" G_GUINT64_FORMAT
                    " elements are needed before this, there are %" G_GUINT64_FORMAT,
                    n_elements, n);
      return NULL;
    }
  if (type->dtype == IR_DTYPE_STRING)
    return ir_tensor_new_strings ((guint) type->rank, type->dims,
                                  (GBytes **) elements->strings->pdata);
  bytes = pack_elements (elements);
  return ir_tensor_new (type->dtype, (guint) type->rank, type->dims, bytes);
}

static IrTensor *
read_base64 (IrTextParser *parser, const IrType *type)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GBytes) bytes = NULL;
  guint64 n_elements;
  gsize n_bytes, length;
  guchar *data;

  parser->lexer.next += strlen ("base64");
  if (!ir_text_string (&parser->lexer, text) || !static_dims (parser, type, &n_elements, &n_bytes))
    return NULL;
  data = g_base64_decode (text->str, &length);
  bytes = g_bytes_new_take (data, length);
  if (type->dtype == IR_DTYPE_STRING || length != n_bytes)
    {
      ir_text_fail (&parser->lexer,
                    "before this %" G_GSIZE_FORMAT " bytes are needed, there are %" G_GSIZE_FORMAT,
                    n_bytes, length);
      return NULL;
    }
  return ir_tensor_new (type->dtype, (guint) type->rank, type->dims, bytes);
}

/* [ "location": "w.data", "offset": "0", "length": "4" ] */
static IrTensor *
read_external (IrTextParser *parser, const IrType *type)
{
  g_autoptr (GString) key = g_string_new (NULL);
  g_autoptr (GString) value = g_string_new (NULL);
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) error = NULL;
  const char *location = NULL;
  gint64 offset = 0, length = -1;
  guint64 n_elements;
  gsize n_bytes = 0;

  ir_text_expect (&parser->lexer, '[', "external data");
  do
    {
      if (!ir_text_string (&parser->lexer, key) ||
          !ir_text_expect (&parser->lexer, ':', "external data") ||
          !ir_text_string (&parser->lexer, value))
        return NULL;
      if (strcmp (key->str, "location") == 0)
        location = ir_context_intern (parser->context, value->str);
      else if (strcmp (key->str, "offset") == 0)
        offset = MAX (g_ascii_strtoll (value->str, NULL, 10), 0);
      else if (strcmp (key->str, "length") == 0)
        length = MAX (g_ascii_strtoll (value->str, NULL, 10), 0);
    }
  while (ir_text_match (&parser->lexer, ','));
  if (!ir_text_expect (&parser->lexer, ']', "external data") ||
      !static_dims (parser, type, &n_elements, &n_bytes))
    return NULL;
  if (type->dtype == IR_DTYPE_STRING)
    {
      ir_text_fail (&parser->lexer, "strings cannot be external data");
      return NULL;
    }
  bytes = ir_onnx_external_bytes (&parser->reader, location, (guint64) offset, length, n_bytes,
                                  &error);
  if (bytes == NULL)
    {
      ir_draft_problem (parser->draft, IR_SEVERITY_ERROR, IR_PROBLEM_EXTERNAL_DATA,
                        ir_text_place (&parser->lexer), "A tensor cannot be read: %s",
                        error->message);
      parser->missing = TRUE;
      return NULL;
    }
  return ir_tensor_new (type->dtype, (guint) type->rank, type->dims, bytes);
}

static IrTensor *
find_in_graph (const IrGraph *graph, const char *name)
{
  IrValue *value = ir_graph_find_value (graph, name);

  if (value == NULL)
    return NULL;
  return value->initializer != NULL ? value->initializer : (IrTensor *) ir_value_constant (value);
}

/* {...}: the tensor that the base model has under that name, if it is of this type. */
static IrTensor *
read_elided (IrTextParser *parser, const IrType *type, const char *name)
{
  IrTensor *found = NULL;

  for (guint i = 0; i < 4; i++)
    if (!ir_text_expect (&parser->lexer, "...}"[i], "elided contents"))
      return NULL;
  for (guint i = 1; parser->base != NULL && name != NULL && i < parser->base->graphs->len; i++)
    {
      const IrGraph *graph = parser->base->graphs->pdata[i];

      if (found == NULL && graph != NULL && graph->state == IR_STATE_LIVE)
        found = find_in_graph (graph, ir_context_intern (parser->base->context, name));
    }
  if (found == NULL)
    ir_text_fail (&parser->lexer, "the contents of \"%s\" are left out, and no model has them",
                  name != NULL ? name : "");
  else if (type == NULL || ir_tensor_type (found, parser->context) != type)
    {
      ir_text_fail (&parser->lexer, "the contents of \"%s\" are left out, and have another type",
                    name);
      found = NULL;
    }
  return found != NULL ? ir_tensor_ref (found) : NULL;
}

static IrTensor *
read_sparse (IrTextParser *parser, const IrType *type, Elements *elements)
{
  g_autoptr (IrTensor) values = NULL;
  g_autoptr (IrTensor) indices = NULL;
  const IrType *index_type = NULL, *value_type;
  IrDim n = elements->bits->len;
  guint64 n_elements;
  gsize n_bytes;

  if (ir_dtype_kind (type->dtype) == IR_DTYPE_KIND_COMPLEX)
    n /= 2;
  if (type->dtype == IR_DTYPE_STRING)
    n = elements->strings->len;
  value_type = ir_type_tensor (parser->context, type->dtype, 1, &n);
  if (!static_dims (parser, type, &n_elements, &n_bytes) ||
      !ir_text_read_type (parser, &index_type, 0) ||
      !ir_text_read_contents (parser, index_type, NULL, &indices))
    return NULL;
  values = tensor_of_elements (parser, value_type, elements);
  if (values == NULL)
    return NULL;
  if (indices == NULL || !ir_io_sparse_fits (values, indices, (guint) type->rank, type->dims))
    {
      ir_text_fail (&parser->lexer, "before this indices that fit the values are needed");
      return NULL;
    }
  return ir_tensor_new_sparse ((guint) type->rank, type->dims, values, indices);
}

/**
 * ir_text_at_contents:
 * @parser: a parser
 *
 * Returns: %TRUE if contents of a tensor come next
 */
gboolean
ir_text_at_contents (IrTextParser *parser)
{
  char c = ir_text_peek (&parser->lexer);

  return c == '{' || c == '[' || ir_text_at_prefixed_string (&parser->lexer, "base64");
}

/**
 * ir_text_read_contents:
 * @parser: a parser
 * @type: what stands before the contents
 * @name: (nullable): of the value, for elided contents
 * @tensor: (out) (transfer full): the tensor
 *
 * Reads `{1, 2}`, `base64"…"`, `["location": …]` or `{...}`. External data that cannot be had are a
 * problem and no mistake of the text: then @tensor is %NULL and reading goes on.
 */
gboolean
ir_text_read_contents (IrTextParser *parser,
                       const IrType *type,
                       const char *name,
                       IrTensor **tensor)
{
  Elements elements = { 0 };

  *tensor = NULL;
  parser->missing = FALSE;
  if (type == NULL || (type->kind != IR_TYPE_TENSOR && type->kind != IR_TYPE_SPARSE_TENSOR))
    return ir_text_fail (&parser->lexer, "contents need a tensor type before them");
  if (ir_text_at_prefixed_string (&parser->lexer, "base64"))
    *tensor = read_base64 (parser, type);
  else if (ir_text_peek (&parser->lexer) == '[')
    *tensor = read_external (parser, type);
  else
    {
      const char *brace = parser->lexer.next;

      if (ir_text_match (&parser->lexer, '{') && ir_text_peek (&parser->lexer) == '.')
        *tensor = read_elided (parser, type, name);
      else
        {
          parser->lexer.next = brace;
          elements = (Elements){ type->dtype, g_array_new (FALSE, FALSE, sizeof (guint64)),
                                 g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref) };
          if (read_elements (parser, &elements))
            *tensor = type->kind == IR_TYPE_SPARSE_TENSOR
                          ? read_sparse (parser, type, &elements)
                          : tensor_of_elements (parser, type, &elements);
          g_array_unref (elements.bits);
          g_ptr_array_unref (elements.strings);
        }
    }
  return *tensor != NULL || parser->missing;
}

/* -- writing -- */

/**
 * ir_text_write_float:
 * @out: appended to
 * @number: a number
 * @is_double: whether it must come back with all 53 bits, or with 24
 * @mark: add ".0" to what would read as an integer
 *
 * The shortest decimal that reads back as the same number.
 */
void
ir_text_write_float (GString *out, double number, gboolean is_double, gboolean mark)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  if (isnan (number) || isinf (number))
    {
      g_string_append (out, signbit (number) ? "-" : "");
      g_string_append (out, isnan (number) ? "nan" : "inf");
      return;
    }
  for (int precision = is_double ? 15 : 6; precision <= (is_double ? 17 : 9); precision++)
    {
      g_autofree char *format = g_strdup_printf ("%%.%dg", precision);

      g_ascii_formatd (buffer, sizeof buffer, format, number);
      if (is_double ? g_ascii_strtod (buffer, NULL) == number
                    : (float) g_ascii_strtod (buffer, NULL) == (float) number)
        break;
    }
  g_string_append (out, buffer);
  if (mark && strpbrk (buffer, ".e") == NULL)
    g_string_append (out, ".0");
}

/* Only the NaN that the word "nan" reads as can be written as a word. */
static gboolean
is_plain_nan (guint64 bits, guint width)
{
  guint64 sign = G_GUINT64_CONSTANT (1) << (width - 1);
  guint64 nan = width == 32 ? G_GUINT64_CONSTANT (0x7fc00000)
                            : G_GUINT64_CONSTANT (0x7ff8000000000000);

  return (bits & ~sign) == nan;
}

static guint64
part (const guint8 *data, guint64 index, IrDtype dtype)
{
  guint width = part_bits (dtype);
  guint64 bits = 0;

  if (width < 8)
    return ir_dtype_get_code (dtype, data, index);
  for (guint b = 0; b < width / 8; b++)
    bits |= (guint64) data[index * (width / 8) + b] << (8 * b);
  return bits;
}

static double
part_number (guint64 bits, guint width)
{
  guint32 single_bits = (guint32) bits;
  float single;
  double number;

  memcpy (&single, &single_bits, sizeof single);
  memcpy (&number, &bits, sizeof number);
  return width == 32 ? (double) single : number;
}

static gboolean
is_wide_float (IrDtype dtype)
{
  IrDtypeKind kind = ir_dtype_kind (dtype);

  return kind == IR_DTYPE_KIND_COMPLEX || (kind == IR_DTYPE_KIND_FLOAT && part_bits (dtype) >= 32);
}

static gboolean
has_odd_nan (const IrTensor *tensor)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  guint width = part_bits (dtype);
  const guint8 *data = g_bytes_get_data (ir_tensor_bytes (tensor), NULL);
  guint64 n = ir_tensor_n_elements (tensor);

  if (!is_wide_float (dtype))
    return FALSE;
  if (ir_dtype_kind (dtype) == IR_DTYPE_KIND_COMPLEX)
    n *= 2;
  for (guint64 i = 0; i < n; i++)
    {
      guint64 bits = part (data, i, dtype);

      if (isnan (part_number (bits, width)) && !is_plain_nan (bits, width))
        return TRUE;
    }
  return FALSE;
}

static void
write_number (GString *out, IrDtype dtype, guint64 bits, guint width)
{
  if (is_wide_float (dtype))
    {
      ir_text_write_float (out, part_number (bits, width), width == 64, FALSE);
      return;
    }
  if (ir_dtype_kind (dtype) == IR_DTYPE_KIND_SINT)
    {
      gint64 value = (gint64) (bits << (64 - width)) >> (64 - width);

      g_string_append_printf (out, "%" G_GINT64_FORMAT, value);
      return;
    }
  g_string_append_printf (out, "%" G_GUINT64_FORMAT, bits);
}

static void
write_numbers (GString *out, const IrTensor *tensor)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  guint width = part_bits (dtype);
  const guint8 *data = g_bytes_get_data (ir_tensor_bytes (tensor), NULL);
  guint64 n = ir_tensor_n_elements (tensor);

  if (ir_dtype_kind (dtype) == IR_DTYPE_KIND_COMPLEX)
    n *= 2;
  g_string_append_c (out, '{');
  for (guint64 i = 0; i < n; i++)
    {
      if (i > 0)
        g_string_append (out, i % 16 == 0 && n > 64 ? ",\n" : ", ");
      write_number (out, dtype, part (data, i, dtype), width);
    }
  g_string_append_c (out, '}');
}

static void
write_strings (GString *out, const IrTensor *tensor)
{
  g_string_append_c (out, '{');
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      GBytes *string = ir_tensor_string (tensor, i);

      if (i > 0)
        g_string_append (out, ", ");
      ir_text_write_bytes (out, g_bytes_get_data (string, NULL), g_bytes_get_size (string));
    }
  g_string_append_c (out, '}');
}

/* Formatted printing ends at 2 GiB. */
static void
put_quoted (GString *out, const char *prefix, const char *base64)
{
  g_string_append (out, prefix);
  g_string_append_c (out, '"');
  g_string_append (out, base64);
  g_string_append_c (out, '"');
}

/**
 * ir_text_write_bytes:
 * @out: appended to
 * @data: any bytes
 * @length: how many
 *
 * A quoted string, or bytes"…" where it is no text.
 */
void
ir_text_write_bytes (GString *out, const char *data, gsize length)
{
  g_autofree char *base64 = NULL;

  if (length == 0 || g_utf8_validate_len (data, length, NULL))
    {
      ir_text_write_string (out, length > 0 ? data : "", length);
      return;
    }
  base64 = g_base64_encode ((const guchar *) data, length);
  put_quoted (out, "bytes", base64);
}

static void
write_base64 (GString *out, const IrTensor *tensor)
{
  gsize length;
  const guchar *data = g_bytes_get_data (ir_tensor_bytes (tensor), &length);
  g_autofree char *base64 = length > 0 ? g_base64_encode (data, length) : g_strdup ("");

  put_quoted (out, "base64", base64);
}

static void
write_external (GString *out, const IrTensor *tensor, IrDataFile *data_file)
{
  GBytes *bytes = ir_tensor_bytes (tensor);

  g_string_append (out, "[\"location\": ");
  ir_text_write_string (out, data_file->location, strlen (data_file->location));
  g_string_append_printf (
      out, ", \"offset\": \"%" G_GUINT64_FORMAT "\", \"length\": \"%" G_GSIZE_FORMAT "\"]",
      data_file->size, g_bytes_get_size (bytes));
  g_ptr_array_add (data_file->pieces, g_bytes_ref (bytes));
  data_file->size += g_bytes_get_size (bytes);
}

static void
write_sparse (GString *out,
              const IrTensor *tensor,
              const IrTextOptions *options,
              IrDataFile *data_file)
{
  const IrTensor *indices = ir_tensor_sparse_indices (tensor);

  if (ir_tensor_dtype (tensor) == IR_DTYPE_STRING)
    write_strings (out, ir_tensor_sparse_values (tensor));
  else
    write_numbers (out, ir_tensor_sparse_values (tensor));
  g_string_append_c (out, ' ');
  ir_text_write_dtype_dims (out, indices);
  g_string_append_c (out, ' ');
  ir_text_write_contents (out, indices, options, data_file);
}

/**
 * ir_text_write_contents:
 * @out: appended to
 * @tensor: a tensor
 * @options: what to do with large ones
 * @data_file: (nullable): the side file
 */
void
ir_text_write_contents (GString *out,
                        const IrTensor *tensor,
                        const IrTextOptions *options,
                        IrDataFile *data_file)
{
  gboolean large = ir_tensor_n_elements (tensor) > options->max_elements;

  if (ir_tensor_sparse_values (tensor) != NULL)
    write_sparse (out, tensor, options, data_file);
  else if (large && options->large == IR_TEXT_ELIDE)
    g_string_append (out, "{...}");
  else if (ir_tensor_dtype (tensor) == IR_DTYPE_STRING)
    write_strings (out, tensor);
  else if (large && options->large == IR_TEXT_SIDE_FILE && data_file != NULL)
    write_external (out, tensor, data_file);
  else if ((large && options->large != IR_TEXT_NUMBERS) || has_odd_nan (tensor))
    write_base64 (out, tensor);
  else
    write_numbers (out, tensor);
}

/**
 * ir_text_write_dtype_dims:
 * @out: appended to
 * @tensor: a tensor
 *
 * Writes the type of a tensor: `float[2,3]`, `sparse_tensor(int64[9])`.
 */
void
ir_text_write_dtype_dims (GString *out, const IrTensor *tensor)
{
  gboolean sparse = ir_tensor_sparse_values (tensor) != NULL;

  g_string_append_printf (out, "%s%s", sparse ? "sparse_tensor(" : "",
                          ir_dtype_name (ir_tensor_dtype (tensor)));
  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    g_string_append_printf (out, "%c%" G_GINT64_FORMAT, i == 0 ? '[' : ',',
                            ir_tensor_dims (tensor)[i]);
  g_string_append (out, ir_tensor_rank (tensor) > 0 ? "]" : "");
  g_string_append (out, sparse ? ")" : "");
}
