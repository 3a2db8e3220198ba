//! Names of tables that want quotes and have none: those of files are often `2023-sales` or `204_817`,
//! which a model writes as they are.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::Readable;

/// Behind `FROM` and `JOIN`, signs that are the name of a table only when they are taken together
/// become that name.
pub(super) fn quoted(tokens: Vec<Token>, tables: &[Readable]) -> Vec<Token> {
    let mut taken = Vec::with_capacity(tokens.len());
    let mut left = tokens.into_iter().peekable();
    let mut is_place = false;
    while let Some(token) = left.next() {
        if matches!(token, Token::Whitespace(_)) {
            taken.push(token);
            continue;
        }
        if !is_place {
            is_place = is_before_a_table(&token);
            taken.push(token);
            continue;
        }
        is_place = is_before_a_table(&token);
        let mut run = vec![token];
        while let Some(next) = left.next_if(|next| !ends_a_name(next)) {
            run.push(next);
        }
        match named(&run, tables) {
            Some(name) => taken.push(Token::make_word(name, Some('"'))),
            None => taken.append(&mut run),
        }
    }
    taken
}

fn is_before_a_table(token: &Token) -> bool {
    let Token::Word(word) = token else {
        return false;
    };
    matches!(word.keyword, Keyword::FROM | Keyword::JOIN)
}

fn ends_a_name(token: &Token) -> bool {
    let is_sign = [Token::Comma, Token::LParen, Token::RParen, Token::SemiColon];
    matches!(token, Token::Whitespace(_)) || is_sign.contains(token)
}

/// The table of that name, where the signs are no word by themselves.
fn named<'a>(run: &[Token], tables: &'a [Readable]) -> Option<&'a str> {
    if let [Token::Word(_)] = run {
        return None;
    }
    let written: String = run.iter().map(Token::to_string).collect();
    let mut names = tables.iter().map(|table| table.name.as_str());
    names.find(|name| name.to_lowercase() == written.to_lowercase())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sqlparser::dialect::SQLiteDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    #[test]
    fn names_that_want_quotes_get_them_where_a_table_stands() {
        let table = |name: &str| Readable {
            name: name.to_owned(),
            database: String::new(),
            stored: String::new(),
            columns: Vec::new(),
            numbers: Vec::new(),
            texts: Vec::new(),
            row_id: None,
        };
        let tables = ["204_817", "2023-sales", "销量-2023", "Plain"].map(table);
        let cases = [
            ("SELECT a FROM 204_817", "SELECT a FROM \"204_817\""),
            (
                "select 2023-1 from 2023-Sales s join 204_817 on 1=1",
                "select 2023-1 from \"2023-sales\" s join \"204_817\" on 1=1",
            ),
            (
                "SELECT a FROM (SELECT b FROM 销量-2023) WHERE a > 204",
                "SELECT a FROM (SELECT b FROM \"销量-2023\") WHERE a > 204",
            ),
            ("SELECT a FROM plain, x", "SELECT a FROM plain, x"),
            ("SELECT a FROM 2023-other", "SELECT a FROM 2023-other"),
            (
                "SELECT a FROM \"2023-sales\"",
                "SELECT a FROM \"2023-sales\"",
            ),
            ("FROM", "FROM"),
        ];
        for (written, expected) in cases {
            let tokens = Tokenizer::new(&SQLiteDialect {}, written)
                .tokenize()
                .unwrap();
            let quoted: String = quoted(tokens, &tables)
                .iter()
                .map(Token::to_string)
                .collect();
            assert_eq!(quoted, expected, "{written}");
        }
    }
}
