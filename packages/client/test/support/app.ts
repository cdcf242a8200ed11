/**
 * An app with a client, as its user sees it: what it shows is compared with the server's answers
 * over HTTP.
 */
import type { Api } from '@hermod/testkit'
import {
  conversationList,
  history,
  unreadCounts,
} from '../../../server/test/support/messaging/messaging.js'
import type { Client, Conversation, Message } from '../../src/api.js'
import { CutProxy } from './cut-proxy.js'

export interface AppOptions {
  readonly userId: number
  readonly name: string
  /** Makes a client; a second one finds what the first has stored. */
  readonly create: (url: string) => Client
  readonly port: () => number
  /** False: its store is memory. */
  readonly isDurable: boolean
}

/** Pages of history that a comparison loads. */
const maxPages = 200

export class App implements AsyncDisposable {
  /** Texts that the client took. */
  readonly sent: { readonly peer: number; readonly text: string }[] = []
  starts = 0
  #client: Client
  #endViews: (() => void)[] = []
  /** Conversations on screen. */
  #endShown: (() => void)[] = []

  private constructor(
    readonly proxy: CutProxy,
    private readonly options: AppOptions,
  ) {
    this.#client = this.#open()
  }

  static async start(options: AppOptions): Promise<App> {
    return new App(await CutProxy.start(options.port), options)
  }

  get userId(): number {
    return this.options.userId
  }

  get name(): string {
    return this.options.name
  }

  get client(): Client {
    return this.#client
  }

  get isOnline(): boolean {
    return this.#client.connection.getSnapshot().state === 'online'
  }

  /** Closes the client and opens another one on its store. One in memory forgets what was not sent. */
  async reopen(): Promise<void> {
    await this.#close()
    if (!this.options.isDurable) this.sent.length = 0
    this.#client = this.#open()
  }

  async send(peer: number, isGroup: boolean, text: string): Promise<void> {
    await this.#conversation(peer, isGroup).send(text)
    this.sent.push({ peer, text })
  }

  async read(peer: number, isGroup: boolean): Promise<void> {
    await this.#conversation(peer, isGroup).markRead()
  }

  /** Shows a conversation, and one page of its older messages. */
  show(peer: number, isGroup: boolean): void {
    const conversation = this.#conversation(peer, isGroup)
    this.#endShown.push(conversation.messages.subscribe(() => {}))
    conversation.messages.loadOlder({ limit: 5 }).catch(() => {})
  }

