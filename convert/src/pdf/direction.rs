//! Lines from right to left: their glyphs as they are read, names and numbers within them, which are
//! written the other way, and where the words of both stand.

use super::characters::{Character, Glyph};
use super::geometry::Area;
use super::segments::{MAXIMUM_GAP, WORD_GAP};
use super::unicode;

/// Whether a character is of words from right to left. Their figures, Arabic ones too, are written
/// from left to right.
fn is_from_right(character: char) -> bool {
    unicode::is_right_to_left(character) && !character.is_numeric()
}

/// Whether a line is written from right to left: most of it, or a third if one of its ends is.
pub(super) fn is_right_to_left(line: &[Glyph]) -> bool {
    let letters = line.iter().filter_map(drawn);
    let letters = letters.filter(|character| character.value.is_alphabetic());
    let ways: Vec<(f32, bool)> = letters
        .map(|letter| (letter.area.left, is_from_right(letter.value)))
        .collect();
    let share = ways.iter().filter(|(_, is_so)| *is_so).count();
    let by_place = |one: &&(f32, bool), other: &&(f32, bool)| one.0.total_cmp(&other.0);
    let ends = [ways.iter().min_by(by_place), ways.iter().max_by(by_place)];
    let has_end = ends.iter().flatten().any(|(_, is_so)| *is_so);
    share > 0 && share * if has_end { 3 } else { 2 } >= ways.len()
}

/// The glyphs of a line from left to right, its words from right to left as they are read.
pub(super) fn with_words_from_right(line: &[Glyph]) -> Vec<Glyph> {
    let is_from_left = |glyph: &Glyph| {
        let is_other =
            |letter: Character| letter.value.is_alphabetic() && !is_from_right(letter.value);
        drawn(glyph).is_some_and(is_other)
    };
    let mut line = line.to_vec();
    let mut start = 0;
    while let Some(first) = line.iter().skip(start).position(is_letter) {
        let from = start + first;
        let rest = line.get_mut(from..).unwrap_or_default();
        let end = rest.iter().position(is_from_left).unwrap_or(rest.len());
        let last = rest.iter().take(end).rposition(is_letter).unwrap_or(0);
        if let Some(words) = rest.get_mut(..=last) {
            turn(words);
        }
        start = from + last + 1;
    }
    line
}

/// Puts words from right to left into the order in which they are read, their numbers as they are;
/// what stands right of the other stands as far left of it then. Programs draw words, and the letters
/// of each, either way.
fn turn(run: &mut [Glyph]) {
    let left = |glyph: &Glyph| drawn(glyph).map_or(0.0, |letter| letter.area.left);
    let is_drawn = |glyph: &Glyph| drawn(glyph).is_some();
    let chunks = run.chunk_by(|one, other| is_drawn(one) == is_drawn(other));
    let (mut words, gaps): (Vec<Vec<Glyph>>, Vec<Vec<Glyph>>) = chunks
        .map(<[Glyph]>::to_vec)
        .partition(|chunk| chunk.first().is_some_and(is_drawn));
    for word in &mut words {
        // Characters of one glyph stand at one place.
        if word.first().map(left) < word.last().map(left) {
            word.reverse();
        }
        word.sort_by(|one, other| left(other).total_cmp(&left(one)));
        numbers(word).for_each(<[Glyph]>::reverse);
    }
    let rightmost = |word: &Vec<Glyph>| word.iter().map(left).fold(f32::MIN, f32::max);
    words.sort_by(|one, other| rightmost(other).total_cmp(&rightmost(one)));
    let gaps = gaps.into_iter().rev().chain([Vec::new()]);
    let turned: Vec<Glyph> = words
        .into_iter()
        .zip(gaps)
        .flat_map(|(word, gap)| [word, gap].concat())
        .collect();
    for (place, glyph) in run.iter_mut().zip(turned) {
        *place = glyph;
    }
    mirror(run);
    numbers(run).for_each(mirror);
}

fn numbers(words: &mut [Glyph]) -> impl Iterator<Item = &mut [Glyph]> {
    let is_figure = |glyph: &Glyph| drawn(glyph).is_some_and(|letter| letter.value.is_numeric());
    let chunks = words.chunk_by_mut(move |one, other| is_figure(one) && is_figure(other));
    chunks.filter(move |chunk| chunk.first().is_some_and(is_figure))
}

fn mirror(glyphs: &mut [Glyph]) {
    let Some(around) = Area::around(glyphs.iter().filter_map(drawn).map(|letter| letter.area))
    else {
        return;
    };
    for glyph in glyphs {
        if let Glyph::Drawn(letter) = glyph {
            let Area { left, right, .. } = letter.area;
            letter.area.left = around.left + around.right - right;
            letter.area.right = around.left + around.right - left;
        }
    }
}

/// Whether a glyph is a letter of a word from right to left.
fn is_letter(glyph: &Glyph) -> bool {
    drawn(glyph).is_some_and(|letter| is_from_right(letter.value))
}

fn drawn(glyph: &Glyph) -> Option<Character> {
    match glyph {
        Glyph::Drawn(character) => Some(*character),
        _ => None,
    }
}

