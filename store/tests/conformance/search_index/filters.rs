//! Filters: what they let through, and that they fail closed.

use tributary_schemas::{Access, Viewer};

use super::*;

/// Documents with one chunk each and different attributes; ids 1 to 4.
async fn filterable(index: &dyn SearchIndex, name: &str) {
    fresh(index, name).await;
    let with = |id: u128, change: &dyn Fn(&mut DocumentHeader)| {
        let mut document = header(&format!("d{id}"), 1);
        change(&mut document);
        replace(document, &[(id, "a")])
    };
    let first = with(1, &|document| {
        document.tags = vec!["x".into(), "y".into()];
        document.knowledge_sets = vec!["one".into()];
        document.attributes.product = Some("核心网".into());
        document.attributes.security_level = Some(0);
        document.attributes.updated_at = Some(1_000);
    });
    let second = with(2, &|document| {
        document.tags = vec!["y".into()];
        document.knowledge_sets = vec!["one".into(), "two".into()];
        document.source = "mail".into();
        document.attributes.security_level = Some(2);
        document.attributes.updated_at = Some(2_000);
        document.attributes.product_version = Some("1.2".into());
        document.attributes.department = Some("RAN".into());
        document.attributes.custom = [("分类".to_owned(), "a=b".to_owned())].into();
    });
    let third = with(3, &|document| {
        document.attributes.language = Some("zh".into());
        document.attributes.security_level = Some(5);
        document.attributes.updated_at = Some(-5);
    });
    apply(index, name, vec![first, second]).await;
    apply(index, name, vec![third, with(4, &|_| ())]).await;
}

/// Both tier-1 queries return exactly these chunks under a filter.
async fn passes(index: &dyn SearchIndex, filter: Filter, expected: &[u128]) {
    let expected = set(expected.iter().copied());
    assert_eq!(
        ids(&keyword(index, "a", &filter, ALL).await),
        expected,
        "{filter:?}"
    );
    assert_eq!(
        ids(&vector(index, &unit(1, DIMENSIONS), &filter, ALL).await),
        expected,
        "{filter:?}"
    );
}

/// Documents with one chunk each and different rights; ids 1 to 7.
async fn with_rights(index: &dyn SearchIndex, name: &str) {
    fresh(index, name).await;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let said = |groups: &[&str], users: &[&str]| {
        Some(Access {
            groups: Some(names(groups)),
            users: Some(names(users)),
        })
    };
    let documents = [
        (1, None, None),
        (2, None, Some(2)),
        (3, Some(Access::default()), Some(1)),
        (4, said(&["无线", "b"], &[]), None),
        (5, said(&["b"], &["u"]), Some(2)),
        (6, said(&["c"], &[]), Some(0)),
        (7, said(&[], &[]), None),
    ];
    let operations = documents.map(|(id, access, level)| {
        let mut document = header(&format!("d{id}"), 1);
        document.attributes.access = access;
        document.attributes.security_level = level;
        replace(document, &[(id, "a")])
    });
    apply(index, name, operations.into()).await;
}

