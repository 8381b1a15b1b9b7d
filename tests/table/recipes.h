/* Recipes: inputs that fit, for operators that random ones hardly ever suit. The random calls of
 * test-rows.c and the fuzzer of operators (tests/fuzz/fuzz-ops.c) start from them.
 *
 * Inputs are written as type letter, dims, and "<n" for whole numbers below n: f2x3, i4<3; "-" is an
 * absent one. Letters: f float, d double, h float16, g bfloat16, i int64, j int32, u uint8, b bool, s string, m a map;
 * qf2x3 is a sequence of f2x3, of2x3 an optional one. Attributes are
 * written name=value, values of lists separated by commas. Random attributes are still added to those
 * that are not required. */
#pragma once

#include "core/op/op.h"

typedef struct
{
  const char *op, *inputs, *attrs;
} Recipe;

/* clang-format off */
static const Recipe recipes[] = {
  { "NegativeLogLikelihoodLoss", "f2x3x4 i2x4<3 f3", "" },
  { "SoftmaxCrossEntropyLoss", "f2x3x4 i2x4<3 f3", "" },
  { "Resize", "f2x3x4 - - i3<5", "" },
  { "Resize", "f2x3x4 - - i3<5", "mode=linear" },
  { "Resize", "f2x3x8 - - i2<5", "axes=1,2 keep_aspect_ratio_policy=not_smaller" },
  { "Resize", "f2x3x4 f6<2 f3<3", "mode=cubic coordinate_transformation_mode=tf_crop_and_resize" },
  { "HannWindow", "i<9", "" },
  { "HammingWindow", "i<9", "periodic=0" },
  { "BlackmanWindow", "i<9", "" },
  { "Det", "f2x3x3", "" },
  { "QuantizeLinear", "f2x3x4 f3 u3", "" },
  { "QuantizeLinear", "f2x3x4 f2x2x4 u2x2x4", "block_size=2" },
  { "DequantizeLinear", "u2x3x4 f3 u3", "" },
  { "DynamicQuantizeLinear", "f3x4", "" },
  { "MatMulInteger", "u2x3x4 u4x5 u3 u5", "" },
  { "QLinearMatMul", "u2x3x4 f u u4x5 f u f u", "" },
  { "Upsample", "f2x3x4 f3<3", "" },
  { "NonMaxSuppression", "f2x6x4 f2x3x6 i1<4 f1 f1", "" },
  { "GridSample", "f2x3x4x5 f2x3x2x2", "mode=cubic padding_mode=reflection" },
  { "GridSample", "f2x3x4 f2x3x1", "mode=linear padding_mode=border" },
  { "GridSample", "f2x3x4x2x3 f2x3x2x2x3", "mode=nearest" },
  { "RoiAlign", "f2x3x6x6 f4x4 i4<2", "output_height=3 output_width=2 sampling_ratio=2" },
  { "RoiAlign", "f2x3x6x6 f4x4<9 i4<2", "mode=max" },
  { "StringNormalizer", "s1x3", "stopwords=a,12.5" },
  { "StringNormalizer", "s3", "stopwords=a,b case_change_action=UPPER" },
  { "TfIdfVectorizer", "i2x6<4",
    "mode=TFIDF max_gram_length=2 min_gram_length=1 max_skip_count=2 ngram_counts=0,2 "
    "ngram_indexes=0,2,1 pool_int64s=1,2,2,3 weights=1,2,3" },
  { "TfIdfVectorizer", "s4",
    "mode=TF max_gram_length=1 min_gram_length=1 max_skip_count=0 ngram_counts=0 ngram_indexes=3 "
    "pool_strings=12.5" },

  { "Conv", "f2x3x6x5 f4x3x3x3 f4", "pads=1,1,1,1" },
  { "Conv", "f2x4x6 f4x2x3", "group=2 strides=2" },
  { "ConvGradWeight", "f2x3x6x5 f2x4x4x3", "kernel_shape=3,3" },
  { "ConvGradWeight", "f2x4x6 f2x6x2", "kernel_shape=3 group=2 strides=2" },
  { "BatchNormalizationGrad", "f2x3x4 f2x3x4 f3", "" },
  { "LayerNormalizationGrad", "f2x3x4 f2x3x4 f3x4", "axis=1" },
  { "RMSNormalizationGrad", "f2x3x4 f2x3x4 f3x4", "axis=1" },
  { "GroupNormalizationGrad", "f2x6x4 f2x6x4 f6", "num_groups=3" },
  { "SoftmaxGrad", "f2x3x4 f2x3x4", "axis=1" },
  { "ReluGrad", "f2x3x4 f2x3x4", "" },
  { "GeluGrad", "f2x3x4 f2x3x4", "" },
  { "GeluTanhGrad", "f2x3x4 f2x3x4", "" },
  { "ConvTranspose", "f2x3x4x5 f3x2x3x3 f2", "strides=2,1" },
  { "MaxPool", "f2x3x6x5", "kernel_shape=2,3 pads=1,1,0,1" },
  { "AveragePool", "f2x3x6x5", "kernel_shape=2,3 strides=2,2" },
  { "LpPool", "f2x3x6x5", "kernel_shape=2,3" },
  { "Gemm", "f3x4 f4x5 f5", "" },
  { "Gemm", "f4x3 f5x4 f", "transA=1 transB=1" },
  { "MatMul", "f2x3x4 f4x5", "" },
  { "MatMul", "f2x1x3x4 f5x4x6", "" },
  { "MatMul", "j3x4 j4", "" },
  { "BatchNormalization", "f2x3x4 f3 f3 f3 f3<5", "" },
  { "InstanceNormalization", "f2x3x4 f3 f3", "" },
  { "LayerNormalization", "f2x3x4 f4 f4", "" },
  { "GroupNormalization", "f2x4x3 f4 f4", "num_groups=2" },
  { "RMSNormalization", "f2x3x4 f4", "" },
  { "Attention", "f1x2x3x4 f1x2x5x4 f1x2x5x3", "" },
  { "Attention", "f2x3x8 f2x5x4 f2x5x6 b3x4", "q_num_heads=4 kv_num_heads=2" },
  { "Attention", "f1x2x3x4 f1x2x5x4 f1x2x5x3 f1x1x3x7 f1x2x2x4 f1x2x2x3", "is_causal=1" },
  { "Attention", "f2x2x3x4 f2x1x5x4 f2x1x5x3 - - - i2<6", "left_window_size=2" },
  { "LinearAttention", "f1x3x4 f1x3x2 f1x3x3 - f1x3x2 f1x3x1", "q_num_heads=2 kv_num_heads=1" },
  { "LinearAttention", "f2x3x4 f2x3x4 f2x3x6 f2x2x2x3",
    "q_num_heads=2 kv_num_heads=2 update_rule=linear" },
  { "CausalConvWithState", "f2x3x5 f3x1x3 f3 f2x3x2", "activation=silu" },
  { "RotaryEmbedding", "f1x2x3x4 f5x2 f5x2 i1x3<5", "" },
  { "RotaryEmbedding", "f2x3x8 f2x3x1 f2x3x1", "num_heads=2 rotary_embedding_dim=2" },
  { "GroupedAttention", "f1x4x3x4 f1x2x5x4 f1x2x5x3", "scale=0.5" },
  { "MaskedGroupedAttention", "f1x4x3x4 f1x2x5x4 f1x2x5x3 f3x5", "scale=0.5" },
  { "SelectedGroupedAttention", "f1x4x3x4 f1x2x5x4 f1x2x5x3 b3x5", "scale=0.5 fill=-9.0" },
  { "MaskedAttention", "f1x2x3x4 f1x2x5x4 f1x2x5x3 f3x5", "scale=0.5" },
  { "SelectedAttention", "f1x2x3x4 f1x2x5x4 f1x2x5x3 b2x1x5", "scale=0.5 fill=-3" },
  { "Attention", "f2x3x4 f4x12 f12 j2x3<2", "num_heads=2" },
  { "DecoderMaskedMultiHeadAttention", "f2x1x8 f2x1x8 f2x1x8 - - f2x2x5x4 f2x2x5x4 j1<5", "num_heads=2 past_present_share_buffer=1" },
  { "RotaryEmbedding", "f2x3x8 i1<4 f8x4 f8x4", "" },
  { "MRotaryEmbedding", "f2x3x8 i3x2x3<5 f5x2 f5x2", "mrope_section=1,1,0 num_heads=2" },
  { "LinearAttentionGate", "f2x3x4 f4 f4 f2x3x4", "" },
  { "EngramGate", "f2x3x2x4 f2x3x2x4 f2x3x4 f2x4 f2x4", "" },
  { "SparseAttention", "f1x1x8 f1x1x4 f1x1x4 f1x1x4x4 f1x1x4x4 j1x3<2 j1x3<2 j<5 j1<5",
    "num_heads=2 kv_num_heads=1 sparse_block_size=2" },
  { "GroupQueryAttention", "f1x1x8 f1x1x4 f1x1x4 f1x1x4x4 f1x1x4x4 j1<4 j<5", "num_heads=2 kv_num_heads=1" },
  { "GroupQueryAttention", "f2x3x16 - - - - j2<3 j<6", "num_heads=2 kv_num_heads=1 local_window_size=2" },
  { "MatMulNBits", "f2x3x20 u3x2x8 f3x2", "K=20 N=3 block_size=16 bits=4" },
  { "MatMulNBits", "f7x20 u3x2x16 f3x2 u6 - f3", "K=20 N=3 block_size=16 bits=8" },
  { "MatMulFpQ4", "f3x32 u63 i2<40", "blk_quant_type=1" },
  { "QMoE", "f2x16 f2x2 u2x4x8 f2x4 - u2x16x2 f2x16", "k=1" },
  { "WordConvEmbedding", "j3x4<4 f2x1x2x3 f2 f4x3", "" },
  { "NGramHashMapping", "i2x3 i2 i1<9", "max_ngram_size=2 n_head_per_ngram=1 pad_id=0" },
  { "Tokenizer", "s3", "mark=1 mincharnum=1 pad_value=x separators=a" },
  { "Tokenizer", "s2x2", "mark=0 mincharnum=1 pad_value=x tokenexp=." },
  { "AttnLSTM", "f2x3x2 f1x8x5 f1x8x2 - - - - - f1x2x4 f1x3x4 f1x4 f3x2x3", "hidden_size=2" },
  { "ImageScaler", "f2x3x2x2", "bias=1,2,3" },
  { "Crop", "f1x2x4x5", "border=1,0,1,1" },
  { "DynamicSlice", "f4x5 i2<2 i2<6 i2<2", "" },
  { "SkipSimplifiedLayerNormalization", "f2x3x4 f2x3x4 f4", "" },
  { "ConvTransposeWithDynamicPads", "f1x3x4x4 f3x2x3x3 i4<2 f2", "" },
  { "CDist", "f3x4 f5x4", "" },
  { "MultiHeadAttention", "f2x3x8 f2x5x8 f2x5x6", "scale=0.5 q_num_heads=2 kv_num_heads=2" },
  { "MaskedMultiHeadAttention", "f2x3x8 f2x5x8 f2x5x6 f2x1x1x5", "scale=0.5 q_num_heads=2 kv_num_heads=2" },
  { "SafeMaskedMultiHeadAttention", "f2x3x8 f2x5x8 f2x5x6 f2x1x1x5", "scale=0.5 q_num_heads=2 kv_num_heads=2" },
  { "SelectedMultiHeadAttention", "f2x3x8 f2x5x8 f2x5x6 b3x5", "scale=0.5 fill=-3 q_num_heads=2 kv_num_heads=2" },
  { "PackedAttention", "f2x3x12", "scale=0.5 num_heads=2" },
  { "MaskedPackedAttention", "f2x3x12 f2x1x3", "scale=0.5 num_heads=2" },
  { "SafeMaskedPackedAttention", "f2x3x12 f2x1x3", "scale=0.5 num_heads=2" },
  { "SelectedPackedAttention", "f2x3x12 b3x3", "scale=0.5 fill=-3 num_heads=2" },
  { "PairRotaryEmbedding", "f2x3x4 f3x4 f2x1x4", "" },
  { "MultiHeadRotaryEmbedding", "f2x3x8 f3x4 f2x1x3x4", "num_heads=2" },
  { "EmbedLayerNormalization", "f5x4 i2x3<5 f2x4 i2x3<2 f3x4 i1x3<3 f4 f4", "" },
  { "TensorScatter", "f2x3x4 f2x2x4 i2<2", "" },
  { "TensorScatter", "s2x3x4 s2x2x4 i2", "mode=circular" },
  { "SwiGLU", "f2x3 f2x3", "" },
  { "Gather", "f3x4x2 i2x3<3", "" },
  { "Gather", "s3x4 i2<4", "axis=1" },
  { "GatherElements", "f3x4 i2x4<3", "" },
  { "GatherND", "f3x4x2 i2x2<3", "" },
  { "ScatterElements", "f3x4 i2x4<3 f2x4", "" },
  { "ScatterND", "f4x3 i2x1<4 f2x3", "" },
  { "Slice", "f4x5 i2<2 i2<6 i2<2", "" },
  { "Slice", "f4x5 i1<4 i1<4 i1<2 i1<3", "" },
  { "Concat", "f2x3 f4x3 f1x3", "axis=0" },
  { "Split", "f4x6", "axis=1 num_outputs=3" },
  { "Pad", "f3x4 i4<3 f", "mode=constant" },
  { "Pad", "f3x4 i4<3", "mode=reflect" },
  { "Expand", "f3x1 i2<5", "" },
  { "Tile", "f3x2 i2<4", "" },
  { "TopK", "f3x5 i1<6", "" },
  { "OneHot", "i3x2<4 i<6 f2", "" },
  { "CumSum", "f3x4 j<2", "" },
  { "Where", "b3x4 f3x1 f4", "" },
  { "Clip", "f3x4 f f", "" },
  { "Einsum", "f3x4 f4x5", "equation=ij,jk->ik" },
  { "Einsum", "f2x3x3", "equation=...ii->...i" },
  { "Einsum", "j3x4 j4x2 j2", "equation=ab,bc,c" },
  { "Einsum", "f2x3x1x4 f5x4", "equation=b...k,nk" },
  { "RNN", "f5x2x3 f1x4x3 f1x4x4 f1x8 j2<6 f1x2x4", "" },
  { "RNN", "f5x2x3 f2x4x3 f2x4x4", "direction=bidirectional activations=LeakyRelu,Affine" },
  { "RNN", "f3x2x3 f1x4x3 f1x4x4 f1x8 - f1x2x4", "" },
  { "GRU", "f3x2x3 f1x6x3 f1x6x2 f1x12 j2<4 f1x2x2", "linear_before_reset=1" },
  { "GRU", "f2x3x3 f1x6x3 f1x6x2", "layout=1 direction=reverse" },
  { "LSTM", "f3x2x3 f2x8x3 f2x8x2 f2x16 j2<4 f2x2x2 f2x2x2 f2x6", "direction=bidirectional clip=1.5" },
  { "LSTM", "f3x2x3 f2x8x3 f2x8x2 f2x16 - f2x2x2 f2x2x2", "direction=bidirectional" },
  { "LSTM", "d2x3x3 d1x8x3 d1x8x2", "layout=1 direction=reverse" },
  { "DFT", "f2x6x1 i<9 i<2", "" },
  { "DFT", "f2x6x2", "inverse=1 onesided=1" },
  { "DFT", "d3x7x2 - i<2", "" },
  { "STFT", "f2x12x1 i<5 f4", "" },
  { "STFT", "f2x12 i<5 f4", "" },
  { "STFT", "f2x12x2 i<5 - i<9", "onesided=0" },
  { "MelWeightMatrix", "i<6 i<20 i<9 f<3 f<9", "" },
  { "CumProd", "f3x4 j<2", "" },
  { "Col2Im", "f1x4x2 i1<6 i1<5", "" },
  { "AffineGrid", "f1x2x3 i4<2", "" },
  { "CenterCropPad", "f3x4x2 i3<6", "" },
  { "CenterCropPad", "s3x4 i1<7", "axes=1" },
  { "MaxUnpool", "f1x2x2x2 i1x2x2x2<32", "kernel_shape=2,2 strides=2,2" },
  { "MaxUnpool", "f1x2x3 i1x2x3<12 i3<9", "kernel_shape=2 strides=2" },
  { "MaxRoiPool", "f2x3x6x6 f4x5<2", "pooled_shape=2,3" },
  { "DeformConv", "f2x4x5x5 f2x2x2x2 f2x16x4x4 f2 f2x8x4x4", "group=2 offset_group=2" },
  { "Trilu", "f4x5 i<3", "" },
  { "EyeLike", "f4x5", "k=1" },
  { "Range", "i<3 i<9 i<4", "" },
  { "SpaceToDepth", "f2x3x4x6", "blocksize=2" },
  { "DepthToSpace", "f2x8x3x2", "blocksize=2" },
  { "ReverseSequence", "f4x3 i3<5", "" },
  { "Compress", "f4x3 b4", "axis=0" },
  { "BitShift", "u3x4 u4", "direction=LEFT" },
  { "Transpose", "f2x3x4", "perm=2,0,1" },
  { "ArrayFeatureExtractor", "f3x4 i2<4", "" },
  { "ArrayFeatureExtractor", "s4 i1x3<4", "" },
  { "Binarizer", "f3x4", "threshold=1" },
  { "CastMap", "m3", "map_form=SPARSE max_map=4" },
  { "CastMap", "m4", "cast_to=TO_STRING" },
  { "CategoryMapper", "i2x3<4", "cats_int64s=0,1,2 cats_strings=a,b,c" },
  { "CategoryMapper", "s3", "cats_int64s=0,1 cats_strings=a,12.5" },
  { "DictVectorizer", "m4", "int64_vocabulary=1,0,7" },
  { "FeatureVectorizer", "f3x4 i3x2 d3x1", "inputdimensions=2,4,1" },
  { "Imputer", "f3x4", "imputed_value_floats=1,2,3,4" },
  { "Imputer", "i3x4<3", "imputed_value_int64s=7" },
  { "ImageDecoder", "u32", "" },
  { "LabelEncoder", "s2x3", "keys_strings=a,12.5 values_floats=1,2" },
  { "LabelEncoder", "i4<3", "keys_int64s=0,1 values_strings=a,b" },
  { "LinearClassifier", "f4x3",
    "coefficients=1,2,3,4,5,6,7,8,9 intercepts=1,2,3 classlabels_ints=5,6,7" },
  { "LinearClassifier", "d4x2",
    "coefficients=1,2 intercepts=1 classlabels_strings=a,b post_transform=LOGISTIC" },
  { "LinearRegressor", "f4x3", "coefficients=1,2,3,4,5,6 intercepts=1,2 targets=2" },
  { "Normalizer", "f3x4", "norm=L2" },
  { "OneHotEncoder", "i3x2<5", "cats_int64s=0,1,2" },
  { "OneHotEncoder", "s3", "cats_strings=a,12.5 zeros=0" },
  { "Scaler", "i3x2", "offset=1,2 scale=3" },
  { "SVMClassifier", "f4x2",
    "coefficients=1,-1,0.5,2,1,-2 rho=0,1,2 support_vectors=1,2,3,4,5,6 "
    "vectors_per_class=1,1,1 classlabels_ints=0,1,2 kernel_type=RBF kernel_params=0.5,0,0" },
  { "SVMClassifier", "f4x2",
    "coefficients=1,-1 rho=0.5 prob_a=-2 prob_b=0.1 support_vectors=1,2,3,4 "
    "vectors_per_class=1,1 classlabels_strings=a,b" },
  { "SVMClassifier", "f4x2",
    "coefficients=1,-1,0.5,2,1,-2 rho=0,1,2 prob_a=-2,-1,-0.5 prob_b=0.1,0,0.2 support_vectors=1,2,3,4,5,6 "
    "vectors_per_class=1,1,1 classlabels_ints=0,1,2" },
  { "SVMClassifier", "f4x2", "coefficients=1,-1,2,3 rho=0.5 classlabels_strings=a,b" },
  { "SVMRegressor", "f4x2",
    "coefficients=1,-1 rho=0.5 support_vectors=1,2,3,4 n_supports=2 kernel_type=POLY "
    "kernel_params=1,0.5,2" },
  { "TreeEnsembleClassifier", "f4x2",
    "nodes_treeids=0,0,0 nodes_nodeids=0,1,2 nodes_featureids=1,0,0 "
    "nodes_modes=BRANCH_LEQ,LEAF,LEAF nodes_values=0.5,0,0 nodes_truenodeids=1,0,0 "
    "nodes_falsenodeids=2,0,0 class_treeids=0,0,0 class_nodeids=1,1,2 class_ids=0,1,2 "
    "class_weights=0.5,0.5,1 classlabels_strings=a,b,c post_transform=SOFTMAX" },
  { "TreeEnsembleClassifier", "i4x2",
    "nodes_treeids=0,0,0 nodes_nodeids=0,1,2 nodes_featureids=1,0,0 "
    "nodes_modes=BRANCH_LEQ,LEAF,LEAF nodes_values=0.5,0,0 nodes_truenodeids=1,0,0 "
    "nodes_falsenodeids=2,0,0 class_treeids=0,0 class_nodeids=1,2 class_ids=0,0 "
    "class_weights=0.5,1 classlabels_int64s=3,4" },
  { "TreeEnsembleRegressor", "f4x2",
    "nodes_treeids=0,0,0 nodes_nodeids=0,1,2 nodes_featureids=1,0,0 "
    "nodes_modes=BRANCH_LEQ,LEAF,LEAF nodes_values=0.5,0,0 nodes_truenodeids=1,0,0 "
    "nodes_falsenodeids=2,0,0 target_treeids=0,0 target_nodeids=1,2 target_ids=0,1 "
    "target_weights=0.5,1 n_targets=2 aggregate_function=MIN" },
  { "TreeEnsemble", "f4x2",
    "n_targets=2 tree_roots=0,1 nodes_featureids=0,1 nodes_modes=0,6 nodes_splits=0.5,0 "
    "nodes_truenodeids=0,1 nodes_trueleafs=1,1 nodes_falsenodeids=1,2 nodes_falseleafs=0,1 "
    "leaf_targetids=0,1,1 leaf_weights=1,2,3 membership_values=1,2,3" },
  { "ZipMap", "f3x2", "classlabels_strings=a,b" },
  { "ZipMap", "f3", "classlabels_int64s=5,6,7" },
  { "Attention", "f2x3x4x5 f2x3x6x5 f2x3x6x7", "" },
  { "Attention", "f2x4x12 f2x6x12 f2x6x12", "q_num_heads=3 kv_num_heads=3 is_causal=1" },
  { "Attention", "f1x2x3x4 f1x2x5x4 f1x2x5x4 f3x5", "softcap=2" },
  { "LinearAttention", "f2x4x6 f2x4x6 f2x4x6", "q_num_heads=2 kv_num_heads=2" },
  { "CausalConvWithState", "f2x3x5 f3x1x4 f3 f2x3x3", "" },
  { "RotaryEmbedding", "f2x3x4x6 f8x3 f8x3 i2x4<8", "" },
  { "RotaryEmbedding", "f2x4x12 f2x4x2 f2x4x2", "num_heads=3" },
  { "TensorScatter", "f2x3x6x4 f2x3x2x4 i2<4", "" },
  { "SequenceAt", "qf2x3 i<3", "" },
  { "SequenceInsert", "qf2x3 f2x3 i<3", "" },
  { "SequenceErase", "qf2x3 i<3", "" },
  { "SequenceLength", "qs3", "" },
  { "ConcatFromSequence", "qf2x3", "axis=1" },
  { "ConcatFromSequence", "qi2x3", "axis=0 new_axis=1" },
  { "Stack", "qf2x3", "axis=1 direction=1" },
  { "SplitToSequence", "f4x6 i<4", "axis=1" },
  { "Optional", "f2x3", "" },
  { "OptionalHasElement", "of2x3", "" },
  { "OptionalGetElement", "oqf2", "" },
  { "Identity", "qf2x3", "" },
  { "QLinearConv", "u1x3x5x5 f u u4x3x3x3 f u f u j4", "pads=1,1,1,1" },
  { "QLinearConv", "u1x3x5 f u u4x3x2 f4 u4 f u", "strides=2" },
  { "ConvInteger", "u1x3x5x5 u4x3x3x3 u u", "" },
  { "Adam", "f i<9 f3 f3 f3 f3", "alpha=0.9 beta=0.99" },
  { "Adagrad", "f i<9 f3 f3 f3", "decay_factor=0.1" },
  { "Momentum", "f i<9 f3 f3 f3", "alpha=0.9 beta=1 mode=nesterov norm_coefficient=0.01" },
  { "ConvClip", "f2x3x6x5 f4x3x3x3 f4 f f", "pads=1,1,1,1" },
  { "ConvAdd", "f2x3x4x5 f4x3x3x3 f4 f2x4x4x5", "pads=1,1,1,1" },
  { "ConvAddRelu", "f2x3x4x5 f4x3x3x3 f4 f2x4x4x5", "pads=1,1,1,1" },
  { "ConvAddClip", "f2x3x4x5 f4x3x3x3 f4 f2x4x4x5 f f", "pads=1,1,1,1" },
  { "ConvAddLeakyRelu", "f2x3x4x5 f4x3x3x3 f4 f2x4x4x5", "pads=1,1,1,1" },
  { "ConvAddSigmoid", "f2x3x4x5 f4x3x3x3 f4 f2x4x4x5", "pads=1,1,1,1" },
  { "ConvAddTanh", "f2x3x4x5 f4x3x3x3 f4 f2x4x4x5", "pads=1,1,1,1" },
  { "ConvAddHardSwish", "f2x3x4x5 f4x3x3x3 f4 f2x4x4x5", "pads=1,1,1,1" },
  { "ConvAddSilu", "f2x3x4x5 f4x3x3x3 f4 f2x4x4x5", "pads=1,1,1,1" },
  { "ConvRelu", "f2x4x6x5 f4x2x3x3 f4", "group=2 dilations=1,2" },
  { "GemmClip", "f3x4 f4x5 f5 f f", "" },
  { "MatMulAddRelu", "f2x3x4 f4x5 f5", "" },
  { "QLinearAdd", "u2x3 f u u2x3 f u f u", "" },
  { "QLinearMul", "u2x3 f u u2x3 f u f u", "" },
  { "QLinearWhere", "b2x3 u2x3 f u u2x3 f u f u", "" },
  { "QLinearLeakyRelu", "u2x3 f u f u", "" },
  { "QLinearSigmoid", "u2x3 f u f u", "" },
  { "QLinearSoftmax", "u2x3 f u f u", "opset=13" },
  { "QLinearGlobalAveragePool", "u1x3x5x5 f u f u", "" },
  { "MatMulIntegerToFloat", "u2x3 u3x4 f f u u f4", "" },
  { "DynamicQuantizeMatMul", "f2x3 u3x4 f u f4", "" },
  { "QLinearConcat", "f u u2x3 f u u2x4 f u", "axis=1" },
  { "QLinearAveragePool", "u1x3x5x5 f u f u", "kernel_shape=2,2" },
  { "NhwcMaxPool", "u1x5x5x3", "kernel_shape=2,2" },
  { "QGemm", "u2x3 f u u3x4 f u j4 f u", "" },
  { "QAttention", "u2x3x4 u4x12 f12 f f - u u", "num_heads=2" },
  { "QEmbedLayerNormalization", "j2x3<5 j2x3<2 u5x4 u6x4 u2x4 u4 u4 - f f f f f u u u u u", "" },
  { "MatMulNBits", "f2x32 u3x1x16 f3x1", "K=32 N=3 block_size=32" },
  { "MatMulNBits", "f2x40 u3x2x16 f3x2 u3x1", "K=40 N=3 block_size=32" },
  { "MatMulBnb4", "f2x16 u24 f3", "K=16 N=3 block_size=16 quant_type=1" },
  { "GatherBlockQuantized", "u4x16 i2<4 f4x1", "block_size=32" },
  { "MultiHeadAttention", "f2x3x8 f2x5x8 f2x5x8 f24 j2x5<2", "num_heads=2" },
  { "GroupQueryAttention", "f2x1x16 f2x1x8 f2x1x8 f2x1x6x8 f2x1x6x8 j2<6 j<7", "num_heads=2 kv_num_heads=1" },
  { "EmbedLayerNormalization", "j2x3<5 j2x3<2 f5x4 f6x4 f2x4 f4 f4", "" },
  { "SkipLayerNormalization", "f2x3x4 f2x3x4 f4 f4 f4", "" },
  { "SkipLayerNormalization", "f2x3x4 f2x3x4 f4 f4", "" },
  { "FusedConv", "f2x3x6x5 f4x3x3x3 f4 f2x4x6x5", "pads=1,1,1,1 activation=Relu" },
  { "FusedConv", "f1x2x4x4 f2x2x3x3 f2", "activation=LeakyRelu" },
  { "FusedGemm", "f3x4 f4x5 f5", "activation=Tanh" },
  { "FusedMatMul", "f2x3x4 f2x5x4", "transB=1" },
  { "CropAndResize", "f2x3x5x5 f4x4 j4<2 j2<5", "" },
  { "MaxpoolWithMask", "f1x3x5x5 j1x3x5x5<2", "kernel_shape=2,2" },
  { "NGramRepeatBlock", "i2x5<3 f2x3", "ngram_size=2" },
  { "DynamicQuantizeLSTM", "f3x2x4 u1x4x8 u1x2x8 f1x16 - - - - f1 u1 f1 u1", "hidden_size=2" },
  { "BranchwiseRMSNorm", "f2x3x8 f8", "num_branches=2" },
  { "HyperConnectionPreMix", "f2x3x8 f2x3x2", "num_branches=2" },
  { "MoE", "f3x4 f3x2 f2x6x4 f2x6 f2x4x6 f2x4", "k=2" },
  { "GatherBlockQuantized", "u4x48 i2<4 f4x3 u4x3", "block_size=16 bits=8" },
  { "GatherBlockQuantized", "u4x24 i2<4 f4x3 u4x2", "block_size=16" },
  { "ConvSigmoid", "f2x3x6x6 f4x3x3x3 f4", "" },
  { "ConvTanh", "f2x3x6x6 f4x3x3x3 f4", "" },
  { "ConvSilu", "f2x3x6x6 f4x3x3x3 f4", "" },
  { "GemmRelu", "f3x4 f4x5 f5", "" },
  { "GemmGelu", "f3x4 f4x5 f5", "" },
  { "GemmGeluTanh", "f3x4 f4x5 f5", "" },
  { "MatMulAdd", "f2x3x4 f4x5 f5", "" },
  { "StringSplit", "s3", "delimiter=," },
  { "RegexFullMatch", "s3", "pattern=a|7" },
};
/* clang-format on */

