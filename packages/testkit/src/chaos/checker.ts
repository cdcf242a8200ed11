import type { EntryOf, HistoryEntry, HistoryFunction, HistoryValues, Placed } from './history.js'

/** A kind of violation. */
export type ViolationKind =
  /** A send was answered with success and is not in the conversation. */
  | 'lost'
  /** A message is in the conversation more than once. */
  | 'doubled'
  /** A message that was never sent, or whose send was refused. */
  | 'phantom'
  /** Two messages stand in another order than they were sent, or were seen, in. */
  | 'reordered'
  /** Positions of a conversation or of a page are not dense. */
  | 'gap'
  /** A read of the newest messages lacks one that was there before it began. */
  | 'stale'
  /** A read position is below one that was known before it was read. */
  | 'position_back'
  /** An event of a key came after a later one of the same key. */
  | 'event_order'
  /** A stored message has no event. */
  | 'event_missing'
  /** A message to an absent device has no push, and neither has a later one of its conversation. */
  | 'push_missing'

export interface Violation {
  readonly kind: ViolationKind
  /** One sentence. */
  readonly what: string
}

/** Counts of a history. */
export interface HistoryCounts {
  readonly invocations: number
  readonly ok: number
  readonly failed: number
  readonly info: number
  readonly received: number
  readonly events: number
  readonly pushes: number
  /** Sends that were answered and may be lost, since the database lost commits. */
  readonly doubtful: number
}

export interface CheckedHistory {
  readonly violations: readonly Violation[]
  readonly counts: HistoryCounts
}

/** A call from its invocation to its result. */
interface Call<F extends HistoryFunction> {
  readonly value: HistoryValues[F]
  readonly begun: number
  /** Infinity without a result. */
  readonly ended: number
  readonly result: 'ok' | 'fail' | 'info'
}

/** Greatest value of each key at each time. */
class HighWater {
  readonly #steps = new Map<string, { readonly time: number; readonly value: number }[]>()

  /** Times of one key only grow. */
  raise(key: string, time: number, value: number): void {
    const steps = this.#steps.get(key) ?? []
    this.#steps.set(key, steps)
    if (value > (steps.at(-1)?.value ?? 0)) steps.push({ time, value })
  }

  /** @returns the greatest value before a time; 0 for none */
  before(key: string, time: number): number {
    const steps = this.#steps.get(key) ?? []
    let [low, high] = [0, steps.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((steps[middle]?.time ?? 0) < time) low = middle + 1
      else high = middle
    }
    return steps[low - 1]?.value ?? 0
  }
}

/**
 * Checks a history against the model of conversations: each is a list that is only appended to, with
 * dense positions. The work grows with the length of the history, apart from a logarithm.
 *
 * - Each send that was answered is in the list exactly once, one without an answer at most once.
 * - A send that was answered before another one began stands before it.
 * - Each observation is a window of the list.
 * - A read of the newest messages has all that was known before it began, and read positions never
 *   go back.
 * - Events of a key come in order, each message has one, and a push to each absent device
 *   or one that stands for it.
 */
export function checkHistory(entries: readonly HistoryEntry[]): CheckedHistory {
  return new Check(entries).run()
}

class Check {
  readonly #violations: Violation[] = []
  readonly #losses: readonly HistoryValues['loss'][]
  readonly #sends: ReadonlyMap<string, Call<'send'>>
  readonly #lists = new Map<string, ReadonlyMap<number, string>>()

