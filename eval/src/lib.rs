//! Evaluation: reads a set, sends its documents through the real pipeline, asks its questions,
//! scores every tier.

pub mod answers;
pub mod calibrate;
pub mod calibration;
pub mod candidates;
pub mod case;
pub mod code;
pub mod diagnosis;
pub mod evidence;
pub mod gate;
pub mod metrics;
pub mod prompts;
pub mod rewrite;
pub mod runner;
pub mod set;
pub mod styles;
pub mod terms;
pub mod training;
pub mod tune;

pub use calibrate::{Calibration, Collection};
pub use runner::{Progress, Report, run};
pub use set::EvaluationSet;
