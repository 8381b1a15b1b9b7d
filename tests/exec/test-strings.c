/* Strings: the operators on them, and that every operator which the standard gives tensor(string)
 * takes them or says that it does not. */
#include "config.h"

#include "core/exec/ref/string-util.h"
#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"

#include <string.h>

#define WORDS                     "x = Constant <value = string[2,2] {\"a\", \"b\", \"c\", \"d\"}> ()\n"
#define IMAGE                     "x = Constant <value = string[1,1,2,2] {\"a\", \"b\", \"c\", \"d\"}> ()\n"
#define INTS(NAME, SHAPE, VALUES) NAME " = Constant <value = int64" SHAPE " {" VALUES "}> ()\n"

/* -- moving strings -- */

static const struct
{
  const char *op, *type, *strings, *body;
} moved[] = {
  { "Compress", "string[1,2]", "c|d",
    WORDS "c = Constant <value = bool[2] {0, 1}> ()\n y = Compress <axis = 0> (x, c)" },
  { "Concat", "string[2,4]", "a|b|a|b|c|d|c|d", WORDS "y = Concat <axis = 1> (x, x)" },
  { "Constant", "string[2,2]", "a|b|c|d",
    "y = Constant <value = string[2,2] {\"a\", \"b\", "
    "\"c\", \"d\"}> ()" },
  { "DepthToSpace", "string[1,1,2,2]", "a|b|c|d",
    "x = Constant <value = string[1,4,1,1] {\"a\", \"b\", \"c\", \"d\"}> ()\n"
    "y = DepthToSpace <blocksize = 2> (x)" },
  { "Expand", "string[2,2,2]", "a|b|c|d|a|b|c|d",
    WORDS INTS ("s", "[3]", "2, 1, 1") "y = Expand (x, s)" },
  { "Flatten", "string[1,4]", "a|b|c|d", WORDS "y = Flatten <axis = 0> (x)" },
  { "Gather", "string[2,2]", "c|d|a|b", WORDS INTS ("i", "[2]", "1, 0") "y = Gather (x, i)" },
  { "GatherElements", "string[1,2]", "c|b",
    WORDS INTS ("i", "[1,2]", "1, 0") "y = GatherElements (x, i)" },
  { "GatherND", "string[1]", "c", WORDS INTS ("i", "[1,2]", "1, 0") "y = GatherND (x, i)" },
  { "Identity", "string[2,2]", "a|b|c|d", WORDS "y = Identity (x)" },
  { "If", "string[2,2]", "a|b|c|d",
    WORDS "c = Constant <value = bool {1}> ()\n"
          "y = If (c) <then_branch = t () => (string[2,2] p) { p = Identity (x) },\n"
          "            else_branch = e () => (string[2,2] q) { q = Concat <axis = 0> (x) }>" },
  { "Loop", "string[2,2]", "e|f|e|f",
    WORDS INTS (
        "n", "", "2") "c = Constant <value = bool {1}> ()\n"
                      "z = Constant <value = string[2] {\"e\", \"f\"}> ()\n"
                      "last, y = Loop (n, c, x) <body = b (int64 i, bool go, string[2,2] s)\n"
                      " => (bool more, string[2,2] t, string[2] u)\n"
                      " { more = Identity (go) t = Identity (s) u = Identity (z) }>" },
  { "OneHot", "string[2,2]", "no|yes|yes|no",
    INTS ("i", "[2]", "1, 0")
        INTS ("d", "", "2") "v = Constant <value = string[2] {\"no\", \"yes\"}> ()\n"
                            "y = OneHot (i, d, v)" },
  { "Pad", "string[2,3]", "a|b|z|c|d|z",
    WORDS INTS ("p", "[4]", "0, 0, 0, 1") "v = Constant <value = string {\"z\"}> ()\n"
                                          "y = Pad (x, p, v)" },
  { "Reshape", "string[4]", "a|b|c|d", WORDS INTS ("s", "[1]", "-1") "y = Reshape (x, s)" },
  { "ReverseSequence", "string[2,2]", "c|b|a|d",
    WORDS INTS ("l", "[2]", "2, 1") "y = ReverseSequence <time_axis = 0, batch_axis = 1> (x, l)" },
  { "ScatterElements", "string[2,2]", "a|b|z|d",
    WORDS INTS ("i", "[1,1]", "1") "u = Constant <value = string[1,1] {\"z\"}> ()\n"
                                   "y = ScatterElements (x, i, u)" },
  { "ScatterND", "string[2,2]", "a|z|c|d",
    WORDS INTS ("i", "[1,2]", "0, 1") "u = Constant <value = string[1] {\"z\"}> ()\n"
                                      "y = ScatterND (x, i, u)" },
  { "Slice", "string[2,1]", "b|d",
    WORDS INTS ("s", "[1]", "1") INTS ("e", "[1]", "2")
        INTS ("i", "[1]", "1") "y = Slice (x, s, e, i)" },
  { "SpaceToDepth", "string[1,4,1,1]", "a|b|c|d", IMAGE "y = SpaceToDepth <blocksize = 2> (x)" },
  { "Split", "string[2,1]", "b|d", WORDS "z, y = Split <axis = 1, num_outputs = 2> (x)" },
  { "Squeeze", "string[2,2]", "a|b|c|d", IMAGE "y = Squeeze (x)" },
  { "StringNormalizer", "string[1]", "b",
    "x = Constant <value = string[2] {\"A\", \"B\"}> ()\n"
    "y = StringNormalizer <case_change_action = \"LOWER\", stopwords = [\"a\"]> (x)" },
  { "Tile", "string[2,4]", "a|b|a|b|c|d|c|d", WORDS INTS ("r", "[2]", "1, 2") "y = Tile (x, r)" },
  { "Transpose", "string[2,2]", "a|c|b|d", WORDS "y = Transpose (x)" },
  { "Unique", "string[2]", "a|b",
    "x = Constant <value = string[3] {\"b\", \"a\", \"b\"}> ()\n y = Unique (x)" },
  { "Unsqueeze", "string[1,2,2]", "a|b|c|d", WORDS INTS ("a", "[1]", "0") "y = Unsqueeze (x, a)" },
  { "Where", "string[2,2]", "a|z|c|z",
    WORDS "c = Constant <value = bool[2] {1, 0}> ()\n z = Constant <value = string {\"z\"}> ()\n"
          "y = Where (c, x, z)" },
  { "Cast", "string[2]", "1|-2.5",
    "x = Constant <value = string[2] {\"1\", \"-2.5\"}> ()\n y = Cast <to = 8> (x)" },
  { "CastLike", "string[2]", "True|False",
    WORDS "b = Constant <value = bool[2] {1, 0}> ()\n y = CastLike (b, x)" },
  { "CenterCropPad", "string[1,2]", "a|b",
    WORDS INTS ("s", "[2]", "1, 2") "y = CenterCropPad (x, s)" },
  { "TensorScatter", "string[1,2,1]", "a|z",
    "x = Constant <value = string[1,2,1] {\"a\", \"b\"}> ()\n"
    "u = Constant <value = string[1,1,1] {\"z\"}> ()\n" INTS (
        "w", "[1]", "1") "y = TensorScatter (x, u, w)" },
  { "Trilu", "string[2,2]", "a|b||d", WORDS "y = Trilu (x)" },
};

