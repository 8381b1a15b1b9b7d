/* NumPy's .npy files, versions 1 to 3.
 *
 *   "\x93NUMPY" major minor | header length: 2 bytes (version 1) or 4, little-endian
 *   header: Python dict {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, padded with
 *   blanks and a line end so that the data starts at a multiple of 64 | data
 *
 * Source: numpy.lib.format, "A Simple File Format for NumPy Arrays". Big-endian data are swapped,
 * Fortran order is turned into C order. Structured and object arrays are refused: the latter are
 * pickles, which run code. */
#include "config.h"

#include "core/io/io.h"

#include <string.h>

#define MAGIC        "\x93NUMPY"
#define MAGIC_LENGTH 6
#define ALIGNMENT    64
#define MAX_HEADER   (64 * 1024)

typedef struct
{
  IrDtype dtype;
  gboolean swap, fortran;
  guint unit_bytes; /* size of what is swapped: half of a complex number */
  guint rank;
  gint64 dims[IR_MAX_RANK];
} Header;

static gboolean
fail (GError **error, IrIoErrorCode code, const char *message)
{
  g_set_error (error, IR_IO_ERROR, code, "The .npy data %s.", message);
  return FALSE;
}

static gboolean
parse_descr (const char *descr, Header *header, GError **error)
{
  g_autofree char *message = NULL;

  for (guint i = 1; i < IR_N_DTYPES; i++)
    {
      const char *numpy = ir_dtype_numpy ((IrDtype) i);

      if (numpy == NULL || strcmp (numpy + 1, descr + 1) != 0)
        continue;
      header->dtype = (IrDtype) i;
      header->unit_bytes = ir_dtype_bits (header->dtype) / 8;
      if (ir_dtype_kind (header->dtype) == IR_DTYPE_KIND_COMPLEX)
        header->unit_bytes /= 2;
      header->swap = descr[0] == '>' && header->unit_bytes > 1;
      if (strchr ("<>|=", descr[0]) != NULL && descr[0] != '\0')
        return TRUE;
    }
  if (descr[0] != '\0' && strchr ("USOTa", descr[1]) != NULL && descr[1] != '\0')
    {
      message = g_strdup_printf (
          "are of type '%s', texts or objects; save texts as a TensorProto in a .pb file", descr);
      return fail (error, IR_IO_ERROR_UNSUPPORTED, message);
    }
  message = g_strdup_printf ("are of type '%s', which is no numeric type that irscope knows",
                             descr);
  return fail (error, IR_IO_ERROR_UNSUPPORTED, message);
}

/* The value of a key of the header; the header has no nested dict and no escapes. */
static const char *
find_value (const char *text, const char *key)
{
  g_autofree char *quoted = g_strdup_printf ("'%s'", key);
  g_autofree char *doubly = g_strdup_printf ("\"%s\"", key);
  const char *found = strstr (text, quoted);

  if (found == NULL)
    found = strstr (text, doubly);
  if (found == NULL)
    return NULL;
  found += strlen (quoted);
  while (*found == ' ')
    found++;
  if (*found++ != ':')
    return NULL;
  while (*found == ' ')
    found++;
  return found;
}

static gboolean
parse_shape (const char *text, Header *header, GError **error)
{
  if (*text++ != '(')
    return fail (error, IR_IO_ERROR_FORMAT, "have a shape that is no tuple");
  for (;;)
    {
      char *end;

      while (*text == ' ' || *text == ',')
        text++;
      if (*text == ')')
        return TRUE;
      if (!g_ascii_isdigit (*text) || header->rank == IR_MAX_RANK)
        return fail (error, IR_IO_ERROR_FORMAT, "have a shape that cannot be read");
      header->dims[header->rank] = (gint64) g_ascii_strtoull (text, &end, 10);
      if (header->dims[header->rank] < 0)
        return fail (error, IR_IO_ERROR_FORMAT, "have a dimension that is too large");
      header->rank++;
      text = *end == 'L' ? end + 1 : end;
    }
}

