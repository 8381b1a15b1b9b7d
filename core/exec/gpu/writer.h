/* Inside this folder: writes a launch. A writer gathers what stands for the $names of a template, and the
 * parameters of its kernel with what they are in the call; then the template becomes the launch. */
#pragma once

#include "core/exec/gpu/emit.h"

typedef struct
{
  IrGpuProgram *program;
  const IrCall *call;
  const char *family;
  const char *why;       /* (nullable) why there is no kernel: the first reason */
  const char *index;     /* what counts elements, "unsigned int" where that is enough */
  GPtrArray *words;      /* name, text, name, text .. */
  GString *parameters;   /* of the kernel */
  GString *arguments;    /* ", z": what goes to functions of the kernel beside their own */
  GString *declarations; /* ", const float *z": the same, where they are declared */
  const char *parts[5][2];
  guint n_parts;
  IrGpuArg args[IR_GPU_MAX_ARGS];
  guint n_args;
} GpuWriter;

void gpu_writer_init (GpuWriter *w, IrGpuProgram *program, const IrCall *call, const char *family);
void gpu_writer_clear (GpuWriter *w);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GpuWriter, gpu_writer_clear)

/* $name stands for the text, or the number. */
void gpu_put (GpuWriter *w, const char *name, const char *format, ...) G_GNUC_PRINTF (3, 4);
void gpu_put_text (GpuWriter *w, const char *name, char *text); /* (transfer full) */
void gpu_put_int (GpuWriter *w, const char *name, gint64 value);
/* As a number of the type @compute. */
void gpu_put_number (GpuWriter *w, const char *name, double value, const char *compute);

/* A parameter of the kernel, called @name. With it come the words type_NAME, which its elements have in
 * memory, and load_NAME, compute_NAME or store_NAME, as in a GpuElement. Returns the element type; NULL,
 * with a reason in @w, where no kernel takes it. */
const GpuElement *gpu_put_input (GpuWriter *w, const char *name, guint slot);
const GpuElement *gpu_put_output (GpuWriter *w, const char *name, guint slot);
/* The words compute, load and store, and f: what functions of the type end with. */
void gpu_put_element (GpuWriter *w, const GpuElement *element);
/* For kernels that only move elements: their type is a whole number of the same width. */
gboolean gpu_put_moved (GpuWriter *w, const char *name, IrGpuArgKind kind, guint slot);
void gpu_put_fault (GpuWriter *w);

/* The shape of an input or an output: FALSE, with a reason in @w, where it is not known. */
gboolean gpu_shape_of_input (GpuWriter *w, guint slot, GpuShape *shape);
gboolean gpu_shape_of_output (GpuWriter *w, guint slot, GpuShape *shape);
/* Numbers of the elements of an operand: from so many on, $index is wide. */
void gpu_put_extent (GpuWriter *w, guint64 n);
/* $name stands for text that finds the places o0, o1 .. of the operands of @loop for element @index. */
void gpu_put_loop (GpuWriter *w, const char *name, const GpuLoop *loop, const char *index);

/* $NAME stands for the template of that name, filled with the words of the whole launch. */
void gpu_put_part (GpuWriter *w, const char *name, const char *template_name);
/* What follows sums that become elements of @out: e_$name (v, o) is the element of v at place o. */
void gpu_put_epilogue (GpuWriter *w, const GpuShape *out, const GpuElement *element);
/* A bias for each channel of a result with so many elements in each. */
typedef struct
{
  guint bias; /* slot */
  gint64 plane, n;
} GpuChannels;
/* (transfer full) (nullable) What does the same to a product that a library has computed. @channels: (nullable) */
IrGpuLaunch *gpu_write_finish (const IrCall *call, const GpuChannels *channels);
/* Text of numbers in @expression, in the language of the column SCALAR. */
void gpu_put_expression (GpuWriter *w,
                         const char *name,
                         const char *compute,
                         const char *expression);

/* Why there is no kernel, for good; the first reason stays. */
const char *gpu_refuse (GpuWriter *w, const char *why);
/* Launches @template_name with @blocks blocks of @threads: $threads and $warps. Returns why not, or NULL. */
const char *gpu_write (GpuWriter *w, const char *template_name, guint64 blocks, guint threads);
/* With a thread for each of @n elements: $each gives it its element, i, and ends threads without one. */
const char *gpu_write_each (GpuWriter *w, const char *template_name, guint64 n);
/* With a block for each of @n_rows rows of @n elements. */
const char *gpu_write_rows (GpuWriter *w, const char *template_name, guint64 n_rows, guint64 n);

/* Output @slot, all of whose elements are 1. */
const char *gpu_write_kept (IrGpuProgram *program, IrCall *call, guint slot);

extern const char gpu_unknown_shape[], gpu_unknown_contents[], gpu_no_element[], gpu_too_many[];
