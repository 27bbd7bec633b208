"""A small course with one item of every kind, and clients on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app.main import create_app
from app.settings import Settings

README = """---
title: "Small: a course for tests"
description: Everything once
type: index
---
# Small: a course for tests

## Mission

Try every kind of item.

## Success looks like

- You answered all of them.

## The arc

### Part I. All kinds

One lesson with everything.

| # | Lesson | Minutes |
|---|---|---|
| 1 | Not Written Yet `0001-not-written-yet` | 10 |
| 2 | [Every Kind](lessons/0002-every-kind.md) | 12 |
| 3 | Also Not Written `0003-also-not-written` | 10 |

### Part II. The end

| # | Lesson | Minutes |
|---|---|---|
| 4 | [The Last One](lessons/0004-the-last-one.md) | 5 |

<!-- course
skills:
  counting: Count what there is
misconceptions:
  too-few: Counts too few
-->
"""

GLOSSARY = """---
title: Glossary
description: The words of this course
type: glossary
---
# Glossary

### Bubble

Idle time of a pipeline.
"""

RESOURCES = """---
title: Resources
description: What to read
type: resources
---
# Resources

- [A paper](https://example.org/paper)
"""

LESSON = """---
title: "2. Every Kind"
description: One item of every kind
type: lesson
minutes: 12
---
# Lesson 2. Every Kind

**Mission link:** Try every kind of item
**Primary source:** [Paper: "A paper"](https://example.org/paper)
**Prerequisites:** [Lesson 1](0001-not-written-yet.md)

## Warm-up

1. ▢ What runs out first when a model grows?

<!-- item
id: warm
from: "0001#first"
-->

<details markdown="1"><summary>Check</summary>

The secret check of the warm-up: memory does.

</details>

## Know this

### Counting

Text about counting, with a [bubble](../GLOSSARY.md#bubble).

1. ▢ Which of these is the largest?

    - a) the small one
    - b) the large one

<!-- item
id: guess
kind: predict
-->

<details markdown="1"><summary>Check</summary>

**b)** The secret of the prediction.

- a) It is called small.

</details>

### Dividing

More text.

## Practice

1. ▢ How many legs do two cats have?

    - a) four
    - b) eight
    - c) sixteen

<!-- item
id: legs
-->

<details markdown="1"><summary>Hint</summary>

The first hint: count one cat.

</details>

<details markdown="1"><summary>Hint</summary>

The second hint: then double it.

</details>

<details markdown="1"><summary>Check</summary>

**b)** The secret of the cats: two times four.

- a) That is one cat. How many are there?
- c) You doubled once too often, did you not?

</details>

2. ▢ How many GB do 7 billion parameters take at 16 bytes each?

<!-- item
id: state
kind: numeric
answer: 112
unit: GB
tolerance: 2%
wrong:
  - {value: 14, tolerance: 5%, say: "That counts the weights only."}
-->

<details markdown="1"><summary>Check</summary>

The secret product: 7 times 16.

</details>

3. ▢ What is {a} plus one?

<!-- item
id: vary
kind: numeric
vary: {a: [10, 20, 30, 40]}
answer: "a + 1"
-->

<details markdown="1"><summary>Check</summary>

One more than {a}.

</details>

4. ▢ Order these by size.

    - a) three
    - b) one
    - c) two

<!-- item
id: sort
kind: ordering
order: [b, c, a]
-->

<details markdown="1"><summary>Check</summary>

The secret order: b, c, a.

</details>

5. ▢ Explain why memory runs out.

<!-- item
id: essay
kind: rubric
pass: 3
-->

<details markdown="1"><summary>Check</summary>

The secret points:

- (2) Names the weights.
- (1) Names the activations.
- (1) Names the optimizer.

A weak answer says that it is big.

</details>

6. ▢ Find a layout that fits.

<!-- item
id: puzzle
kind: calculator
preset:
  {model: gpt3-175b, gpu: a100-80gb, num_nodes: 16, tensor_parallel: 8, pipeline_parallel: 2,
   data_parallel: 8, micro_batch_size: 1, global_batch_size: 128, recompute: full,
   sequence_parallel: true, zero_stage: 0}
locked: [model, cluster, recompute, sequence_parallel, zero_stage]
require:
  - fits == yes
  - layout.tensor_parallel <= 8
example: {tensor_parallel: 8, pipeline_parallel: 16, data_parallel: 1}
-->

<details markdown="1"><summary>Check</summary>

The secret layout: width 8, depth 16.

</details>

## Real-world reps

- [ ] Read one paper.
- [ ] Look at one cluster.
- [ ] Tomorrow: draw what you saw.

## Going further

- [A paper](https://example.org/paper)

---

Not landing? Read it again.
"""

LAST = """---
title: "4. The Last One"
description: Nothing much
type: lesson
minutes: 5
---
# Lesson 4. The Last One

**Mission link:** The end
**Primary source:** none
**Prerequisites:** [Lesson 2](0002-every-kind.md)

## Warm-up

1. ▢ Say one thing.

<!-- item
id: one-thing
-->

<details markdown="1"><summary>Check</summary>

Anything.

</details>
"""

LESSON_URL = "/courses/small/lessons/0002-every-kind"


def course_files(lessons: Path) -> None:
    """Write the small course below this folder."""
    course = lessons / "small"
    (course / "lessons").mkdir(parents=True)
    (course / "images").mkdir()
    (course / "images" / "figure.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    (course / "README.md").write_text(README)
    (course / "GLOSSARY.md").write_text(GLOSSARY)
    (course / "RESOURCES.md").write_text(RESOURCES)
    (course / "NOTES.md").write_text("# Private\n\nnever shown")
    (course / "lessons" / "0002-every-kind.md").write_text(LESSON)
    (course / "lessons" / "0004-the-last-one.md").write_text(LAST)


@pytest.fixture(scope="session")
def course_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """lessons/ with the small course in it."""
    lessons = tmp_path_factory.mktemp("lessons")
    course_files(lessons)
    return lessons


@pytest.fixture
def small_app(settings: Settings, course_folder: Path) -> FastAPI:
    """The application with the small course."""
    return create_app(settings.model_copy(update={"lessons_dir": course_folder}))


@pytest.fixture
def learner(small_app: FastAPI) -> Iterator[TestClient]:
    """A learner's browser on the small course; it follows redirects."""
    with TestClient(small_app, base_url="http://testserver") as client:
        yield client


@pytest.fixture
def lesson_url() -> str:
    """The lesson with one item of every kind."""
    return LESSON_URL
