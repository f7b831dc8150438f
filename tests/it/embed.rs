//! Embeddings: our tokenizer against the crate's, pooling against tensors, equal text against itself, damaged files.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use candle_core::{Device, Tensor};
use maitred::engine::embed::bert::{Bert, BertFiles};
use maitred::engine::embed::scale::Scale;
use maitred::engine::embed::static_::StaticModel;
use maitred::engine::embed::wordpiece::WordPiece;
use maitred::engine::embed::{EmbedScratch, Embedder, Vector, builtin};
use maitred::engine::numbers::dot;
use maitred::store::model;
use proptest::prelude::*;
use safetensors::Dtype;
use serde_json::json;
use tempfile::TempDir;

use crate::models::{self, Files};

const BUILTIN_TOKENIZER: &[u8] = include_bytes!("../../models/static/tokenizer.json");

fn open(files: &Files) -> Result<std::sync::Arc<dyn Embedder>, String> {
    let dir = TempDir::new().unwrap();
    models::write(dir.path(), files);
    model::open(dir.path())
}

fn bert(seed: u64) -> Bert {
    let files = models::transformer(seed);
    let files = BertFiles {
        config: &files["config.json"],
        tensors: &files["model.safetensors"],
        tokenizer: &files["tokenizer.json"],
        pooling: None,
        sentence: None,
    };
    Bert::load(files).unwrap()
}

fn static_model(format: Dtype) -> StaticModel {
    let files = models::static_model(7, 24, format);
    StaticModel::load(Cow::Owned(files["model.safetensors"].clone()), &files["tokenizer.json"]).unwrap()
}

