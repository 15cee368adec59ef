/** The page's look, light and dark. */
export const pageStyle: string = `
:root{--paper:#fff;--ink:#1b1f24;--soft:#59636e;--line:#d5dbe1;--panel:#f5f7f9;--caller:#1a5fd0;--agent:#1a7f4b;--noise:#9a6700;--tool:#8250df;--passed:#1a7f37;--failed:#c0262d;--error:#9a5b00;--on:#fff}
@media (prefers-color-scheme:dark){:root{--paper:#0e1116;--ink:#e4e8ed;--soft:#9aa5b1;--line:#333c47;--panel:#161b22;--caller:#6ab0ff;--agent:#4fce8b;--noise:#e3b341;--tool:#c297ff;--passed:#5bd27e;--failed:#ff8a84;--error:#f0b45b;--on:#0e1116}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
header,main,footer{max-width:60rem;margin:0 auto;padding:0 1rem}
header{padding-top:1.5rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .75rem}
small,time,.legend,header p{color:var(--soft)}small{font-weight:400;font-size:.875rem}
.badge{display:inline-block;padding:0 .5em;border-radius:1em;color:var(--on);font-size:.8rem;font-weight:600;vertical-align:middle;white-space:nowrap}
.badge.passed{background:var(--passed)}.badge.failed{background:var(--failed)}.badge.error{background:var(--error)}
details{border:1px solid var(--line);border-radius:8px;background:var(--panel);margin:.75rem 0;padding:0 1rem}
summary{cursor:pointer;padding:.7rem 0;min-height:44px}
.trouble{border-left:4px solid var(--error);padding-left:.75rem}
ul,ol{list-style:none;margin:0 0 1rem;padding:0}
.verdicts li{padding:.35rem 0;border-top:1px solid var(--line)}
.axis{overflow-x:auto;margin:0 -1rem 1rem;padding:0 1rem}
.axis:focus-visible,summary:focus-visible,a:focus-visible{outline:2px solid var(--caller);outline-offset:2px}
svg{display:block}
.ticks path{stroke:var(--line)}.ticks text{fill:var(--soft);font-size:11px;text-anchor:middle}.ticks text:first-of-type{text-anchor:start}
rect.caller{fill:var(--caller)}rect.agent{fill:var(--agent)}rect.cut{stroke:var(--failed);stroke-width:3}rect.noise{fill:var(--noise)}circle.tool{fill:var(--tool)}
.transcript li{display:grid;grid-template-columns:4rem 1fr;gap:.5rem;padding:.25rem 0 .25rem .5rem;border-left:3px solid var(--line)}
.transcript li:target{background:var(--paper)}
.transcript p{margin:0}.transcript time{font-variant-numeric:tabular-nums;text-align:right}
.transcript .caller{border-color:var(--caller)}.transcript .agent{border-color:var(--agent)}.transcript .tool{border-color:var(--tool)}
.caller b{color:var(--caller)}.agent b{color:var(--agent)}
.transcript em{color:var(--failed);font-style:normal;font-size:.875rem}.unheard{color:var(--soft)}
code{font-size:.875rem}
.legend{padding:1rem 0 2rem}.legend span{display:inline-block;width:1em;height:.8em;border-radius:3px;margin-left:.75rem}
.legend .caller{background:var(--caller);margin-left:0}.legend .agent{background:var(--agent)}.legend .cut{outline:3px solid var(--failed);outline-offset:-3px}.legend .noise{background:var(--noise)}.legend .tool{background:var(--tool);border-radius:50%;width:.8em}
`;
