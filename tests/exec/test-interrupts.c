/* Kernels of every kind stop in the middle of one long row, sort or scan: looks are counted, as in
 * test-stopping.c, and what follows the one that cancels is bounded. */
#include "config.h"

#include <string.h>

#include "core/op/infer-util.h"
#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"

#define INTS(NAME, SHAPE, VALUES)   NAME " = Constant <value = int64" SHAPE " {" VALUES "}> ()\n"
#define FLOATS(NAME, SHAPE, VALUES) NAME " = Constant <value = float" SHAPE " {" VALUES "}> ()\n"
#define TREE                                                                                       \
  "nodes_treeids = [7, 7, 7], nodes_nodeids = [1, 10, 2], nodes_featureids = [0, 0, 0], "          \
  "nodes_values = [0.5, 0.0, 1.0], nodes_modes = [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], "           \
  "nodes_truenodeids = [10, 0, 0], nodes_falsenodeids = [2, 0, 0]"

/* At least @looks looks at @body, whose inputs are long. */
typedef struct
{
  const char *backend, *signature, *body;
  int looks;
  gsize n_bytes; /* of each string */
  char letter;   /* of which it is made */
  guint opset;   /* 0: a new one */
} Kind;

static const Kind kinds[] = {
  /* one row of more elements than are worked on between two looks */
  { "cpu", "(float[1,3300000] x, float[3300000] w) => (float[] y)",
    "y = LayerNormalization (x, w, w)", 6 },
  { "cpu", "(float[1,3300000] x, float[3300000] w) => (float[] y)", "y = RMSNormalization (x, w)",
    5 },
  { "cpu", "(float[1,1,3300000] x, float[1] w) => (float[] y)",
    "y = InstanceNormalization (x, w, w)", 6 },
  { "cpu", "(float[1,2,1700000] x, float[2] w) => (float[] y)",
    "y = GroupNormalization <num_groups = 1> (x, w, w)", 6 },
  { "cpu", "(float[1,1,3300000] x, float[1] w) => (float[] y)",
    "y = BatchNormalization (x, w, w, w, w)", 3 },
  { "cpu", "(float[1,1,3300000] x) => (float[] y)", "y = GlobalAveragePool (x)", 3 },
  { "cpu", "(float[1,1,3300000] x) => (float[] y)", "y = GlobalMaxPool (x)", 3 },
  { "cpu", "(float[1,1,3300000] x) => (float[] y)", "y = LRN <size = 3> (x)", 3 },
  { "cpu", "(float[3300000] x) => (float[] y)", "y = Concat <axis = 0> (x, x)", 6 },
  { "cpu", "(bool[3300000] c, float[3300000] x) => (float[] y)", "y = Where (c, x, x)", 3 },
  { "cpu", "(float[2,1600000] x) => (float[] y)", INTS ("a", "[1]", "0") "y = ReduceSum (x, a)",
    1 },
  { "cpu", "(float[1,3300000] x) => (float[] y)", INTS ("i", "[2]", "0, 0") "y = Gather (x, i)",
    6 },
  { "cpu", "(int64[1] s) => (float[] y)", "y = ConstantOfShape (s)", 3 },
  { "cpu", "(int64 n) => (int64[] y)",
    INTS ("z", "", "0") INTS ("o", "", "1") "y = Range (z, n, o)", 3 },
  { "cpu", "(float[3300000] x) => (float[] y)", "y = Elu (x)", 3 },
  { "cpu", "(float[3300000] x) => (float[] y)", "y = HardSigmoid (x)", 3 },
  { "cpu", "(bool[3300000] x) => (bool[] y)", "y = Not (x)", 3 },
  { "cpu", "(float[1,1,300,300] x) => (float[] y)", "y = MaxPool <kernel_shape = [100, 100]> (x)",
    200 },
  { "cpu", "(float[1,1,300,300] x) => (float[] y)",
    "y = AveragePool <kernel_shape = [100, 100]> (x)", 200 },
  { "cpu", "(float[2,9000000] x) => (float[] y)", "y = Trilu (x)", 3 },
  { "cpu", "(float[9000000] x) => (float[] y, bool[] m)", "y, m = Dropout (x)", 10 },
  { "cpu", "(float[3000,2] x, float[2,4000] w, float[3000,1] c) => (float[] y)",
    "y = Gemm (x, w, c)", 3 },
  { "cpu",
    "(float[1,4,1,64] q, float[1,4,1,64] k, float[1,4,16000,64] p) => (float[] y, float[] a, "
    "float[] b)",
    "y, a, b = Attention (q, k, k, , p, p)", 7 },
  { "cpu", "(float[90] x, int64[900000,1] i) => (float[] y)", "y = GatherND (x, i)", 6 },
  { "cpu", "(float[900000] x, int64[900000] i) => (float[] y)", "y = GatherElements (x, i)", 6 },
  { "cpu", "(float[90,1] x, int64[900000] i) => (float[] y)", "y = Gather (x, i)", 6 },
  /* a small matrix of long sums */
  { "cpu", "(float[190,60000] x, float[60000,190] w) => (float[] y)", "y = MatMul (x, w)", 3 },
  /* rows, columns and planes of other shapes than usual */
  { "cpu", "(float[400000,16] x) => (float[] y)", "y = Transpose (x)", 5 },
  { "cpu", "(float[1,3300,1000] x, float[3300] w) => (float[] y)",
    "y = GroupNormalization <num_groups = 1> (x, w, w)", 8 },
  { "cpu", "(float[3300000,1] x) => (float[] y)", INTS ("a", "[1]", "1") "y = ReduceLogSum (x, a)",
    8 },
  { "cpu", "(float[300000] x) => (float[] v, int64[] y)",
    INTS ("k", "[1]", "300000") "v, y = TopK (x, k)", 12 },
  { "cpu", "(float[1,1,1,1650000] x) => (float[] y)",
    INTS ("s", "[4]", "1, 1, 1, 3300000") "y = Resize <mode = \"nearest\"> (x, , , s)", 150 },
  { "cpu", "(float[1,1,1,165000] x) => (float[] y)",
    INTS ("s", "[4]", "1, 1, 1, 330000") "y = Resize <mode = \"linear\"> (x, , , s)", 40 },
  { "cpu", "(float[1,1,2,1650000] x) => (float[] y)",
    INTS ("s", "[4]", "1, 1, 3, 1650000") "y = Resize <mode = \"linear\"> (x, , , s)", 20 },
  { "cpu", "(int64[3300000] x) => (int64[] y)", "y = Neg (x)", 3 },
  { "cpu", "(float[1,60000,1] x, float[1,64,1] w, float[1,64,16] r) => (float[] y)",
    "y = LSTM <hidden_size = 16> (x, w, r)", 15 },
  { "cpu", "(float[1,60000,1] x, float[1,48,1] w, float[1,48,16] r) => (float[] y)",
    "y = GRU <hidden_size = 16> (x, w, r)", 20 },
  { "cpu", "(float[50000,1,4] x, float[50000,4,1] w) => (float[] y)", "y = MatMul (x, w)", 20 },
  { "cpu", "(float[1,3300000] x, float[1] w) => (float[] y)",
    "z = Constant <value = float[1,1] {2.0}> () y = Gemm (z, x, x)", 3 },
  { "cpu", "(float[9000,1,1,8] x) => (float[] y)", "y = Attention (x, x, x)", 8 },
  { "cpu", "(float[1,1,2,64] q, float[1,1,60000,64] x, float[1,1,2,64] p) => (float[] y)",
    "y = Attention (q, x, x, , p, p)", 6 },
  { "cpu", "(float[1,16,200,200] x, float[16,16,1,1] w) => (float[] y)",
    "a = Conv (x, w) b = MaxPool <kernel_shape = [15, 15]> (a) y = Conv (b, w)", 66 },
  { "cpu", "(float[1,16,1100,1100] x, float[16,1,3,3] w) => (float[] y)",
    "y = Conv <group = 16> (x, w)", 42 },
  { "cpu", "(float[1,16,120,120] x, float[16,16,100,100] w) => (float[] y)", "y = Conv (x, w)",
    20 },
  { "cpu", "(float[1,4000,40000] x, float[4000,1,3] w) => (float[] y)",
    "y = Conv <group = 4000> (x, w)", 5 },
  /* very many taps, samples, groups and maps, and very long rows of them */
  { "cpu", "(float[1,1,3300000] x, float[1,1,2] w) => (float[] y)", "y = ConvTranspose (x, w)",
    12 },
  { "cpu", "(float[1,1,1] x, float[1,1,300000] w) => (float[] y)", "y = ConvTranspose (x, w)", 18 },
  { "cpu", "(float[400000,1,1] x, float[1,1,1] w) => (float[] y)", "y = Conv (x, w)", 3 },
  { "cpu", "(float[1,400000,1] x, float[400000,1,1] w) => (float[] y)",
    "y = Conv <group = 400000> (x, w)", 3 },
  { "cpu", "(float[1,1,70000] x, float[1,1,70000] w) => (float[] y)", "y = Conv (x, w)", 3 },
  { "cpu", "(float[1,1,1,1] x, float[5000000,1,1,1] w, float[5000000] b) => (float[] y)",
    "y = Conv (x, w, b)", 78190 },
  { "cpu", "(float[1,500000,1,1] x, float[800000,5,1,1] w) => (float[] y)",
    "y = Conv <group = 100000> (x, w)", 100020 },
  { "cpu", "(float[1,6000,1] x) => (float[] y)", "y = LRN <size = 12000> (x)", 5000 },
  { "cpu",
    "(float[1,1,1,1] q, float[1,1,1,1] k, float[1,1,1,3300000] v, float[1,1,1,1] p, "
    "float[1,1,1,3300000] r) => (float[] y)",
    "y = Attention (q, k, v, , p, r)", 7 },
  { "cpu", "(float[20000,1,1,1] q, float[20000,1,90,1] x, int64[20000] n) => (float[] y)",
    "y = Attention (q, x, x, , , , n)", 20 },
  { "cpu", "(float[16,16383] x) => (float[] v, int64[] y)",
    INTS ("k", "[1]", "16383") "v, y = TopK (x, k)", 16 },
  /* products of few terms, whose result takes long to be written */
  { "cpu", "(float[5000,1] x, float[1,5000] w) => (float[] y)", "y = MatMul (x, w)", 2 },
  { "cpu", "(float[200,1] x, float[1,130000] w) => (float[] y)", "y = MatMul (x, w)", 2 },
  { "cpu", "(float[1,2] x, float[2,17000000] w) => (float[] y)", "y = MatMul (x, w)", 2 },
  /* memory that is touched first in places far apart */
  { "cpu", "(float[64,1] x, float[1,600000] w) => (float[] y)", "y = MatMul (x, w)", 100 },
  { "cpu", "(float[1000,1] x, float[1000,5000] z) => (float[] y)", "y = Concat <axis = 1> (x, z)",
    5 },
  { "cpu", "(float[8,600000] x) => (float[] y)", "y = Softmax <axis = 0> (x)", 24 },
  { "cpu", "(float[8,600000] x) => (float[] y)", "y = LogSoftmax <axis = 0> (x)", 24 },
  { "cpu", "(float[8,600000] x) => (float[] y)", INTS ("a", "", "0") "y = CumSum (x, a)", 10 },
  { "cpu", "(float[4,1100000] x) => (float[] v, int64[] y)",
    INTS ("k", "[1]", "4") "v, y = TopK <axis = 0> (x, k)", 272 },
  { "ref", "(float[1,2] x, float[2,700000] w) => (float[] y)", "y = MatMul (x, w)", 370 },
  { "ref", "(float[1,1,700,700] x, float[1,1,1,1] w) => (float[] y)", "y = Conv (x, w)", 160 },
  { "ref", "(float[1,1,1,490000] x, float[1,1,1,1] w) => (float[] y)", "y = ConvTranspose (x, w)",
    160 },
  { "ref", "(float[1,1,700,700] x) => (float[] y)",
    "y = AveragePool <kernel_shape = [700, 700]> (x)", 100 },
  { "ref", "(int32[100000] x) => (int32[] y)",
    "l = Constant <value = int32 {1}> () y = Clip (x, l)", 20 },
  { "ref", "(float[1,1,100] x, float[1,1600,100] w, float[1,1600,400] r) => (float[] y)",
    "y = LSTM <hidden_size = 400> (x, w, r)", 50 },
  { "ref", "(float[1,1,100] x, float[1,1200,100] w, float[1,1200,400] r) => (float[] y)",
    "y = GRU <hidden_size = 400> (x, w, r)", 40 },
  { "ref", "(float[1,60000,2,2] x, float[1,1,1,2] g) => (float[] y)", "y = GridSample (x, g)", 55 },
  { "ref", "(float[1,1,100,100] x, float[1,4] r) => (float[] y)",
    INTS ("i", "[1]", "0") "y = RoiAlign <sampling_ratio = 1000> (x, r, i)", 300 },
  { "ref", "(uint8[1,300000] x, uint8[300000,1] w) => (int32[] y)", "y = MatMulInteger (x, w)",
    315 },
  { "ref", "(float[1,1,1,100000] x) => (float[] y)",
    INTS ("s", "[4]", "1, 1, 1, 1") "y = Resize <mode = \"linear\", antialias = 1> (x, , , s)",
    120 },
  { "ref", "(float[1,3000,3,3] x, float[1,3000,3,3] w, float[1,18,1,1] o) => (float[] y)",
    "y = DeformConv (x, w, o)", 25 },
  /* sequences */
  { "ref", "(float[100000] x) => (float[] y)",
    "q = SplitToSequence <axis = 0, keepdims = 0> (x) "
    "y = ConcatFromSequence <axis = 0, new_axis = 1> (q)",
    120 },
  { "ref", "(int64[2] n, float[2] z, float[2,100000] x) => (float[] y)",
    "last, y = Scan (n, z, x) <num_scan_inputs = 1, "
    "body = b (float s, float v) => (float r, float o) { r = Add (s, v) o = Identity (r) }>",
    195, .opset = 8 },
  { "ref", "(float[700000] x) => (float[] y)",
    "q = SequenceConstruct (x, x) y = ConcatFromSequence <axis = 0> (q)", 20 },
  /* elements that have to be unpacked, or are taken one by one */
  { "ref", "(float[1,100000] x) => (int4[] y)", "q = Cast <to = 22> (x) y = Transpose (q)", 95 },
  { "ref", "(string[1,100000] x) => (string[] y)", "y = Transpose (x)", 45 },
  { "ref", "(int64[1] s) => (float[] y)", "y = ConstantOfShape (s)", 3 },
  { "ref", "(int32[200,200] x) => (int32[] y)", "y = MatMul (x, x)", 70 },
  /* sorts */
  { "ref", "(float[100000] x) => (float[] y)", "y = Unique (x)", 40 },
  { "ref", "(int64[300,300] x) => (int64[] y)", "y = Unique <axis = 1, sorted = 0> (x)", 5 },
  { "ref", "(float[100000] x) => (float[] v, int64[] y)",
    INTS ("k", "[1]", "50000") "v, y = TopK (x, k)", 20 },
  { "ref", "(float[1,3000,4] b, float[1,1,3000] s) => (int64[] y)",
    INTS ("k", "", "3000") FLOATS ("o", "", "0.9") "y = NonMaxSuppression (b, s, k, o)", 5 },
  /* rows of the reference kernels */
  { "ref", "(float[1,100000] x, float[100000] w) => (float[] y)",
    "y = LayerNormalization (x, w, w)", 20 },
  { "ref", "(float[1,1,100000] x, float[1] w) => (float[] y)",
    "y = InstanceNormalization (x, w, w)", 20 },
  { "ref", "(float[1,1,100000] x, float[1] w) => (float[] y)",
    "y = BatchNormalization (x, w, w, w, w)", 5 },
  { "ref", "(float[1,10,100,100] x) => (float[] y)", "y = MeanVarianceNormalization (x)", 20 },
  { "ref", "(float[1,1,100000] x) => (float[] y)", "y = LRN <size = 3> (x)", 5 },
  { "ref", "(float[100000] x) => (float[] y)", "y = Softmax (x)", 20 },
  { "ref", "(float[100000] x) => (float[] y)", "y = LogSoftmax (x)", 20 },
  { "ref", "(float[100000] x) => (float[] y)", "y = Hardmax (x)", 20 },
  { "ref", "(float[100000] x) => (int64[] y)", "y = ArgMax (x)", 5 },
  { "ref", "(float[100000] x) => (float[] y)", INTS ("a", "", "0") "y = CumSum (x, a)", 5 },
  { "ref", "(float[1,1,100000] x) => (float[] y)", "y = GlobalAveragePool (x)", 5 },
  { "ref", "(float[1,1,100,100] x) => (float[] y)", "y = MaxPool <kernel_shape = [9, 9]> (x)", 20 },
  { "ref", "(float[300,300] x) => (float y)", "y = Det (x)", 100 },
  { "ref", "(float[1,65536,1] x) => (float[] y)", "y = DFT (x)", 40 },
  { "ref", "(float[1,30011,1] x) => (float[] y)", "y = DFT (x)", 60 },
  /* more than inference reads */
  { "ref", "(float[1,1100000] x, bool[1100000] c) => (float[] y)",
    "y = Compress <axis = -1> (x, c)", 400 },
  { "ref", "(float[100000] x) => (float y)", "y = Einsum <equation = \"i,i->\"> (x, x)", 20 },
  { "ref", "(float[1,1,200,200] x) => (float[] y)",
    INTS ("s", "[4]", "1, 1, 300, 300") "y = Resize <mode = \"linear\"> (x, , , s)", 5 },
  { "ref", "(float[1,1,201,201] x) => (float[] y)",
    INTS ("s", "[4]", "1, 1, 300, 300") "y = Resize <mode = \"nearest\"> (x, , , s)", 15 },
  { "ref", "(float[1,2,300,20] x) => (float[] y)", "y = Attention (x, x, x)", 100 },
  { "ref", "(float[100000,3] x) => (float[] y)",
    INTS ("s", "[2]", "90000, 3") "y = CenterCropPad (x, s)", 20 },
  /* numbers */
  { "ref", "(float[100000] x) => (float[] y)", "y = Bernoulli (x)", 20 },
  { "ref", "(float[1,100000] x) => (int32[] y)", "y = Multinomial <sample_size = 9> (x)", 20 },
  { "ref", "(int8[100000] x) => (float[] y)", FLOATS ("s", "", "0.5") "y = DequantizeLinear (x, s)",
    40 },
  { "ref", "(float[100000] x) => (uint8[] y, float s, uint8 z)",
    "y, s, z = DynamicQuantizeLinear (x)", 40 },
  { "ref", "(uint8[200,200] x) => (int32[] y)", "y = MatMulInteger (x, x)", 100 },
  { "ref", "(float[100,1000] x, int64[100] t) => (float y)", "y = SoftmaxCrossEntropyLoss (x, t)",
    10 },
  { "ref", "(float r, int64 t, float[100000] x) => (float[] y, float[] h)",
    "y, h = ai.onnx.preview.training.Adagrad (r, t, x, x, x)", 20 },
  /* strings */
  { "ref", "(string[100000] x) => (string[] y, int64[] n)",
    "y, n = StringSplit <delimiter = \"-\"> (x)", 20 },
  { "ref", "(string[100000] x) => (string[] y)",
    "y = StringNormalizer <case_change_action = \"UPPER\"> (x)", 20 },
  { "ref", "(int64[100000] x) => (float[] y)",
    "y = TfIdfVectorizer <max_gram_length = 2, max_skip_count = 2, min_gram_length = 2, "
    "mode = \"TF\", ngram_counts = [0, 3], ngram_indexes = [0, 1, 2, 3, 4], "
    "pool_int64s = [1, 2, 3, 4, 5, 6, 7]> (x)",
    20 },
  { "ref", "(string[100000] x) => (bool[] y)", "y = Equal (x, x)", 20 },
  { "ref", "(float[100000] x) => (string[] y)", "y = Cast <to = 8> (x)", 20 },
  /* one head, row, state or region that is long */
  { "cpu", "(float[1,1,1,6600000] x, float[1,1,3300000] w) => (float[] y)",
    "y = RotaryEmbedding (x, w, w)", 4 },
  { "cpu", "(float[1,1,1,6600002] x, float[1,1,3300001] w) => (float[] y)",
    "y = RotaryEmbedding <interleaved = 1> (x, w, w)", 4 },
  { "cpu", "(float[1,1,1,6600000] x, float[1,1,1] w) => (float[] y)",
    "y = RotaryEmbedding <rotary_embedding_dim = 2> (x, w, w)", 6 },
  { "cpu", "(float[1,1,1,6600000] x) => (float[] y)", "y = irscope.RotaryEmbedding (x, x, x)", 3 },
  { "cpu", "(float[1,1,1,6600000] x) => (float[] y)", "y = irscope.PairRotaryEmbedding (x, x, x)",
    3 },
  { "ref", "(float[1,1,1,200000] x, float[1,1,100000] w) => (float[] y)",
    "y = RotaryEmbedding (x, w, w)", 20 },
  { "ref", "(float[1,1,1,200000] x) => (float[] y)", "y = irscope.RotaryEmbedding (x, x, x)", 30 },
  { "ref", "(float[1,1,1,200000] x) => (float[] y)", "y = Attention (x, x, x)", 115 },
  { "ref", "(float[1,1,1] q, float[1,1,200000] x) => (float[] y)",
    "y = LinearAttention <q_num_heads = 1, kv_num_heads = 1, update_rule = \"linear\"> (q, q, x)",
    25 },
  { "ref", "(float[1,1,200000] q, float[1,1,1] x) => (float[] y)",
    "y = LinearAttention <q_num_heads = 1, kv_num_heads = 1, update_rule = \"linear\"> (q, q, x)",
    30 },
  { "ref", "(float[1,1,100] x, float[1,1,100000] w) => (float[] y)",
    "y = CausalConvWithState (x, w)", 400 },
  { "ref", "(float[1,1,200000] x, float[1,1,200000] w, float[1,1,1] r) => (float[] y)",
    "y = RNN <hidden_size = 1> (x, w, r)", 16 },
  { "ref", "(float[1,1,1,200000] x) => (float[] y)",
    FLOATS ("r", "[1,5]", "0, 0, 0, 199999, 0") "y = MaxRoiPool <pooled_shape = [1, 1]> (x, r)",
    12 },
  { "ref", "(float[1,20000,1] x) => (float[] y)", "y = LRN <size = 20000> (x)", 16000 },
  { "ref", "(float[1,1,1,2] x) => (float[] y)",
    INTS ("s", "[4]", "1, 1, 1, 200000") "y = Resize <mode = \"nearest\"> (x, , , s)", 70 },
  { "ref", "(float n) => (float[] y)",
    INTS ("b", "", "100000") INTS ("d", "", "1") INTS ("r", "", "16000") FLOATS ("l", "", "0")
        FLOATS ("u", "", "8000") "y = MelWeightMatrix (b, d, r, l, u)",
    30 },
  { "ref", "(float[1,100000] x) => (float y)", "y = Einsum <equation = \"ij,ij->\"> (x, x)", 60 },
  { "cpu", "(float[1,1,3300000] x, float[3300000] w) => (float[] y)",
    "y = irscope.SkipLayerNormalization (x, x, w, w)", 10 },
  { "ref", "(float[1,1,100000] x, float[100000] w) => (float[] y)",
    "y = irscope.SkipLayerNormalization (x, x, w, w)", 90 },
  { "cpu", "(float[3300000] x) => (float[] y)", "y = SwiGLU (x, x)", 3 },
  { "ref", "(float[100000] x) => (float[] y)", "y = SwiGLU (x, x)", 25 },
  { "cpu", "(int64[3300000] x) => (int64[] y)", INTS ("w", "", "3") "y = Div (x, w)", 3 },
  /* ai.onnx.ml */
  { "ref", "(float[100000,1] x) => (float[] y)",
    "y = ai.onnx.ml.TreeEnsembleRegressor <" TREE ", n_targets = 1, target_treeids = [7, 7], "
    "target_nodeids = [10, 2], target_ids = [0, 0], target_weights = [1.0, 2.0]> (x)",
    1000 },
  { "ref", "(float[50000,2] x) => (int64[] y, float[] z)",
    "y, z = ai.onnx.ml.SVMClassifier <support_vectors = [1.0, 0.0, 0.0, 1.0], "
    "vectors_per_class = [1, 1], coefficients = [2.0, -3.0], rho = [0.5], "
    "classlabels_ints = [4, 9]> (x)",
    100 },
  { "ref", "(float[50000,2] x) => (float[] y)",
    "y = ai.onnx.ml.SVMRegressor <support_vectors = [1.0, 0.0, 0.0, 1.0], n_supports = 2, "
    "coefficients = [2.0, -3.0], rho = [0.5]> (x)",
    10 },
  { "ref", "(float[50000,2] x) => (float[] y)",
    "y = ai.onnx.ml.LinearRegressor <coefficients = [2.0, -3.0], targets = 1> (x)", 5 },
  { "ref", "(float[1,100000] x) => (float[] y)", "y = ai.onnx.ml.Normalizer <norm = \"L2\"> (x)",
    10 },
  { "ref", "(float[100000] x) => (float[] y)", "y = ai.onnx.ml.Binarizer (x)", 20 },
  { "ref", "(float[100000,1] x) => (float[] y)",
    "y = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (x)", 20 },
  { "ref", "(int64[100000] x) => (string[] y)",
    "y = ai.onnx.ml.LabelEncoder <keys_int64s = [1, 2], values_strings = [\"a\", \"b\"]> (x)", 40 },
  { "ref", "(int64[100000] x) => (float[] y)",
    "y = ai.onnx.ml.OneHotEncoder <cats_int64s = [1, 2]> (x)", 20 },
};

