//! Adapts the weight of the vector side of a plan to what both signals found for its question.

use tributary_schemas::search::{QueryPlan, SearchRequest, Strategy};

use crate::config::Config;
use crate::fine::Lists;
use crate::preferences;
use crate::serving::Serving;
use crate::vector_weight::AdaptiveWeight;
use crate::weight_features::{features, named};

/// What adapts the weight of one search.
#[derive(Clone, Copy)]
pub struct Adapting<'a> {
    config: &'a AdaptiveWeight,
    shift: f32,
    content_tokens: usize,
}

impl<'a> Adapting<'a> {
    /// None where the weight does not adapt: the request gives it, only one signal is searched, or
    /// it is configured otherwise. `content_tokens` as in [`features`].
    pub fn of(
        config: &'a Config,
        request: &SearchRequest,
        serving: &Serving,
        content_tokens: usize,
    ) -> Option<Self> {
        let is_open = request.strategy == Strategy::Hybrid && request.vector_weight.is_none();
        let model = serving.models.embedder.fine_name();
        let adapts = is_open && config.vector_weight.adapts(model);
        adapts.then(|| Self {
            config: &config.vector_weight.adaptive,
            shift: preferences::shift(request),
            content_tokens,
        })
    }

    /// Weighs a plan anew, unless one of the signals found nothing: the other decides alone then.
    pub fn adapt(self, plan: &mut QueryPlan, lists: &Lists) {
        let Some(features) = features(lists, self.content_tokens) else {
            return;
        };
        plan.vector_weight = (self.config.weight(&features) + self.shift).clamp(0.0, 1.0);
        plan.weight_features = named(&features);
        tracing::debug!(
            vector_weight = plan.vector_weight,
            features = ?plan.weight_features,
            "weight adapted"
        );
    }
}
