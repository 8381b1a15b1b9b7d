/* Protocol buffers on the wire, read in place and written in pieces. The reader copies nothing,
 * allocates nothing and never looks beyond the message that it was given; the writer keeps large
 * byte strings by reference, so that saving a model does not copy its weights. Groups (wire types 3
 * and 4) are refused: ONNX has none. */
#pragma once

#include <gio/gio.h>

typedef enum
{
  IR_WIRE_VARINT = 0,
  IR_WIRE_FIXED64 = 1,
  IR_WIRE_BYTES = 2,
  IR_WIRE_FIXED32 = 5
} IrWireType;

typedef enum
{
  IR_WIRE_OK,
  IR_WIRE_TRUNCATED, /* a field is longer than the message around it */
  IR_WIRE_MALFORMED  /* an overlong varint, a group, or field number 0 */
} IrWireStatus;

/* A message that is being read. */
typedef struct
{
  const guint8 *next, *end;
  IrWireStatus status;
} IrWire;

/* One field. Varints and fixed ones are in @number; strings and messages are @data, @length. */
typedef struct
{
  guint32 id;
  IrWireType type;
  guint64 number;
  const guint8 *data;
  gsize length;
  const guint8 *raw; /* the whole field with its tag */
  gsize raw_length;
} IrWireField;

void ir_wire_init (IrWire *wire, const guint8 *data, gsize length);
void ir_wire_init_field (IrWire *wire, const IrWireField *field);
gboolean ir_wire_next (IrWire *wire, IrWireField *field);
gboolean ir_wire_packed_next (IrWire *wire, IrWireType type, guint64 *number);
gboolean ir_wire_field_numbers (const IrWireField *field, IrWireType type, GArray *numbers);

typedef struct
{
  gsize at; /* place in the buffer that the bytes stand at */
  GBytes *bytes;
} IrWireReference;

typedef struct
{
  GByteArray *buffer;
  GArray *references; /* of IrWireReference, ascending */
  gsize reference_bytes;
  gsize left_out; /* bytes behind the end of what a message may have; then nothing can be written */
} IrWireWriter;

typedef struct
{
  gsize at, reference_bytes;
  guint n_references;
} IrWireMark;

void ir_wire_writer_init (IrWireWriter *writer);
void ir_wire_writer_clear (IrWireWriter *writer);
gsize ir_wire_writer_size (const IrWireWriter *writer);
gboolean ir_wire_writer_fits (const IrWireWriter *writer,
                              const char *what,
                              const char *instead,
                              GError **error);
IrWireMark ir_wire_begin (IrWireWriter *writer, guint32 id);
void ir_wire_end (IrWireWriter *writer, IrWireMark mark);
void ir_wire_put_varint (IrWireWriter *writer, guint32 id, guint64 number);
void ir_wire_put_float (IrWireWriter *writer, guint32 id, float number);
void ir_wire_put_bytes (IrWireWriter *writer, guint32 id, gconstpointer data, gsize length);
void ir_wire_put_string (IrWireWriter *writer, guint32 id, const char *string);
void ir_wire_put_reference (IrWireWriter *writer, guint32 id, GBytes *bytes);
void ir_wire_put_raw (IrWireWriter *writer, GBytes *fields);
void ir_wire_put_packed (IrWireWriter *writer, guint32 id, const gint64 *numbers, guint n);
void ir_wire_put_packed_floats (IrWireWriter *writer, guint32 id, const float *numbers, guint n);
GBytes *ir_wire_writer_steal_bytes (IrWireWriter *writer);
gboolean ir_wire_writer_to_stream (const IrWireWriter *writer,
                                   GOutputStream *stream,
                                   GError **error);
