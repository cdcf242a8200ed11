import type {
  Client,
  ClientOptions,
  Conversation,
  ConversationRef,
  Group,
  Message,
  View,
} from './api.js'
import { featuresKey } from './model/features.js'
import type { ClientPorts } from './ports/client-ports.js'
import type { ClientSession } from './sessions/session.js'
import { openSession } from './sessions/open-session.js'
import type { CallAnswer } from './protocol-types.js'
import { checkFunction, checkId, checkOneOf, checkText, refuse } from './surface/arguments.js'
import { createCaller } from './surface/caller.js'
import { connected } from './surface/connect.js'
import { createContacts } from './surface/contacts.js'
import { createConversation } from './surface/conversation.js'
import { fileUrl } from './surface/file-url.js'
import { createGroup } from './surface/group.js'
import { createGroups } from './surface/groups.js'
import { followNewMessages } from './surface/new-messages.js'
import { checkOptions } from './surface/options.js'
import { createOwnUser } from './surface/own-user.js'
import { createUploader } from './surface/uploader.js'
import { createConversationList } from './views/conversation-list.js'
import { createConversationParts } from './views/conversation-parts.js'
import { createHub } from './views/hub.js'
import { createInterests } from './views/interests.js'
import { createSummaries } from './views/summaries.js'
import { cachedValueOf, createUsers } from './views/users.js'
import { deriveView } from './views/view.js'
import { fromWire } from './wire/from-wire.js'

/** Time that a logout waits for the server, milliseconds. */
const logOutLimitMs = 4_000

/**
 * Makes a client on ports: those of browsers, of Node, or of a test.
 * @throws ClientError invalid_argument
 */
export function createClientWith(options: ClientOptions, ports: ClientPorts): Client {
  checkOptions(options)
  return createClientOn(openSession(options, ports), options, ports)
}

/** Makes the public interface on a session. */
export function createClientOn(
  session: ClientSession,
  options: ClientOptions,
  { clock, ...ports }: Pick<ClientPorts, 'clock' | 'upload'>,
): Client {
  const { url, appId } = options
  const hub = createHub(session, options)
  const interests = createInterests(session, `views ${clock.random()}`)
  const parts = createConversationParts(hub)
  const users = createUsers(hub)
  const summaries = createSummaries(hub, parts, users)
  const call = createCaller(session)
  const upload = createUploader(call, ports.upload, url)
  const conversations = new Map<string, Conversation>()
  const groups = new Map<number, Group>()
  const userViews = new Map<number, ReturnType<typeof userView>>()
  const live = () => session.state.live
  const connection = liveView(() => live().connection, { state: 'idle' })
  let disconnecting = new AbortController()

  function liveView<T>(select: () => T, initial: T): View<T> {
    return deriveView(hub, { initial, inputs: () => [select()], derive: (value) => value })
  }
  function userView(id: number) {
    return deriveView(hub, {
      initial: undefined,
      inputs: () => [users.find(id)],
      derive: (user) => user,
      start: () => interests.add({ rank: 0, reads: () => [`user.${id}`], presence: () => [id] }),
    })
  }
  function conversation({ id, kind }: ConversationRef): Conversation {
    const key = `${kind} ${id}`
    const sources = { hub, parts, summaries, interests, call, clock }
    const handle = conversations.get(key) ?? createConversation(sources, { id, kind })
    conversations.set(key, handle)
    return handle
  }
  function group(id: number): Group {
    checkId('id', id)
    const handle =
      groups.get(id) ??
      createGroup(hub, { interests, call, upload }, conversation({ id, kind: 'group' }))
    groups.set(id, handle)
    return handle
  }
  /** Ends the session of the device; its tokens end with it. */
  const logOutDevice = async () => {
    const { deviceSn, connection: status } = live()
    if (deviceSn === undefined || status.state === 'offline' || status.state === 'ended') return
    const abort = new AbortController()
    const cancel = clock.after(logOutLimitMs, () => abort.abort())
    // The kick may close the connection before its answer comes; without the server it is left out.
    await call('user.kick', { device_sn: deviceSn }, abort).catch(() => {})
    cancel()
  }

  return {
    get userId() {
      return hub.me || undefined
    },
    connection,
    isDurable: liveView(() => live().isDurable, false),
    hasToken: liveView(() => live().token !== '', false),
    features: deriveView(hub, {
      initial: fromWire.features([]),
      inputs: () => [cachedValueOf<readonly string[]>(session.state, featuresKey)],
      derive: (names = []) => fromWire.features(names),
    }),
    conversations: createConversationList(hub, { parts, summaries, interests }),
    contacts: createContacts(hub, { users, interests, call }),
    groups: createGroups(hub, { interests, call }),
    ...createOwnUser(hub, { interests, call, upload }),
    direct(userId) {
      checkId('userId', userId, 0)
      return conversation({ id: userId, kind: 'direct' })
    },
    group,
    conversation(ref) {
      if (typeof ref !== 'object' || ref === null) refuse('ref', 'an object with id and kind')
      const { id, kind } = ref
      checkOneOf('ref.kind', kind, ['direct', 'group'])
      if (kind === 'group') return group(id).conversation
      checkId('ref.id', id, 0)
      return conversation({ id, kind })
    },
    user(id) {
      checkId('id', id, 0)
      const view = userViews.get(id) ?? userView(id)
      userViews.set(id, view)
      return view
    },
    connect(connectOptions) {
      const ends = { closing: session.closed, disconnecting: disconnecting.signal }
      return connected(connection, () => session.connect(), ends, connectOptions)
    },
    disconnect() {
      session.disconnect()
      disconnecting.abort()
      disconnecting = new AbortController()
    },
    async call(op, data, callOptions = {}) {
      checkText('id', op)
      if (typeof data !== 'object' || data === null) refuse('params', 'an object')
      const { userId, groupId } = callOptions
      if (userId !== undefined) checkId('options.userId', userId)
      if (groupId !== undefined) checkId('options.groupId', groupId)
      return (await call(op, data, callOptions)) as CallAnswer<typeof op>
    },
    onMessage(listener, { unread = false, after = () => undefined } = {}) {
      checkFunction('listener', listener)
      checkFunction('options.after', after)
      const take = async (message: Message, ref: ConversationRef) => {
        try {
          await listener(message, conversation(ref))
        } catch (error) {
          hub.report(error)
        }
      }
      return followNewMessages(hub, { clock, isFromUnread: unread, after, take })
    },
    on(kind, listener) {
      checkText('kind', kind)
      checkFunction('listener', listener)
      return session.onEvent((event) => {
        if (event.kind === kind) listener(fromWire.event(kind, event.data, hub.me))
      })
    },
    fileUrl: (file, { thumbnail } = {}) =>
      fileUrl(file, { url, appId, token: live().token, thumbnail }),
    async close() {
      await session.close()
    },
    async logOut() {
      await logOutDevice()
      await session.destroy()
    },
  }
}
