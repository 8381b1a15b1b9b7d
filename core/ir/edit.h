/* IrEdit: the only writer of a model. Each verb appends one small reversible record; a step groups
 * the records of one application of one rule at one place; steps lie in pass runs. While a model is
 * built by a reader nothing is recorded: that is step 0.
 *
 * Verbs must lie between begin_step and end_step, unless the edit was made by ir_edit_new_import().
 * They do not fail on what a reader meets (duplicate names, cycles, dangling values): those are
 * allowed states that the verifier reports. */
#pragma once

#include "core/ir/model.h"

typedef struct _IrEdit IrEdit;

typedef enum
{
  IR_CLASS_EXACT,    /* bit-exact under IEEE arithmetic */
  IR_CLASS_ROUNDING, /* may round differently */
  IR_CLASS_UNSAFE,   /* may change NaN, Inf, -0, overflow or meaning */
  IR_CLASS_EDIT,     /* a user's edit: may change anything */
  IR_N_CLASSES
} IrClass;

IrEdit *ir_edit_new (IrModel *model);         /* recording; cuts off steps beyond the cursor */
IrEdit *ir_edit_new_import (IrModel *model);  /* for readers: nothing recorded */
IrEdit *ir_edit_new_passing (IrModel *model); /* what it changes is taken back when it is freed */
void ir_edit_take_interned (IrEdit *edit);    /* for readers: strings are the context's */
void ir_edit_free (IrEdit *edit);             /* ends what is open */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrEdit, ir_edit_free)
IrModel *ir_edit_model (IrEdit *edit);

/* -- spans -- */
void ir_edit_begin_pipeline (IrEdit *edit, const char *name);
void ir_edit_end_pipeline (IrEdit *edit);
void ir_edit_begin_pass (IrEdit *edit, const char *pass);
void ir_edit_note_settings (IrEdit *edit, const char *settings);
void ir_edit_end_pass (IrEdit *edit);
void ir_edit_begin_step (IrEdit *edit, const char *rule, IrClass step_class, IrNodeId anchor);
void ir_edit_end_step (IrEdit *edit);   /* a step without records is dropped */
void ir_edit_abort_step (IrEdit *edit); /* takes back its records, as if never begun */
void ir_edit_step_reason (IrEdit *edit, const char *format, ...) G_GNUC_PRINTF (2, 3);
void ir_edit_step_map_node (IrEdit *edit, IrNodeId old_node, IrNodeId new_node); /* lineage */
void ir_edit_step_map_value (IrEdit *edit,
                             IrValueId old_value,
                             IrValueId new_value);                            /* stands for */
void ir_edit_step_note_part (IrEdit *edit, IrValueId value, IrValueId part);  /* is derived by */
void ir_edit_note_inlined (IrEdit *edit, const IrNode *call, IrNodeId first); /* without a step */
/* A rule that matched so far and then did not apply; kept only when refusals are asked for. */
void ir_edit_refuse (IrEdit *edit, const char *rule, IrNodeId anchor, const char *reason);
void ir_edit_record_refusals (IrEdit *edit, gboolean on);

/* -- nodes -- */
IrNode *ir_edit_add_node (IrEdit *edit,
                          IrGraph *graph,
                          const char *op_type,
                          const char *domain, /* (nullable) "" */
                          const char *name,   /* (nullable) "" */
                          guint n_inputs,
                          IrValue *const *inputs, /* entries nullable */
                          guint n_outputs);       /* makes that many new, unnamed-by-user values */
/* As above; output values exist already (without producer), entries nullable. For readers. */
IrNode *ir_edit_add_node_with_outputs (IrEdit *edit,
                                       IrGraph *graph,
                                       const char *op_type,
                                       const char *domain,
                                       const char *name,
                                       guint n_inputs,
                                       IrValue *const *inputs,
                                       guint n_outputs,
                                       IrValue *const *outputs);
void ir_edit_remove_node (IrEdit *edit, IrNode *node); /* and its outputs, which must be unused */
void ir_edit_set_input (IrEdit *edit, IrNode *node, guint slot, IrValue *value); /* (nullable) */
void ir_edit_set_n_inputs (IrEdit *edit, IrNode *node, guint n_inputs); /* new ones are NULL */
void ir_edit_set_output (IrEdit *edit,
                         IrNode *node,
                         guint slot,
                         IrValue *value); /* (nullable): takes over the value from its producer */