/// Rights hold beside the conditions of a filter, in both queries, as [`Viewer::sees`] says.
pub async fn rights_hold_inside_every_query(index: &dyn SearchIndex) {
    with_rights(index, "rights").await;
    let viewer = |groups: &[&str], user: Option<&str>, clearance, sees_unstated| Filter {
        viewer: Some(Viewer {
            groups: groups.iter().map(|name| (*name).to_owned()).collect(),
            user: user.map(str::to_owned),
            clearance,
            sees_unstated,
            ..Viewer::default()
        }),
        ..Filter::default()
    };
    passes(index, Filter::default(), &[1, 2, 3, 4, 5, 6, 7]).await;
    let table: [(Filter, &[u128]); 10] = [
        (viewer(&[], None, 0, false), &[]),
        (viewer(&[], None, 255, false), &[3]),
        (viewer(&[], None, 0, true), &[1]),
        (viewer(&[], None, 2, true), &[1, 2, 3]),
        (viewer(&["无线"], None, 0, false), &[4]),
        (viewer(&["b"], None, 1, false), &[3, 4]),
        (viewer(&["b"], None, 2, true), &[1, 2, 3, 4, 5]),
        (viewer(&["u", "B"], Some("c"), 255, false), &[3]),
        (viewer(&["c"], Some("u"), 2, false), &[3, 5, 6]),
        (
            Filter {
                viewer: Some(Viewer::nobody()),
                ..Filter::default()
            },
            &[],
        ),
    ];
    for (filter, expected) in table {
        passes(index, filter, expected).await;
    }
    let mut withheld = viewer(&["b"], None, 2, true);
    if let Some(viewer) = withheld.viewer.as_mut() {
        viewer.withheld = ["d4", "d2", "d9"].map(str::to_owned).into();
    }
    passes(index, withheld, &[1, 3, 5]).await;
    let also_by_level = Filter {
        max_security_level: Some(1),
        ..viewer(&["b"], Some("u"), 2, true)
    };
    passes(index, also_by_level, &[3]).await;
    // Other rights with the same content hold with the next flush.
    let mut document = header("d6", 2);
    document.attributes.access = Some(Access::default());
    apply(index, "rights", vec![replace(document, &[(6, "a")])]).await;
    passes(index, viewer(&["c"], None, 0, false), &[6]).await;
    passes(index, viewer(&[], None, 0, false), &[6]).await;
}

/// A chunk has the higher level of its own and of its document, in both queries; an update raises
/// and lowers it.
pub async fn levels_of_chunks_hold_beside_those_of_their_documents(index: &dyn SearchIndex) {
    fresh(index, "levels").await;
    let cleared_for = |clearance| Filter {
        viewer: Some(Viewer {
            clearance,
            ..Viewer::default()
        }),
        ..Filter::default()
    };
    let at_most = |level| Filter {
        max_security_level: Some(level),
        ..Filter::default()
    };
    let write = async |version, of_document, of_chunks: [Option<u8>; 3]| {
        let mut document = header("d1", version);
        document.attributes.access = Some(Access::default());
        document.attributes.security_level = of_document;
        let mut operation = replace(document, &[(1, "a"), (2, "a"), (3, "a")]);
        if let Operation::Replace { chunks, .. } = &mut operation {
            for (chunk, level) in chunks.iter_mut().zip(of_chunks) {
                chunk.security_level = level;
            }
        }
        apply(index, "levels", vec![operation]).await;
    };
    write(1, None, [None, Some(2), Some(255)]).await;
    passes(index, Filter::default(), &[1, 2, 3]).await;
    passes(index, cleared_for(0), &[1]).await;
    passes(index, cleared_for(2), &[1, 2]).await;
    passes(index, cleared_for(255), &[1, 2, 3]).await;
    passes(index, at_most(2), &[2]).await;
    write(2, Some(1), [None, Some(3), Some(0)]).await;
    passes(index, cleared_for(0), &[]).await;
    passes(index, cleared_for(1), &[1, 3]).await;
    passes(index, at_most(1), &[1, 3]).await;
    passes(index, at_most(3), &[1, 2, 3]).await;
    write(3, Some(0), [Some(4), None, None]).await;
    passes(index, cleared_for(3), &[2, 3]).await;
    let stored = index.fetch(None, &[ChunkId(1)]).await.unwrap();
    let level = stored[0].as_ref().unwrap().chunk.security_level;
    assert_eq!(level, Some(4), "it is read with the text");
}

/// Pictures find the chunks that show them, as rights allow.
pub async fn a_filter_by_picture_finds_chunks_that_show_it(index: &dyn SearchIndex) {
    fresh(index, "pictures").await;
    let mut document = header("d1", 1);
    document.attributes.access = Some(Access::default());
    let mut operation = replace(document, &[(1, "a"), (2, "b")]);
    if let Operation::Replace { chunks, .. } = &mut operation {
        chunks[1].images = vec!["blob:1".into(), "https://x/图".into()];
    }
    apply(index, "pictures", vec![operation]).await;
    let nearest = async |images: &[&str], viewer: Option<Viewer>| {
        let filter = Filter {
            images: some(images),
            viewer,
            ..Filter::default()
        };
        ids(&vector(index, &unit(1, DIMENSIONS), &filter, ALL).await)
    };
    assert_eq!(nearest(&["blob:1"], None).await, set([2]));
    assert_eq!(
        nearest(&["https://x/图"], Some(Viewer::default())).await,
        set([2])
    );
    assert!(
        nearest(&["blob:1"], Some(Viewer::nobody()))
            .await
            .is_empty()
    );
    assert!(nearest(&["blob:2"], None).await.is_empty());
}