/* What reads or goes through long attributes. In the bodies $I stands for the numbers from 0 to
 * N_ENTRIES - 1, $N for those that follow each, $Z for as many zeros, $F for the numbers as floats,
 * $S for as many words, $L for LEAF and $B for BRANCH_LEQ, as often, $X for one word of as many
 * letters; $300I for 300 of them. */
#define N_ENTRIES 100000

static const Kind tables[] = {
  { "ref", "(int64[4] x) => (int64[] y)",
    "y = ai.onnx.ml.LabelEncoder <keys_int64s = [$I], values_int64s = [$I]> (x)", 8 },
  { "ref", "(string[4] x) => (int64[] y)",
    "y = ai.onnx.ml.CategoryMapper <cats_int64s = [$I], cats_strings = [$S]> (x)", 8 },
  { "ref", "(int64[4] x) => (float[] y)", "y = ai.onnx.ml.OneHotEncoder <cats_int64s = [$I]> (x)",
    8 },
  { "ref", "(float[1,1] x) => (float[] y)",
    "y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [$I], nodes_nodeids = [$Z], "
    "nodes_featureids = [$Z], nodes_values = [$F], nodes_modes = [$L], nodes_truenodeids = [$Z], "
    "nodes_falsenodeids = [$Z], n_targets = 1, target_treeids = [$I], target_nodeids = [$Z], "
    "target_ids = [$Z], target_weights = [$F]> (x)",
    72 },
  { "ref", "(float[1,100000] x) => (float[] y)",
    "s = ai.onnx.ml.ZipMap <classlabels_int64s = [$I]> (x) i = Constant <value_int = 0> () "
    "m = SequenceAt (s, i) y = ai.onnx.ml.DictVectorizer <int64_vocabulary = [$I]> (m)",
    75 },
  { "ref", "(float[1,100000] x) => (float[] y)",
    "s = ai.onnx.ml.ZipMap <classlabels_int64s = [$I]> (x) i = Constant <value_int = 0> () "
    "m = SequenceAt (s, i) y = ai.onnx.ml.CastMap <cast_to = \"TO_FLOAT\"> (m)",
    185 },
  { "ref", "(float[1,1] x) => (int64[] y, float[] z)",
    "y, z = ai.onnx.ml.SVMClassifier <support_vectors = [1.0], vectors_per_class = [1, $299Z], "
    "coefficients = [$299F], rho = [$44850F], prob_a = [$44850F], prob_b = [$44850F], "
    "classlabels_ints = [$300I]> (x)",
    20 },
  { "ref", "(float[16,1] x) => (float[] y)",
    "y = ai.onnx.ml.SVMRegressor <support_vectors = [$F], n_supports = 100000, "
    "coefficients = [$F], rho = [0.5]> (x)",
    250 },
  { "ref", "(float[16,1] x) => (float[] y)",
    "y = ai.onnx.ml.LinearRegressor <coefficients = [$F], targets = 100000, "
    "post_transform = \"SOFTMAX\"> (x)",
    300 },
  { "ref", "(float[16,1] x) => (int64[] y, float[] z)",
    "y, z = ai.onnx.ml.LinearClassifier <coefficients = [$F], classlabels_ints = [$I], "
    "post_transform = \"LOGISTIC\"> (x)",
    250 },
  { "ref", "(float[64,1] x) => (float[] y)",
    "y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [$Z, 0], nodes_nodeids = [$I, 100000], "
    "nodes_featureids = [$Z, 0], nodes_values = [$F, 0.0], nodes_modes = [$B, \"LEAF\"], "
    "nodes_truenodeids = [$N, 0], nodes_falsenodeids = [$N, 0], n_targets = 1, "
    "target_treeids = [0], target_nodeids = [100000], target_ids = [0], target_weights = [1.0]> (x)",
    350 },
  { "ref", "(float[64,1] x) => (float[] y)",
    "y = ai.onnx.ml.TreeEnsemble <nodes_featureids = [0], nodes_splits = float[1] {0.0}, "
    "nodes_modes = uint8[1] {6}, nodes_truenodeids = [0], nodes_falsenodeids = [1], "
    "nodes_trueleafs = [1], nodes_falseleafs = [1], leaf_targetids = [0, 0], "
    "leaf_weights = float[2] {1.0, 2.0}, tree_roots = [0], n_targets = 1, "
    "membership_values = float[100001] {$F, nan}> (x)",
    300 },
};

