//! What is to be published and deleted, as data: made and checked before anything is sent.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::json;
use tributary_schemas::{DocumentEvent, id};

use super::compare::{self, Comparison};
use super::files::{Found, Rule, Selection};
use super::report::{Published, REFUSED, UNCONFIRMED};
use super::roots::{Deleted, Documents, Roots};
use super::same_file::{self, Explanation};
use super::send::{Body, Item};
use super::walk::Unlisted;
use super::{describe, failures, mounts, urls};
use crate::args::{OneDocument, Publish};
use crate::config::Config;
use crate::conversion;
use crate::print::{self, Outcome};

/// Things that are no files and are named; of more their number is said.
const PASSED_OVER: usize = 5;

/// What is to be done.
pub(super) struct Plan {
    pub(super) template: DocumentEvent,
    pub(super) items: Vec<Item>,
    pub(super) comparison: Comparison,
    /// Lines of a list that are no addresses.
    pub(super) refused: Vec<Published>,
    /// Files among the items, in the order of these, with the roots that their paths are relative
    /// to.
    files: Vec<Found>,
    /// Roots of all folders that were named.
    roots: Vec<PathBuf>,
    /// What in these is no file.
    passed_over: Vec<Unlisted>,
}

impl Plan {
    pub(super) fn of_files(selection: Selection, roots: &Roots) -> Self {
        let to_item =
            |found: &Found| Item::new(found.source_path.clone(), Body::File(found.file.clone()));
        let mut items: Vec<Item> = selection.files.iter().map(to_item).collect();
        same_file::keep_what_was_given(&mut items, &selection.files, roots);
        Self {
            template: DocumentEvent {
                source: roots.source().to_owned(),
                ..DocumentEvent::default()
            },
            items,
            comparison: Comparison::default(),
            refused: Vec::new(),
            roots: selection
                .folders
                .into_iter()
                .map(|folder| folder.root)
                .collect(),
            files: selection.files,
            passed_over: selection.unlisted,
        }
    }

    pub(super) fn make(config: &Config, publish: &Publish, roots: &Roots) -> Result<Self> {
        let (stdin, paths): (Vec<_>, Vec<_>) = publish
            .paths
            .iter()
            .cloned()
            .partition(|path| path == Path::new("-"));
        let rule = Rule::new(publish.root.as_deref(), roots)?;
        let rule = if publish.prune.prune {
            rule.with_missing()
        } else {
            rule
        };
        let selection = rule.select(&paths)?;
        let comparison = compare::compare(&selection, roots, publish.prune)?;
        let mut plan = Self {
            template: describe::template(publish, roots.source())?,
            comparison,
            ..Self::of_files(selection, roots)
        };
        if !stdin.is_empty() {
            plan.items.push(from_stdin(config, publish)?);
        }
        if let Some(list) = &publish.urls {
            let urls::List { addresses, wrong } = urls::read_list(list)?;
            let to_item = |address: String| Item::new(address.clone(), Body::Address(address));
            plan.items.extend(addresses.into_iter().map(to_item));
            let name = list.display();
            let refused = wrong.into_iter().map(|(line, what)| Published {
                source_path: format!("{name} line {line}"),
                state: REFUSED.to_owned(),
                reason: Some(what),
                ..Published::default()
            });
            plan.refused.extend(refused);
        }
        plan.check(publish)?;
        if let (Some(path), [item]) = (&publish.one.path, plan.items.as_mut_slice()) {
            item.source_path.clone_from(path);
            // It is no longer where its path says.
            plan.files.clear();
        }
        same_file::keep_what_was_given(&mut plan.items, &plan.files, roots);
        plan.check_ids(publish, roots)?;
        Ok(plan)
    }

    /// Refuses two files that would be one document: the later one would replace the other.
    fn check_ids(&self, publish: &Publish, roots: &Roots) -> Result<()> {
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for item in &self.items {
            let id = self.id_of(item);
            let path = item.source_path.as_str();
            if let Some(other) = seen.insert(id.clone(), path).filter(|other| *other != path) {
                return Err(same_file::one_id(&id, other, path).into());
            }
        }
        let (Some(given), [found]) = (&publish.one.id, self.files.as_slice()) else {
            return Ok(());
        };
        match roots.other_path_of_id(given, &found.absolute()) {
            Some(other) => Err(same_file::one_id(given, other, &found.source_path).into()),
            None => Ok(()),
        }
    }

