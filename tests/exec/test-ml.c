/* The operators of ai.onnx.ml against values worked out by hand, and what they say to attributes
 * that do not fit together. */
#include "config.h"

#include "core/io/io.h"
#include "core/op/call.h"
#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"

#include <string.h>

#define X(TYPE, VALUES) "x = Constant <value = " TYPE " {" VALUES "}> ()\n"

/* x0 <= 0.5, or missing: leaf 10; else x1 > 1: leaf 20, else leaf 30. */
#define NODES                                                                                      \
  "nodes_treeids = [7, 7, 7, 7, 7], nodes_nodeids = [1, 10, 2, 20, 30], "                          \
  "nodes_featureids = [0, 0, 1, 0, 0], nodes_values = [0.5, 0.0, 1.0, 0.0, 0.0], "                 \
  "nodes_modes = [\"BRANCH_LEQ\", \"LEAF\", \"BRANCH_GT\", \"LEAF\", \"LEAF\"], "                  \
  "nodes_truenodeids = [10, 0, 20, 0, 0], nodes_falsenodeids = [2, 0, 30, 0, 0], "                 \
  "nodes_missing_value_tracks_true = [1, 0, 0, 0, 0]"
#define SAMPLES "x = Constant <value = float[4,2] {0, 0, 1, 2, 1, 0, nan, 9}> ()\n"

#define VOTES(IDS, WEIGHTS)                                                                        \
  "class_treeids = [7, 7, 7], class_nodeids = [10, 20, 30], class_ids = [" IDS "], "               \
  "class_weights = [" WEIGHTS "]"
#define CLASSIFY(LABELS, ATTRS, OUTPUTS)                                                           \
  SAMPLES OUTPUTS " = ai.onnx.ml.TreeEnsembleClassifier <" NODES ", " LABELS ", " ATTRS "> (x)"
#define TWO "classlabels_int64s = [4, 9]"

/* Leaf 10 has two weights for target 0. */
#define REGRESS(ATTRS)                                                                             \
  SAMPLES                                                                                          \
  "y = ai.onnx.ml.TreeEnsembleRegressor <" NODES ", n_targets = 2, "                               \
  "target_treeids = [7, 7, 7, 7], target_nodeids = [10, 20, 30, 10], "                             \
  "target_ids = [0, 1, 0, 0], target_weights = [1.0, 2.0, 3.0, -5.0]" ATTRS "> (x)"

#define PLACED_NODES                                                                               \
  "tree_roots = [0, 1], n_targets = 1, nodes_featureids = [0, 1], "                                \
  "nodes_modes = uint8[2] {0, 6}, nodes_splits = float[2] {0.5, 0}, "                              \
  "nodes_truenodeids = [0, 2], nodes_trueleafs = [1, 1], nodes_falsenodeids = [1, 3], "            \
  "nodes_falseleafs = [1, 1], leaf_targetids = [0, 0, 0, 0], "                                     \
  "leaf_weights = float[4] {1, 2, 10, 20}, membership_values = float[3] {9, 2, nan}"

/* One support vector per class: (1, 0) and (0, 1). */
#define PAIR                                                                                       \
  "support_vectors = [1.0, 0.0, 0.0, 1.0], vectors_per_class = [1, 1], "                           \
  "coefficients = [2.0, -3.0], rho = [0.5], classlabels_strings = [\"a\", \"b\"]"
/* Probabilities 0.5, 0.3 and 0.2, pair by pair: prob_b = log (p_j / p_i). */
#define TRIPLE                                                                                     \
  "support_vectors = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0], vectors_per_class = [1, 1, 1], "              \
  "coefficients = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0], rho = [1.0, 1.0, 1.0], "                         \
  "prob_a = [0.0, 0.0, 0.0], prob_b = [-0.5108256, -0.9162907, -0.4054651], "                      \
  "classlabels_ints = [5, 6, 7]"

