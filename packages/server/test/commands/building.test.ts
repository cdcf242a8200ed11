/** The command in a checkout, which builds itself; with a compiler that waits for the test. */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Child, TempFolder, waitFor } from '@hermod/testkit'
import { expect, it } from 'vitest'
import { hermodScript } from '../support/hermod-command.js'

const modules = resolve(import.meta.dirname, '../../../../node_modules')
const main = 'packages/server/dist/main.js'
const compiler = `
  import { appendFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
  appendFileSync('builds', 'one\\n')
  while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 20))
  mkdirSync('packages/server/dist', { recursive: true })
  writeFileSync('${main}', 'export const run = async (args) => console.log("runs", ...args)')
`

it('two commands at once: one builds, and the other one waits and runs what was built', async () => {
  using folder = new TempFolder('checkout')
  const write = (name: string, text: string) => {
    const path = join(folder.path, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  write('packages/server/package.json', '{"type":"module"}')
  write('packages/server/tsconfig.json', '{}')
  write('packages/server/src/main.ts', '')
  write('scripts/bundle.mjs', '')
  write('node_modules/typescript/package.json', '{"type":"module","bin":{"tsc":"tsc.js"}}')
  write('node_modules/typescript/tsc.js', compiler)
  cpSync(hermodScript, join(folder.path, 'packages/server/bin/hermod.js'))
  symlinkSync(join(modules, '@photostructure'), join(folder.path, 'node_modules/@photostructure'))
  const { VITEST: _, ...env } = process.env
  const start = (word: string) => {
    const script = join(folder.path, 'packages/server/bin/hermod.js')
    return new Child([process.execPath, script, word], { env, cwd: folder.path })
  }
  const commands = [start('first'), start('second')]
  const outputs = () => commands.map((command) => command.output()).sort()
  await waitFor(() => outputs().every((output) => output !== ''), {
    ...{ what: 'both commands', timeoutMs: 30_000 },
  })
  expect(outputs()).toEqual(['hermod: another process builds; waiting …\n', 'hermod: building …\n'])
  write('go', '')
  const exits = await Promise.all(commands.map(({ exited }) => exited))
  expect(exits).toEqual(exits.map(() => ({ code: 0, signal: null })))
  expect(commands.map((command) => command.output().split('\n').at(-2))).toEqual([
    'runs first',
    'runs second',
  ])
  expect(readFileSync(join(folder.path, 'builds'), 'utf8')).toBe('one\n')
})
