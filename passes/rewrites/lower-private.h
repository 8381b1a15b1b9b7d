/* What the ways to tokens and to closures share: what is read from around a construct, and how its graphs come to
 * where it is. */
#pragma once

#include "core/ir/frames.h"
#include "core/op/check.h"
#include "core/op/op.h"
#include "passes/rule/move.h"
#include "passes/rule/step.h"

#define IR_LOWER_DOMAIN "irscope.flow"

/* What a graph had before anything changed: orders are not found again at each step. */
typedef struct
{
  GPtrArray *nodes;    /* of IrNode, in order */
  GPtrArray *free;     /* of IrValue: initializers */
  gboolean draws;      /* random numbers */
  gboolean has_tokens; /* a graph inside of it, which stays */
  gboolean is_open;    /* some attribute is that of a call of the function around */
} IrLowerMembers;

typedef struct _IrLowering IrLowering;

/* What becomes of an operator. */
typedef struct
{
  IrOpId op;        /* IR_OP_NONE: a call of a function */
  const char *rule; /* %NULL: behind the last */
  void (*lower) (IrLowering *l, IrNode *node, const char *rule);
} IrLowerWay;

struct _IrLowering
{
  IrPassContext *context;
  const IrLowerWay *ways;
  const char *domain;  /* of what constructs become */
  gboolean everywhere; /* in functions, and inside of what stays, too */
  IrEdit *edit;
  IrPassNames *names;
  GHashTable *members;     /* IrGraph -> IrLowerMembers */
  GHashTable *conditional; /* set of IrValue: dead where their branch or body is not run */
  GHashTable *apart;       /* set of IrNode: constructs that read what may be dead where they would not be */
  GHashTable *waited_for;  /* IrNode -> how many others were made to wait for it here */
  GHashTable *frames;      /* (nullable) set of (owned) char *: names of frames that there are */
  GQueue waiting;          /* of IrNode: constructs to come */
};

/* One construct under way. */
typedef struct
{
  IrLowering *l;
  IrNode *node;
  IrGraph *graph;      /* where new nodes go: that of @node */
  IrNode *gate;        /* (nullable) what is dead with @node, where it has no controls of its own */
  GHashTable *inside;  /* set of IrValue: dead where the branch or body is not run */
  GHashTable *brought; /* IrValue of @graph -> the Switch that brings it in */
  GPtrArray *switches; /* of IrNode: these */
  GPtrArray *around;   /* of IrNode: constants that the construct alone reads, and that are not in it */
} IrLowerConstruct;

gboolean ir_lower_run (IrPassContext *context,
                       const IrLowerWay *ways,
                       const char *domain,
                       gboolean everywhere,
                       GError **error);
void ir_lower_refuse (IrLowering *l, const char *rule, const IrNode *node, const char *why);

/* Where @graph is not among those that were there when the pass began, or has changed since, with those in it */
void ir_lower_note_members (IrLowering *l, IrGraph *graph);
void ir_lowering_init (IrLowering *l,
                       IrPassContext *context,
                       const IrLowerWay *ways,
                       const char *domain,
                       gboolean everywhere);
void ir_lowering_clear (IrLowering *l);

/* -- what is read from around -- */
/* What the nodes of @inner, and of graphs inside of it, read of @graph and of graphs around that. */
void ir_lower_find_captures (const IrLowering *l,
                             const IrGraph *inner,
                             const IrGraph *graph,
                             GPtrArray *values,
                             GHashTable *seen);
/* What is inside of @inner reads @with in place of @value. */
void ir_lower_read_instead (IrLowering *l, const IrGraph *inner, IrValue *value, IrValue *with);
/* (nullable) Why a branch or a body stays where it is */
const char *ir_lower_why_not_moved (const IrLowering *l, const IrGraph *graph);

/* @node, a Switch or an Enter of the construct, waits for constants that were around it: so raising leaves them there. */
void ir_lower_keep_around (IrLowerConstruct *c, IrNode *node);

/* -- new nodes -- */
/* @domain: (nullable) of the standard; @type: (nullable) of all outputs */
IrNode *ir_lower_add_node (IrLowerConstruct *c,
                           const char *op,
                           const char *domain,
                           guint n_inputs,
                           IrValue *const *inputs,
                           guint n_outputs,
                           const IrType *type);
/* What reads nothing that is dead with the construct waits for what is. */
void ir_lower_guard (IrLowerConstruct *c, IrNode *node);
/* One that was made in case that somebody needs it. (nullable) @node */
void ir_lower_drop_unread (IrLowerConstruct *c, IrNode *node);

