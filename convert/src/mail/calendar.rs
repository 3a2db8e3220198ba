//! Appointments (iCalendar, RFC 5545) that messages carry: what, when, where and who, as a list and
//! the description below.

use crate::document::Converted;

/// Components that are read; what is nested in them (alarms) is not.
const READ: [&str; 3] = ["VEVENT", "VTODO", "VJOURNAL"];
/// Appointments of one calendar that are written.
const MOST_APPOINTMENTS: usize = 200;
/// People who are named.
const MOST_PEOPLE: usize = 100;
/// Properties as they are called in the list, in its order.
const SHOWN: [(&str, &str); 7] = [
    ("SUMMARY", "Summary"),
    ("DTSTART", "Start"),
    ("DTEND", "End"),
    ("DUE", "Due"),
    ("LOCATION", "Location"),
    ("STATUS", "Status"),
    ("ORGANIZER", "Organizer"),
];

/// A property: its name, its parameters and its value.
struct Property<'l> {
    name: String,
    parameters: Vec<(String, &'l str)>,
    value: &'l str,
}

/// Reads a calendar, whose title is what its first appointment is about; `escaped` makes text of it
/// Markdown. `None` if it has no appointment.
pub(super) fn read(text: &str, escaped: &dyn Fn(&str) -> String) -> Option<Converted> {
    let unfolded = text
        .replace("\r\n", "\n")
        .replace("\n ", "")
        .replace("\n\t", "");
    let (mut open, mut appointments) = (Vec::<String>::new(), Vec::new());
    let mut properties = Vec::new();
    for property in unfolded.lines().filter_map(property) {
        match property.name.as_str() {
            "BEGIN" => open.push(property.value.trim().to_uppercase()),
            "END" => {
                let ended = open.pop();
                let is_read = ended.is_some_and(|ended| READ.contains(&ended.as_str()));
                if is_read && appointments.len() < MOST_APPOINTMENTS {
                    appointments.push(std::mem::take(&mut properties));
                }
            }
            _ if open
                .last()
                .is_some_and(|last| READ.contains(&last.as_str())) =>
            {
                properties.push(property);
            }
            _ => {}
        }
    }
    let markdown: Vec<String> = appointments
        .iter()
        .map(|appointment| written(appointment, escaped))
        .filter(|text| !text.is_empty())
        .collect();
    let title = appointments.first().and_then(|first| {
        let summary = first.iter().find(|one| one.name == "SUMMARY")?;
        Some(plain(summary.value).replace('\n', " "))
    });
    let markdown = markdown.join("\n\n");
    (!markdown.is_empty()).then_some(Converted {
        markdown,
        title,
        ..Converted::default()
    })
}

fn property(line: &str) -> Option<Property<'_>> {
    let mut quoted = false;
    let is_end = |one: char| {
        quoted ^= one == '"';
        one == ':' && !quoted
    };
    let (head, value) = line.split_at_checked(line.find(is_end)?)?;
    let mut parts = head.split(';');
    let name = parts.next()?.trim().to_uppercase();
    let parameters = parts
        .filter_map(|part| part.split_once('='))
        .map(|(name, value)| (name.to_uppercase(), value.trim_matches('"')))
        .collect();
    Some(Property {
        name,
        parameters,
        value: value.strip_prefix(':').unwrap_or(value),
    })
}