/* Few strings of many bytes. */
static const Kind long_strings[] = {
  { "ref", "(string[1] x) => (string[] y)", "y = StringConcat (x, x)", 6, 16 << 20, 'a' },
  { "ref", "(string[64] x) => (string[] y)", "y = StringConcat (x, x)", 30, 1 << 18, 'a' },
  { "ref", "(string[1] x) => (string[] y)", "y = StringSplit (x)", 60, 1 << 20, ' ' },
  { "ref", "(string[1] x) => (string[] y)",
    "z = Constant <value_string = \"$12000000X\"> () y = Identity (z)", 3, 1, 'a' },
  { "ref", "(string[1] x, string[1] z) => (bool[] y)", "y = Equal (x, z)", 16, 16 << 20, 'a' },
  { "ref", "(string[64] x, string[64] z) => (bool[] y)", "y = Equal (x, z)", 16, 1 << 18, 'a' },
  { "ref", "(string[2] x) => (string[] y)", "y = Unique (x)", 30, 16 << 20, 'a' },
  { "ref", "(string[32] x) => (string[] y)",
    "y = StringNormalizer <case_change_action = \"UPPER\"> (x)", 16, 1 << 17, 'a' },
  { "ref", "(string[64] x) => (float[] y)", "y = Cast <to = 1> (x)", 32, 1 << 17, '0' },
};

