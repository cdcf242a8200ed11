import { spawnSync } from 'node:child_process'
import { freePort, type ServerProcess, startServer, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client, ClientOptions, Message, View } from '../src/api.js'
import { createClient, logIn } from '../src/node.js'
import { FaultyProxy } from './support/bad-server.js'

const timeoutMs = 20_000

/** Waits for a state of a view, which stays subscribed until then. */
async function until<T>(view: View<T>, isReached: (value: T) => boolean): Promise<T> {
  const unsubscribe = view.subscribe(() => {})
  try {
    return await waitFor(() => isReached(view.getSnapshot()) && view.getSnapshot(), {
      what: 'a state of a view',
      timeoutMs,
    })
  } catch (error) {
    throw new Error(`the view is ${JSON.stringify(view.getSnapshot())}`, { cause: error })
  } finally {
    unsubscribe()
  }
}

const texts = (messages: readonly Message[]) => messages.map(({ text }) => text)

describe('clients in Node and a real server', () => {
  let server: ServerProcess
  const clients: Client[] = []

  beforeAll(async () => {
    server = await startServer({ port: await freePort() })
  })
  afterAll(async () => {
    for (const client of clients) await client.close()
    await server?.[Symbol.asyncDispose]()
  })

  function newClient(token: ClientOptions['token'], options: Partial<ClientOptions> = {}): Client {
    const client = createClient({ url: server.url, appId: server.appId, token, ...options })
    clients.push(client)
    return client
  }

  async function newUser(): Promise<{ id: number; token: string; client: Client }> {
    const { id, token } = await server.api.newSession()
    const client = newClient(() => token)
    await client.connect()
    return { id, token, client }
  }

  async function twoContacts() {
    const [alice, bob] = [await newUser(), await newUser()]
    await alice.client.contacts.add(bob.id)
    return { alice, bob }
  }

  /** Waits until both users see the same texts. */
  async function untilBothSee(
    { alice, bob }: Awaited<ReturnType<typeof twoContacts>>,
    expected: readonly string[],
  ): Promise<void> {
    const isEqual = ({ messages }: { messages: readonly Message[] }) =>
      JSON.stringify(texts(messages)) === JSON.stringify(expected) &&
      messages.every(({ id }) => id > 0)
    await until(alice.client.direct(bob.id).messages, isEqual)
    await until(bob.client.direct(alice.id).messages, isEqual)
  }

  it('send and receive', async () => {
    const users = await twoContacts()
    const { alice, bob } = users
    expect(alice.client.userId).toBe(alice.id)
    await alice.client.direct(bob.id).send('hello')
    await untilBothSee(users, ['hello'])
    await bob.client.direct(alice.id).send('hi')
    await untilBothSee(users, ['hello', 'hi'])
    await bob.client.direct(alice.id).markRead()
    await until(alice.client.direct(bob.id).messages, ({ messages }) =>
      messages.some(({ status, text }) => status === 'read' && text === 'hello'),
    )
  })

  it('come back after kill -9 of the server, and send what was written meanwhile', async () => {
    const users = await twoContacts()
    const { alice, bob } = users
    await alice.client.direct(bob.id).send('before')
    await untilBothSee(users, ['before'])
    await server.kill9()
    await until(alice.client.connection, ({ state }) => state === 'offline')
    await alice.client.direct(bob.id).send('while it is down')
    server = await server.startAgain()
    // Each would come back by itself; a call of connect does not wait for that.
    await Promise.all([alice.client.connect(), bob.client.connect()])
    await untilBothSee(users, ['before', 'while it is down'])
    await bob.client.direct(alice.id).send('after')
    await untilBothSee(users, ['before', 'while it is down', 'after'])
  })

  it('are one connection, however often they connect', async () => {
    const { token } = await server.api.newSession()
    let asked = 0
    const client = newClient(() => {
      asked++
      return token
    })
    await Promise.all([client.connect(), client.connect(), client.connect()])
    await client.connect()
    expect(asked).toBe(1)
    client.disconnect()
    expect(client.connection.getSnapshot()).toEqual({ state: 'idle' })
    await client.connect()
    expect(client.connection.getSnapshot()).toEqual({ state: 'online' })
  })

  it('end when the token is not valid, and connect with another one', async () => {
    const { token } = await server.api.newSession()
    let current = 'hmu_wrong'
    const requests: boolean[] = []
    const client = newClient(({ isRefused }) => {
      requests.push(isRefused)
      return current
    })
    await expect(client.connect()).rejects.toMatchObject({ name: 'token_invalid' })
    expect(requests).toEqual([false, true])
    current = token
    await client.connect()
    expect(client.connection.getSnapshot()).toEqual({ state: 'online' })
  })

  it('tell the token function their device, whose token an app server can issue', async () => {
    const { id } = await server.api.newSession()
    const issueFor = async (device_guid: string | null) => {
      const body = { user_id: id, device_guid }
      return (await server.api.admin().succeed('POST', '/token/issue', { body })).data.token
    }
    const client = newClient(({ deviceGuid }) => issueFor(deviceGuid), { deviceGuid: 'a phone' })
    await client.connect()
    const without = newClient(({ deviceGuid }) => String(deviceGuid), { deviceGuid: null })
    await expect(without.connect()).rejects.toMatchObject({ name: 'token_invalid' })
    const other = newClient(() => issueFor('another phone'), { deviceGuid: 'a tablet' })
    await expect(other.connect()).rejects.toMatchObject({ name: 'wrong_user' })
  })

  it('end when the token function cannot log in, and not when it cannot reach the service', async () => {
    const { username } = await server.api.register()
    const service = { url: server.url, appId: server.appId }
    const wrong = { username, password: 'not the password' }
    const client = newClient(async () => (await logIn(service, wrong)).token)
    await expect(client.connect()).rejects.toMatchObject({ name: 'password_incorrect' })
    const offline = newClient(() => Promise.reject(new Error('no network')))
    offline.connect().catch(() => {})
    const { failure } = await until(offline.connection, ({ state }) => state === 'offline')
    expect(failure).toMatchObject({ name: 'token_failed', message: 'no network', retry: true })
  })

  it('end as wrong_user when the token is of another user than the app has named', async () => {
    const [{ token }, other] = [await server.api.newSession(), await server.api.newSession()]
    const client = newClient(() => token, { userId: other.id })
    await expect(client.connect()).rejects.toMatchObject({ name: 'wrong_user' })
  })

  it('end with the reason when the server kicks them', async () => {
    const { token } = await server.api.newSession()
    const client = newClient(() => token)
    await client.connect()
    await server.api.as(token).succeed('POST', '/user/kick', { body: {} })
    const { end } = await until(client.connection, ({ state }) => state === 'ended')
    expect(end).toMatchObject({ name: 'kicked', retry: false })
  })

  it('with an Admin token act for a user, without a device', async () => {
    const user = await newUser()
    const bot = await server.api.newSession()
    const client = newClient(() => server.adminToken, { userId: bot.id })
    await client.connect()
    expect(client.userId).toBe(bot.id)
    await client.contacts.add(user.id)
    await client.direct(user.id).send('from the bot')
    await until(user.client.direct(bot.id).messages, ({ messages }) =>
      texts(messages).includes('from the bot'),
    )
    await user.client.direct(bot.id).send('to the bot')
    await until(client.direct(user.id).messages, ({ messages }) =>
      texts(messages).includes('to the bot'),
    )
  })

  it('with an Admin token and no user are refused with the reason', async () => {
    const client = newClient(() => server.adminToken)
    await expect(client.connect()).rejects.toMatchObject({ retry: false })
  })

  it('of one device are one session: the later stays, the former ends and stays away', async () => {
    const { token } = await server.api.newSession()
    const first = newClient(() => token, { deviceGuid: 'phone' })
    const second = newClient(() => token, { deviceGuid: 'phone' })
    await first.connect()
    await second.connect()
    const { end } = await until(first.connection, ({ state }) => state === 'ended')
    expect(end).toMatchObject({ name: 'replaced', retry: false })
    expect(second.connection.getSnapshot()).toEqual({ state: 'online' })
  })

  it('end up with everything when events are lost, repeated and mixed with unknown ones', async () => {
    const { alice, bob } = await twoContacts()
    let stored = 0
    const isStored = (text: string) => text.startsWith('{"event":"message.stored"')
    await using proxy = await FaultyProxy.start(server.url, (text) => {
      if (!isStored(text)) return [text, '{"event":"future","data":{}}']
      const isLost = ++stored % 3 === 1 && !text.includes('the end')
      return isLost ? [] : [text, text, '{"id":999,"code":200,"data":1}']
    })
    const client = newClient(() => bob.token, { url: proxy.url })
    await client.connect()
    const sent = Array.from({ length: 20 }, (_, i) => `number ${i}`).concat('the end')
    for (const text of sent) await alice.client.direct(bob.id).send(text)
    await until(
      client.direct(alice.id).messages,
      ({ messages }) => JSON.stringify(texts(messages)) === JSON.stringify(sent),
    )
    expect(client.direct(alice.id).summary.getSnapshot().unread).toBe(sent.length)
  })

  it('name what an older server cannot do, and do everything else', async () => {
    const { alice, bob } = await twoContacts()
    for (let i = 0; i < 15; i++) await alice.client.direct(bob.id).send(`number ${i}`)
    await until(alice.client.direct(bob.id).messages, ({ messages }) =>
      messages.slice(-1).some(({ status, text }) => status === 'sent' && text === 'number 14'),
    )
    await using proxy = await FaultyProxy.start(
      server.url,
      (text) => [text],
      (text) => text.replace('"message.history"', '"message.future"'),
    )
    const client = newClient(() => bob.token, { url: proxy.url })
    await client.connect()
    const conversation = client.direct(alice.id)
    await expect(conversation.messages.loadOlder({ limit: 100 })).rejects.toMatchObject({
      name: 'operation_unknown',
      retry: false,
    })
    await conversation.send('written all the same')
    await until(conversation.messages, ({ messages }) =>
      messages.some(({ id, isOwn }) => id > 0 && isOwn),
    )
  })

  it('let the process end once they are closed', async () => {
    const { token } = await server.api.newSession()
    const options = JSON.stringify({ url: server.url, appId: server.appId })
    const script = `
      import { createClient } from '@hermod/client/node'
      const client = createClient({ ...${options}, token: () => ${JSON.stringify(token)} })
      await client.connect()
      await client.close()`
    const args = ['--input-type=module', '-e', script]
    const { status, stderr } = spawnSync(process.execPath, args, { timeout: timeoutMs })
    expect(String(stderr)).toBe('')
    expect(status).toBe(0)
  })
})
