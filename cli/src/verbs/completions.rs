//! `tributary completions SHELL`.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Arguments;
use crate::print::{self, Outcome};

/// Prints a completion script.
pub fn run(shell: Shell) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "tributary", &mut script);
    print::line(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
