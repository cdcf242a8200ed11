import type { ReferenceField } from '@hermod/protocol/openapi'
import { anchor, escapeHtml } from './html.js'

/** Longer lists than this are folded. */
const foldAbove = 12

/** Returns the anchors of fields: each is unique on the page, also where two shapes share a name. */
function anchorsOf(prefix: string, fields: readonly ReferenceField[]): string[] {
  const uses = new Map<string, number>()
  return fields.map(({ path }) => {
    const name = path.startsWith('(') ? '' : `.${path.replaceAll('[]', '')}`
    const id = anchor(`${prefix}${name}`)
    const use = (uses.get(id) ?? 0) + 1
    uses.set(id, use)
    return use === 1 ? id : `${id}:${use}`
  })
}

/**
 * Lists fields under a caption.
 * @param prefix begins the anchors, such as `message.send:body`
 */
export function fieldList(
  caption: string,
  prefix: string,
  fields: readonly ReferenceField[],
): string {
  if (fields.length === 0) return ''
  const anchors = anchorsOf(prefix, fields)
  const entries = fields.map((field, index) => fieldEntry(field, anchors[index] ?? ''))
  const list = `<dl class="fields">${entries.join('')}</dl>`
  return fields.length > foldAbove
    ? `<details><summary>${caption} (${fields.length})</summary>${list}</details>`
    : `<h4>${caption}</h4>${list}`
}

function fieldEntry(field: ReferenceField, id: string): string {
  const { path, type, required, description, bounds } = field
  const presence = required ? ' <b class="required">required</b>' : ''
  const limits = bounds === '' ? '' : ` <i>${escapeHtml(bounds)}</i>`
  return `<div id="${id}"><dt><code>${escapeHtml(path)}</code> <span>${escapeHtml(type)}</span>${presence}</dt><dd>${escapeHtml(description)}${limits}</dd></div>`
}