static const struct
{
  const char *name;
  const char *type, *elements;
  double atol;
  const char *body;
} numbers[] = {
  { "ArrayFeatureExtractor picks columns", "float[2,3]", "3 1 3 6 4 6", 0,
    X ("float[2,3]", "1, 2, 3, 4, 5, 6") "i = Constant <value = int64[3] {2, 0, 2}> ()\n"
                                         "y = ai.onnx.ml.ArrayFeatureExtractor (x, i)" },
  { "ArrayFeatureExtractor makes a row of a vector", "int64[1,2]", "9 7", 0,
    X ("int64[3]", "7, 8, 9") "i = Constant <value = int64[1,2] {2, 0}> ()\n"
                              "y = ai.onnx.ml.ArrayFeatureExtractor (x, i)" },
  { "Binarizer keeps the type", "double[4]", "0 0 1 1", 0,
    X ("double[4]", "-1, 1, 1.5, 2") "y = ai.onnx.ml.Binarizer <threshold = 1.0> (x)" },
  { "CategoryMapper numbers names", "int64[3]", "20 10 -4", 0,
    X ("string[3]",
       "\"b\", \"a\", \"?\"") "y = ai.onnx.ml.CategoryMapper <cats_int64s = [10, 20], cats_strings = [\"a\", \"b\"], "
                              "default_int64 = -4> (x)" },
  { "FeatureVectorizer cuts and fills", "float[2,4]", "1 7 0 9 4 8 0 9", 0,
    X ("int64[2,3]", "1, 2, 3, 4, 5, 6") "b = Constant <value = double[2,1] {7, 8}> ()\n"
                                         "c = Constant <value = int32[2,1] {9, 9}> ()\n"
                                         "y = ai.onnx.ml.FeatureVectorizer <inputdimensions = "
                                         "[1, 2, 1]> (x, b, c)" },
  { "Imputer replaces NaN by columns", "float[2,2]", "1 8 7 4", 0,
    X ("float[2,2]", "1, nan, nan, 4") "y = ai.onnx.ml.Imputer <replaced_value_float = nan, "
                                       "imputed_value_floats = [7.0, 8.0]> (x)" },
  { "Imputer replaces integers that no double holds", "int64[3]", "5 9007199254740992 5", 0,
    X ("int64[3]",
       "9007199254740993, 9007199254740992, 9007199254740993") "y = ai.onnx.ml.Imputer <replaced_value_int64 = 9007199254740993, "
                                                               "imputed_value_int64s = [5]> (x)" },
  { "LabelEncoder finds NaN and both zeros", "int64[4]", "2 1 1 -1", 0,
    X ("float[4]", "nan, 0, -0.0, 3") "y = ai.onnx.ml.LabelEncoder <keys_floats = [0.0, nan], "
                                      "values_int64s = [1, 2]> (x)" },
  { "LabelEncoder takes the last of equal keys", "float[2]", "3 -0", 0,
    X ("string[2]", "\"a\", \"z\"") "y = ai.onnx.ml.LabelEncoder <keys_strings = [\"a\", \"b\", "
                                    "\"a\"], values_floats = [1.0, 2.0, 3.0]> (x)" },
  { "LabelEncoder has keys and values of other types", "int16[3]", "-2 42 -1", 0,
    X ("double[3]", "0.25, 9, 0.5") "y = ai.onnx.ml.LabelEncoder <keys_tensor = double[2] {0.5, "
                                    "0.25}, values_tensor = int16[2] {-1, -2}, default_tensor = "
                                    "int16[1] {42}> (x)" },
  { "LabelEncoder 1 numbers names by their places", "int64[3]", "1 0 -1", 0,
    X ("string[3]",
       "\"b\", \"a\", \"c\"") "y = ai.onnx.ml.LabelEncoder <classes_strings = [\"a\", \"b\"]> (x)" },
  { "LinearClassifier scores every class", "float[1,3]", "0.0900306 0.2447285 0.6652410", 1e-6,
    X ("float[1,2]", "1, 2") "l, y = ai.onnx.ml.LinearClassifier <coefficients = [1.0, 0.0, 0.0, "
                             "1.0, 1.0, 1.0], intercepts = [0.0, 0.0, 0.0], classlabels_ints = "
                             "[5, 6, 7], post_transform = \"SOFTMAX\"> (x)" },
  { "LinearClassifier labels the highest score", "int64[2]", "7 5", 0,
    X ("float[2,2]", "1, 2, 1, -1") "y, z = ai.onnx.ml.LinearClassifier <coefficients = [1.0, 0.0, "
                                    "0.0, 1.0, 1.0, 1.0], classlabels_ints = [5, 6, 7]> (x)" },
  { "LinearClassifier makes two scores of one", "float[2,2]", "0.5 0.5 0.25 0.75", 1e-6,
    X ("float[2,1]", "0, 1.0986123") "l, y = ai.onnx.ml.LinearClassifier <coefficients = [1.0], "
                                     "intercepts = [0.0], classlabels_strings = [\"n\", \"p\"], "
                                     "post_transform = \"LOGISTIC\"> (x)" },
  { "LinearRegressor has a row for each target", "float[2,2]", "5.5 -1 11.5 -1", 0,
    X ("int64[2,2]", "1, 2, 3, 4") "y = ai.onnx.ml.LinearRegressor <coefficients = [1.0, 2.0, "
                                   "1.0, -1.0], intercepts = [0.5, 0.0], targets = 2> (x)" },
  { "LinearRegressor transforms a single target, too", "float[2,1]", "0.5 0.75", 1e-6,
    X ("float[2,1]", "0, 1.0986123") "y = ai.onnx.ml.LinearRegressor <coefficients = [1.0], "
                                     "post_transform = \"LOGISTIC\"> (x)" },
  /* The approximation of the standard's reference is good to two parts in a thousand. */
  { "PROBIT is the quantile of the normal distribution", "float[3,1]", "-1.2815516 0 1.6448536",
    4e-3,
    X ("float[3,1]", "0.1, 0.5, 0.95") "y = ai.onnx.ml.LinearRegressor <coefficients = [1.0], "
                                       "post_transform = \"PROBIT\"> (x)" },
  { "SOFTMAX_ZERO leaves zeros alone", "float[1,3]", "0.2689414 0 0.7310586", 1e-6,
    X ("float[1,3]", "1, 0, 2") "y = ai.onnx.ml.LinearRegressor <coefficients = [1.0, 0.0, 0.0, "
                                "0.0, 1.0, 0.0, 0.0, 0.0, 1.0], targets = 3, post_transform = "
                                "\"SOFTMAX_ZERO\"> (x)" },
  { "Normalizer divides by the greatest", "float[2,2]", "-2 1 0 0", 0,
    X ("int32[2,2]", "-4, 2, 0, 0") "y = ai.onnx.ml.Normalizer (x)" },
  { "Normalizer divides by the sum of absolute values", "float[2,2]", "-0.75 0.25 0 0", 0,
    X ("double[2,2]", "-3, 1, 0, 0") "y = ai.onnx.ml.Normalizer <norm = \"L1\"> (x)" },
  { "Normalizer divides by the length", "float[2]", "-0.6 0.8", 1e-7,
    X ("float[2]", "-3, 4") "y = ai.onnx.ml.Normalizer <norm = \"L2\"> (x)" },
  { "OneHotEncoder cuts numbers", "float[2,1,2]", "0 1 0 0", 0,
    X ("float[2,1]", "3.9, 2") "y = ai.onnx.ml.OneHotEncoder <cats_int64s = [1, 3]> (x)" },
  { "OneHotEncoder finds names", "float[2,2]", "0 1 1 0", 0,
    X ("string[2]", "\"b\", \"a\"") "y = ai.onnx.ml.OneHotEncoder <cats_strings = [\"a\", \"b\"], "
                                    "zeros = 0> (x)" },
  { "Scaler subtracts, then multiplies", "float[2,2]", "0 -2 4 2", 0,
    X ("int64[2,2]", "1, 2, 3, 4") "y = ai.onnx.ml.Scaler <offset = [1.0, 3.0], scale = [2.0]> "
                                   "(x)" },
  /* 2 x0 - 3 x1 + 0.5 */
  { "SVMClassifier gives the score of a pair both signs", "float[2,2]", "-2.5 2.5 2.5 -2.5", 0,
    X ("float[2,2]", "1, 0, 0, 1") "l, y = ai.onnx.ml.SVMClassifier <" PAIR "> (x)" },
  { "SVMClassifier estimates probabilities of two", "float[1,2]", "0.9241418 0.0758582", 1e-6,
    X ("float[1,2]", "1, 0") "l, y = ai.onnx.ml.SVMClassifier <" PAIR
                             ", prob_a = [-1.0], prob_b = [0.0]> (x)" },
  { "SVMClassifier couples probabilities of pairs", "float[1,3]", "0.5 0.3 0.2", 2e-3,
    X ("float[1,2]", "1, 0") "l, y = ai.onnx.ml.SVMClassifier <" TRIPLE "> (x)" },
  { "SVMClassifier votes", "int64[1]", "5", 0,
    X ("float[1,2]", "1, 0") "y, z = ai.onnx.ml.SVMClassifier <" TRIPLE "> (x)" },
  { "SVMClassifier may be linear", "float[1,2]", "1.5 -0.5", 0,
    X ("float[1,2]", "1, -1") "l, y = ai.onnx.ml.SVMClassifier <coefficients = [1.0, 0.0, 0.0, "
                              "1.0], rho = [0.5], classlabels_ints = [0, 1]> (x)" },
  { "SVMRegressor has radial functions", "float[1,1]", "2.6353353", 1e-6, /* 0.5 + 2 + e^-2 */
    X ("float[1,2]", "1, 0") "y = ai.onnx.ml.SVMRegressor <support_vectors = [1.0, 0.0, 0.0, "
                             "1.0], n_supports = 2, coefficients = [2.0, 1.0], rho = [0.5], "
                             "kernel_type = \"RBF\", kernel_params = [1.0, 0.0, 0.0]> (x)" },
  { "SVMRegressor has polynomials", "float[1,1]", "10.5", 1e-5, /* (2 * 1 + 1)^2 + 1^2 + 0.5 */
    X ("float[1,2]", "1, 0") "y = ai.onnx.ml.SVMRegressor <support_vectors = [1.0, 0.0, 0.0, "
                             "1.0], n_supports = 2, coefficients = [1.0, 1.0], rho = [0.5], "
                             "kernel_type = \"POLY\", kernel_params = [2.0, 1.0, 2.0]> (x)" },
  { "SVMRegressor has sigmoids", "float[1,1]", "0.7615942", 1e-6,
    X ("float[1,1]", "1") "y = ai.onnx.ml.SVMRegressor <support_vectors = [1.0], n_supports = 1, "
                          "coefficients = [1.0], rho = [0.0], kernel_type = \"SIGMOID\", "
                          "kernel_params = [1.0, 0.0, 0.0]> (x)" },
  { "SVMRegressor tells one class", "float[2,1]", "1 -1", 0,
    X ("float[2,1]", "1, -1") "y = ai.onnx.ml.SVMRegressor <coefficients = [2.0], rho = [0.5], "
                              "one_class = 1> (x)" },

  { "trees vote for classes", "float[4,3]", "1 0 0 0 2 0 0 0 3 1 0 0", 0,
    CLASSIFY ("classlabels_int64s = [4, 9, 1]", VOTES ("0, 1, 2", "1.0, 2.0, 3.0"), "l, y") },
  { "trees label the highest", "int64[4]", "4 9 1 4", 0,
    CLASSIFY ("classlabels_int64s = [4, 9, 1]", VOTES ("0, 1, 2", "1.0, 2.0, 3.0"), "y, z") },
  { "base values are added to the scores", "int64[4]", "9 9 9 9", 0,
    CLASSIFY ("classlabels_int64s = [4, 9, 1], base_values = [0.0, 4.0, 0.0]",
              VOTES ("0, 1, 2", "1.0, 2.0, 3.0"),
              "y, z") },
  { "one probability becomes that of two classes", "float[4,2]",
    "0.75 0.25 0.25 0.75 0.5 0.5 0.75 0.25", 0,
    CLASSIFY (TWO, VOTES ("0, 0, 0", "0.25, 0.75, 0.5"), "l, y") },
  { "an even probability is no vote for the second class", "int64[4]", "4 9 4 4", 0,
    CLASSIFY (TWO, VOTES ("0, 0, 0", "0.25, 0.75, 0.5"), "y, z") },
  { "one score gets both signs", "float[4,2]", "1 -1 -2 2 -3 3 1 -1", 0,
    CLASSIFY (TWO, VOTES ("0, 0, 0", "-1.0, 2.0, 3.0"), "l, y") },
  { "one score becomes two probabilities", "float[4,2]", "0.75 0.25 0.25 0.75 0.5 0.5 0.75 0.25",
    1e-6,
    CLASSIFY (TWO ", post_transform = \"LOGISTIC\"",
              VOTES ("0, 0, 0", "-1.0986123, 1.0986123, 0.0"),
              "l, y") },
  { "the transform is applied though no vote is negative", "float[4,2]",
    "0.25 0.75 0.25 0.75 0.5 0.5 0.25 0.75", 1e-6,
    CLASSIFY (TWO ", post_transform = \"LOGISTIC\"",
              VOTES ("0, 0, 0", "1.0986123, 1.0986123, 0.0"),
              "l, y") },
  { "votes for the second of two classes are its own", "float[4,2]", "0 1 0 2 0 3 0 1", 0,
    CLASSIFY (TWO, VOTES ("1, 1, 1", "1.0, 2.0, 3.0"), "l, y") },
  { "trees are summed by targets", "float[4,2]", "-4 0 0 2 3 0 -4 0", 0, REGRESS ("") },
  { "trees have minima", "float[4,2]", "-5 0 0 2 3 0 -5 0", 0,
    REGRESS (", aggregate_function = \"MIN\"") },
  { "trees have maxima and base values", "float[4,2]", "11 20 10 22 13 20 11 20", 0,
    REGRESS (", aggregate_function = \"MAX\", base_values = [10.0, 20.0]") },
  { "thresholds may be double", "float[2,1]", "1 2", 0,
    X ("double[2,1]",
       "0.1, 0.10000000000000002") "y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], "
                                   "nodes_featureids = [0, 0, 0], nodes_modes = [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], "
                                   "nodes_values_as_tensor = double[3] {0.1, 0, 0}, nodes_truenodeids = [1, 0, 0], "
                                   "nodes_falsenodeids = [2, 0, 0], target_treeids = [0, 0], target_nodeids = [1, 2], "
                                   "target_ids = [0, 0], target_weights_as_tensor = double[2] {1, 2}, n_targets = 1> (x)" },
  { "a tree may test membership", "float[4,1]", "21 12 22 12", 0,
    X ("float[4,2]", "0, 0, 1, 2, 1, 8, nan, 9") "y = ai.onnx.ml.TreeEnsemble <" PLACED_NODES
                                                 "> (x)" },
  { "trees are averaged", "float[4,1]", "10.5 6 11 6", 0,
    X ("float[4,2]", "0, 0, 1, 2, 1, 8, nan, 9") "y = ai.onnx.ml.TreeEnsemble <" PLACED_NODES
                                                 ", aggregate_function = 0> (x)" },
  { "a map becomes a row by its vocabulary", "float[1,3]", "0.75 0 0.25", 0,
    X ("float[1,2]",
       "0.25, 0.75") "s = ai.onnx.ml.ZipMap <classlabels_strings = [\"a\", \"b\"]> (x)\n"
                     "i = Constant <value_int = 0> ()\n m = SequenceAt (s, i)\n"
                     "y = ai.onnx.ml.DictVectorizer <string_vocabulary = [\"b\", \"?\", \"a\"]> (m)" },
  { "a map becomes a row by its keys", "int64[1,2]", "7 2", 0,
    X ("float[2]", "2.5, 7.5") "s = ai.onnx.ml.ZipMap <classlabels_int64s = [9, -3]> (x)\n"
                               "i = Constant <value_int = 0> ()\n m = SequenceAt (s, i)\n"
                               "y = ai.onnx.ml.CastMap <cast_to = \"TO_INT64\"> (m)" },
  { "a map becomes a sparse row", "float[1,4]", "7.5 0 2.5 0", 0,
    X ("float[2]", "2.5, 7.5") "s = ai.onnx.ml.ZipMap <classlabels_int64s = [2, 0]> (x)\n"
                               "i = Constant <value_int = 0> ()\n m = SequenceAt (s, i)\n"
                               "y = ai.onnx.ml.CastMap <map_form = \"SPARSE\", max_map = 4> (m)" },
};

