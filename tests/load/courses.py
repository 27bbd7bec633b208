"""A course of any size: lessons as instructors write them, each with numbers and a puzzle of its own."""

from pathlib import Path
from string import Template

_PARAGRAPH = """A step holds far more than the checkpoint: weights, gradients, the optimizer's state and what
the forward pass left behind. Each of the **four** grows with something else, so each has its own remedy. The
[layout](../GLOSSARY.md#layout) decides which device holds what, and a link between two what that costs.
In practice one reads the largest number first, asks what it grows with, and changes `one` thing at a time."""

_FOLD = '<details markdown="1"><summary>{0}</summary>\n\n{1}\n\n</details>\n'
_HINT = _FOLD.format("Hint", "What does it grow with? Compare the two rows of the table.")
_CHECK = _FOLD.format(
    "Check", "The state grows with the parameters, the activations with the tokens in flight."
)

_LESSON = Template("""---
title: "$number. Lesson $number"
description: What the step holds, part $number
type: lesson
minutes: 15
---
# Lesson $number. Lesson $number

**Mission link:** Say what a training step holds.
**Primary source:** [Paper: "A paper", Someone, 2021](https://example.org/$number)
**Prerequisites:** $before

## Warm-up

1. ▢ What grows with the batch, and what does not? ($number)

$check
2. ▢ Which link does a group of eight cross? ($number)

$check
## Know this

### What it holds

$paragraph

The state of $billions billion parameters is <!-- calc: 16*p of {p: $billions} as GB -->**$state GB**.

| part | bytes | grows with |
|---|---|---|
| weights | 2 | parameters |
| optimizer | 12 | parameters |
| activations | – | tokens |

$paragraph

### What it costs

$paragraph

```python
for micro_batch in batch:  # step $number
    loss = model(micro_batch)
```

$paragraph

## Practice

1. ▢ What does a wider group save? ($number)

    - a) activations only
    - b) weights and their state
    - c) nothing at all

<!-- item
id: saves-$number
-->

$hint
<details markdown="1"><summary>Check</summary>

**b)** Each device holds a slice.

- a) What of the matrices?
- c) Where do the other slices live?

</details>

2. ▢ How many GB is the state of {billions} billion parameters?

<!-- item
id: state-$number
kind: numeric
vary: {billions: [$billions, 13, 70]}
answer: 16*billions
unit: GB
tolerance: 2%
wrong:
  - {value: 2*billions, tolerance: 2%, say: That counts the weights only.}
-->

$hint
$check
3. ▢ Find a layout that fits. ($number)

<!-- item
id: puzzle-$number
kind: calculator
preset: {model: llama2-13b, num_nodes: 1, tensor_parallel: 1, global_batch_size: $batch, zero_stage: 0}
locked: [model, num_nodes, zero_stage]
require: [fits == yes]
example: {tensor_parallel: 8}
-->

$hint
$check
4. ▢ In two sentences: when is it not worth it? ($number)

$hint
$check
## Real-world reps

- [ ] Read a configuration that you know.
- [ ] Explain the table to someone.
- [ ] Tomorrow: answer the items again.

## Going further

- [The paper](https://example.org/$number), section 3.

---

Not landing? Read the source again.
""")


def generated_course(folder: Path, num_lessons: int) -> Path:
    """A folder of courses with one course of that many lessons, without any problem."""
    course = folder / "generated"
    for name in ("lessons", "reference", "images"):
        (course / name).mkdir(parents=True)
    rows = []
    for number in range(1, num_lessons + 1):
        billions = 1 + number / 10
        text = _LESSON.substitute(
            number=number,
            before=f"[Lesson {number - 1}]({number - 1:04d}-lesson.md)" if number > 1 else "none",
            paragraph=_PARAGRAPH,
            billions=f"{billions:g}",
            state=f"{16 * billions:.1f}",
            batch=8 * number,
            hint=_HINT,
            check=_CHECK,
        )
        (course / "lessons" / f"{number:04d}-lesson.md").write_text(text, encoding="utf-8")
        rows.append(f"| {number} | [Lesson {number}](lessons/{number:04d}-lesson.md) | 15 |")
    table = "\n".join(["| # | Lesson | Minutes |", "|---|---|---|", *rows])
    arc = f"## Mission\n\nM.\n\n## Success looks like\n\n- S.\n\n## The arc\n\n### Part I. All\n\n{table}\n"
    readme = f"---\ntitle: Generated\ntype: index\n---\n# Generated\n\n{arc}"
    (course / "README.md").write_text(readme, encoding="utf-8")
    glossary = "---\ntitle: Glossary\ntype: glossary\n---\n# Glossary\n\n### Layout\n\nWho holds what.\n"
    (course / "GLOSSARY.md").write_text(glossary, encoding="utf-8")
    return folder
