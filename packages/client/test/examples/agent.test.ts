/** The assistant of examples/agent with a real service: answers, stops, and kills of both in mid-sentence. */
import { join } from 'node:path'
import {
  Child,
  freePort,
  isFullRun,
  type Json,
  type ServerProcess,
  type Session,
  startServer,
  TempFolder,
  waitFor,
} from '@hermod/testkit'
import { expect, it } from 'vitest'
import { blocksRunBy } from '../../../../scripts/docs/src/page-blocks.js'
import { Random } from '../../../server/test/support/random.js'

const root = join(import.meta.dirname, '../../../..')
const program = join(root, 'examples/agent/agent.js')
const pieceLog = join(import.meta.dirname, '../support/log-pieces.mjs')
const timeoutMs = 240_000

interface Piece {
  readonly msg_id: number
  readonly index: number
  readonly text: string
}

/** A service with an assistant, either of which may be killed and started again. */
class Lab implements AsyncDisposable {
  readonly agents: Child[] = []
  readonly #folder = new TempFolder('agent')
  /** The longest text of each message that a reader has seen. */
  readonly seen = new Map<number, string>()

  private constructor(
    public server: ServerProcess,
    readonly bot: Session,
    readonly reader: Session,
  ) {}

  static async start(env: Readonly<Record<string, string>> = {}): Promise<Lab> {
    const server = await startServer({ port: await freePort(), env })
    return new Lab(server, await server.api.newSession(), await server.api.newSession())
  }

  async startAgent(): Promise<void> {
    const { url, appId } = this.server
    const own = {
      HERMOD_URL: url,
      HERMOD_APP: appId,
      HERMOD_TOKEN: this.bot.token,
      AGENT_FILE: join(this.#folder.path, 'agent.json'),
    }
    const env = { ...process.env, ...own }
    const agent = new Child([process.execPath, '--import', pieceLog, program], { env })
    this.agents.push(agent)
    await this.until(() => /user \d+ is online/.test(agent.output()), 'the assistant')
  }

  async killAgent(): Promise<void> {
    this.agents.at(-1)?.killTree()
    await this.agents.at(-1)?.exited
  }

  async killService(): Promise<void> {
    await this.server.kill9()
    this.server = await this.server.startAgain()
  }

  async ask(content: string, more: object = {}): Promise<void> {
    const body = { type: 1, targets: [this.bot.id], content_type: 0, content, ...more }
    await this.#reader.succeed('POST', '/message/send', { body })
  }

  /** Answers in the conversation with the reader, or in a group, oldest first. */
  async answers(groupId = 0): Promise<Json[]> {
    const ids = groupId ? [groupId, groupId] : [this.bot.id, this.reader.id].sort((a, b) => a - b)
    const log = { low_id: ids[0], high_id: ids[1], is_group: groupId > 0 }
    const { data } = await this.#reader.succeed('POST', '/message/history', { body: { log } })
    const answers = (data.messages as Json[]).filter(({ sender_id }) => sender_id === this.bot.id)
    return answers.sort((a, b) => a.seq - b.seq)
  }

  /** Waits until as many answers have ended. */
  async ended(count: number, groupId = 0): Promise<Json[]> {
    return this.until(async () => {
      const answers = await this.answers(groupId)
      const hasEnded = answers.every(({ stream }) => stream.state !== 'open')
      return answers.length >= count && hasEnded && answers
    }, `${count} answers`)
  }

  /**
   * Waits until an answer has as many more characters or has ended, and returns it.
   * @param index its place among all answers
   */
  async grown(by: number, index = 0): Promise<Json> {
    const textOf = (message: Json): string => message?.stream?.text ?? ''
    let first: number | undefined
    return this.until(async () => {
      const message = (await this.answers())[index]
      if (message === undefined) return false
      if (message.stream.state !== 'open') return message
      const text = textOf(message)
      expect(text.startsWith(this.seen.get(message.msg_id) ?? '')).toBe(true)
      this.seen.set(message.msg_id, text)
      first ??= text.length
      return text.length >= first + by && message
    }, 'a growing answer')
  }

  /** Pieces that the assistant's log says were answered. */
  pieces(msgId: number): Piece[] {
    const lines = this.agents.flatMap((agent) => agent.output().split('\n'))
    const logged = lines.filter((line) => line.startsWith('piece '))
    const pieces = logged.map((line) => JSON.parse(line.slice('piece '.length)) as Piece)
    return pieces.filter(({ msg_id }) => msg_id === msgId)
  }

  /** Waits for a state, with the output of the assistants in the error. */
  async until<T>(state: () => T | Promise<T>, what: string): Promise<Exclude<T, false>> {
    const isThere = async () => {
      const value = await state()
      return value as Exclude<T, false> | false
    }
    return waitFor(isThere, { what, timeoutMs: 60_000 }).catch((cause) => {
      const outputs = this.agents.map((agent) => agent.output()).join('---\n')
      throw new Error(`the assistants printed:\n${outputs}`, { cause })
    })
  }

  get #reader() {
    return this.server.api.as(this.reader.token)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const agent of this.agents) agent.killTree()
    await Promise.all(this.agents.map(({ exited }) => exited))
    await this.server[Symbol.asyncDispose]()
    this.#folder[Symbol.dispose]()
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1).join(' ')

/**
 * The text of an answer is that of its answered pieces, in their order. A kill of the assistant may
 * leave one piece that is stored and not logged.
 */
