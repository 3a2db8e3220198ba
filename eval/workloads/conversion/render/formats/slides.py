"""Slides by python-pptx: a slide for each heading of the first three levels, its text in the body, in boxes or in groups; what is too deep becomes text."""
from pptx import Presentation
from pptx.util import Inches, Pt

from structures import places

STYLES = {"body": {}, "boxes": {"boxes": True}, "groups": {"boxes": True, "groups": True}}
LOOK = ["body"]


class Writer:
    def __init__(self, style):
        self.habits = STYLES[style]
        self.deck = Presentation()
        self.slide, self.body, self.top, self.is_fresh = None, None, 1.5, True

    def begin(self, runs):
        boxes = self.habits.get("boxes")
        self.slide = self.deck.slides.add_slide(self.deck.slide_layouts[5 if boxes else 1])
        self.slide.shapes.title.text = "".join(text for _, text, *_ in runs)
        self.body, self.top, self.is_fresh = (None if boxes else self.slide.placeholders[1].text_frame), 1.5, True

    def line(self, runs, level=0):
        frame = self.body
        if frame is None:
            self.top += 0.6
            shapes = self.slide.shapes.add_group_shape().shapes if self.habits.get("groups") else self.slide.shapes
            frame = shapes.add_textbox(Inches(1), Inches(self.top), Inches(8), Inches(0.5)).text_frame
            self.is_fresh = True
        paragraph = frame.paragraphs[0] if self.is_fresh else frame.add_paragraph()
        self.is_fresh = False
        paragraph.level = level
        for style, text, *address in runs:
            run = paragraph.add_run()
            run.text = text
            run.font.bold = True if style == "bold" else None
            if address:
                run.hyperlink.address = address[0]

    def table(self, rows):
        cells = list(places(rows))
        columns = max(column + cell["columns"] for _, column, cell in cells)
        self.top += 0.6
        table = self.slide.shapes.add_table(len(rows), columns, Inches(1), Inches(self.top), Inches(8), Inches(0.4 * len(rows))).table
        for row, column, cell in cells:
            place = table.cell(row, column)
            if cell["columns"] + cell["rows"] > 2:
                place.merge(table.cell(row + cell["rows"] - 1, column + cell["columns"] - 1))
            place.text = "".join(text for _, text, *_ in cell["runs"])
        self.top += 0.4 * len(rows)

    def block(self, block):
        match block["kind"]:
            case "heading":
                self.begin(block["runs"])
            case "table":
                # What comes behind a table stands below it, in a box.
                self.body = None
                self.table(block["rows"])
            case "paragraph":
                self.line([run for run in block["runs"] if run[0] != "note"])
                notes = [run[1] for run in block["runs"] if run[0] == "note"]
                if notes:
                    frame = self.slide.notes_slide.notes_text_frame
                    frame.text = "\n".join(filter(None, [frame.text, *notes]))
            case "item":
                self.line(block["runs"], block["depth"])
            case "definition":
                self.line([*block["term"], ("plain", ": "), *block["runs"]])
            case "code":
                for line in block["text"].split("\n"):
                    self.line([("plain", line.strip())])


def without_inner(blocks):
    """Cells of slides hold no tables."""
    return [block | {"rows": [[{key: value for key, value in cell.items() if key != "inner"} for cell in row] for row in block["rows"]]} if block["kind"] == "table" else block for block in blocks]


def write(blocks, title, style, path):
    blocks[:] = without_inner(blocks)
    writer = Writer(style)
    for block in blocks:
        writer.block(block)
    writer.deck.save(path)
    # Boxes hold paragraphs, not lists; levels of headings are not those of slides.
    left_out = ["formula", "code", "levels"] + (["items"] if style != "body" else [])
    return {"gone": [], "left_out": left_out}
