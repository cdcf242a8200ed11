import { join } from 'node:path'
import {
  descendants,
  isFullRun,
  type PostgresBackend,
  type PostgresCluster,
  type ServerProcess,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, describe, expect, test } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { attackMs, expectUnharmed, flood, Honest } from '../support/attack.js'
import { becomesReady, FaultSubject, shortStatements } from '../support/database/fault-subject.js'
import {
  faultInjectionProblem,
  injectFault,
  SmallDisk,
  type SystemFault,
} from '../support/database/system-faults.js'
import { textTo } from '../support/messaging/messaging.js'

const backends = testBackends('own')
afterAll(() => Promise.all(backends.map((backend) => backend.end())))
const tracingProblem = await faultInjectionProblem()
const patienceMs = 30_000
const timeoutMs = 120_000
const env = { HERMOD_CHECK_ANSWERS: 'on', ...shortStatements }
const syncs = ['fsync', 'fdatasync']

if (tracingProblem !== null) console.log(`no system-call faults: ${tracingProblem}`)

describe.runIf(backends.some(({ name }) => name === 'sqlite'))('the embedded database', () => {
  const faults: [string, (dataDir: string) => SystemFault][] = [
    ['fsync fails', () => ({ calls: syncs, error: 'EIO' })],
    [
      'the disk is full',
      (dataDir) => ({
        calls: ['write', 'pwrite64'],
        error: 'ENOSPC',
        paths: databaseFiles(dataDir),
      }),
    ],
    [
      'writing fails',
      (dataDir) => ({ calls: ['write', 'pwrite64'], error: 'EIO', paths: databaseFiles(dataDir) }),
    ],
  ]

  describe.skipIf(tracingProblem !== null)('by failing system calls', () => {
    test.for(isFullRun ? faults : faults.slice(0, 1))(
      '%s: no refused message is stored, and the same server recovers',
      { timeout: timeoutMs },
      async ([, fault]) => {
        await using subject = await FaultSubject.start(await startServer({ env }), 'refused')
        await subject.answers(20)
        const injected = await injectFault(fault(subject.server.dataDir), {
          pids: [subject.server.pid],
          withChildren: true,
        })
        await subject.refusesEverything()
        await subject.becomesReady(false)
        await injected[Symbol.asyncDispose]()
        await subject.becomesReady(true)
        await subject.goesOn()
        await subject.survivesKill()
      },
    )

    if (isFullRun)
      test.concurrent.for(faults)(
        '%s: /readyz says so without traffic, with at most one log line a second',
        { timeout: timeoutMs },
        async ([, fault]) => {
          await using server = await startServer({ env })
          await injectUntil(server, fault(server.dataDir), async () => {
            await becomesReady(server, false)
            expect(await readiness(server)).toEqual({
              status: 'not ready',
              reason: 'the database does not write',
            })
            expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
          })
          await becomesReady(server, true)
          const lines = linesAbout(server, 'the database has failed')
          expect(lines.length).toBeGreaterThan(0)
          expect(gapsMs(lines).filter((gap) => gap < 900)).toEqual([])
          await waitFor(() => linesAbout(server, 'the database works again').length > 0, {
            what: 'the line that it works again',
            timeoutMs: patienceMs,
          })
        },
      )

    if (isFullRun)
      test('some fsyncs fail: each send gets its true outcome', {
        timeout: timeoutMs,
      }, async () => {
        await using subject = await FaultSubject.start(await startServer({ env }), 'refused')
        const fault: SystemFault = { calls: syncs, error: 'EIO', when: '2+3' }
        const injected = await injectFault(fault, {
          pids: [subject.server.pid],
          withChildren: true,
        })
        await subject.failures(50)
        await subject.answers(50)
        await injected[Symbol.asyncDispose]()
        await subject.goesOn()
        await subject.survivesKill()
      })

    if (isFullRun)
      test('kill while fsync fails: every answered message is there after the restart', {
        timeout: timeoutMs,
      }, async () => {
        // What could not be synced may be on the disk or not, so a refused send is open until it is repeated.
        await using subject = await FaultSubject.start(await startServer({ env }), 'unknown')
        await subject.answers(50)
        const fault: SystemFault = { calls: syncs, error: 'EIO' }
        const injected = await injectFault(fault, {
          pids: [subject.server.pid],
          withChildren: true,
        })
        await subject.failures(50)
        await subject.survivesKill()
        await injected[Symbol.asyncDispose]()
      })
  })

  test('a full disk: no refused message is stored, and the same server recovers', {
    timeout: timeoutMs,
  }, async ({ skip }) => {
    const disk = SmallDisk.mount(24)
    if (typeof disk === 'string') return skip(disk)
    using _ = disk
    const server = await startServer({ env, dataDir: join(disk.path, 'data') })
    await using subject = await FaultSubject.start(server, 'refused')
    await subject.answers(20)
    const free = disk.fill()
    await subject.refusesEverything()
    await subject.becomesReady(false)
    free()
    await subject.goesOn()
    await subject.survivesKill()
  })

  if (isFullRun)
    test('a full disk: hundreds of sends are refused, readers are served, memory stays bounded', {
      timeout: timeoutMs,
    }, async ({ skip }) => {
      const disk = SmallDisk.mount(24)
      if (typeof disk === 'string') return skip(disk)
      using _ = disk
      await using server = await startServer({ dataDir: join(disk.path, 'data') })
      const honest = await Honest.on(server)
      const [carol, dave] = [await server.api.newSession(), await server.api.newSession()]
      expect((await honest.send('before it')).code).toBe(200)
      const free = disk.fill()
      await becomesReady(server, false)
      const body = textTo([dave.id], 'x'.repeat(32_768))
      const send = () => carol.api.call('POST', '/message/send', { body })
      let codes = new Map<number, number>()
      const attack = async () => {
        codes = await flood({ ms: attackMs, lines: 200 }, send)
      }
      const reads = () => dave.api.call('GET', '/user/profile')
      expectUnharmed(await honest.watching('sends on a full disk (sqlite)', attack, { reads }))
      // What fits into the rest of a page may be stored.
      expect(codes.get(answerCode.storage_failed)).toBeGreaterThan(0)
      await becomesReady(server, false)
      free()
      await becomesReady(server, true, patienceMs)
      expect((await honest.send('after it')).code).toBe(200)
    })

  for (const ending of isFullRun ? (['stop', 'kill9'] as const) : [])
    test.concurrent(`start on a full disk after ${ending}: reads are served and logged, with space sends are stored`, {
      timeout: timeoutMs,
    }, async ({ skip }) => {
      const disk = SmallDisk.mount(24)
      if (typeof disk === 'string') return skip(disk)
      using _ = disk
      const before = await startServer({ env, dataDir: join(disk.path, 'data') })
      await using __ = before
      const [alice, bob] = [await before.api.newSession(), await before.api.newSession()]
      const send = (server: ServerProcess) =>
        server.api.as(alice.token).call('POST', '/message/send', {
          body: { content: 'x', content_type: 0, type: 1, targets: [bob.id] },
        })
      expect((await send(before)).code).toBe(200)
      await before[ending]()
      const free = disk.fill()
      await using server = await before.startAgain({ startedAt: '/healthz' })
      expect(linesAbout(server, 'the disk of the data folder is full')).toHaveLength(1)
      // Logged once the background work has started, which is after the first answer.
      await waitFor(() => linesAbout(server, 'the service is not ready').length === 1, {
        what: 'the reason why the service is not ready',
        timeoutMs: patienceMs,
      })
      await becomesReady(server, false)
      const history = await server.api.as(bob.token).call('GET', '/message/conversation', {
        query: { opposite_id: alice.id, msg_id_start: 0, limit: 10 },
      })
      expect(history.code).toBe(200)
      await waitFor(async () => (await send(server)).code === answerCode.storage_failed, {
        what: 'a refused send',
        timeoutMs: patienceMs,
      })
      free()
      await becomesReady(server, true)
      expect((await send(server)).code).toBe(200)
    })
})

