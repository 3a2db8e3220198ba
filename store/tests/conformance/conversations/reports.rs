//! Reports that can be gone on with.

use tributary_schemas::ask::AskRequest;
use tributary_schemas::report::{
    KeptReport, KeptSection, Outline, PlannedSection, ReportPart, ReportPlan, WrittenSection,
};
use tributary_store::conversations::ReportBeginning;

use super::*;

fn beginning(id: &str, fingerprint: &str, conversation: Option<&str>) -> ReportBeginning {
    ReportBeginning {
        id: id.to_owned(),
        fingerprint: fingerprint.to_owned(),
        request: AskRequest {
            question: "能效特性与取舍".to_owned(),
            conversation_id: conversation.map(str::to_owned),
            ..AskRequest::default()
        },
    }
}

fn plan(title: &str) -> ReportPart {
    let sections = (1..=3).map(|number| PlannedSection {
        number,
        title: format!("{title} {number}"),
        questions: vec!["Why?".to_owned()],
    });
    let outline = Outline {
        title: title.to_owned(),
        sections: sections.collect(),
    };
    ReportPart::Plan(Box::new(ReportPlan {
        outline,
        degraded: vec!["reranker".to_owned()],
        ..ReportPlan::default()
    }))
}

fn section(number: usize, text: &str) -> ReportPart {
    let section = WrittenSection {
        number,
        text: text.to_owned(),
        ..WrittenSection::default()
    };
    ReportPart::Section(Box::new(KeptSection {
        section,
        degraded: Vec::new(),
        model: Some("m".to_owned()),
    }))
}

async fn begin_report(store: &dyn ConversationStore, id: &str) -> KeptReport {
    let begun = store.begin_report(None, beginning(id, "f", None)).await;
    begun.unwrap()
}

fn texts(kept: &KeptReport) -> Vec<(usize, &str)> {
    let sections = kept.sections.iter();
    sections
        .map(|kept| (kept.section.number, kept.section.text.as_str()))
        .collect()
}

pub async fn parts_of_a_report_are_kept_and_the_first_ones_stand(store: &dyn ConversationStore) {
    let empty = begin_report(store, "r-1").await;
    assert!(empty.plan.is_none() && empty.sections.is_empty());
    assert_eq!(empty.request.question, "能效特性与取舍");
    for part in [
        plan("A"),
        section(3, "third"),
        section(1, "first"),
        section(3, "again"),
    ] {
        store.keep_report_part(None, "r-1", part).await.unwrap();
    }
    let other_plan = store.keep_report_part(None, "r-1", plan("B")).await;
    assert_eq!(kind(other_plan), ErrorKind::Conflict);
    let kept = begin_report(store, "r-1").await;
    assert_eq!(texts(&kept), [(1, "first"), (3, "third")]);
    let planned = kept.plan.as_ref().unwrap();
    assert_eq!(planned.outline.title, "A");
    assert_eq!(planned.degraded, ["reranker"]);
    assert!(kept.updated_at_ms > empty.updated_at_ms);
    let read = store.report(None, "r-1").await.unwrap();
    assert_eq!(texts(&read), texts(&kept));
}

pub async fn a_section_that_failed_is_kept_until_it_is_written(store: &dyn ConversationStore) {
    begin_report(store, "r-2").await;
    let failed = |text: &str| match section(1, text) {
        ReportPart::Section(mut kept) => {
            kept.section.failure = Some("no_model".to_owned());
            ReportPart::Section(kept)
        }
        plan => plan,
    };
    for (part, stands) in [
        (failed("extract"), "extract"),
        (failed("another"), "another"),
        (section(1, "written"), "written"),
        (failed("late"), "written"),
    ] {
        store.keep_report_part(None, "r-2", part).await.unwrap();
        let read = store.report(None, "r-2").await.unwrap();
        assert_eq!(texts(&read), [(1, stands)]);
    }
}

pub async fn a_report_stands_for_one_request_and_one_owner(store: &dyn ConversationStore) {
    begin_report(store, "r").await;
    let other = store.begin_report(None, beginning("r", "g", None)).await;
    let other = other.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Conflict);
    hint(&other);
    let of_anna = store
        .begin_report(Some("anna"), beginning("r", "g", None))
        .await;
    assert!(of_anna.unwrap().plan.is_none());
    store.keep_report_part(None, "r", plan("A")).await.unwrap();
    let of_anna = store.report(Some("anna"), "r").await.unwrap();
    assert!(of_anna.plan.is_none());
    for id in ["", "a/b", "..\u{0}", &"x".repeat(65)] {
        let begun = store.begin_report(None, beginning(id, "f", None)).await;
        assert_eq!(kind(begun), ErrorKind::Invalid, "{id}");
        assert_eq!(kind(store.report(None, id).await), ErrorKind::NotFound);
    }
}

pub async fn reports_go_with_their_conversation_and_with_age(store: &dyn ConversationStore) {
    let conversation = create(store, "talk").await.id;
    for (id, clears) in [("c", true), ("d", false)] {
        let begun = store
            .begin_report(None, beginning(id, "f", Some(&conversation)))
            .await;
        begun.unwrap();
        store
            .keep_report_part(None, id, section(1, "s"))
            .await
            .unwrap();
        match clears {
            true => store.clear(None, &conversation).await.map(drop).unwrap(),
            false => store.delete(None, &conversation).await.unwrap(),
        }
        assert_eq!(kind(store.report(None, id).await), ErrorKind::NotFound);
        let late = store.keep_report_part(None, id, section(2, "s")).await;
        assert_eq!(kind(late), ErrorKind::NotFound);
    }
    let gone = store.begin_report(None, beginning("e", "f", Some(&conversation)));
    assert_eq!(kind(gone.await), ErrorKind::NotFound);
    begin_report(store, "old").await;
    let since = begin_report(store, "new").await.updated_at_ms;
    assert_eq!(store.sweep_reports(since).await.unwrap(), 1);
    assert_eq!(kind(store.report(None, "old").await), ErrorKind::NotFound);
    store.delete_report(None, "new").await.unwrap();
    let again = store.delete_report(None, "new").await;
    assert_eq!(kind(again), ErrorKind::NotFound);
}
