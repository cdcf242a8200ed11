import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { API } from 'typescript/unstable/sync'
import { expect, test } from 'vitest'
import { faultsIn } from './faults.mjs'
import { integrationTestsOf, namedPaths, namedTests } from './related-tests.mjs'

const source = `import { add } from './a.js'
type Flag = true | 1
export async function f(a: number, b: number): Promise<number> {
  if (a < b) throw new Error('no')
  await g(a)
  return a === 1 ? Math.min(a, b) : b
}
where('a', '<=', 3)
`

/** The text with each of its faults, without what is the same on both sides. */
function faultyTexts(text) {
  const folder = mkdtempSync(join(tmpdir(), 'hermod-faults-'))
  const api = new API({ cwd: folder })
  try {
    writeFileSync(join(folder, 'tsconfig.json'), '{ "files": ["f.ts"] }')
    writeFileSync(join(folder, 'f.ts'), text)
    const snapshot = api.updateSnapshot({ openProjects: [join(folder, 'tsconfig.json')] })
    const file = snapshot.getProjects()[0].program.getSourceFile(join(folder, 'f.ts'))
    return faultsIn(file).map(({ start, end, text: other }) => [text.slice(start, end), other])
  } finally {
    api.close()
    rmSync(folder, { recursive: true })
  }
}

test('faults change what happens at run time, and nothing else', () => {
  expect(faultyTexts(source)).toEqual([
    ['a < b', '!(a < b)'],
    ['<', '<='],
    ["throw new Error('no')", ';'],
    ['await g(a)', ';'],
    ['await g(a)', 'void g(a)'],
    ['a === 1', '!(a === 1)'],
    ['===', '!=='],
    ['1', '(1 + 1)'],
    ['min', 'max'],
    ["where('a', '<=', 3)", ';'],
    ["'<='", "'<'"],
    ['3', '(3 + 1)'],
  ])
})

test('the folders and files with tests are there', () => {
  const source = (path) => new URL(`../../packages/server/src/${path}`, import.meta.url)
  expect(
    namedPaths.filter((path) => !existsSync(source(path)) && !existsSync(source(`${path}.ts`))),
  ).toEqual([])
})

test('the tests of a folder are there, and those of the most particular one are taken', () => {
  for (const name of namedTests)
    expect(
      existsSync(new URL(`../../packages/server/test/${name}.test.ts`, import.meta.url)),
      name,
    ).toBe(true)
  expect(integrationTestsOf('domain/users/import/user-import-model.ts', 'sqlite')).toEqual([
    'packages/server/test/commands/commands-user.test.ts',
    'packages/server/test/commands/commands-user-import.test.ts',
  ])
  expect(integrationTestsOf('lib/json.ts', 'sqlite')).toEqual([])
  const ofDatabase = (backend) => integrationTestsOf('db/database.ts', backend)
  const nodes = 'packages/server/test/background/nodes.test.ts'
  expect(['sqlite', 'postgres'].map((backend) => ofDatabase(backend).includes(nodes))).toEqual([
    false,
    true,
  ])
})
