/** The bot of examples/echo-bot, with a real server. */
import { join } from 'node:path'
import { Child, type ServerProcess, type Session, startServer, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

const program = join(import.meta.dirname, '../../../../examples/echo-bot/echo-bot.js')

let server: ServerProcess
const bots: Child[] = []

beforeAll(async () => {
  server = await startServer()
})

afterAll(async () => {
  for (const bot of bots) bot.killTree()
  await server?.[Symbol.asyncDispose]()
})

async function startBot(settings: Readonly<Record<string, string>>): Promise<Child> {
  const env = { ...process.env, HERMOD_URL: server.url, HERMOD_APP: server.appId, ...settings }
  const bot = new Child([process.execPath, program], { env })
  bots.push(bot)
  const isOnline = () => /user \d+ is online/.test(bot.output())
  await waitFor(isOnline, { what: 'the bot', timeoutMs: 20_000 }).catch((cause) => {
    throw new Error(`the bot printed:\n${bot.output()}`, { cause })
  })
  return bot
}

async function stop(bot: Child): Promise<void> {
  bot.signal('SIGTERM')
  expect([await bot.exited, bot.output()]).toEqual([
    { code: 0, signal: null },
    expect.not.stringContaining('rror'),
  ])
}

async function say(sender: Session, target: Session, ...texts: readonly string[]): Promise<void> {
  for (const content of texts) {
    const body = { type: 1, targets: [target.id], content_type: 0, content }
    await sender.api.succeed('POST', '/message/send', { body })
  }
}

/** Waits for as many texts of the user, and returns them, oldest first. */
async function answersOf(reader: Session, bot: Session, count: number): Promise<string[]> {
  const query = { opposite_id: bot.id, msg_id_start: 0, limit: 50 }
  const read = async () => {
    const { data } = await reader.api.succeed('GET', '/message/conversation', { query })
    const texts = data.messages
      .filter(({ from_xid }: { from_xid: { uid: number } }) => from_xid.uid === bot.id)
      .map(({ content }: { content: string }) => content)
      .toReversed()
    return texts.length >= count && texts
  }
  return waitFor(read, { what: `${count} answers`, timeoutMs: 10_000 })
}

it('the bot answers texts that came while it was away, and then each that comes, once and in order', async () => {
  const [alice, user] = [await server.api.newSession(), await server.api.newSession()]
  await say(alice, user, 'one', 'two')
  const first = await startBot({ HERMOD_TOKEN: user.token })
  expect(await answersOf(alice, user, 2)).toEqual(['You said: one', 'You said: two'])
  await say(alice, user, 'three')
  expect(await answersOf(alice, user, 3)).toHaveLength(3)
  await stop(first)
  await say(alice, user, 'four')
  const second = await startBot({ HERMOD_TOKEN: user.token })
  const all = ['one', 'two', 'three', 'four'].map((text) => `You said: ${text}`)
  expect(await answersOf(alice, user, 4)).toEqual(all)
  await stop(second)
})

it('with an Admin token the bot answers for a user, who is not online', async () => {
  const [alice, user] = [await server.api.newSession(), await server.api.newSession()]
  const bot = await startBot({ HERMOD_TOKEN: server.adminToken, HERMOD_USER_ID: String(user.id) })
  await say(alice, user, 'Hello')
  expect(await answersOf(alice, user, 1)).toEqual(['You said: Hello'])
  const { data } = await user.api.succeed('GET', '/user/online_status')
  expect(data.online).toBe(false)
  await stop(bot)
})

it('the bot ends with a message when its token is not valid', async () => {
  const env = {
    ...process.env,
    HERMOD_URL: server.url,
    HERMOD_APP: server.appId,
    HERMOD_TOKEN: 'no',
  }
  const bot = new Child([process.execPath, program], { env })
  bots.push(bot)
  expect(await bot.exited).toMatchObject({ code: 1 })
  expect(bot.output()).toContain('token_invalid')
})
