/* Acts: what somebody does to a graph by hand, each one a step with a name. An act is a row: its
 * name, what the menus call it, its arguments as words, and a function. The window's menus, the
 * command line and the help come from the rows; nothing but acts and texts edits a graph by hand. */
#pragma once

#include "core/ir/edit.h"
#include "core/ir/problem.h"

#include <gio/gio.h>

#define IR_ACT_ERROR (ir_act_error_quark ())
GQuark ir_act_error_quark (void);
typedef enum
{
  IR_ACT_ERROR_USAGE,     /* words that the act cannot read */
  IR_ACT_ERROR_NOT_FOUND, /* there is no such node, value, operator ... */
  IR_ACT_ERROR_REFUSED    /* what was asked for would be no graph, or does not fit */
} IrActErrorCode;

typedef struct _IrActing IrActing;

typedef struct
{
  const char *name;  /* "rename", the rule of the step */
  const char *title; /* "Rename Node": menus, undo */
  const char *words; /* "NODE NAME" */
  guint least, most; /* number of words; G_MAXUINT: any */
  const char *doc;   /* one sentence */
  gboolean (*run) (IrActing *acting, GError **error);
} IrAct;

const IrAct *ir_acts (guint *n);
const IrAct *ir_act_find (const char *name); /* (nullable) */

/* What an act has made or changed, to be looked at. */
typedef struct
{
  GArray *nodes;   /* of IrNodeId */
  IrValueId value; /* 0: none */
} IrActDone;

void ir_act_done_clear (IrActDone *done);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrActDone, ir_act_done_clear)

gboolean ir_act_do (
    IrEdit *edit, const char *const *words, IrActDone *done, GPtrArray *problems, GError **error);
IrModel *ir_act_new_model (void);
/* One step: the graph becomes what @target says, as its text was edited. */
void ir_act_apply_text (IrEdit *edit, IrModel *target, GPtrArray *problems);

/* -- what fits -- */
gboolean ir_act_fits (const IrNode *node, guint slot, const IrValue *value, GError **error);
gint ir_act_slot_for (const IrNode *node, const IrValue *value, GError **error); /* -1: none */
gint ir_act_op_slot_for (const IrOp *op, const IrValue *value);                  /* -1: none */
guint ir_act_n_slots (const IrNode *node);

/* -- parts of a graph -- */
IrModel *ir_act_extract (const IrModel *model,
                         const char *const *from,
                         const char *const *to,
                         GError **error);
IrModel *ir_act_copy (const IrModel *model, const IrNodeId *nodes, guint n, GError **error);
void ir_act_remove_functions (IrEdit *edit); /* those that nothing calls any more */
char *ir_act_copy_text (const IrModel *model, const IrNodeId *nodes, guint n, GError **error);
