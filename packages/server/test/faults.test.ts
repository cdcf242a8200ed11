import { join } from 'node:path'
import {
  descendants,
  isRunning,
  type PostgresBackend,
  type PostgresCluster,
  type ServerProcess,
  startServer,
  stopSharedCluster,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, describe, expect, test } from 'vitest'
import { answerCode } from './support/answer-codes.js'
import { MessageLedger } from './support/message-ledger.js'
import { Random } from './support/random.js'
import {
  faultInjectionProblem,
  injectFault,
  SmallDisk,
  type SystemFault,
} from './support/system-faults.js'
import { Traffic } from './support/traffic.js'

const backends = testBackends()
const tracingProblem = await faultInjectionProblem()
const patienceMs = 30_000
const timeoutMs = 120_000
const userCount = 4
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
        await using subject = await Subject.start(await startServer({ env }), 'refused')
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
      await using subject = await Subject.start(await startServer({ env }), 'refused')
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
      await using subject = await Subject.start(await startServer({ env }), 'unknown')
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
    await using subject = await Subject.start(server, 'refused')
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

async function onPostgres(): Promise<{ cluster: PostgresCluster; subject: Subject }> {
  const backend = postgres as PostgresBackend
  const cluster = await backend.cluster()
  return { cluster, subject: await Subject.start(await backend.startServer({ env }), 'unknown') }
}

function databaseFiles(dataDir: string): string[] {
  return ['hermod.db', 'hermod.db-wal', 'hermod.db-journal'].map((file) => join(dataDir, file))
}

/** A server under traffic, and what must hold of it. */
class Subject implements AsyncDisposable {
  server: ServerProcess
  readonly #userIds: readonly number[]
  readonly #ledger = new MessageLedger()
  readonly #traffic: Traffic

  private constructor(
    server: ServerProcess,
    traffic: (ledger: MessageLedger) => Traffic,
    userIds: readonly number[],
  ) {
    this.server = server
    this.#userIds = userIds
    this.#traffic = traffic(this.#ledger)
  }

  static async start(
    server: ServerProcess,
    onStorageFailure: 'refused' | 'unknown',
  ): Promise<Subject> {
    const users = await Promise.all(
      Array.from({ length: userCount }, () => server.api.newSession()),
    )
    const traffic = (ledger: MessageLedger) =>
      new Traffic({ users, ledger, random: new Random(1), onStorageFailure })
    const subject = new Subject(
      server,
      traffic,
      users.map((user) => user.id),
    )
    subject.#traffic.start(server)
    return subject
  }

  async answers(count: number): Promise<void> {
    const before = this.#traffic.answered
    await this.#until('answers', () => this.#traffic.answered >= before + count)
  }

  async failures(count: number): Promise<void> {
    const before = this.#traffic.failures
    await this.#until('failures', () => this.#traffic.failures >= before + count)
  }

  /** The store is out of order. */
  async refusesEverything(): Promise<void> {
    const endOutage = this.#traffic.beginOutage()
    await this.failures(50)
    await this.#traffic.stop()
    endOutage()
    const name = `nobody_${this.#ledger.sends.length}`
    const { status, code } = await this.server.api.call('POST', '/user/register/v2', {
      body: { username: name, password: 'correct horse' },
    })
    expect({ status, code }).toEqual({ status: 503, code: answerCode.storage_failed })
    this.#traffic.start(this.server)
  }

  /** The store works again: new sends are stored, and those that failed are when they are repeated. */
  async goesOn(): Promise<void> {
    await this.answers(50)
    await this.#traffic.stop()
    await this.#verify()
    const again = [
      ...this.#ledger.withOutcome('refused'),
      ...this.#ledger.withOutcome('unknown'),
    ].filter((send) => send.transactionId !== null)
    await this.#traffic.repeat(this.server.api, again)
    expect(again.map((send) => send.outcome)).toEqual(again.map(() => 'answered'))
    await this.#verify()
    this.#traffic.start(this.server)
  }

  async survivesKill(): Promise<void> {
    await this.server.kill9()
    await this.#traffic.stop()
    this.server = await this.server.startAgain()
    await this.#verify()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.kill9()
    await this.#traffic.stop().catch(() => {})
    await this.server[Symbol.asyncDispose]()
  }

  async #verify(): Promise<void> {
    const { api, operatorToken } = this.server
    await this.#ledger.verify(api.admin(), this.#userIds)
    const { data } = await api.succeed('POST', '/operator/v1/check', {
      token: operatorToken,
      body: {},
    })
    expect(data.faults, 'faults that the integrity check finds').toEqual([])
  }

  async #until(what: string, isReached: () => boolean): Promise<void> {
    const look = () => {
      this.#traffic.check()
      if (!isRunning(this.server.pid))
        throw new Error(`waiting for ${what}: the server has ended\n${this.server.output()}`)
      return isReached()
    }
    await waitFor(look, { what, timeoutMs: patienceMs, everyMs: 1 })
  }
}
