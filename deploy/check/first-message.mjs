/** A first message by the client, its history, and a picture. */
import { createClient, logIn } from '../../packages/client/dist/node.js'
import { must } from './tools.mjs'

const password = 'change-me-soon'

/** One red dot. */
const picture = Buffer.from(
  'R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==',
  'base64',
)

/**
 * Makes two users and sends a message from one to the other.
 *
 * @param service `{ url, appId }`
 * @returns what `messageIsThere` needs
 */
export async function firstMessage(service, names = ['alice', 'bob']) {
  const [alice, bob] = await Promise.all(names.map((username) => join(service, username)))
  const text = new Promise((resolve) => {
    bob.client.onMessage((message) => resolve(message.text))
  })
  await alice.client.direct(bob.userId).send('Hello Bob')
  must((await text) === 'Hello Bob', 'the message did not arrive')
  await sendPicture(service, { token: alice.token, to: bob.userId })
  await Promise.all([alice.client.close(), bob.client.close()])
  return { ...service, users: [alice.userId, bob.userId], reader: names[1] }
}

/** Logs in anew and reads the stored message. */
export async function messageIsThere({ users, reader, ...service }) {
  const { token } = await logIn(service, { username: reader, password })
  const [low, high] = users.map(BigInt).toSorted((a, b) => (a < b ? -1 : 1))
  const body = `{"log":{"low_id":${low},"high_id":${high},"is_group":false}}`
  const text = await call(service, '/message/history', { token, body })
  must(text.includes('Hello Bob'), `the message is not in the history: ${text}`)
}

async function join(service, username) {
  await call(service, '/user/register/v2', { body: JSON.stringify({ username, password }) })
  const { token, userId } = await logIn(service, { username, password })
  const client = createClient({ ...service, userId, token: () => token })
  await client.connect()
  return { client, userId, token }
}

/** Uploads a picture and fetches its thumbnail. */
async function sendPicture(service, { token, to }) {
  const path = `/file/upload/chat?file_type=102&to_id=${to}&to_type=1`
  const ticket = JSON.parse(await call(service, path, { token })).data
  const form = new FormData()
  form.append('file', new Blob([picture]), 'dot.gif')
  const upload = new URL(ticket.upload_url)
  const stored = await fetch(`${service.url}${upload.pathname}${upload.search}`, {
    method: 'POST',
    body: form,
  })
  must((await stored.json()).data === true, 'the picture was not stored')
  const { pathname, search } = new URL(ticket.download_url)
  const thumbnail = await call(service, `${pathname}${search}&image_type=2`, { token })
  must(thumbnail.length > 20, 'the picture has no thumbnail')
}

/** A call that has to succeed. @returns the text of the answer */
async function call({ url, appId }, path, { token, body }) {
  const headers = { app_id: appId, 'content-type': 'application/json' }
  if (token) headers['access-token'] = token
  const answer = await fetch(`${url}${path}`, { method: body ? 'POST' : 'GET', headers, body })
  const text = await answer.text()
  const failed = answer.status !== 200 || /^\{"code":(?!200\b)/.test(text)
  must(!failed, `${path} was answered ${answer.status}: ${text.slice(0, 300)}`)
  return text
}