static void
test_numbers (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);

  assert_body (21, numbers[i].type, numbers[i].elements, numbers[i].atol, numbers[i].body);
}

static void
test_strings (void)
{
  assert_strings (
      "string[3]", "b|a|none",
      X ("int64[3]",
         "20, 10, 30") "y = ai.onnx.ml.CategoryMapper <cats_int64s = [10, 20], cats_strings = [\"a\", "
                       "\"b\"], default_string = \"none\"> (x)");
  assert_strings (
      "string[2]", "b|_Unused",
      X ("int64[2]", "1, 2") "y = ai.onnx.ml.LabelEncoder <classes_strings = [\"a\", \"b\"]> (x)");
  assert_strings (
      "string[2]", "u|d",
      X ("float[2]",
         "0.5, 1") "y = ai.onnx.ml.LabelEncoder <keys_floats = [0.5], values_tensor = string[1] "
                   "{\"u\"}, default_tensor = string[1] {\"d\"}> (x)");
  assert_strings ("string[2]", "a|b",
                  X ("float[2,2]", "1, 0, 0, 1") "y, z = ai.onnx.ml.SVMClassifier <" PAIR "> (x)");
  assert_strings (
      "string[1,2]", "0.1|2.5",
      X ("float[2]", "2.5, 0.1") "s = ai.onnx.ml.ZipMap <classlabels_int64s = [5, 4]> (x)\n"
                                 "i = Constant <value_int = 0> ()\n m = SequenceAt (s, i)\n"
                                 "y = ai.onnx.ml.CastMap <cast_to = \"TO_STRING\"> (m)");
}