/// "Conditions are joined by AND, the values of one condition by OR."
pub async fn filters_let_through_what_they_name(index: &dyn SearchIndex) {
    filterable(index, "filters").await;
    let none = Filter::default;
    passes(index, none(), &[1, 2, 3, 4]).await;
    passes(
        index,
        Filter {
            tags: some(&["x"]),
            ..none()
        },
        &[1],
    )
    .await;
    passes(
        index,
        Filter {
            tags: some(&["x", "y", "unknown"]),
            ..none()
        },
        &[1, 2],
    )
    .await;
    passes(
        index,
        Filter {
            tags: some(&["y"]),
            knowledge_sets: some(&["two"]),
            ..none()
        },
        &[2],
    )
    .await;
    passes(
        index,
        Filter {
            knowledge_sets: some(&["one", "two"]),
            ..none()
        },
        &[1, 2],
    )
    .await;
    passes(
        index,
        Filter {
            sources: some(&["wiki"]),
            ..none()
        },
        &[1, 3, 4],
    )
    .await;
    passes(
        index,
        Filter {
            products: some(&["核心网"]),
            ..none()
        },
        &[1],
    )
    .await;
    passes(
        index,
        Filter {
            product_versions: some(&["1.2"]),
            ..none()
        },
        &[2],
    )
    .await;
    passes(
        index,
        Filter {
            languages: some(&["zh"]),
            ..none()
        },
        &[3],
    )
    .await;
    for (name, values, expected) in [
        ("department", ["RAN", "Core"], &[2][..]),
        ("分类", ["a=b", "c"], &[2]),
        ("分类", ["a", "b"], &[]),
        ("product", ["核心网", "?"], &[1]),
    ] {
        let filter = Filter {
            attributes: Some([(name.to_owned(), values.map(str::to_owned).to_vec())].into()),
            ..none()
        };
        passes(index, filter, expected).await;
    }
    passes(
        index,
        Filter {
            document_ids: some(&["d4", "d2"]),
            ..none()
        },
        &[2, 4],
    )
    .await;
    passes(
        index,
        Filter {
            max_security_level: Some(2),
            ..none()
        },
        &[1, 2],
    )
    .await;
    passes(
        index,
        Filter {
            max_security_level: Some(0),
            ..none()
        },
        &[1],
    )
    .await;
    passes(
        index,
        Filter {
            updated_from_ms: Some(1_000),
            ..none()
        },
        &[1, 2],
    )
    .await;
    passes(
        index,
        Filter {
            updated_before_ms: Some(2_000),
            ..none()
        },
        &[1, 3],
    )
    .await;
    passes(
        index,
        Filter {
            updated_from_ms: Some(0),
            updated_before_ms: Some(2_000),
            ..none()
        },
        &[1],
    )
    .await;
}

/// "`None` sets no condition, an empty list matches nothing, and a document without the attribute
/// does not match a condition on it."
pub async fn filters_fail_closed(index: &dyn SearchIndex) {
    filterable(index, "closed").await;
    let none = Filter::default;
    let empty = || Some(vec![]);
    let conditions = [
        Filter {
            tags: empty(),
            ..none()
        },
        Filter {
            knowledge_sets: empty(),
            ..none()
        },
        Filter {
            sources: empty(),
            ..none()
        },
        Filter {
            products: empty(),
            ..none()
        },
        Filter {
            product_versions: empty(),
            ..none()
        },
        Filter {
            languages: empty(),
            ..none()
        },
        Filter {
            document_ids: empty(),
            ..none()
        },
        Filter {
            attributes: Some([("department".to_owned(), Vec::new())].into()),
            ..none()
        },
        Filter {
            tags: some(&["unknown"]),
            ..none()
        },
        Filter {
            tags: some(&[""]),
            ..none()
        },
        Filter {
            tags: some(&["x"]),
            knowledge_sets: empty(),
            ..none()
        },
        Filter {
            tags: some(&["x"]),
            sources: some(&["mail"]),
            ..none()
        },
        // The value of another condition, and a value that only looks like a term.
        Filter {
            tags: some(&["wiki"]),
            ..none()
        },
        Filter {
            products: some(&["tag=x"]),
            ..none()
        },
        Filter {
            updated_from_ms: Some(i64::MAX),
            ..none()
        },
        Filter {
            updated_before_ms: Some(i64::MIN),
            ..none()
        },
    ];
    for filter in conditions {
        passes(index, filter, &[]).await;
    }
    passes(
        index,
        Filter {
            max_security_level: Some(u8::MAX),
            ..none()
        },
        &[1, 2, 3],
    )
    .await;
    passes(
        index,
        Filter {
            updated_from_ms: Some(i64::MIN),
            ..none()
        },
        &[1, 2, 3],
    )
    .await;
}

