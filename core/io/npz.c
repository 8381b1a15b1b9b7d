/* NumPy's .npz files: a zip archive with a .npy file per array, stored or deflated.
 *
 *   local header, data | .. | central directory: an entry per file | end of central directory
 *
 * Source: APPNOTE.TXT of PKWARE, 4.3. What the directory says is checked before anything is read or
 * memory is taken: deflate makes at most 1032 bytes of one. Archives of 4 GiB or more (zip64) and
 * encrypted ones are refused. */
#include "config.h"

#include "core/io/io.h"
#include "core/io/mapped-file.h"

#include <string.h>

#define END_BYTES    22
#define ENTRY_BYTES  46
#define LOCAL_BYTES  30
#define MAX_COMMENT  65535
#define MAX_INFLATED 1032 /* bytes of one */
#define STORED       0
#define DEFLATED     8
#define LARGE        G_MAXUINT32 /* the size stands in an extra field of zip64 */

typedef struct
{
  const char *name; /* not terminated */
  guint name_length, flags, method;
  guint32 crc;
  gsize packed, size, local;
} Entry;

static gpointer
fail (GError **error, IrIoErrorCode code, const char *message)
{
  g_set_error (error, IR_IO_ERROR, code, "The .npz file %s.", message);
  return NULL;
}

static guint
get16 (const guint8 *data)
{
  return (guint) data[0] | (guint) data[1] << 8;
}

static guint32
get32 (const guint8 *data)
{
  return get16 (data) | (guint32) get16 (data + 2) << 16;
}

static guint32
crc_of (const guint8 *data, gsize length)
{
  guint32 table[256], crc = G_MAXUINT32;

  for (guint32 i = 0; i < 256; i++)
    {
      table[i] = i;
      for (guint bit = 0; bit < 8; bit++)
        table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
    }
  for (gsize i = 0; i < length; i++)
    crc = table[(crc ^ data[i]) & 255] ^ crc >> 8;
  return ~crc;
}

/* (nullable): the end of the central directory, behind which there may be a comment */
static const guint8 *
find_end (const guint8 *data, gsize length)
{
  for (gsize back = END_BYTES; back <= length && back <= END_BYTES + MAX_COMMENT; back++)
    if (memcmp (data + length - back, "PK\5\6", 4) == 0)
      return data + length - back;
  return NULL;
}

/* (nullable): the bytes of @entry; a copy, as arrays in an archive lie at odd addresses */
static GBytes *
unpack (const guint8 *packed, const Entry *entry, GError **error)
{
  g_autoptr (GZlibDecompressor) inflate = NULL;
  g_autofree guint8 *data = g_try_malloc (MAX (entry->size, 1));
  gsize got = 0, used = 0;

  if (data == NULL)
    return fail (error, IR_IO_ERROR_LIMIT, "has an array that does not fit into memory");
  if (entry->method == STORED)
    memcpy (data, packed, got = entry->size);
  else
    {
      GConverterResult result = G_CONVERTER_CONVERTED;

      inflate = g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_RAW);
      while (result == G_CONVERTER_CONVERTED && got < entry->size)
        {
          gsize read = 0, written = 0;

          result = g_converter_convert (G_CONVERTER (inflate), packed + used, entry->packed - used,
                                        data + got, entry->size - got, G_CONVERTER_INPUT_AT_END,
                                        &read, &written, NULL);
          if (result == G_CONVERTER_ERROR || (read == 0 && written == 0))
            break;
          used += read;
          got += written;
        }
    }
  if (got != entry->size || crc_of (data, got) != entry->crc)
    return fail (error, IR_IO_ERROR_FORMAT,
                 "is damaged: the data of an array are not as they were");
  return g_bytes_new_take (g_steal_pointer (&data), got);
}

