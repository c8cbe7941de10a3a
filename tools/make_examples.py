"""Writes the sample PDF and DOCX of examples/: plain files, the same bytes on every run."""

from __future__ import annotations

import textwrap
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

FOLDER = Path(__file__).resolve().parent.parent / "examples/tool-library/handbook"

SAFETY = [
    (
        "Safety sheet",
        """This sheet is signed once by every member of the Alder Street Tool Library before the
        first power tool is lent. It has four pages: general rules, saws, grinders, and ladders.

        Wear what the tool asks for. Goggles for everything that spins, ear protection above 85
        decibels, gloves only where nothing rotates. Tie back long hair and take off rings.

        Look at the cable before you plug in. A tool with a damaged cable, a cracked guard or a
        switch that sticks goes back to the desk, unplugged, with a red tag.""",
    ),
    (
        "Circular saws and jigsaws",
        """Clamp the work, never hold it with the knee. Set the blade so that it reaches 5
        millimetres below the board. Wait until the blade stands still before you put the saw down.

        Kickback happens when the blade is pinched: support both sides of the cut and keep your
        body out of the line of the blade.

        The riving knife and the guard stay on. A saw that comes back without its guard is not lent
        again until a volunteer has checked it.""",
    ),
    (
        "Angle grinders",
        """Use the disc that is made for the material, and look at its date: a disc older than
        three years may burst. Hold the grinder with both hands and keep the guard between the disc
        and your face.

        Sparks fly ten metres. Clear away sawdust, paper and petrol, and keep a bucket of sand at
        hand. After work, watch the place for thirty minutes.""",
    ),
    (
        "Ladders",
        """Set the foot of the ladder one quarter of its height away from the wall. The ladder
        reaches one metre above the edge that you climb to. Three points of contact at all times:
        two feet and one hand, or two hands and one foot.

        Do not lend a ladder for work near power lines. The network operator switches a line off
        for free when asked two days ahead.""",
    ),
]

MINUTES: list[tuple[str, str]] = [
    ("Heading1", "Minutes of the members' meeting, March 2026"),
    ("", "Present: 41 members. Chair: Ines Okafor. Minutes: Tomas Lind."),
    ("Heading2", "Finances"),
    (
        "",
        "The library closed the year with a surplus of 1,380 euro. Members gave 640 euro in "
        "donations, most of it in the sharpening jar. The largest cost was rent.",
    ),
    ("Heading2", "New tools"),
    (
        "",
        "The meeting agreed to buy a floor sander, two cordless drills and a second trailer. The "
        "floor sander is lent for two days and asks for a deposit of 40 euro.",
    ),
    ("Heading2", "Opening on Mondays"),
    (
        "",
        "A motion to open on Mondays was rejected by 22 votes to 15 with 4 abstentions, because "
        "there are too few volunteers. It comes back when six more have signed up.",
    ),
]


def pdf(pages: list[tuple[str, str]], title: str) -> bytes:
    """A PDF with one page a (heading, text) in Helvetica."""
    objects: list[bytes] = []

    def add(body: bytes) -> int:
        objects.append(body)
        return len(objects)

    catalog, tree = add(b""), add(b"")
    font = add(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    kids = []
    for heading, text in pages:
        lines = [f"BT /F1 20 Tf 72 770 Td ({_pdf_text(heading)}) Tj /F1 11 Tf 0 -14 Td 15 TL"]
        for paragraph in text.split("\n\n"):
            lines.append("T*")
            for line in textwrap.wrap(" ".join(paragraph.split()), 84):
                lines.append(f"T* ({_pdf_text(line)}) Tj")
        stream = ("\n".join(lines) + "\nET").encode("ascii")
        content = add(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        kids.append(
            add(
                b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
                b"/Resources << /Font << /F1 %d 0 R >> >> >>" % (tree, content, font)
            )
        )
    info = add(f"<< /Title ({_pdf_text(title)}) >>".encode("ascii"))
    objects[catalog - 1] = b"<< /Type /Catalog /Pages %d 0 R >>" % tree
    objects[tree - 1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (
        len(kids),
        b" ".join(b"%d 0 R" % kid for kid in kids),
    )

    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        catalog,
        info,
        start,
    )
    return bytes(out)


def _pdf_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
OFFICE = "application/vnd.openxmlformats-officedocument.wordprocessingml"


def docx(paragraphs: list[tuple[str, str]], path: Path) -> None:
    """A DOCX of (style, text) paragraphs."""

    def paragraph(style: str, text: str) -> str:
        properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
        return f"<w:p>{properties}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"

    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{n}">'
        f'<w:name w:val="heading {n}"/></w:style>'
        for n in (1, 2)
    )
    parts = {
        "[Content_Types].xml": f'{XML}<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{OFFICE}.document.main+xml"/>'
        f'<Override PartName="/word/styles.xml" ContentType="{OFFICE}.styles+xml"/></Types>',
        "_rels/.rels": f'{XML}<Relationships xmlns="{PACKAGE}/relationships"><Relationship '
        f'Id="rId1" Type="{R}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f'{XML}<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{R}/styles" Target="styles.xml"/></Relationships>',
        "word/styles.xml": f'{XML}<w:styles xmlns:w="{W}">{styles}</w:styles>',
        "word/document.xml": f'{XML}<w:document xmlns:w="{W}"><w:body>'
        + "".join(paragraph(style, text) for style, text in paragraphs)
        + "</w:body></w:document>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)


def main() -> None:
    (FOLDER / "safety.pdf").write_bytes(pdf(SAFETY, "Safety sheet"))
    docx(MINUTES, FOLDER / "minutes.docx")


if __name__ == "__main__":
    main()