/// A document may have chunks of several kinds: a condition on kinds is on chunks.
pub async fn a_filter_by_kind_finds_chunks_of_that_kind_only(index: &dyn SearchIndex) {
    fresh(index, "kinds").await;
    let kinds = [
        (1, ChunkKind::CodeFile),
        (2, ChunkKind::CodeFunction),
        (3, ChunkKind::CodeFunction),
        (4, ChunkKind::Leaf),
    ];
    let of_kinds = |document: DocumentHeader, first: u128| {
        let numbered = kinds.iter().enumerate();
        let chunks = numbered.map(|(ordinal, (id, kind))| Chunk {
            kind: *kind,
            ..chunk(first + id, ordinal, "a")
        });
        Operation::Replace {
            document: Box::new(document),
            chunks: chunks.collect(),
            vectors: kinds.map(|(id, _)| vectors((first + id) as u64)).to_vec(),
        }
    };
    let tagged = DocumentHeader {
        tags: vec!["x".into()],
        ..header("d1", 1)
    };
    let both = vec![of_kinds(tagged, 0), of_kinds(header("d2", 1), 10)];
    apply(index, "kinds", both).await;
    let of = |kinds: &[ChunkKind]| Filter {
        kinds: Some(kinds.to_vec()),
        ..Filter::default()
    };
    passes(index, of(&[ChunkKind::CodeFile]), &[1, 11]).await;
    passes(index, of(&[ChunkKind::CodeFunction]), &[2, 3, 12, 13]).await;
    let two = of(&[ChunkKind::Leaf, ChunkKind::CodeFile]);
    passes(index, two.clone(), &[1, 4, 11, 14]).await;
    let tags = some(&["x"]);
    passes(index, Filter { tags, ..two }, &[1, 4]).await;
    passes(index, of(&[ChunkKind::Faq]), &[]).await;
    passes(index, of(&[]), &[]).await;
    let tags = some(&["kind=code_file"]);
    passes(
        index,
        Filter {
            tags,
            ..Filter::default()
        },
        &[],
    )
    .await;
}

/// "A query returns `limit` hits if so many chunks pass."
pub async fn filters_apply_before_the_limit(index: &dyn SearchIndex) {
    fresh(index, "before-limit").await;
    // The ones that pass are the worst by every score.
    let good: Vec<Operation> = (0..40)
        .map(|id| replace(header(&format!("good{id}"), 1), &[(id, "a a a a")]))
        .collect();
    let rare = |id: u128| {
        let document = DocumentHeader {
            tags: vec!["rare".into()],
            ..header(&format!("rare{id}"), 1)
        };
        replace(document, &[(id, "a b b b b b b b b b b b b b b")])
    };
    apply(
        index,
        "before-limit",
        good.into_iter().chain((100..105).map(rare)).collect(),
    )
    .await;
    let filter = Filter {
        tags: some(&["rare"]),
        ..Filter::default()
    };
    assert_eq!(keyword(index, "a", &filter, 3).await.len(), 3);
    assert_eq!(
        vector(index, &unit(0, DIMENSIONS), &filter, 3).await.len(),
        3
    );
    assert_eq!(keyword(index, "a", &filter, ALL).await.len(), 5);
    assert_eq!(
        vector(index, &unit(0, DIMENSIONS), &filter, ALL)
            .await
            .len(),
        5
    );
}
