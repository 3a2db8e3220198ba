//! Shared by the integration tests: a token counter, the default figures, documents, and seeded
//! random Markdown.
#![allow(dead_code)]

use tributary_enrich::ChunkerConfig;
use tributary_models::TokenCounter;
use tributary_schemas::{CleanDocument, DocumentHeader};

/// One token per wide character and per four bytes of anything else: additive up to rounding and
/// easy to check by hand.
pub struct Counter;

impl TokenCounter for Counter {
    fn count(&self, text: &str) -> usize {
        let wide = text
            .chars()
            .filter(|character| character.len_utf8() > 2)
            .count();
        let narrow = text.bytes().filter(|byte| byte.is_ascii_graphic()).count();
        wide + narrow.div_ceil(4)
    }
}

/// The figures of the mission.
pub fn config() -> ChunkerConfig {
    ChunkerConfig {
        section_limit_tokens: 2000,
        leaf_minimum_tokens: 512,
        leaf_maximum_tokens: 800,
        overlap_minimum: 0.10,
        overlap_maximum: 0.15,
        summary_limit_tokens: 256,
        block_limit_tokens: 32768,
    }
}

pub fn document(markdown: &str) -> CleanDocument {
    let document = DocumentHeader {
        document_id: "d1".into(),
        version: 1,
        source: "wiki".into(),
        source_path: "a/b.md".into(),
        title: "文档".into(),
        ..DocumentHeader::default()
    };
    CleanDocument {
        document,
        markdown: markdown.into(),
        ..CleanDocument::default()
    }
}

/// Xorshift: the same seed gives the same document everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

const ZH: [&str; 8] = [
    "载波聚合",
    "基站",
    "把多个",
    "参数配置",
    "支持",
    "时延",
    "终端",
    "切换流程",
];
const EN: [&str; 8] = [
    "carrier",
    "the",
    "gNodeB",
    "is",
    "configured",
    "with",
    "handover",
    "e.g. latency",
];

fn sentence(random: &mut Random) -> String {
    let chinese = random.below(2) == 0;
    let words = 3 + random.below(20);
    let mut text = String::new();
    for _ in 0..words {
        text.push_str(if chinese {
            ZH[random.below(8)]
        } else {
            EN[random.below(8)]
        });
        if !chinese {
            text.push(' ');
        } else if random.below(8) == 0 {
            text.push('，');
        }
        if random.below(25) == 0 {
            text.push_str("`x. y` ");
        }
    }
    text.push_str(if chinese { "。" } else { ". " });
    text
}

fn block(random: &mut Random) -> String {
    match random.below(10) {
        0 => format!(
            "```c\n# not a heading\n{}```\n",
            "int a = 1; // x\n".repeat(1 + random.below(80))
        ),
        1 => format!(
            "| a | b |\n|---|---|\n{}",
            "| 参数 | 3.5 GHz |\n".repeat(1 + random.below(40))
        ),
        2 => "$$\nE = m c^2 \\\\\nx. y\n$$\n".to_owned(),
        3 => (0..1 + random.below(12))
            .map(|_| format!("- {}\n", sentence(random)))
            .collect(),
        4 => format!("> {}\n> {}\n", sentence(random), sentence(random)),
        5 => "![图](image:0)\n".to_owned(),
        _ => {
            (0..1 + random.below(25))
                .map(|_| sentence(random))
                .collect::<String>()
                + "\n"
        }
    }
}

/// A document of headings, paragraphs, lists, quotations, code, tables, formulas and images.
pub fn random_markdown(random: &mut Random) -> String {
    let mut markdown = String::new();
    for _ in 0..1 + random.below(14) {
        match random.below(6) {
            0 => markdown.push_str(&format!("\n{}\n===\n\n", ZH[random.below(8)])),
            1 => {}
            level => markdown.push_str(&format!(
                "\n{} {} {}\n",
                "#".repeat(level),
                EN[random.below(8)],
                random.below(3)
            )),
        }
        for _ in 0..random.below(10) {
            markdown.push('\n');
            markdown.push_str(&block(random));
        }
    }
    markdown.push_str("\nend");
    markdown
}
