"""Hostile pieces for lessons. Each would set window.hit or open a dialog if it ran."""

RUN = "window.hit=1"

HTML = [
    f"<script>{RUN}</script>",
    f"<ScRiPt >{RUN}</sCrIpT>",
    f"<script\n>{RUN}</script\n>",
    f"<<script>{RUN}//<</script>",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    '<script src="data:text/javascript,window.hit=1"></script>',
    '<script src="//127.0.0.1:1/x.js"></script>',
    f"<img src=x onerror={RUN}>",
    f'<img src="x" onerror="{RUN}">',
    f"<img src='\"><img src=x onerror={RUN}>'>",
    f"<img alt='\"><img src=x onerror={RUN}>' src=x>",
    f"<b a b onclick={RUN}>x</b>",
    f"<img/src=x/onerror={RUN}>",
    f"<IMG SRC=x ONERROR={RUN}>",
    f'<img src=x one=1 onerror\n=\n"{RUN}">',
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f'<svg><animate onbegin="{RUN}" attributeName=x dur=1s></svg>',
    '<svg><a xlink:href="javascript:window.hit=1"><text x=20 y=20>click</text></a></svg>',
    f"<svg><foreignObject><img src=x onerror={RUN}></foreignObject></svg>",
    '<svg><use href="data:image/svg+xml,<svg id=x onload=window.hit=1></svg>#x"></svg>',
    '<math><mtext><a href="javascript:window.hit=1">m</a></mtext></math>',
    '<math href="javascript:window.hit=1"><mi>x</mi></math>',
    '<math><maction actiontype="statusline#" xlink:href="javascript:window.hit=1">x</maction></math>',
    f"<math><mi><table><mglyph><style><img src=x onerror={RUN}></style></mglyph></table></mi></math>",
    '<a href="javascript:window.hit=1">a</a>',
    '<a href="JaVaScRiPt:window.hit=1">a</a>',
    '<a href=" &#1; javascript:window.hit=1">a</a>',
    '<a href="java&#10;script:window.hit=1">a</a>',
    '<a href="&#106;avascript:window.hit=1">a</a>',
    '<a href="data:text/html,<script>parent.window.hit=1</script>">a</a>',
    '<a href="vbscript:x">a</a>',
    f'<a href="#" onclick="{RUN}" onmouseover="{RUN}" onfocus="{RUN}" autofocus>a</a>',
    '<iframe src="javascript:parent.window.hit=1"></iframe>',
    '<iframe srcdoc="<script>parent.window.hit=1</script>"></iframe>',
    '<object data="data:text/html,<script>window.hit=1</script>"></object>',
    '<embed src="data:text/html,<script>window.hit=1</script>">',
    f"<body onload={RUN}>",
    f"<details open ontoggle={RUN}>x</details>",
    f"<video><source onerror={RUN}></video>",
    f"<audio src=x onerror={RUN}></audio>",
    f"<input autofocus onfocus={RUN}>",
    f"<select onfocus={RUN} autofocus></select>",
    f"<marquee onstart={RUN}>x</marquee>",
    '<style>@import "data:text/css,*{}";</style>',
    f'<div style="animation-name:x" onanimationstart={RUN}>x</div>',
    '<div style="background:url(javascript:window.hit=1)">x</div>',
    '<form action="javascript:window.hit=1"><button>go</button></form>',
    '<button formaction="javascript:window.hit=1">go</button>',
    '<meta http-equiv="refresh" content="0;url=javascript:window.hit=1">',
    '<base href="javascript:/a/">',
    '<link rel=stylesheet href="data:text/css,x">',
    f"<template><img src=x onerror={RUN}></template>",
    f'<noscript><p title="</noscript><img src=x onerror={RUN}>"></noscript>',
    f'<xmp><p title="</xmp><img src=x onerror={RUN}>"></xmp>',
    f"<textarea></textarea><img src=x onerror={RUN}>",
    f"<!--><img src=x onerror={RUN}>-->",
    f"<!-- x --!><img src=x onerror={RUN}>",
    f"<![CDATA[<img src=x onerror={RUN}>]]>",
    f"<?xml <img src=x onerror={RUN}> ?>",
    f'<p hx-on:click="{RUN}" hx-get="/teach/preview" hx-trigger="load" data-hx-on-load="{RUN}">x</p>',
    '<div hx-get="/teach/preview" hx-trigger="load" hx-target="body">x</div>',
    f'<p id="x" class="y" onpointerover="{RUN}">x</p>',
    "<p id=hit></p><form id=document></form><img name=body>",
]

