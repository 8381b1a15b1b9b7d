#pragma once

/* A session file: which model is open, what was done to it, what its inputs are given, how it is
 * looked at, and where runs stop. It names what it holds by paths, names and texts, never by ids of
 * memory, so it can be replayed on the model by another process, or on a newer file of that model.
 * The window writes one as it goes; every command that takes a model takes one in its place. */

#include "passes/pipeline/pipeline.h"

G_BEGIN_DECLS

#define IR_SESSION_VERSION   1
#define IR_N_SESSION_VIEWS   9
#define IR_SESSION_MAX_COUNT 1000000000 /* counts that are numbers in the file */
#define IR_SESSION_PASSES    "passes"   /* the pipeline whose passes were chosen one by one */

/* How something was done to the graph, and so how it is done again. */
typedef enum
{
  IR_DONE_ACT,      /* an act of core/act and its words, quoted as in a shell */
  IR_DONE_TEXT,     /* the graph's text as it was applied */
  IR_DONE_KERNEL,   /* NODE=NAME, or NODE= for the choice of the back end */
  IR_DONE_OPSET,    /* upgraded to this version of ai.onnx */
  IR_DONE_PIPELINE, /* a pipeline was run: its name or its file */
  IR_N_DONE_KINDS
} IrDoneKind;

/* How many steps one rule of one pass made. */
typedef struct
{
  char *rule; /* "fold-conv-bn/fold-conv-bn" */
  guint n;
} IrDoneCount;

typedef struct
{
  IrDoneKind kind;
  char *text;
  GStrv skips;       /* (nullable) of a pipeline: passes, rules and stable keys that it left out */
  GStrv passes;      /* (nullable) of %IR_SESSION_PASSES: names, in order */
  GStrv set;         /* (nullable) of a pipeline: PASS.OPTION=VALUE; %NULL: as the session says */
  char *step_class;  /* (nullable) of a pipeline: how far rewrites may change results; the same */
  guint at, n_steps; /* it was done behind this many steps, and there were so many then */
  GArray *made;      /* (nullable) of IrDoneCount: what to expect */
  guint n_nodes;     /* there were then, as ir_model_n_counted_nodes(); 0: not known */
} IrDone;

/* A history that was left for another: the first @n_shared of what was done are those of the session. */
typedef struct
{
  guint n_shared;
  GPtrArray *done; /* of IrDone */
} IrDoneBranch;

typedef struct
{
  char *name, *kind, *text; /* kind: a name of ir_given_name(), or "fill" */
} IrSessionInput;

typedef struct
{
  char *text; /* as ir_breakpoint_parse() reads it */
  gboolean on;
} IrSessionBreakpoint;

typedef struct
{
  char *node, *text;
} IrSessionNote;

typedef struct _IrSessionFile
{
  char *file;    /* (nullable) where it was read; not written */
  char *program; /* version that wrote it */

  char *model, *sha256; /* (nullable) path and contents; %NULL: a graph that was begun empty */
  char *other;          /* (nullable) path of the model that it is compared with */

  char *pipeline;   /* (nullable) the one that is set, by name or file */
  GStrv passes;     /* (nullable) those that %IR_SESSION_PASSES stands for */
  GStrv passes_set; /* (nullable) what of their options is set */
  char *step_class; /* (nullable) how far rewrites may change results */
  GPtrArray *set;   /* of char *: PASS.OPTION=VALUE */
  gboolean prove;
  GPtrArray *done;     /* of IrDone */
  guint n_done;        /* so many are on screen; the others can be done again */
  guint n_undone;      /* so many things that the model's file holds were undone: they are there again */
  GPtrArray *branches; /* of IrDoneBranch */
  guint step;          /* on screen */
  char *compare;       /* (nullable) what it is compared with: a word of the window */

  GPtrArray *sizes;  /* of char *: NAME=N */
  GPtrArray *inputs; /* of IrSessionInput */
  guint64 seed;

  char *view; /* (nullable) JSON: what is drawn now, as core/look/kept.h has it */
  char *views[IR_N_SESSION_VIEWS]; /* (nullable) JSON: kept as 1 to 9 */
  GPtrArray *breakpoints;          /* of IrSessionBreakpoint: of steps */
  GPtrArray *watches;              /* of char *: of runs */
  GPtrArray *notes;                /* of IrSessionNote */
  GHashTable *window;              /* char * -> char *: panes and sizes */
} IrSessionFile;