static gboolean
parse_header (const char *text, Header *header, GError **error)
{
  const char *descr = find_value (text, "descr");
  const char *fortran = find_value (text, "fortran_order");
  const char *shape = find_value (text, "shape");
  g_autofree char *name = NULL;
  const char *end;

  if (descr == NULL || fortran == NULL || shape == NULL)
    return fail (error, IR_IO_ERROR_FORMAT, "have a header without descr, fortran_order or shape");
  if (*descr != '\'' && *descr != '"')
    return fail (error, IR_IO_ERROR_UNSUPPORTED, "are a structured array");
  end = strchr (descr + 1, *descr);
  if (end == NULL || end == descr + 1)
    return fail (error, IR_IO_ERROR_FORMAT, "have a type that cannot be read");
  name = g_strndup (descr + 1, (gsize) (end - descr - 1));
  header->fortran = g_str_has_prefix (fortran, "True");
  return parse_descr (name, header, error) && parse_shape (shape, header, error);
}

static void
swap_bytes (guint8 *data, gsize n_bytes, guint unit)
{
  for (gsize at = 0; at + unit <= n_bytes; at += unit)
    for (guint i = 0; i < unit / 2; i++)
      {
        guint8 byte = data[at + i];

        data[at + i] = data[at + unit - 1 - i];
        data[at + unit - 1 - i] = byte;
      }
}

/* Element (i, j, …) of Fortran order lies at i + d0 (j + d1 (…)). */
static void
to_c_order (guint8 *to, const guint8 *from, const Header *header, guint64 n, gsize element)
{
  gint64 index[IR_MAX_RANK] = { 0 };

  for (guint64 i = 0; i < n; i++)
    {
      guint64 at = 0;

      for (guint axis = header->rank; axis > 0; axis--)
        at = at * (guint64) header->dims[axis - 1] + (guint64) index[axis - 1];
      memcpy (to + i * element, from + at * element, element);
      for (guint axis = header->rank; axis > 0 && ++index[axis - 1] == header->dims[axis - 1];
           axis--)
        index[axis - 1] = 0;
    }
}

static IrTensor *
make_tensor (GBytes *bytes, gsize offset, const Header *header, GError **error)
{
  guint64 n = 1;
  gsize expected;
  g_autoptr (GBytes) data = NULL;

  for (guint i = 0; i < header->rank; i++)
    if (!g_uint64_checked_mul (&n, n, (guint64) header->dims[i]))
      n = G_MAXUINT64;
  if (n > G_MAXINT64 / 16 || !ir_dtype_storage_bytes (header->dtype, n, &expected))
    {
      fail (error, IR_IO_ERROR_FORMAT, "have more elements than memory can hold");
      return NULL;
    }
  if (g_bytes_get_size (bytes) - offset < expected)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_TRUNCATED,
                   "The .npy data end after %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " bytes.",
                   g_bytes_get_size (bytes) - offset, expected);
      return NULL;
    }
  if (!header->swap && !(header->fortran && header->rank > 1))
    data = g_bytes_new_from_bytes (bytes, offset, expected);
  else
    {
      const guint8 *from = (const guint8 *) g_bytes_get_data (bytes, NULL) + offset;
      guint8 *copy = g_malloc (MAX (expected, 1));

      if (header->fortran && header->rank > 1)
        to_c_order (copy, from, header, n, ir_dtype_bits (header->dtype) / 8);
      else
        memcpy (copy, from, expected);
      if (header->swap)
        swap_bytes (copy, expected, header->unit_bytes);
      data = g_bytes_new_take (copy, expected);
    }
  return ir_tensor_new (header->dtype, header->rank, header->dims, data);
}

