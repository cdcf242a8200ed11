/** Text for the reference page. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

/** Escapes a text; words in backticks become code. */
export function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

/** Paragraphs of a text, with code in backticks. */
export function paragraphs(text: string): string {
  return text
    .split('\n\n')
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join('\n')
}

/** The id of a section, an operation, a part of it or an error. */
export function anchor(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9._:]+/g, '-')
}

/** A block of code with its name and a button that copies it. */
export function codeBlock(kind: string, name: string, code: string): string {
  return `<figure class="code ${kind}"><figcaption>${escapeHtml(name)}</figcaption><button type="button" class="copy">Copy<span class="unseen"> ${escapeHtml(name)}</span></button><pre><code>${escapeHtml(code)}</code></pre></figure>`
}
