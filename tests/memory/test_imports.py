import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAY_IMPORT = {
    "flows": {"flows", "tasks", "memory", "results"},
    "tasks": {"tasks", "memory", "results"},
    "results": {"results", "memory"},
    "memory": {"memory"},
}


def test_the_memory_core_imports_neither_prefect_nor_a_network_client():
    program = (
        "import sys, pkgutil, importlib, memory\n"
        "for found in pkgutil.walk_packages(memory.__path__, 'memory.'):\n"
        "    importlib.import_module(found.name)\n"
        "print(*{'prefect', 'openai', 'ollama', 'httpx', 'requests', 'aiohttp', 'urllib3'} & set(sys.modules))\n"
        "print(*{'tasks', 'flows', 'results'} & set(sys.modules))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


def test_imports_point_one_way():
    strays = []
    for package, allowed in MAY_IMPORT.items():
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    imported = [node.module]
                for name in imported:
                    top = name.split(".")[0]
                    if top in MAY_IMPORT and top not in allowed:
                        strays.append(f"{path.relative_to(ROOT)} imports {name}")
    assert strays == []
