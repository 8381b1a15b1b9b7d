/* Moving nodes between graphs, for passes: names stay unique in every scope. */
#pragma once

#include "passes/pass.h"

typedef struct _IrPassNames IrPassNames;

IrPassNames *ir_pass_names_new (const IrModel *model);
void ir_pass_names_free (IrPassNames *names);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrPassNames, ir_pass_names_free)
/* Both need an open step. @to is a graph around the one where the node or the value is. */
void ir_pass_move_node (IrPassContext *context, IrPassNames *names, IrNode *node, IrGraph *to);
void ir_pass_move_value (IrPassContext *context, IrPassNames *names, IrValue *value, IrGraph *to);
/* Names of a node that is gone, and of what it gave. */
void ir_pass_hand_names (IrPassContext *context,
                         IrPassNames *names,
                         const IrNode *old,
                         IrNode *fresh);
gboolean ir_pass_is_local_constant (IrPassContext *context,
                                    const IrGraph *graph,
                                    const IrValue *value);
void ir_pass_move_constant (IrPassContext *context,
                            IrPassNames *names,
                            IrValue *value,
                            const IrNode *beside);
/* Names of nodes and values of @graph that others in the model have too are replaced. */
void ir_pass_make_names_unique (IrPassContext *context, IrPassNames *names, const IrGraph *graph);
/* @with can stand for @old: at least as much is known of its type, or is now. */
gboolean ir_pass_fit_type (IrPassContext *context, const IrValue *old, IrValue *with);