    fn check(&self, publish: &Publish) -> Result<()> {
        let is_nothing = self.items.is_empty() && self.comparison.gone.is_empty();
        if is_nothing && !self.refused.is_empty() {
            bail!(
                "there is no address to publish\n{}",
                failures::lines(&self.refused).join("\n")
            );
        }
        if is_nothing && !publish.prune.allow_empty {
            bail!("there is no file to publish (hidden ones are left out)");
        }
        let one = &publish.one;
        let of_one = [
            ("--title", one.title.is_some()),
            ("--id", one.id.is_some()),
            ("--version", one.version.is_some()),
            ("--path", one.path.is_some()),
            ("--media-type", one.media_type.is_some()),
        ];
        let given = of_one.iter().find(|(_, is_given)| *is_given);
        match given {
            Some((option, _)) if self.items.len() != 1 => bail!(
                "{option} is said of one document, but {} are to be published",
                self.items.len()
            ),
            _ => Ok(()),
        }
    }

    /// Says what paths are relative to where that is not what was named.
    pub(super) fn explain(&self, publish: &Publish, roots: &Roots, all: &[Roots]) {
        let source = roots.source();
        for root in self.earlier_roots(publish, roots) {
            print::note(&format!(
                "paths are relative to {}, from which source {source} was published before",
                root.display()
            ));
        }
        let lone = self.files.iter().filter(|found| found.is_lone);
        for found in lone.filter(|_| !roots.is_empty()) {
            print::note(&format!(
                "{} lies in no folder from which source {source} was published: its path is {} (--root sets another)",
                found.file.display(),
                found.source_path
            ));
        }
        let explanation = Explanation {
            roots,
            others: all,
            prunes: publish.prune.prune,
            gives_title: publish.one.title.is_some(),
            given_id: publish.one.id.as_deref(),
        };
        let notes = explanation.notes(&self.files, &self.items);
        notes.iter().for_each(|note| print::note(note));
        self.explain_passed_over();
    }

    fn explain_passed_over(&self) {
        for one in self.passed_over.iter().take(PASSED_OVER) {
            print::note(&format!(
                "passed over: {} {}",
                one.source_path,
                one.cause.text()
            ));
        }
        let more = self.passed_over.len().saturating_sub(PASSED_OVER);
        if more > 0 {
            print::note(&format!("passed over: {more} more that are no files"));
        }
    }

    /// The folders that paths are relative to because something was published from them before.
    fn earlier_roots(&self, publish: &Publish, roots: &Roots) -> Vec<&Path> {
        let mut said: Vec<&Path> = Vec::new();
        for found in &self.files {
            let is_plain = found.is_lone || publish.root.is_some();
            let is_new = roots.containing(&found.root).is_none();
            if !is_plain && !is_new && !said.contains(&found.root.as_path()) {
                said.push(&found.root);
            }
        }
        said
    }

    /// The title that the one document is given now.
    pub(super) fn take_title(&mut self, one: &OneDocument) {
        if let (Some(title), [item]) = (&one.title, self.items.as_mut_slice()) {
            item.title = Some(title.clone());
        }
    }

    fn id_of(&self, item: &Item) -> String {
        let given = self.template.document_id.as_ref();
        let given = given.or(item.document_id.as_ref()).cloned();
        given.unwrap_or_else(|| id::derive_document_id(&self.template.source, &item.source_path))
    }

    pub(super) fn remember(&self, roots: &mut Roots) -> Result<()> {
        let mut by_root: BTreeMap<&Path, Documents> = BTreeMap::new();
        for root in &self.roots {
            by_root.entry(root).or_default();
        }
        for (found, item) in self.files.iter().zip(&self.items) {
            if found.is_lone {
                roots.publish_lone(&found.root, &found.source_path, &self.id_of(item))?;
                continue;
            }
            by_root
                .entry(&found.root)
                .or_default()
                .insert(found.source_path.clone(), self.id_of(item));
        }
        for (root, documents) in by_root {
            roots.publish(root, &documents)?;
            let mounts = mounts::below(root);
            if !mounts.is_empty() {
                roots.note_mounts(root, mounts)?;
            }
        }
        Ok(())
    }

