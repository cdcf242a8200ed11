import { join } from 'node:path'
import {
  descendants,
  type PostgresBackend,
  type PostgresCluster,
  startServer,
  stopSharedCluster,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, describe, test } from 'vitest'
import { FaultSubject } from './support/fault-subject.js'
import {
  faultInjectionProblem,
  injectFault,
  SmallDisk,
  type SystemFault,
} from './support/system-faults.js'

const backends = testBackends()
const tracingProblem = await faultInjectionProblem()
const patienceMs = 30_000
const timeoutMs = 120_000
const env = { HERMOD_CHECK_ANSWERS: 'on' }
const syncs = ['fsync', 'fdatasync']

afterAll(stopSharedCluster)

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
    test.for(faults)(
      'while %s, nothing is stored and nobody is told so; then the same server goes on',
      { timeout: timeoutMs },
      async ([, fault]) => {
        await using subject = await FaultSubject.start(await startServer({ env }), 'refused')
        await subject.answers(20)
        const injected = await injectFault(fault(subject.server.dataDir), {
          pids: [subject.server.pid],
          withChildren: true,
        })
        await subject.refusesEverything()
        await injected[Symbol.asyncDispose]()
        await subject.goesOn()
        await subject.survivesKill()
      },
    )

    test('where every few fsyncs fail, each send is answered by what became of it', {
      timeout: timeoutMs,
    }, async () => {
      await using subject = await FaultSubject.start(await startServer({ env }), 'refused')
      const fault: SystemFault = { calls: syncs, error: 'EIO', when: '2+3' }
      const injected = await injectFault(fault, { pids: [subject.server.pid], withChildren: true })
      await subject.failures(50)
      await subject.answers(50)
      await injected[Symbol.asyncDispose]()
      await subject.goesOn()
      await subject.survivesKill()
    })

    test('killed while fsync fails, it has every answered message after the restart', {
      timeout: timeoutMs,
    }, async () => {
      // What could not be synced may be on the disk or not, so a refused send is open until it is repeated.
      await using subject = await FaultSubject.start(await startServer({ env }), 'unknown')
      await subject.answers(50)
      const fault: SystemFault = { calls: syncs, error: 'EIO' }
      const injected = await injectFault(fault, { pids: [subject.server.pid], withChildren: true })
      await subject.failures(50)
      await subject.survivesKill()
      await injected[Symbol.asyncDispose]()
    })
  })

  test('on a disk that is really full, nothing is stored and nobody is told so; with space again the same server goes on', {
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
    free()
    await subject.goesOn()
    await subject.survivesKill()
  })
})

const postgres = backends.find((backend): backend is PostgresBackend => backend.name === 'postgres')

describe.runIf(postgres && tracingProblem === null)('PostgreSQL', () => {
  test('stopping itself on a failing fsync, it is waited for and used again', {
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

  test('staying down on a disk that never syncs, it is asked for until it is back', {
    timeout: timeoutMs,
  }, async () => {
    const { cluster, subject: started } = await onPostgres()
    await using subject = started
    await subject.answers(20)
    const pids = [cluster.postmasterPid, ...descendants(cluster.postmasterPid)]
    const injected = await injectFault({ calls: syncs, error: 'EIO' }, { pids, withChildren: true })
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