static void
test_moved (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);

  if (ir_op_find ("", moved[i].op) == NULL)
    g_test_skip ("there is no row for this operator");
  else
    assert_strings (moved[i].type, moved[i].strings, moved[i].body);
}

/* -- what is asked of strings without returning them -- */

static void
test_asked (void)
{
  assert_body (28, "int64[2]", "2 2", 0, WORDS "y = Shape (x)");
  assert_body (28, "int64[]", "4", 0, WORDS "y = Size (x)");
  assert_body (28, "bool[2,2]", "1 0 1 0", 0,
               WORDS "z = Constant <value = string[2,1] {\"a\", \"c\"}> ()\n y = Equal (x, z)");
  assert_body (28, "int64[2,1]", "1 0", 0,
               "x = Constant <value = string[2,1] {\"\", \"b\"}> ()\n y = NonZero (x)");
}

/* -- where strings have no meaning: an error that names the node, never a crash -- */

static const struct
{
  const char *op, *output, *body;
} refused[] = {
  { "GridSample", "string[]",
    IMAGE "g = Constant <value = float[1,1,1,2] {0, 0}> ()\n y = GridSample (x, g)" },
  { "Resize", "string[]",
    IMAGE INTS ("s", "[4]", "1, 1, 4, 4") "y = Resize <mode = \"linear\"> (x, \"\", \"\", s)" },
  { "Col2Im", "string[]",
    "x = Constant <value = string[1,1,1] {\"a\"}> ()\n" INTS (
        "s", "[2]", "1, 1") "y = Col2Im (x, s, s)" },
  { "Add", "string[]", WORDS "y = Add (x, x)" },
  { "Relu", "string[]", WORDS "y = Relu (x)" },
  { "ReduceSum", "string[]", WORDS "y = ReduceSum (x)" },
  { "BitCast", "int64[]", WORDS "y = BitCast <to = 7> (x)" },
  { "Less", "bool[]", WORDS "y = Less (x, x)" },
  { "CumSum", "string[]", WORDS INTS ("a", "", "0") "y = CumSum (x, a)" },
  { "TopK", "string[]", WORDS INTS ("k", "[1]", "1") "y, i = TopK (x, k)" },
};