    /// Titles of what was accepted hold for later publications too.
    pub(super) fn remember_titles(&self, roots: &mut Roots, documents: &[Published]) -> Result<()> {
        let accepted: HashSet<&str> = documents
            .iter()
            .filter(|document| !matches!(document.state.as_str(), REFUSED | UNCONFIRMED))
            .map(|document| document.source_path.as_str())
            .collect();
        for item in &self.items {
            if let Some(title) = &item.title
                && accepted.contains(item.source_path.as_str())
            {
                roots.give_title(&item.source_path, title)?;
            }
        }
        Ok(())
    }

    /// Folders from which nothing was published before.
    pub(super) fn new_roots(&self, roots: &Roots) -> BTreeSet<PathBuf> {
        let lone = self.files.iter().filter(|found| found.is_lone);
        let all = self.roots.iter().chain(lone.map(|found| &found.root));
        all.filter(|root| !roots.has_any(root)).cloned().collect()
    }

    /// Where all was refused, as for a knowledge set that does not exist, nothing came from there.
    pub(super) fn withdraw(
        new: &BTreeSet<PathBuf>,
        roots: &mut Roots,
        documents: &[Published],
    ) -> Result<()> {
        if documents.iter().any(|document| document.state != REFUSED) {
            return Ok(());
        }
        let refused: HashSet<&str> = documents
            .iter()
            .map(|document| document.source_path.as_str())
            .collect();
        new.iter()
            .try_for_each(|root| roots.withdraw(root, &refused))
    }

    /// What could not be deleted stays known.
    pub(super) fn forget(&self, roots: &mut Roots, documents: &[Published]) -> Result<()> {
        let deleted = documents
            .iter()
            .filter(|document| document.is_deletion && !failures::is_failure(document));
        let deleted: BTreeMap<String, Deleted> = deleted
            .map(|document| {
                let (id, version) = (document.document_id.clone(), document.version);
                (document.source_path.clone(), Deleted { id, version })
            })
            .collect();
        if deleted.is_empty() {
            return Ok(());
        }
        self.roots
            .iter()
            .try_for_each(|root| roots.forget(root, &deleted))
    }

    /// What would be done.
    pub(super) fn show(&self, publish: &Publish) -> Result<Outcome> {
        let paths: Vec<&str> = self
            .items
            .iter()
            .map(|item| item.source_path.as_str())
            .collect();
        let gone: Vec<&str> = self
            .comparison
            .gone
            .iter()
            .map(|gone| gone.source_path.as_str())
            .collect();
        let kept = &self.comparison.kept;
        let source = &self.template.source;
        let refused = &self.refused;
        let object = json!({
            "source": source, "publish": paths, "delete": gone, "keep": kept, "refused": refused,
        });
        print::result(publish.output, &object, || {
            let mut lines = failures::lines(refused);
            lines.push(text(&paths, &gone));
            lines.extend(self.comparison.needed(publish.prune));
            lines.join("\n")
        })?;
        Ok(Outcome::of(paths.len() + gone.len(), refused.len()))
    }
}

/// What would be done, for people.
fn text(paths: &[&str], gone: &[&str]) -> String {
    let mut lines: Vec<String> = paths
        .iter()
        .map(|path| format!("publish  {path}"))
        .collect();
    lines.extend(gone.iter().map(|path| format!("delete   {path}")));
    lines.push(format!(
        "{} to publish, {} to delete; nothing was done",
        paths.len(),
        gone.len()
    ));
    lines.join("\n")
}

fn from_stdin(config: &Config, publish: &Publish) -> Result<Item> {
    let one = &publish.one;
    if one.path.is_none() && one.id.is_none() {
        bail!("a document from stdin needs --path or --id, so that an update finds it");
    }
    let bytes = conversion::from_stdin(config)?;
    let path = one.path.clone().unwrap_or_default();
    Ok(Item::new(path, Body::Bytes(bytes)))
}
