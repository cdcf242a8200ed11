/** The command as npm installs it: without sources, and with its declared dependencies alone. */
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Child, TempFolder, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hermodEnvironment } from '../support/hermod-command.js'

const server = resolve(import.meta.dirname, '../..')
const modules = resolve(server, '../../node_modules')

describe('an installed hermod command', () => {
  const folder = new TempFolder('installed')

  beforeAll(() => {
    for (const part of ['bin', 'dist/bundle', 'package.json'])
      cpSync(join(server, part), join(folder.path, part), { recursive: true })
    const { dependencies } = JSON.parse(readFileSync(join(server, 'package.json'), 'utf8'))
    for (const name of Object.keys(dependencies)) {
      const link = join(folder.path, 'node_modules', name)
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(join(modules, name), link)
    }
  })

  afterAll(() => folder[Symbol.dispose]())

  function start(...args: readonly string[]): Child {
    const script = join(folder.path, 'bin/hermod.js')
    return new Child([process.execPath, script, ...args], { env: hermodEnvironment({}) })
  }

  it('says which package the demo needs', async () => {
    const demo = start('demo', '--headless')
    expect(await demo.exited).toEqual({ code: 1, signal: null })
    expect(demo.output()).toBe(
      'hermod: the demo needs the package @hermod/demo, which is not installed: npm install @hermod/demo\n',
    )
  })

  it('simulates push gateways', async () => {
    const simulator = start('push-simulator', '--json')
    const isStarted = () => simulator.output().includes('"channel":"vendor_x"')
    await waitFor(isStarted, { what: 'the start', timeoutMs: 30_000 })
    simulator.signal('SIGTERM')
    expect(await simulator.exited).toEqual({ code: 0, signal: null })
  })
})
