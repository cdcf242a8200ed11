/// <reference lib="dom" />
/**
 * The page of the client's benchmark. `bundles.ts` bundles it, and `pages.ts` calls its functions
 * in Chromium.
 */
import { type Client, createClient, type View } from '@hermod/client'

/** The user of a page, and how its client works. */
export interface PageOptions {
  readonly url: string
  readonly appId: string
  readonly userId: number
  readonly token: string
  readonly storage: 'durable' | 'memory'
}

/** Functions of the page, as the global `bench`. */
export interface BenchPage {
  /** NaN for a page without options. */
  firstScreenMs(): Promise<number>
  connect(options: PageOptions): Promise<number>
  /** Watches for the first new message, and for the state with as many unread ones. */
  watch(messages: number): void
  /** Returns the time between the two. */
  appliedMs(): Promise<number>
  listed(conversations: number): Promise<number>
  close(): Promise<void>
}

let client: Client | undefined
let applied: Promise<number> | undefined

function makeClient({ token, ...options }: PageOptions): Client {
  // Without a token there is no connection: what the page shows is stored.
  client = createClient({
    ...options,
    token: () => (token === '' ? new Promise<string>(() => {}) : token),
  })
  return client
}

function until<T>(view: View<T>, isReached: (value: T) => boolean): Promise<number> {
  return new Promise((resolve) => {
    const check = () => {
      if (!isReached(view.getSnapshot())) return
      end()
      resolve(performance.now())
    }
    const end = view.subscribe(check)
    queueMicrotask(check)
  })
}

/** Returns when the next frame is on the screen, in milliseconds since the navigation began. */
function painted(): Promise<number> {
  return new Promise((resolve) =>
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = () => resolve(performance.now())
      port2.postMessage(null)
    }),
  )
}

/** The list of conversations, and the messages of the newest one, as an app shows them. */
async function showScreen(options: PageOptions): Promise<number> {
  const { conversations, ...shown } = makeClient(options)
  void shown.connect().catch(() => {})
  await until(conversations, (list) => list.conversations.length > 0)
  const list = conversations.getSnapshot().conversations
  element('list').replaceChildren(
    ...list.slice(0, 20).map(({ title, id }) => item(title || `${id}`)),
  )
  const [newest] = list
  if (!newest) throw new Error('no conversation')
  const { messages } = shown.conversation(newest)
  await until(messages, (loaded) => loaded.messages.length > 0)
  const texts = messages.getSnapshot().messages.map(({ text }) => item(text))
  element('messages').replaceChildren(...texts)
  return painted()
}

function item(text: string): HTMLLIElement {
  const made = document.createElement('li')
  made.textContent = text
  return made
}

function element(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (!found) throw new Error(`the page has no #${id}`)
  return found
}

// The options of a screen stand in the address, so that it begins with the page, as an app does.
const [, screenOptions] = location.hash.split('#')
const screen = screenOptions ? showScreen(JSON.parse(decodeURIComponent(screenOptions))) : undefined

const bench: BenchPage = {
  firstScreenMs: async () => (await screen) ?? Number.NaN,
  async connect(options) {
    const begun = performance.now()
    await makeClient(options).connect()
    return performance.now() - begun
  },
  watch(messages) {
    const first = new Promise<number>((resolve) => {
      const end = current().on('message.stored', () => {
        end()
        resolve(performance.now())
      })
    })
    const all = until(current().conversations, ({ unread }) => unread >= messages)
    applied = Promise.all([first, all]).then(([begun, reached]) => reached - begun)
  },
  appliedMs: async () => (await applied) ?? Number.NaN,
  async listed(conversations) {
    const begun = performance.now()
    const isListed = (list: { conversations: readonly unknown[]; isComplete: boolean }) =>
      list.isComplete && list.conversations.length >= conversations
    return (await until(current().conversations, isListed)) - begun
  },
  async close() {
    await client?.close()
  },
}
Object.assign(globalThis, { bench })

function current(): Client {
  if (!client) throw new Error('connect first')
  return client
}
