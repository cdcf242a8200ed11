import { readdirSync, readFileSync } from 'node:fs'
import { operations, sendMessage } from '@hermod/protocol'
import { openApiDocument } from '@hermod/protocol/openapi'
import { describe, expect, it } from 'vitest'
import { openApiExamples } from './openapi-examples.js'
import { referencePage } from './reference-page.js'

const document = openApiDocument({
  version: '1.2.3',
  builtOperationIds: new Set([sendMessage.id]),
  examples: openApiExamples(),
})
const page = referencePage(document)

describe('the reference page', () => {
  it('shows every operation once, with its paths and callers', () => {
    const articles = [...page.matchAll(/<article id="([^"]+)"/g)].map(([, id]) => id)
    expect(articles.sort()).toEqual(operations.map(({ id }) => id).sort())
  })

  it('marks what is planned and nothing else', () => {
    expect(page.match(/class="badge status">planned</g)).toHaveLength(operations.length - 1)
  })

  it('links only to what is on the page, to the document and to its own style', () => {
    const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
    const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, link]) => link ?? '')
    expect(
      links.filter((link) => !link.endsWith('api.json') && !ids.has(link.replace(/^#/, ''))),
    ).toEqual(['docs/reference.css'])
  })

  it('gives no id twice', () => {
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
  })

  it('loads its own style and script and nothing from elsewhere', () => {
    const loaded = [...page.matchAll(/<(?:link|img|iframe|script|object|embed)\b[^>]*>/g)]
    expect(loaded.map(([tag]) => tag)).toEqual([
      '<link rel="stylesheet" href="docs/reference.css">',
      '<script src="docs/reference.js">',
    ])
    expect(page).not.toMatch(/<style|@import|url\(|\son\w+=|style=/)
    const assets = readdirSync(new URL('../../../assets/docs', import.meta.url))
    expect(assets.toSorted()).toEqual(['reference.css', 'reference.js'])
    for (const asset of assets)
      expect(
        readFileSync(new URL(`../../../assets/docs/${asset}`, import.meta.url), 'utf8'),
      ).not.toMatch(/@import|url\(|https?:|fetch\(|import\(/)
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
