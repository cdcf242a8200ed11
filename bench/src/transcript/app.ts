/** An app with the client package and a durable store, compared with the answers over HTTP. */
import { createClientWith } from '@hermod/client/ports'
import type { Client } from '@hermod/client/node'
import { type Api, type Session, waitFor } from '@hermod/testkit'
import { IDBFactory, IDBKeyRange } from 'fake-indexeddb'
import { nodePorts } from '../../../packages/client/dist/node/node-ports.js'
import { indexedDbStores } from '../../../packages/client/dist/stores/indexed-db-store.js'

const patience = { timeoutMs: 60_000, everyMs: 50 }
const pageLength = 100

interface StoredMessage {
  readonly id: number
  readonly senderId: number
  readonly text: string
}

/** A device of a user. Its store outlives the app. */
export class App {
  readonly #openStore = indexedDbStores(nodePorts.clock, {
    indexedDB: new IDBFactory(),
    IDBKeyRange,
  })
  #client: Client | undefined
  #endViews: (() => void)[] = []

  constructor(
    private readonly url: string,
    private readonly appId: string,
    private readonly user: Session,
  ) {}

  /** Opens the app on its store. */
  open(): void {
    const { url, appId, user } = this
    const client = createClientWith(
      {
        ...{ url, appId, userId: user.id, token: () => user.token },
        ...{ storage: 'durable', deviceGuid: 'transcript' },
      },
      { ...nodePorts, openStore: this.#openStore },
    )
    // Without a service it tries again by itself.
    client.connect().catch(() => {})
    this.#endViews = [client.conversations.subscribe(() => {})]
    this.#client = client
  }

  async close(): Promise<void> {
    for (const end of this.#endViews) end()
    await this.#client?.close()
    this.#client = undefined
  }

  /** Resolves when the text is in the store. */
  async send(peer: number, text: string): Promise<void> {
    await this.#open().direct(peer).send(text)
  }

  /** The texts that wait for the service. */
  unsent(peers: readonly number[]): string[] {
    return peers.flatMap((peer) =>
      this.#messages(peer)
        .filter(({ status }) => status === 'sending' || status === 'unknown')
        .map(({ text }) => text),
    )
  }

  /** Waits until the store equals the answers, and nothing is unsent. @returns the number of messages */
  async settled(api: Api, peers: readonly number[]): Promise<number> {
    let differences: string[] = []
    let count = 0
    const isSettled = async () => {
      const [shown, answered] = [await this.#shown(peers), await answers(api, peers)]
      count = answered.length
      differences = [
        ...answered.filter((line) => !shown.includes(line)).map((line) => `not shown: ${line}`),
        ...shown.filter((line) => !answered.includes(line)).map((line) => `not stored: ${line}`),
        ...this.unsent(peers).map((text) => `not sent: ${text}`),
      ]
      return differences.length === 0 && shown.join() === answered.join()
    }
    await waitFor(isSettled, { what: 'a store that equals the answers', ...patience }).catch(() => {
      throw new Error(`the store differs:\n${differences.slice(0, 10).join('\n')}`)
    })
    return count
  }

  #open(): Client {
    if (this.#client === undefined) throw new Error('the app is closed')
    return this.#client
  }

  #messages(peer: number) {
    return this.#open().direct(peer).messages.getSnapshot().messages
  }

  async #shown(peers: readonly number[]): Promise<string[]> {
    const client = this.#open()
    const lines: string[] = []
    for (const peer of peers) {
      const { messages } = client.direct(peer)
      const end = messages.subscribe(() => {})
      if (client.connection.getSnapshot().state === 'online')
        while (messages.getSnapshot().hasOlder) await messages.loadOlder({ limit: pageLength })
      lines.push(
        ...this.#messages(peer)
          .filter(({ id }) => id > 0)
          .map(lineOf),
      )
      end()
    }
    return lines
  }
}

async function answers(api: Api, peers: readonly number[]): Promise<string[]> {
  const lines: string[] = []
  for (const peer of peers) {
    const found: StoredMessage[] = []
    for (let start = 0, isLast = false; !isLast; ) {
      const query = { opposite_id: peer, msg_id_start: start, limit: pageLength }
      const { data } = await api.succeed('GET', '/message/conversation', { query })
      for (const { msg_id, from_xid, content } of data.messages)
        found.push({ id: Number(msg_id), senderId: Number(from_xid.uid), text: content })
      isLast = data.is_last
      start = data.next_msg_id
    }
    lines.push(...found.reverse().map(lineOf))
  }
  return lines
}

function lineOf({ id, senderId, text }: StoredMessage): string {
  return `${id} of ${senderId}: ${text}`
}
