#include "config.h"

#include "core/io/onnx/protobuf.h"

#include "core/io/io.h"

#include <string.h>

#define MAX_MESSAGE G_MAXINT32

/* Bytes from this length on are kept by reference when they are written; below, copying is
 * cheaper than another piece. */
#define REFERENCE_BYTES 4096

/* Source: protobuf.dev, "Encoding". A field is a tag (varint: number << 3 | type) and a payload:
 *
 *   type 0  varint: 7 bits a byte, low group first, the high bit says that more follow; <= 10 bytes
 *   type 1  8 bytes, little-endian          type 5  4 bytes, little-endian
 *   type 2  a varint n, then n bytes: string, message, or packed numbers
 */

static gboolean
read_varint (const guint8 **next, const guint8 *end, guint64 *number, IrWireStatus *status)
{
  const guint8 *p = *next;
  guint64 result = 0;

  for (guint shift = 0; shift < 70; shift += 7)
    {
      if (p == end)
        {
          *status = IR_WIRE_TRUNCATED;
          return FALSE;
        }
      if (shift == 63 && *p > 1)
        break;
      result |= (guint64) (*p & 0x7f) << shift;
      if ((*p++ & 0x80) == 0)
        {
          *next = p;
          *number = result;
          return TRUE;
        }
    }
  *status = IR_WIRE_MALFORMED;
  return FALSE;
}

static gboolean
read_fixed (
    const guint8 **next, const guint8 *end, guint n_bytes, guint64 *number, IrWireStatus *status)
{
  if ((gsize) (end - *next) < n_bytes)
    {
      *status = IR_WIRE_TRUNCATED;
      return FALSE;
    }
  *number = 0;
  for (guint i = 0; i < n_bytes; i++)
    *number |= (guint64) (*next)[i] << (8 * i);
  *next += n_bytes;
  return TRUE;
}

/* Starts reading a message. @data: the message's bytes, which must outlive @wire. @length:
 * number of bytes. */
void
ir_wire_init (IrWire *wire, const guint8 *data, gsize length)
{
  wire->next = data;
  wire->end = data + length;
  wire->status = IR_WIRE_OK;
}

/* Starts reading a message that lies within another. @field: a length-delimited field; any other
 * reads as an empty message. */
void
ir_wire_init_field (IrWire *wire, const IrWireField *field)
{
  if (field->type == IR_WIRE_BYTES)
    ir_wire_init (wire, field->data, field->length);
  else
    ir_wire_init (wire, field->raw, 0);
}

static gboolean
read_payload (IrWire *wire, IrWireField *field, guint64 type)
{
  guint64 length;

  switch (type)
    {
    case IR_WIRE_VARINT:
      return read_varint (&wire->next, wire->end, &field->number, &wire->status);
    case IR_WIRE_FIXED64:
      return read_fixed (&wire->next, wire->end, 8, &field->number, &wire->status);
    case IR_WIRE_FIXED32:
      return read_fixed (&wire->next, wire->end, 4, &field->number, &wire->status);
    case IR_WIRE_BYTES:
      if (!read_varint (&wire->next, wire->end, &length, &wire->status))
        return FALSE;
      if (length > (guint64) (wire->end - wire->next))
        {
          wire->status = IR_WIRE_TRUNCATED;
          return FALSE;
        }
      field->data = wire->next;
      field->length = (gsize) length;
      wire->next += length;
      return TRUE;
    default:
      wire->status = IR_WIRE_MALFORMED;
      return FALSE;
    }
}

/* Reads one field. Lengths are checked against the message, so nothing outside it is ever looked
 * at. Returns FALSE at the end of the message and where it is damaged; the status tells them
 * apart. */
gboolean
ir_wire_next (IrWire *wire, IrWireField *field)
{
  guint64 tag;

  memset (field, 0, sizeof *field);
  if (wire->next == wire->end || wire->status != IR_WIRE_OK)
    return FALSE;
  field->raw = wire->next;
  if (!read_varint (&wire->next, wire->end, &tag, &wire->status))
    return FALSE;
  if (tag >> 3 == 0 || tag >> 3 > G_MAXINT32 >> 2)
    {
      wire->status = IR_WIRE_MALFORMED;
      return FALSE;
    }
  field->id = (guint32) (tag >> 3);
  field->type = (IrWireType) (tag & 7);
  if (!read_payload (wire, field, tag & 7))
    return FALSE;
  field->raw_length = (gsize) (wire->next - field->raw);
  return TRUE;
}

/* Returns FALSE at the end and where the payload is damaged. @number: the next one; fixed ones
 * as their bits. */
gboolean
ir_wire_packed_next (IrWire *wire, IrWireType type, guint64 *number)
{
  if (wire->next == wire->end || wire->status != IR_WIRE_OK)
    return FALSE;
  if (type == IR_WIRE_VARINT)
    return read_varint (&wire->next, wire->end, number, &wire->status);
  return read_fixed (&wire->next, wire->end, type == IR_WIRE_FIXED64 ? 8 : 4, number,
                     &wire->status);
}

