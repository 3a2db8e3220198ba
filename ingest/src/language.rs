//! The language of a document that does not say which it is in.

use std::sync::LazyLock;

use regex::Regex;
use tributary_convert::lines::Fences;
use tributary_taxonomy::language::{CHINESE_SHARE, is_han, is_kana};
use whatlang::Lang;

/// Characters that tell: the first ones of the prose.
const TELLING_CHARACTERS: usize = 8000;

/// Bytes in which they are looked for: about the first ones of the text without its code.
const LOOKED_AT: usize = 64 * 1024;

/// Fewer letters of an alphabet tell nothing: a name or two fit several languages.
const LEAST_LETTERS: usize = 40;

/// Fewer characters of Chinese, Japanese or Korean tell nothing.
const LEAST_EAST_ASIAN: usize = 10;

/// Inline code, formulas, HTML, targets of links, addresses, paths and identifiers.
#[allow(clippy::expect_used, reason = "a constant, compiled by a test")]
static NO_PROSE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"`[^`\n]*`|\$[^$\n]*\$|<[^<>]*>|\]\([^)]*\)|&\w+;|https?://[!-~]+|[A-Za-z0-9]*[_./\\=@][A-Za-z0-9_./\\=@-]+",
    )
    .expect("the expression is one")
});

/// The BCP 47 tag of the language that most of the text of a Markdown document is in; `None` where
/// too little of it is text, or where it fits several languages. Code, formulas, addresses and HTML
/// do not count.
pub fn language_of(markdown: &str) -> Option<&'static str> {
    let letters = letters_of(markdown);
    let only = |is_wanted: fn(char) -> bool| -> String {
        let kept = letters.chars();
        kept.map(|letter| if is_wanted(letter) { letter } else { ' ' })
            .collect()
    };
    let [east_asian, other] = [only(is_east_asian), only(|letter| !is_east_asian(letter))];
    let count = |text: &str| text.chars().filter(|character| *character != ' ').count();
    let [of_east_asian, of_all] = [count(&east_asian), count(&letters)];
    let (text, count, least) = match of_east_asian as f64 >= of_all as f64 * CHINESE_SHARE {
        true => (east_asian, of_east_asian, LEAST_EAST_ASIAN),
        false => (other, of_all - of_east_asian, LEAST_LETTERS),
    };
    let found = whatlang::detect(&text).filter(|_| count >= least)?;
    found.is_reliable().then(|| tag(found.lang()))
}

/// The letters of what is prose in the beginning of a text, and spaces between its words.
fn letters_of(markdown: &str) -> String {
    let mut fences = Fences::default();
    let mut prose = String::new();
    for line in markdown.lines().filter(|line| !fences.is_code(line)) {
        if prose.len() > LOOKED_AT {
            break;
        }
        let beginning = line.get(..line.floor_char_boundary(LOOKED_AT));
        prose.push_str(beginning.unwrap_or_default());
        prose.push('\n');
    }
    NO_PROSE
        .replace_all(&prose, " ")
        .chars()
        .map(|character| {
            if character.is_alphabetic() {
                character
            } else {
                ' '
            }
        })
        .take(TELLING_CHARACTERS)
        .collect()
}

/// Chinese characters, kana and Hangul.
fn is_east_asian(character: char) -> bool {
    is_han(character) || is_kana(character) || matches!(character, '\u{ac00}'..='\u{d7af}')
}

