//! Sets as they lie on disks.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn what_editors_and_hands_write_is_taken_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "corpus.jsonl",
        "{\"_id\": \"a\", \"text\": \"a\"}\n{\"_id\": \"b\", \"text\": \"b\"}\n",
    );
    write(
        "queries.jsonl",
        "\u{feff}{\"_id\": \"q1\", \"text\": \"?\"}\n{\"_id\": \"q2\", \"text\": \"?\", \"level\": \"nope\"}\n",
    );
    // Without a header.
    write(
        "qrels.tsv",
        "\u{feff}q1\ta\t1\nq1\ta\t0\nq1\tb\tNaN\nq1\tb\tinf\nq1\tb\t-1\nq2\ta\t1\n",
    );
    let set =
        EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv", DEFAULT_SOURCE).unwrap();
    let [question] = set.questions.as_slice() else {
        panic!("{:?}", set.questions)
    };
    assert_eq!(question.relevant, HashSet::from(["a".to_owned()]));
    let named = [
        "line 2: `a` is judged otherwise",
        "line 3: a question",
        "line 4: a question",
        "line 2: unknown variant",
    ];
    for (line, part) in set.left_out.iter().zip(named) {
        assert!(line.contains(part), "{part}: {:?}", set.left_out);
    }
    assert_eq!(set.left_out.len(), named.len(), "{:?}", set.left_out);
}

#[test]
fn both_layouts_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "queries.jsonl",
        "{\"_id\": \"q1\", \"text\": \"?\"}\n{\"_id\": \"q2\", \"text\": \"no judgement\"}\n",
    );
    write(
        "qrels.tsv",
        "query-id\tcorpus-id\tscore\nq1\ta/x.md\t1\nq1\tb\t0\n",
    );
    fs::create_dir_all(folder.path().join("docs/a")).unwrap();
    write("docs/a/x.md", "# X");
    let set =
        EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv", DEFAULT_SOURCE).unwrap();
    assert_eq!(set.documents.len(), 1);
    assert_eq!(
        set.documents.first().unwrap().document_id.as_deref(),
        Some("a/x.md")
    );
    assert_eq!(set.questions.len(), 1);
    assert_eq!(
        set.questions.first().unwrap().relevant,
        HashSet::from(["a/x.md".to_owned()])
    );
    write(
        "corpus.jsonl",
        "{\"_id\": \"a/x.md\", \"title\": \"\", \"text\": \"body\"}",
    );
    let set =
        EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv", DEFAULT_SOURCE).unwrap();
    assert_eq!(set.documents.first().unwrap().title, None);
    let read = EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv", "wiki");
    let set = read.unwrap();
    assert_eq!(set.documents.first().unwrap().source, "wiki");
}

#[test]
fn what_cannot_be_used_is_named_with_its_line_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "corpus.jsonl",
        "{\"_id\": \"b\", \"text\": \"x\"}\nnonsense\n{\"_id\": \"\", \"text\": \"x\"}\n{\"_id\": \"b\", \"text\": \"y\"}\n",
    );
    let question = |id: &str, text: &str| format!("{{\"_id\": \"{id}\", \"text\": \"{text}\"}}\n");
    let lines = [
        question("good", "?"),
        question("empty", "  "),
        question("other part", "?"),
        "{}\n".to_owned(),
        question("alone", "?"),
        question("good", "again"),
    ];
    write("queries.jsonl", &lines.concat());
    write(
        "qrels.tsv",
        "query-id\tcorpus-id\tscore\ngood\tb\t1\nempty\tb\t1\nalone\tnowhere\t1\ngood\tb\n无\tb\t1\ngone\tb\t1\n",
    );
    let set =
        EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv", DEFAULT_SOURCE).unwrap();
    assert_eq!((set.documents.len(), set.questions.len()), (1, 1));
    let said = [
        "corpus.jsonl line 2: ",
        "corpus.jsonl line 3: `document_id` has 0 bytes",
        "corpus.jsonl line 4: document `b` is there already",
        "qrels.tsv line 4: there is no document `nowhere`",
        "qrels.tsv line 5: ",
    ];
    let said = said.into_iter().chain([
        "queries.jsonl line 2: question `empty` is empty",
        "queries.jsonl line 3: question `other part` has no row in ",
        "queries.jsonl line 4: ",
        "queries.jsonl line 5: ",
        "queries.jsonl line 6: question `good` is there already",
        "queries.jsonl does not have: 2 (`gone`, `无`)",
    ]);
    for (line, said) in set.left_out.iter().zip(said) {
        assert!(line.contains(said), "{said} is not in {line}");
    }
    assert_eq!(set.left_out.len(), 11, "{:?}", set.left_out);
}