static void
test_refused (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) y = run_body (28, refused[i].output, refused[i].body, &error);

  g_assert_null (y);
  g_assert_nonnull (error);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, refused[i].op));
}

/* -- StringConcat, StringSplit, RegexFullMatch, StringNormalizer -- */

static void
test_concat (void)
{
  assert_strings ("string[2,2]", "ax|ay|bx|by",
                  "a = Constant <value = string[2,1] {\"a\", \"b\"}> ()\n"
                  "b = Constant <value = string[2] {\"x\", \"y\"}> ()\n y = StringConcat (a, b)");
}

#define SPLIT(ATTRS, STRING)                                                                       \
  "x = Constant <value = string[2] {\"" STRING "\", \"p\"}> ()\n y, z = StringSplit " ATTRS "(x)"

static void
test_split (void)
{
  assert_strings ("string[2,2]", "a|b  c|p|", SPLIT ("<maxsplit = 1>", "  a  b  c"));
  assert_strings ("string[2,3]", "a|b|c|p||", SPLIT ("", "  a \t b\nc "));
  assert_strings ("string[2,4]", "||a|b|p|||", SPLIT ("<delimiter = \"--\">", "----a--b"));
  assert_strings ("string[2,2]", "a|b--c|p|",
                  SPLIT ("<delimiter = \"--\", maxsplit = 1>", "a--b--c"));
  assert_strings ("string[2,1]", "a,b|p", SPLIT ("<delimiter = \",\", maxsplit = 0>", "a,b"));
  assert_body (28, "int64[3]", "0 1 2", 0,
               "x = Constant <value = string[3] {\" \", \"a\", \"a b\"}> ()\n"
               "z, y = StringSplit (x)");
  assert_body (28, "int64[2]", "1 2", 0,
               "x = Constant <value = string[2] {\"\", \",\"}> ()\n"
               "z, y = StringSplit <delimiter = \",\"> (x)");
}

#define MATCH(PATTERN, STRING)                                                                     \
  "x = Constant <value = string[1] {\"" STRING "\"}> ()\n"                                         \
  "y = RegexFullMatch <pattern = \"" PATTERN "\"> (x)"

