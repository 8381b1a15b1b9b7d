/* What the files of the ONNX reader and writer share. */
#pragma once

#include "core/io/data-file.h"
#include "core/io/draft.h"
#include "core/io/formats.h"
#include "core/io/mapped-file.h"
#include "core/io/onnx/protobuf.h"

typedef struct
{
  IrDraft *draft;
  IrContext *context;
  GBytes *bytes;              /* of the whole file: tensors are slices of it */
  const guint8 *base;         /* its first byte */
  const char *folder;         /* (nullable) of external data; NULL: none is read */
  GHashTable *external_files; /* relative path -> IrMappedFile */
  GPtrArray *keep_alive;      /* of IrMappedFile, of the model */
} IrOnnxReader;

/* -- onnx/type.c -- */
const IrType *ir_onnx_read_type (IrOnnxReader *reader, const IrWireField *field, guint depth);
void ir_onnx_write_type (IrWireWriter *writer, guint32 id, IrContext *context, const IrType *type);
void ir_onnx_write_type_body (IrWireWriter *writer, IrContext *context, const IrType *type);

/* -- onnx/tensor.c -- */
/* NULL and a problem if the tensor cannot be understood. @what names it in messages. */
IrTensor *ir_onnx_read_tensor (IrOnnxReader *reader,
                               const IrWireField *field,
                               const char *what,
                               const char **name,
                               const IrType **type);
IrTensor *ir_onnx_read_sparse_tensor (IrOnnxReader *reader,
                                      const IrWireField *field,
                                      const char *what,
                                      const char **name);
void ir_onnx_write_tensor (IrWireWriter *writer,
                           const IrTensor *tensor,
                           const char *name,
                           IrDataFile *data_file);
void ir_onnx_write_sparse_tensor (IrWireWriter *writer,
                                  const IrTensor *tensor,
                                  const char *name,
                                  IrDataFile *data_file);

/* -- onnx/container.c -- */
IrTensor *ir_onnx_read_container (IrOnnxReader *reader,
                                  const IrWireField *field,
                                  IrTypeKind kind,
                                  const IrType *type,
                                  guint depth);
void ir_onnx_write_value (IrWireWriter *writer, const IrTensor *value);

/* Whether indices (int64, [NNZ] linear or [NNZ, rank]) fit values [NNZ] and the shape. */
gboolean ir_io_sparse_fits (const IrTensor *values,
                            const IrTensor *indices,
                            guint rank,
                            const gint64 *dims);

/* -- external.c -- */
GBytes *ir_onnx_external_bytes (IrOnnxReader *reader,
                                const char *location,
                                guint64 offset,
                                gint64 length,
                                gsize expected,
                                GError **error);

/* -- onnx/read.c -- */
const char *ir_onnx_intern (IrOnnxReader *reader, const IrWireField *field);
void ir_onnx_keep_unknown (GByteArray **unknown, const IrWireField *field);
GBytes *ir_onnx_take_unknown (GByteArray **unknown);
void ir_onnx_check_end (IrOnnxReader *reader, const IrWire *wire, const char *what);

/* -- onnx/write.c -- */
gboolean ir_onnx_write (IrModel *model,
                        IrWireWriter *writer,
                        IrDataFile *data_file,
                        gboolean all_types,
                        GError **error);
