/* What the runner keeps while passes run: policy, stable keys, costs. Passes with a run function
 * of their own bracket each application by ir_pass_begin() and ir_pass_end(); the rule engine does
 * the same for rules. */
#pragma once

#include "core/ir/frames.h"
#include "passes/pass.h"

struct _IrPassPrivate
{
  const IrPass *pass;
  GArray *origins;             /* node id -> guint32: the node of the start that it descends from */
  GHashTable *occurrence;      /* "pass/rule/origin" -> applications so far */
  GHashTable *skipped;         /* stable keys that the policy skipped */
  GHashTable *tables;          /* pass -> compiled IrRuleTable, kept over the iterations */
  GHashTable *present;         /* interned operators that live nodes have, or had */
  gboolean names_values;       /* attributes of some of them name values */
  gboolean controls_known;     /* control_sources is as the graph is */
  GHashTable *control_sources; /* node ids that others wait for; as at the start of the pass */
  GArray *node_costs;          /* node id -> NodeCost, so that removed ones are known */
  GPtrArray *calls;            /* of IrNode: calls of functions outside of functions */
  GHashTable *frames;          /* (nullable) graph -> IrFrames, as after step @frames_step */
  guint frames_step;
  IrCost cost;   /* of the model now */
  guint ordinal; /* applications that the policy was asked about */
  guint n_steps;
  gboolean reached_limit;
  void (*progress) (const char *pass, guint n_steps, gpointer data);
  gpointer progress_data;
};

/* The runner's side. */
void ir_pass_context_init (IrPassContext *context, struct _IrPassPrivate *priv, IrEdit *edit);
void ir_pass_context_clear (IrPassContext *context);
void ir_pass_context_start (IrPassContext *context, const IrPass *pass);

/* May @rule be applied at @anchor? Class, switched off, policy, cancellation. Opens the step. */
gboolean ir_pass_begin (IrPassContext *context,
                        const char *rule,
                        IrClass step_class,
                        const IrNode *anchor);
void ir_pass_end (IrPassContext *context);   /* ends the step: keys and costs */
void ir_pass_abort (IrPassContext *context); /* takes it back */
gboolean ir_pass_rule_enabled (const IrPassContext *context, const char *rule, IrClass step_class);
gboolean ir_pass_is_control_source (const IrPassContext *context, const IrNode *node);
gboolean ir_pass_has_control (const IrPassContext *context, const IrNode *node);

/* -- shared by passes -- */
/* Removes @node, then its constant inputs that nothing uses any more. */
void ir_pass_remove_node (IrPassContext *context, IrNode *node);
/* After @fresh has replaced @old everywhere and @old's producer is gone: @fresh gets the name that
 * a user gave to @old. */
void ir_pass_take_name (IrPassContext *context, const IrValue *old, IrValue *fresh);
/* The same value from another node: @fresh takes type, uses and name, and @old goes. */
void ir_pass_replace_node (IrPassContext *context, IrNode *old, IrValue *fresh);
/* The live main graph, bodies of functions, and subgraphs of both, outer ones first. */
GPtrArray *ir_pass_graphs (IrPassContext *context);
/* Whether the graph, or one around it, has nodes that may be dead or run more than once. (nullable) @graph */
gboolean ir_pass_moves_tokens (const IrGraph *graph);
IrFrames *ir_pass_frames (IrPassContext *context, const IrGraph *graph);
void ir_pass_keep_frames (IrPassContext *context);
gboolean ir_pass_is_everywhere (IrPassContext *context, const IrNode *node);
gboolean ir_pass_lets_others_wait (const IrNode *node);
gboolean ir_pass_is_predicate (const IrNode *node); /* of a Switch */
typedef void (*IrPassVisit) (IrPassContext *context, IrNode *node);
gboolean ir_pass_visit_nodes (IrPassContext *context, IrPassVisit visit, GError **error);
/* Inner graphs first, for passes over nodes that own graphs; @data: what @visit gets */
typedef void (*IrPassVisitInner) (IrNode *node, gpointer data);
gboolean ir_pass_visit_inner_first (IrPassContext *context,
                                    IrPassVisitInner visit,
                                    gpointer data,
                                    GError **error);
/* In the body of a function: some attribute is that of the call. */
gboolean ir_pass_is_open (const IrNode *node);
/* A new initializer; functions have none, there it is a Constant. */
IrValue *ir_pass_add_constant (IrPassContext *context,
                               IrGraph *graph,
                               const char *base_name,
                               IrTensor *tensor);
void ir_pass_make_constant (IrPassContext *context, IrValue *value); /* of what came into one */
void ir_pass_import (IrPassContext *context, IrGraph *graph, const char *domain);
void ir_pass_drop_import (IrPassContext *context, IrGraph *graph, const char *domain);
gboolean ir_pass_cancelled (IrPassContext *context, GError **error);
/* Operator, device, attributes (bit by bit), how many inputs, and which outputs they have; not what they read */
gboolean ir_pass_same_operation (const IrNode *a, const IrNode *b);
/* Same tensor type, every dimension known or symbolic: reading one for the other changes nothing */
gboolean ir_types_identical (const IrType *a, const IrType *b);
