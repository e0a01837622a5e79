// How the page of a trace looks: light or dark, as the reader's system is.

export const pageStyle = `
:root { color-scheme: light dark; --quiet: #6b7280; --line: #d4d8df; --code: #f5f6f8; --added: #dcf5e0; --removed: #fde2e1; }
@media (prefers-color-scheme: dark) {
  :root { --quiet: #9aa2ae; --line: #3a4049; --code: #20242a; --added: #17422a; --removed: #4b2022; }
  .drawing { background: #e9ecf1; }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1200px; margin: 2rem auto; padding: 0 1rem; }
h2 { border-top: 1px solid var(--line); padding-top: 1rem; margin-top: 2rem; }
pre { background: var(--code); padding: .6rem .8rem; overflow: auto; font-size: 12.5px; line-height: 1.4; max-height: 40rem; margin: .4rem 0; }
code { font-size: 12.5px; }
.quiet { color: var(--quiet); font-weight: normal; font-size: .85em; }
summary { cursor: pointer; padding: .15rem 0; }
details details { margin-left: 1.2rem; }
p.same { margin: 0 0 0 2.2rem; color: var(--quiet); }
.added { background: var(--added); } .removed { background: var(--removed); text-decoration: line-through; }
table { border-collapse: collapse; } td, th { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; }
table ul { margin: 0; padding-left: 1rem; }
.history tr { border-bottom: 1px solid var(--line); }
.kernel { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 1rem; border-bottom: 1px solid var(--line); padding: .6rem 0; }
.timeline { width: 100%; font-size: 11px; } .timeline text { fill: currentColor; }
.built { fill: #3f7fd0; } .found { fill: #7fb069; } .key { color: #fff; padding: 0 .4rem; border-radius: 3px; }
.key.built { background: #3f7fd0; } .key.found { background: #7fb069; }
.recompiles { fill: #d9822b; color: #b8661a; } .graph_breaks { fill: #c23b3b; color: #c23b3b; }
.history .recompiles, .history .graph_breaks { font-weight: 600; }
.drawing { overflow: auto; } .drawing svg { max-width: 100%; height: auto; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; margin: 1rem 0; }
`;