void ir_edit_set_n_outputs (IrEdit *edit, IrNode *node, guint n_outputs);
void ir_edit_set_attr (IrEdit *edit, IrNode *node, const IrAttr *attr); /* adds or replaces */
void ir_edit_unset_attr (IrEdit *edit, IrNode *node, const char *name);
void ir_edit_set_op (
    IrEdit *edit, IrNode *node, const char *op_type, const char *domain, const char *overload);
void ir_edit_rename_node (IrEdit *edit, IrNode *node, const char *name);
void ir_edit_set_scope (IrEdit *edit, IrNode *node, const char *scope);
void ir_edit_set_device (IrEdit *edit, IrNode *node, const char *device);
void ir_edit_set_rank (IrEdit *edit, IrNode *node, guint64 rank);
void ir_edit_add_control (IrEdit *edit, IrNode *node, IrNode *before);
void ir_edit_remove_control (IrEdit *edit, IrNode *node, IrNode *before);
void ir_edit_set_node_extra (IrEdit *edit, IrNode *node, const IrExtra *extra);
void ir_edit_move_node (IrEdit *edit, IrNode *node, IrGraph *graph); /* with its outputs */

/* -- values -- */
IrValue *ir_edit_add_value (IrEdit *edit, IrGraph *graph, const char *name, const IrType *type);
IrValue *ir_edit_add_initializer (IrEdit *edit,
                                  IrGraph *graph,
                                  const char *name,
                                  IrTensor *tensor);      /* (nullable) name: made up */
void ir_edit_remove_value (IrEdit *edit, IrValue *value); /* no producer, no uses */
void ir_edit_set_type (IrEdit *edit, IrValue *value, const IrType *type);
void ir_edit_set_claim (IrEdit *edit, IrValue *value, const IrType *claim);
void ir_edit_set_flags (IrEdit *edit, IrValue *value, IrValueFlags flags);
void ir_edit_set_initializer (IrEdit *edit, IrValue *value, IrTensor *tensor); /* (nullable) */
void ir_edit_rename_value (IrEdit *edit, IrValue *value, const char *name);
void ir_edit_set_value_extra (IrEdit *edit, IrValue *value, const IrExtra *extra);
void ir_edit_move_value (IrEdit *edit, IrValue *value, IrGraph *graph);
/* Every use of @old, graph outputs too, becomes a use of @with. If @old is a graph output it keeps
 * its name there: @with takes the name over, or, when @with is itself an input, an initializer or
 * an output already, an Identity node carries it. Records that @with stands for @old. */
void ir_edit_replace_uses (IrEdit *edit, IrValue *old, IrValue *with);
gboolean ir_edit_name_is_free (IrEdit *edit, const char *name);
const char *ir_edit_unique_name (IrEdit *edit, const char *base); /* unused so far in the model */

/* -- graphs and model -- */
IrGraph *ir_edit_add_graph (IrEdit *edit, IrGraphKind kind, const char *name);
void ir_edit_remove_graph (IrEdit *edit, IrGraph *graph);
void ir_edit_set_graph_owner (IrEdit *edit,
                              IrGraph *graph,
                              IrNode *owner); /* set by set_attr too */
void ir_edit_rename_graph (IrEdit *edit, IrGraph *graph, const char *name);
void ir_edit_set_graph_inputs (IrEdit *edit, IrGraph *graph, IrValue *const *values, guint n);
void ir_edit_set_graph_outputs (IrEdit *edit, IrGraph *graph, IrValue *const *values, guint n);
void ir_edit_set_graph_extra (IrEdit *edit, IrGraph *graph, const IrExtra *extra);
void ir_edit_set_function_info (IrEdit *edit, IrGraph *graph, const IrFunctionInfo *info);
void ir_edit_set_opset (IrEdit *edit, const char *domain, gint64 version); /* 0 removes it */
void ir_edit_set_info (IrEdit *edit, const IrModelInfo *info); /* copied into the context */
void ir_edit_set_metadata (IrEdit *edit,
                           const char *key,
                           const char *value); /* (nullable) removes */

/* -- immutable payloads, in the context -- */
const IrExtra *ir_extra_new (IrContext *context,
                             const char *doc,
                             const IrProps *props,
                             GBytes *unknown); /* NULL if empty */
const IrProps *ir_props_new (IrContext *context,
                             guint n,
                             const char *const *keys,
                             const char *const *values);
const char *ir_props_get (const IrProps *props, const char *key);
const char *ir_class_name (IrClass step_class);
