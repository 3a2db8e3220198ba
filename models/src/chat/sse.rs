//! Server-sent events, as far as chat completions use them: each `data:` line is one event, since
//! all servers write their JSON on one line. Reads bytes: a character may be split between two
//! network packets, a line is decoded when it is whole.

/// Longest line in bytes; servers write one token a line.
pub const MAXIMUM_LINE_BYTES: usize = 1 << 20;

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The rest of a `data:` line.
    Data(String),
    /// The rest of an `error:` line, which older servers of llama.cpp write.
    Error(String),
}

/// A line is longer than [`MAXIMUM_LINE_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineTooLong;

/// Makes events of bytes. Comments (keep-alives), empty lines and other fields are none.
#[derive(Debug, Default)]
pub struct EventReader {
    unfinished: Vec<u8>,
}

impl EventReader {
    /// Takes bytes, adds the events that are whole with them.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        events: &mut impl Extend<Event>,
    ) -> Result<(), LineTooLong> {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let last = lines.next_back().unwrap_or_default();
        for line in lines {
            self.take(line)?;
            events.extend(event(&self.unfinished));
            self.unfinished.clear();
        }
        self.take(last)
    }

    /// What the bytes ended with, if that was no whole line.
    pub fn finish(&mut self) -> Option<Event> {
        let last = std::mem::take(&mut self.unfinished);
        event(&last)
    }

    fn take(&mut self, part: &[u8]) -> Result<(), LineTooLong> {
        if self.unfinished.len() + part.len() > MAXIMUM_LINE_BYTES {
            return Err(LineTooLong);
        }
        self.unfinished.extend_from_slice(part);
        Ok(())
    }
}

fn event(line: &[u8]) -> Option<Event> {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_start_matches('\u{feff}').trim_end_matches('\r');
    let (field, value) = line.split_once(':')?;
    let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
    match field {
        "data" => Some(Event::Data(value)),
        "error" => Some(Event::Error(value)),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<Event> {
        let mut reader = EventReader::default();
        let mut events = Vec::new();
        for piece in pieces {
            reader.feed(piece, &mut events).unwrap();
        }
        events.extend(reader.finish());
        events
    }

    fn data(text: &str) -> Event {
        Event::Data(text.to_owned())
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let text =
            ": ping\n\ndata: 信号\r\n\r\ndata:x\nid: 7\n\nerror: {}\ndata: [DONE]".as_bytes();
        let expected = [
            data("信号"),
            data("x"),
            Event::Error("{}".to_owned()),
            data("[DONE]"),
        ];
        assert_eq!(read(&[text]), expected);
        for cut in 0..text.len() {
            let (first, second) = text.split_at(cut);
            assert_eq!(read(&[first, second]), expected, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(read(&bytes), expected);
    }

    #[test]
    fn a_line_without_an_end_is_given_up() {
        let mut reader = EventReader::default();
        let mut events = Vec::new();
        let piece = vec![b'x'; MAXIMUM_LINE_BYTES / 2 + 1];
        assert_eq!(reader.feed(&piece, &mut events), Ok(()));
        assert_eq!(reader.feed(&piece, &mut events), Err(LineTooLong));
    }
}
