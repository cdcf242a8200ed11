/** A bot that answers every text, see the README of this folder. */
import { createClient } from '@hermod/client/node'

const {
  HERMOD_URL: url = 'http://127.0.0.1:8080',
  HERMOD_APP: appId = 'hermod',
  HERMOD_TOKEN: token = '',
  HERMOD_USER_ID: userId = '',
} = process.env

if (token === '') throw new Error('HERMOD_TOKEN is missing: an access token, see README.md')

const bot = createClient({
  url,
  appId,
  ...(userId === '' ? {} : { userId: Number(userId) }),
  token: () => token,
})

bot.onMessage(
  async (message, conversation) => {
    const isAnswered =
      conversation.kind === 'direct' && message.contentType === 'text' && !message.isSystem
    if (isAnswered) await conversation.send(`You said: ${message.text}`)
    await conversation.markRead(message)
  },
  { unread: true },
)

bot.connection.subscribe(() => {
  const { state, end } = bot.connection.getSnapshot()
  if (state !== 'ended') return
  console.error(`the service has ended the session: ${end?.name}, ${end?.message}`)
  process.exitCode = 1
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => bot.close())

await bot.connect()
console.log(`user ${bot.userId} is ${bot.connection.getSnapshot().state}`)
