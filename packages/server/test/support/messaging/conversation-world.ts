/** An application whose conversations are those of a model, and the comparison of both. */
import type { Message, MessagePage } from '@hermod/protocol'
import { type Api, sharedPassword } from '@hermod/testkit'
import { expect } from 'vitest'
import { answerCode } from '../answer-codes.js'
import type { Person } from '../contacts.js'
import { aGroup } from '../groups/groups.js'
import type { InProcessServer } from '../in-process-server.js'
import { World } from '../model-world.js'
import { addUsers, anApplication } from './broadcasts.js'
import type { ChangeReader } from './change-reader.js'
import { ConversationModel, type Sent, systemId, type Written } from './conversation-model.js'
import { keepHistory, type Retention } from './history-retention.js'
import { conversationList, historyPage, unreadCounts } from './messaging.js'

/** The users and groups of a history. */
export interface Cast {
  readonly users: number
  /** So many of the first users write to each other and to themselves. */
  readonly correspondents: number
  /** True when the users have conversations with the system. */
  readonly hasSystem: boolean
  /** The members of groups by their places in the list of users; the first of each is its owner. */
  readonly groups: readonly (readonly number[])[]
}

/** The service, and its maintenance and its change log beside it. */
export interface Service {
  readonly server: InProcessServer
  readonly retention: Retention
  readonly changes: ChangeReader
}

/** A device's copy of a conversation, up to a change. */
interface Copy {
  position: number
  hidden: number
  messages: Map<number, string>
}

export interface Reading {
  readonly limit: number
  readonly onDevice?: boolean
  /** Default: all pages */
  readonly pages?: number
}

/** How often each thing was done, so that the test is known to do it. */
export const counts: Record<string, number> = {}

export function count(what: string, times = 1): void {
  counts[what] = (counts[what] ?? 0) + times
}

export class ConversationWorld extends World {
  readonly model = new ConversationModel()
  /** The message of each transaction; 0 when the answer did not say its ID. */
  readonly transactions = new Map<string, number>()
  /** After a restart IDs follow the clock again, which may have been ahead before. */
  hasRestarted = false
  readonly groupIds: number[] = []
  readonly #gone = new Set<number>()
  readonly #copies = new Map<string, Copy>()
  #newestId = 0
  #numbers = 0

  private constructor(
    override readonly service: Service & { readonly api: Api },
    readonly cast: Cast,
    people: Person[],
  ) {
    super(service, people)
  }

  static async begin(service: Service, cast: Cast): Promise<ConversationWorld> {
    count('histories')
    const { server } = service
    server.clock.set(Date.now())
    const admin = await anApplication(server)
    const operator = server.api.as(server.operatorToken)
    await keepHistory(operator, admin.options.appId ?? '', 30)
    const people = await addUsers(admin, cast.users, 'first')
    const world = new ConversationWorld({ ...service, api: admin }, cast, people)
    for (const members of cast.groups) {
      const [owner, ...others] = members.map((user) => people[user] as Person)
      const group = await aGroup(owner as Person, { members: others })
      world.groupIds.push(group)
      world.model.addGroup(
        group,
        members.map((user) => world.id(user)),
      )
    }
    return world
  }

  get admin(): Api {
    return this.service.api
  }

  get appId(): string {
    return this.admin.options.appId ?? ''
  }

  get now(): number {
    return this.service.server.clock.now()
  }

  get owner(): Person {
    return this.people[0] as Person
  }

