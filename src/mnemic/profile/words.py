# ruff: noqa: E501 (lists of words, not prose)
"""Which words tell what a user works with, and in which language they wish to be answered?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

# ---- languages that people speak, by code

SPOKEN: Mapping[str, str] = {
    "zh": "chinese|mandarin|simplified chinese|中文|汉语|普通话|国语|华语|简体中文|简体",
    "zh-Hant": "traditional chinese|繁体中文|繁體中文|繁体|繁體",
    "yue": "cantonese|粤语|粵語|广东话",
    "en": "english|英文|英语|英語",
    "ja": "japanese|日文|日语|日語",
    "ko": "korean|韩文|韩语|韓語|朝鲜语",
    "fr": "french|法文|法语|法語",
    "de": "german|德文|德语|德語",
    "es": "spanish|西班牙文|西班牙语|西语",
    "pt": "portuguese|葡萄牙文|葡萄牙语|葡语",
    "it": "italian|意大利文|意大利语",
    "ru": "russian|俄文|俄语|俄語",
    "ar": "arabic|阿拉伯文|阿拉伯语",
    "hi": "hindi|印地语",
    "vi": "vietnamese|越南文|越南语",
    "th": "thai|泰文|泰语",
    "id": "indonesian|印尼语|印尼文",
    "tr": "turkish|土耳其语",
    "nl": "dutch|荷兰语",
    "sv": "swedish|瑞典语",
    "da": "danish|丹麦语",
    "no": "norwegian|挪威语",
    "fi": "finnish|芬兰语",
    "pl": "polish|波兰语",
    "cs": "czech|捷克语",
    "el": "greek|希腊语",
    "he": "hebrew|希伯来语",
    "uk": "ukrainian|乌克兰语",
}

# ---- languages for machines; those whose names are also words or letters are found only as written here

_AS_WRITTEN = {
    "Go",
    "C",
    "R",
    "D",
    "Swift",
    "Dart",
    "Julia",
    "Crystal",
    "Zig",
    "Nim",
    "Elm",
    "Scheme",
    "Ada",
    "Lean",
    "Racket",
}
_LANGUAGES = (
    "Python|Rust|Go|Java|JavaScript|TypeScript|C|C++|C#|F#|R|D|Ruby|PHP|Perl|Swift|Kotlin|Scala|Groovy|Dart|Lua|Haskell|OCaml|Erlang|Elixir|"
    "Clojure|Julia|MATLAB|Fortran|COBOL|Objective-C|Visual Basic|VBA|Assembly|Bash|PowerShell|SQL|Solidity|Zig|Nim|Crystal|Elm|Racket|Scheme|"
    "Common Lisp|Prolog|Ada|Verilog|VHDL|Lean|Coq|WebAssembly|Pascal|Delphi|Apex|ABAP|Gleam|Mojo"
)
_OTHER_NAMES = {
    "golang": "Go",
    "go 语言": "Go",
    "js": "JavaScript",
    "ts": "TypeScript",
    "cpp": "C++",
    "c sharp": "C#",
    "csharp": "C#",
    "py": "Python",
    "c 语言": "C",
    "shell script": "Bash",
    "汇编": "Assembly",
}

# ---- tools of daily work

_TOOLS = (
    "Vim|Neovim|Emacs|VS Code|Visual Studio|IntelliJ|PyCharm|WebStorm|GoLand|CLion|Xcode|Android Studio|Eclipse|Sublime Text|Zed|Cursor|Jupyter|RStudio|"
    "Docker|Podman|Kubernetes|Helm|Terraform|Ansible|Jenkins|GitHub Actions|GitLab|GitHub|Bitbucket|Git|tmux|zsh|fish|Homebrew|Postman|Insomnia|"
    "Figma|Sketch|Photoshop|Illustrator|Lightroom|Blender|Premiere|Final Cut|DaVinci Resolve|Ableton|AutoCAD|SolidWorks|Fusion 360|Unity|Unreal Engine|Godot|"
    "Notion|Obsidian|Logseq|Roam|OneNote|Evernote|Anki|Zotero|LaTeX|Overleaf|Excel|PowerPoint|Word|Google Docs|Google Sheets|Airtable|Tableau|Power BI|"
    "Slack|Microsoft Teams|Discord|Zoom|Telegram|WhatsApp|WeChat|Feishu|Lark|DingTalk|Outlook|Gmail|Thunderbird|Trello|Jira|Asana|Linear|ClickUp|Confluence|"
    "Chrome|Firefox|Safari|Raycast|Alfred|1Password|Bitwarden|Todoist|TickTick|Datadog|Grafana|Sentry|Make|Bazel|CMake|pytest|Poetry"
)
_TOOL_AS_WRITTEN = {
    "Word",
    "Make",
    "Excel",
    "Linear",
    "Sketch",
    "Cursor",
    "Zed",
    "Roam",
    "Unity",
    "Zoom",
    "Slack",
    "Notion",
    "Alfred",
    "Chrome",
    "Safari",
    "Premiere",
    "Eclipse",
    "Outlook",
    "Lark",
    "Sentry",
    "Poetry",
}
_TOOL_NAMES = {
    "vscode": "VS Code",
    "visual studio code": "VS Code",
    "k8s": "Kubernetes",
    "nvim": "Neovim",
    "微信": "WeChat",
    "企业微信": "WeCom",
    "飞书": "Feishu",
    "钉钉": "DingTalk",
    "语雀": "Yuque",
    "石墨": "Shimo",
    "腾讯会议": "Tencent Meeting",
    "腾讯文档": "Tencent Docs",
    "有道云笔记": "Youdao Note",
    "印象笔记": "Evernote",
    "幕布": "Mubu",
    "滴答清单": "TickTick",
    "wps": "WPS",
}

# ---- what systems are built with, beyond languages

_STACK = (
    "PostgreSQL|MySQL|MariaDB|SQLite|MongoDB|Redis|Valkey|Memcached|Cassandra|ClickHouse|DuckDB|Elasticsearch|OpenSearch|Neo4j|TimescaleDB|DynamoDB|CockroachDB|TiDB|Oracle|SQL Server|Snowflake|BigQuery|pgvector|Milvus|Qdrant|"
    "Kafka|RabbitMQ|NATS|Pulsar|Celery|Airflow|Spark|Flink|dbt|Nginx|Caddy|Envoy|HAProxy|Traefik|"
    "React|Vue|Angular|Svelte|SolidJS|Next.js|Nuxt|Remix|Astro|Tailwind|Node.js|Deno|Bun|Express|NestJS|Django|Flask|FastAPI|Starlette|Rails|Laravel|Symfony|Spring Boot|Spring|Quarkus|ASP.NET|.NET|Gin|Fiber|Actix|Axum|Tokio|Phoenix|Flutter|React Native|SwiftUI|Electron|Tauri|"
    "Docker|Kubernetes|Helm|Terraform|Ansible|AWS|Azure|GCP|Cloudflare|Vercel|Netlify|Heroku|Fly.io|GitHub Actions|GitLab CI|Jenkins|Prometheus|Grafana|OpenTelemetry|Sentry|"
    "PyTorch|TensorFlow|JAX|scikit-learn|pandas|NumPy|LangChain|LangGraph|vLLM|Hugging Face|gRPC|GraphQL|REST|WebSocket|MQTT|Protobuf|pytest|Jest|Playwright|Cypress|Vite|Webpack|Bazel|Poetry|Linux|Ubuntu|Debian|Windows|macOS|Android|iOS|Godot|Unity|Unreal Engine"
)
_STACK_AS_WRITTEN = {
    "Oracle",
    "Express",
    "Spring",
    "Phoenix",
    "Fiber",
    "Gin",
    "React",
    "Remix",
    "Astro",
    "Angular",
    "Spark",
    "Envoy",
    "Snowflake",
    "Rails",
    "Bun",
    "Vite",
    "Helm",
    "REST",
    "Poetry",
    "Jest",
    "Cypress",
    "Windows",
    "Unity",
    "Sentry",
    "Flask",
    "Celery",
    "Tailwind",
    "Pulsar",
    "Caddy",
}
_STACK_NAMES = {
    "postgres": "PostgreSQL",
    "pg": "PostgreSQL",
    "k8s": "Kubernetes",
    "mongo": "MongoDB",
    "reactjs": "React",
    "vue.js": "Vue",
    "vuejs": "Vue",
    "nextjs": "Next.js",
    "nodejs": "Node.js",
    "node": "Node.js",
    "ror": "Rails",
    "es": "Elasticsearch",
    "阿里云": "Alibaba Cloud",
    "腾讯云": "Tencent Cloud",
    "华为云": "Huawei Cloud",
    "达梦": "Dameng",
    "小程序": "Mini Program",
    "鸿蒙": "HarmonyOS",
}


class Names:
    """Known names and how they are found in a text."""

    def __init__(self, names: str, as_written: set[str], others: Mapping[str, str]) -> None:
        every = names.split("|")
        self._canonical = {name.casefold(): name for name in every} | dict(others)
        exact = [name for name in every if name in as_written]
        loose = [*(name for name in every if name not in as_written), *others]
        # the longer name first; no letter, digit or sign may go on before or behind it
        self._pattern = re.compile(
            rf"(?<![A-Za-z0-9_.#@/-])(?:(?P<exact>{_any(exact)})|(?P<loose>(?i:{_any(loose)})))"
            r"(?![A-Za-z0-9_#+]|-[A-Za-z]|['’](?!s\b))"
        )

    def find(self, text: str) -> Iterator[str]:
        """Yield the names in a text, in their usual spelling."""
        for found in self._pattern.finditer(text):
            yield self._canonical.get(found[0].casefold(), found[0])


def _any(names: list[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or r"(?!)"


LANGUAGES = Names(_LANGUAGES, _AS_WRITTEN, _OTHER_NAMES)
TOOLS = Names(_TOOLS, _TOOL_AS_WRITTEN, _TOOL_NAMES)
STACK = Names(
    f"{_STACK}|{_LANGUAGES}", _AS_WRITTEN | _STACK_AS_WRITTEN, _STACK_NAMES | _OTHER_NAMES
)
