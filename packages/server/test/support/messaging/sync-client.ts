/** A client that keeps a store by /message/sync and /message/changes (decision page 042). */
import type { ChangePage, LogChange, LogHead, LogPage, SyncPage } from '@hermod/protocol'
import type { Answer, Api, Json } from '@hermod/testkit'

export type LogKey = LogHead['log']
export type StoredMessage = Extract<LogChange['data'], { content: string }>

/** More calls than any test needs. */
const maxCalls = 2_000

/** The log of two users. */
export function direct(a: number, b: number): LogKey {
  return { low_id: Math.min(a, b), high_id: Math.max(a, b), is_group: false }
}

export function groupLog(group: number): LogKey {
  return { low_id: group, high_id: group, is_group: true }
}

export function broadcasts(sender: number): LogKey {
  return { low_id: -1, high_id: sender, is_group: false }
}

export function nameOf({ low_id, high_id, is_group }: LogKey): string {
  return is_group ? `group ${low_id}` : `${low_id}/${high_id}`
}

/** A log as the client holds it. */
export interface HeldLog {
  readonly log: LogKey
  change: number
  /** The newest message when the client began to hold the log: it holds all later ones. */
  since: number
  head: LogHead
  readonly messages: Map<number, StoredMessage>
}

export interface SyncOptions {
  readonly list?: boolean
  readonly limit?: number
  readonly window?: number
  /** Logs to name. */
  readonly have?: readonly HeldLog[]
}

export interface SyncBody extends Omit<SyncOptions, 'have'> {
  readonly after?: string
  readonly cursor?: string
  readonly have?: readonly { readonly log: object; readonly change: number }[]
}

export async function syncPage(api: Api, body: SyncBody): Promise<SyncPage> {
  return (await api.succeed<SyncPage>('POST', '/message/sync', { body })).data
}

export function trySync(api: Api, body: object): Promise<Answer<Json>> {
  return api.call('POST', '/message/sync', { body })
}

export async function changesPage(
  api: Api,
  log: LogKey,
  after_change: number,
  limit?: number,
): Promise<ChangePage> {
  const body = { log, after_change, limit }
  return (await api.succeed<ChangePage>('POST', '/message/changes', { body })).data
}

export async function logPage(
  api: Api,
  log: LogKey,
  page: { readonly before_seq?: number; readonly limit?: number } = {},
): Promise<LogPage> {
  return (await api.succeed<LogPage>('POST', '/message/history', { body: { log, ...page } })).data
}

export class SyncClient {
  readonly logs = new Map<string, HeldLog>()
  /** The user's things that have changed, as `kind.ref`. */
  readonly stale = new Set<string>()
  pos = ''
  /** Where the rest of the list starts; '' = the client has the whole list. */
  cursor = ''
  /** Calls by operation. */
  readonly calls = { sync: 0, changes: 0 }

  constructor(private readonly api: Api) {}

  #last: Promise<unknown> = Promise.resolve()

  /**
   * Asks for what was missed until there is no more, and for one page of the rest of the list; one
   * call after the other.
   */
  sync(options: SyncOptions = {}): Promise<void> {
    const synced = this.#last.then(() => this.#sync(options))
    this.#last = synced.catch(() => {})
    return synced
  }

