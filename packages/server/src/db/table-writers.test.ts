/** Every table is written by one store. The statements are read from the sources, where each names its table in full. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createdTables } from './migrations/001-initial.js'

const sources = fileURLToPath(new URL('..', import.meta.url))
const tables = new Set(createdTables)

interface Writes {
  /** By file. */
  readonly tables: ReadonlyMap<string, ReadonlySet<string>>
  /** Statements whose table is not written out. */
  readonly hidden: readonly string[]
}

/** The engines' texts of statements that name their tables elsewhere, and what makes the tables. */
const isEngine = (file: string) => /^db\/(dialect|migrations)\//.test(file)

/** What may stand where a write names its table: a word, or something that is put in its place. */
const table = String.raw`['"\x60]?(\$\{[^}]*\}|[\w.]+)`
const writes = [
  new RegExp(
    String.raw`\b(?:insertInto|updateTable|deleteFrom|replaceInto|mergeInto)\(\s*${table}`,
    'g',
  ),
  new RegExp(
    String.raw`\b(?:insert\s+into|replace\s+into|merge\s+into|update|delete\s+from)\s+(?:only\s+)?${table}`,
    'gi',
  ),
  new RegExp(String.raw`:\s*Bulk(?:Insert|Update)\s*=\s*\{[^}]*?\btable:\s*${table}`, 'g'),
  new RegExp(String.raw`:\s*BulkDelete\s*=\s*\{\s*deleteFrom:\s*${table}`, 'g'),
]

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')
}

function writesOf(texts: ReadonlyMap<string, string>): Writes {
  const found = new Map<string, Set<string>>()
  const hidden: string[] = []
  for (const [file, text] of texts) {
    for (const pattern of writes)
      for (const [statement, name = ''] of withoutComments(text).matchAll(pattern)) {
        if (tables.has(name)) found.set(file, (found.get(file) ?? new Set()).add(name))
        else if (name.startsWith('${') || /\($|\([^'"]/.test(statement))
          hidden.push(`${file}: ${statement}`)
      }
    const bulks = text.match(/:\s*Bulk(?:Insert|Update|Delete)\s*=/g)?.length ?? 0
    const named =
      text.match(/:\s*Bulk(?:Insert|Update|Delete)\s*=\s*\{\s*(?:table|deleteFrom):\s*'\w+'/g)
        ?.length ?? 0
    if (bulks !== named) hidden.push(`${file}: a bulk statement`)
  }
  return { tables: found, hidden }
}

/** A store and the bulk statements beside it are one writer. */
function writerOf(file: string): string {
  return file.replace(/-(store|statements)\.ts$/, '').replace(/\.ts$/, '')
}

function writersOf(found: Writes): Record<string, string[]> {
  const written = [...found.tables].flatMap(([file, names]) =>
    [...names].map((name) => ({ name, writer: writerOf(file) })),
  )
  const all = [...new Set(written.map(({ name }) => name))]
  const writers = (table: string) =>
    written.filter(({ name }) => name === table).map(({ writer }) => writer)
  return Object.fromEntries(all.map((name) => [name, [...new Set(writers(name))].sort()]))
}

const texts = new Map(
  readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !isEngine(file))
    .map((file) => [file, readFileSync(join(sources, file), 'utf8')]),
)

describe('writers of tables', () => {
  it('are one for each table', () => {
    const writers = writersOf(writesOf(texts))
    expect(Object.keys(writers).sort()).toEqual([...tables].sort())
    expect(Object.entries(writers).filter(([, all]) => all.length > 1)).toEqual([])
  })

  it('name their tables in full', () => {
    expect(writesOf(texts).hidden).toEqual([])
  })

  it.each([
    ["tx.updateTable('users').set(x)", 'users'],
    ["tx\n  .deleteFrom(\n 'users as u')", 'users'],
    ['sql`update users as u set a = 1`', 'users'],
    ['sql`with x as (select 1) delete\n from users`', 'users'],
    ["const a: BulkUpdate = {\n  table: 'users',\n  set: {} }", 'users'],
    ["const a: BulkDelete = { deleteFrom: 'users', keys }", 'users'],
  ])('are found in %s', (text, name) => {
    expect(writersOf(writesOf(new Map([['a-store.ts', text]])))).toEqual({ [name]: ['a'] })
  })

  it.each([
    'tx.deleteFrom(name)',
    'sql`update $' + '{sql.table(name)} set a = 1`',
    'const a: BulkInsert = { ...other }',
  ])('may not hide in %s', (text) => {
    expect(writesOf(new Map([['a-store.ts', text]])).hidden).toHaveLength(1)
  })
})
