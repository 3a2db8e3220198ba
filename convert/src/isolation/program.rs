//! The process that confines itself and becomes another program: LibreOffice, which draws
//! presentations of strangers.

use tributary_schemas::{Error, ErrorKind, Result};

use super::confinement;
use crate::slides::office::Order;

/// Reads an [`Order`] as JSON from standard input, confines this process and becomes the program
/// that is named. What is behind the verb `draw-worker`. Returns only with an error: `Unavailable`
/// where the process cannot be confined as it must be, or the program not be started.
#[cfg(unix)]
pub fn become_program() -> Result<()> {
    use std::os::unix::process::CommandExt;
    let order = read_order()?;
    let confinement = confinement::confine_program(&order.bounds);
    if order.require_confinement && !confinement.is_complete() {
        let message = format!(
            "{} is not started: it cannot be confined here: {}",
            order.program.display(),
            confinement.missing()
        );
        return Err(Error::new(ErrorKind::Unavailable, message));
    }
    let error = std::process::Command::new(&order.program)
        .args(&order.arguments)
        .exec();
    Err(Error::new(
        ErrorKind::Unavailable,
        format!("cannot start {}: {error}", order.program.display()),
    ))
}

#[cfg(unix)]
fn read_order() -> Result<Order> {
    let order = std::io::read_to_string(std::io::stdin())
        .map_err(|error| Error::io("cannot read an order", &error))?;
    serde_json::from_str(&order).map_err(|error| {
        Error::new(
            ErrorKind::Invalid,
            format!("no order on standard input: {error}"),
        )
    })
}

/// Elsewhere nothing is drawn in confinement.
#[cfg(not(unix))]
pub fn become_program() -> Result<()> {
    Err(Error::new(
        ErrorKind::Unavailable,
        "programs are confined on Unix only",
    ))
}
