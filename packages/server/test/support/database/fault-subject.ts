import { isFullRun, isRunning, type ServerProcess, waitFor } from '@hermod/testkit'
import { expect } from 'vitest'
import { answerCode } from '../answer-codes.js'
import { MessageLedger } from '../messaging/message-ledger.js'
import { Random } from '../random.js'
import { Traffic } from '../traffic.js'

const patienceMs = 30_000
const userCount = 4
const readinessMs = 4_000
/** Statements fail sooner than by default, except in the full run. */
export const statementSeconds = isFullRun ? 5 : 2
export const shortStatements = { HERMOD_DATABASE_TIMEOUT_SECONDS: String(statementSeconds) }

/** A server under traffic, and what must hold of it. */
export class FaultSubject implements AsyncDisposable {
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
  ): Promise<FaultSubject> {
    const users = await Promise.all(
      Array.from({ length: userCount }, () => server.api.newSession()),
    )
    const traffic = (ledger: MessageLedger) =>
      new Traffic({ users, ledger, random: new Random(1), onStorageFailure })
    const subject = new FaultSubject(
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

  /** /readyz says within seconds whether the service can do its work. */
  async becomesReady(isReady: boolean): Promise<void> {
    await becomesReady(this.server, isReady)
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

/** As {@link FaultSubject.becomesReady}. */
export async function becomesReady(
  { url }: ServerProcess,
  isReady: boolean,
  timeoutMs = readinessMs,
): Promise<void> {
  await waitFor(async () => (await fetch(`${url}/readyz`)).status === (isReady ? 200 : 503), {
    what: `/readyz ${isReady ? 200 : 503}`,
    timeoutMs,
  })
}
