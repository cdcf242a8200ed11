import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { BundledModules } from './bundled-modules.js'

const folder = mkdtempSync(join(tmpdir(), 'hermod-bundle-'))
afterAll(() => rmSync(folder, { recursive: true }))

it('tells which module a line of the bundle was made of', () => {
  mkdirSync(join(folder, 'bundle'))
  const lines = [
    'import { a } from "./b.js";',
    '// packages/server/dist/jobs/lease-store.js',
    'const one = 1;',
    '// not a module',
    '// packages/protocol/dist/index.js',
    'const two = 2;',
    '// packages/server/dist/db/database.js',
    'const three = 3;',
  ]
  writeFileSync(join(folder, 'bundle', 'main.js'), lines.join('\n'))
  const modules = new BundledModules(`${folder}/`)
  expect([1, 3, 4, 6, 8, 9].map((line) => modules.at(`bundle/main.js:${line}:7)`))).toEqual([
    null,
    'jobs/lease-store.js',
    'jobs/lease-store.js',
    null,
    'db/database.js',
    null,
  ])
  expect(modules.at('jobs/lease-store.js:3:7')).toBeNull()
})