/* One call of a library, which takes longer than three looks: it is left at the third. */
static const Kind left[] = {
  { "ref", "(string[1] x) => (bool[] y)", "y = RegexFullMatch <pattern = \"(?:(?=.*+)a)*+\"> (x)",
    3, 60000, 'a' },
  { "ref", "(string[1] x) => (string[] y)",
    "y = StringNormalizer <case_change_action = \"UPPER\"> (x)", 3, 16 << 20, 'a' },
  { "ref", "(string[1,1] x) => (string[] y)", "y = StringNormalizer <stopwords = [\"w\"]> (x)", 3,
    16 << 20, 'A' },
  { "ref", "(string[1] x) => (float[] y)", "y = Cast <to = 1> (x)", 3, 60 << 20, '0' },
  { "ref", "(string[1,1] x) => (int64[] y)", "y = Cast <to = 7> (x)", 3, 60 << 20, '0' },
};

static void
append_entries (GString *text, char kind, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_string_append (text, i > 0 && kind != 'X' ? ", " : "");
      if (kind == 'X')
        g_string_append_c (text, 'x');
      else if (kind == 'S')
        g_string_append_printf (text, "\"w%u\"", i);
      else if (kind == 'L' || kind == 'B')
        g_string_append (text, kind == 'L' ? "\"LEAF\"" : "\"BRANCH_LEQ\"");
      else
        g_string_append_printf (text, kind == 'F' ? "%u.5" : "%u",
                                kind == 'Z'   ? 0
                                : kind == 'N' ? i + 1
                                              : i);
    }
}

