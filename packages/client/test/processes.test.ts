/**
 * Apps with the client against the server's answers over HTTP, while real processes, connections
 * and apps fail.
 */
import { anyBackend, isFullRun, TempFolder, testBackends } from '@hermod/testkit'
import { IDBFactory, IDBKeyRange } from 'fake-indexeddb'
import { describe, expect, it } from 'vitest'
import { Random } from '../../server/test/support/random.js'
import type { Client } from '../src/api.js'
import type { ClientPorts } from '../src/ports/client-ports.js'
import type { Wakeups } from '../src/ports/transport.js'
import { createClientWith } from '../src/create-client.js'
import { nodePorts } from '../src/node/node-ports.js'
import { systemClock } from '../src/runtime/system-clock.js'
import { indexedDbStores } from '../src/stores/indexed-db-store.js'
import { AppPlayground, type AppSetup } from './support/app-playground.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const workMs = isFullRun ? 10_000 : 1_000
const rounds = isFullRun ? 3 : 1
const timeoutMs = 300_000

/** Hear that the network is back, as from a platform that says so. */
const listeners = new Set<() => void>()
const wakeups: Wakeups = {
  listen(listener) {
    listeners.add(listener)
    return () => listeners.delete(listener)
  },
}
/** In the full run apps wait for the end of their back-off. */
const wakes = !isFullRun && {
  wake: () => {
    for (const listener of listeners) listener()
  },
}

/** A browser profile: pages that are opened again find the store. */
const browser = { indexedDB: new IDBFactory(), IDBKeyRange }
const browserPorts: ClientPorts = {
  ...nodePorts,
  wakeups,
  openStore: indexedDbStores(systemClock, browser),
}

function appWith(ports: ClientPorts, storage: 'durable' | 'memory') {
  return ({ token, ...setup }: AppSetup): Client =>
    createClientWith({ ...setup, token: () => token, storage }, ports)
}

const apps = {
  memory: appWith({ ...nodePorts, wakeups }, 'memory'),
  database: appWith(browserPorts, 'durable'),
}

for (const backend of anyBackend('durable')) {
  describe(`apps on ${backend.name}`, () => {
    it('show what the server answers after cuts, kills, halts and new starts of apps', {
      timeout: timeoutMs,
    }, async () => {
      const random = new Random(seed)
      const options = { backend, random, users: isFullRun ? 5 : 3, groups: 2, apps, ...wakes }
      await using playground = await AppPlayground.start(options)
      for (let round = 0; round < rounds; round++) {
        await playground.run(workMs, async () => {
          const fault = random.next()
          if (fault < 0.5) playground.cut()
          else if (fault < 0.65) await playground.pause()
          else if (fault < 0.8) await playground.goOffline()
          else if (fault < 0.9) await playground.reopen()
          else await playground.halt()
        })
        await Promise.all([playground.run(300, async () => {}), playground.kill()])
        expect(await playground.settle()).toEqual([])
        expect(await playground.lost()).toEqual([])
      }
      report(playground)
    })

    if (isFullRun)
      it('begin again after the restore of an older copy of the data', {
        timeout: timeoutMs,
      }, async () => {
        const options = { backend, random: new Random(seed), users: 3, groups: 2, apps, ...wakes }
        await using playground = await AppPlayground.start(options)
        await playground.run(3_000, async () => playground.cut())
        await playground.backUp()
        await playground.run(3_000, async () => playground.cut())
        expect(await playground.settle()).toEqual([])
        await playground.restore()
        await playground.run(3_000, async () => playground.cut())
        expect(await playground.settle()).toEqual([])
        report(playground)
      })
  })
}

it('apps with unsent messages show what the server answers after a restored backup, and send them once', {
  timeout: timeoutMs,
}, async () => {
  const [backend] = testBackends('durable').filter(({ name }) => name === 'sqlite')
  if (backend === undefined) return
  const options = { backend, random: new Random(seed), users: 3, groups: 2, apps, ...wakes }
  await using playground = await AppPlayground.start(options)
  await playground.run(workMs, async () => playground.cut())
  using target = new TempFolder('target')
  const backup = await playground.backUpInto(target.path)
  await playground.run(workMs, async () => playground.cut())
  await playground.restoreBackup(backup, () => playground.sendAll('unsent'))
  expect(await playground.settle()).toEqual([])
  expect((await playground.lost()).filter((each) => each.includes('unsent'))).toEqual([])
  await playground.run(300, async () => {})
  expect(await playground.settle()).toEqual([])
  report(playground)
})

function report({ work, apps: opened, faults }: AppPlayground): void {
  const sent = opened.reduce((sum, app) => sum + app.sent.length, 0)
  const counts = [...faults].map(([name, count]) => `${count} ${name}`).join(', ')
  console.log(
    `seed ${seed}: ${opened.length} apps, ${sent} messages of them, ${work.calls} other calls; ${counts}`,
  )
}
