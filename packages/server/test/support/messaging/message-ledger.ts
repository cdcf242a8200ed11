import type { Api, Json } from '@hermod/testkit'
import { expect } from 'vitest'

/**
 * What the sender of a message knows about it. `unknown`: the connection was cut, or the failure
 * left open whether it was stored; `refused`: the answer said that nothing was stored.
 */
export type Outcome = 'answered' | 'unknown' | 'refused'

/** One send; its label is the content of its messages and like no other. */
export interface Send {
  readonly label: string
  readonly senderId: number
  readonly targets: readonly number[]
  readonly transactionId: number | null
  outcome: Outcome
  /** As answered, for a single target; else null. */
  messageId: number | null
}

interface Shown {
  readonly msg_id: number
  readonly content: string
  readonly from_xid: { readonly uid: number }
  readonly to_xid: { readonly uid: number }
}

const pageSize = 100

/** Every send of a test, to be held against what the API shows. */
export class MessageLedger {
  readonly sends: Send[] = []
  readonly #byLabel = new Map<string, Send>()
  /** IDs once seen: a message keeps its ID, and no other message ever has it. */
  readonly #labelOfId = new Map<number, string>()
  /** By reader and peer: up to where the reader has acknowledged. */
  readonly #acknowledged = new Map<string, number>()
  #transactions = 0

  open(senderId: number, targets: readonly number[], isRepeatable: boolean): Send {
    const transactionId = isRepeatable ? ++this.#transactions : null
    const send: Send = {
      label: `message ${this.sends.length}`,
      senderId,
      targets,
      transactionId,
      outcome: 'unknown',
      messageId: null,
    }
    this.sends.push(send)
    this.#byLabel.set(send.label, send)
    return send
  }

  withOutcome(outcome: Outcome): Send[] {
    return this.sends.filter((send) => send.outcome === outcome)
  }

  /** Of a successful answer: the first one of a send, or one that must repeat it. */
  answered(send: Send, messageIds: readonly number[] | undefined): void {
    const [messageId = null] = messageIds ?? []
    expect(messageIds?.length, `msg_ids of ${send.label}`).toBe(
      send.targets.length === 1 ? 1 : undefined,
    )
    if (send.outcome === 'answered')
      expect(messageId, `the repeated ${send.label}`).toBe(send.messageId)
    send.outcome = 'answered'
    send.messageId = messageId
  }

  /**
   * Reads every conversation through the API and compares.
   * @param admin calls with the Admin token
   * @returns the number of messages that were seen
   */
  async verify(admin: Api, userIds: readonly number[]): Promise<number> {
    const places = new Map<string, number>()
    let seen = 0
    for (const [low, high] of pairsOf(userIds)) {
      const history = await readHistory(admin, low, high)
      this.#verifyOrder(history)
      for (const message of history)
        places.set(this.#verifyMessage(message), (places.get(placeOf(message)) ?? 0) + 1)
      await this.#verifyUnread(admin, history, low, high)
      seen += history.length
    }
    for (const send of this.sends) this.#verifySend(send, places)
    return seen
  }

  /** Reads a conversation up to its end, as the reader. */
  async acknowledge(admin: Api, readerId: number, peerId: number): Promise<void> {
    const [newest] = await readHistory(admin, readerId, peerId)
    if (!newest) return
    const query = { conversation_id: peerId, msg_id: newest.msg_id }
    await admin.succeed('GET', '/message/ack', { userId: readerId, query })
    this.#acknowledged.set(`${readerId}/${peerId}`, newest.msg_id)
  }

  #verifyOrder(history: readonly Shown[]): void {
    const ids = history.map((message) => message.msg_id)
    const isStrict = ids.every((id, index) => index === 0 || id < (ids[index - 1] as number))
    expect(isStrict, 'history runs strictly from the newest msg_id to the oldest').toBe(true)
  }

  #verifyMessage(message: Shown): string {
    const send = this.#byLabel.get(message.content)
    if (!send) throw new Error(`nobody sent what the history shows: ${JSON.stringify(message)}`)
    expect(message.from_xid.uid, `sender of ${send.label}`).toBe(send.senderId)
    if (send.messageId !== null)
      expect(message.msg_id, `msg_id of ${send.label}`).toBe(send.messageId)
    const place = placeOf(message)
    const known = this.#labelOfId.get(message.msg_id)
    if (known !== undefined) expect(place, `the message with ID ${message.msg_id}`).toBe(known)
    this.#labelOfId.set(message.msg_id, place)
    return place
  }

  #verifySend({ label, targets, outcome }: Send, places: ReadonlyMap<string, number>): void {
    const counts = targets.map((target) => places.get(`${label} to ${target}`) ?? 0)
    const everywhere = targets.map(() => 1)
    const nowhere = targets.map(() => 0)
    if (outcome === 'answered') expect(counts, `${label} was answered`).toEqual(everywhere)
    else if (outcome === 'refused') expect(counts, `${label} was refused`).toEqual(nowhere)
    else
      expect(
        [nowhere, everywhere],
        `${label}, of which nobody knows, is stored as a whole or not at all`,
      ).toContainEqual(counts)
  }

  async #verifyUnread(
    admin: Api,
    history: readonly Shown[],
    low: number,
    high: number,
  ): Promise<void> {
    for (const [reader, peer] of [
      [low, high],
      [high, low],
    ] as const) {
      const lastOwn = history.find((message) => message.from_xid.uid === reader)?.msg_id ?? 0
      const readTo = Math.max(lastOwn, this.#acknowledged.get(`${reader}/${peer}`) ?? 0)
      const expected = history.filter(
        (message) => message.from_xid.uid === peer && message.msg_id > readTo,
      ).length
      const { data } = await admin.succeed('GET', '/message/unread', { userId: reader })
      const entry = data.find((unread: Json) => unread.conversation_id.uid === peer)
      expect(entry?.num ?? 0, `unread messages of ${reader} from ${peer}`).toBe(expected)
    }
  }
}

function placeOf(message: Shown): string {
  return `${message.content} to ${message.to_xid.uid}`
}

function pairsOf(userIds: readonly number[]): [number, number][] {
  return userIds.flatMap((low, index) =>
    userIds.slice(index + 1).map((high): [number, number] => [low, high]),
  )
}

async function readHistory(admin: Api, readerId: number, peerId: number): Promise<Shown[]> {
  const messages: Shown[] = []
  for (let start = 0; ; ) {
    const query = { opposite_id: peerId, limit: pageSize, msg_id_start: start }
    const { data } = await admin.succeed('GET', '/message/conversation', {
      userId: readerId,
      query,
    })
    messages.push(...data.messages)
    if (data.is_last) return messages
    start = data.next_msg_id
  }
}
