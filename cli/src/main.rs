//! The command `tributary`.

mod app;
mod args;
mod client;
mod config;
mod conversion;
mod events;
mod memory;
mod names;
mod print;
mod telemetry;
mod times;
mod trust;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Arguments, Global, Verb};
use crate::config::Config;
use crate::print::{INTERRUPTED, Interrupted, Outcome};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match dispatch(arguments) {
        Ok(outcome) => outcome.exit_code(),
        Err(error) => {
            print::failure(&error);
            match error.is::<Interrupted>() {
                true => ExitCode::from(INTERRUPTED),
                false => Outcome::Failed.exit_code(),
            }
        }
    }
}

fn dispatch(arguments: Arguments) -> anyhow::Result<Outcome> {
    let mut global = arguments.global;
    if let Verb::Completions { shell } = arguments.verb {
        return verbs::completions::run(shell);
    }
    if let Verb::ConvertWorker = arguments.verb {
        return Ok(tributary_convert::isolation::serve().map(|()| Outcome::Done)?);
    }
    if let Verb::DrawWorker = arguments.verb {
        return Ok(tributary_convert::isolation::become_program().map(|()| Outcome::Done)?);
    }
    if let Verb::Config(verb) = arguments.verb {
        return verbs::config::run(&global, verb);
    }
    global.read_key_file()?;
    let loaded = config::load(
        global.config.as_deref(),
        global.profile.as_deref(),
        global.data_dir.as_deref(),
    )?;
    telemetry::start(
        &loaded.config.telemetry,
        global.verbose,
        matches!(arguments.verb, Verb::Run(_)),
    )?;
    run_verb(global, loaded.config, arguments.verb)
}

/// The verbs that need the configuration.
fn run_verb(global: Global, config: Config, verb: Verb) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Run(run) => verbs::run::run(&global, &config, &run),
        Verb::Publish(publish) => verbs::publish::run(&global, &config, &publish),
        Verb::Search(search) => verbs::search::run(&global, &config, &search),
        Verb::Ask(ask) => verbs::ask::run(&global, &config, &ask),
        Verb::Report(report) => verbs::report::run(&global, &config, &report),
        Verb::Judge(judge) => verbs::judge::run(&global, &config, &judge),
        Verb::Code(args::Code::Search(search)) => verbs::code::run(&global, &config, &search),
        Verb::Tables(verb) => verbs::tables::run(&global, &config, verb),
        Verb::Mcp => verbs::mcp::run(&global, &config),
        Verb::Convert(file) => verbs::convert::run(&config, &file),
        Verb::Chunk(file) => verbs::chunk::run(&config, &file),
        Verb::Analyze(analyze) => verbs::analyze::run(&global, &config, &analyze),
        Verb::Documents(verb) => verbs::documents::run(&global, &config, verb),
        Verb::DeadLetters(verb) => verbs::dead_letters::run(&global, &config, verb),
        Verb::Conversations(verb) => verbs::conversations::run(&global, &config, verb),
        Verb::KnowledgeSets(verb) => verbs::knowledge_sets::run(&global, &config, verb),
        Verb::Keys(verb) => verbs::keys::run(&global, &config, verb),
        Verb::Rights(verb) => verbs::rights::run(&global, &config, verb),
        Verb::Audit(verb) => verbs::audit::run(&global, &config, verb),
        Verb::Profiles(verb) => verbs::profiles::run(&global, &config, &verb),
        Verb::Eval(args::Eval::Run(eval)) => match eval.level {
            args::Level::Retrieval => verbs::eval::run(&global, &config, &eval),
            args::Level::Answer => verbs::eval_answers::run(&global, &config, &eval),
        },
        Verb::Eval(args::Eval::Runs(eval)) => verbs::eval_runs::list(&config, &eval),
        Verb::Eval(args::Eval::Compare(eval)) => verbs::eval_runs::compare(&config, &eval),
        Verb::Eval(args::Eval::Generate(eval)) => verbs::eval_generate::run(&eval),
        Verb::Eval(args::Eval::Candidates(eval)) => {
            verbs::eval_candidates::run(&global, &config, &eval)
        }
        Verb::Eval(args::Eval::Code(eval)) => verbs::eval_code::run(&global, &config, &eval),
        Verb::Eval(args::Eval::Rewrite(eval)) => verbs::eval_rewrite::run(&config, &eval),
        Verb::Eval(args::Eval::Calibrate(calibrate)) => {
            verbs::calibrate::run(&global, &config, &calibrate)
        }
        Verb::Eval(args::Eval::Tune(tune)) => verbs::eval_tune::run(&global, &config, &tune),
        Verb::Lexicon(verb) => verbs::lexicon::run(&global, &config, &verb),
        Verb::Training(verb) => verbs::training::run(&global, &config, &verb),
        Verb::Models(verb) => verbs::models::run(&config, verb),
        Verb::Backup(backup) => verbs::backup::run(&global, &config, &backup),
        Verb::Restore(restore) => verbs::restore::run(&global, &config, &restore),
        Verb::Blobs(args::Blobs::Collect { apply, output }) => {
            verbs::blobs::collect(&config, apply, output)
        }
        Verb::Doctor(doctor) => verbs::doctor::run(&global, &config, doctor),
        Verb::Repair(repair) => verbs::repair::run(&global, &config, repair),
        Verb::Completions { .. } | Verb::ConvertWorker | Verb::DrawWorker | Verb::Config(_) => {
            unreachable!("handled above")
        }
    }
}
