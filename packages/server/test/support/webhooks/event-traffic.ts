/** Users who send, recall and change groups until they are stopped, whatever happens to the service. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Api, Session } from '@hermod/testkit'
import { aGroup } from '../groups/groups.js'
import type { Random } from '../random.js'

interface Sent {
  readonly id: number
  /** The group or the other user. */
  readonly target: number
}

const pauseMs = 25
const firstCapacity = 100

export interface EventTrafficOptions {
  readonly users: readonly Session[]
  readonly groups: readonly number[]
  readonly random: Random
  /** Returns a caller of a node; the node may be killed at any time. */
  readonly api: () => Api
}

export class EventTraffic {
  /** IDs of messages whose send was answered. */
  readonly sent = new Set<number>()
  /** IDs of messages whose recall was requested. */
  readonly recalled = new Set<number>()
  changes = 0
  /** Answers other than success. */
  readonly refusals: string[] = []
  #isStopping = false
  readonly #running: Promise<unknown>

  private constructor(private readonly options: EventTrafficOptions) {
    this.#running = Promise.all(options.users.map((user) => this.#act(user)))
  }

  /** Makes two groups of all users, and lets all users act. */
  static async start(
    options: Omit<EventTrafficOptions, 'groups'>,
    owner: Session,
  ): Promise<EventTraffic> {
    const members = options.users.filter(({ id }) => id !== owner.id)
    const groups = [await aGroup(owner, { members }), await aGroup(owner, { members })]
    return new EventTraffic({ ...options, groups })
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
  }

  async #act(user: Session): Promise<void> {
    const own: Sent[] = []
    while (!this.#isStopping) {
      await this.#once(user, own)
      await sleep(pauseMs)
    }
  }

  async #once(user: Session, own: Sent[]): Promise<void> {
    const { random, users, groups } = this.options
    const chance = random.next()
    const last = chance < 0.1 ? own.pop() : undefined
    if (last !== undefined) return this.#recall(user, last)
    if (chance < 0.15 && user === users[0]) return this.#changeGroup(user, random.pick(groups))
    const isGroup = random.chance(0.3)
    const others = users.filter(({ id }) => id !== user.id)
    const target = isGroup ? random.pick(groups) : random.pick(others).id
    const body = { type: isGroup ? 2 : 1, content_type: 0, targets: [target], content: 'a message' }
    const answer = await this.#call(user, '/message/send', body)
    if (answer === null) return
    const [id] = (answer.envelope.msg_ids ?? []) as number[]
    if (id === undefined) return
    this.sent.add(id)
    own.push({ id, target })
  }

  async #recall(user: Session, { id, target }: Sent): Promise<void> {
    this.recalled.add(id)
    await this.#call(user, '/message/recall', { conversation_id: target, msg_id: id })
  }

  async #changeGroup(user: Session, group_id: number): Promise<void> {
    const value = firstCapacity + this.changes++
    await this.#call(user, '/group/settings/capacity', { group_id, value })
  }

  /** @returns null when a node was killed, or refused */
  async #call(user: Session, path: string, body: object): Promise<Answer | null> {
    try {
      const answer = await this.options.api().as(user.token).call('POST', path, { body })
      if (answer.code === 200) return answer
      this.refusals.push(`${path}: ${answer.text}`)
    } catch {
      await sleep(pauseMs)
    }
    return null
  }
}
