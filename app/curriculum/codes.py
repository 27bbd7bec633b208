# ruff: noqa: E501 - a table is read by rows
"""Every problem the parser and the lint can report: one table, from which the manual's list is made."""

from dataclasses import dataclass

from app.curriculum.blocks import Severity

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of problem: its stable name, how bad it is, what it means, how it looks, how to mend it."""

    code: str
    severity: Severity
    meaning: str
    example: str
    cure: str


_TABLE = (
    # Front matter and title
    Code("FM001", ERROR, "There is no front matter; title and number come from the H1, else from the file name.",
         "# Lesson 7. Counting Bytes", 'Begin the file with a block: ---, title: "7. Counting Bytes", type: lesson, ---.'),
    Code("FM002", ERROR, "The front matter is not valid YAML; it was read line by line.",
         "title: 4. Sharding: Who Holds What", "Put the value in double quotes."),
    Code("FM003", WARNING, "The front matter has no title.", "type: lesson", 'Add title: "N. Title".'),
    Code("FM004", ERROR, "The lesson's number is not the number in the file's name.",
         '0007-counting.md with title: "8. Counting"', "Change the title or rename the file."),
    Code("FM005", WARNING, "The type is unknown.", "type: leson",
         "Write index, topic, lesson, reference, glossary or resources."),
    Code("FM006", ERROR, "The H1 and the front matter disagree.", '# Lesson 10. … under title: "9. …"',
         "Make both say the same."),
    Code("FM007", WARNING, "A field of the front matter has a value of the wrong kind.", "minutes: soon",
         "Write a whole number for minutes, true or false for math, a list for objectives."),
    Code("FM008", ERROR, 'YAML cuts the value at " #".', "description: Why only rank #0 writes",
         "Put the value in double quotes."),
    # The lines under the title
    Code("HD001", WARNING, "The header lines are not in a row.", "a blank line between Mission link and Primary source",
         "Write Mission link, Primary source and Prerequisites on three lines in a row."),
    Code("HD002", WARNING, "A header line is missing.", "no **Prerequisites:** line",
         "Add the line; write none when nothing is needed."),
    # Sections
    Code("SE001", ERROR, "A section is out of order, repeated or missing (no Warm-up is a warning).",
         "## Know this after ## Practice", "Keep the order Warm-up, Know this, Practice, Real-world reps, Going further."),
    Code("SE002", INFO, "The section is not one of the five; it is shown as it is.", "## Field notes",
         "Nothing, or make it a ### heading of a known section."),
    Code("SE003", WARNING, "Practice has fewer than three items.", "## Practice with two items",
         "Add items, easy to hard."),
    # Items
    Code("IT001", ERROR, "The item has no Check; the learner can only report on themselves.", "1. ▢ What is a rank?",
         'Add <details markdown="1"><summary>Check</summary>, a blank line, the answer, a blank line, </details>.'),
    Code("IT002", WARNING, "The item's number is not its place in the section; the page counts anew.", "1. … 1. … 4. …",
         "Number the items 1, 2, 3."),
    Code("IT003", INFO, "An item has no ▢, or a ▢ stands where there are no items.", "1. What is a rank?",
         "Write 1. ▢ at the start of items, and ▢ nowhere else."),
    Code("IT004", ERROR, "A Hint or Check has no item before it; it is shown as a plain fold.",
         "a Check directly under ## Practice", "Move it under its item."),
    Code("IT005", WARNING, "A Hint stands after its Check.", "Check, then Hint", "Move the Hint before the Check."),
    Code("IT006", INFO, "Letters in the prompt and a list of letters in the Check: it looks like an ordering item.",
         "Order (a) … (b) … (c) …", "Write the choices as bullets and add <!-- item --> with order: [b, c, a]."),
    # Folds
    Code("DT001", ERROR, '<details> lacks markdown="1"; other sites print its text raw.', "<details><summary>Check</summary>",
         '<details markdown="1"><summary>Check</summary>'),
    Code("DT002", ERROR, "A details tag is not at column zero.", '    <details markdown="1">', "Remove the spaces before it."),
    Code("DT003", ERROR, "There is no blank line between the details tags and the text inside.",
         "<details …><summary>Check</summary>The answer.</details>", "Add a blank line after </summary> and before </details>."),
    Code("DT004", ERROR, "A details block is not closed; it was closed before the next item or heading.",
         "<details …> without </details>", "Add </details> on a line of its own."),
    Code("DT005", WARNING, "The summary is neither Hint nor Check; shown as a plain fold.",
         "<summary>Answer</summary>", "Write Hint or Check."),
    Code("DT006", ERROR, "A details block stands inside another one.", "a Check inside a Hint",
         "Close the first before opening the second."),
    Code("DT007", WARNING, "A </details> closes nothing; it was left out.", "</details>", "Remove it."),
    # Choices and keys
    Code("MC001", INFO, "A right option is much longer than the others, which gives it away.", "b) is three times as long",
         "Make the options about equally long."),
    Code("MC002", ERROR, "The key is unclear; the item is shown ungraded.", "the Check says d, the options are a to c",
         "Begin the Check with the right letters in bold: **b)** or **b) and d)**."),
    Code("MC003", ERROR, "An option letter stands twice; the item is shown ungraded.", "- a) … - a) …", "Give every option its own letter."),
    Code("MC004", INFO, "The options are not indented by 4 spaces; other sites move them out of the item.", "  - a) 14 GB",
         "Indent the options by 4 spaces."),
    Code("MC005", WARNING, "shuffle is on, but a text names an option by its letter.", 'shuffle: true and "(c) describes …"',
         "Remove shuffle, or write the reasons as bullets - c) … in the Check."),
    Code("MC006", INFO, "A wrong option has no reason of its own.", "no - a) … bullet in the Check",
         "Add a bullet - a) … with the reason to the Check."),
    Code("NU001", ERROR, "The key is not a number, a range, an engine name or arithmetic.", "answer: lots",
         "Write a number, [low, high], {calc: name, with: {…}} or arithmetic over the varied names."),
    Code("NU002", ERROR, "A wrong value lies within the tolerance of the key.", "answer 112 at 5 %, wrong value 110",
         "Drop the wrong value or narrow the tolerance."),
    Code("NU003", ERROR, "The key is not finite or has no working variant.", "answer: 1/(p-1) with p: [1, 2]",
         "Choose variants for which the key is a number."),
    Code("NU004", WARNING, "A hint gives the answer away.", "the last hint contains 112 and the key is 112",
         "Stop the hint before the last operation."),
    Code("NU005", ERROR, "The tolerance or the unit cannot be read.", "tolerance: small", "Write 2% or a number; a unit such as GB, GiB, s, ms, %."),
    Code("OR001", ERROR, "The order names letters that are not options, or not all of them.", "order: [b, c] with options a, b, c",
         "List every option letter once."),
    Code("RU001", ERROR, "The rubric has no points, or fewer than it takes to pass.", "pass: 5 with points worth 4",
         "Write the points as bullets - (2) text in the Check."),
    # Extensions
    Code("EX001", ERROR, "The kind is unknown; the item is shown as an open question.", "kind: numerical",
         "Write open, mcq, numeric, calculator, rubric, ordering or predict."),
    Code("EX002", ERROR, "An id is used twice in the course; the item is shown ungraded.", "id: fit-64 in two lessons", "Choose another id."),
    Code("EX003", ERROR, "The comment cannot be read as YAML; the item is shown ungraded.", "answer: {calc: memory",
         "Mend the YAML; quote values with : or # in them."),
    Code("EX004", WARNING, "The comment has a field that nothing reads.", "tolerence: 2%", "Correct the spelling or remove it."),
    Code("EX005", ERROR, "An item comment has no item before it, or a comment stands where nothing reads it.", "<!-- item … --> under a heading", "Move it after the prompt and options."),
    Code("EX006", ERROR, "A field has a value of the wrong kind.", "locked: 3", "Write what the field table says."),
    Code("EX007", ERROR, "A calculator puzzle requires nothing.", "kind: calculator without require", 'Add require: ["fits == yes"].'),
    Code("EX008", ERROR, "The prompt or an expression uses a name that is not varied.", "{tp} without vary: {tp: […]}",
         "Add the name under vary or correct it."),
    Code("WG001", ERROR, "The widget is unknown.", "<!-- widget calculater", "Write calculator, schedule, balance, cluster or advisor."),
    # Links and images
    Code("LN001", ERROR, "The link leads nowhere.", "[Lesson 12](0012-gone.md)", "Correct the path or remove the link."),
    Code("LN002", ERROR, "The image does not exist.", "![…](images/missing.svg)", "Add the file or correct the path."),
    Code("LN003", WARNING, "The image has no alt text.", "![](images/a.svg)", "Say in one sentence what the image shows."),
    Code("LN004", INFO, "The link leads to a lesson that is planned and not yet written.", "[Lesson 3](0003-….md)", "Nothing."),
    Code("LN005", WARNING, "The image lies on another site; pages load nothing from elsewhere, so it is shown as a link.",
         "![…](https://…)", "Put the image into the course's images folder."),
    Code("LN006", INFO, "A link definition is never used, so the page does not show it.", "[paper]: https://…", "Use it or remove it."),
    # HTML
    Code("HT001", WARNING, "A tag that is not HTML for lessons is shown as text.", "List<T> outside code", "Put it in `code`."),
    Code("HT002", ERROR, "Something that could run code was removed.", "<script>, onclick=, javascript:", "Remove it."),
    Code("HT003", INFO, "A comment is not shown to readers.", "<!-- to do -->", "Nothing, or remove it."),
    Code("HT004", INFO, "An attribute of a tag is not kept.", '<b class="x">', "Nothing, or remove it."),
    Code("PI001", WARNING, '"<?" inside a fold can break other sites.', "`List<?>`", "Write <code>List&lt;?&gt;</code>."),
    Code("CD001", WARNING, "A code fence is not closed; everything after it is code.", "``` without a second ```", "Close the fence."),
    Code("MM001", WARNING, "The diagram cannot be drawn; its source is shown.", "```mermaid with an error in it", "Mend the diagram."),
    Code("MA001", ERROR, "The formula cannot be set; its source is shown.", r"$$\foo$$", "Correct the command."),
    Code("TX001", WARNING, "Nested too deep; the rest is shown as plain text.", ">>>>>>>>> …", "Use fewer levels."),
    Code("TX002", ERROR, "The file is too large or too tangled to be read as Markdown; it is shown as plain text.",
         "a lesson of 3 MB", "Split it into lessons."),
    Code("TX003", ERROR, "The file cannot be read, or it is not UTF-8 text.", "bytes of another encoding", "Save the file as UTF-8."),
    # Reps
    Code("RP001", WARNING, "There are fewer than three real-world reps.", "one - [ ] line", "Add tasks."),
    Code("RP002", WARNING, 'No rep starts with "Tomorrow:".', "- [ ] Read the default.", "Write one as - [ ] Tomorrow: …"),
    # Engine
    Code("CA001", ERROR, "The engine has no such name, or refuses the inputs.", "calc: memory.peak_byte", "Write the name it suggests."),
    Code("CA002", ERROR, "The number in the text is not the engine's.", "**41.5 GB** where the engine says 43.2 GB",
         "Write the engine's value."),
    Code("PZ001", ERROR, "The puzzle's preset already passes.", "preset that fits", "Choose a preset that fails."),
    Code("PZ002", ERROR, "The puzzle's example does not pass.", "example: with a requirement not met",
         "Choose an example that meets every requirement."),
    Code("PZ003", WARNING, "The puzzle has no example, so nothing proves that it can be solved.", "no example:", "Add example:."),
    # Course
    Code("CO001", ERROR, "The course's lesson table and the lessons disagree.", "a file without a row", "Mend the table or the file."),
    Code("CO002", ERROR, "Prerequisites go round in a circle.", "1 needs 2, 2 needs 1", "Remove one of the links."),
    Code("CO003", WARNING, "A skill or misconception is not declared in the README's course comment.", "skill: zero-memry",
         "Add it to <!-- course --> or correct the id."),
    Code("CO004", ERROR, "from: names an item that does not exist.", 'from: "0012#gone"', "Correct the lesson number or the id."),
    Code("CO005", INFO, "A declared skill has no item.", "skills: {zero-memory: …} and no item with it", "Add an item or remove the skill."),
    Code("CO006", WARNING, "The course has no README, glossary or mission.", "lessons/<course>/ without README.md", "Add the file."),
    Code("HS001", WARNING, "House style: a dash, a machine word or a missing closing text.", "—", "Rewrite the sentence."),
)  # fmt: skip

CODES: dict[str, Code] = {entry.code: entry for entry in _TABLE}
