/* How the forms of operators changed from one version of ai.onnx to a later one: rows that
 * passes/rewrites/upgrade-opset.c runs over a model. */
#pragma once

#include "passes/rule/step.h"

/* The newest version of ai.onnx whose changes the table has. */
#define IR_OPSET_NEWEST 28

typedef struct
{
  IrPassContext *context;
  gint64 target;                /* version of ai.onnx */
  gboolean constants_are_nodes; /* IR version < 4: new initializers would have to be inputs */
  gboolean incomplete;          /* the policy left a node as it was */
} IrUpgrade;

typedef struct _IrFormChange IrFormChange;
struct _IrFormChange
{
  const char *const *ops; /* (nullable) names, NULL-terminated; NULL: all of ai.onnx */
  gint64 version;         /* nodes of older versions change */
  const char *rule, *what;
  gboolean (*needed) (const IrFormChange *change, const IrNode *node);
  /* FALSE with the reason if the node cannot be upgraded; what it wrote is taken back then. */
  gboolean (*rewrite) (IrUpgrade *upgrade,
                       const IrFormChange *change,
                       IrNode *node,
                       GError **error);
  gboolean late; /* the new form means something else in the old version: part of the last step */
};

/* In the order in which they are tried on a node. */
const IrFormChange *ir_form_changes (guint *n);
gboolean ir_opset_may_be (const IrModel *model, gint64 opset, GError **error);

/* The names of the rules, for the documentation: ROW (name, left, right, doc). */
#define IR_FORM_RULES(ROW)                                                                         \
  ROW ("attributes-to-inputs", "axes, sizes, limits as attributes", "constant inputs",             \
       "Squeeze, Unsqueeze, reductions, Reshape, Slice, Split, Pad, Clip, TopK, Dropout, DFT.")    \
  ROW ("drop-attribute", "an attribute without meaning", "none",                                   \
       "consumed_inputs, is_test, spatial = 1, output_sequence.")                                  \
  ROW ("explicit-attribute", "a default that changed", "the attribute",                            \
       "What the old version had as default is written down: Concat, Selu, RoiAlign, Split.")      \
  ROW ("respell-attribute", "an attribute of another spelling or type", "the new one",             \
       "Cast's type by number, pads, p as an integer, GridSample's modes.")                        \
  ROW ("broadcast-by-shape", "broadcast and axis as attributes", "an Unsqueeze where needed",      \
       "Before opset 7 an attribute said how operands line up.")                                   \
  ROW ("softmax-over-axis", "Softmax over all axes from one on", "Flatten, Softmax, Reshape",      \
       "Before opset 13 the input was flattened to two axes.")                                     \
  ROW ("rename-operator", "Upsample, Scatter", "Resize, ScatterElements",                          \
       "Operators that were replaced by more general ones.")                                       \
  ROW ("resize-inputs", "Resize of opset 10", "with regions, and its coordinates spelled out",     \
       "Opset 11 put an input between, and changed the default coordinates.")                      \
  ROW ("training-outputs", "outputs that only training has", "none, if nobody uses them",          \
       "BatchNormalization before opset 14.")                                                      \
  ROW ("scale-per-channel", "GroupNormalization's scale per group", "per channel",                 \
       "Opset 21 has one scale and bias for each channel.")                                        \
  ROW ("tile-repeats", "Tile's count and axis", "repeats for all axes",                            \
       "Opset 6 has one number for each axis.")                                                    \
  ROW ("scan-over-batch", "Scan with a batch axis", "a Scan of Scans",                             \
       "Opset 9 has no batch axis: an outer Scan goes over it.")                                   \
  ROW ("mask-type", "Dropout's mask in the type of the data", "a Cast of the mask",                \
       "Since opset 10 the mask is boolean.")
