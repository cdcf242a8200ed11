import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { operations, sendMessage } from '@hermod/protocol'
import { openApiDocument } from '@hermod/protocol/openapi'
import { describe, expect, it } from 'vitest'
import { openApiExamples } from '../openapi-examples.js'
import { referencePage } from './page.js'

const document = openApiDocument({
  version: '1.2.3',
  builtOperationIds: new Set([sendMessage.id]),
  examples: openApiExamples(),
})
const page = referencePage(document)
const all = { version: '1.2.3', builtOperationIds: new Set(operations.map(({ id }) => id)) }
const assets = join(import.meta.dirname, '../../../../assets/docs')

function articleOf(id: string): string {
  return new RegExp(`<article id="${id}".*?</article>`, 's').exec(page)?.[0] ?? ''
}

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
    ).toEqual(['docs/reference.css', 'docs/search.js', 'docs/try-it.js', 'docs/request.js'])
  })

  it('shows the address of the installation, escaped once', () => {
    const url = "https://chat.example.org/a'b&c"
    const own = referencePage({ ...document, servers: [{ url, description: '' }] })
    const escaped = 'https://chat.example.org/a&#39;b&amp;c'
    expect(own).toContain(`<code class="base">${escaped}</code>`)
    expect(own).toContain(`export HERMOD_URL=${escaped}\n`)
  })

  it('has no credential among the parameters of an address in its forms', () => {
    const served = referencePage(openApiDocument({ ...all, examples: openApiExamples() }))
    const forms = [...served.matchAll(/ data-call="([^"]+)"/g)].map(([, text = '']) =>
      JSON.parse(text.replaceAll('&quot;', '"')),
    )
    expect(forms.length).toBeGreaterThan(200)
    const names = forms.flatMap(({ query }) => query.map(({ name }: { name: string }) => name))
    expect(names).toContain('cursor')
    expect(names.filter((name) => name === 'access-token' || name === 'app_id')).toEqual([])
  })

  it('gives no id twice', () => {
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
  })

  it('loads its own style and scripts and nothing from elsewhere', () => {
    const loaded = [...page.matchAll(/<(?:link|img|iframe|script|object|embed)\b[^>]*>/g)]
    expect(loaded.map(([tag]) => tag)).toEqual([
      '<link rel="stylesheet" href="docs/reference.css">',
      '<link rel="modulepreload" href="docs/search.js">',
      '<link rel="modulepreload" href="docs/try-it.js">',
      '<link rel="modulepreload" href="docs/request.js">',
      '<script type="module" src="docs/reference.js">',
    ])
    expect(page).not.toMatch(/<style|@import|url\(|\son\w+=|style=/)
    for (const asset of readdirSync(assets))
      expect(readFileSync(join(assets, asset), 'utf8')).not.toMatch(
        /@import|url\(|https?:|import\(|innerHTML|eval\(|(?:local|session)Storage/,
      )
  })

  it('has an anchor for each field and error of an operation, and for each code', () => {
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    const expected = [
      'message.send:body.targets',
      'message.send:answer.msg_ids',
      'contact.list:query.cursor',
      'user.private.update:body',
      'message.send:error.13004',
      'error-blocked_by_recipient',
      'error-13004',
      'header-access-token',
    ]
    expect(expected.filter((id) => !ids.includes(id))).toEqual([])
  })

  it('shows callers, scopes and the right in the group', () => {
    const kick = articleOf('group.kick')
    expect(kick).toContain('<dt>Scopes of an Admin token</dt><dd><code>groups</code></dd>')
    expect(kick).toContain('<dt>Right in the group</dt><dd>moderate (kick, ban, unban, block)</dd>')
    expect(articleOf('operator.app.list')).not.toContain('Scopes')
  })

  it('shows the public address where it is configured', () => {
    const serverUrl = 'https://chat.example.org/im'
    const text = referencePage({ ...document, servers: [{ url: serverUrl, description: '' }] })
    expect(text).toContain(`export HERMOD_URL=${serverUrl}\n`)
    expect(text).not.toContain('own-address')
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
