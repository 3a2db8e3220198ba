//! Arguments of `ask`.

use clap::Args;
use tributary_schemas::ask::{Retrieval, Workflow};

use super::{FilterArguments, Output, one_of};

/// Shown below the options.
pub const ASK_HELP: &str = "\
The answer comes as it is written, with the numbers of its sources, which are listed below it. Each question begins a
conversation; -c goes on with the last one, so that a question may lean on what was said before:
  tributary ask \"what is random access\"
  tributary ask -c \"how many steps does it have\"
  tributary ask --set protocols --format json \"which timer guards it\"
  tributary ask --workflow error-map < traceback.txt
Without a language model ([models.chat], docs/language-models.md) the best sentences of the documents are the answer.";

/// `ask`.
#[derive(Debug, Args)]
pub struct Ask {
    /// The question; without one, or with `-`, it is read from stdin
    pub question: Option<String>,
    /// Go on with the conversation that changed last
    #[arg(short = 'c', long = "continue", conflicts_with = "conversation")]
    pub go_on: bool,
    /// Go on with this conversation
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
    /// Keep neither question nor answer
    #[arg(long, conflicts_with_all = ["go_on", "conversation"])]
    pub off_the_record: bool,
    /// Which workflow answers [default: from the configuration]
    #[arg(long, value_name = "NAME", value_parser = workflow)]
    pub workflow: Option<String>,
    /// Who decides what is searched for: on_demand leaves it to the model [default: automatic]
    #[arg(long, value_name = "WAY", value_parser = one_of(Retrieval::ALL.map(Retrieval::as_str)))]
    pub retrieval: Option<String>,
    /// The user whose profile (/v1/user-profiles) weighs what is found
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Where it looks.
    #[command(flatten)]
    pub filter: FilterArguments,
    /// Passages that the answer is made from [default: from the configuration]
    #[arg(long, short = 'k', value_name = "N")]
    pub top_k: Option<usize>,
    /// Leave out passages of a lower relevance, 0 to 1
    #[arg(long, value_name = "SHARE")]
    pub minimum_relevance: Option<f32>,
    /// Do not complete a question that leans on what was said before
    #[arg(long)]
    pub no_rewrite: bool,
    /// Return how the question was understood and the plans of its searches (with --format json)
    #[arg(long)]
    pub explain: bool,
    /// How the answer is printed.
    #[command(flatten)]
    pub output: Output,
}

/// A workflow by its name, which may be written with `-` too.
fn workflow(name: &str) -> Result<String, String> {
    match Workflow::named(name) {
        Some(workflow) => Ok(workflow.as_str().to_owned()),
        None => {
            let known = Workflow::ALL.map(Workflow::as_str).join(", ");
            Err(format!(
                "there is no workflow of this name; there are {known}"
            ))
        }
    }
}
