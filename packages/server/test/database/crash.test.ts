import { setTimeout as sleep } from 'node:timers/promises'
import {
  Child,
  isFullRun,
  isRunning,
  type PostgresBackend,
  type ServerProcess,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, describe, expect, test } from 'vitest'
import { hermodEnvironment, hermodScript } from '../support/hermod-command.js'
import { MessageLedger } from '../support/messaging/message-ledger.js'
import { Random } from '../support/random.js'
import { Traffic } from '../support/traffic.js'

/** HERMOD_TEST_SEED repeats a run as far as the choices of the test go; the machine decides the rest. */
const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
/**
 * Every fourth round and the last one also kill PostgreSQL; every fifth round and the last one also
 * kill a start.
 */
const serverKills = isFullRun ? 20 : 2
const userCount = 4
const timeoutMs = 480_000
const patienceMs = 30_000

describe.each(testBackends('own'))('crash on $name', (backend) => {
  afterAll(() => backend.end())

  test('kills of server and database: every answered message is stored once and in order', {
    timeout: timeoutMs,
  }, async () => {
    console.log(`crash test on ${backend.name}: seed ${seed}`)
    await using database = await backend.createDatabase()
    const url = database.url
    const run = await CrashRun.start(url)
    try {
      for (let round = 1; round <= serverKills; round++) {
        const isLast = round === serverKills
        if (backend.name === 'postgres' && (isLast || round % 4 === 0))
          await run.killDatabase(backend as PostgresBackend)
        await run.killServer()
        if (isLast || round % 5 === 0) await run.killDuringStart(url)
        await run.restartAndVerify()
      }
      console.log(`crash test on ${backend.name}: ${await run.finish()}`)
    } finally {
      await run[Symbol.asyncDispose]()
    }
  })
})

class CrashRun implements AsyncDisposable {
  readonly #random = new Random(seed)
  readonly #ledger = new MessageLedger()
  readonly #counts = { serverKills: 0, killsDuringStart: 0, databaseKills: 0, lost: 0, seen: 0 }
  readonly #userIds: readonly number[]
  readonly #traffic: Traffic
  #server: ServerProcess
  /** Index of the first send after the last verification. */
  #roundBegins = 0