/** @returns what /readyz says */
async function readiness(server: ServerProcess): Promise<unknown> {
  return (await fetch(`${server.url}/readyz`)).json()
}

async function injectUntil(
  server: ServerProcess,
  fault: SystemFault,
  work: () => Promise<void>,
): Promise<void> {
  const injected = await injectFault(fault, { pids: [server.pid], withChildren: true })
  try {
    await work()
  } finally {
    await injected[Symbol.asyncDispose]()
  }
}

/** Log lines with such a text. */
function linesAbout(server: ServerProcess, text: string): { readonly time: number }[] {
  return server
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.includes(text))
    .map((line) => JSON.parse(line) as { time: number })
}

function gapsMs(lines: readonly { readonly time: number }[]): number[] {
  return lines.slice(1).map(({ time }, index) => time - (lines[index]?.time ?? 0))
}

const postgres = backends.find((backend): backend is PostgresBackend => backend.name === 'postgres')

// The quick run has a PostgreSQL that answers nobody in postgres-stalls.test.ts, and one that is
// killed in crash.test.ts.
if (isFullRun)
  describe.runIf(postgres && tracingProblem === null)('PostgreSQL', () => {
    test('PostgreSQL stops on a failing fsync: the service waits and uses it again', {
      timeout: timeoutMs,
    }, async () => {
      const { cluster, subject: started } = await onPostgres()
      await using subject = started
      await subject.answers(20)
      // Only the processes of now: those that PostgreSQL starts in their place find a disk that works.
      const injected = await injectFault(
        { calls: syncs, error: 'EIO' },
        { pids: descendants(cluster.postmasterPid), withChildren: false },
      )
      await subject.failures(1)
      await waitFor(() => cluster.output().includes('PANIC'), {
        what: 'the panic of PostgreSQL',
        timeoutMs: patienceMs,
      })
      await injected[Symbol.asyncDispose]()
      await subject.goesOn()
      await subject.survivesKill()
    })

    test('PostgreSQL stays down: the service retries until it is back', {
      timeout: timeoutMs,
    }, async () => {
      const { cluster, subject: started } = await onPostgres()
      await using subject = started
      await subject.answers(20)
      const pids = [cluster.postmasterPid, ...descendants(cluster.postmasterPid)]
      const injected = await injectFault(
        { calls: syncs, error: 'EIO' },
        { pids, withChildren: true },
      )
      await waitFor(() => cluster.postmasterPid === -1, {
        what: 'the end of PostgreSQL',
        timeoutMs: patienceMs,
      })
      await injected[Symbol.asyncDispose]()
      await subject.refusesEverything()
      await cluster.restart()
      await subject.goesOn()
      await subject.survivesKill()
    })
  })

async function onPostgres(): Promise<{ cluster: PostgresCluster; subject: FaultSubject }> {
  const backend = postgres as PostgresBackend
  const cluster = await backend.cluster()
  return {
    cluster,
    subject: await FaultSubject.start(await backend.startServer({ env }), 'unknown'),
  }
}

function databaseFiles(dataDir: string): string[] {
  return ['hermod.db', 'hermod.db-wal', 'hermod.db-journal'].map((file) => join(dataDir, file))
}
