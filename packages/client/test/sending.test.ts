import { type ServerProcess, startServer, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client, Conversation, Message, View } from '../src/api.js'
import { createClient } from '../src/node.js'

/** Waits for a state of a view, which stays subscribed until then. */
async function until<T>(view: View<T>, isReached: (value: T) => boolean): Promise<T> {
  const unsubscribe = view.subscribe(() => {})
  try {
    return await waitFor(() => isReached(view.getSnapshot()) && view.getSnapshot(), {
      what: 'a state of a view',
      timeoutMs: 15_000,
    })
  } catch (error) {
    throw new Error(`the view is ${JSON.stringify(view.getSnapshot())}`, { cause: error })
  } finally {
    unsubscribe()
  }
}

describe('messages that are sent to a real server', () => {
  let server: ServerProcess
  const clients: Client[] = []

  beforeAll(async () => {
    // Behind a proxy the service may know another address of itself than its clients have.
    server = await startServer({ env: { HERMOD_PUBLIC_URL: 'http://127.0.0.1:1' } })
  })
  afterAll(async () => {
    for (const client of clients) await client.close()
    await server?.[Symbol.asyncDispose]()
  })

  async function newUser(guid?: string) {
    const { id, token } = await server.api.newSession()
    const options = { url: server.url, appId: server.appId, token: () => token }
    const client = createClient({ ...options, ...(guid && { deviceGuid: guid }) })
    clients.push(client)
    await client.connect()
    return { id, token, client }
  }

  /** Waits until a conversation shows one message that the server has, and returns it. */
  async function untilSent(conversation: Conversation, text: string): Promise<Message> {
    const { messages } = await until(conversation.messages, ({ messages }) =>
      messages.some((each) => each.text === text && each.id > 0 && each.status !== 'unknown'),
    )
    const found = messages.filter((each) => each.text === text)
    expect(found).toHaveLength(1)
    return found[0] as Message
  }

  it('have a file, which the other user can fetch, though tickets and links name another address', async () => {
    const [alice, bob] = [await newUser(), await newUser()]
    const file = new Blob(['five!'], { type: 'text/plain' })
    const draft = { text: 'a file', file, fileName: 'five.txt', attachment: { note: 'mine' } }
    const key = await alice.client.direct(bob.id).send(draft)
    const sent = await untilSent(alice.client.direct(bob.id), 'a file')
    expect(sent.key).toBe(key)
    const { attachment } = await untilSent(bob.client.direct(alice.id), 'a file')
    expect(attachment).toMatchObject({ name: 'five.txt', size: 5, note: 'mine' })
    const answer = await fetch(bob.client.fileUrl(attachment?.url ?? '') ?? '')
    expect(await answer.text()).toBe('five!')
  })

  it('fail when the other user has blocked the sender, and are sent again after that', async () => {
    const [alice, bob] = [await newUser(), await newUser()]
    await bob.client.contacts.block(alice.id)
    const conversation = alice.client.direct(bob.id)
    const key = await conversation.send('are you there?')
    await conversation.send('hello?')
    const { messages } = await until(conversation.messages, ({ messages }) =>
      messages.every(({ status }) => status === 'failed'),
    )
    expect(messages.map(({ failure }) => failure?.name)).toEqual([
      'blocked_by_recipient',
      'blocked_by_recipient',
    ])
    await bob.client.contacts.unblock(alice.id)
    await conversation.retry(key)
    await untilSent(alice.client.direct(bob.id), 'are you there?')
  })

  it('stay unsent while the service is in maintenance, and are sent once by themselves after it', async () => {
    const [alice, bob] = [await newUser(), await newUser()]
    const operator = server.api.as(server.operatorToken)
    await operator.succeed('POST', '/operator/v1/maintenance/on', { body: { text: 'moving' } })
    const conversation = alice.client.direct(bob.id)
    await conversation.send('one')
    await conversation.send('two')
    await until(alice.client.direct(bob.id).messages, ({ messages }) => messages.length === 2)
    // The first refusal has come.
    await expect(
      alice.client.call('user.nickname.update', { nick_name: 'x' }),
    ).rejects.toMatchObject({ code: 50300 })
    expect(conversation.messages.getSnapshot().messages.map(({ status }) => status)).not.toContain(
      'failed',
    )
    await operator.succeed('POST', '/operator/v1/maintenance/off')
    for (const text of ['one', 'two']) {
      await untilSent(conversation, text)
      await untilSent(bob.client.direct(alice.id), text)
    }
  })

  it('appear once in a group of which no events come', async () => {
    const [alice, bob] = [await newUser(), await newUser()]
    const group = await alice.client.groups.create({ name: 'quiet', userIds: [bob.id] })
    const conversation = alice.client.group(group).conversation
    await until(conversation.summary, ({ title }) => title === 'quiet')
    await alice.client.call('group.msg.mute_mode', { group_id: group, msg_mute_mode: 2 })
    await until(conversation.summary, ({ isMuted }) => isMuted)
    const key = await conversation.send('one')
    await conversation.send('two')
    await untilSent(conversation, 'two')
    expect((await untilSent(conversation, 'one')).key).toBe(key)
    await untilSent(bob.client.group(group).conversation, 'one')
  })

  it('are delivered once the other device has stored them; typing and presence are shown', async () => {
    const [alice, bob] = [await newUser(), await newUser('device of bob')]
    await alice.client.contacts.add(bob.id)
    const ofAlice = alice.client.direct(bob.id)
    const ofBob = bob.client.direct(alice.id)
    await ofAlice.send('hello')
    await until(ofAlice.messages, ({ messages }) => messages[0]?.status === 'delivered')
    await until(ofAlice.summary, ({ isOnline }) => isOnline)
    ofBob.typing()
    await until(ofAlice.summary, ({ typing }) => typing.includes(bob.id))
    await ofBob.send('hi')
    await until(ofAlice.summary, ({ typing }) => typing.length === 0)
    await untilSent(alice.client.direct(bob.id), 'hi')
  })
})
