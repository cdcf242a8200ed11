/** The client: first screen, applied messages and memory in Chromium, and the sizes of its entries. */
import { findChromium } from '@hermod/testkit'
import type { Builds, Storage, StoredServer } from '../measure/build.js'
import { type Ratio, spreadOf } from '../measure/statistics.js'
import { createImportedUsers, lists } from '../population/imported-users.js'
import type { DatabaseName } from '../scenarios/scenario.js'
import { type EntrySize, entrySizes } from './bundles.js'
import type { PageOptions } from './page.js'
import { BenchPages } from './pages.js'
import { messageFrames, ReplayGateway, replayUserId } from './replay-gateway.js'

/** Size of the set `client`. */
export interface ClientEffort {
  /** Conversations of the user with many. */
  readonly conversations: number
  readonly messages: number
}

/** Figures of a page, each with its spread over the rounds. */
export interface BrowserFigures {
  readonly version: string
  /** Milliseconds from the navigation to the first frame of a page without a client. */
  readonly barePageMs: Ratio
  /** Milliseconds from the navigation to the first message on the screen. */
  readonly screenFromStoreMs: Ratio
  readonly screenFromNothingMs: Ratio
  /** Milliseconds from the first of the messages until all are in the store and counted. */
  readonly appliedInMemoryMs: Ratio
  readonly appliedInIndexedDbMs: Ratio
  /** Milliseconds from `connect` until the list is complete. */
  readonly listMs: Ratio
  /** JavaScript heap of the page with many conversations, without that of a page with none. */
  readonly heapBytes: Ratio
}

/** Sizes of the client's bundles, and times of its pages. */
export interface ClientFigures extends ClientEffort {
  readonly database: DatabaseName
  readonly sizes: readonly EntrySize[]
  /** Null: Chromium was not found. */
  readonly browser: BrowserFigures | null
}

const screenConversations = 100
const messagesOfConversation = 30
const replayUsers = 100
const textBytes = 100

/** @param onProgress reports progress */
export async function measureClient(
  storage: Storage,
  [build]: Builds,
  { conversations, messages, rounds }: ClientEffort & { readonly rounds: number },
  onProgress: (text: string) => void,
): Promise<ClientFigures[]> {
  onProgress('client: sizes')
  const sizes = await entrySizes()
  const chromium = findChromium()
  const figures = { database: storage.name, conversations, messages, sizes }
  if (chromium === null) return [{ ...figures, browser: null }]
  await using pages = await BenchPages.start(chromium)
  await using server = await storage.start(build)
  onProgress(`client: ${conversations} conversations`)
  const users = await makeUsers(server, conversations)
  const screens: number[][] = []
  const applied: number[][] = []
  const listed: number[][] = []
  for (let round = 0; round < rounds; round++) {
    onProgress(`client: round ${round + 1} of ${rounds}`)
    screens.push(await measureScreens(pages, users.some))
    const gateway = { messages, appId: server.process.appId }
    applied.push([
      await measureApplied(pages, { ...gateway, storage: 'memory' }),
      await measureApplied(pages, { ...gateway, storage: 'durable' }),
    ])
    listed.push(await measureList(pages, users, conversations))
  }
  const spread = (rows: readonly number[][], column: number) =>
    spreadOf(rows.map((row) => row[column] ?? Number.NaN))
  const browser = {
    version: pages.version,
    barePageMs: spread(screens, 0),
    screenFromNothingMs: spread(screens, 1),
    screenFromStoreMs: spread(screens, 2),
    appliedInMemoryMs: spread(applied, 0),
    appliedInIndexedDbMs: spread(applied, 1),
    listMs: spread(listed, 0),
    heapBytes: spread(listed, 1),
  }
  return [{ ...figures, browser }]
}

/** Returns a user with a new token, since a token belongs to the first device that uses it. */
type NewLogin = () => Promise<PageOptions>

interface Users {
  readonly none: NewLogin
  readonly some: NewLogin
  readonly many: NewLogin
}

/** Users without conversations, with some long ones, and with many of one message. */
async function makeUsers({ process }: StoredServer, conversations: number): Promise<Users> {
  const { api, appId, url } = process
  const operator = api.as(process.operatorToken)
  const ids = await createImportedUsers(operator, appId, 'client', conversations + 3)
  const [none, some, many, ...peers] = ids as [number, number, number, ...number[]]
  for (const targets of lists(peers)) {
    const body = { type: 1, targets, content_type: 0, content: 'x'.repeat(textBytes) }
    await api.admin({ userId: many }).succeed('POST', '/message/send', { body })
  }
  for (const peer of peers.slice(0, screenConversations)) {
    const sender = api.admin({ userId: peer })
    const texts = Array.from({ length: messagesOfConversation }, (_, index) => `message ${index}`)
    for (const content of texts) {
      const body = { type: 1, targets: [some], content_type: 0, content }
      await sender.succeed('POST', '/message/send', { body })
    }
  }
  const logInOf = (userId: number) => async (): Promise<PageOptions> => {
    const token = (await api.options.issueToken?.(appId, userId)) ?? ''
    return { url, appId, userId, token, storage: 'durable' }
  }
  return { none: logInOf(none), some: logInOf(some), many: logInOf(many) }
}

/** @returns milliseconds of a bare page, from nothing, and from the store without a connection */
async function measureScreens(pages: BenchPages, logIn: NewLogin): Promise<number[]> {
  const user = await logIn()
  const profile = await pages.newProfile()
  try {
    const bare = await (await pages.open(profile, 'bare')).call('firstScreenMs')
    const first = await pages.open(profile, user)
    const fromNothing = await first.call('firstScreenMs')
    await first.call('close')
    await first.close()
    const second = await pages.open(profile, { ...user, token: '' })
    return [bare, fromNothing, await second.call('firstScreenMs')]
  } finally {
    await profile.close()
  }
}

async function measureApplied(
  pages: BenchPages,
  { messages, ...options }: Pick<PageOptions, 'appId' | 'storage'> & { readonly messages: number },
): Promise<number> {
  const frames = messageFrames(messages, replayUsers, textBytes)
  await using gateway = await ReplayGateway.start(replayUsers)
  const profile = await pages.newProfile()
  try {
    const page = await pages.open(profile)
    const { url } = gateway
    await page.call('connect', { ...options, url, userId: replayUserId, token: 'replay' })
    await page.call('watch', messages)
    gateway.play(frames)
    return await page.call('appliedMs')
  } finally {
    await profile.close()
  }
}

/** @returns milliseconds until the list is complete, and its bytes */
async function measureList(
  pages: BenchPages,
  { none, many }: Users,
  conversations: number,
): Promise<number[]> {
  const empty = await listOf(pages, none, 0)
  const full = await listOf(pages, many, conversations)
  return [full.ms, full.bytes - empty.bytes]
}

async function listOf(pages: BenchPages, logIn: NewLogin, conversations: number) {
  const profile = await pages.newProfile()
  try {
    const page = await pages.open(profile)
    const connected = await page.call('connect', await logIn())
    const listed = await page.call('listed', conversations)
    return { ms: connected + listed, bytes: await page.heapBytes() }
  } finally {
    await profile.close()
  }
}
