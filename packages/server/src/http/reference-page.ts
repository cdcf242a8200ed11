import { type ErrorEntry, errorCatalogue } from '@hermod/protocol'
import {
  type OpenApiDocument,
  type ReferenceField,
  type ReferenceOperation,
  type ReferenceSection,
  referenceSections,
} from '@hermod/protocol/openapi'

/** The reference as one HTML page that needs nothing else: no script, style, font or picture from elsewhere. */
export function referencePage(document: OpenApiDocument): string {
  const sections = referenceSections(document)
  const { title, version, description } = document.info
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} API reference</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the operations</a>
<header class="top">
<p class="brand">${escapeHtml(title)} <span>API reference, version ${escapeHtml(version)}</span></p>
<p><label for="filter">Filter</label> <input id="filter" type="search" placeholder="path, id or words" autocomplete="off" spellcheck="false">
<output id="count" for="filter" aria-live="polite"></output></p>
<p class="links"><a href="openapi.json">OpenAPI document</a></p>
</header>
<div class="columns">
<nav aria-label="Operations">
${sections.map(navigationSection).join('\n')}
<section><h2><a href="#errors">Errors</a></h2></section>
</nav>
<main id="content" tabindex="-1">
<section class="intro">
${paragraphs(description)}
</section>
${sections.map(operationSection).join('\n')}
${errorSection()}
</main>
</div>
<script>${script}</script>
</body>
</html>
`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

/** Paragraphs of the document's text; words in backticks become code. */
function paragraphs(text: string): string {
  return text
    .split('\n\n')
    .map((paragraph) => `<p>${escapeHtml(paragraph).replace(/`([^`]+)`/g, '<code>$1</code>')}</p>`)
    .join('\n')
}

function anchor(text: string): string {
  return escapeHtml(text.toLowerCase().replace(/[^a-z0-9._]+/g, '-'))
}

function navigationSection({ name, operations }: ReferenceSection): string {
  const links = operations.map(
    (operation) =>
      `<li data-search="${searchText(operation)}"><a href="#${anchor(operation.id)}"${operation.planned ? ' class="planned"' : ''}>${escapeHtml(operation.path)}</a></li>`,
  )
  return `<section><h2><a href="#section-${anchor(name)}">${escapeHtml(name)}</a></h2><ul>${links.join('')}</ul></section>`
}

function searchText({ id, methods, path, summary }: ReferenceOperation): string {
  return escapeHtml(`${id} ${methods.join(' ')} ${path} ${summary}`.toLowerCase())
}

function operationSection({ name, description, operations }: ReferenceSection): string {
  return `<section class="tag" aria-labelledby="section-${anchor(name)}">
<h2 id="section-${anchor(name)}">${escapeHtml(name)}</h2>
<p>${escapeHtml(description)}</p>
${operations.map(operationArticle).join('\n')}
</section>`
}

function operationArticle(operation: ReferenceOperation): string {
  const { id, methods, path, summary, notes, callers, planned, limitation } = operation
  return `<article id="${anchor(id)}" data-search="${searchText(operation)}">
<h3>${methods.map(methodBadge).join(' ')} <code>${escapeHtml(path)}</code>${planned ? ' <span class="badge status">planned</span>' : ''}</h3>
<p class="summary">${escapeHtml(summary)}</p>
${notes === '' ? '' : paragraphs(notes)}
${planned ? '<p class="note">Not available yet in this version: answers code 50100.</p>' : ''}
${limitation === '' ? '' : `<p class="note">In part: ${escapeHtml(limitation)}</p>`}
<dl><dt>Callers</dt><dd>${escapeHtml(callers)}</dd><dt>Operation</dt><dd><code>${escapeHtml(id)}</code></dd></dl>
${fieldTable('Headers', operation.headers)}
${fieldTable('Query parameters', operation.query)}
${fieldTable('Body', operation.body)}
${operation.answersFile ? '<h4>Answer</h4><p>The file itself, or the envelope of a failure.</p>' : fieldTable('Answer', operation.answer)}
${operationErrors(operation)}
<details><summary>Example</summary><pre><code>${escapeHtml(operation.example)}</code></pre></details>
</article>`
}

function methodBadge(method: string): string {
  return `<span class="badge method ${escapeHtml(method.toLowerCase())}">${escapeHtml(method)}</span>`
}

/** Longer tables than this are folded. */
const foldAbove = 12

function fieldTable(caption: string, fields: readonly ReferenceField[]): string {
  if (fields.length === 0) return ''
  const table = `<div class="scroll"><table><thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${fields.map(fieldRow).join('')}</tbody></table></div>`
  if (caption === 'Headers' || fields.length > foldAbove) {
    return `<details><summary>${caption} (${fields.length})</summary>${table}</details>`
  }
  return `<h4>${caption}</h4>${table}`
}

function fieldRow({ path, type, required, description, bounds }: ReferenceField): string {
  const presence = required ? ' <span class="required" title="required">required</span>' : ''
  const limits = bounds === '' ? '' : ` <span class="bounds">${escapeHtml(bounds)}</span>`
  return `<tr><th scope="row"><code>${escapeHtml(path)}</code>${presence}</th><td>${escapeHtml(type)}</td><td>${escapeHtml(description)}${limits}</td></tr>`
}

function operationErrors({ errors }: ReferenceOperation): string {
  if (errors.length === 0) return ''
  const items = errors.map(
    ({ name, code, text }) =>
      `<li><a href="#error-${anchor(name)}"><code>${code}</code></a> ${escapeHtml(text)}</li>`,
  )
  return `<h4>Errors</h4><ul class="errors">${items.join('')}</ul>`
}

