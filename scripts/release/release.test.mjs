/** Quick parts of `npm run release -- --check`, and samples of what it refuses; the full run has all of it. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFullRun } from '../../packages/testkit/dist/index.js'
import { contentFaults, staleFaults } from './contents.mjs'
import { readWorkspace, root, run } from './packages.mjs'
import { changelogFaults, manifestFaults, namedFaults } from './versions.mjs'

const { version, packages } = readWorkspace()
let folder

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hermod-release-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

test('release: all packages and files name one version', () => {
  expect([...manifestFaults(version, packages), ...namedFaults(version)]).toEqual([])
  expect(namedFaults('9.9.9')).toHaveLength(3)
})

test('release: packages are published after those that they need', () => {
  const names = packages.map(({ manifest }) => manifest.name)
  expect(names.indexOf('@hermod/protocol')).toBeLessThan(names.indexOf('@hermod/server'))
  expect(names.at(-1)).toBe('hermod')
})

test('release: the workflow publishes every package in this order, and runs no file of another job', () => {
  const text = readFileSync(join(root, '.github/workflows/release.yml'), 'utf8')
  const [, names] = /for name in ([^;]+);/.exec(text)
  expect(names.split(/[\s\\]+/)).toEqual(
    packages.map(({ manifest }) => manifest.name.replace('@', '').replace('/', '-')),
  )
  expect(text).not.toMatch(/(?:\b(?:sh|bash|node|source)|\.) +"?(?:\.\/)?release\//)
})

test('release: another version, and a range between packages, are named', () => {
  const manifest = {
    name: 'one',
    version: '2.0.0',
    dependencies: { one: '^1.0.0', other: '^1.0.0' },
  }
  const fields = { description: '', keywords: [], license: 'MIT', engines: {} }
  expect(
    manifestFaults('1.0.0', [{ folder: 'packages/one', manifest: { ...manifest, ...fields } }]),
  ).toEqual([
    'packages/one: version 2.0.0 is not 1.0.0, that of package.json',
    'packages/one: dependencies has one ^1.0.0, not exactly 1.0.0',
  ])
})

test.each([
  ['## Unreleased\n\n## 1.0.0 - 2026-11-30\n', []],
  ['## Unreleased\n\n## 1.0.0\n', ['- " and the date']],
  ['## Unreleased\n\n## 1.0.0 - 2026-13-30\n', ['- " and the date']],
  ['## Unreleased\n\n## 0.9.0 - 2026-11-30\n', ['"## 1.0.0']],
  ['## 1.0.0 - 2026-11-30\n\n## 0.9.0 - 2026-11-30\n', ['not "## Unreleased"', '"## 1.0.0']],
])('release: the changelog %j has the faults %j', (text, faults) => {
  expect(changelogFaults('1.0.0', text)).toEqual(
    faults.map((each) => expect.stringContaining(each)),
  )
})

describe('release: contents', () => {
  /** @returns the faults of a package with a README, a licence and one more file */
  function faultsWith(path, text) {
    const unpacked = mkdtempSync(join(folder, 'contents-'))
    const files = { 'README.md': '', LICENSE: 'another', [path]: text }
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(unpacked, name)), { recursive: true })
      writeFileSync(join(unpacked, name), content)
    }
    const paths = Object.keys(files)
    return contentFaults({ manifest: { name: 'one' }, unpacked, paths })
  }

  test.each([
    ['dist/main.test.js', '', 'nothing for users'],
    ['tsconfig.tsbuildinfo', '', 'nothing for users'],
    ['dist/main.js', `open('${root}/secret')`, 'a path of this machine'],
    ['dist/main.js.map', '{"sources":["../src/main.ts"]}', 'leads to src/main.ts, which is not'],
  ])('%s is refused', (path, text, fault) => {
    expect(faultsWith(path, text).join('\n')).toContain(fault)
  })

  test('output without a source is refused, and bundles have none', () => {
    const paths = ['dist/removed.js', 'dist/main.js', 'dist/bundle/main.js', 'bin/hermod.js']
    const faults = staleFaults({ folder: 'packages/server', paths })
    expect(faults).toEqual([expect.stringContaining('packages/server/dist/removed.js')])
  })

  test('a licence that is not that of the repository is refused, and a good file is not', () => {
    expect(faultsWith('dist/main.js', '')).toEqual(['one: LICENSE is not that of the repository'])
  })
})

if (isFullRun)
  test('release: the check passes', { timeout: 300_000 }, async () => {
    const script = join(root, 'scripts/release.mjs')
    const { stdout } = await run(process.execPath, [script, '--check'])
    expect(stdout).toContain(`git tag --sign v${version}`)
  })
