//! The rerankers: one file each.

pub mod lexical;
pub mod onnx;