  get present(): Person[] {
    return this.people.filter(({ id }) => !this.#gone.has(id))
  }

  /** The first of {@link cast}, and all who came later. */
  get correspondents(): Person[] {
    const { users, correspondents } = this.cast
    return this.people.filter((_, place) => place < correspondents || place >= users)
  }

  /** The users, groups and system that a user may have a conversation with; groups also of others. */
  peersOf(user: number): number[] {
    const writers = this.correspondents.map(({ id }) => id)
    return [
      ...this.groupIds,
      ...(writers.includes(user) ? writers : []),
      ...(this.cast.hasSystem ? [systemId] : []),
    ]
  }

  /** Tells whether a conversation of the user has lost a message with this ID or a later one. */
  hasRemoved(user: number, messageId: number): boolean {
    const { model } = this
    const own = this.peersOf(user).filter((peer) => model.isParty(user, peer))
    return own.some((peer) =>
      model.all(user, peer).some(({ id, isGone }) => isGone && id >= messageId),
    )
  }

  /** The groups and users that a user may write to. */
  targetsOf(user: number): number[] {
    return this.peersOf(user).filter((id) => id !== systemId && !this.#gone.has(id))
  }

  isGroup(peer: number): boolean {
    return this.model.groups.has(peer)
  }

  pick<T>(choices: readonly T[], which: number): T {
    return choices[which % choices.length] as T
  }

  /** Calls by the Admin for a user, or as the system. */
  as(user: number): Api {
    return user === systemId ? this.admin : this.admin.admin({ userId: user })
  }

  /** Calls with a token of a device of the user: what it reads is delivered. */
  deviceOf(user: number): Promise<Api> {
    return this.device(this.userOf(user))
  }

  /** A number that nothing else in this history has. */
  nextNumber(): number {
    return ++this.#numbers
  }

  async restart(): Promise<void> {
    const { server } = this.service
    this.hasRestarted = true
    await server.stop()
    await server.startAgain()
  }

  async register(username: string): Promise<Person> {
    const body = { username, password: sharedPassword }
    const { data } = await this.admin.succeed('POST', '/user/register/v2', { body })
    return { id: data.user_id, username, api: this.as(data.user_id) }
  }

  /** Users have come and gone. */
  turnOver(newcomers: readonly Person[], leaving: ReadonlySet<Person>): void {
    this.people.push(...newcomers)
    for (const { id } of leaving) this.#gone.add(id)
  }

  /** Notes what was sent since an instant; messages of one call, or of calls at once, have any order. */
  async keep(sent: readonly Omit<Sent, 'sentAt'>[], begunAt: number): Promise<void> {
    if (sent.length === 0) return
    const { server } = this.service
    const ids = sent.map(({ id }) => id)
    const rows = await server.sql.run(
      `select msg_id, sent_at from messages where msg_id in (${ids})`,
    )
    const times = new Map(rows.map(({ msg_id, sent_at }) => [Number(msg_id), Number(sent_at)]))
    const newestBefore = this.#newestId
    for (const message of sent.toSorted((a, b) => a.id - b.id)) {
      const sentAt = times.get(message.id) ?? 0
      expect(sentAt).toBeGreaterThanOrEqual(begunAt)
      expect(sentAt).toBeLessThanOrEqual(this.now)
      const written = { ...message, sentAt }
      expect(message.id).toBeGreaterThan(this.model.newestBeside(written))
      if (!this.hasRestarted) expect(message.id).toBeGreaterThan(newestBefore)
      this.#newestId = Math.max(this.#newestId, message.id)
      this.model.write(written)
    }
  }

  /** Unread counts, the list and all histories of a user are those of the model. */
  async compare(user: number, limit = 1 + (this.#numbers % 7)): Promise<void> {
    count('comparisons')
    await this.compareUnread(user)
    await this.compareList(user, limit)
    for (const peer of this.peersOf(user)) await this.compareHistory(user, peer, { limit })
  }

  async compareUnread(user: number): Promise<void> {
    const unread = this.peersOf(user).map((peer) => [peer, this.model.unread(user, peer)] as const)
    expect(await unreadCounts(this.as(user)), `unread messages of ${user}`).toEqual(
      Object.fromEntries(unread.filter(([, number]) => number > 0)),
    )
  }

  async compareList(user: number, limit: number): Promise<void> {
    const list = await conversationList(this.as(user), limit)
    const shown = list.map(({ conversation_id, latest_msg_id, update_timestamp }) => ({
      peer: conversation_id.uid,
      latest: latest_msg_id,
      updatedAt: update_timestamp,
    }))
    const due = this.peersOf(user).flatMap((peer) => {
      const latest = this.model.visible(user, peer).at(-1)
      return latest ? [{ peer, latest: latest.id, updatedAt: latest.sentAt }] : []
    })
    expect(shown, `list of ${user}`).toEqual(due.sort((a, b) => b.latest - a.latest))
  }

  async compareHistory(
    user: number,
    peer: number,
    { limit, onDevice = false, pages = Number.POSITIVE_INFINITY }: Reading,
  ): Promise<void> {
    const { model } = this
    const api = onDevice ? await this.deviceOf(user) : this.as(user)
    if (!model.isParty(user, peer)) {
      const query = { opposite_id: peer, msg_id_start: 0, limit }
      const { code } = await api.call('GET', '/message/conversation', { query })
      expect(code).toBe(answerCode.member_required)
      return
    }
    const due = model.visible(user, peer).toReversed()
    let next: MessagePage['next_msg_id'] = 0
    for (let start = 0, read = 0; read < pages; start += limit, read++) {
      const page = await historyPage(api, peer, { limit, start: next })
      const expected = due.slice(start, start + limit)
      expect(
        page.messages.map((message) => shownMessage(message)),
        `history of ${user} with ${peer}`,
      ).toEqual(expected.map((message) => this.#expectedMessage(user, peer, message)))
      for (const [index, { edit_timestamp }] of page.messages.entries())
        compareEdit(expected[index] as Written, Number(edit_timestamp))
      if (onDevice) model.deliver(user, peer, expected)
      const isLast = start + limit >= due.length
      expect(page.is_last).toBe(isLast)
      next = page.next_msg_id
      expect(next).toBe(isLast ? 0 : due[start + limit]?.id)
      if (isLast) return
    }
  }

  #expectedMessage(user: number, peer: number, message: Written) {
    const { id, from, kind, content, isNotification, sentAt } = message
    return {
      id,
      from,
      to: kind === 'group' || from === user ? peer : user,
      content,
      isSystem: isNotification,
      sentAt,
      status: this.model.status(user, peer, message),
    }
  }

  /**
   * A device that was away reads the changes of the conversation alone: broadcasts in it are
   * another stream. Afterwards its copy is the history.
   */
  async follow(user: number, peer: number, limit: number): Promise<void> {
    if (!this.model.isParty(user, peer)) return
    const key = `${user}/${peer}`
    const copy = this.#copies.get(key) ?? { position: 0, hidden: 0, messages: new Map() }
    this.#copies.set(key, copy)
    const due = this.model
      .visible(user, peer)
      .filter(({ kind }) => kind !== 'broadcast')
      .map(({ id, content }) => [id, content] as const)
    for (let pages = 0; ; pages++) {
      expect(pages).toBeLessThan(1_000)
      const page = await this.service.changes.changesOf({ appId: this.appId, userId: user }, peer, {
        after: copy.position,
        limit,
      })
      copy.hidden = page.hiddenMessageId
      if (page.changes === null) {
        count('read anew')
        copy.messages = new Map(due)
      } else expect(page.next > copy.position || page.next === page.end).toBe(true)
      for (const each of page.changes ?? [])
        if (each.kind === 'skipped') continue
        else if (each.kind === 'recalled') copy.messages.delete(each.tombstone.messageId)
        else copy.messages.set(each.message.messageId, each.message.content)
      copy.position = page.next
      if (page.next === page.end) break
    }
    const kept = [...copy.messages].filter(([id]) => id > copy.hidden).sort(([a], [b]) => a - b)
    expect(kept).toEqual(due)
  }
}

function shownMessage(message: Message) {
  return {
    id: message.msg_id,
    from: message.from_xid.uid,
    to: message.to_xid.uid,
    content: message.content,
    isSystem: message.is_system,
    sentAt: message.timestamp,
    status: message.status,
  }
}

/** An edit since the message was shown last has a later instant. */
function compareEdit(written: Written, editedAt: number): void {
  if (written.isEdited) expect(editedAt).toBeGreaterThan(written.editedAt)
  else expect(editedAt).toBe(written.editedAt)
  written.isEdited = false
  written.editedAt = editedAt
}