/// Text of many kinds: words, marks, controls, other scripts, special tokens.
fn any_text() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "[SEP]",
        "[MASK]x",
        "don't",
        "naïve",
        "Ünïcödé",
        "ﬁle",
        "I\u{307}",
        "e\u{301}",
        "\u{200b}",
        "\u{0}",
        "\t",
        "\u{b}",
        "\u{85}",
        "\u{a0}",
        "—",
        "“x”",
        "日本語",
        "漢字かな",
        "한국어",
        "ไทย",
        "🙂",
        "ẞ",
        "ΑΣ",
        "x\u{fffd}y",
        "##ing",
        "supercalifragilistic",
        "a1b2c3",
        "₤5",
        "C++",
        "\u{1f1e6}",
        "²",
        "Ⅷ",
        "ǅ",
    ]);
    let piece = prop_oneof![
        4 => "[a-zA-Z]{1,12}",
        2 => odd.prop_map(str::to_owned),
        1 => "[ -~]{1,8}",
        1 => any::<char>().prop_map(String::from),
    ];
    let separator = prop::sample::select(vec![" ", "", "\n", ", "]);
    prop::collection::vec((piece, separator), 0..24)
        .prop_map(|pieces| pieces.into_iter().map(|(piece, separator)| piece + separator).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn our_tokenizer_gives_the_ids_of_the_crate(text in any_text()) {
        thread_local! {
            static BOTH: (WordPiece, tokenizers::Tokenizer) = (
                WordPiece::parse(BUILTIN_TOKENIZER).unwrap(),
                tokenizers::Tokenizer::from_bytes(BUILTIN_TOKENIZER).unwrap(),
            );
        }
        let (ours, theirs) = BOTH.with(|(ours, theirs)| {
            let mut ids = Vec::new();
            ours.collect(&text, usize::MAX, &mut String::new(), &mut ids);
            let encoding = theirs.encode_fast(text.as_str(), false).unwrap();
            let known: Vec<u32> = encoding.get_ids().iter().copied().filter(|id| *id != 100).collect();
            (ids, known)
        });
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn pooling_is_what_tensors_compute(words in prop::collection::vec(0..models::WORDS.len(), 1..40)) {
        let text: Vec<&str> = words.iter().map(|word| models::WORDS[*word]).collect();
        for format in [Dtype::F32, Dtype::F16, Dtype::I8] {
            let model = static_model(format);
            let mut scratch = EmbedScratch::default();
            model.ids(&text.join(" "), &mut scratch);
            let Some(pooled) = model.embed(&[&text.join(" ")]).unwrap().swap_remove(0) else { continue };
            let rows: Vec<f32> = scratch.ids.iter().flat_map(|id| model.row(*id)).collect();
            let rows = Tensor::from_vec(rows, (scratch.ids.len(), 24), &Device::Cpu).unwrap();
            let mean = rows.mean(0).unwrap();
            let norm = mean.sqr().unwrap().sum_all().unwrap().sqrt().unwrap();
            let wanted: Vec<f32> = mean.broadcast_div(&norm).unwrap().to_vec1().unwrap();
            for (got, wanted) in pooled.iter().zip(&wanted) {
                prop_assert!((got - wanted).abs() < 1e-5, "{format:?}: {got} {wanted}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn equal_text_gives_equal_vectors_in_any_batch(
        texts in prop::collection::vec(prop::collection::vec(0..models::WORDS.len(), 0..30), 1..12),
    ) {
        let texts: Vec<String> = texts
            .iter()
            .map(|words| words.iter().map(|word| models::WORDS[*word]).collect::<Vec<_>>().join(" "))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let transformer: &dyn Embedder = &bert(3);
        let small: &dyn Embedder = &static_model(Dtype::I8);
        for embedder in [transformer, small, &*builtin::model()] {
            let together = embedder.embed(&texts).unwrap();
            let backwards: Vec<&str> = texts.iter().rev().copied().collect();
            let mut backwards = embedder.embed(&backwards).unwrap();
            backwards.reverse();
            prop_assert_eq!(&together, &backwards);
            let elsewhere = std::thread::scope(|scope| {
                scope.spawn(|| texts.iter().map(|text| alone(embedder, text)).collect::<Vec<_>>()).join().unwrap()
            });
            prop_assert_eq!(&together, &elsewhere);
        }
    }
}

/// The vector of a text by the way that turns take.
fn alone(embedder: &dyn Embedder, text: &str) -> Option<Vector> {
    let mut sum = vec![0.0; embedder.about().dimensions];
    let found = embedder.add(text, 1.0, &mut EmbedScratch::default(), &mut sum).unwrap();
    found.then(|| sum.into())
}

#[test]
fn a_long_neighbour_changes_nothing() {
    let long = "clean the shed ! ".repeat(100);
    for embedder in [&bert(5) as &dyn Embedder, &*builtin::model()] {
        let own = alone(embedder, "tidy the shed").unwrap();
        let batched = embedder.embed(&[long.as_str(), "tidy the shed", "refund a customer"]).unwrap();
        assert_eq!(batched[1].as_ref().unwrap(), &own);
    }
}

#[test]
fn the_built_in_model_knows_what_is_near() {
    let model = builtin::model();
    assert_eq!(model.about().dimensions, 256);
    assert_eq!(model.about().scripts.names().collect::<Vec<_>>(), ["Latin"]);
    let near = |a: &str, b: &str| dot(&alone(&*model, a).unwrap(), &alone(&*model, b).unwrap());
    let refund = "the customer wants their money back";
    assert!(near(refund, "issue a refund") > near(refund, "deploy the service") + 0.1);
    assert!(alone(&*model, "🙂").is_none());
    let scale = Scale::of(&*model).unwrap();
    assert!((scale.mean - 0.05).abs() < 0.03 && (scale.unit - 0.07).abs() < 0.03, "{scale:?}");
}

#[test]
fn a_directory_is_the_model_that_its_files_make() {
    let (eight, sixteen) = (models::static_model(1, 8, Dtype::F16), models::transformer(1));
    let (eight, sixteen) = (open(&eight).unwrap(), open(&sixteen).unwrap());
    assert_eq!((eight.about().dimensions, eight.is_immediate()), (8, true));
    assert_eq!((sixteen.about().dimensions, sixteen.is_immediate()), (16, false));
    let again = open(&models::static_model(1, 8, Dtype::F16)).unwrap();
    assert_eq!(eight.about().id, again.about().id);
    assert_ne!(eight.about().id, open(&models::static_model(2, 8, Dtype::F16)).unwrap().about().id);
}

fn check_refused(files: &Files, sentence: &str) {
    let error = open(files).expect_err(sentence);
    assert!(error.contains(sentence), "{error}");
}

#[test]
fn wrong_and_damaged_files_are_named() {
    let model = models::static_model(1, 8, Dtype::F32);
    let with = |name: &'static str, bytes: &[u8]| {
        let mut files = model.clone();
        files.insert(name, bytes.to_vec());
        files
    };
    let cut = &model["model.safetensors"][..model["model.safetensors"].len() - 5];
    check_refused(&with("tokenizer.json", b"{}"), "tokenizer.json: ");
    check_refused(&with("tokenizer.json", b"\xff"), "tokenizer.json: ");
    check_refused(&Files::new(), "there is no model.safetensors in the model directory");
    let mut missing = model.clone();
    missing.remove("tokenizer.json");
    check_refused(&missing, "there is no tokenizer.json in the model directory");
    check_refused(&with("model.safetensors", cut), "model.safetensors: ");

    let mut few = models::tokenizer();
    few["model"]["vocab"]["one-more"] = json!(models::ID_COUNT);
    let names = format!(
        "names {} tokens, and model.safetensors describes {}",
        models::ID_COUNT + 1,
        models::ID_COUNT
    );
    check_refused(&with("tokenizer.json", few.to_string().as_bytes()), &names);

    let transformer = models::transformer(1);
    let with = |name: &'static str, change: &dyn Fn(&mut serde_json::Value)| {
        let mut files = transformer.clone();
        let mut value = serde_json::from_slice(&files[name]).unwrap();
        change(&mut value);
        files.insert(name, value.to_string().into_bytes());
        files
    };
    check_refused(
        &with("config.json", &|config| config["model_type"] = json!("t5")),
        "config.json: the model is of the type \"t5\"",
    );
    check_refused(&with("config.json", &|config| config["hidden_size"] = json!("x")), "config.json: ");
    check_refused(
        &with("config.json", &|config| config["num_hidden_layers"] = json!(3)),
        "model.safetensors: ",
    );
    check_refused(
        &with("config.json", &|config| config["vocab_size"] = json!(3)),
        "tokenizer.json: names 17 tokens",
    );
    let mut missing = transformer.clone();
    missing.remove("config.json");
    check_refused(&missing, "there is no config.json");
}

#[test]
fn a_model_directory_that_is_none_is_named() {
    let error = model::open(Path::new("/no/such/model")).expect_err("there is none");
    assert!(error.contains("there is no model.safetensors in the model directory /no/such/model"), "{error}");
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("model.safetensors")).unwrap();
    let error = model::open(dir.path()).expect_err("a folder is no file");
    assert!(error.contains("model.safetensors: "), "{error}");
}
