/** A receiver of webhooks in a separate process, which tests kill, and its log on disk. */
import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Child, freePort, TempFolder, waitFor } from '@hermod/testkit'

const script = fileURLToPath(new URL('./receiver-child.mjs', import.meta.url))
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** An event in the log of a receiver. */
export interface SeenEvent {
  readonly id: string
  readonly key: string
  /** Of new messages: the number within the conversation. */
  readonly seq?: number
}

/** The events that one path of the receiver accepted. */
export class SeenEvents {
  /** In the order of the first arrival. */
  readonly events = new Map<string, SeenEvent>()
  repeated = 0

  add(events: readonly SeenEvent[]): void {
    for (const event of events)
      if (this.events.has(event.id)) this.repeated++
      else this.events.set(event.id, event)
  }

  /** Events that came first after a later one of their key. */
  get disordered(): string[] {
    const last = new Map<string, { position: number; seq: number }>()
    return [...this.events.values()].flatMap(({ id, key, seq }) => {
      const before = last.get(key) ?? { position: 0, seq: 0 }
      const position = Number(id.split('_')[2])
      last.set(key, { position, seq: seq ?? before.seq })
      const isLater = seq === undefined || seq > before.seq
      return position >= before.position && isLater ? [] : [`${key} ${id}`]
    })
  }
}

export class ReceiverProcess implements AsyncDisposable {
  readonly secret = secret
  readonly #seen = new Map<string, SeenEvents>()
  readonly #folder = new TempFolder('receiver')
  #child: Child | undefined
  #offset = 0
  #rest = ''
  readonly invalid: string[] = []

  private constructor(
    private readonly port: number,
    private readonly badAnswers: number,
  ) {}

  /** @param badAnswers the share of requests that are refused or answered with 503, from 0 to 1 */
  static async start(badAnswers: number): Promise<ReceiverProcess> {
    const receiver = new ReceiverProcess(await freePort(), badAnswers)
    await receiver.startAgain()
    return receiver
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`
  }

  async startAgain(): Promise<void> {
    const { port, badAnswers } = this
    const options = JSON.stringify({ port, secret, log: this.#log, badAnswers })
    const child = new Child([process.execPath, script, options])
    this.#child = child
    await waitFor(() => child.output().includes('listening') || ended(child), {
      what: 'a receiver that listens',
      timeoutMs: 60_000,
    })
  }

  async kill(): Promise<void> {
    this.#child?.killTree()
    await this.#child?.exited
  }

  /** Reads the log. @returns what the path has accepted so far */
  seen(path: string): SeenEvents {
    this.#read()
    return this.#seenAt(path)
  }

  get #log(): string {
    return join(this.#folder.path, 'received.log')
  }

  #seenAt(path: string): SeenEvents {
    const known = this.#seen.get(path) ?? new SeenEvents()
    this.#seen.set(path, known)
    return known
  }

  #read(): void {
    const file = openSync(this.#log, 'r')
    const buffer = Buffer.alloc(1_048_576)
    let text = this.#rest
    for (let length = 1; length > 0; this.#offset += length) {
      length = readSync(file, buffer, 0, buffer.length, this.#offset)
      // The log is ASCII.
      text += buffer.toString('latin1', 0, length)
    }
    closeSync(file)
    const lines = text.split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#take(line)
  }

  #take(line: string): void {
    // A line that a kill has cut belongs to a request without an answer.
    if (!line.endsWith('}')) return
    const { invalid, path, events } = JSON.parse(line)
    if (invalid === undefined) this.#seenAt(path).add(events)
    else this.invalid.push(invalid)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    this.#folder[Symbol.dispose]()
  }
}

function ended(child: Child): false {
  if (child.exit !== null) throw new Error(`the receiver ended: ${child.output()}`)
  return false
}