/// The characters of one glyph stand at one place. PDFium turns the order of a lam-alef with that
/// of the glyphs, which is undone here.
fn with_ligatures(line: &[Glyph]) -> Vec<Glyph> {
    let is_one_glyph = |one: &Glyph, other: &Glyph| match (one, other) {
        (Glyph::Drawn(one), Glyph::Drawn(other)) => {
            one.area == other.area
                && matches!(one.value, 'آ' | 'أ' | 'إ' | 'ا')
                && other.value == 'ل'
        }
        _ => false,
    };
    line.chunk_by(is_one_glyph)
        .flat_map(|glyph| glyph.iter().rev().copied())
        .collect()
}

/// The glyphs of a line from right to left as they are read, and where the word of each stands.
pub(super) fn in_logical_order(line: &[Glyph]) -> (Vec<Glyph>, Vec<Area>) {
    let line = with_names(with_words(with_ligatures(line)));
    let words = words(&line);
    (line, words)
}

/// Words from right to left whose letters come from left to right, as some programs draw them,
/// turned.
fn with_words(mut line: Vec<Glyph>) -> Vec<Glyph> {
    for word in line.chunk_by_mut(|one, other| is_letter(one) && is_letter(other)) {
        if let [Glyph::Drawn(first), .., Glyph::Drawn(last)] = &*word
            && first.area.left < last.area.left
        {
            word.reverse();
        }
    }
    line
}

/// Names and numbers, which are written from left to right, as they stand.
fn with_names(mut line: Vec<Glyph>) -> Vec<Glyph> {
    // Commas and points of those scripts stand in and behind numbers.
    let is_of_number = |glyph: &Glyph| {
        let is_word =
            |value: char| is_from_right(value) && !matches!(value, '،' | '؛' | '٫' | '٬' | '٪');
        drawn(glyph).is_some_and(|letter| !is_word(letter.value))
    };
    for word in line.chunk_by_mut(|one, other| is_of_number(one) && is_of_number(other)) {
        if word.iter().all(is_of_number) {
            let inner = within_brackets(word);
            from_left(inner);
            sign_behind(inner);
        }
    }
    line
}

/// A name without brackets around it, which are mirrored in such a line.
fn within_brackets(word: &mut [Glyph]) -> &mut [Glyph] {
    let is_bracket = |glyph: &Glyph| {
        drawn(glyph).is_some_and(|sign| matches!(sign.value, '(' | ')' | '[' | ']' | '{' | '}'))
    };
    let is_enclosed = word.len() > 2
        && [word.first(), word.last()]
            .into_iter()
            .flatten()
            .all(is_bracket);
    let ends = usize::from(is_enclosed);
    let inner = ends..word.len() - ends;
    word.get_mut(inner).unwrap_or_default()
}

/// What is written from left to right, as it stands: PDFium may give the digits of a name first.
fn from_left(word: &mut [Glyph]) {
    let left = |glyph: &Glyph| match glyph {
        Glyph::Drawn(character) => character.area.left,
        _ => 0.0,
    };
    let mut sorted = word.to_vec();
    sorted.sort_by(|one, other| left(one).total_cmp(&left(other)));
    let are_near = |pair: &[Glyph]| match pair {
        [Glyph::Drawn(one), Glyph::Drawn(other)] => {
            other.area.left - one.area.right < WORD_GAP * one.style.size
        }
        _ => false,
    };
    if sorted.windows(2).all(are_near) {
        word.copy_from_slice(&sorted);
    }
}

/// A sign behind a number stands left of it there: `3.` is drawn as `.3`.
fn sign_behind(word: &mut [Glyph]) {
    let value = |glyph: &Glyph| match glyph {
        Glyph::Drawn(character) => character.value,
        _ => ' ',
    };
    let Some((sign, number)) = word.split_first() else {
        return;
    };
    let is_sign = matches!(value(sign), '.' | ',' | ':' | ';');
    let is_number = |glyph: &Glyph| value(glyph).is_numeric() || matches!(value(glyph), '٫' | '٬');
    // Those of such scripts stand left of Latin names too.
    let is_own_sign = matches!(value(sign), '،' | '؛');
    if !number.is_empty() && (is_own_sign || is_sign && number.iter().all(is_number)) {
        word.rotate_left(1);
    }
}

/// Where the word of each glyph stands. In a line from right to left a letter of such a script is a
/// word by itself, and what is written from left to right, such as a number, stands as a whole.
fn words(line: &[Glyph]) -> Vec<Area> {
    let mut words: Vec<Area> = Vec::new();
    let mut open: Option<Character> = None;
    let mut word_of = |glyph: &Glyph| {
        if let Glyph::Drawn(character) = glyph {
            let is_other_way = is_from_right(character.value);
            let goes_on = !is_other_way && open.is_some_and(|last| goes_on(&last, character));
            match words.last_mut().filter(|_| goes_on) {
                Some(word) => *word = word.joined(character.area),
                None => words.push(character.area),
            }
            open = Some(*character).filter(|_| !is_other_way);
        }
        words.len()
    };
    let numbers: Vec<usize> = line.iter().map(&mut word_of).collect();
    let word = |number: usize| words.get(number.checked_sub(1)?).copied();
    numbers
        .into_iter()
        .map(|number| word(number).unwrap_or_default())
        .collect()
}

/// Whether a character stands behind another from left to right, near by.
fn goes_on(last: &Character, next: &Character) -> bool {
    let size = last.style.size.max(next.style.size);
    let gap = next.area.left - last.area.right;
    next.area.left > last.area.left && gap <= MAXIMUM_GAP * size
}