# These begin something that swallows what follows, until it is closed or the file ends.
SWALLOWING = [
    piece
    for piece in HTML
    if any(mark in piece for mark in ("<!", "<?", "<xmp", "<textarea", "<script\n", "<noscript"))
]
HTML = [piece for piece in HTML if piece not in SWALLOWING]

MARKDOWN = [
    "[a](javascript:window.hit=1)",
    "[a](JAVASCRIPT:window.hit=1)",
    "[a](<javascript:window.hit=1>)",
    "[a](\\javascript:window.hit=1)",
    "[a](&#x6A;avascript:window.hit=1)",
    "[a](java&Tab;script:window.hit=1)",
    "[a](data:text/html;base64,PHNjcmlwdD53aW5kb3cuaGl0PTE8L3NjcmlwdD4=)",
    '[a](x "title\\"onmouseover=window.hit=1 b=\\"")',
    '[a]("onmouseover=window.hit=1)',
    "![a](javascript:window.hit=1)",
    "![a](data:image/svg+xml,<svg/onload=window.hit=1>)",
    '![" onerror="window.hit=1](x.png)',
    "<javascript:window.hit=1>",
    "`<img src=x onerror=window.hit=1>`",
    "[ref][r]\n\n[r]: javascript:window.hit=1",
    "| a |\n|---|\n| <img src=x onerror=window.hit=1> |",
    '```html" onload="window.hit=1\n<img src=x onerror=window.hit=1>\n```',
    "```\n</code></pre><img src=x onerror=window.hit=1>\n```",
    "$$\\text{<img src=x onerror=window.hit=1>}$$",
    "$$\\href{javascript:window.hit=1}{x}$$",
    '\\(\\class{x" onload="window.hit=1}{y}\\)',
    '```mermaid\ngraph LR\nA["<img src=x onerror=window.hit=1>"] --> B["<script>window.hit=1</script>"]\n```',
    '```mermaid\ngraph LR\nA --> B\nclick A "javascript:window.hit=1"\nclick B call window.hit\n```',
    "```mermaid\n%%{init: {'securityLevel': 'loose'}}%%\ngraph LR\nA[\"</text><script>window.hit=1\"]\n```",
    "{{ 7*7 }} {% include 'x' %} ${window.hit=1}",
    "<!-- calc: <img src=x onerror=window.hit=1> as GB -->**<img src=x onerror=window.hit=1>**",
]

EVIL_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" onload="window.hit=1;alert(1)">'
    "<script>window.hit=1;alert(1)</script><rect width='9' height='9'/></svg>"
)


def hostile_lesson(pieces: list[str], number: int) -> str:
    """A lesson with each piece in prose, and in a prompt, an option, a hint, a check and a task."""
    prose = "\n\n".join(pieces)
    one_line = [piece.replace("\n", " ") for piece in pieces if "```" not in piece]
    items = "\n\n".join(
        f"""{place}. ▢ {piece}

    - a) {piece}
    - b) two {piece}

<details markdown="1"><summary>Hint</summary>

{piece}

</details>

<details markdown="1"><summary>Check</summary>

**b)** {piece}

- a) {piece}

</details>"""
        for place, piece in enumerate(one_line, 1)
    )
    quoted = one_line[0].replace("'", "''")
    return f"""---
title: '{number}. {quoted}'
description: '{quoted}'
type: lesson
math: true
objectives:
  - '{quoted}'
---
# Lesson {number}. {one_line[0]}

**Mission link:** {one_line[1]}
**Primary source:** {one_line[2]}
**Prerequisites:** {one_line[3]}

## Warm-up {one_line[4]}

1. ▢ Numbers

<!-- item
id: '{quoted}'
kind: numeric
answer: 3
unit: '{quoted}'
skill: '{quoted}'
wrong: [{{value: 1, say: '{quoted}', misconception: '{quoted}'}}]
-->

<details markdown="1"><summary>Check {one_line[5]}</summary>

3

</details>

## Know this

<!-- widget calculator
preset: {{model: '{quoted}'}}
caption: '{quoted}'
-->

{prose}

## Practice

{items}

## Real-world reps

{chr(10).join(f"- [ ] {piece}" for piece in one_line)}

---

{one_line[-1]}
"""
