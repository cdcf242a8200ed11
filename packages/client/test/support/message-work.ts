/** Random replies, edits, reactions, pins and streams of people, a bot and an admin, over HTTP. */
import type { Answer, Api, Json } from '@hermod/testkit'
import { answerCode } from '../../../server/test/support/answer-codes.js'
import { operate } from '../../../server/test/support/messaging/message-operations.js'
import { historyPage, textTo } from '../../../server/test/support/messaging/messaging.js'
import type { Random } from '../../../server/test/support/random.js'

export interface MessageWorker {
  readonly id: number
  /** A caller on the server that runs now. */
  readonly api: () => Api
}

export interface MessageWorld {
  readonly random: Random
  readonly people: readonly MessageWorker[]
  readonly bot: MessageWorker
  readonly groups: readonly number[]
  /** A caller with an Admin token, for a user. */
  readonly admin: (userId: number) => Api
}

/** A message that somebody writes. */
interface Written {
  readonly writer: MessageWorker
  readonly place: { readonly conversation_id: number; readonly type: number }
  readonly msg_id: number
  next: number
  isSilent: boolean
}

const keys = ['+1', '❤️', 'e\u0301']
const [userType, groupType] = [1, 2]

export class MessageWork {
  /** Calls that succeeded, or were refused as wanted, by what they did. */
  readonly done = new Map<string, number>()
  /** Streams that are not ended. */
  readonly #written: Written[] = []
  readonly #begun: Written[] = []
  #words = 0

  constructor(private readonly world: MessageWorld) {}

  /** Does something; a server that refuses is part of the test. */
  async step(): Promise<void> {
    const { random, people } = this.world
    const worker = random.pick(people)
    const isGroup = random.chance(0.7)
    const peer = isGroup ? random.pick(this.world.groups) : random.pick(people).id
    const target = { worker, peer, type: isGroup ? groupType : userType }
    const kinds = ['reply', 'edit', 'react', 'react', 'pin', 'stream', 'stream', 'stream'] as const
    await this[random.pick(kinds)](target)
  }

  /** Turns reactions to one message on and off, so that most of the changes are overtaken. */
  async reactOften(): Promise<void> {
    const [group = 0] = this.world.groups
    const [owner] = this.world.people
    if (!owner) return
    const { messages } = await historyPage(owner.api(), group)
    const { msg_id } = messages[0] ?? {}
    const place = { conversation_id: group, type: groupType, msg_id }
    for (let turn = 0; turn < 8; turn++)
      await this.#call(owner.api(), 'reaction', { ...place, key: '+1', on: turn % 2 === 0 })
  }

