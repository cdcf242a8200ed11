import { errorCatalogue, groupRights, operations, sendMessage } from '@hermod/protocol'
import { openApiDocument } from '@hermod/protocol/openapi'
import { describe, expect, it } from 'vitest'
import { renderGroupRights } from './group-rights.js'
import { renderAvailability, renderErrors, renderOperations } from './render.js'

const builtOperationIds = new Set([sendMessage.id])
const described = { version: '1.2.3', builtOperationIds, examples: {} }
const document = openApiDocument(described)

/** Cells of every table row, split where Markdown splits. */
function rows(markdown: string): string[][] {
  return markdown
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1))
}

describe('the generated reference', () => {
  it('has a page for every section, with a heading for every operation', () => {
    const { 'operations.md': index, ...pages } = renderOperations(document)
    for (const { tag, methods, path } of operations) {
      const name = `operations/${tag.toLowerCase().replaceAll(' ', '-')}.md`
      expect(index).toContain(`| [${tag}](${name}) |`)
      expect(pages[name]).toContain(`\n## ${methods.join(' | ')} ${path}\n`)
    }
    expect(Object.keys(pages)).toHaveLength(new Set(operations.map(({ tag }) => tag)).size)
  })

  it('lists every error of the catalogue with its number', () => {
    const text = renderErrors(errorCatalogue)
    for (const [name, { code }] of Object.entries(errorCatalogue))
      expect(text).toContain(`| ${code} | \`${name}\` |`)
  })

  it('tells for every operation whether it is available', () => {
    const text = renderAvailability(operations, builtOperationIds)
    expect(text).toContain(`1 of ${operations.length} operations`)
    expect(text.match(/\| yes \|/g)).toHaveLength(1)
    expect(text.match(/\| answers 50100 \|/g)).toHaveLength(operations.length - 1)
    expect(text).toContain('The others')
    const all = new Set(operations.map(({ id }) => id))
    expect(renderAvailability(operations, all)).not.toContain('50100')
  })

  it('keeps every table rectangular', () => {
    const tables = [
      ...Object.values(renderOperations(document)),
      renderErrors(errorCatalogue),
      renderAvailability(operations, builtOperationIds),
    ]
    for (const row of tables.flatMap(rows)) expect([3, 4, 6]).toContain(row.length)
    for (const row of rows(renderGroupRights(operations))) expect(row).toHaveLength(8)
  })

  it('has a row for every right in a group, with who has it and the operations that need it', () => {
    const [, , ...found] = rows(renderGroupRights(operations)).map((row) =>
      row.map((cell) => cell.trim()),
    )
    expect(found.map(([name]) => name)).toEqual(
      Object.keys(groupRights).map((name) => `\`${name}\``),
    )
    const rowOf = (name: string) => found.find(([cell]) => cell === `\`${name}\``)?.slice(2)
    expect(rowOf('modify')?.slice(0, 4)).toEqual(['yes', 'yes', 'while `member_modify` is on', ''])
    expect(rowOf('files')?.slice(0, 4)).toEqual(['yes', 'yes', 'own ones', ''])
    expect(rowOf('moderate')).toEqual([
      ...['yes', 'yes', '', ''],
      'users with a lower role',
      '`POST /group/ban`, `POST /group/block`, `DELETE\\|POST /group/kick`, `POST /group/unban`',
    ])
    for (const { path, right } of operations)
      if (right) expect(rowOf(right)?.at(-1)).toContain(` ${path}\``)
  })

  it('gives the same text for the same contract', () => {
    expect(renderOperations(document)).toEqual(renderOperations(openApiDocument(described)))
  })
})