fn written(properties: &[Property<'_>], escaped: &dyn Fn(&str) -> String) -> String {
    let mut lines = Vec::new();
    for (name, shown) in SHOWN {
        if let Some(property) = properties.iter().find(|one| one.name == name) {
            let value = said(property);
            if !value.is_empty() {
                lines.push(format!("- **{shown}**: {}", escaped(&value)));
            }
        }
    }
    let people = properties.iter().filter(|one| one.name == "ATTENDEE");
    let people: Vec<String> = people.take(MOST_PEOPLE).map(said).collect();
    if !people.is_empty() {
        lines.push(format!("- **Attendees**: {}", escaped(&people.join(", "))));
    }
    let description = properties.iter().find(|one| one.name == "DESCRIPTION");
    let description = description.map(|one| plain(one.value)).unwrap_or_default();
    let paragraphs = description.split('\n').map(str::trim);
    let paragraphs: Vec<String> = paragraphs
        .filter(|line| !line.is_empty())
        .map(escaped)
        .collect();
    let list = lines.join("\n");
    let parts = std::iter::once(list).chain(paragraphs);
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

/// The value of a property as people read it, on one line.
fn said(property: &Property<'_>) -> String {
    let parameter = |wanted: &str| {
        let found = property.parameters.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| *value)
    };
    match property.name.as_str() {
        "DTSTART" | "DTEND" | "DUE" => moment(property.value.trim(), parameter("TZID")),
        "ORGANIZER" | "ATTENDEE" => {
            let address = property.value.trim();
            let address = match address.get(..7) {
                Some(scheme) if scheme.eq_ignore_ascii_case("mailto:") => {
                    address.get(7..).unwrap_or_default()
                }
                _ => address,
            };
            match parameter("CN").filter(|name| !name.is_empty() && *name != address) {
                Some(name) => format!("{name} <{address}>"),
                None => address.to_owned(),
            }
        }
        _ => plain(property.value).replace('\n', " "),
    }
}

/// `20260504T100000Z` as `2026-05-04 10:00 UTC`; what has another form stays.
fn moment(value: &str, zone: Option<&str>) -> String {
    let digits = |range: std::ops::Range<usize>| {
        let part = value.get(range)?;
        part.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(part)
    };
    let (Some(year), Some(month), Some(day)) = (digits(0..4), digits(4..6), digits(6..8)) else {
        return value.to_owned();
    };
    let day = format!("{year}-{month}-{day}");
    let (Some(hour), Some(minute)) = (digits(9..11), digits(11..13)) else {
        return day;
    };
    let zone = match zone {
        _ if value.ends_with('Z') => " UTC".to_owned(),
        Some(zone) => format!(" ({zone})"),
        None => String::new(),
    };
    format!("{day} {hour}:{minute}{zone}")
}

/// Text without the marks of the format.
fn plain(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(one) = characters.next() {
        match one {
            '\\' => match characters.next() {
                Some('n' | 'N') => text.push('\n'),
                Some(other) => text.push(other),
                None => {}
            },
            one => text.push(one),
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_invitation_says_what_when_where_and_who() {
        let text = "BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\n\
            SUMMARY:Budget\\, second\r\n  review\r\nDTSTART;TZID=\"Europe/Berlin\":20260504T100000\r\nDTEND:20260504T110000Z\r\nLOCATION:Room \"K:2\"\r\n\
            ORGANIZER;CN=\"Li: W\":mailto:li@example.com\r\nATTENDEE;CN=a@b.c:MAILTO:a@b.c\r\nATTENDEE:mailto:d@e.f\r\nDESCRIPTION:Agenda:\\n1. Kilimanjaro\\n\r\n\
            BEGIN:VALARM\r\nDESCRIPTION:Reminder\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
        let calendar = read(text, &str::to_owned).unwrap();
        assert_eq!(
            calendar.markdown,
            "- **Summary**: Budget, second review\n- **Start**: 2026-05-04 10:00 (Europe/Berlin)\n- **End**: 2026-05-04 11:00 UTC\n\
             - **Location**: Room \"K:2\"\n- **Organizer**: Li: W <li@example.com>\n- **Attendees**: a@b.c, d@e.f\n\nAgenda:\n\n1. Kilimanjaro"
        );
        assert_eq!(calendar.title.as_deref(), Some("Budget, second review"));
    }

    #[test]
    fn odd_calendars_do_no_harm() {
        for text in [
            "",
            "BEGIN:VEVENT",
            "END:VEVENT\nEND:VEVENT",
            ":",
            "BEGIN:VEVENT\nX\nEND:VEVENT",
        ] {
            assert!(read(text, &str::to_owned).is_none(), "{text}");
        }
        let days =
            "BEGIN:VEVENT\nDTSTART;VALUE=DATE:20260504\nDUE:soon\nDTEND:2026050\nEND:VEVENT\n";
        let calendar = read(days, &str::to_owned).unwrap();
        assert_eq!(
            calendar.markdown,
            "- **Start**: 2026-05-04\n- **End**: 2026050\n- **Due**: soon"
        );
    }
}
