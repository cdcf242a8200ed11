/**
 * What a client leaves in a browser: never a token, one database for each user, and nothing after a
 * logout.
 */
import { type ServerProcess, type Session, startServer, waitFor } from '@hermod/testkit'
import { IDBFactory, IDBKeyRange } from 'fake-indexeddb'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Client, ClientOptions } from '../src/api.js'
import { createClientWith } from '../src/create-client.js'
import { nodePorts } from '../src/node/node-ports.js'
import { systemClock } from '../src/runtime/system-clock.js'
import { indexedDbStores } from '../src/stores/indexed-db-store.js'

let server: ServerProcess
const clients: Client[] = []

beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server?.[Symbol.asyncDispose]())
afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())))

function aBrowser() {
  const browser = { indexedDB: new IDBFactory(), IDBKeyRange }
  const ports = { ...nodePorts, openStore: indexedDbStores(systemClock, browser) }
  const open = ({ id, token }: Session, options: Partial<ClientOptions> = {}) => {
    const { url, appId } = server
    const own = { url, appId, userId: id, token: () => token, storage: 'durable' as const }
    const client = createClientWith({ ...own, ...options }, ports)
    clients.push(client)
    return client
  }
  return { ...browser, open }
}

/** Everything that the databases of a browser hold, as text. */
async function dump({ indexedDB }: { readonly indexedDB: IDBFactory }): Promise<string[]> {
  const texts: string[] = []
  for (const { name = '' } of await indexedDB.databases()) {
    const database = await result(indexedDB.open(name))
    const rows: unknown[] = [name]
    for (const table of database.objectStoreNames) {
      const store = database.transaction(table).objectStore(table)
      rows.push(await result(store.getAllKeys()), await result(store.getAll()))
    }
    database.close()
    texts.push(JSON.stringify(rows))
  }
  return texts.toSorted()
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

it('no token is stored, reported, or in an address of another service', async () => {
  const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
  const browser = aBrowser()
  const reported: unknown[] = []
  let asked = 0
  const client = browser.open(alice, {
    token: () => (asked++ === 0 ? 'refused-secret' : alice.token),
    onError: (error) => reported.push(error),
  })
  const states: unknown[] = []
  client.connection.subscribe(() => states.push(client.connection.getSnapshot()))
  client.conversations.subscribe(() => {})
  client.profile.subscribe(() => {})
  client.user(bob.id).subscribe(() => {})
  const conversation = client.direct(bob.id)
  conversation.messages.subscribe(() => {})
  await client.connect()
  await conversation.send({ file: new Blob(['a text']), fileName: 'note.txt' })
  await waitFor(() => (conversation.messages.getSnapshot().messages.at(-1)?.id ?? 0) > 0, {
    what: 'the sent file',
    timeoutMs: 10_000,
  })
  const refusal = await client.call('group.info', { group_id: 7 }).catch((error: unknown) => error)
  const { attachment } = conversation.messages.getSnapshot().messages.at(-1) ?? {}
  expect(client.fileUrl(attachment?.url ?? '')).toContain(alice.token)
  expect(client.fileUrl('https://other.example/file.png')).toBe('https://other.example/file.png')
  const [stored = ''] = await dump(browser)
  expect(stored).toContain('note.txt')
  expect(reported).toEqual([])
  for (const text of [stored, JSON.stringify([states, String(refusal), refusal])])
    for (const token of [alice.token, 'refused-secret']) expect(text).not.toContain(token)
})

it('two users, and two applications, of one browser have databases of their own', async () => {
  const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
  const browser = aBrowser()
  const [one, two] = [browser.open(alice), browser.open(bob)]
  await Promise.all([one.connect(), two.connect()])
  const other = browser.open(alice, { appId: 'other' })
  await expect(other.connect()).rejects.toMatchObject({ name: 'app_not_found' })
  await one.direct(bob.id).send('from alice')
  expect(await dump(browser)).toHaveLength(3)
  await two.logOut()
  const left = await dump(browser)
  expect(left).toHaveLength(2)
  expect(left.join()).toContain(`,${alice.id}]`)
  expect(left.join()).not.toContain(`,${bob.id}]`)
})

it('a logout deletes what is stored, also offline, after a close and a second time', async () => {
  const alice = await server.api.newSession()
  const browser = aBrowser()
  const offline = browser.open(alice, { url: 'http://127.0.0.1:1' })
  await offline.direct(7).send('never sent')
  expect((await dump(browser)).join()).toContain('never sent')
  await offline.logOut()
  expect(await dump(browser)).toEqual([])
  const client = browser.open(alice)
  await client.connect()
  await client.close()
  await client.close()
  expect(await dump(browser)).toHaveLength(1)
  await client.logOut()
  await client.logOut()
  expect(await dump(browser)).toEqual([])
  await expect(client.connect()).rejects.toMatchObject({ name: 'closed' })
})
