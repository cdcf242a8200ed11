/** Random calls of a few users on a few groups, over HTTP, while the server may be away. */
import { type Answer, type Api, type Json, stringifyExactJson } from '@hermod/testkit'
import { operate, recall } from '../messaging/message-operations.js'
import { textTo } from '../messaging/messaging.js'
import type { Random } from '../random.js'

export interface Worker {
  readonly id: number
  /** A caller on the server that runs now. */
  readonly api: () => Api
}

export interface WorkWorld {
  readonly people: Worker[]
  /** Their owner is the first of the people. */
  readonly groups: readonly number[]
  readonly admin: () => Api
  readonly random: Random
}

/** A message whose send was answered. */
interface Sent {
  readonly peer: number
  readonly type: number
  readonly sender: number
  readonly messageId: number
}

type Action = (work: RandomWork) => Promise<Answer<Json>>

const post = (api: Api, path: string, body: object) => api.call('POST', path, { body })

const actions: readonly (readonly [weight: number, action: Action])[] = [
  [24, (work) => work.send()],
  [6, (work) => work.edit()],
  [4, (work) => work.recall()],
  [10, (work) => work.acknowledge()],
  [2, (work) => work.deleteConversation()],
  [2, (work) => work.onConversation('/user/conversation/pin')],
  [2, (work) => work.onConversation('/user/conversation/unpin')],
  [1, (work) => work.broadcast()],
  [2, (work) => work.onPeer('/user/add_roster', (list) => ({ list: [list] }), true)],
  [1, (work) => work.onPeer('/roster/delete')],
  [1, (work) => work.onPeer('/roster/ext', (user_id) => ({ user_id, alias: work.word() }))],
  [1, (work) => work.onPeer('/roster/block')],
  [2, (work) => work.onPeer('/roster/unblock')],
  [1, (work) => work.own('/user/nickname', { value: work.word() })],
  [1, (work) => work.own('/user/vibratory', { value: work.random.chance(0.5) })],
  [3, (work) => work.inGroup('/group/apply', {})],
  [1, (work) => work.inGroup('/group/leave', {})],
  [2, (work) => work.inGroup('/group/display_name', { value: work.word() })],
  [1, (work) => work.inGroup('/group/msg/push_mode', { msg_push_mode: work.random.integer(0, 2) })],
  [1, (work) => work.inGroup('/group/msg/mute_mode', { msg_mute_mode: work.random.pick([0, 2]) })],
  [1, (work) => work.asOwner('/group/info/name', { value: work.word() })],
  [1, (work) => work.asOwner('/group/announcement/edit', { title: work.word(), content: 'x' })],
  [1, (work) => work.asOwner('/group/kick', { user_list: [work.person().id] })],
  [1, (work) => work.asOwner('/group/admin/add', { user_list: [work.person().id] })],
  [1, (work) => work.asOwner('/group/admin/remove', { user_list: [work.person().id] })],
]
const weighted = actions.flatMap(([weight, action]) => Array<Action>(weight).fill(action))
const groupType = 2

export class RandomWork {
  readonly random: Random
  calls = 0
  /** Calls that were answered 200, by their path. */
  readonly done = new Map<string, number>()
  readonly #sent: Sent[] = []
  #words = 0

  /** Contents whose send was answered 200. */
  readonly answered = new Set<string>()
  recalls = 0

  constructor(private readonly world: WorkWorld) {
    this.random = world.random
  }

  get people(): Worker[] {
    return this.world.people
  }

  /** One call; a server that is away or refuses is part of the test. */
  async step(): Promise<void> {
    this.calls++
    await this.random
      .pick(weighted)(this)
      .catch(() => {})
  }

  word(): string {
    return `word ${this.#words++}`
  }

  person(): Worker {
    return this.random.pick(this.world.people)
  }

  group(): number {
    return this.random.pick(this.world.groups)
  }

  async send(): Promise<Answer<Json>> {
    const sender = this.person()
    const isInGroup = this.random.chance(0.5)
    const peer = isInGroup ? this.group() : this.person().id
    const type = isInGroup ? groupType : 1
    const content = this.word()
    const answer = await this.#call(
      sender.api(),
      '/message/send',
      textTo([peer], content, { type }),
    )
    const [messageId] = answer.envelope.msg_ids ?? []
    if (answer.code === 200 && messageId !== undefined) {
      this.answered.add(content)
      this.#sent.push({ peer, type, sender: sender.id, messageId: Number(messageId) })
    }
    return answer
  }

  async edit(): Promise<Answer<Json>> {
    const sent = this.#pickSent()
    const api = this.#apiOf(sent.sender)
    const kind = this.random.pick(['append', 'replace'] as const)
    const { peer, messageId: message, type } = sent
    return operate(api, kind, { peer, message, type, content: this.word() })
  }

  async recall(): Promise<Answer<Json>> {
    const sent = this.#pickSent()
    const answer = await recall(this.#apiOf(sent.sender), sent.peer, sent.messageId)
    this.recalls += Number(answer.code === 200)
    return answer
  }

  async acknowledge(): Promise<Answer<Json>> {
    const { api } = this.person()
    const peer = this.random.chance(0.5) ? this.group() : this.person().id
    const query = this.random.chance(0.1) ? {} : { conversation_id: peer }
    return api().call('GET', '/message/ack', { query })
  }

  async deleteConversation(): Promise<Answer<Json>> {
    const body = { conversation_id: this.#peer() }
    return this.person().api().call('DELETE', '/message/conversation', { body })
  }

  async onConversation(path: string): Promise<Answer<Json>> {
    return this.#call(this.person().api(), path, { conversation_id: this.#peer() })
  }

  async broadcast(): Promise<Answer<Json>> {
    const { id } = this.person()
    const body = { type: 1, content_type: 0, content: this.word() }
    return this.#call(this.world.admin().admin({ userId: id }), '/message/broadcast', body)
  }

  async onPeer(
    path: string,
    body: (peer: number) => object = (user_id) => ({ user_id }),
    isByAdmin = false,
  ): Promise<Answer<Json>> {
    const { id, api } = this.person()
    const caller = isByAdmin ? this.world.admin().admin({ userId: id }) : api()
    return this.#call(caller, path, body(this.person().id))
  }

  async own(path: string, body: object): Promise<Answer<Json>> {
    return this.#call(this.person().api(), path, body)
  }

  async inGroup(path: string, body: object): Promise<Answer<Json>> {
    return this.#call(this.person().api(), path, { group_id: this.group(), ...body })
  }

  async asOwner(path: string, body: object): Promise<Answer<Json>> {
    const [owner] = this.world.people
    return this.#call((owner as Worker).api(), path, { group_id: this.group(), ...body })
  }

  async #call(api: Api, path: string, body: object): Promise<Answer<Json>> {
    const answer = await post(api, path, body)
    if (answer.code === 200) this.done.set(path, (this.done.get(path) ?? 0) + 1)
    return answer
  }

  #peer(): number {
    return this.random.chance(0.4) ? this.group() : this.person().id
  }

  #pickSent(): Sent {
    const sent = this.#sent.length > 0 ? this.random.pick(this.#sent.slice(-40)) : undefined
    if (!sent) throw new Error(`nothing was sent: ${stringifyExactJson([])}`)
    return sent
  }

  #apiOf(userId: number): Api {
    const found = this.world.people.find(({ id }) => id === userId)
    return (found as Worker).api()
  }
}