  async reply(target: Target): Promise<void> {
    const reply_to = Number((await this.#pick(target))?.msg_id)
    if (!reply_to) return
    const { worker, peer, type } = target
    const body = textTo([peer], this.#word(), { type, reply_to })
    this.#count('reply', await worker.api().call('POST', '/message/send', { body }))
  }

  /** Edits an own message, now and then with another edit_timestamp than that of the message. */
  async edit(target: Target): Promise<void> {
    const { worker, peer, type } = target
    // Texts of the apps stay: they are looked for.
    const isOwn = ({ from_xid, content }: Json) =>
      Number(from_xid.uid) === worker.id && /^(word|said)/.test(content)
    const message = await this.#pick(target, isOwn)
    if (!message) return
    const isStale = this.world.random.chance(0.3)
    const edit_timestamp = Number(message.edit_timestamp) + Number(isStale)
    const what = { peer, type, message: Number(message.msg_id), content: this.#word() }
    const answer = await operate(worker.api(), 'replace', { ...what, edit_timestamp })
    if (answer.envelope.code === answerCode.edited_meanwhile) this.#add('refused edit')
    else this.#count('edit', answer)
  }

  async react(target: Target): Promise<void> {
    const { random } = this.world
    const { worker, peer, type } = target
    const msg_id = Number((await this.#pick(target))?.msg_id)
    if (!msg_id) return
    const wanted = { key: random.pick(keys), on: random.chance(0.7) }
    const body = { conversation_id: peer, type, msg_id, ...wanted }
    await this.#call(...this.#caller(worker, 'reaction'), body)
  }

  async pin(target: Target): Promise<void> {
    const msg_id = Number((await this.#pick(target))?.msg_id)
    const [owner] = this.world.people
    if (!msg_id || !owner) return
    const { worker, peer, type } = target
    const path = this.world.random.chance(0.7) ? 'pin' : 'unpin'
    const actor = type === groupType ? owner : worker
    await this.#call(...this.#caller(actor, path), { conversation_id: peer, msg_id })
  }

  /** Begins a stream, or continues, ends or cancels one. Silent ones end after a second. */
  async stream({ worker, peer, type }: Target): Promise<void> {
    const { random, bot } = this.world
    const known = random.chance(0.8) ? random.pick([undefined, ...this.#written]) : undefined
    if (known) {
      await this.#continue(known)
      return
    }
    // The bot is in the first group.
    const [group = 0] = this.world.groups
    const places = [
      { writer: worker, place: { conversation_id: peer, type } },
      { writer: bot, place: { conversation_id: group, type: groupType } },
      { writer: bot, place: { conversation_id: worker.id, type: userType } },
    ]
    const { writer, place } = random.pick(places)
    const more = { type: place.type, stream: { kind: random.pick(['text', 'markdown']) } }
    const body = textTo([place.conversation_id], 'begun', more)
    const answer = await writer.api().call<Json>('POST', '/message/send', { body })
    this.#count(writer === bot ? 'stream of a bot' : 'stream', answer)
    if (answer.code !== 200) return
    const msg_id: number = answer.envelope.msg_ids[0]
    const written = { writer, place, msg_id, next: 1, isSilent: random.chance(0.2) }
    this.#written.push(written)
    this.#begun.push(written)
  }

  /** The states of the streams that their writers still see. */
  async streamStates(): Promise<Set<string>> {
    const states = new Set<string>()
    for (const { writer, place, msg_id } of this.#begun) {
      const query = { conversation_id: place.conversation_id, msg_id }
      const { envelope } = await writer.api().call<Json>('GET', '/message/get', { query })
      if (envelope.data?.message?.stream) states.add(envelope.data.message.stream.state)
    }
    return states
  }

  async #continue(written: Written): Promise<void> {
    const { random } = this.world
    const { writer, place, msg_id, next: index, isSilent } = written
    if (isSilent && index > 1) return
    const { conversation_id } = place
    if (random.chance(0.1))
      await this.#call(writer.api(), 'stream/cancel', { conversation_id, msg_id })
    const text = `${this.#word()} `
    const state = random.chance(0.4) ? random.pick(['done', 'failed', 'cancelled']) : undefined
    const isAsIs = random.chance(0.7)
    const end = state && { state, ...(!isAsIs && { content: this.#word() }) }
    const body = { ...place, msg_id, index, text, ...(end && { end }) }
    const answer = await writer.api().call('POST', '/message/stream/append', { body })
    this.#count(end ? `stream ${state}` : 'append', answer)
    if (answer.code === 200) written.next++
    if (answer.code !== 200 || end) this.#written.splice(this.#written.indexOf(written), 1)
  }

  /** The user, or an admin for the user. */
  #caller({ id, api }: MessageWorker, path: string): readonly [Api, string] {
    return this.world.random.chance(0.3) ? [this.world.admin(id), path] : [api(), path]
  }

  async #pick(
    { worker, peer }: Target,
    isMeant: (message: Json) => boolean = () => true,
  ): Promise<Json | undefined> {
    const query = { opposite_id: peer, msg_id_start: 0, limit: 20 }
    const answer = await worker.api().call<Json>('GET', '/message/conversation', { query })
    const meant: Json[] = (answer.envelope.data?.messages ?? []).filter(isMeant)
    return meant.length > 0 ? this.world.random.pick(meant) : undefined
  }

  async #call(api: Api, path: string, body: object): Promise<void> {
    this.#count(path, await api.call('POST', `/message/${path}`, { body }))
  }

  #count(what: string, { code }: Answer<unknown>): void {
    if (code === 200) this.#add(what)
  }

  #add(what: string): void {
    this.done.set(what, (this.done.get(what) ?? 0) + 1)
  }

  #word(): string {
    return `said ${++this.#words}`
  }
}

interface Target {
  readonly worker: MessageWorker
  readonly peer: number
  readonly type: number
}
