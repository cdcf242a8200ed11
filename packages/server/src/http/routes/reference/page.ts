import { type ErrorEntry, errorCatalogue } from '@hermod/protocol'
import {
  type OpenApiDocument,
  type ReferenceOperation,
  type ReferenceSection,
  referenceSections,
} from '@hermod/protocol/openapi'
import { anchor, escapeHtml, paragraphs } from './html.js'
import { methodBadge, operationArticle } from './operation.js'
import { startSection } from './start.js'

/** Renders the reference as one HTML page; its style and scripts are in assets/docs. */
export function referencePage(document: OpenApiDocument): string {
  const sections = referenceSections(document)
  const { title, version, description } = document.info
  const address = document.servers[0]?.url ?? '/'
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} API reference</title>
<link rel="stylesheet" href="docs/reference.css">
<link rel="modulepreload" href="docs/search.js">
<link rel="modulepreload" href="docs/try-it.js">
<link rel="modulepreload" href="docs/request.js">
</head>
<body>
<a class="skip" href="#content">Skip to the operations</a>
<header class="top">
<h1>${escapeHtml(title)} <span>API reference, version ${escapeHtml(version)}</span></h1>
<p class="links"><a href="openapi.json">OpenAPI document</a> <a href="asyncapi.json">AsyncAPI document of the gateway</a></p>
</header>
${bar}
<div class="columns">
<nav id="list" aria-label="Operations">
<section><h2><a href="#start">Start here</a></h2></section>
${sections.map(navigationSection).join('\n')}
${errorNavigation()}
</nav>
<main id="content" tabindex="-1">
${startSection(address.startsWith('http') ? address : null, sections)}
<section class="intro" aria-labelledby="answers"><h2 id="answers" tabindex="-1">Answers and parameters</h2>
${paragraphs(description)}
</section>
${sections.map(operationSection).join('\n')}
${errorSection()}
</main>
</div>
<p id="status" class="unseen" role="status"></p>
<script type="module" src="docs/reference.js"></script>
</body>
</html>
`
}

/** Controls of the script; without it they are hidden. */
const bar = `<div class="bar" role="search">
<button type="button" id="toggle" aria-expanded="false" aria-controls="list">List</button>
<label for="filter">Filter</label>
<input id="filter" type="search" placeholder="path, field, code or words" aria-keyshortcuts="/" autocomplete="off" spellcheck="false">
<output id="count" for="filter"></output>
<label for="language">Examples</label>
<select id="language" autocomplete="off"><option value="curl">curl</option><option value="ts">TypeScript</option><option value="client">@hermod/client</option></select>
</div>`

function navigationSection({ name, operations }: ReferenceSection): string {
  return `<section><h2><a href="#section-${anchor(name)}">${escapeHtml(name)}</a></h2><ul>${operations.map(navigationEntry).join('')}</ul></section>`
}

function navigationEntry({ id, method, path, summary, planned }: ReferenceOperation): string {
  return `<li><a href="#${anchor(id)}"${planned ? ' class="planned"' : ''}>${methodBadge(method)} <code>${escapeHtml(path)}</code> <span>${escapeHtml(summary)}</span></a></li>`
}

function operationSection({ name, description, operations }: ReferenceSection): string {
  return `<section class="tag" aria-labelledby="section-${anchor(name)}">
<h2 id="section-${anchor(name)}" tabindex="-1">${escapeHtml(name)}</h2>
<p>${escapeHtml(description)}</p>
${operations.map(operationArticle).join('\n')}
</section>`
}

const errorEntries = Object.entries<ErrorEntry>(errorCatalogue)

function errorNavigation(): string {
  const entries = errorEntries.map(
    ([name, { code, text }]) =>
      `<li><a href="#error-${anchor(name)}"><code>${code}</code> <span>${escapeHtml(text)}</span></a></li>`,
  )
  return `<section><h2><a href="#errors">Errors</a></h2><ul>${entries.join('')}</ul></section>`
}

/** Each error has an anchor by its name and one by its code. */
function errorSection(): string {
  const entries = errorEntries.map(
    ([name, { code, http, retryable, text, meaning }]) =>
      `<div id="error-${anchor(name)}" class="error"><dt id="error-${code}"><code>${code}</code> <span>${escapeHtml(name)}</span></dt><dd><b>${escapeHtml(text)}</b> ${escapeHtml(meaning)} <i>HTTP class ${http}${retryable ? '; the same call may succeed later' : ''}</i></dd></div>`,
  )
  return `<section aria-labelledby="errors"><h2 id="errors" tabindex="-1">Errors</h2><dl class="fields">${entries.join('')}</dl></section>`
}
