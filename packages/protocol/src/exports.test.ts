import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const folder = join(import.meta.dirname, '..')
const dist = join(folder, 'dist')
const { exports: all } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
  exports: Record<string, { types: string; default: string }>
}
/** The modules; one entry is a file of JSON. */
const entries = Object.fromEntries(Object.entries(all).filter(([name]) => !name.endsWith('.json')))
/** Static imports; the compiler writes each at the start of a line. */
const importPattern = /^(?:import|export)\s(?:[^'";]*?\sfrom\s+)?['"]([^'"]+)['"]/gm

/**
 * Everything that loading a built module loads: files of this package by their paths in dist,
 * packages by their names.
 */
function loadedBy(entry: string): Set<string> {
  const files = [join(folder, entry)]
  const packages = new Set<string>()
  for (const file of files)
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(importPattern)) {
      const path = join(dirname(file), name)
      if (!name.startsWith('.')) packages.add(name)
      else if (!files.includes(path)) files.push(path)
    }
  return new Set([...files.map((file) => relative(dist, file)), ...packages])
}

describe('the entries of the package', () => {
  it('are built', () => {
    for (const { types, default: file } of Object.values(entries))
      expect([types, file].map((path) => existsSync(join(folder, path)))).toEqual([true, true])
  })

  it('load the schema library and nothing else, so that browsers can', () => {
    for (const { default: entry } of Object.values(entries)) {
      const foreign = [...loadedBy(entry)].filter((name) => !name.endsWith('.js'))
      expect(['@sinclair/typebox'], entry).toEqual(expect.arrayContaining(foreign))
    }
  })

  it.each(['enums', 'close-codes'])(
    'load nothing else for ./%s, so that small clients can',
    (name) => {
      expect([...loadedBy(entries[`./${name}`]?.default ?? '')]).toEqual([`${name}.js`])
    },
  )

  it.each(['openapi', 'asyncapi'])('load the code of a document only from ./%s', (document) => {
    const modulesOf = (entry: string) =>
      [...loadedBy(entries[entry]?.default ?? '')].filter((name) => name.startsWith(document))
    expect(modulesOf(`./${document}`)).toContain(`${document}/document.js`)
    for (const entry of Object.keys(entries).filter((name) => name !== `./${document}`))
      expect(modulesOf(entry), entry).toEqual([])
    expect(loadedBy(entries['.']?.default ?? '').size).toBeGreaterThan(10)
  })
})
