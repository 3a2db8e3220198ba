//! Answers as models write them and as nobody should, from a seed.

/// The same numbers in every run (PCG).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        let step = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = step.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) ^ (self.0 >> 59)
    }

    /// From 0, less than `end`.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap();
        usize::try_from(self.next() % end).unwrap()
    }

    fn of<'a>(&mut self, these: &[&'a str]) -> &'a str {
        these[self.below(these.len())]
    }
}

/// An answer of a model, and what may be shown of it.
#[derive(Default)]
pub struct Written {
    pub text: String,
    pub expected: String,
    /// What its code holds.
    pub code: Vec<String>,
    /// Sources in the order of their first citation.
    pub cited: Vec<u32>,
}

const WORDS: [&str; 14] = [
    "定时器",
    "保护",
    "随机接入，",
    "重试",
    "了",
    "the timer",
    "T300",
    "guards",
    "access.",
    "0.3 MPa",
    "[sic]",
    "[-1, 1]",
    "[0, 1]",
    "(see above)",
];
const CODE: [&str; 8] = [
    "a[9]",
    "x[1]",
    "b[8][7]",
    "v[i, 9]",
    "[[9]]",
    "m[1:9]",
    "数组[9]",
    "[^9]",
];
/// Ways to cite `N`.
const FORMS: [&str; 19] = [
    "[N]",
    "[ N ]",
    "【N】",
    "［N］",
    "[^N]",
    "[[N]]",
    "\\[N\\]",
    "[来源N]",
    "[source N]",
    "[**N**]",
    "[N](http://evil.example/x)",
    "&#91;N&#93;",
    "[<b>N</b>]",
    "[\u{200b}N]",
    "〔N〕",
    "[N.]",
    "[no. N]",
    "(source N)",
    "（来源N）",
];

impl Written {
    fn both(&mut self, text: &str) {
        self.text.push_str(text);
        self.expected.push_str(text);
    }

    fn cite(&mut self, number: u32) {
        self.expected.push_str(&format!("[{number}]"));
        if !self.cited.contains(&number) {
            self.cited.push(number);
        }
    }

    /// Something within a line.
    fn inline(&mut self, random: &mut Random, sources: u32) {
        match random.below(12) {
            0..=4 => self.both(random.of(&WORDS)),
            5..=7 => self.citation(random, sources),
            8 => self.list(random, sources),
            9 => self.range(random, sources),
            10 => {
                let code = random.of(&CODE);
                let marks = random.of(&["`", "``"]);
                self.both(&format!("{marks}{code}{marks}"));
                self.code.push(code.to_owned());
            }
            _ => {
                self.both("[the ");
                self.citation(random, sources);
                self.both(" manual](http://x.example/a)");
            }
        }
    }

    /// One number, or several that follow each other, given or not.
    fn citation(&mut self, random: &mut Random, sources: u32) {
        let end = usize::try_from(2 * sources + 1).unwrap();
        let drawn = u32::try_from(random.below(end)).unwrap();
        let number = match random.below(20) {
            0 => 4_000_000_000,
            _ => drawn,
        };
        let form = random.of(&FORMS);
        self.text.push_str(&form.replace("N", &number.to_string()));
        if (1..=sources).contains(&number) {
            self.cite(number);
        }
    }

    fn list(&mut self, random: &mut Random, sources: u32) {
        let separator = random.of(&[", ", ",", "，", "、", "; ", " and ", "和"]);
        let count = 2 + random.below(3);
        let numbers = (0..count).map(|_| 1 + u32::try_from(random.below(9)).unwrap());
        let numbers: Vec<u32> = numbers.collect();
        let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
        self.text.push_str(&format!("[{}]", texts.join(separator)));
        for number in numbers.into_iter().filter(|number| *number <= sources) {
            self.cite(number);
        }
    }

    fn range(&mut self, random: &mut Random, sources: u32) {
        let from = 1 + u32::try_from(random.below(4)).unwrap();
        let to = from + u32::try_from(random.below(6)).unwrap();
        let dash = random.of(&["-", "–", "~"]);
        self.text.push_str(&format!("[{from}{dash}{to}]"));
        for number in (from..=to).filter(|number| *number <= sources) {
            self.cite(number);
        }
    }

