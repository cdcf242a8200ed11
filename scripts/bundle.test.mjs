import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { entries, standIns } from './bundle.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** @returns files of the build that import the library, below the root */
function importersOf(library) {
  return ['packages/protocol/dist', 'packages/server/dist']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.js'))
        .map((name) => join(root, folder, name)),
    )
    .filter((file) => readFileSync(file, 'utf8').includes(`from '${library}'`))
    .map((file) => relative(root, file))
}

test.each([...standIns.keys()])(
  'the build holds %s in one file, and nothing loads its many',
  (library) => {
    expect(importersOf(library)).toEqual([])
  },
)

const server = join(root, 'packages/server/dist')
const bundle = join(server, 'bundle')

/** @returns what the files below a folder hold, by their paths below it */
function textsBelow(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return new Map(
    names
      .filter((name) => name.endsWith('.js'))
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  )
}

test('the bundle holds each module once, and all that the service loads of our own', () => {
  const modules = [...textsBelow(bundle).values()].flatMap((text) =>
    [...text.matchAll(/^\/\/ (packages\/.*\.js)$/gm)].map(([, path]) => path),
  )
  expect(modules.length).toBeGreaterThan(300)
  expect(modules.filter((path, at) => modules.indexOf(path) !== at)).toEqual([])
  const outside = [...textsBelow(bundle)].filter(([, text]) => /from "@hermod\/protocol/.test(text))
  expect(outside.map(([name]) => name)).toEqual([])
})

test('what is loaded late by its path is an entry of the bundle', () => {
  const late = [...textsBelow(server)]
    .filter(([name, text]) => !name.startsWith('bundle') && text.includes('= lateLoader('))
    .flatMap(([name, text]) =>
      [...text.matchAll(/= '(\.[^']*)\.js'/g)].map(([, path]) => join(dirname(name), path)),
    )
  expect([...new Set(['main', ...late])].sort()).toEqual([...entries].sort())
  for (const name of entries) expect(textsBelow(bundle).has(`${name}.js`)).toBe(true)
})

test('modules of the bundle know where they lie in the build', () => {
  const addresses = [...textsBelow(bundle).values()].flatMap((text) =>
    [...text.matchAll(/new URL\("([^"]*\.js)", distFolder\)/g)].map(([, path]) => path),
  )
  expect(addresses.length).toBeGreaterThan(10)
  for (const path of addresses)
    expect(existsSync(join(server, path.replace(/^bundle\//, '')))).toBe(true)
})