function expectPieces(of: Lab, message: Json, kills: number): void {
  const texts = new Map<number, string>()
  for (const { index, text } of of.pieces(message.msg_id)) {
    expect(texts.get(index) ?? text).toBe(text)
    texts.set(index, text)
  }
  const last = Math.max(...texts.keys())
  const unknown = last - texts.size
  expect(unknown).toBeLessThanOrEqual(kills)
  const parts = Array.from({ length: last }, (_, at) => texts.get(at + 1))
  const pattern = parts.map((text) => text?.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') ?? '[^]*')
  // The unlogged piece may be the last one.
  if (unknown < kills) pattern.push('[^]*')
  expect(message.content).toMatch(new RegExp(`^${pattern.join('')}$`))
  expect(message.content.startsWith(of.seen.get(message.msg_id) ?? '')).toBe(true)
}

it.concurrent('kills of the service and of the assistant in mid-sentence lose and double nothing', {
  timeout: timeoutMs,
}, async () => {
  await using lab = await Lab.start()
  const random = new Random(Number(process.env.HERMOD_TEST_SEED ?? 20_260_101))
  await lab.startAgent()
  const counts = isFullRun ? [80, 60, 90] : [40]
  const asked = [...counts]
  const agentKills = isFullRun ? 3 : 1
  for (const count of counts) {
    await lab.ask(`count to ${count}`)
    const index = asked.indexOf(count)
    for (let kill = 0; kill < agentKills; kill++) {
      await lab.grown(random.integer(1, isFullRun ? 25 : 8), index)
      await lab.killService()
      await lab.grown(random.integer(1, isFullRun ? 25 : 8), index)
      await lab.killAgent()
      if (kill === 0) {
        // While the assistant is away.
        await lab.ask('count to 3')
        asked.splice(index + 1, 0, 3)
      }
      await lab.startAgent()
    }
    const answers = await lab.ended(index + 2)
    expect(answers.length).toBe(index + 2)
  }
  const answers = await lab.ended(asked.length)
  expect(answers.map(({ content, stream }) => [content, stream.state])).toEqual(
    asked.map((count) => [upTo(count), 'done']),
  )
  for (const message of answers) expectPieces(lab, message, agentKills)
})

it.concurrent('a reader stops an answer; in groups the assistant answers where it is mentioned', {
  timeout: timeoutMs,
}, async () => {
  await using lab = await Lab.start()
  await lab.startAgent()
  const { reader, bot } = lab
  const created = await reader.api.succeed('POST', '/group/create', {
    body: { name: 'Crew', user_list: [bot.id] },
  })
  const groupId = created.data.group_id
  const inGroup = { type: 2, targets: [groupId] }
  await lab.ask('Good morning', inGroup)
  const config = JSON.stringify({ mentionList: [bot.id] })
  await lab.ask('Please count to 4', { ...inGroup, config })
  await lab.ask('count to 500')
  const { msg_id } = await lab.grown(3)
  const place = { conversation_id: bot.id, type: 1, msg_id }
  await reader.api.succeed('POST', '/message/stream/cancel', { body: place })
  const [stopped] = await lab.ended(1)
  expect(stopped.stream.state).toBe('cancelled')
  expect(upTo(500).startsWith(stopped.content)).toBe(true)
  const hasLeft = () => lab.agents[0]?.output().includes('is answered: cancelled') ?? false
  await lab.until(hasLeft, 'the end of the source')
  await lab.ask('count to 5')
  expect((await lab.ended(2)).map(({ content }) => content)).toEqual([stopped.content, upTo(5)])
  expect((await lab.ended(1, groupId)).map(({ content }) => content)).toEqual([upTo(4)])
})

// The tests above stop streams and kill the assistant too, without the waits of the page.
if (isFullRun)
  it('the lines of the guide write, read and stop a stream, and kill the assistant', {
    timeout: timeoutMs,
  }, async () => {
    const blocks = blocksRunBy(import.meta.filename).filter(({ language }) => language === 'sh')
    expect(blocks.length).toBeGreaterThan(5)
    await using server = await startServer({ appId: 'hermod' })
    const script = blocks
      .map(({ text }) => text)
      .join('')
      .replace('http://127.0.0.1:8080', server.url)
    const shell = new Child(['bash', '-c', script], { cwd: root })
    const exit = await shell.exited
    const output = shell.output()
    expect([exit, output]).toEqual([{ code: 0, signal: null }, expect.not.stringContaining('rror')])
    expect(output).toContain('"text":"The answer is **42**"')
    expect(output).toContain('"content":"The answer is **42**."')
    expect(output.trim().split('\n').at(-1)).toContain(`"content":"${upTo(60)}"`)
  })

if (isFullRun)
  it('an answer that was interrupted while the assistant was away stays as it is, and a new one follows', {
    timeout: timeoutMs,
  }, async () => {
    await using own = await Lab.start({ HERMOD_STREAM_SILENT_SECONDS: '2' })
    await own.startAgent()
    await own.ask('count to 30')
    await own.grown(3)
    await own.killAgent()
    const [first] = await own.ended(1)
    expect(first.stream.state).toBe('interrupted')
    await own.startAgent()
    // A slow machine interrupts answers too, and another one follows each of them.
    const isWhole = ({ stream }: Json) => stream.state !== 'interrupted'
    const answers = await own.until(async () => {
      const ended = await own.ended(2)
      return ended.some(isWhole) && ended
    }, 'an answer that is not interrupted')
    const answer = answers.pop()
    expect(answers[0]).toEqual(first)
    expect(answers.filter(isWhole)).toEqual([])
    expect([answer.content, answer.stream.state]).toEqual([upTo(30), 'done'])
    for (const interrupted of answers) expectPieces(own, interrupted, 1)
    // The line comes after those of its pieces.
    const isLogged = () => own.agents[1]?.output().includes('is answered: done') ?? false
    await own.until(isLogged, 'the log of the answer')
    expectPieces(own, answer, 0)
  })