/* Takes both spellings of repeated numbers, packed and one by one. Returns FALSE if the field is
 * neither, or is damaged. */
gboolean
ir_wire_field_numbers (const IrWireField *field, IrWireType type, GArray *numbers)
{
  IrWire packed;
  guint64 number;

  if (field->type == type)
    {
      g_array_append_val (numbers, field->number);
      return TRUE;
    }
  if (field->type != IR_WIRE_BYTES)
    return FALSE;
  ir_wire_init_field (&packed, field);
  while (ir_wire_packed_next (&packed, type, &number))
    g_array_append_val (numbers, number);
  return packed.status == IR_WIRE_OK;
}

static void
reference_clear (gpointer data)
{
  g_bytes_unref (((IrWireReference *) data)->bytes);
}

/* Begins an empty message; end with ir_wire_writer_clear() */
void
ir_wire_writer_init (IrWireWriter *writer)
{
  writer->buffer = g_byte_array_new ();
  writer->references = g_array_new (FALSE, FALSE, sizeof (IrWireReference));
  g_array_set_clear_func (writer->references, reference_clear);
  writer->reference_bytes = 0;
  writer->left_out = 0;
}

/* Frees what the writer holds; it may be cleared twice */
void
ir_wire_writer_clear (IrWireWriter *writer)
{
  g_clear_pointer (&writer->buffer, g_byte_array_unref);
  g_clear_pointer (&writer->references, g_array_unref);
}

/* Bytes of the message so far, referenced ones too */
gsize
ir_wire_writer_size (const IrWireWriter *writer)
{
  return writer->buffer->len + writer->reference_bytes + writer->left_out;
}

/* To be asked before the message is written anywhere. Fails with %IR_IO_ERROR_LIMIT. Returns
 * whether the message is within the 2 GiB that protobuf allows. */
gboolean
ir_wire_writer_fits (const IrWireWriter *writer,
                     const char *what,
                     const char *instead,
                     GError **error)
{
  if (ir_wire_writer_size (writer) <= MAX_MESSAGE)
    return TRUE;
  g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_LIMIT,
               "%s has %" G_GSIZE_FORMAT " bytes, a protobuf message ends at 2 GiB; %s.", what,
               ir_wire_writer_size (writer), instead);
  return FALSE;
}

/* What would make the buffer longer than any message is only counted. */
static void
append (IrWireWriter *writer, gconstpointer data, gsize length)
{
  if (writer->left_out > 0 || writer->buffer->len + length > MAX_MESSAGE)
    writer->left_out += length;
  else if (length > 0)
    g_byte_array_append (writer->buffer, data, (guint) length);
}

static guint
encode_varint (guint8 bytes[10], guint64 number)
{
  guint n = 0;

  while (number >= 0x80)
    {
      bytes[n++] = (guint8) (number | 0x80);
      number >>= 7;
    }
  bytes[n++] = (guint8) number;
  return n;
}

static void
append_varint (IrWireWriter *writer, guint64 number)
{
  guint8 bytes[10];

  append (writer, bytes, encode_varint (bytes, number));
}

static void
append_tag (IrWireWriter *writer, guint32 id, IrWireType type)
{
  append_varint (writer, (guint64) id << 3 | type);
}

/* Begins a message within the message. Its length is put before it by ir_wire_end(); the small
 * bytes move once for each level of nesting, which is four or five in a model. Returns what
 * ir_wire_end() needs. */
IrWireMark
ir_wire_begin (IrWireWriter *writer, guint32 id)
{
  append_tag (writer, id, IR_WIRE_BYTES);
  return (IrWireMark){ writer->buffer->len, writer->reference_bytes, writer->references->len };
}

/* Ends a message within the message, and puts its length before it. @mark: what ir_wire_begin()
 * gave; marks end in the reverse order of their beginning. */
void
ir_wire_end (IrWireWriter *writer, IrWireMark mark)
{
  gsize small = writer->buffer->len - mark.at;
  guint8 bytes[10];
  guint n = encode_varint (bytes, small + writer->reference_bytes - mark.reference_bytes);

  if (writer->left_out > 0)
    {
      writer->left_out += n;
      return;
    }
  g_byte_array_set_size (writer->buffer, (guint) (mark.at + small + n));
  memmove (writer->buffer->data + mark.at + n, writer->buffer->data + mark.at, small);
  memcpy (writer->buffer->data + mark.at, bytes, n);
  for (guint i = mark.n_references; i < writer->references->len; i++)
    g_array_index (writer->references, IrWireReference, i).at += n;
}