  /** Shows no conversation. A group whose messages send no events is current when it is shown again. */
  leaveConversations(): void {
    for (const end of this.#endShown.splice(0)) end()
  }

  /** @returns the differences between what is shown and what the server answers, as sentences */
  async differences(api: Api, groupIds: readonly number[]): Promise<string[]> {
    if (!this.isOnline) {
      const state = JSON.stringify(this.#client.connection.getSnapshot())
      return [`${this.name} is not online: ${state}`]
    }
    const found: string[] = []
    const { conversations, isComplete } = this.#client.conversations.getSnapshot()
    if (!isComplete) found.push('the list is not complete')
    const shown = new Map(conversations.map((each) => [each.id, each]))
    const [listed, unread] = await Promise.all([conversationList(api), unreadCounts(api)])
    for (const { conversation_id, latest_msg_id } of listed) {
      const id = Number(conversation_id.uid)
      const summary = shown.get(id)
      const last = summary?.lastMessage?.id
      if (last !== undefined && last > 0 && last !== Number(latest_msg_id))
        found.push(`conversation ${id} ends with ${last} instead of ${latest_msg_id}`)
      if ((summary?.unread ?? 0) !== Number(unread[id] ?? 0))
        found.push(`conversation ${id} has ${summary?.unread} unread instead of ${unread[id] ?? 0}`)
      found.push(...(await this.#differentMessages(api, id, groupIds.includes(id))))
    }
    found.push(...(await this.#differentReads(api)))
    for (const peer of new Set(this.sent.map((each) => each.peer)))
      if (this.#messages(peer, groupIds.includes(peer)).some(({ status }) => status === 'sending'))
        found.push(`a message to ${peer} is not sent yet`)
    return found.map((each) => `${this.name}: ${each}`)
  }

  /**
   * Looks for the texts of this app, which all went to groups and users that the observer reads.
   * @param observer a caller that hides nothing
   * @returns texts that are stored twice, or neither stored nor kept as failed
   */
  async lost(observer: Api, groupIds: readonly number[]): Promise<string[]> {
    const found: string[] = []
    for (const peer of new Set(this.sent.map((each) => each.peer))) {
      const isGroup = groupIds.includes(peer)
      const stored = await history(observer, isGroup ? peer : this.userId)
      const unsent = this.#messages(peer, isGroup).filter(({ status }) => status === 'failed')
      for (const { text } of this.sent.filter((each) => each.peer === peer)) {
        const count = stored.filter(({ content }) => content === text).length
        const isKept = unsent.some((each) => each.text === text)
        if (count > 1) found.push(`${this.name}: ${text} is stored ${count} times`)
        if (count === 0 && !isKept) found.push(`${this.name}: ${text} is lost`)
      }
    }
    return found
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
    await this.proxy[Symbol.asyncDispose]()
  }

  #open(): Client {
    this.starts++
    const client = this.options.create(this.proxy.url)
    // Nothing is wrong when it ends before it was online.
    client.connect().catch(() => {})
    const ignore = () => {}
    this.#endViews = [
      client.conversations.subscribe(ignore),
      client.contacts.list.subscribe(ignore),
      client.profile.subscribe(ignore),
      client.groups.list.subscribe(ignore),
    ]
    return client
  }

  async #close(): Promise<void> {
    this.leaveConversations()
    for (const end of this.#endViews) end()
    await this.#client.close()
  }

  #conversation(peer: number, isGroup: boolean): Conversation {
    return this.#client.conversation({ id: peer, kind: isGroup ? 'group' : 'direct' })
  }

  #messages(peer: number, isGroup: boolean): readonly Message[] {
    return this.#conversation(peer, isGroup).messages.getSnapshot().messages
  }

  async #differentMessages(api: Api, peer: number, isGroup: boolean): Promise<string[]> {
    const conversation = this.#conversation(peer, isGroup)
    const end = conversation.messages.subscribe(() => {})
    try {
      for (let page = 0; page < maxPages; page++) {
        if (!conversation.messages.getSnapshot().hasOlder) break
        await conversation.messages.loadOlder({ limit: 100 })
      }
      const right = (await history(api, peer))
        .map(({ msg_id, from_xid, content }) => `${msg_id} ${from_xid.uid} ${content}`)
        .reverse()
      const own = this.#messages(peer, isGroup)
        .filter(({ id }) => id > 0)
        .map(({ id, senderId, text }) => `${id} ${senderId} ${text}`)
      const missing = right.filter((line) => !own.includes(line))
      const extra = own.filter((line) => !right.includes(line))
      return [
        ...missing.map((line) => `conversation ${peer} misses ${line}`),
        ...extra.map((line) => `conversation ${peer} shows ${line}`),
        ...(missing.length + extra.length === 0 && own.join() !== right.join()
          ? [`conversation ${peer} has another order`]
          : []),
      ]
    } catch (error) {
      return [`conversation ${peer} cannot be read: ${error}`]
    } finally {
      end()
    }
  }

  async #differentReads(api: Api): Promise<string[]> {
    const [contacts, groups, profile] = await Promise.all([
      api.succeed('GET', '/roster/list'),
      api.succeed('GET', '/group/user_joined'),
      api.succeed('GET', '/user/profile'),
    ])
    const ids = (list: readonly unknown[] = []) =>
      list
        .map(Number)
        .sort((a, b) => a - b)
        .join()
    const shown = [
      ids(this.#client.contacts.list.getSnapshot()?.map(({ id }) => id)),
      ids(this.#client.groups.list.getSnapshot()?.map(({ id }) => id)),
      this.#client.profile.getSnapshot()?.nickname,
    ]
    const right = [ids(contacts.data), ids(groups.data), profile.data.nick_name]
    return ['contacts', 'groups', 'nickname'].flatMap((what, index) =>
      shown[index] === right[index]
        ? []
        : [`${what} are ${shown[index]} instead of ${right[index]}`],
    )
  }
}