    fn line(&mut self, random: &mut Random, sources: u32, before: &str) {
        // Neither code nor a definition begins with a word.
        self.both(&format!("{before}甲 "));
        for _ in 0..1 + random.below(6) {
            self.inline(random, sources);
            self.both(" ");
        }
        self.both("\n");
    }

    fn block(&mut self, random: &mut Random, sources: u32) {
        match random.below(8) {
            0 => self.fence(random, ""),
            1 => {
                self.line(random, sources, "- ");
                self.fence(random, "  ");
            }
            2 => {
                self.line(random, sources, "> ");
                self.fence(random, "> ");
            }
            3 => {
                self.both("| a | b |\n|---|---|\n");
                for _ in 0..2 {
                    self.both("| 乙 ");
                    self.citation(random, sources);
                    self.both(" | 丙 ");
                    self.citation(random, sources);
                    self.both(" |\n");
                }
            }
            4 => {
                let code = random.of(&CODE);
                self.both(&format!("    {code}\n"));
                self.code.push(format!("{code}\n"));
            }
            5 => self.line(random, sources, "## "),
            6 => (1..4).for_each(|at| self.line(random, sources, &format!("{at}. "))),
            _ => self.line(random, sources, ""),
        }
        // What ends a list: otherwise indentation would belong to it.
        self.both("\n丁\n\n");
    }

    fn fence(&mut self, random: &mut Random, before: &str) {
        let marks = random.of(&["```", "~~~", "````"]);
        let language = random.of(&["", "py", " c"]);
        self.both(&format!("{before}{marks}{language}\n"));
        let mut block = String::new();
        for _ in 0..1 + random.below(3) {
            let code = random.of(&CODE);
            self.both(&format!("{before}{code}\n"));
            block.push_str(&format!("{code}\n"));
        }
        self.both(&format!("{before}{marks}\n"));
        self.code.push(block);
    }
}

/// Of a sentence and one to five blocks.
pub fn answer(random: &mut Random, sources: u32) -> Written {
    let mut written = Written::default();
    written.both("戊\n\n");
    for _ in 0..1 + random.below(5) {
        written.block(random, sources);
    }
    written
}

/// What citations, code and links are made of, put together at random.
pub fn debris(random: &mut Random) -> String {
    const PIECES: [&str; 68] = [
        "[",
        "]",
        "[",
        "]",
        "【",
        "】",
        "［",
        "］",
        "1",
        "2",
        "9",
        "8",
        "９",
        ",",
        "，",
        "-",
        "~",
        "^",
        "`",
        "`",
        "``",
        "```",
        "~~~",
        "\n",
        "\n",
        "\n\n",
        "    ",
        "\t",
        " ",
        " ",
        "- ",
        "> ",
        "1. ",
        "# ",
        "|",
        "|---|\n",
        "\\",
        "\\[",
        "\\]",
        "\\`",
        "*",
        "**",
        "_",
        "~~",
        "&#91;",
        "&#93;",
        "&#",
        "57;",
        "&lsqb;",
        "&rbrack;",
        "<b>",
        "</b>",
        "<div>\n",
        "</div>\n\n",
        "<!--",
        "-->",
        "<",
        ">",
        "(http://x)",
        "(",
        ")",
        "\u{200b}",
        "〔",
        "〕",
        "٩",
        " and ",
        "no. ",
        ".",
    ];
    const WHOLE: [&str; 12] = [
        "[9]",
        "[1]",
        "[9](x)",
        "[8]: http://x\n",
        "a",
        "甲",
        "$",
        "![",
        "][",
        "[x",
        "source ",
        "来源",
    ];
    let mut text = String::new();
    for _ in 0..2 + random.below(24) {
        text.push_str(match random.below(4) {
            0 => random.of(&WHOLE),
            _ => random.of(&PIECES),
        });
    }
    text
}