fn tag(language: Lang) -> &'static str {
    match language {
        Lang::Epo => "eo",
        Lang::Eng => "en",
        Lang::Rus => "ru",
        Lang::Cmn => "zh",
        Lang::Spa => "es",
        Lang::Por => "pt",
        Lang::Ita => "it",
        Lang::Ben => "bn",
        Lang::Fra => "fr",
        Lang::Deu => "de",
        Lang::Ukr => "uk",
        Lang::Kat => "ka",
        Lang::Ara => "ar",
        Lang::Hin => "hi",
        Lang::Jpn => "ja",
        Lang::Heb => "he",
        Lang::Yid => "yi",
        Lang::Pol => "pl",
        Lang::Amh => "am",
        Lang::Jav => "jv",
        Lang::Kor => "ko",
        Lang::Nob => "nb",
        Lang::Dan => "da",
        Lang::Swe => "sv",
        Lang::Fin => "fi",
        Lang::Tur => "tr",
        Lang::Nld => "nl",
        Lang::Hun => "hu",
        Lang::Ces => "cs",
        Lang::Ell => "el",
        Lang::Bul => "bg",
        Lang::Bel => "be",
        Lang::Mar => "mr",
        Lang::Kan => "kn",
        Lang::Ron => "ro",
        Lang::Slv => "sl",
        Lang::Hrv => "hr",
        Lang::Srp => "sr",
        Lang::Mkd => "mk",
        Lang::Lit => "lt",
        Lang::Lav => "lv",
        Lang::Est => "et",
        Lang::Tam => "ta",
        Lang::Vie => "vi",
        Lang::Urd => "ur",
        Lang::Tha => "th",
        Lang::Guj => "gu",
        Lang::Uzb => "uz",
        Lang::Pan => "pa",
        Lang::Aze => "az",
        Lang::Ind => "id",
        Lang::Tel => "te",
        Lang::Pes => "fa",
        Lang::Mal => "ml",
        Lang::Ori => "or",
        Lang::Mya => "my",
        Lang::Nep => "ne",
        Lang::Sin => "si",
        Lang::Khm => "km",
        Lang::Tuk => "tk",
        Lang::Aka => "ak",
        Lang::Zul => "zu",
        Lang::Sna => "sn",
        Lang::Afr => "af",
        Lang::Lat => "la",
        Lang::Slk => "sk",
        Lang::Cat => "ca",
        Lang::Tgl => "tl",
        Lang::Hye => "hy",
        Lang::Cym => "cy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_tells_its_language() {
        for (text, language) in [
            (
                "The antenna is mounted on the mast before the cables are connected to it, and all of the connections are checked with care.",
                Some("en"),
            ),
            (
                "Die Antenne wird am Mast befestigt, bevor die Kabel angeschlossen werden.",
                Some("de"),
            ),
            (
                "L'antenne est fixée au mât avant que les câbles ne soient raccordés.",
                Some("fr"),
            ),
            (
                "Антенна крепится к мачте до подключения кабелей, после чего мастер проверяет все соединения и записывает результаты в журнал.",
                Some("ru"),
            ),
            ("天线安装在抱杆上，然后连接线缆。", Some("zh")),
            ("天線安裝在抱桿上，然後連接線纜。", Some("zh")),
            (
                "ケーブルを接続する前に、アンテナをマストに取り付けます。",
                Some("ja"),
            ),
            (
                "케이블을 연결하기 전에 안테나를 마스트에 설치합니다.",
                Some("ko"),
            ),
            (
                "يتم تركيب الهوائي على الصاري قبل توصيل الكابلات وفحص جميع الوصلات بعناية",
                Some("ar"),
            ),
            ("RRU5900", None),
            ("安装", None),
            ("", None),
        ] {
            assert_eq!(language_of(text), language, "{text}");
        }
    }

    #[test]
    fn code_names_and_addresses_do_not_count() {
        let english = "int main(void) { return the_answer_to_everything(); }\n".repeat(20);
        let chinese = format!(
            "# mindspore.nn.Conv2d\n\n构造二维卷积层，见[API](https://example.org/the/long/address/of/it)。\n\n```c\n{english}```\n\n            `in_channels`是输入的通道数，`out_channels`是输出的通道数。\n"
        );
        assert_eq!(language_of(&chinese), Some("zh"));
        assert_eq!(language_of(&format!("```c\n{english}```\n")), None);
    }
}
