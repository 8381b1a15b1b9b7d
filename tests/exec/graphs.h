/* Small graphs for tests, built with a few calls. */
#pragma once

#include "core/exec/exec.h"
#include "core/ir/edit.h"
#include "core/op/infer.h"

typedef struct
{
  IrModel *model;
  IrEdit *edit;
} Builder;

void builder_init (Builder *builder, gint64 opset);
void builder_clear (Builder *builder);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Builder, builder_clear)

IrValue *build_input (Builder *builder, const char *name, const char *type);
IrValue *build_constant (Builder *builder,
                         const char *name,
                         IrTensor *tensor); /* (transfer full) */
/* One node in @graph (NULL: main); inputs end with END, NULL is an input left out. */
#define END ((IrValue *) -1)
IrNode *build_node (Builder *builder, IrGraph *graph, const char *op, guint n_outputs, ...);
void build_ints (Builder *builder, IrNode *node, const char *name, guint n, ...); /* of int */
void build_int (Builder *builder, IrNode *node, const char *name, gint64 value);
void build_float (Builder *builder, IrNode *node, const char *name, float value);
void build_string (Builder *builder, IrNode *node, const char *name, const char *value);
void build_output (Builder *builder, IrValue *value);
void build_done (Builder *builder); /* infers types */

/* Tensors from text: "float[2,3]" with "1 2 3 4 5 6"; elements repeat when there are too few. */
IrTensor *tensor_of (const char *type, const char *elements);
IrTensor *tensor_random (const char *type, guint seed); /* floats in [-1, 1] */
GHashTable *inputs_new (void);
void inputs_add (GHashTable *inputs, const IrValue *value, IrTensor *tensor); /* (transfer full) */
void assert_tensor (const IrTensor *tensor, const char *type, const char *elements, double atol);
