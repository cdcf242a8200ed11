/** Sends a message from one user to another with the installed packages. Prints the text that arrives. */
import { createClient, logIn } from '@hermod/client'
import { errorCatalogue, operations } from '@hermod/protocol'
import service from './service.json' with { type: 'json' }

const password = 'change-me-soon'

async function join(username: string) {
  await fetch(`${service.url}/user/register/v2`, {
    method: 'POST',
    headers: { app_id: service.appId, 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  })
  const { token, userId } = await logIn(service, { username, password })
  const client = createClient({ ...service, userId, token: () => token })
  await client.connect()
  return { client, userId }
}

if (operations.length === 0 || errorCatalogue.user_not_found === undefined)
  throw new Error('the protocol is empty')
const alice = await join('alice')
const bob = await join('bob')
const text = new Promise<string>((resolve) => {
  bob.client.onMessage((message) => resolve(message.text))
})
await alice.client.direct(bob.userId).send('Hello Bob')
console.log(await text)
await alice.client.close()
await bob.client.close()
