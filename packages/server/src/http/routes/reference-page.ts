import { type ErrorEntry, errorCatalogue } from '@hermod/protocol'
import {
  type OpenApiDocument,
  type ReferenceField,
  type ReferenceOperation,
  type ReferenceSection,
  referenceSections,
} from '@hermod/protocol/openapi'

/** Renders the reference as one HTML page; its style and script are in assets/docs. */
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
<link rel="stylesheet" href="docs/reference.css">
</head>
<body>
<a class="skip" href="#content">Skip to the operations</a>
<header class="top">
<p class="brand">${escapeHtml(title)} <span>API reference, version ${escapeHtml(version)}</span></p>
<p><label for="filter">Filter</label> <input id="filter" type="search" placeholder="path, id or words" autocomplete="off" spellcheck="false">
<output id="count" for="filter" aria-live="polite"></output></p>
<p class="links"><a href="openapi.json">OpenAPI document</a> <a href="asyncapi.json">AsyncAPI document of the gateway</a></p>
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
<script src="docs/reference.js"></script>
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
  const { id, methods, path, summary, notes, callers, planned } = operation
  return `<article id="${anchor(id)}" data-search="${searchText(operation)}">
<h3>${methods.map(methodBadge).join(' ')} <code>${escapeHtml(path)}</code>${planned ? ' <span class="badge status">planned</span>' : ''}</h3>
<p class="summary">${escapeHtml(summary)}</p>
${notes === '' ? '' : paragraphs(notes)}
${planned ? '<p class="note">Not available yet in this version: answers code 50100.</p>' : ''}
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