static void
test_zip_map (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) y = run_body (
      21, "seq(map(string, float))",
      X ("float[2,2]",
         "1, 2, 3, 4") "y = ai.onnx.ml.ZipMap <classlabels_strings = [\"a\", \"b\"]> (x)",
      &error);

  g_assert_no_error (error);
  g_assert_cmpuint (ir_tensor_n_items (y), ==, 2);
  for (guint i = 0; i < 2; i++)
    {
      const IrTensor *map = ir_tensor_item (y, i);
      g_assert_cmpint (ir_tensor_kind (map), ==, IR_TYPE_MAP);
      g_assert_cmpmem (g_bytes_get_data (ir_tensor_string (ir_tensor_item (map, 0), 1), NULL), 1,
                       "b", 1);
      g_assert_cmpfloat (ir_tensor_get_double (ir_tensor_item (map, 1), 1), ==, 2 * i + 2);
    }
}

/* -- attributes that do not fit together -- */

#define TREE3(TREEIDS, NODEIDS, FEATURES, MODES, VALUES, TRUES, FALSES, REST)                      \
  SAMPLES                                                                                          \
  "y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [" TREEIDS "], nodes_nodeids = "          \
  "[" NODEIDS "], nodes_featureids = [" FEATURES "], nodes_modes = [" MODES "], nodes_values = "   \
  "[" VALUES "], nodes_truenodeids = [" TRUES "], nodes_falsenodeids = [" FALSES "], "             \
  "n_targets = 1, " REST "> (x)"
