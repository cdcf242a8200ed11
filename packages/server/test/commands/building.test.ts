/** The command in a checkout, which builds itself; with a compiler that waits for the test. */
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Child, TempFolder, waitFor } from '@hermod/testkit'
import { expect, it } from 'vitest'
import { hermodScript } from '../support/hermod-command.js'

const modules = resolve(import.meta.dirname, '../../../../node_modules')
const main = 'packages/server/dist/main.js'
const script = 'packages/server/bin/hermod.js'
const compiler = `
  import { appendFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
  appendFileSync('builds', 'one\\n')
  while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 20))
  mkdirSync('packages/server/dist', { recursive: true })
  writeFileSync('${main}', 'export const run = async (args) => console.log("runs", ...args)')
`

/** A checkout without a build. */
class Checkout implements Disposable {
  readonly #folder = new TempFolder('checkout')

  constructor() {
    this.write('packages/server/package.json', '{"type":"module"}')
    this.write('packages/server/tsconfig.json', '{}')
    this.write('packages/server/src/main.ts', '')
    this.write('scripts/bundle.mjs', '')
    this.write('node_modules/typescript/package.json', '{"type":"module","bin":{"tsc":"tsc.js"}}')
    this.write('node_modules/typescript/tsc.js', compiler)
    cpSync(hermodScript, this.path(script))
    symlinkSync(join(modules, '@photostructure'), this.path('node_modules/@photostructure'))
  }

  path(name: string): string {
    return join(this.#folder.path, name)
  }

  has(name: string): boolean {
    return existsSync(this.path(name))
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(this.path(name)), { recursive: true })
    writeFileSync(this.path(name), text)
  }

  start(word: string): Child {
    const { VITEST: _, ...env } = process.env
    return new Child([process.execPath, this.path(script), word], { env, cwd: this.path('') })
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]()
  }
}

it('two commands at once: one builds, and the other one waits and runs what was built', async () => {
  using checkout = new Checkout()
  const commands = [checkout.start('first'), checkout.start('second')]
  const outputs = () => commands.map((command) => command.output()).sort()
  await waitFor(() => outputs().every((output) => output !== ''), {
    ...{ what: 'both commands', timeoutMs: 30_000 },
  })
  expect(outputs()).toEqual(['hermod: another process builds; waiting …\n', 'hermod: building …\n'])
  checkout.write('go', '')
  const exits = await Promise.all(commands.map(({ exited }) => exited))
  expect(exits).toEqual(exits.map(() => ({ code: 0, signal: null })))
  expect(commands.map((command) => command.output().split('\n').at(-2))).toEqual([
    'runs first',
    'runs second',
  ])
  expect(readFileSync(checkout.path('builds'), 'utf8')).toBe('one\n')
})

it('a command that cannot lock the checkout for a build names its folder and builds nothing', async () => {
  using checkout = new Checkout()
  // A folder there fails for every user, as a checkout of another user does for all but root.
  mkdirSync(checkout.path('packages/server/.building'))
  const command = checkout.start('first')
  expect(await command.exited).toEqual({ code: 1, signal: null })
  expect(command.output()).toMatch(
    /^hermod: the build is missing .+packages\/server cannot be locked .+ run npm run build as the owner of the checkout\n$/,
  )
  expect(existsSync(checkout.path('builds'))).toBe(false)
})

it('a build for the demo keeps what is complete, on which a service may run', async () => {
  using checkout = new Checkout()
  checkout.write(main, '')
  checkout.write('packages/server/tsconfig.tsbuildinfo', 'of the server')
  checkout.write('packages/demo/tsconfig.json', '{"references":[{"path":"../server"}]}')
  checkout.write('packages/demo/src/main.ts', '')
  // The output of the demo has been removed, and the compiler would take its record for true.
  checkout.write('packages/demo/tsconfig.tsbuildinfo', 'of the demo')
  checkout.write('go', '')
  const command = checkout.start('demo')
  await waitFor(() => checkout.has('builds'), { what: 'the compiler', timeoutMs: 30_000 })
  expect(checkout.has('packages/server/tsconfig.tsbuildinfo')).toBe(true)
  expect(checkout.has('packages/demo/tsconfig.tsbuildinfo')).toBe(false)
  await command.exited
})