  private constructor(
    server: ServerProcess,
    users: Awaited<ReturnType<typeof newUsers>>,
    isRemote: boolean,
  ) {
    this.#server = server
    this.#userIds = users.map((user) => user.id)
    const onStorageFailure = isRemote ? 'unknown' : 'refused'
    this.#traffic = new Traffic({
      users,
      ledger: this.#ledger,
      random: this.#random,
      onStorageFailure,
    })
  }

  static async start(databaseUrl: string | undefined): Promise<CrashRun> {
    const server = await startServer({
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
      env: { HERMOD_CHECK_ANSWERS: 'on' },
    })
    const run = new CrashRun(server, await newUsers(server), databaseUrl !== undefined)
    run.#traffic.start(server)
    return run
  }

  /** In the midst of concurrent sends, at a moment that chance picks. */
  async killServer(): Promise<void> {
    await this.#answers(this.#random.integer(10, 60))
    await sleep(this.#random.next() * 10)
    const exit = await this.#server.kill9()
    expect(
      exit.signal,
      `the server ended by the kill and not before\n${this.#server.output()}`,
    ).toBe('SIGKILL')
    await this.#traffic.stop()
    this.#counts.serverKills++
  }

  /** The server stays up: it answers errors while its database is away and heals by itself. */
  async killDatabase(backend: PostgresBackend): Promise<void> {
    const cluster = await backend.cluster()
    await this.#answers(this.#random.integer(10, 60))
    await sleep(this.#random.next() * 10)
    await cluster.kill9()
    const endOutage = this.#traffic.beginOutage()
    const failuresBefore = this.#traffic.failures
    await this.#until(
      'failures without a database',
      () => this.#traffic.failures > failuresBefore + 20,
    )
    endOutage()
    await cluster.restart()
    await this.#answers(20)
    this.#counts.databaseKills++
  }

  /** Before it is ready; then the data must still be good for the next start. */
  async killDuringStart(databaseUrl: string | undefined): Promise<void> {
    const settings = {
      HERMOD_PORT: '0',
      HERMOD_DATA_DIR: this.#server.dataDir,
      HERMOD_DATABASE_URL: databaseUrl,
      HERMOD_BOOTSTRAP_APP_ID: this.#server.appId,
      HERMOD_BOOTSTRAP_ADMIN_TOKEN: this.#server.adminToken,
    }
    const child = new Child([process.execPath, hermodScript, 'serve'], {
      env: hermodEnvironment(settings),
    })
    await sleep(this.#random.next() * 600)
    child.killTree()
    expect((await child.exited).signal).toBe('SIGKILL')
    this.#counts.killsDuringStart++
  }

  async restartAndVerify(): Promise<void> {
    this.#server = await this.#server.startAgain()
    const lost = this.#ledger.sends
      .slice(this.#roundBegins)
      .filter((send) => send.outcome === 'unknown')
    this.#counts.lost += lost.length
    await this.#verify()
    const repeatable = lost.filter((send) => send.transactionId !== null)
    const answered = this.#ledger
      .withOutcome('answered')
      .filter((send) => send.transactionId !== null)
    const again =
      answered.length === 0 ? [] : Array.from({ length: 5 }, () => this.#random.pick(answered))
    await this.#traffic.repeat(this.#server.api, [...repeatable, ...again])
    expect(repeatable.map((send) => send.outcome)).toEqual(repeatable.map(() => 'answered'))
    await this.#verify()
    const [reader, peer] = [
      this.#random.integer(0, userCount - 1),
      this.#random.integer(1, userCount - 1),
    ]
    await this.#ledger.acknowledge(
      this.#server.api.admin(),
      this.#idAt(reader),
      this.#idAt(reader + peer),
    )
    this.#roundBegins = this.#ledger.sends.length
    this.#traffic.start(this.#server)
  }

  /** @returns what was done, in figures */
  async finish(): Promise<string> {
    await this.#traffic.stop()
    await this.#verify()
    const { serverKills, killsDuringStart, databaseKills, lost, seen } = this.#counts
    const { answered, repeated, failures } = this.#traffic
    // Without these the test would have proved nothing.
    expect(lost, 'sends whose answer was lost').toBeGreaterThan(0)
    expect(repeated).toBeGreaterThan(0)
    const kills = `${serverKills} kills of the server, ${killsDuringStart} more during its start, ${databaseKills} of the database`
    return `${kills}; ${answered} sends answered, ${failures} failed, ${lost} left open, ${repeated} repeated; ${seen} messages verified`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.kill9()
    await this.#traffic.stop().catch(() => {})
    await this.#server[Symbol.asyncDispose]()
  }

  async #verify(): Promise<void> {
    const { api, operatorToken } = this.#server
    this.#counts.seen = await this.#ledger.verify(api.admin(), this.#userIds)
    const { data } = await api.succeed('POST', '/operator/v1/check', {
      token: operatorToken,
      body: {},
    })
    expect(data.faults, 'faults that the integrity check finds').toEqual([])
  }

  async #answers(count: number): Promise<void> {
    const before = this.#traffic.answered
    await this.#until('answers', () => this.#traffic.answered >= before + count)
  }

  async #until(what: string, isReached: () => boolean): Promise<void> {
    const look = () => {
      this.#traffic.check()
      if (!isRunning(this.#server.pid))
        throw new Error(`waiting for ${what}: the server has ended\n${this.#server.output()}`)
      return isReached()
    }
    await waitFor(look, { what, timeoutMs: patienceMs, everyMs: 1 })
  }

  #idAt(index: number): number {
    return this.#userIds[index % userCount] as number
  }
}

function newUsers(server: ServerProcess) {
  return Promise.all(Array.from({ length: userCount }, () => server.api.newSession()))
}
