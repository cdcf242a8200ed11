/** The page: the form of the app's own log-in, then a conversation with the first other account. */
import { createClient } from '/client/index.js'

const [form, main] = ['form', 'main'].map((name) => document.querySelector(name))
const element = (selector) => document.querySelector(selector)

async function post(path, body = {}, signal = undefined) {
  return fetch(path, { method: 'POST', body: JSON.stringify(body), signal })
}

async function token({ deviceGuid, signal }) {
  const answer = await post('/chat-token', { deviceGuid }, signal)
  if (!answer.ok) throw new Error(`the backend answered ${answer.status}`)
  return answer.text()
}

async function chat({ url, appId, name, userId, others: [other] }) {
  main.hidden = false
  element('h1').textContent = `${name} and ${other.name}`
  const client = createClient({ url, appId, userId, token })
  const conversation = client.direct(other.userId)
  const show = () => {
    const { messages } = conversation.messages.getSnapshot()
    const lines = messages.map(({ isOwn, text }) => `${isOwn ? name : other.name}: ${text}`)
    element('pre').textContent = lines.join('\n')
    conversation.markRead()
  }
  conversation.messages.subscribe(show)
  element('#message').onchange = ({ target }) => {
    conversation.send(target.value)
    target.value = ''
  }
  element('main button').onclick = async () => {
    await post('/log-out-everywhere')
    await client.logOut()
  }
  // After a log-out everywhere, for example: without a session the page shows the log-in.
  client.connection.subscribe(() => {
    if (client.connection.getSnapshot().state === 'ended') location.reload()
  })
  await client.connect()
  show()
}

form.onsubmit = async (event) => {
  event.preventDefault()
  const answer = await post('/log-in', Object.fromEntries(new FormData(form)))
  if (answer.ok) location.reload()
  else element('output').textContent = 'Wrong name or password'
}

const answer = await fetch('/chat')
if (answer.ok) await chat(await answer.json())
else form.hidden = false