static void
test_regex (void)
{
  assert_body (28, "bool[1]", "1", 0, MATCH ("a|ab", "ab")); /* not only the first alternative */
  assert_body (28, "bool[1]", "0", 0, MATCH ("a", "ab"));
  assert_body (28, "bool[1]", "0", 0, MATCH ("b", "ab"));
  assert_body (28, "bool[1]", "0", 0, MATCH ("a$", "a\n"));
  assert_body (28, "bool[1]", "1", 0, MATCH ("", ""));
  assert_body (28, "bool[1]", "1", 0, MATCH ("(?i)gr(ü|ue)n", "GRÜN"));
  assert_body (28, "bool[2,2]", "0 0 1 0", 0, WORDS "y = RegexFullMatch <pattern = \"c\"> (x)");
  assert_body (28, "bool[0]", "0", 0,
               "x = Constant <value = string[0] {}> ()\n y = RegexFullMatch <pattern = \"c\"> (x)");
}

static void
assert_no_match (const char *body, const char *message)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) y = run_body (28, "bool[]", body, &error);

  g_assert_null (y);
  g_assert_nonnull (strstr (error->message, "RegexFullMatch"));
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, message));
}

#define MANY_AS                                                                                    \
  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void
test_regex_errors (void)
{
  assert_no_match (MATCH ("a)(b", "ab"), "pattern cannot be read");
  assert_no_match (MATCH ("\xff", "ab"), "pattern is not UTF-8");
  assert_no_match ("x = Constant <value = string[2] {\"a\", \"\xff\"}> ()\n"
                   "y = RegexFullMatch <pattern = \"a\"> (x)",
                   "element 1 is not UTF-8");
  assert_no_match ("x = Constant <value = string[3] {\"a\", \"" MANY_AS "\", \"a\"}> ()\n"
                   "y = RegexFullMatch <pattern = \"a|(a|aa)+[bc]\"> (x)",
                   "element 1: ");
}

static void
test_normalizer (void)
{
#define NORMALIZE(ATTRS)                                                                           \
  "x = Constant <value = string[1,3] {\"Monday\", \"tuesday\", \"MONDAY\"}> ()\n"                  \
  "y = StringNormalizer <" ATTRS "> (x)"
  assert_strings ("string[1,1]", "TUESDAY",
                  NORMALIZE ("case_change_action = \"UPPER\", stopwords = [\"monday\"]"));
  assert_strings ("string[1,2]", "tuesday|MONDAY",
                  NORMALIZE ("is_case_sensitive = 1, stopwords = [\"Monday\"]"));
  assert_strings ("string[1,1]", "", NORMALIZE ("stopwords = [\"monday\", \"TUESDAY\"]"));
  assert_strings ("string[1,3]", "monday|tuesday|monday",
                  NORMALIZE ("case_change_action = \"LOWER\""));
}

/* -- long strings -- */

static void
test_long_parts (void)
{
  g_autofree char *text = g_malloc0 (200000);
  g_autoptr (GBytes) whole = g_bytes_new_static (text, 200000);
  g_autoptr (GBytes) part = ir_string_part (whole, 1, 150000);
  g_autoptr (GBytes) word = ir_string_part (whole, 7, 9);

  g_assert_true (g_bytes_get_data (part, NULL) == text + 1);
  g_assert_cmpuint (g_bytes_get_size (part), ==, 150000);
  g_assert_true (g_bytes_get_data (word, NULL) != text + 7);
  g_assert_cmpuint (g_bytes_get_size (word), ==, 9);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (moved); i++)
    {
      g_autofree char *path = g_strdup_printf ("/strings/%s moves strings", moved[i].op);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_moved);
    }
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++)
    {
      g_autofree char *path = g_strdup_printf ("/strings/%s refuses strings", refused[i].op);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_refused);
    }
#define TEST(SENTENCE, FUNCTION) g_test_add_func ("/strings/" SENTENCE, FUNCTION)
  TEST ("shape, size and equality are asked of strings", test_asked);
  TEST ("StringConcat broadcasts", test_concat);
  TEST ("StringSplit splits by whitespace and by delimiters", test_split);
  TEST ("RegexFullMatch matches whole strings", test_regex);
  TEST ("RegexFullMatch says which pattern or element it cannot match", test_regex_errors);
  TEST ("long parts of a string share its bytes", test_long_parts);
  TEST ("StringNormalizer drops words and changes case", test_normalizer);
  return g_test_run ();
}