/* Writes an integer field. @number: its value; negative ones as their two's complement. */
void
ir_wire_put_varint (IrWireWriter *writer, guint32 id, guint64 number)
{
  append_tag (writer, id, IR_WIRE_VARINT);
  append_varint (writer, number);
}

static void
append_float (IrWireWriter *writer, float number)
{
  guint32 bits;

  memcpy (&bits, &number, sizeof bits);
  bits = GUINT32_TO_LE (bits);
  append (writer, &bits, sizeof bits);
}

/* Writes a field of type float */
void
ir_wire_put_float (IrWireWriter *writer, guint32 id, float number)
{
  append_tag (writer, id, IR_WIRE_FIXED32);
  append_float (writer, number);
}

/* Writes a length-delimited field, also an empty one. @length: how many bytes. */
void
ir_wire_put_bytes (IrWireWriter *writer, guint32 id, gconstpointer data, gsize length)
{
  append_tag (writer, id, IR_WIRE_BYTES);
  append_varint (writer, length);
  append (writer, data, length);
}

/* @string: text; nothing is written if there is none */
void
ir_wire_put_string (IrWireWriter *writer, guint32 id, const char *string)
{
  if (string != NULL && string[0] != '\0')
    ir_wire_put_bytes (writer, id, string, strlen (string));
}

void
ir_wire_put_reference (IrWireWriter *writer, guint32 id, GBytes *bytes)
{
  gsize length;
  const guint8 *data = g_bytes_get_data (bytes, &length);

  append_tag (writer, id, IR_WIRE_BYTES);
  append_varint (writer, length);
  if (length < REFERENCE_BYTES)
    {
      append (writer, data, length);
      return;
    }
  IrWireReference reference = { writer->buffer->len, g_bytes_ref (bytes) };
  g_array_append_val (writer->references, reference);
  writer->reference_bytes += length;
}

void
ir_wire_put_raw (IrWireWriter *writer, GBytes *fields)
{
  gsize length;
  const guint8 *data;

  if (fields == NULL)
    return;
  data = g_bytes_get_data (fields, &length);
  append (writer, data, length);
}

void
ir_wire_put_packed (IrWireWriter *writer, guint32 id, const gint64 *numbers, guint n)
{
  IrWireMark mark;

  if (n == 0)
    return;
  mark = ir_wire_begin (writer, id);
  for (guint i = 0; i < n; i++)
    append_varint (writer, (guint64) numbers[i]);
  ir_wire_end (writer, mark);
}

void
ir_wire_put_packed_floats (IrWireWriter *writer, guint32 id, const float *numbers, guint n)
{
  IrWireMark mark;

  if (n == 0)
    return;
  mark = ir_wire_begin (writer, id);
  for (guint i = 0; i < n; i++)
    append_float (writer, numbers[i]);
  ir_wire_end (writer, mark);
}

typedef gboolean (*PieceFunc) (const guint8 *data,
                               gsize length,
                               gpointer user_data,
                               GError **error);

static gboolean
for_each_piece (const IrWireWriter *writer, PieceFunc func, gpointer user_data, GError **error)
{
  gsize at = 0;

  for (guint i = 0; i < writer->references->len; i++)
    {
      const IrWireReference *reference = &g_array_index (writer->references, IrWireReference, i);
      gsize length;
      const guint8 *data = g_bytes_get_data (reference->bytes, &length);

      if (!func (writer->buffer->data + at, reference->at - at, user_data, error) ||
          !func (data, length, user_data, error))
        return FALSE;
      at = reference->at;
    }
  return func (writer->buffer->data + at, writer->buffer->len - at, user_data, error);
}

static gboolean
append_piece (const guint8 *data, gsize length, gpointer user_data, GError **error)
{
  guint8 **to = user_data;

  if (length > 0)
    memcpy (*to, data, length);
  *to += length;
  return TRUE;
}

static gboolean
stream_piece (const guint8 *data, gsize length, gpointer user_data, GError **error)
{
  return length == 0 || g_output_stream_write_all (user_data, data, length, NULL, NULL, error);
}

/* The message as one piece of memory */
GBytes *
ir_wire_writer_steal_bytes (IrWireWriter *writer)
{
  gsize size = ir_wire_writer_size (writer);
  GBytes *bytes;

  if (writer->references->len == 0)
    bytes = g_byte_array_free_to_bytes (g_steal_pointer (&writer->buffer));
  else
    {
      guint8 *data = g_malloc (size), *to = data;

      for_each_piece (writer, append_piece, &to, NULL);
      bytes = g_bytes_new_take (data, size);
    }
  ir_wire_writer_clear (writer);
  return bytes;
}

/* Writes the message piece by piece; nothing large is copied in memory. Returns TRUE if all of
 * it was written. */
gboolean
ir_wire_writer_to_stream (const IrWireWriter *writer, GOutputStream *stream, GError **error)
{
  return for_each_piece (writer, stream_piece, stream, error);
}