/* -- what moves -- */
/* @value is dead where the branch or body is not run. */
void ir_lower_mark (IrLowerConstruct *c, IrValue *value);
/* A branch or a body comes to where new nodes go. @pivot: (nullable) what is live when it runs; without it
 * always runs there */
void ir_lower_move_in (IrLowerConstruct *c, const IrGraph *from, IrNode *pivot);
/* A result that is there whether or not the branch or body runs is held back until it does. */
IrValue *ir_lower_hold_back (IrLowerConstruct *c, IrValue *value, IrNode *pivot);
GPtrArray *ir_lower_take_outputs (IrLowering *l, IrGraph *graph);
void ir_lower_swap_result (GPtrArray *results, IrValue *value, IrValue *with);

/* -- a construct -- */
gboolean ir_lower_begin (IrLowerConstruct *c, IrLowering *l, const char *rule, IrNode *node);
/* (nullable) Why the branches of an If stay */
const char *ir_lower_why_not_if (const IrLowering *l, const IrNode *node);
/* @results, by output, stand for the node, and it goes. FALSE: nothing may stay. */
gboolean ir_lower_hand_over (IrLowerConstruct *c, IrValue *const *results);
#define IR_LOWER_LESS_KNOWN "less would be known of the type of an output"
/* (nullable) @why: it is taken back; %NULL: it is done */
void ir_lower_finish (IrLowerConstruct *c, const char *why);
/* The same, and says why it stays. */
void ir_lower_end (IrLowerConstruct *c, const char *rule, const char *why);

/* -- Loop, Scan and SequenceMap: lower-form.c -- */
/* What the three have in common. */
typedef struct
{
  IrGraph *body;
  guint n_states;      /* that are carried as they are */
  guint input;         /* of the node: the first of them */
  guint inner, result; /* input and output of the body that it is */
  guint n_items;       /* inputs behind them, of which each iteration gets a part */
  gboolean is_loop;    /* the body gets the iteration and a condition, and says the next one */
  gboolean is_map;     /* parts are items of sequences, and so are results */
} IrLowerForm;

/* (nullable) Why it stays as it is */
const char *ir_lower_find_form (const IrLowering *l, const IrNode *node, IrLowerForm *form);
/* Whether what the body gives as output @i of the node is collected: for somebody, or as it gives nothing else */
gboolean ir_lower_is_collected (const IrLowerForm *form, const IrNode *node, guint i);
const IrType *ir_lower_scalar_type (const IrLowerConstruct *c, IrDtype dtype);
IrValue *ir_lower_add_scalar (IrLowerConstruct *c, const char *name, IrDtype dtype, gint64 number);
/* In front of the loop: true, where a condition is left out, and no constant that somebody else may have written */
IrValue *ir_lower_add_true (IrLowerConstruct *c, IrValue *number);
/* (nullable) The most iterations, in front of the loop */
IrValue *ir_lower_add_limit (IrLowerConstruct *c, const IrLowerForm *form);
/* What is collected before the first iteration; @result: what the body gives */
IrValue *ir_lower_add_empty (IrLowerConstruct *c, const IrValue *result);
/* Whether the body runs once more: i < M, and the condition. (nullable) @limit, @condition: one is there */
IrValue *ir_lower_add_test (IrLowerConstruct *c,
                            IrValue *number,
                            IrValue *limit,
                            IrValue *condition);
IrValue *ir_lower_add_next (IrLowerConstruct *c, IrValue *number);
/* Whether the last item @i comes first */
gboolean ir_lower_is_backward (const IrLowerConstruct *c, const IrLowerForm *form, guint i);
/* Item @i for iteration @number, of which @next is the next, needed where it is backward: from the end -1 is the first. */
IrValue *ir_lower_add_part (IrLowerConstruct *c,
                            const IrLowerForm *form,
                            guint i,
                            IrValue *whole,
                            const IrType *type,
                            IrValue *number,
                            IrValue *next);
IrValue *ir_lower_add_insert (IrLowerConstruct *c, IrValue *sequence, IrValue *item);
/* One tensor of @sequence, which holds what the body gives as @result, its scan output @i */
IrValue *ir_lower_add_stack (IrLowerConstruct *c,
                             const IrLowerForm *form,
                             IrValue *sequence,
                             guint i,
                             const IrValue *result);

/* A Loop, a Scan or a SequenceMap */
void ir_lower_loop (IrLowering *l, IrNode *node, const char *rule);
