/** hermod webhook listen beside a service, with a receiver that verifies what it posts. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { anyBackend, Child, isFullRun, TempFolder, waitFor } from '@hermod/testkit'
import { WebhookReceiver } from '@hermod/testkit/webhooks'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { hermodEnvironment, hermodScript, runHermod } from '../support/hermod-command.js'
import { ownServer } from '../support/in-process-server.js'

const patience = { timeoutMs: 60_000 }

describe.each(anyBackend())('hermod webhook listen on $name', (backend) => {
  const server = ownServer(backend)
  let userId: number
  const children: Child[] = []

  beforeAll(async () => {
    userId = (await server.api.register()).id
  })
  afterEach(async () => {
    for (const child of children.splice(0)) child.killTree()
  })
  const arguments_ = (forward: string) => ['--app', server.appId, '--forward', forward, '--json']

  /** The command, once it reads, with the objects that it has printed. */
  async function listen(forward: string, ...more: string[]) {
    const args = ['webhook', 'listen', ...arguments_(forward), ...more]
    const child = new Child([process.execPath, hermodScript, ...args], {
      env: hermodEnvironment(server.settings),
    })
    children.push(child)
    const printed = () =>
      child
        .output()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line))
    const [start] = await waitFor(() => printed().length > 0 && printed(), {
      what: `the command reads: ${child.output()}`,
      ...patience,
    })
    return { child, start, results: () => printed().slice(1) }
  }

  async function receive(status: () => number = () => 204) {
    const state = { secret: '' }
    const receiver = await WebhookReceiver.start({
      verify: (body, headers) => new Webhook(state.secret).verify(body, headers),
      answer: () => ({ status: status() }),
    })
    return { receiver, state }
  }

  const rename = async (name: string) =>
    server.api.admin({ userId }).succeed('POST', '/user/nickname', { query: { nick_name: name } })
  const got = (receiver: WebhookReceiver, count: number) =>
    waitFor(() => receiver.requests === count, { what: `${count} requests`, ...patience })

  it('posts signed events from now on, through a restart of the service, until Ctrl+C', async () => {
    const statuses = [500]
    const { receiver, state } = await receive(() => statuses.shift() ?? 204)
    await using _ = receiver
    await rename('before')
    const { child, start, results } = await listen(receiver.url)
    state.secret = start.secret
    await rename('first')
    await got(receiver, 1)
    await server.stop()
    await waitFor(() => child.output().includes('trying again'), {
      what: 'the command waits for the service',
      ...patience,
    })
    await server.startAgain()
    await rename('second')
    await got(receiver, 2)
    const done = await waitFor(() => results().length === 2 && results(), {
      what: 'two lines',
      ...patience,
    })
    const event = { type: 'user.info_updated', key: `u:${userId}`, error: '' }
    expect(done).toMatchObject([
      { ...event, status: 500 },
      { ...event, status: 204, id: receiver.accepted[0]?.headers['webhook-id'] },
    ])
    expect(receiver.invalid).toEqual([])
    child.signal('SIGINT')
    expect(await child.exited).toEqual({ code: null, signal: 'SIGINT' })
  })

  if (isFullRun)
    it('begins at the cursor of --from, signs with the secret of --secret-file and posts the kinds of --kinds only', async () => {
      const { receiver, state } = await receive()
      await using _ = receiver
      state.secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
      const { data } = await server.api
        .admin()
        .succeed('GET', '/events', { query: { after: 'now' } })
      await rename('earlier')
      await server.api.admin({ userId }).succeed('POST', '/message/send', {
        body: { type: 1, content_type: 0, targets: [userId], content: 'hello' },
      })
      using folder = new TempFolder('listen')
      const secretFile = join(folder.path, 'secret')
      writeFileSync(secretFile, `${state.secret}\n`)
      const more = [
        '--from',
        data.cursor,
        '--secret-file',
        secretFile,
        '--kinds',
        'user.info_updated',
      ]
      await listen(receiver.url, ...more)
      await rename('later')
      await got(receiver, 2)
      expect(receiver.events.map(({ type }) => type)).toEqual(Array(2).fill('user.info_updated'))
    })

  if (isFullRun)
    it('prints the reason when the receiver does not answer, and continues', async () => {
      const { receiver } = await receive()
      const { port, url } = receiver
      await receiver[Symbol.asyncDispose]()
      const { results } = await listen(url)
      for (const name of ['one', 'two']) await rename(name)
      const done = await waitFor(() => results().length === 2 && results(), {
        what: 'two lines',
        ...patience,
      })
      for (const each of done)
        expect(each).toMatchObject({
          status: 0,
          error: `connect ECONNREFUSED 127.0.0.1:${port}`,
        })
    })

  if (isFullRun)
    it('a refusal names the option', async () => {
      const refusals = [
        ['--kinds', 'message.lost', '--kinds must name kinds'],
        ['--from', 'x', '--from is not valid'],
      ] as const
      for (const [option, value, words] of refusals) {
        const args = ['webhook', 'listen', ...arguments_('http://127.0.0.1:1'), option, value]
        const { code, err } = await runHermod(args, server.settings)
        expect(err).toContain(words)
        expect(code).toBe(1)
      }
    })
})
