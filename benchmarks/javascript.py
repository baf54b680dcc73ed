"""The time per report of the JavaScript client, in Node and in Chromium."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Results = dict[str, Any]
HERE = Path(__file__).parent
ROOT = HERE.parent
TASKS = HERE / "javascript.mjs"
BUNDLE = ROOT / "src" / "multi_freq_ldpy" / "service" / "pages" / "ldp.mjs"
MEASURE = """
const before = performance.now();
const ldp = await import("{bundle}");
ldp.randomize(ldp.mechanism({{ version: 1, protocol: "OUE", k: 100, epsilon: 1 }}), 42);
const start = {{ "OUE, k = 100, after the import": performance.now() - before }};
const {{ measure }} = await import("{tasks}");
{use}
"""


def javascript(turns: int, milliseconds: float) -> Results | None:
    """Return milliseconds by engine and task, or None if there is no engine."""
    sys.path.append(str(ROOT))
    from tools import browser, node

    found = {}
    if path := node.find_path():
        use = (
            f"console.log(JSON.stringify({{...measure(ldp, {turns}, {milliseconds}), ...start}}));"
        )
        code = MEASURE.format(bundle=BUNDLE.as_uri(), tasks=TASKS.as_uri(), use=use)
        command, environment = ["node", "--input-type=module"], {**os.environ, "PATH": path}
        said = subprocess.run(
            command, input=code, capture_output=True, text=True, check=True, env=environment
        )
        found["Node"] = json.loads(said.stdout)
    else:
        print(f"left out: Node {node.LEAST} or newer is missing", file=sys.stderr)
    if browser.find_chromium() and find_spec("playwright"):
        use = f"document.result = () => ({{...measure(ldp, {turns}, {milliseconds}), ...start}});"
        files: dict[str, Path | str] = {
            "/page.html": '<!doctype html><script type="module" src="/run.mjs"></script>',
            "/run.mjs": MEASURE.format(bundle="/ldp.mjs", tasks="/tasks.mjs", use=use),
            "/ldp.mjs": BUNDLE,
            "/tasks.mjs": TASKS,
        }
        with browser.serve(files) as origin, browser.start_chromium() as started:
            page = started.new_page()
            page.goto(f"{origin}/page.html")
            page.wait_for_function("() => document.result")
            found["Chromium"] = page.evaluate("document.result()")
    else:
        print("left out: Chromium or Python's playwright is missing", file=sys.stderr)
    return found or None
