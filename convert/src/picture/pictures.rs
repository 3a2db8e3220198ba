//! The text of pictures that documents carry, put below the place where they stand: slides,
//! screenshots and figures are searched by what they show.

use tributary_schemas::Result;

use crate::config::ImageConfig;
use crate::document::Converted;
use crate::limits::Limits;
use crate::picture::image;

/// Reads the pictures of a converted document, each file once.
pub(crate) fn read_embedded(
    converted: &mut Converted,
    settings: &ImageConfig,
    limits: &Limits<'_>,
) -> Result<()> {
    let Some(reader) = limits.pictures.filter(|reader| reader.reads_embedded()) else {
        return Ok(());
    };
    let mut additions = Vec::new();
    for (number, file) in converted
        .blobs
        .iter()
        .enumerate()
        .filter(|(_, file)| file.media_type.starts_with("image/"))
    {
        limits.check_time()?;
        let Some(place) = place_of(converted, number) else {
            continue;
        };
        let is_wanted = image::may_show_text(&file.bytes, settings, reader);
        if !is_wanted || !reader.takes_another() {
            continue;
        }
        let picture = image::embedded_picture(&file.bytes, settings, limits)
            .filter(|picture| reader.is_large_enough(picture.width(), picture.height()));
        let Some(picture) = picture else {
            continue;
        };
        if let Some(text) = reader
            .read(&picture)?
            .filter(|text| !text.trim().is_empty())
        {
            additions.push((place, text));
        }
    }
    // From the end, so that places before stay where they are.
    additions.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
    for (place, text) in additions {
        converted
            .markdown
            .insert_str(place, &format!("\n\n{}", text.trim_end()));
    }
    Ok(())
}

/// Where the block ends in which the file is shown first; `None` if the Markdown does not show it.
fn place_of(converted: &Converted, file: usize) -> Option<usize> {
    let link = format!("embedded:{file}");
    let shown = converted
        .images
        .iter()
        .enumerate()
        .filter(|(_, image)| image.link == link);
    let marks = shown.map(|(image, _)| format!("](image:{image})"));
    let first = marks
        .filter_map(|mark| converted.markdown.find(&mark))
        .min()?;
    let rest = converted.markdown.get(first..)?;
    let ends = ["\n\n", "\n\u{c}", "\u{c}"]
        .iter()
        .filter_map(|end| rest.find(end))
        .min();
    Some(first + ends.unwrap_or(rest.trim_end().len()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_models::ocr::OcrUnavailable;
    use tributary_schemas::ImageLink;

    use super::*;
    use crate::document::EmbeddedFile;
    use crate::picture::ocr::{Engine, PictureReader};

    #[test]
    fn text_goes_below_the_block_of_the_first_picture() {
        let image = |file: usize| ImageLink {
            link: format!("embedded:{file}"),
            alt: String::new(),
        };
        let markdown =
            "Before ![a](image:0) and\nafter\n\nNext\n\u{c}![](image:1)\n\u{c}![](image:2)\n";
        let converted = Converted {
            markdown: markdown.into(),
            images: vec![image(0), image(1), image(0)],
            ..Converted::default()
        };
        let before = |file| place_of(&converted, file).and_then(|place| markdown.get(..place));
        assert_eq!(before(0), Some("Before ![a](image:0) and\nafter"));
        assert_eq!(
            before(1),
            Some("Before ![a](image:0) and\nafter\n\nNext\n\u{c}![](image:1)")
        );
        assert_eq!(before(2), None);
    }

    #[test]
    fn pictures_that_nobody_reads_are_noted_if_they_are_large_enough() {
        let config = crate::Config::default();
        let engine = Engine::new(Err(OcrUnavailable::new("no models")));
        let noted = |width: i32, height: i32| {
            // The head of a bitmap alone: decoded, it would be damaged.
            let sizes = [70, 0, 54, 40, width, height]
                .map(i32::to_le_bytes)
                .concat();
            let bytes = [b"BM".as_slice(), &sizes, &[1, 0, 24, 0], &[0; 24]].concat();
            let file = EmbeddedFile {
                media_type: "image/bmp".into(),
                bytes,
                ..EmbeddedFile::default()
            };
            let images = vec![ImageLink {
                link: "embedded:0".into(),
                alt: String::new(),
            }];
            let mut converted = Converted {
                markdown: "![](image:0)\n".into(),
                images,
                blobs: vec![file],
                ..Converted::default()
            };
            let reader = PictureReader::new(&config.ocr, &engine, &|| Ok(()));
            read_embedded(
                &mut converted,
                &config.image,
                &Limits::starting_now(&config).with_pictures(&reader),
            )
            .unwrap();
            reader.note(&mut converted.metadata);
            converted
                .metadata
                .get(crate::picture::ocr::UNAVAILABLE_KEY)
                .cloned()
        };
        assert_eq!(noted(40, 400).as_deref(), Some("no models"));
        assert_eq!(noted(39, 400), None);
        assert_eq!(noted(0, 400), None);
    }
}
