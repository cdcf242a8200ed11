import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { standIns } from './bundle-libraries.mjs'

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
