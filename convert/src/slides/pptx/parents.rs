//! What shapes inherit from the placeholders of their slide's layout and master: kind, place,
//! bullets.

use std::rc::Rc;

use super::model::{Bullet, Frame, LEVELS, Levels, Paragraph, Placeholder, Shape, Slide};

/// The layout of a slide and the master of that layout.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parents {
    pub layout: Rc<Slide>,
    pub master: Rc<Slide>,
}

/// The groups of kinds that inherit from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Title,
    Body,
    /// Date; footers, headers and slide numbers.
    Date,
    Margin,
    /// No placeholder.
    Free,
}

impl Role {
    /// Role of a kind of placeholder.
    pub(crate) fn of_kind(kind: &str) -> Self {
        match kind {
            "title" | "ctrTitle" | "vertTitle" => Self::Title,
            "dt" => Self::Date,
            "ftr" | "hdr" | "sldNum" => Self::Margin,
            _ => Self::Body,
        }
    }
}

impl Parents {
    /// The placeholder of the layout that a placeholder of a slide fills.
    fn in_layout(&self, placeholder: &Placeholder) -> Option<&Shape> {
        let known = |shape: &&Shape| shape.placeholder.is_some();
        let by_index = self.layout.shapes.iter().filter(known).find(|shape| {
            let index = shape.placeholder.as_ref().and_then(|known| known.index);
            index.is_some() && index == placeholder.index
        });
        let same_kind = |shape: &&Shape| {
            shape.placeholder.as_ref().is_some_and(|known| {
                let is_title = Role::of_kind(&known.kind) == Role::Title
                    && Role::of_kind(&placeholder.kind) == Role::Title;
                !placeholder.kind.is_empty() && (known.kind == placeholder.kind || is_title)
            })
        };
        by_index.or_else(|| self.layout.shapes.iter().find(same_kind))
    }

    /// The placeholder of the master that one of a slide or layout follows.
    fn in_master(&self, role: Role) -> Option<&Shape> {
        self.master.shapes.iter().find(|shape| {
            shape
                .placeholder
                .as_ref()
                .is_some_and(|known| Role::of_kind(&known.kind) == role)
        })
    }

    /// What a shape is for. A placeholder that does not say what it is for is what the layout's is.
    pub(crate) fn role(&self, shape: &Shape) -> Role {
        let Some(placeholder) = &shape.placeholder else {
            return Role::Free;
        };
        if !placeholder.kind.is_empty() {
            return Role::of_kind(&placeholder.kind);
        }
        let inherited = self
            .in_layout(placeholder)
            .and_then(|shape| shape.placeholder.as_ref());
        inherited.map_or(Role::Body, |inherited| Role::of_kind(&inherited.kind))
    }

    /// Where a shape stands.
    pub(crate) fn frame(&self, shape: &Shape) -> Option<Frame> {
        let placeholder = shape.placeholder.as_ref();
        let from_layout = || self.in_layout(placeholder?)?.frame;
        let from_master = || {
            self.in_master(self.role(shape))
                .filter(|_| placeholder.is_some())?
                .frame
        };
        shape.frame.or_else(from_layout).or_else(from_master)
    }

    /// The bullet of a paragraph: its own, else the nearest that a list style says for its level.
    pub(crate) fn bullet(&self, shape: &Shape, paragraph: &Paragraph) -> Bullet {
        let role = self.role(shape);
        let at = |levels: &Levels| {
            levels
                .get(paragraph.level.min(LEVELS - 1))
                .copied()
                .flatten()
        };
        let from_layout = || at(&self.in_layout(shape.placeholder.as_ref()?)?.body.levels);
        let from_master = || at(&self.in_master(role)?.body.levels);
        let from_styles = || {
            at(match role {
                Role::Title => &self.master.title_levels,
                Role::Body => &self.master.body_levels,
                Role::Date | Role::Margin | Role::Free => &self.master.other_levels,
            })
        };
        let own = paragraph.bullet.or_else(|| at(&shape.body.levels));
        own.or_else(from_layout)
            .or_else(from_master)
            .or_else(from_styles)
            .unwrap_or(Bullet::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholder(kind: &str, index: Option<u32>) -> Shape {
        Shape {
            placeholder: Some(Placeholder {
                kind: kind.to_owned(),
                index,
            }),
            ..Shape::default()
        }
    }

    #[test]
    fn kind_place_and_bullets_come_from_layout_and_master() {
        let mut title = placeholder("title", Some(7));
        title.frame = Some(Frame {
            top: 5,
            ..Frame::default()
        });
        let mut body = placeholder("body", Some(1));
        body.body.levels[1] = Some(Bullet::None);
        let mut master_body = placeholder("body", Some(9));
        master_body.frame = Some(Frame {
            top: 6,
            ..Frame::default()
        });
        let layout = Slide {
            shapes: vec![title, body],
            ..Slide::default()
        };
        let master = Slide {
            shapes: vec![master_body],
            body_levels: [Some(Bullet::Mark); LEVELS],
            ..Slide::default()
        };
        let parents = Parents {
            layout: Rc::new(layout),
            master: Rc::new(master),
        };
        assert_eq!(parents.role(&placeholder("", Some(7))), Role::Title);
        assert_eq!(
            parents
                .frame(&placeholder("ctrTitle", None))
                .map(|frame| frame.top),
            Some(5)
        );
        let content = placeholder("", Some(1));
        assert_eq!(parents.frame(&content).map(|frame| frame.top), Some(6));
        let at_level = |level| {
            parents.bullet(
                &content,
                &Paragraph {
                    level,
                    ..Paragraph::default()
                },
            )
        };
        assert_eq!((at_level(0), at_level(1)), (Bullet::Mark, Bullet::None));
        assert_eq!(
            parents.bullet(&Shape::default(), &Paragraph::default()),
            Bullet::None
        );
    }
}
