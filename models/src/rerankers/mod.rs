//! The rerankers: one file each. Used by `load`.

pub mod lexical;
pub mod onnx;
