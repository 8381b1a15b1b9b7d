/* What the reference kernels share: where an element lies (layouts), how elements are read as
 * numbers (whatever their type), and how elements of any type are moved (readers and writers). */
#pragma once

#include "core/op/call.h"
#include "core/op/infer-util.h"

/* Elements that a loop handles at a time; so scratch lies on the stack. */
#define IR_REF_CHUNK 256

/* -- before a kernel -- */
/* Checks the call against its row and infers; then the types of all outputs that are wanted must
 * be known. Kernels start with it and rely on what inference checks. */
gboolean ir_ref_check (IrCall *call, GError **error);
gboolean ir_ref_prepare (IrCall *call, GError **error);
guint64 ir_ref_count (const IrType *type); /* elements of a static type */

/* -- layouts: an index space laid over strided elements -- */
typedef struct
{
  guint rank; /* at most 2 * IR_MAX_RANK: some kernels split axes */
  gint64 dims[2 * IR_MAX_RANK];
  gint64 strides[2 * IR_MAX_RANK]; /* in elements; 0 repeats, negative runs backwards */
} IrRefLayout;

void ir_ref_layout_init (IrRefLayout *layout, guint rank, const gint64 *dims); /* C order */
void ir_ref_layout_add (IrRefLayout *layout, gint64 dim, gint64 stride);
/* The tensor @in as it is seen when broadcast to @dims. */
void ir_ref_layout_broadcast (IrRefLayout *layout,
                              const IrTensor *in,
                              guint rank,
                              const gint64 *dims);
guint64 ir_ref_layout_count (const IrRefLayout *layout);
/* Offsets of the elements [first, first + n) in C order of the index space, plus @base. */
void ir_ref_layout_offsets (
    const IrRefLayout *layout, guint64 first, guint n, gint64 base, gint64 *offsets);
/* [outer, n, inner]: how much lies before and behind @axis. */
void ir_ref_split_at (guint rank, const gint64 *dims, guint axis, gint64 *outer, gint64 *inner);

/* -- numbers -- */
typedef enum
{
  IR_REF_REAL, /* floating point: as doubles */
  IR_REF_SINT, /* signed: as gint64 */
  IR_REF_UINT, /* unsigned and bool: as gint64 of the same bits */
  IR_REF_OTHER /* strings, complex */
} IrRefKind;
IrRefKind ir_ref_kind (IrDtype dtype);
void ir_ref_load_real (const IrTensor *tensor, const gint64 *offsets, guint n, double *values);
void ir_ref_load_int (const IrTensor *tensor, const gint64 *offsets, guint n, gint64 *values);
void ir_ref_store_real (IrTensor *tensor, guint64 first, guint n, const double *values);
void ir_ref_store_int (IrTensor *tensor, guint64 first, guint n, const gint64 *values);
gboolean ir_ref_fail_dtype (const IrCall *call, IrDtype dtype, GError **error);

/* -- elements of any type -- */
typedef struct
{
  IrDtype dtype;
  gsize size;         /* bytes of an element */
  guint64 n;          /* elements */
  const guint8 *data; /* strings: GBytes pointers; types below 8 bits: a byte each */
  gpointer owned;
} IrRefReader;

typedef struct
{
  IrDtype dtype;
  gsize size;
  guint64 n;
  guint8 *data;
  gpointer owned;
  IrCall *call;
  guint slot;
} IrRefWriter;

gboolean ir_ref_reader_init (IrRefReader *reader,
                             const IrCall *call,
                             const IrTensor *tensor,
                             GError **error);
void ir_ref_reader_clear (IrRefReader *reader);
/* Memory for output @slot, of its inferred type. */
gboolean ir_ref_writer_init (IrRefWriter *writer, IrCall *call, guint slot, GError **error);
/* Of the type of @like, with dims that inference could not know. */
gboolean ir_ref_writer_init_dims (IrRefWriter *writer,
                                  IrCall *call,
                                  guint slot,
                                  IrDtype dtype,
                                  guint rank,
                                  const gint64 *dims,
                                  GError **error);
gboolean ir_ref_writer_finish (IrRefWriter *writer, GError **error);
/* Writes element i of the layout to place @first + i, for all of them. */
void ir_ref_copy_layout (IrRefWriter *writer,
                         guint64 first,
                         const IrRefReader *reader,
                         const IrRefLayout *layout,
                         gint64 base);
/* Writes n elements in a row. */
void ir_ref_copy_run (
    IrRefWriter *writer, guint64 to, const IrRefReader *reader, guint64 from, guint64 n);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrRefReader, ir_ref_reader_clear)
void ir_ref_writer_clear (IrRefWriter *writer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrRefWriter, ir_ref_writer_clear)