/* (nullable): the .npy file of @entry */
static GBytes *
entry_bytes (const guint8 *data, gsize length, const Entry *entry, GError **error)
{
  const guint8 *local = data + entry->local;
  gsize start;

  if ((entry->flags & 1) != 0 || (entry->method != STORED && entry->method != DEFLATED))
    return fail (error, IR_IO_ERROR_UNSUPPORTED,
                 "is encrypted or packed in another way than NumPy does");
  if (entry->packed == LARGE || entry->size == LARGE || entry->local == LARGE)
    return fail (error, IR_IO_ERROR_UNSUPPORTED, "has arrays of 4 GiB or more");
  if (entry->local > length - LOCAL_BYTES || memcmp (local, "PK\3\4", 4) != 0)
    return fail (error, IR_IO_ERROR_FORMAT, "has a directory that points nowhere");
  start = entry->local + LOCAL_BYTES + get16 (local + 26) + get16 (local + 28);
  if (start > length || entry->packed > length - start)
    return fail (error, IR_IO_ERROR_TRUNCATED, "ends within an array");
  if (entry->method == STORED ? entry->size != entry->packed
                              : entry->size / MAX_INFLATED > entry->packed)
    return fail (error, IR_IO_ERROR_FORMAT, "has an array of an impossible size");
  return unpack (data + start, entry, error);
}

static gboolean
add_array (GPtrArray *arrays, const guint8 *data, gsize length, const Entry *entry, GError **error)
{
  g_autofree char *name = g_utf8_make_valid (entry->name, entry->name_length);
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (IrTensor) tensor = NULL;

  if (!g_str_has_suffix (name, ".npy"))
    return TRUE;
  name[strlen (name) - strlen (".npy")] = '\0';
  bytes = entry_bytes (data, length, entry, error);
  tensor = bytes != NULL ? ir_npy_read (bytes, error) : NULL;
  if (tensor == NULL)
    {
      g_prefix_error (error, "%s: ", name);
      return FALSE;
    }
  IrNamedTensor *array = g_new (IrNamedTensor, 1);
  array->name = g_steal_pointer (&name);
  array->tensor = g_steal_pointer (&tensor);
  g_ptr_array_add (arrays, array);
  return TRUE;
}

static void
named_tensor_free (gpointer data)
{
  IrNamedTensor *array = data;

  g_free (array->name);
  ir_tensor_unref (array->tensor);
  g_free (array);
}

/**
 * ir_npz_read:
 * @bytes: a .npz file
 * @error: return location for an error
 *
 * Fails as ir_npy_read() does, and with %IR_IO_ERROR_LIMIT where there is no memory for an array.
 *
 * Returns: (transfer full) (nullable) (element-type IrNamedTensor): its arrays, in the order of the
 *   file
 */
GPtrArray *
ir_npz_read (GBytes *bytes, GError **error)
{
  gsize length, at;
  const guint8 *data = g_bytes_get_data (bytes, &length);
  const guint8 *end = length >= END_BYTES ? find_end (data, length) : NULL;
  g_autoptr (GPtrArray) arrays = g_ptr_array_new_with_free_func (named_tensor_free);

  if (end == NULL)
    return fail (error, IR_IO_ERROR_FORMAT, "is no zip archive, or is not there to its end");
  at = get32 (end + 16);
  for (guint i = 0; i < get16 (end + 10); i++)
    {
      const guint8 *entry = data + at;

      if (at > length - END_BYTES || length - at < ENTRY_BYTES ||
          memcmp (entry, "PK\1\2", 4) != 0 || length - at - ENTRY_BYTES < get16 (entry + 28))
        return fail (error, IR_IO_ERROR_FORMAT, "has a directory that cannot be read");
      const Entry found = { (const char *) entry + ENTRY_BYTES,
                            get16 (entry + 28),
                            get16 (entry + 8),
                            get16 (entry + 10),
                            get32 (entry + 16),
                            get32 (entry + 20),
                            get32 (entry + 24),
                            get32 (entry + 42) };
      if (!add_array (arrays, data, length, &found, error))
        return NULL;
      at += ENTRY_BYTES + get16 (entry + 28) + get16 (entry + 30) + get16 (entry + 32);
    }
  return g_steal_pointer (&arrays);
}

/**
 * ir_npz_load:
 * @path: a .npz file
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable) (element-type IrNamedTensor): as ir_npz_read()
 */
GPtrArray *
ir_npz_load (const char *path, GError **error)
{
  g_autoptr (IrMappedFile) file = ir_mapped_file_open (path, error);
  g_autoptr (GBytes) bytes = file != NULL ? ir_mapped_file_bytes (file) : NULL;
  GPtrArray *arrays = bytes != NULL ? ir_npz_read (bytes, error) : NULL;

  if (bytes != NULL && arrays == NULL)
    g_prefix_error (error, "%s: ", path);
  return arrays;
}
