/* The edit log from inside: records, their kinds, spans. Shared by edit.c, record.c and history.c.
 */
#pragma once

#include "core/ir/arena.h"
#include "core/ir/history.h"

typedef enum
{
  IR_SUBJECT_NODE,
  IR_SUBJECT_VALUE,
  IR_SUBJECT_GRAPH,
  IR_SUBJECT_MODEL
} IrSubject;

/* What a record's before and after hold. Ids, never pointers to nodes or values: so a log applies
 * to every copy of its model. The pointers belong to the context. */
typedef enum
{
  IR_PAYLOAD_NUMBER,
  IR_PAYLOAD_STATE,
  IR_PAYLOAD_VALUE, /* id, 0 = none */
  IR_PAYLOAD_GRAPH, /* id */
  IR_PAYLOAD_STRING,
  IR_PAYLOAD_ATTR,
  IR_PAYLOAD_TYPE,
  IR_PAYLOAD_TENSOR,
  IR_PAYLOAD_IDS,
  IR_PAYLOAD_EXTRA,
  IR_PAYLOAD_OP,
  IR_PAYLOAD_OPSETS,
  IR_PAYLOAD_INFO,
  IR_PAYLOAD_FUNCTION
} IrPayload;

typedef union
{
  gconstpointer pointer;
  guint64 number;
} IrSlotValue;

/* Which operator a node is; interned by content in the context through its strings. */
typedef struct
{
  const char *op_type, *domain, *overload;
} IrOpName;

typedef struct
{
  guint step;
  guint64 last_used;
  IrModel *model;
} IrSnapshotEntry;

#define IR_N_SNAPSHOTS 16

struct _IrLog
{
  GArray *records;   /* of IrRecord */
  GPtrArray *steps;  /* of IrStep; index 0 is step 1 */
  GArray *pass_runs; /* of IrPassRun */
  GArray *refusals;  /* of IrRefusal */
  guint cursor;
  GHashTable *occurrences; /* rule and anchor -> how many steps so far; see edit.c */
  IrSnapshotEntry snapshots[IR_N_SNAPSHOTS];
  guint64 clock;
  gboolean editing; /* one IrEdit at a time */
  /* Ids below these were there at step 0; 0 = nothing has been recorded yet. */
  guint32 n_imported_graphs, n_imported_nodes, n_imported_values;
};

IrLog *ir_log_new (void);
void ir_log_free (IrLog *log);
void ir_log_cut (IrLog *log, guint step); /* forgets the steps behind @step */
void ir_step_free (IrStep *step);

/* record.c */
IrSlotValue ir_record_get (const IrModel *model, IrRecordKind kind, guint32 subject, guint32 slot);
void ir_record_set (
    IrModel *model, IrRecordKind kind, guint32 subject, guint32 slot, IrSlotValue value);
IrSubject ir_record_subject (IrRecordKind kind);
void ir_record_apply (IrModel *model, const IrRecord *record, gboolean forward);
/* All of them, last one first if not @forward. */
void ir_record_apply_range (IrModel *model, const IrRecord *records, gsize n, gboolean forward);