/**
 * ir_npy_read:
 * @bytes: a .npy file; a tensor in C order and little-endian is a slice of it
 * @error: return location for an error
 *
 * Fails with %IR_IO_ERROR_FORMAT, %IR_IO_ERROR_TRUNCATED, or %IR_IO_ERROR_UNSUPPORTED for arrays of
 * objects, texts and structures.
 *
 * Returns: (transfer full) (nullable): the tensor
 */
IrTensor *
ir_npy_read (GBytes *bytes, GError **error)
{
  gsize size, header_length, start;
  const guint8 *data = g_bytes_get_data (bytes, &size);
  g_autofree char *text = NULL;
  Header header = { 0 };

  if (size < MAGIC_LENGTH + 6 || memcmp (data, MAGIC, MAGIC_LENGTH) != 0)
    {
      fail (error, IR_IO_ERROR_FORMAT, "do not begin with \\x93NUMPY");
      return NULL;
    }
  if (data[6] < 1 || data[6] > 3)
    {
      fail (error, IR_IO_ERROR_UNSUPPORTED, "are of a version other than 1, 2 and 3");
      return NULL;
    }
  start = data[6] == 1 ? 10 : 12;
  header_length = (gsize) data[8] | (gsize) data[9] << 8;
  if (data[6] > 1)
    header_length |= (gsize) data[10] << 16 | (gsize) data[11] << 24;
  if (header_length > MAX_HEADER || header_length > size - start)
    {
      fail (error, IR_IO_ERROR_TRUNCATED, "end within the header");
      return NULL;
    }
  text = g_strndup ((const char *) data + start, header_length);
  if (!parse_header (text, &header, error))
    return NULL;
  return make_tensor (bytes, start + header_length, &header, error);
}

/**
 * ir_npy_write:
 * @tensor: a tensor of a type that NumPy has
 * @error: return location for an error
 *
 * Fails with %IR_IO_ERROR_UNSUPPORTED for strings, sparse tensors, and types that NumPy lacks; save
 * those as .pb. Fails with %IR_IO_ERROR_LIMIT if there is no memory.
 *
 * Returns: (transfer full) (nullable): a .npy file of version 1
 */
GBytes *
ir_npy_write (const IrTensor *tensor, GError **error)
{
  const char *numpy = ir_dtype_numpy (ir_tensor_dtype (tensor));
  g_autoptr (GString) header = NULL;
  guint8 *out;
  gsize length;
  gconstpointer data;

  if (numpy == NULL || ir_tensor_sparse_values (tensor) != NULL)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_UNSUPPORTED,
                   "NumPy has no %s%s; save it as .pb.",
                   ir_tensor_sparse_values (tensor) != NULL ? "sparse " : "",
                   ir_dtype_name (ir_tensor_dtype (tensor)));
      return NULL;
    }
  header = g_string_new (NULL);
  g_string_append_printf (header, "{'descr': '%s', 'fortran_order': False, 'shape': (", numpy);
  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    g_string_append_printf (header, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "",
                            ir_tensor_dims (tensor)[i]);
  g_string_append (header, ir_tensor_rank (tensor) == 1 ? ",), }" : "), }");
  while ((10 + header->len + 1) % ALIGNMENT != 0)
    g_string_append_c (header, ' ');
  g_string_append_c (header, '\n');
  data = g_bytes_get_data (ir_tensor_bytes (tensor), &length);
  out = g_try_malloc (10 + header->len + length);
  if (out == NULL)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_LIMIT,
                   "There is no memory for %" G_GSIZE_FORMAT " bytes of a .npy file.", length);
      return NULL;
    }
  memcpy (out, MAGIC "\x01\x00", 8);
  out[8] = (guint8) header->len;
  out[9] = (guint8) (header->len >> 8);
  memcpy (out + 10, header->str, header->len);
  if (length > 0)
    memcpy (out + 10 + header->len, data, length);
  return g_bytes_new_take (out, 10 + header->len + length);
}
