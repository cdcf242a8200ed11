import { operations, sendMessage } from '@hermod/protocol'
import { openApiDocument } from '@hermod/protocol/openapi'
import { describe, expect, it } from 'vitest'
import { referencePage } from './reference-page.js'

const document = openApiDocument({ version: '1.2.3', builtOperationIds: new Set([sendMessage.id]) })
const page = referencePage(document)

describe('the reference page', () => {
  it('shows every operation once, with its paths and callers', () => {
    const articles = [...page.matchAll(/<article id="([^"]+)"/g)].map(([, id]) => id)
    expect(articles.sort()).toEqual(operations.map(({ id }) => id).sort())
  })

  it('marks what is planned and nothing else', () => {
    expect(page.match(/class="badge status">planned</g)).toHaveLength(operations.length - 1)
  })

  it('links only to what is on the page, and to the document', () => {
    const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
    const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, link]) => link ?? '')
    expect(
      links.filter((link) => link !== 'openapi.json' && !ids.has(link.replace(/^#/, ''))),
    ).toEqual([])
  })

  it('gives no id twice', () => {
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
  })

  it('loads nothing from elsewhere', () => {
    expect(page).not.toMatch(/<(link|img|iframe|script src)|@import|url\(/)
  })

  it('escapes whatever the document says', () => {
    const hostile = '<img src=x onerror="alert(1)">'
    const path = document.paths['/message/send']
    if (!path?.post) throw new Error('no POST /message/send')
    const changed = { ...path.post, summary: hostile, 'x-hermod-notes': `\`${hostile}\`` }
    const text = referencePage({
      ...document,
      info: { ...document.info, version: hostile, description: hostile },
      paths: { '/message/send': { post: changed } },
    })
    expect(text).not.toContain('<img')
    expect(text).toContain('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;')
  })
})