static char *
with_entries (const char *body)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (const char *at = body; *at != '\0'; at++)
    if (*at != '$')
      g_string_append_c (text, *at);
    else
      {
        char *end;
        guint64 n = g_ascii_strtoull (at + 1, &end, 10);

        append_entries (text, *end, n > 0 ? (guint) n : N_ENTRIES);
        at = end;
      }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* -- inputs: what repeats, but is in no order -- */

static GBytes *
word_of (const Kind *kind, guint64 i)
{
  char *word = kind->n_bytes > 0 ? g_malloc (kind->n_bytes)
                                 : g_strdup_printf ("a-b%u", (guint) (i * 7919 % 100));

  if (kind->n_bytes > 0)
    memset (word, kind->letter, kind->n_bytes);
  return g_bytes_new_take (word, kind->n_bytes > 0 ? kind->n_bytes : strlen (word));
}

static IrTensor *
strings_like (const Kind *kind, const IrType *type)
{
  guint64 n = ir_type_count (type);
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);

  for (guint64 i = 0; i < n; i++)
    g_ptr_array_add (words, word_of (kind, i));
  return ir_tensor_new_strings ((guint) type->rank, type->dims,
                                (GBytes **) (gpointer) words->pdata);
}

static IrTensor *
tensor_like (const Kind *kind, const IrType *type)
{
  g_autoptr (GError) error = NULL;

  if (type->dtype == IR_DTYPE_STRING)
    return strings_like (kind, type);
  IrTensor *tensor = ir_tensor_new_alloc (type->dtype, (guint) type->rank, type->dims, &error);
  g_assert_no_error (error);
  guint64 n = ir_tensor_n_elements (tensor);
  gboolean is_float = ir_dtype_is_float (type->dtype);
  for (guint64 i = 0; i < n; i++)
    ir_dtype_set_double (type->dtype, ir_tensor_data_writable (tensor), i,
                         n <= 1     ? 3300000
                         : is_float ? (double) (i * 7919 % 1009) / 1009
                                    : (double) (i * 7919 % 90));
  return tensor;
}