#define THREE "\"BRANCH_LT\", \"LEAF\", \"LEAF\""
#define ONES                                                                                       \
  "target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 0], target_weights = "       \
  "[1.0, 2.0]"
#define PLACED(ROOTS, FEATURES, MODES, TRUES, LEAFS, TARGETS, REST)                                \
  SAMPLES                                                                                          \
  "y = ai.onnx.ml.TreeEnsemble <n_targets = 1, tree_roots = [" ROOTS "], nodes_featureids = "      \
  "[" FEATURES "], nodes_modes = uint8[2] {" MODES "}, nodes_splits = float[2] {0, 0}, "           \
  "nodes_truenodeids = [" TRUES "], nodes_trueleafs = [" LEAFS "], nodes_falsenodeids = [0, 1], "  \
  "nodes_falseleafs = [1, 1], leaf_targetids = [" TARGETS "], leaf_weights = float[2] {1, 2}" REST \
  "> (x)"
#define VECTORS    "support_vectors = [1.0, 0.0, 0.0, 1.0], classlabels_ints = [0, 1], "
#define SVM(ATTRS) SAMPLES "y, z = ai.onnx.ml.SVMClassifier <" VECTORS ATTRS "> (x)"

static const struct
{
  const char *says; /* what the message has in it */
  const char *body;
} misfits[] = {
  { "node 0 is behind itself",
    TREE3 ("0, 0, 0", "0, 1, 2", "0, 0, 0", THREE, "0.0, 0.0, 0.0", "0, 0, 0", "2, 0, 0", ONES) },
  { "is behind itself", TREE3 ("0, 0, 0",
                               "0, 1, 2",
                               "0, 0, 0",
                               "\"BRANCH_LT\", \"BRANCH_LT\", \"LEAF\"",
                               "0.0, 0.0, 0.0",
                               "1, 2, 0",
                               "2, 0, 0",
                               ONES) },
  { "tree 0 has no node 9",
    TREE3 ("0, 0, 0", "0, 1, 2", "0, 0, 0", THREE, "0.0, 0.0, 0.0", "9, 0, 0", "2, 0, 0", ONES) },
  { "tree 0 has no node -1",
    TREE3 ("0, 0, 0", "0, 1, 2", "0, 0, 0", THREE, "0.0, 0.0, 0.0", "1, 0, 0", "-1, 0, 0", ONES) },
  { "tree 0 has no node 2",
    TREE3 ("0, 0, 1", "0, 1, 2", "0, 0, 0", THREE, "0.0, 0.0, 0.0", "1, 0, 0", "2, 0, 0", ONES) },
  { "has the node 1 twice",
    TREE3 ("0, 0, 0", "0, 1, 1", "0, 0, 0", THREE, "0.0, 0.0, 0.0", "1, 0, 0", "1, 0, 0", ONES) },
  { "compares feature 2 of 2",
    TREE3 ("0, 0, 0", "0, 1, 2", "2, 0, 0", THREE, "0.0, 0.0, 0.0", "1, 0, 0", "2, 0, 0", ONES) },
  { "compares feature -1",
    TREE3 ("0, 0, 0", "0, 1, 2", "-1, 0, 0", THREE, "0.0, 0.0, 0.0", "1, 0, 0", "2, 0, 0", ONES) },
  { "the mode \"BRANCH\"", TREE3 ("0, 0, 0",
                                  "0, 1, 2",
                                  "0, 0, 0",
                                  "\"BRANCH\", \"LEAF\", \"LEAF\"",
                                  "0.0, 0.0, 0.0",
                                  "1, 0, 0",
                                  "2, 0, 0",
                                  ONES) },
  { "nodes_modes has 2 names, 3 are needed", TREE3 ("0, 0, 0",
                                                    "0, 1, 2",
                                                    "0, 0, 0",
                                                    "\"BRANCH_LT\", \"LEAF\"",
                                                    "0.0, 0.0, 0.0",
                                                    "1, 0, 0",
                                                    "2, 0, 0",
                                                    ONES) },
  { "nodes_values has 2 elements, 3 are needed",
    TREE3 ("0, 0, 0", "0, 1, 2", "0, 0, 0", THREE, "0.0, 0.0", "1, 0, 0", "2, 0, 0", ONES) },
  { "nodes_nodeids has 2 integers, 3 are needed",
    TREE3 ("0, 0, 0", "0, 1", "0, 0, 0", THREE, "0.0, 0.0, 0.0", "1, 0, 0", "2, 0, 0", ONES) },
  { "nodes_featureids has 4 integers",
    TREE3 (
        "0, 0, 0", "0, 1, 2", "0, 0, 0, 0", THREE, "0.0, 0.0, 0.0", "1, 0, 0", "2, 0, 0", ONES) },
  { "nodes_truenodeids has 1 integers",
    TREE3 ("0, 0, 0", "0, 1, 2", "0, 0, 0", THREE, "0.0, 0.0, 0.0", "1", "2, 0, 0", ONES) },
  { "nodes_missing_value_tracks_true has 1 integers",
    TREE3 ("0, 0, 0",
           "0, 1, 2",
           "0, 0, 0",
           THREE,
           "0.0, 0.0, 0.0",
           "1, 0, 0",
           "2, 0, 0",
           ONES ", nodes_missing_value_tracks_true = [1]") },
  { "tree 0 has no node 3",
    TREE3 ("0, 0, 0",
           "0, 1, 2",
           "0, 0, 0",
           THREE,
           "0.0, 0.0, 0.0",
           "1, 0, 0",
           "2, 0, 0",
           "target_treeids = [0], target_nodeids = [3], target_ids = [0], target_weights = "
           "[1.0]") },
  { "target_ids has 1, there are 1",
    TREE3 ("0, 0, 0",
           "0, 1, 2",
           "0, 0, 0",
           THREE,
           "0.0, 0.0, 0.0",
           "1, 0, 0",
           "2, 0, 0",
           "target_treeids = [0], target_nodeids = [1], target_ids = [1], target_weights = "
           "[1.0]") },
  { "target_weights has 1 elements, 2 are needed",
    TREE3 ("0, 0, 0",
           "0, 1, 2",
           "0, 0, 0",
           THREE,
           "0.0, 0.0, 0.0",
           "1, 0, 0",
           "2, 0, 0",
           "target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 0], "
           "target_weights = [1.0]") },
  { "base_values has 2 elements", TREE3 ("0, 0, 0",
                                         "0, 1, 2",
                                         "0, 0, 0",
                                         THREE,
                                         "0.0, 0.0, 0.0",
                                         "1, 0, 0",
                                         "2, 0, 0",
                                         ONES ", base_values = [1.0, 2.0]") },
  { "aggregate_function is \"MEAN\"; AVERAGE, SUM, MIN or MAX is needed",
    TREE3 ("0, 0, 0",
           "0, 1, 2",
           "0, 0, 0",
           THREE,
           "0.0, 0.0, 0.0",
           "1, 0, 0",
           "2, 0, 0",
           ONES ", aggregate_function = \"MEAN\"") },
  { "post_transform is \"TANH\"; NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT is",
    TREE3 ("0, 0, 0",
           "0, 1, 2",
           "0, 0, 0",
           THREE,
           "0.0, 0.0, 0.0",
           "1, 0, 0",
           "2, 0, 0",
           ONES ", post_transform = \"TANH\"") },
  { "n_targets is 0", SAMPLES "y = ai.onnx.ml.TreeEnsembleRegressor <" NODES "> (x)" },
  { "there are no classes", SAMPLES "y, z = ai.onnx.ml.TreeEnsembleClassifier <" NODES "> (x)" },
  { "class_ids has 2, there are 2", CLASSIFY (TWO, VOTES ("0, 1, 2", "1.0, 2.0, 3.0"), "y, z") },
  { "class_ids has -1", CLASSIFY (TWO, VOTES ("0, 1, -1", "1.0, 2.0, 3.0"), "y, z") },
  { "is behind itself", PLACED ("0", "0, 0", "0, 0", "0, 1", "0, 1", "0, 0", "") },
  { "there is no node 2", PLACED ("2", "0, 0", "0, 0", "0, 1", "1, 1", "0, 0", "") },
  { "there is no leaf 2", PLACED ("0", "0, 0", "0, 0", "0, 2", "1, 1", "0, 0", "") },
  { "leaf 1 is for target 1 of 1", PLACED ("0", "0, 0", "0, 0", "0, 1", "1, 1", "0, 1", "") },
  { "aggregate_function is 4; 0 to 3 are needed",
    PLACED ("0", "0, 0", "0, 0", "0, 1", "1, 1", "0, 0", ", aggregate_function = 4") },
  { "node 1 has the mode 7", PLACED ("0", "0, 0", "0, 7", "0, 1", "1, 1", "0, 0", "") },
  { "nodes_trueleafs has 1 integers", PLACED ("0", "0, 0", "0, 0", "0, 1", "1", "0, 0", "") },
  { "nodes_splits has 2 elements, 1 are", PLACED ("0", "0", "0, 0", "0, 1", "1, 1", "0, 0", "") },
  { "no set for node 1", PLACED ("0", "0, 0", "0, 6", "0, 1", "1, 1", "0, 0", "") },
  { "more sets than there are nodes",
    PLACED ("0", "0, 0", "0, 0", "0, 1", "1, 1", "0, 0", ", membership_values = float[2] {1, 2}") },
  { "rho has 2 elements, 1 are needed",
    SVM ("vectors_per_class = [1, 1], coefficients = [1.0, 2.0], rho = [0.5, 1.0]") },
  { "vectors_per_class has 1 elements for 2 classes",
    SVM ("vectors_per_class = [2], coefficients = [1.0, 2.0], rho = [0.5]") },
  { "vectors_per_class has the size -1",
    SVM ("vectors_per_class = [3, -1], coefficients = [1.0, 2.0], rho = [0.5]") },
  { "support_vectors has 4 elements, 6 are needed",
    SVM ("vectors_per_class = [1, 2], coefficients = [1.0, 2.0, 3.0], rho = [0.5]") },
  { "coefficients has 1 elements, 2 are needed",
    SVM ("vectors_per_class = [1, 1], coefficients = [1.0], rho = [0.5]") },
  { "prob_b has 0 elements, 1 are needed",
    SVM ("vectors_per_class = [1, 1], coefficients = [1.0, 2.0], rho = [0.5], prob_a = [1.0]") },
  { "kernel_params has 1 elements",
    SVM ("vectors_per_class = [1, 1], coefficients = [1.0, 2.0], rho = [0.5], kernel_params = "
         "[1.0]") },
  { "kernel_type is \"COSINE\"",
    SVM ("vectors_per_class = [1, 1], coefficients = [1.0, 2.0], rho = [0.5], kernel_type = "
         "\"COSINE\"") },
  { "n_supports is -1", SAMPLES "y = ai.onnx.ml.SVMRegressor <n_supports = -1, coefficients = "
                                "[1.0], rho = [0.0]> (x)" },
  { "rho has 0 elements", SAMPLES "y = ai.onnx.ml.SVMRegressor <coefficients = [1.0, 2.0]> (x)" },
  { "coefficients has 3 elements", SAMPLES "y, z = ai.onnx.ml.LinearClassifier <coefficients = "
                                           "[1.0, 2.0, 3.0], classlabels_ints = [1, 2, 3]> (x)" },
  { "3 labels and 2 intercepts",
    SAMPLES "y, z = ai.onnx.ml.LinearClassifier <coefficients = [1.0, 2.0, 3.0, 4.0], intercepts "
            "= [1.0, 2.0], classlabels_ints = [1, 2, 3]> (x)" },
  { "are both given", SAMPLES "y, z = ai.onnx.ml.LinearClassifier <coefficients = [1.0, 2.0], "
                              "classlabels_strings = [\"a\"], classlabels_ints = [1]> (x)" },
  { "intercepts has 2 elements, 1 are",
    SAMPLES "y = ai.onnx.ml.LinearRegressor <coefficients = [1.0, 2.0], intercepts = [1.0, 2.0]> "
            "(x)" },
  { "targets is -1", SAMPLES "y = ai.onnx.ml.LinearRegressor <coefficients = [1.0], targets = -1> "
                             "(x)" },
  { "scale has 3 elements", SAMPLES "y = ai.onnx.ml.Scaler <scale = [1.0, 2.0, 3.0]> (x)" },
  { "norm is \"L3\"", SAMPLES "y = ai.onnx.ml.Normalizer <norm = \"L3\"> (x)" },
  { "imputed_value_floats has 0 elements", SAMPLES "y = ai.onnx.ml.Imputer (x)" },
  { "there are no values", SAMPLES "y = ai.onnx.ml.LabelEncoder <keys_floats = [1.0]> (x)" },
  { "1 keys and 2 values", SAMPLES "y = ai.onnx.ml.LabelEncoder <keys_floats = [1.0], "
                                   "values_floats = [1.0, 2.0]> (x)" },
  { "X is float and the keys are string",
    SAMPLES "y = ai.onnx.ml.LabelEncoder <keys_strings = [\"a\"], values_floats = [1.0]> (x)" },
  { "default_tensor must hold one element",
    SAMPLES "y = ai.onnx.ml.LabelEncoder <keys_floats = [1.0], values_tensor = float[1] {1}, "
            "default_tensor = int64[1] {1}> (x)" },
  { "asks for feature 2 of 2", SAMPLES "i = Constant <value = int64[1] {2}> ()\n"
                                       "y = ai.onnx.ml.ArrayFeatureExtractor (x, i)" },
  { "element 0 of X is no category",
    X ("string[1]", "\"z\"") "y = ai.onnx.ml.OneHotEncoder <cats_strings = [\"a\"], zeros = 0> "
                             "(x)" },
  { "inputdimensions has 2 elements for 1 inputs",
    SAMPLES "y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [1, 2]> (x)" },
  { "inputdimensions has the size -1",
    SAMPLES "y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [-1]> (x)" },
  { "cats_int64s has 1 elements and cats_strings 2",
    X ("int64[1]", "1") "y = ai.onnx.ml.CategoryMapper <cats_int64s = [1], cats_strings = [\"a\", "
                        "\"b\"]> (x)" },
  { "X has 2 columns for 3 labels",
    SAMPLES "y = ai.onnx.ml.ZipMap <classlabels_int64s = [1, 2, 3]> (x)" },
  { "two labels are the same", SAMPLES "y = ai.onnx.ml.ZipMap <classlabels_int64s = [1, 1]> (x)" },
  { "X is no map", SAMPLES "y = ai.onnx.ml.CastMap (x)" },
  { "X has the key 5, max_map is 4",
    X ("float[1]", "1") "s = ai.onnx.ml.ZipMap <classlabels_int64s = [5]> (x)\n"
                        "i = Constant <value_int = 0> ()\n m = SequenceAt (s, i)\n"
                        "y = ai.onnx.ml.CastMap <map_form = \"SPARSE\", max_map = 4> (m)" },
  { "the keys of X are int64 and the vocabulary is string",
    X ("float[1]", "1") "s = ai.onnx.ml.ZipMap <classlabels_int64s = [5]> (x)\n"
                        "i = Constant <value_int = 0> ()\n m = SequenceAt (s, i)\n"
                        "y = ai.onnx.ml.DictVectorizer <string_vocabulary = [\"a\"]> (m)" },
};

/* The model is read, with a problem or without; the run says what is wrong and with which node. */
static void
test_misfit (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_autofree char *text = g_strdup_printf (
      "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 5]>\n"
      "graph () => (y)\n{\n%s\n}\n",
      misfits[i].body);
  g_autoptr (IrModel) model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_null (run);
  g_assert_nonnull (error);
  g_test_message ("%s", error->message);
  if (strstr (error->message, misfits[i].says) == NULL)
    g_error ("\"%s\" is not in: %s", misfits[i].says, error->message);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      g_autofree char *path = g_strdup_printf ("/ml/%s", numbers[i].name);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_numbers);
    }
  g_test_add_func ("/ml/encoders write strings", test_strings);
  g_test_add_func ("/ml/ZipMap makes a map of each row", test_zip_map);
  for (guint i = 0; i < G_N_ELEMENTS (misfits); i++)
    {
      g_autofree char *path = g_strdup_printf ("/ml/misfit %u: %s", i, misfits[i].says);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_misfit);
    }
  return g_test_run ();
}