function errorSection(): string {
  const rows = Object.entries<ErrorEntry>(errorCatalogue).map(
    ([name, { code, http, retryable, text, meaning }]) =>
      `<tr id="error-${anchor(name)}"><th scope="row"><code>${code}</code></th><td><code>${escapeHtml(name)}</code></td><td>${http}</td><td>${retryable ? 'yes' : ''}</td><td>${escapeHtml(text)}</td><td>${escapeHtml(meaning)}</td></tr>`,
  )
  return `<section aria-labelledby="errors"><h2 id="errors">Errors</h2>
<div class="scroll"><table><thead><tr><th scope="col">Code</th><th scope="col">Name</th><th scope="col">HTTP class</th><th scope="col">Retry</th><th scope="col">Text</th><th scope="col">Meaning</th></tr></thead>
<tbody>${rows.join('')}</tbody></table></div></section>`
}

const style = `
:root{--paper:#fff;--ink:#1c2330;--soft:#5a6475;--line:#dde2ea;--panel:#f5f7fa;--accent:#2257b8;--get:#1f6f43;--post:#2257b8;--put:#8a5a00;--delete:#a8283a;--planned:#6a4b9c}
@media(prefers-color-scheme:dark){:root{--paper:#12161d;--ink:#e4e8ef;--soft:#9aa5b6;--line:#2c3543;--panel:#1a202a;--accent:#86b0ff;--get:#7fd3a2;--post:#86b0ff;--put:#f0bf6a;--delete:#ff8f9c;--planned:#c9aefc}}
*{box-sizing:border-box}
html{scroll-padding-top:4.5rem}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
a{color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
code,pre{font:.9em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.skip{position:absolute;left:-999px}
.skip:focus{left:1rem;top:1rem;z-index:3;background:var(--paper);padding:.5rem}
.top{position:sticky;top:0;z-index:2;display:flex;flex-wrap:wrap;gap:.25rem 2rem;align-items:center;padding:.6rem 1.25rem;background:var(--panel);border-bottom:1px solid var(--line)}
.top p{margin:0}
.brand{font-weight:700}
.brand span{font-weight:400;color:var(--soft)}
.links{margin-left:auto}
input{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--soft);border-radius:6px;padding:.25rem .6rem;width:min(20rem,60vw)}
.columns{display:grid;grid-template-columns:18rem minmax(0,1fr);max-width:84rem;margin:0 auto}
nav{position:sticky;top:3.6rem;align-self:start;max-height:calc(100vh - 3.6rem);overflow:auto;padding:1rem 1.25rem;border-right:1px solid var(--line);font-size:.875rem}
nav h2{font-size:.875rem;margin:.9rem 0 .2rem}
nav h2 a{color:inherit;text-decoration:none}
nav ul{list-style:none;margin:0;padding:0}
nav li a{display:block;padding:.1rem 0;text-decoration:none;overflow-wrap:anywhere}
nav a.planned{color:var(--soft)}
main{padding:1.25rem 2rem 4rem;min-width:0}
main h2{margin:2.5rem 0 .25rem;font-size:1.5rem}
.intro{color:var(--soft);max-width:48rem}
article{margin:1.25rem 0;padding:1rem 1.25rem;border:1px solid var(--line);border-radius:10px}
article:target{border-color:var(--accent)}
h3{margin:0;font-size:1.05rem;overflow-wrap:anywhere}
h4{margin:1rem 0 .25rem;font-size:.9rem;color:var(--soft)}
.summary{margin:.4rem 0;font-weight:600}
.note{color:var(--planned)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.5rem 0;font-size:.9rem}
dt{color:var(--soft)}
dd{margin:0}
.badge{display:inline-block;border:1px solid currentColor;border-radius:5px;padding:0 .4rem;font-size:.75rem;font-weight:700}
.get{color:var(--get)}.post{color:var(--post)}.put{color:var(--put)}.delete{color:var(--delete)}.status{color:var(--planned)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.875rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line);font-weight:400}
thead th{color:var(--soft);font-weight:600}
.required{color:var(--delete);font-size:.75rem;margin-left:.25rem}
.bounds{color:var(--soft)}
details{margin-top:.75rem}
details>summary{cursor:pointer;color:var(--soft);font-size:.9rem;font-weight:600}
pre{overflow-x:auto;background:var(--panel);padding:.75rem 1rem;border-radius:8px}
.errors{margin:.25rem 0;padding-left:1.2rem;font-size:.9rem}
[hidden]{display:none!important}
@media(max-width:52rem){.columns{grid-template-columns:minmax(0,1fr)}nav{position:static;max-height:14rem;border-right:0;border-bottom:1px solid var(--line)}main{padding:1rem}}
@media print{nav,.top{display:none}.columns{display:block}}
`

const script = `
const filter = document.getElementById('filter')
const count = document.getElementById('count')
const entries = [...document.querySelectorAll('[data-search]')]
const groups = [...document.querySelectorAll('nav section, main section.tag')].filter((group) => group.querySelector('[data-search]'))
function apply() {
  const words = filter.value.toLowerCase().split(/\\s+/).filter(Boolean)
  for (const entry of entries) entry.hidden = !words.every((word) => entry.dataset.search.includes(word))
  for (const group of groups) group.hidden = !group.querySelector('[data-search]:not([hidden])')
  const shown = document.querySelectorAll('article:not([hidden])').length
  count.textContent = words.length === 0 ? '' : shown + (shown === 1 ? ' operation' : ' operations')
}
function reveal() {
  const target = location.hash === '' ? null : document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (!target || !target.closest('[hidden]')) return
  filter.value = ''
  apply()
  target.scrollIntoView()
}
filter.addEventListener('input', apply)
window.addEventListener('hashchange', reveal)
apply()
`