  constructor(private readonly entries: readonly HistoryEntry[]) {
    this.#losses = this.#all('loss').map(({ value }) => value)
    this.#sends = new Map(this.#calls('send').map((call) => [call.value.text, call]))
    for (const { value } of this.#all('final'))
      this.#lists.set(value.conversation, new Map(value.messages.map((m) => [m.seq, m.text])))
  }

  run(): CheckedHistory {
    this.#checkLists()
    this.#checkObservations()
    this.#checkFreshness()
    this.#checkPositions()
    this.#checkEvents()
    this.#checkPushes()
    return { violations: this.#violations, counts: this.#counts() }
  }

  #checkLists(): void {
    const places = new Map<string, string>()
    for (const { value } of this.#all('final')) {
      const { conversation, messages } = value
      messages.forEach(({ seq, text }, index) => {
        if (seq !== index + 1)
          this.#report('gap', `${conversation} has position ${seq} at place ${index + 1}`)
        const other = places.get(text)
        if (other !== undefined)
          this.#report('doubled', `${text} is at ${conversation} ${seq} and at ${other}`)
        places.set(text, `${conversation} ${seq}`)
        this.#checkSent(conversation, text, 'the list')
      })
      this.#checkSendOrder(conversation, messages)
    }
    for (const { value, result, begun, ended } of this.#sends.values())
      if (result === 'ok' && !places.has(value.text) && !this.#isDoubtful(begun, ended))
        this.#report('lost', `${value.text} of ${value.conversation} was answered and is gone`)
  }

  /** A message that was answered before an earlier one of the list began is at the wrong place. */
  #checkSendOrder(conversation: string, messages: readonly Placed[]): void {
    let earliestEnd = Number.POSITIVE_INFINITY
    let earliest = ''
    for (const { text } of messages.toReversed()) {
      const send = this.#sends.get(text)
      if (!send) continue
      if (earliestEnd < send.begun)
        this.#report(
          'reordered',
          `${conversation}: ${text} began after ${earliest} and is before it`,
        )
      const { result, ended, begun } = send
      if (result === 'ok' && ended < earliestEnd && !this.#isDoubtful(begun, ended))
        [earliestEnd, earliest] = [ended, text]
    }
  }

  #checkObservations(): void {
    for (const { value, begun, ended } of this.#okCalls('read')) {
      const { conversation, messages = [] } = value
      messages.forEach((message, index) => {
        const previous = messages[index - 1]
        if (previous && message.seq !== previous.seq + 1)
          this.#report('gap', `a page of ${conversation} has ${previous.seq}, then ${message.seq}`)
        if (!this.#isDoubtful(begun, ended)) this.#checkPlaced(conversation, message, 'a page')
        else this.#checkSent(conversation, message.text, 'a page')
      })
    }
    for (const { value, time, process } of this.#all('receive'))
      if (!this.#isDoubtfulSight(time)) this.#checkPlaced(value.conversation, value, process)
      else this.#checkSent(value.conversation, value.text, process)
  }

  #checkFreshness(): void {
    const known = new HighWater()
    const positions = new Map<string, number>()
    for (const list of this.#lists.values())
      for (const [seq, text] of list) positions.set(text, seq)
    const reads = this.#okCalls('read').filter(({ value }) => value.isNewest)
    const facts = [
      ...[...this.#sends.values()]
        .filter(({ result }) => result === 'ok')
        .map((send) => ({ ...send, seq: positions.get(send.value.text) ?? 0 })),
      ...reads.map((read) => ({ ...read, seq: read.value.messages?.at(-1)?.seq ?? 0 })),
    ].filter(({ begun, ended }) => !this.#isDoubtful(begun, ended))
    for (const { value, ended, seq } of facts.sort((a, b) => a.ended - b.ended))
      known.raise(value.conversation, ended, seq)
    for (const { value, begun, ended } of reads) {
      const least = known.before(value.conversation, begun)
      const seq = value.messages?.at(-1)?.seq ?? 0
      if (seq < least && !this.#isDoubtful(begun, ended))
        this.#report('stale', `${value.conversation} ended at ${seq} after it had reached ${least}`)
    }
  }

  #checkPositions(): void {
    const known = new HighWater()
    const keyOf = ({ conversation, reader }: { conversation: string; reader: string }) =>
      `${reader} in ${conversation}`
    const facts = [...this.#okCalls('mark'), ...this.#okCalls('position')]
      .filter(({ begun, ended }) => !this.#isDoubtful(begun, ended))
      .sort((a, b) => a.ended - b.ended)
    for (const { value, ended } of facts) known.raise(keyOf(value), ended, value.seq ?? 0)
    for (const { value, begun, ended } of this.#okCalls('position')) {
      const least = known.before(keyOf(value), begun)
      const seq = value.seq ?? 0
      if (seq < least && !this.#isDoubtful(begun, ended))
        this.#report('position_back', `${keyOf(value)} was at ${seq} after ${least}`)
    }
  }

  #checkEvents(): void {
    const last = new Map<string, number>()
    const seen = new Set<string>()
    const stored = new Set<string>()
    let losses = 0
    for (const { value, time } of this.#all('event')) {
      const { id, key, position } = value
      const past = this.#losses.filter(({ wellAt }) => wellAt <= time).length
      // Positions, and so IDs, are used a second time after a loss.
      if (past > losses) {
        last.clear()
        seen.clear()
        losses = past
      }
      if (value.stored && !this.#isDoubtfulSight(time))
        this.#checkPlaced(value.stored.conversation, value.stored, `event ${id}`)
      if (value.stored) stored.add(value.stored.text)
      if (seen.has(id)) continue
      seen.add(id)
      const previous = last.get(key) ?? 0
      if (position < previous && !this.#isDoubtfulSight(time))
        this.#report('event_order', `${id} of ${key} came after position ${previous}`)
      last.set(key, position)
    }
    if (seen.size === 0 && stored.size === 0) return
    for (const [conversation, list] of this.#lists)
      for (const text of list.values())
        if (!stored.has(text)) this.#report('event_missing', `${text} of ${conversation}`)
  }

  /** The push of a message may stand for those before it. */
  #checkPushes(): void {
    const pushed = new Set(this.#all('push').map(({ value }) => `${value.device} ${value.text}`))
    for (const { value } of this.#all('absent')) {
      const texts = [...(this.#lists.get(value.conversation)?.values() ?? [])]
      const last = texts.findLastIndex((text) => pushed.has(`${value.device} ${text}`))
      for (const text of texts.slice(last + 1))
        this.#report('push_missing', `${text} of ${value.conversation} for ${value.device}`)
    }
  }

  #checkPlaced(conversation: string, { seq, text }: Placed, observer: string): void {
    const right = this.#lists.get(conversation)?.get(seq)
    if (right === text) return
    this.#checkSent(conversation, text, observer)
    if (!this.#sends.has(text)) return
    const shown = right === undefined ? 'nothing' : right
    this.#report(
      'reordered',
      `${observer} has ${text} at ${conversation} ${seq}, where ${shown} is`,
    )
  }

  #checkSent(conversation: string, text: string, observer: string): void {
    const send = this.#sends.get(text)
    if (!send || send.value.conversation !== conversation)
      this.#report('phantom', `${observer} of ${conversation} has ${text}, which was never sent`)
    else if (send.result === 'fail')
      this.#report('phantom', `${observer} of ${conversation} has ${text}, which was refused`)
  }

  /** The answer of a call may be of commits that were lost. */
  #isDoubtful(begun: number, ended: number): boolean {
    return this.#losses.some(({ from, killedAt }) => begun <= killedAt && ended >= from)
  }

  /** Tests whether a line of this time may be of commits that were lost. */
  #isDoubtfulSight(time: number): boolean {
    return this.#losses.some(({ from, wellAt }) => time >= from && time <= wellAt)
  }

  #report(kind: ViolationKind, what: string): void {
    this.#violations.push({ kind, what })
  }

  #counts(): HistoryCounts {
    const calls = this.entries.filter(({ f }) => f !== 'fault' && f !== 'loss')
    const count = (type: HistoryEntry['type']) => calls.filter((entry) => entry.type === type)
    const called = (['send', 'read', 'mark', 'position'] as const).flatMap((f) => this.#calls(f))
    const results = (result: 'ok' | 'fail' | 'info') =>
      called.filter((call) => call.result === result).length
    const doubtful = [...this.#sends.values()].filter(
      ({ result, begun, ended }) => result === 'ok' && this.#isDoubtful(begun, ended),
    )
    return {
      invocations: count('invoke').length,
      ok: results('ok'),
      failed: results('fail'),
      info: results('info'),
      received: this.#all('receive').length,
      events: this.#all('event').length,
      pushes: this.#all('push').length,
      doubtful: doubtful.length,
    }
  }

  #all<F extends HistoryFunction>(f: F): EntryOf<F>[] {
    return this.entries.filter((entry) => entry.f === f) as unknown as EntryOf<F>[]
  }

  #okCalls<F extends HistoryFunction>(f: F): Call<F>[] {
    return this.#calls(f).filter(({ result }) => result === 'ok')
  }

  /** The calls of a function, in the order of their results. */
  #calls<F extends HistoryFunction>(f: F): Call<F>[] {
    const open = new Map<string, EntryOf<F>>()
    const calls: Call<F>[] = []
    for (const entry of this.#all(f)) {
      const { process, type, value, time } = entry
      const invocation = open.get(process)
      if (type === 'invoke') {
        // A process that calls again has given its call up.
        if (invocation) calls.push(unanswered(invocation))
        open.set(process, entry)
      } else if (invocation) {
        open.delete(process)
        const ended = type === 'info' ? Number.POSITIVE_INFINITY : time
        // A result without a value, such as a time-out, is about the value of the invocation.
        calls.push({
          value: { ...invocation.value, ...value },
          begun: invocation.time,
          ended,
          result: type,
        })
      }
    }
    return [...calls, ...[...open.values()].map(unanswered)]
  }
}

function unanswered<F extends HistoryFunction>({ value, time }: EntryOf<F>): Call<F> {
  return { value, begun: time, ended: Number.POSITIVE_INFINITY, result: 'info' }
}
