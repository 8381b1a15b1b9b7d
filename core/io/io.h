/* Reading and writing models and tensors: the front of all formats. Readers are bounded, never
 * abort, and give as much of the graph as can be understood, with problems. */
#pragma once
#include "core/ir/problem.h"
#include <gio/gio.h>
#include <gio/gio.h>

#define IR_IO_ERROR (ir_io_error_quark ())
GQuark ir_io_error_quark (void);
typedef enum
{
  IR_IO_ERROR_OPEN,   /* cannot be opened, read or written */
  IR_IO_ERROR_FORMAT, /* not of the format at all, or nothing of it can be understood */
  IR_IO_ERROR_TRUNCATED,
  IR_IO_ERROR_LIMIT,
  IR_IO_ERROR_UNSUPPORTED,
  IR_IO_ERROR_CHANGED, /* the mapped file was changed by somebody else */
  IR_IO_ERROR_REFUSED  /* external data outside the model's folder */
} IrIoErrorCode;

/* One row per format: name, extensions, reader, writer. */
typedef struct
{
  const char *name;              /* "onnx" */
  const char *title;             /* "ONNX model" */
  const char *const *extensions; /* "onnx", NULL */
  IrModel *(*read) (const char *path,
                    GPtrArray *problems,
                    GCancellable *cancellable,
                    GError **error); /* NULL without @error: stopped */
  /* (nullable); atomic; FALSE without @error: stopped */
  gboolean (*write) (IrModel *model, const char *path, GCancellable *cancellable, GError **error);
} IrFormat;

const IrFormat *ir_format_find (const char *name_or_path); /* by name, else by extension */
const IrFormat *const *ir_formats (guint *n);

/* Opens @path by its extension, else by its first bytes; types are inferred. @problems (nullable)
 * gets findings. A model with problems is still returned; NULL + @error only if nothing is there.
 */
IrModel *ir_model_load (const char *path,
                        GPtrArray *problems,
                        GCancellable *cancellable,
                        GError **error);
gboolean ir_model_save (IrModel *model,
                        const char *path,
                        const char *format,        /* (nullable) */
                        GCancellable *cancellable, /* (nullable) polled before it is replaced */
                        GError **error);

/* Whether the file under a model is still what was opened (size, time, inode, no fault seen). */
gboolean ir_model_check_file (IrModel *model, GError **error);

/* -- each format in memory -- */
IrModel *ir_onnx_read_bytes (GBytes *bytes,
                             const char *path,
                             GPtrArray *problems,
                             GError **error); /* path nullable: for external data */
GBytes *ir_onnx_write_bytes (IrModel *model, GError **error);
/* How a model is trained, TrainingInfoProto: a graph that may read initializers of the model by name,
 * with the states of training as its own, and for each initializer that changes the name of the
 * output that it becomes. */
typedef struct
{
  IrModel *algorithm;
  const char *const *bindings; /* an initializer, an output, and so on */
  guint n_bindings;
  GHashTable *tensors; /* name -> IrTensor: what initializers of both hold now */
} IrOnnxTraining;
gboolean ir_onnx_save_training (IrModel *model,
                                const IrOnnxTraining *training,
                                const char *path,
                                GError **error);
/* The initializers of the algorithms of a model's training_info: name -> IrTensor */
GHashTable *ir_onnx_training_states (IrModel *model, GError **error);
GBytes *ir_onnx_without_training (GBytes *unknown); /* of IrModelInfo.extra */
/* ONNX textual syntax. Nothing is left out unless the options say so. */
typedef enum
{
  IR_TEXT_NUMBERS,   /* every element as a number */
  IR_TEXT_BASE64,    /* large tensors as base64"…" */
  IR_TEXT_SIDE_FILE, /* large tensors in a file beside: ir_text_write_file() only */
  IR_TEXT_ELIDE      /* large tensors as {...}: to look at, and to read back over the model */
} IrTextLarge;

typedef struct
{
  IrTextLarge large;
  guint64 max_elements; /* a tensor with more is large */
} IrTextOptions;

IrModel *ir_text_read (const char *text, gssize length, GPtrArray *problems, GError **error);
/* As above; "{...}" means the tensor of that name in @base. */
IrModel *ir_text_read_over (
    const char *text, gssize length, IrModel *base, GPtrArray *problems, GError **error);
char *ir_text_write (IrModel *model);
char *ir_text_write_options (IrModel *model, const IrTextOptions *options); /* (nullable) */
char *ir_text_write_node (const IrNode *node); /* alone, in short, to be looked at */
/* A model that holds nothing but the function of an op row's body: "name <attrs> (X) => (Y) {...}",
 * with or without a header of imports. */
IrModel *ir_function_from_text (const char *text,
                                const char *domain,
                                const char *name,
                                GError **error);
IrModel *ir_json_read (const char *text, gssize length, GPtrArray *problems, GError **error);
char *ir_json_write (IrModel *model);
char *ir_dot_write (IrModel *model);

/* -- tensors: .npy and ONNX TensorProto .pb, by extension -- */
IrTensor *ir_tensor_load (const char *path, GError **error);
/* As above, of the kind that @type (nullable) says: a sequence, an optional or a map from a .pb. */
IrTensor *ir_value_load (const char *path, const IrType *type, GError **error);
gboolean ir_tensor_save (const IrTensor *tensor, const char *path, GError **error);
IrTensor *ir_npy_read (GBytes *bytes, GError **error);
/* An array of a .npz file. */
typedef struct
{
  char *name;
  IrTensor *tensor;
} IrNamedTensor;
GPtrArray *ir_npz_read (GBytes *bytes, GError **error); /* of IrNamedTensor */
GPtrArray *ir_npz_load (const char *path, GError **error);
GBytes *ir_npy_write (const IrTensor *tensor, GError **error);

/* -- files -- */
char *ir_file_read_settings (const char *path, gsize *length, GError **error);
gboolean ir_file_write_atomic (const char *path, GBytes *bytes, GError **error);
