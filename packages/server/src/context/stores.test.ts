import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { expect, it } from 'vitest'

const sources = join(import.meta.dirname, '..')
const constructed = /\bnew (\w+Store)\(/g
/**
 * Stores of files, of the epoch, which is read before the stores are built, and those that exports and
 * imports read without a service.
 */
const others = ['FolderStore', 'S3Store', 'NoStore', 'IdentityStore', 'AppStore', 'KeyCheckStore']

it('every store is constructed in the composition, once', () => {
  const places = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .flatMap((path) =>
      [...readFileSync(join(sources, path), 'utf8').matchAll(constructed)].map(([, name = '']) => ({
        name,
        path,
      })),
    )
    .filter(({ name }) => !others.includes(name))
  expect(places.filter(({ path }) => !path.startsWith(`context${sep}`))).toEqual([])
  const names = places.map(({ name }) => name)
  expect(names.length).toBeGreaterThan(40)
  expect(new Set(names).size).toBe(names.length)
})
