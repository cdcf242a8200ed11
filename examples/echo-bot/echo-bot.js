/** A bot that answers every text, see the README of this folder. */
import { createClient } from '@hermod/client/node'

const {
  HERMOD_URL: url = 'http://127.0.0.1:8080',
  HERMOD_APP: appId = 'hermod',
  HERMOD_TOKEN: token = '',
  HERMOD_USER_ID: userId = '',
} = process.env

if (token === '') throw new Error('HERMOD_TOKEN is missing')

const bot = createClient({
  url,
  appId,
  ...(userId === '' ? {} : { userId: Number(userId) }),
  token: () => token,
})

/** Conversations that are answered already. */
const followed = new Set()

function followAll() {
  for (const { id, kind, unread } of bot.conversations.getSnapshot().conversations) {
    if (kind !== 'direct' || unread === 0 || followed.has(id)) continue
    followed.add(id)
    follow(bot.conversation(id), unread).catch((error) => {
      followed.delete(id)
      console.error(error)
    })
  }
}

/**
 * Answers the unread texts of a conversation, and all that come.
 * @param {import('@hermod/client').Conversation} conversation
 * @param {number} unread
 */
async function follow(conversation, unread) {
  await conversation.loadOlder({ limit: unread })
  const texts = () =>
    conversation.messages
      .getSnapshot()
      .messages.filter(
        ({ id, isOwn, isSystem, contentType }) =>
          id > 0 && !isOwn && !isSystem && contentType === 0,
      )
  // The ID of the newest text that has an answer.
  let answered = texts().at(-1 - unread)?.id ?? 0
  const answer = () => {
    for (const { id, text } of texts()) {
      if (id <= answered) continue
      answered = id
      conversation.send(`You said: ${text}`).catch(console.error)
    }
  }
  conversation.messages.subscribe(answer)
  answer()
}

bot.connection.subscribe(() => {
  const { state, end } = bot.connection.getSnapshot()
  if (state !== 'ended') return
  console.error(`the service has ended the session: ${end?.name}, ${end?.message}`)
  process.exitCode = 1
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => bot.close())

bot.conversations.subscribe(followAll)
await bot.connect()
followAll()
console.log(`user ${bot.userId} is ${bot.connection.getSnapshot().state}`)
