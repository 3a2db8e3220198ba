//! The domain profiles of `deploy/profiles` on real data: each is loaded with `--profile` by the
//! real binary, which converts, cleans, tags and cuts documents as ingest and chunk do. The data is
//! looked for in the folder that TRIBUTARY_SHARED names, or in `../shared`.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod learning;
mod mindspore;
mod os_course;
mod research;
mod settings;
mod tables;
mod tool;
mod wireless;
