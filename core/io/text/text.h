/* ONNX's textual syntax (onnx/docs/Syntax.md): what its reader and writer share.
 *
 *   < ir_version: 8, opset_import: ["" : 17] >
 *   agraph (float[N,128] X) => (float[N,10] C) <float[10] B = {0,…}, float[N,10] T> {
 *     [matmul] T = MatMul (X, W)
 *     C = com.example.Op <alpha = 0.5, mode: string = @mode> (T, B)
 *   }
 *   < domain: "com.example", opset_import: ["" : 17] >
 *   Op <mode, alpha: float = 1.0> (T, B) => (C) { … }
 *
 * What the syntax has no place for, and irscope writes so that nothing is lost on the way:
 *
 *   #! doc "…" metadata ["k":"v"] unknown "base64"   a comment to others; belongs to what follows
 *   base64"…"                      elements of a tensor, as in memory; bytes"…" a string of any
 * bytes
 *   {...}                          elements left out; found in the model that the text is read over
 *   float[N @"BATCH"] @"IMAGE"     denotations
 *   sparse_tensor(float[9]) {1,2} int64[2] {0,5}   values, then indices
 *   quoted names wherever a name may stand; ? for a type that is not known
 */
#pragma once

#include "core/io/draft.h"
#include "core/io/io.h"
#include "core/io/onnx/onnx.h"

extern const char *const ir_text_kind_names[IR_N_ATTR_KINDS];

/* -- the lexer: lex.c -- */

typedef struct
{
  const char *start, *next, *end;
  const char *line_start; /* of the line that @next was last seen on */
  guint line;
  const char *counted; /* up to here lines are counted */
  GString *note;       /* the last #! comments, until somebody takes them */
  IrDraft *draft;
  guint n_errors;
} IrTextLexer;

typedef enum
{
  IR_TEXT_INT,
  IR_TEXT_FLOAT,
  IR_TEXT_STRING
} IrTextLiteralKind;

typedef struct
{
  IrTextLiteralKind kind;
  gboolean negative;
  guint64 magnitude; /* INT */
  double number;     /* FLOAT; INT too */
  gboolean is_nan;
  GString *string; /* STRING: owned by the caller */
} IrTextLiteral;

void ir_text_lexer_init (IrTextLexer *lexer, IrDraft *draft, const char *text, gsize length);
void ir_text_lexer_clear (IrTextLexer *lexer);
IrDraftPlace ir_text_place (IrTextLexer *lexer);
gboolean ir_text_fail (IrTextLexer *lexer, const char *format, ...) G_GNUC_PRINTF (2, 3);
char ir_text_peek (IrTextLexer *lexer);
gboolean ir_text_match (IrTextLexer *lexer, char c);
gboolean ir_text_expect (IrTextLexer *lexer, char c, const char *where);
gboolean ir_text_at_word (IrTextLexer *lexer, const char *word);
gboolean ir_text_at_prefixed_string (IrTextLexer *lexer, const char *prefix);
const char *ir_text_peek_identifier (IrTextLexer *lexer, gsize *length);
gboolean ir_text_at_name (IrTextLexer *lexer);
gboolean ir_text_name (IrTextLexer *lexer, const char *what, const char **name);
gboolean ir_text_string (IrTextLexer *lexer, GString *string);
gboolean ir_text_literal (IrTextLexer *lexer, IrTextLiteral *literal);
gboolean ir_text_int64 (IrTextLexer *lexer, gint64 *number);
gboolean ir_text_literal_int64 (const IrTextLiteral *literal, gint64 *number);
const IrExtra *ir_text_take_note (IrTextLexer *lexer);
void ir_text_skip_statement (IrTextLexer *lexer);

/* -- the parser -- */

typedef struct
{
  IrTextLexer lexer;
  IrDraft *draft;
  IrContext *context;
  IrOnnxReader reader; /* for external data */
  IrModel *base;       /* (nullable) where "{...}" is looked up */
  gboolean missing;    /* the last contents are external and cannot be had */
} IrTextParser;

/* text/type.c */
gboolean ir_text_at_type (IrTextParser *parser);
gboolean ir_text_read_type (IrTextParser *parser, const IrType **type, guint depth);
const IrType *ir_text_parse_type (IrDraft *draft, const char *text);
void ir_text_write_type (GString *out, IrContext *context, const IrType *type);
void ir_text_write_name (GString *out, const char *name);
void ir_text_write_part (GString *out, const char *name);
void ir_text_write_string (GString *out, const char *string, gsize length);

/* text/tensor.c */
gboolean ir_text_read_contents (IrTextParser *parser,
                                const IrType *type,
                                const char *name,
                                IrTensor **tensor);
gboolean ir_text_at_contents (IrTextParser *parser);
void ir_text_write_float (GString *out, double number, gboolean is_double, gboolean mark);
void ir_text_write_contents (GString *out,
                             const IrTensor *tensor,
                             const IrTextOptions *options,
                             IrDataFile *data_file);
void ir_text_write_bytes (GString *out, const char *data, gsize length);
void ir_text_write_dtype_dims (GString *out, const IrTensor *tensor);

/* text/attr.c */
typedef struct
{
  const gint64 *ints;
  guint n_ints;
  const float *floats;
  guint n_floats;
  const IrString *strings;
  guint n_strings;
  gpointer *objects; /* tensors or types */
  guint n_objects;
} IrTextElements;
const IrAttr *ir_text_make_attr (IrContext *context,
                                 const char *name,
                                 IrAttrKind kind,
                                 const IrTextElements *values);
IrAttrKind ir_text_single_kind (IrAttrKind kind);
gboolean ir_text_read_attrs (
    IrTextParser *parser, GArray *attrs, IrDraftNames *bare_names, const char *tensor_name, guint depth);
/* text/read.c */
gboolean ir_text_read_graph (IrTextParser *parser, guint depth, IrDraftGraph **graph);