  async #sync({ have = [], ...options }: SyncOptions): Promise<void> {
    let names = have
    for (let calls = 1; ; calls++) {
      if (calls > maxCalls) throw new Error('the sync has no end')
      const page = await this.#call({
        ...options,
        after: this.pos,
        list: options.list === true && calls === 1,
        have: names.map(({ log, change }) => ({ log, change })),
      })
      names = []
      if (page.reset) {
        this.logs.clear()
        this.stale.clear()
        this.cursor = ''
        this.pos = ''
        continue
      }
      await this.#store(page)
      this.pos = page.pos ?? ''
      if (page.list) this.cursor = page.cursor ?? ''
      if (!page.more) break
    }
    if (this.cursor !== '') await this.readRest(options)
  }

  /** Asks for one page of the rest of the list. */
  async readRest({ limit, window }: SyncOptions = {}): Promise<void> {
    const page = await this.#call({
      after: this.pos,
      cursor: this.cursor,
      limit,
      window,
    } as SyncBody)
    await this.#store(page)
    this.cursor = page.cursor ?? ''
  }

  /** Syncs until nothing is left to ask for. */
  async syncToEnd(options: SyncOptions = {}): Promise<void> {
    await this.sync(options)
    for (let calls = 1; this.cursor !== ''; calls++) {
      if (calls > maxCalls) throw new Error('the list has no last page')
      await this.readRest(options)
    }
  }

  held(log: LogKey): HeldLog | undefined {
    return this.logs.get(nameOf(log))
  }

  #call(body: SyncBody): Promise<SyncPage> {
    this.calls.sync++
    return syncPage(this.api, body)
  }

  async #store(page: SyncPage): Promise<void> {
    for (const head of page.heads) await this.#apply(head)
    for (const log of page.gone) this.logs.delete(nameOf(log))
    for (const { kind, ref } of page.user) this.stale.add(`${kind}.${ref}`)
  }

  async #apply(head: LogHead): Promise<void> {
    const held = this.held(head.log) ?? this.#begin(head)
    if (head.from !== undefined && held.change >= Number(head.from)) {
      this.#fold(held, head.changes)
      held.change = Math.max(held.change, Number(head.change))
    } else if (held.change < Number(head.change)) await this.#fill(held, Number(head.change))
    held.head = head
    for (const { msg_id, seq } of [...held.messages.values()])
      if (Number(msg_id) <= Number(head.hidden_msg_id)) held.messages.delete(Number(seq))
  }

  /** A client that holds nothing of a log takes it as it comes. */
  #begin(head: LogHead): HeldLog {
    const { log, from, change, seq, messages = [] } = head
    const stored = head.changes.filter(({ event }) => event === 'message.stored')
    const seqs = stored.map(({ data }) => Number((data as StoredMessage).seq))
    const held: HeldLog = {
      ...{ log, head, change: Number(from ?? change), messages: new Map() },
      since: Math.min(Number(seq), ...seqs.map((each) => each - 1)),
    }
    for (const message of messages) this.#put(held, message)
    this.logs.set(nameOf(log), held)
    return held
  }

  async #fill(held: HeldLog, upTo: number): Promise<void> {
    for (let calls = 1; held.change < upTo; calls++) {
      if (calls > maxCalls) throw new Error(`the changes of ${nameOf(held.log)} have no end`)
      this.calls.changes++
      const page = await changesPage(this.api, held.log, held.change, 1 + (calls % 30))
      if (page.from === undefined) {
        held.messages.clear()
        held.since = Number.POSITIVE_INFINITY
      } else {
        const numbers = page.changes.map(({ change }) => Number(change))
        const due = numbers.map((_, index) => held.change + 1 + index)
        if (numbers.join() !== due.join() || Number(page.next) !== held.change + numbers.length)
          throw new Error(`numbers after ${held.change}: ${numbers.join()}, next ${page.next}`)
        this.#fold(held, page.changes)
      }
      held.change = Number(page.next)
    }
  }

  #fold(held: HeldLog, changes: readonly LogChange[]): void {
    for (const { event, change, data } of changes) {
      if (Number(change) <= held.change) continue
      if (event === 'message.stored') this.#put(held, data as StoredMessage)
      // An edit of a message that the client does not hold is dropped.
      else if (event === 'message.replaced') {
        const message = data as StoredMessage
        if (held.messages.has(Number(message.seq))) this.#put(held, message)
      } else if (event === 'message.recalled')
        held.messages.delete(Number((data as { readonly seq: number }).seq))
    }
  }

  #put(held: HeldLog, message: StoredMessage): void {
    held.messages.set(Number(message.seq), message)
  }
}
