/** The process of many clients, all members of one group: each shows its conversations and the group. */
import { type Client, createClient, type View } from '@hermod/client/node'

/** Message to the process of the clients. */
export interface ClientsOrder {
  readonly url: string
  readonly appId: string
  readonly tokens: readonly string[]
  /** The group that is shown; absent: only the conversations. */
  readonly groupId?: number
  /** Sends one message after another to each of these users. */
  readonly sendTo?: readonly number[]
}

/** Later order: the messages of the group come on all screens, or leave them. */
export type ScreenOrder = 'show' | 'hide'

/**
 * - `online`: all clients are connected and current
 * - `shown`: a {@link ScreenOrder} is done
 * - `sent`: the times of the sends, milliseconds
 */
export type ClientsAnswer =
  | { readonly type: 'online' }
  | { readonly type: 'shown' }
  | { readonly type: 'sent'; readonly ms: readonly number[] }
  | { readonly type: 'failed'; readonly error: string }

const openingAtOnce = 20

process.once('message', async (order: ClientsOrder) => {
  try {
    const clients = await openAll(order)
    answer({ type: 'online' })
    const [first] = clients
    const { groupId } = order
    if (groupId !== undefined) followScreens(clients, groupId)
    if (first && order.sendTo) answer({ type: 'sent', ms: await sendToEach(first, order.sendTo) })
  } catch (error) {
    answer({ type: 'failed', error: (error as Error).stack ?? String(error) })
  }
})

// The parent process has ended or needs no more clients.
process.once('disconnect', () => process.exit())

function answer(message: ClientsAnswer): void {
  process.send?.(message)
}

async function openAll({ url, appId, tokens, groupId }: ClientsOrder): Promise<Client[]> {
  const clients: Client[] = []
  const waiting = tokens.values()
  const open = async () => {
    for (const token of waiting) {
      const client = createClient({ url, appId, token: () => token })
      clients.push(client)
      client.conversations.subscribe(() => {})
      client.contacts.list.subscribe(() => {})
      if (groupId !== undefined) client.group(groupId).info.subscribe(() => {})
      // A client that does not come through tries again by itself.
      client.connect().catch(() => {})
      await until(client.connection, ({ state }) => state === 'online')
    }
  }
  await Promise.all(Array.from({ length: openingAtOnce }, open))
  return clients
}

function followScreens(clients: readonly Client[], groupId: number): void {
  let hide: (() => void)[] = []
  process.on('message', async (order: ScreenOrder) => {
    for (const end of hide) end()
    hide = []
    if (order === 'show')
      for (const client of clients) {
        const { messages } = client.group(groupId).conversation
        hide.push(messages.subscribe(() => {}))
        await until(messages, ({ isLoading }) => !isLoading)
      }
    answer({ type: 'shown' })
  })
}

/** Sends to one conversation after another: each message moves its conversation to the top. */
async function sendToEach(client: Client, userIds: readonly number[]): Promise<number[]> {
  const times: number[] = []
  for (const userId of userIds) {
    const conversation = client.direct(userId)
    const start = performance.now()
    const key = await conversation.send('hello')
    await until(
      conversation.summary,
      ({ lastMessage }) => lastMessage?.key === key && lastMessage.status !== 'sending',
    )
    times.push(performance.now() - start)
  }
  return times
}

function until<T>(view: View<T>, isReached: (value: T) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!isReached(view.getSnapshot())) return
      unsubscribe()
      resolve()
    }
    const unsubscribe = view.subscribe(look)
    look()
  })
}
