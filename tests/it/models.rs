//! Small models to test with, made here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};

/// The words of the small tokenizer, with the ids that follow the special tokens.
pub(crate) const WORDS: [&str; 12] =
    ["tidy", "the", "shed", "refund", "a", "customer", "deploy", "rollback", "##s", "##ing", "clean", "!"];

const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// How many ids it has.
pub(crate) const ID_COUNT: usize = SPECIAL.len() + WORDS.len();

/// Files of a model, by name.
pub(crate) type Files = BTreeMap<&'static str, Vec<u8>>;

/// A tokenizer.json in BERT's lower-case form.
pub(crate) fn tokenizer() -> Value {
    let vocabulary: BTreeMap<&str, usize> =
        SPECIAL.iter().chain(&WORDS).enumerate().map(|(id, token)| (*token, id)).collect();
    let added = SPECIAL.iter().enumerate().map(|(id, token)| {
        json!({
            "id": id, "content": token, "special": true,
            "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
        })
    });
    let around = |token: &str| json!({ "SpecialToken": { "id": token, "type_id": 0 } });
    json!({
        "version": "1.0", "truncation": null, "padding": null, "decoder": null,
        "added_tokens": added.collect::<Vec<_>>(),
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true,
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [around("[CLS]"), { "Sequence": { "id": "A", "type_id": 0 } }, around("[SEP]")],
            "pair": [],
            "special_tokens": {
                "[CLS]": { "id": "[CLS]", "ids": [2], "tokens": ["[CLS]"] },
                "[SEP]": { "id": "[SEP]", "ids": [3], "tokens": ["[SEP]"] },
            },
        },
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary,
        },
    })
}

/// A static model whose numbers are `seed`'s, written as `format`.
pub(crate) fn static_model(seed: u64, dimensions: usize, format: Dtype) -> Files {
    let numbers = numbers(seed, ID_COUNT * dimensions);
    let bytes: Vec<u8> = match format {
        Dtype::F32 => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Dtype::F16 => numbers.iter().flat_map(|x| half::f16::from_f32(*x).to_le_bytes()).collect(),
        #[expect(clippy::cast_possible_truncation, reason = "the numbers are within -1 and 1")]
        Dtype::I8 => numbers.iter().map(|x| ((x * 127.0).round() as i8).cast_unsigned()).collect(),
        other => panic!("{other:?} is no format of rows"),
    };
    let rows = TensorView::new(format, vec![ID_COUNT, dimensions], &bytes).unwrap();
    let tensors = safetensors::serialize([("embeddings", rows)], None).unwrap();
    Files::from([("model.safetensors", tensors), ("tokenizer.json", tokenizer().to_string().into_bytes())])
}

/// A sentence transformer with two layers of width 16.
pub(crate) fn transformer(seed: u64) -> Files {
    const WIDTH: usize = 16;
    let config = json!({
        "model_type": "bert", "vocab_size": ID_COUNT, "hidden_size": WIDTH, "num_hidden_layers": 2,
        "num_attention_heads": 2, "intermediate_size": 32, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "max_position_embeddings": 512, "type_vocab_size": 2, "initializer_range": 0.02,
        "layer_norm_eps": 1e-12, "pad_token_id": 0,
    });
    let mut shapes: Vec<(String, Vec<usize>)> = vec![
        ("embeddings.word_embeddings.weight".into(), vec![ID_COUNT, WIDTH]),
        ("embeddings.position_embeddings.weight".into(), vec![512, WIDTH]),
        ("embeddings.token_type_embeddings.weight".into(), vec![2, WIDTH]),
    ];
    let mut norms = vec!["embeddings.LayerNorm".to_owned()];
    for layer in 0..2 {
        let at = |part: &str| format!("encoder.layer.{layer}.{part}");
        for part in
            ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"]
        {
            shapes.push((at(part) + ".weight", vec![WIDTH, WIDTH]));
            shapes.push((at(part) + ".bias", vec![WIDTH]));
        }
        shapes.push((at("intermediate.dense.weight"), vec![32, WIDTH]));
        shapes.push((at("intermediate.dense.bias"), vec![32]));
        shapes.push((at("output.dense.weight"), vec![WIDTH, 32]));
        shapes.push((at("output.dense.bias"), vec![WIDTH]));
        norms.extend([at("attention.output.LayerNorm"), at("output.LayerNorm")]);
    }
    for norm in norms {
        shapes.push((norm.clone() + ".weight", vec![WIDTH]));
        shapes.push((norm + ".bias", vec![WIDTH]));
    }
    let data: Vec<(String, Vec<usize>, Vec<u8>)> = (1..)
        .zip(shapes)
        .map(|(at, (name, shape))| {
            let bytes =
                numbers(seed + at, shape.iter().product()).iter().flat_map(|x| x.to_le_bytes()).collect();
            (name, shape, bytes)
        })
        .collect();
    let views = data.iter().map(|(name, shape, bytes)| {
        (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap())
    });
    let tensors = safetensors::serialize(views, None).unwrap();
    Files::from([
        ("config.json", config.to_string().into_bytes()),
        ("model.safetensors", tensors),
        ("tokenizer.json", tokenizer().to_string().into_bytes()),
    ])
}

/// Writes a model to a directory.
pub(crate) fn write(dir: &Path, files: &Files) {
    for (name, bytes) in files {
        fs::write(dir.join(name), bytes).unwrap();
    }
}

/// Numbers between -1 and 1 that look random and are the same each time.
pub(crate) fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        f32::from(u16::try_from(state >> 48).unwrap()) / 32_768.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}