static GHashTable *
inputs_of (const Kind *kind, IrModel *model)
{
  GHashTable *inputs = inputs_new ();

  for (guint i = 0; i < model->main->inputs->n; i++)
    {
      const IrValue *value = ir_model_value (model, model->main->inputs->ids[i]);
      inputs_add (inputs, value, tensor_like (kind, value->type));
    }
  return inputs;
}

/* -- looks -- */

static void
test_stops_inside (gconstpointer data)
{
  const Kind *kind = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autofree char *body = with_entries (kind->body);
  g_autoptr (IrModel)
      model = read_graph (kind->opset > 0 ? kind->opset : 23, kind->signature, body);
  g_autoptr (GHashTable) inputs = inputs_of (kind, model);
  Ear ear = { .cancellable = cancellable };
  IrRunOptions options = { .backend = ir_backend_find (kind->backend),
                           .n_threads = 1,
                           .seed = 5,
                           .looked = ear_heard,
                           .looked_data = &ear };
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &options, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) whole = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  int n_looks = g_atomic_int_get (&ear.n_looks);

  /* In the middle, and early. */
  for (int part = 2; part <= 10; part += 8)
    {
      ear = (Ear){ .stop_at = MAX (n_looks / part, 1), .cancellable = cancellable };
      g_cancellable_reset (cancellable);
      g_assert_null (ir_executable_run (executable, inputs, cancellable, NULL, &error));
      g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
      g_clear_error (&error);
      int after = g_atomic_int_get (&ear.n_looks) - ear.stop_at;
      g_test_message ("%d looks, %d after being cancelled at %d", n_looks, after, ear.stop_at);
      g_assert_cmpint (after, <=, 16);
    }
  g_assert_cmpint (n_looks, >=, kind->looks);
  ear = (Ear){ 0 };
  g_autoptr (IrRun) again = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  const IrValue *y = ir_graph_find_value (whole->model->main, "y");
  g_assert_true (ir_tensor_equal (ir_run_value (whole, y->id), ir_run_value (again, y->id)));
}

