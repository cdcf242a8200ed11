/** An assistant that writes its answers piece by piece, see the README of this folder. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '@hermod/client/node'
import { answer } from './answer.js'

const { HERMOD_URL: url = 'http://127.0.0.1:8080', HERMOD_APP: appId = 'hermod' } = process.env
const { HERMOD_TOKEN: token = '', AGENT_FILE: file = 'agent.json' } = process.env
if (token === '') throw new Error('HERMOD_TOKEN is missing: an access token, see README.md')
const bot = createClient({ url, appId, token: () => token })

/** The position up to which each conversation is answered; a kill leaves the old file or the new one. */
const answered = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
const keyOf = ({ kind, id }) => `${kind} ${id}`
function save(key, seq) {
  answered[key] = seq
  writeFileSync(`${file}.new`, JSON.stringify(answered))
  renameSync(`${file}.new`, file)
}

/** The last answer of each conversation, which the next one waits for. */
const queues = new Map()
bot.onMessage(
  (message, conversation) => {
    if (message.isBroadcast) return
    const key = keyOf(conversation)
    // From here on the file decides: an answer moves the read position past this message.
    if (answered[key] === undefined) save(key, message.seq - 1)
    const handled = Promise.resolve(queues.get(key)).then(async () => {
      const isMeant = conversation.kind === 'direct' || message.mentions?.includes(bot.userId)
      const isText = message.contentType === 'text' && !message.isSystem
      if (isMeant && isText) await reply(message, conversation)
      await conversation.markRead(message)
      save(key, message.seq)
    })
    queues.set(key, handled)
    // What waits behind it is not handled any more in this process.
    handled.catch(({ name, message }) => name === 'closed' || console.error(`${name}: ${message}`))
  },
  { unread: true, after: (conversation) => answered[keyOf(conversation)] },
)

/** Answers once, however often it is called: the ID of the question names the answer. */
async function reply(message, conversation) {
  const show = (state, text) => conversation.showActivity(state, text).catch(() => {})
  for (let attempt = 0; ; )
    try {
      await show('thinking')
      const history = await historyOf(message, conversation)
      const { state } = await conversation.stream(
        ({ text, signal }) => {
          const beginning = text === '' ? [] : [{ role: 'assistant', content: text }]
          return answer(message, [...history, ...beginning], { signal, show })
        },
        { kind: 'markdown', transactionId: message.id + attempt * 2 ** 50 },
      )
      return console.log(`message ${message.id} is answered: ${state}`)
    } catch (error) {
      if (error.name === 'closed') throw error
      // The service has ended it, because this program or the service was away for too long.
      if (error.stream?.state === 'interrupted') attempt++
      else if (error.retry) await pause(1_000)
      else return console.error(`message ${message.id} is not answered: ${error.message}`)
    }
}

/** The messages before a question, and the question. */
async function historyOf(question, { messages }) {
  const stop = messages.subscribe(() => {})
  await messages.loadAround(question.id, { limit: 40 }).finally(stop)
  const earlier = messages.getSnapshot().messages.filter(({ isOwn, seq, stream, ...message }) => {
    const isWhole = isOwn ? !['open', 'interrupted'].includes(stream?.state) : seq < question.seq
    return isWhole && message.contentType === 'text' && !message.isSystem
  })
  const lines = [...earlier, question].map(({ isOwn, text: content }) => {
    return { role: isOwn ? 'assistant' : 'user', content }
  })
  return lines.slice(-20)
}

bot.connection.subscribe(() => {
  const { state, end } = bot.connection.getSnapshot()
  if (state !== 'ended' || end?.name === 'closed') return
  console.error(`the service has ended the session: ${end?.name}, ${end?.message}`)
  process.exit(1)
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => bot.close())

await bot.connect()
console.log(`user ${bot.userId} is ${bot.connection.getSnapshot().state}`)