#define IR_SESSION_ERROR (ir_session_error_quark ())

typedef enum
{
  IR_SESSION_ERROR_OPEN,   /* the file cannot be read */
  IR_SESSION_ERROR_FORMAT, /* it is no session */
  IR_SESSION_ERROR_VERSION /* it is one of a newer program */
} IrSessionError;

GQuark ir_session_error_quark (void);

/* -- life -- */
IrSessionFile *ir_session_file_new (void);
void ir_session_file_free (IrSessionFile *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrSessionFile, ir_session_file_free)
IrDone *ir_done_new (IrDoneKind kind, const char *text, const char *const *skips, guint at);
IrDone *ir_done_copy (const IrDone *done);
void ir_done_free (IrDone *done);
void ir_done_branch_free (IrDoneBranch *branch);
void ir_done_expect_nothing (IrDone *done);
void ir_done_expect_rule (IrDone *done, const char *rule, guint n);
void ir_done_expect (IrDone *done, const IrModel *model, guint n_steps);
char *ir_done_title (const IrDone *done);
const char *ir_done_kind_name (IrDoneKind kind);
gboolean ir_done_is_edit (const IrDone *done);
void ir_session_file_spell_out (IrSessionFile *self);
void ir_session_file_add_input (IrSessionFile *self,
                                const char *name,
                                const char *kind,
                                const char *text);
void ir_session_file_add_breakpoint (IrSessionFile *self, const char *text, gboolean on);
void ir_session_file_add_note (IrSessionFile *self, const char *node, const char *text);
char *ir_session_hash (const char *path, GError **error);

/* -- read and write -- */
IrSessionFile *ir_session_file_read (const char *path, GError **error);
IrSessionFile *ir_session_file_parse (const char *text,
                                      gssize length,
                                      const char *path,
                                      GError **error);
char *ir_session_file_text (const IrSessionFile *self, const char *folder);
gboolean ir_session_file_write (const IrSessionFile *self, const char *path, GError **error);

/* -- replay -- */
typedef struct
{
  const IrBackend *backend; /* whose kernels fold constants */
  gboolean keep_states; /* the models of earlier states stay as they were, and branches are made */
  gboolean edits_only;  /* leaves out pipelines behind the last edit */
  gboolean expect;      /* says where what is made differs from what was */
  void (*progress) (guint done, guint total, const char *title, gpointer data); /* (nullable) */
  gpointer progress_data;
} IrSessionReplayOptions;

/* The graph after one thing was done. */
typedef struct
{
  const IrDone *done; /* (nullable) of the session; %NULL: the model as it was opened */
  IrModel
      *model; /* (owned) with its history; states may share one, of which they are the beginning */
  guint n_steps, base; /* its first @base steps are those of the state before it, too */
} IrSessionReplayed;

typedef struct
{
  GPtrArray *line;     /* of IrSessionReplayed; the first one is the model as it was opened */
  guint at;            /* the one on screen */
  GPtrArray *branches; /* of GPtrArray of IrSessionReplayed: each from the first state on */
  guint step;          /* where the session was */
  GPtrArray *said;     /* of char *: a line for each thing that could not be restored, or differs */
} IrSessionReplay;

gboolean ir_session_file_replay (const IrSessionFile *self,
                                 IrModel *model,
                                 const IrSessionReplayOptions *options,
                                 IrSessionReplay *replay,
                                 GCancellable *cancellable,
                                 GError **error);
void ir_session_replay_clear (IrSessionReplay *replay);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrSessionReplay, ir_session_replay_clear)
void ir_session_file_check_model (const IrSessionFile *self, GPtrArray *said);
void ir_session_file_check_names (const IrSessionFile *self, const IrModel *model, GPtrArray *said);
void ir_session_file_check_notes (const IrSessionFile *self, const IrModel *model, GPtrArray *said);
IrModel *ir_session_file_load (const IrSessionFile *self,
                               GPtrArray *problems,
                               GPtrArray *said,
                               GCancellable *cancellable,
                               GError **error);

G_END_DECLS
