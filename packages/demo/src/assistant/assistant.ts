/** The assistant of the demo: a bot that answers each message with a text that grows word by word. */
import { setTimeout } from 'node:timers/promises'
import { type Client, createClient } from '@hermod/client/node'
import { answerTo } from './answers.js'

interface AssistantOptions {
  readonly url: string
  readonly appId: string
  readonly userId: number
  readonly token: string
}

const thinkMs = 1_200
const wordMs = 90

/** Connects the assistant. @returns its client, which the caller closes */
export async function startAssistant({ token, ...options }: AssistantOptions): Promise<Client> {
  const client = createClient({
    ...options,
    token: () => token,
    // The end of the demo ends an answer in progress.
    onError: () => {},
  })
  client.onMessage(async (message, conversation) => {
    await conversation.markRead(message)
    await conversation.showActivity('thinking')
    await setTimeout(thinkMs)
    await conversation.stream(words(message.text))
  })
  await client.connect()
  return client
}

/** A language model in an app has this shape. */
async function* words(question: string): AsyncGenerator<string> {
  for (const word of answerTo(question)) {
    yield word
    await setTimeout(wordMs)
  }
}
