/** Texts of deleted users in events that wait for an endpoint. */
import { anyBackend, waitFor } from '@hermod/testkit'
import { WebhookReceiver } from '@hermod/testkit/webhooks'
import { expect, it } from 'vitest'
import { InProcessServer } from '../support/in-process-server.js'

const patience = { what: 'the state', timeoutMs: 20_000 }

for (const backend of anyBackend())
  it(`a deleted user: the text is not stored when an event is refused after the deletion, on ${backend.name}`, async () => {
    await using server = await InProcessServer.start(backend, {
      HERMOD_OUTBOUND_ALLOW: '127.0.0.1',
    })
    await using receiver = await WebhookReceiver.start({ verify: () => {} })
    const count = async (statement: string) =>
      Number((await server.sql.run(`select count(*) as count from ${statement}`))[0]?.count)
    const ann = await server.api.newSession()
    let answer = () => {}
    const mayAnswer = new Promise<void>((resolve) => {
      answer = resolve
    })
    receiver.answer = () => mayAnswer.then(() => ({ status: 404 }))
    const body = { url: receiver.url, kinds: ['user.info_updated'] }
    await server.api.admin().succeed('POST', '/app/webhook/create', { body })
    const profile = { nick_name: 'Annabel' }
    await ann.api.succeed('POST', '/user/profile', { body: profile })
    await waitFor(() => receiver.requests === 1, patience)
    expect(await count("outbox where payload like '%Annabel%'")).toBe(1)

    await server.api.admin({ userId: ann.id }).succeed('POST', '/user/delete', { body: {} })
    await waitFor(async () => (await count("jobs where outcome = ''")) === 0, patience)
    server.clock.set(Date.now() + 5_000)
    answer()
    await waitFor(async () => (await count('webhook_events')) === 1, patience)
    expect(await count("webhook_events where payload like '%Annabel%'")).toBe(0)
    expect(await count("outbox where payload like '%Annabel%'")).toBe(0)
  })
