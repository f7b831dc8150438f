//! The model that is built in: see `models/README.md` for what it is and how it was made.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use super::Embedder;
use super::static_::StaticModel;

static MODEL: LazyLock<Arc<StaticModel>> = LazyLock::new(|| {
    let tensors = Cow::Borrowed(include_bytes!("../../../models/static/model.safetensors").as_slice());
    let tokenizer = include_bytes!("../../../models/static/tokenizer.json");
    Arc::new(StaticModel::load(tensors, tokenizer).expect("the tests load this model"))
});

/// The built-in model, read at first use.
#[must_use]
pub fn model() -> Arc<dyn Embedder> {
    Arc::clone(&*MODEL) as Arc<dyn Embedder>
}
