/** What users do in a run, as invocations and results of a history. */
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCatalogue } from '@hermod/protocol'
import type { Json } from '@hermod/testkit'
import type { ChaosCluster, History, HistoryFunction, HistoryValues } from '@hermod/testkit/chaos'
import type { Random } from '../../../server/test/support/random.js'
import { type ChaosCrowd, type Person, type Place, peerOf } from './chaos-crowd.js'

/** Codes that say that the same call may succeed later. */
const retryCodes: ReadonlySet<number> = new Set(
  Object.values(errorCatalogue)
    .filter(({ retryable }) => retryable)
    .map(({ code }) => code),
)
const { code: lostCode } = errorCatalogue.message_not_found
const retryPauseMs = 200
/** A call that has no answer after this time is given up, and its outcome is not known. */
const giveUpMs = 30_000
const pageLength = 20

interface Seen {
  readonly msgId: number
  readonly seq: number
  /** When it was read, by the clock of the history. */
  readonly at: number
}

type Result = 'ok' | 'fail' | 'info'

export interface ChaosWorkOptions {
  readonly crowd: ChaosCrowd
  readonly cluster: Pick<ChaosCluster, 'losses'>
  readonly history: History
  readonly random: Random
  /** Average time between two actions of a client, and of a caller over HTTP. */
  readonly everyMs: number
}

/** Users at work: each with a client, and as a caller over HTTP. */
export class ChaosWork {
  /** Refusals of calls that are right. */
  readonly refusals: string[] = []
  readonly #newest = new Map<string, Seen>()
  #texts = 0
  #isOver = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(private readonly options: ChaosWorkOptions) {}

  start(): void {
    const { people } = this.options.crowd
    this.#running = Promise.all(
      people.flatMap((person) => [
        this.#repeat(() => this.#useClient(person)),
        this.#repeat(() => this.#callOverHttp(person)),
      ]),
    )
  }

  /** Ends the work, and waits for the last answers. */
  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
  }

  /**
   * Sends a text over HTTP.
   * @param process name of a process that does nothing else meanwhile
   * @returns the text, once it is answered
   */
  async sendOverHttp(process: string, person: Person, place: Place): Promise<string> {
    const text = this.#newText()
    const body = {
      type: place.log.is_group ? 2 : 1,
      targets: [peerOf(place, person.id)],
      content_type: 0,
      content: text,
      transaction_id: this.options.random.integer(1, 2 ** 31) * 2 ** 20 + this.#texts,
    }
    const value = { conversation: place.name, text }
    await this.#call(process, 'send', value, async () => {
      await this.#post(person, '/message/send', body)
      return undefined
    })
    return text
  }

  async #repeat(action: () => Promise<void>): Promise<void> {
    const { random, everyMs } = this.options
    while (!this.#isOver) {
      await sleep(random.integer(0, 2 * everyMs))
      await action()
    }
  }

  async #useClient(person: Person): Promise<void> {
    const { random, history } = this.options
    const place = random.pick(this.#placesOf(person))
    const [peer, isGroup] = [peerOf(place, person.id), place.log.is_group]
    if (random.chance(0.15)) return person.app.read(peer, isGroup).catch(() => {})
    const text = this.#newText()
    // Each message is a process of its own: a client sends several at once.
    history.record(text, 'invoke', 'send', { conversation: place.name, text })
    person.pending.set(text, history.now())
    await person.app.send(peer, isGroup, text)
  }

  async #callOverHttp(person: Person): Promise<void> {
    const { random } = this.options
    const place = random.pick(this.#placesOf(person))
    const action = random.next()
    if (action < 0.5) await this.sendOverHttp(`http of ${person.id}`, person, place)
    else if (action < 0.75) await this.#read(person, place)
    else if (action < 0.85) await this.#mark(person, place)
    else await this.#position(person, place)
  }

  async #read(person: Person, place: Place): Promise<void> {
    const conversation = place.name
    await this.#call(`http of ${person.id}`, 'read', { conversation }, async () => {
      const at = this.options.history.now()
      const data = await this.#post(person, '/message/history', {
        log: place.log,
        limit: pageLength,
      })
      const messages = data.messages.toReversed() as {
        seq: number
        content: string
        msg_id: number
      }[]
      const last = messages.at(-1)
      if (last) this.#newest.set(conversation, { msgId: last.msg_id, seq: last.seq, at })
      return {
        messages: messages.map(({ seq, content: text }) => ({ seq, text })),
        isNewest: true,
      }
    })
  }

  async #mark(person: Person, place: Place): Promise<void> {
    const seen = this.#newest.get(place.name)
    if (!seen) return
    const value = { conversation: place.name, reader: String(person.id), seq: seen.seq }
    await this.#call(`http of ${person.id}`, 'mark', value, async () => {
      const query = { conversation_id: peerOf(place, person.id), msg_id: seen.msgId }
      const call = person.api.call('GET', '/message/ack', { query })
      const { code } = await call
      const mayBeLost = this.options.cluster.losses.some(({ killedAt }) => seen.at <= killedAt)
      if (code === lostCode && mayBeLost) throw new LostMessage()
      await this.#checked(call)
      return undefined
    })
  }

  async #position(person: Person, place: Place): Promise<void> {
    const value = { conversation: place.name, reader: String(person.id) }
    await this.#call(`http of ${person.id}`, 'position', value, async () => {
      const have = [{ log: place.log, change: 0 }]
      const { heads } = await this.#post(person, '/message/sync', { have, limit: 1, window: 0 })
      const head = heads.find(
        ({ log }: Json) => log.low_id === place.log.low_id && log.high_id === place.log.high_id,
      )
      return { seq: head?.read_seq ?? 0 }
    })
  }

  /** Calls until there is an answer, and records what is known then. */
  async #call<F extends HistoryFunction>(
    process: string,
    f: F,
    value: HistoryValues[F],
    ask: () => Promise<object | undefined>,
  ): Promise<void> {
    const { history } = this.options
    history.record(process, 'invoke', f, value)
    const end = performance.now() + giveUpMs
    let result: Result = 'info'
    let answer: object = {}
    while (result === 'info' && performance.now() < end) {
      try {
        answer = (await ask()) ?? {}
        result = 'ok'
      } catch (error) {
        if (error instanceof Refusal) {
          result = 'fail'
          this.refusals.push(`${f} of ${value && JSON.stringify(value)}: ${error.message}`)
        } else if (error instanceof LostMessage) result = 'fail'
        else await sleep(retryPauseMs)
      }
    }
    history.record(process, result, f, { ...value, ...answer })
  }

  async #post(person: Person, path: string, body: object): Promise<Json> {
    return this.#checked(person.api.call('POST', path, { body }))
  }

  /** @throws Refusal for an answer after which a repeat makes no sense */
  async #checked(call: ReturnType<Person['api']['call']>): Promise<Json> {
    const { code, data, text } = await call
    if (code === 200) return data
    if (retryCodes.has(code)) throw new Error(text)
    throw new Refusal(text)
  }

  #placesOf({ id }: Person): Place[] {
    return this.options.crowd.places.filter(({ connected }) =>
      connected.some((person) => person.id === id),
    )
  }

  #newText(): string {
    return `m${++this.#texts}.`
  }
}

class Refusal extends Error {}

/** The message was lost with commits of the database. */
class LostMessage extends Error {}
