//! An attacker in the converter's place, and in LibreOffice's: this program runs itself as both, in
//! the real confinement, and tries each trick to read, write, signal or connect outside.
//! `TRIBUTARY_ATTACKS` says how often each (10). Nothing may ever succeed.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

#[cfg(target_os = "linux")]
mod attachments;
#[cfg(target_os = "linux")]
mod names;
#[cfg(target_os = "linux")]
mod scene;
#[cfg(target_os = "linux")]
mod tricks;
#[cfg(target_os = "linux")]
mod unconfined;

#[path = "../../src/test_config.rs"]
mod test_config;

#[cfg(target_os = "linux")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some(scene::WORKER) => {
            tributary_convert::isolation::serve_with(scene::attack_as_converter).unwrap()
        }
        Some(scene::PROGRAM) => {
            if let Err(error) = tributary_convert::isolation::become_program() {
                eprintln!("{error}");
                std::process::exit(1);
            }
        }
        Some(attachments::WORKER) => {
            tributary_convert::isolation::serve_with(attachments::convert).unwrap()
        }
        Some(unconfined::WORKER) => unconfined::become_worker(),
        Some(first) if first.starts_with("-env:UserInstallation") => scene::attack_as_program(),
        // Asked for tests by another name.
        Some(first) if !first.starts_with('-') && !first.contains("attack") => {
            println!("\n0 tests run, the name does not fit")
        }
        _ => run_all(),
    }
}

#[cfg(target_os = "linux")]
fn run_all() {
    let tests: [(&str, fn()); 7] = [
        (
            "a_converter_that_was_taken_over_reaches_nothing",
            scene::a_converter_that_was_taken_over_reaches_nothing,
        ),
        (
            "a_program_that_was_taken_over_reaches_nothing",
            scene::a_program_that_was_taken_over_reaches_nothing,
        ),
        (
            "names_that_change_lead_nowhere",
            names::names_that_change_lead_nowhere,
        ),
        (
            "a_program_leaves_nothing_that_is_followed",
            names::a_program_leaves_nothing_that_is_followed,
        ),
        (
            "no_document_reaches_a_worker_that_is_not_confined",
            unconfined::no_document_reaches_a_worker_that_is_not_confined,
        ),
        (
            "workers_are_replaced_as_often_as_is_wanted",
            scene::workers_are_replaced_as_often_as_is_wanted,
        ),
        (
            "a_message_outlives_its_attachment",
            attachments::a_message_outlives_its_attachment,
        ),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
    println!("\ntest result: ok. {} passed; 0 failed", tests.len());
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("SKIPPED: attacks on the confinement: only Linux has one");
}