#[test]
fn what_nothing_answers_is_kept_apart_and_documents_are_held_back() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let document = |id: char| format!("{{\"_id\": \"{id}\", \"text\": \"x\"}}\n");
    write(
        "corpus.jsonl",
        &"abc".chars().map(document).collect::<String>(),
    );
    write(
        "queries.jsonl",
        "{\"_id\": \"1\", \"text\": \"?\", \"answers\": [\"so\"]}\n{\"_id\": \"2\", \"text\": \"?\"}\n\
         {\"_id\": \"3\", \"text\": \"?\"}\n{\"_id\": \"no\", \"text\": \"?\", \"unanswerable\": true}\n\
         {\"_id\": \"both\", \"text\": \"?\", \"unanswerable\": true}\n",
    );
    write(
        "qrels.tsv",
        "query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t1\n2\tb\t1\n3\tb\t1\n3\tc\t1\nboth\ta\t1\n",
    );
    let ids = |questions: &[Question]| -> Vec<String> {
        questions
            .iter()
            .map(|question| question.id.clone())
            .collect()
    };
    let set =
        EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv", DEFAULT_SOURCE).unwrap();
    assert_eq!(ids(&set.questions), ["1", "2", "3"]);
    assert_eq!(set.questions[0].answers, ["so"]);
    assert_eq!(ids(&set.unanswerable), ["no"]);
    assert!(set.left_out[0].contains("`both` is unanswerable and has an answer"));
    let held = set.held_back(NonZeroUsize::new(2).unwrap());
    assert_eq!(held.documents.len(), 2, "b answers question 2");
    assert_eq!(ids(&held.questions), ["1", "3"]);
    assert_eq!(ids(&held.unanswerable), ["no", "2"]);
    assert!(held.unanswerable[1].relevant.is_empty());
}

#[test]
fn a_set_without_a_question_that_can_be_asked_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("corpus.jsonl", "{\"_id\": \"b\", \"text\": \"x\"}\n");
    write("queries.jsonl", "{\"_id\": \"q\", \"text\": \"\"}\n");
    write("qrels.tsv", "query-id\tcorpus-id\tscore\nq\tb\t1\n");
    let error = EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv", DEFAULT_SOURCE)
        .unwrap_err();
    assert!(
        error.to_string().contains("question `q` is empty"),
        "{error}"
    );
}

#[test]
fn documents_may_be_named_by_the_id_that_they_are_published_under() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    fs::create_dir_all(folder.path().join("docs/a")).unwrap();
    write("docs/a/x.md", "# X");
    write("queries.jsonl", "{\"_id\": \"q\", \"text\": \"?\"}\n");
    let published = derive_document_id("wiki", "a/x.md");
    write("qrels.tsv", &format!("q\t{published}\t1\nq\ta/x.md\t0\n"));
    let read = |source| EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv", source);
    let set = read("wiki").unwrap();
    assert_eq!(set.questions[0].relevant, HashSet::from(["a/x.md".into()]));
    assert!(
        set.left_out[0].contains("judged otherwise"),
        "{:?}",
        set.left_out
    );
    assert!(read("other").is_err(), "there it has another id");
}

#[test]
fn other_encodings_and_misspelt_fields_are_named_and_faults_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).unwrap();
    write("corpus.jsonl", b"{\"_id\": \"b\", \"text\": \"x\"}\r\n");
    write(
        "queries.jsonl",
        b"{\"_id\": \"q\", \"text\": \"?\", \"anwsers\": [\"x\"], \"Level\": \"\", \"metadata\": {}, \"type\": 1}\r\n\
          {\"_id\": \"\xd6\xd0\", \"text\": \"\xce\xc4\"}\nnonsense\n{\"_id\": \"elsewhere\", \"text\": \"?\"}\n",
    );
    write("qrels.tsv", b"q\tb\t1\r\n");
    let set = EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv", "eval").unwrap();
    let said = [
        "queries.jsonl line 2 is not UTF-8; `iconv",
        "queries.jsonl line 3: expected",
        "queries.jsonl line 4: question `elsewhere` has no row",
        "`Level` is no field of a question (1×); is `level` meant?",
        "`anwsers` is no field of a question (1×); is `answers` meant?",
    ];
    for (line, said) in set.left_out.iter().zip(said) {
        assert!(line.contains(said), "{said} is not in {line}");
    }
    assert_eq!(set.left_out.len(), said.len(), "{:?}", set.left_out);
    assert_eq!(set.faulty, 2);
    let mostly = set.mostly_faulty();
    assert_eq!(mostly.as_deref(), Some("2 of 3 questions cannot be asked"));
}