/* (nullable) What @text says of an attribute */
static inline const IrAttr *
recipe_attr (IrContext *context, const IrAttrSpec *spec, const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  guint n = g_strv_length (parts);
  g_autofree gint64 *ints = g_new0 (gint64, n + 1);
  g_autofree float *floats = g_new0 (float, n + 1);
  g_autofree IrString *list = g_new0 (IrString, n + 1);
  for (guint i = 0; i < n; i++)
    {
      ints[i] = g_ascii_strtoll (parts[i], NULL, 10);
      floats[i] = (float) g_ascii_strtod (parts[i], NULL);
      list[i] = (IrString){ .data = parts[i], .length = strlen (parts[i]) };
    }
  if (spec->kind == IR_ATTR_INT)
    return ir_attr_int (context, spec->name, ints[0]);
  if (spec->kind == IR_ATTR_INTS)
    return ir_attr_ints (context, spec->name, ints, n);
  if (spec->kind == IR_ATTR_FLOAT)
    return ir_attr_float (context, spec->name, floats[0]);
  if (spec->kind == IR_ATTR_FLOATS)
    return ir_attr_floats (context, spec->name, floats, n);
  if (spec->kind == IR_ATTR_STRINGS)
    return ir_attr_strings (context, spec->name, list, n);
  if (spec->kind == IR_ATTR_TENSOR)
    {
      gint64 dim = n;
      g_autoptr (IrTensor) tensor = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, &dim, floats);
      return ir_attr_tensor (context, spec->name, tensor);
    }
  return ir_attr_string (context, spec->name, text, -1);
}
