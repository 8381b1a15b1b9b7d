/* What the functions of acts share. */
#pragma once

#include "core/act/act.h"
#include "core/op/op.h"

struct _IrActing
{
  IrEdit *edit;
  IrModel *model;
  const char *const *words; /* without the name of the act */
  guint n_words;
  IrActDone *done;
};

gboolean act_refuse (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);
gboolean act_misread (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);
IrNode *act_node (const IrModel *model, const char *word, GError **error);
IrValue *act_value (const IrModel *model, const char *word, GError **error);
IrGraph *act_graph (const IrModel *model, const char *word, GError **error);
char *act_value_label (const IrValue *value);
void act_show_node (IrActing *acting, const IrNode *node);
/* "key=rest": the rest; (nullable) */
const char *act_option (const char *word, const char *key);

/* -- words.c: what words mean -- */
typedef struct
{
  const IrOp *op; /* (nullable): a function of the model */
  const char *domain, *name;
  const IrGraph *function; /* (nullable) */
} IrActOperator;

gboolean act_operator (const IrModel *model,
                       const char *word,
                       IrActOperator *found,
                       GError **error);
const IrAttr *act_attr (
    IrContext *context, const char *name, IrAttrKind kind, const char *text, GError **error);
const IrAttr *act_default_attr (IrContext *context, const IrAttrSpec *spec);
IrAttrKind act_guess_kind (const char *text);
const IrType *act_type (const IrModel *model, const char *text, GError **error);
IrDtype act_dtype (const char *text, GError **error);
IrTensor *act_contents (IrContext *context, const IrType *like, const char *text, GError **error);
IrTensor *act_cast (const IrTensor *tensor, IrDtype dtype, GError **error);

/* -- nodes.c -- */
gboolean act_in_scope (const IrValue *value, const IrGraph *graph);
gboolean act_check_scope (const IrValue *value, const IrGraph *graph, GError **error);
gboolean act_accepts (const IrNode *node, GError **error);
IrModel *act_read_start (const IrOp *op, GError **error);
gboolean act_no_cycle (const IrGraph *graph, GError **error);
void act_drop_unused (IrEdit *edit, GPtrArray *values);

gboolean act_add (IrActing *acting, GError **error);
gboolean act_connect (IrActing *acting, GError **error);
gboolean act_disconnect (IrActing *acting, GError **error);
gboolean act_replace (IrActing *acting, GError **error);
gboolean act_insert (IrActing *acting, GError **error);
gboolean act_bypass (IrActing *acting, GError **error);
gboolean act_delete (IrActing *acting, GError **error);
gboolean act_rename (IrActing *acting, GError **error);
gboolean act_set (IrActing *acting, GError **error);
gboolean act_unset (IrActing *acting, GError **error);
gboolean act_mark_gradient (IrActing *acting, GError **error);

/* -- values.c -- */
gboolean act_rename_value (IrActing *acting, GError **error);
gboolean act_set_type (IrActing *acting, GError **error);
gboolean act_take_weights (IrActing *acting, GError **error);
gboolean act_set_constant (IrActing *acting, GError **error);
gboolean act_add_constant (IrActing *acting, GError **error);
gboolean act_add_input (IrActing *acting, GError **error);
gboolean act_add_output (IrActing *acting, GError **error);
gboolean act_remove (IrActing *acting, GError **error);
gboolean act_fix_size (IrActing *acting, GError **error);
gboolean act_set_opset (IrActing *acting, GError **error);
gboolean act_set_dtype (IrActing *acting, GError **error);
gboolean act_convert (IrActing *acting, GError **error);

/* -- parts.c -- */
gboolean act_duplicate (IrActing *acting, GError **error);
gboolean act_paste (IrActing *acting, GError **error);
gboolean act_wrap (IrActing *acting, GError **error);
GPtrArray *act_place_part (IrActing *acting, IrGraph *graph, IrModel *part, GHashTable *given);