static void
test_leaves (gconstpointer data)
{
  const Kind *kind = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (IrModel) model = read_graph (23, kind->signature, kind->body);
  g_autoptr (GHashTable) inputs = inputs_of (kind, model);
  Ear ear = { .stop_at = kind->looks, .cancellable = cancellable };
  IrRunOptions options = { .backend = ir_backend_find (kind->backend),
                           .n_threads = 1,
                           .looked = ear_heard,
                           .looked_data = &ear };

  g_assert_null (ir_model_run (model, inputs, &options, cancellable, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_assert_cmpint (ear.n_looks - ear.stop_at, <=, 4);
}

static void
add_kind (const Kind *kind, const char *what, GTestDataFunc test)
{
  const char *body = strstr (kind->body, "y = ");
  const char *start = body != NULL ? body : strstr (kind->body, " = ");
  g_autofree char *op = g_strndup (start + (body != NULL ? 4 : 3),
                                   strcspn (start + (body != NULL ? 4 : 3), " "));
  g_autofree char *inputs = g_strndup (kind->signature, strcspn (kind->signature, ")") + 1);
  g_autofree char *path = g_strdup_printf ("/interrupts/%s %s of %s stops %s", kind->backend, op,
                                           inputs, what);

  g_test_add_data_func (path, kind, test);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    add_kind (&kinds[i], "in the middle", test_stops_inside);
  for (guint i = 0; i < G_N_ELEMENTS (tables); i++)
    add_kind (&tables[i], "while it reads its attributes", test_stops_inside);
  for (guint i = 0; i < G_N_ELEMENTS (long_strings); i++)
    add_kind (&long_strings[i], "inside long strings", test_stops_inside);
  for (guint i = 0; i < G_N_ELEMENTS (left); i++)
    add_kind (&left[i], "while a library works on it", test_leaves);
  return g_test_run ();
}
