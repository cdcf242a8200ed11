/** `hermod webhook` on a running server, in the process of the test. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { anyBackend, type Json, TempFolder } from '@hermod/testkit'
import { WebhookReceiver } from '@hermod/testkit/webhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CommandDependencies, runProgram } from '../../dist/commands/program.js'
import { answerCode } from '../support/answer-codes.js'
import type { CommandResult } from '../support/hermod-command.js'
import { ownServer } from '../support/in-process-server.js'

const given = `whsec_${Buffer.alloc(32, 1).toString('base64')}`

describe.each(anyBackend())('hermod webhook on $name', (backend) => {
  const server = ownServer(backend, { HERMOD_OUTBOUND_ALLOW: '127.0.0.1' })
  let receiver: WebhookReceiver
  let folder: TempFolder

  beforeAll(async () => {
    receiver = await WebhookReceiver.start({ verify: () => {} })
    folder = new TempFolder('webhook-command')
  })

  afterAll(async () => {
    await receiver?.[Symbol.asyncDispose]()
    folder?.[Symbol.dispose]()
  })

  /** Runs `hermod webhook` with these words for the application of the server. */
  async function run(line: string, input = ''): Promise<CommandResult> {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const dependencies = {
      version: '1.2.3',
      // Without the settings that are undefined.
      env: JSON.parse(JSON.stringify(server.settings)),
      stdin: Readable.from([Buffer.from(input)]),
      stdout,
      stderr,
      now: () => server.clock.now(),
      local: () => Promise.reject(new Error('the server does not run')),
    } as unknown as CommandDependencies
    const args = ['webhook', ...line.split(' '), '--app', server.appId]
    const code = await runProgram(dependencies, args)
    stdout.end()
    stderr.end()
    return { code, out: await textOf(stdout), err: await textOf(stderr) }
  }

  async function json(line: string, input = ''): Promise<Json> {
    const { code, out, err } = await run(`${line} --json`, input)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    return JSON.parse(out)
  }

  const secretOf = (out: string) => /^Secret: (\S+)$/m.exec(out)?.[1]
  const idOf = (out: string) => Number(/^endpoint_id +(\d+)$/m.exec(out)?.[1])

  it('create prints the secret once, says how requests are verified, and names the next command', async () => {
    const made = await run(`create ${receiver.url} --kinds message.stored,group.joined`)
    expect(made).toMatchObject({ code: 0, err: '' })
    const id = idOf(made.out)
    expect(secretOf(made.out)).toMatch(/^whsec_/)
    expect(made.out).toContain('It is not shown again')
    expect(made.out).toContain('Verify the signature')
    expect(made.out).toContain(`hermod webhook test ${id} --app ${server.appId}`)
    const listed = await run('list')
    expect(listed.out).toMatch(new RegExp(`^${id} +${receiver.url} +enabled +standard +`, 'm'))
    expect(listed.out).not.toContain('whsec_')
    expect(await json('list')).toMatchObject([
      { endpoint_id: id, kinds: ['message.stored', 'group.joined'] },
    ])
    expect(await run(`delete ${id}`)).toMatchObject({
      code: 0,
      out: `Endpoint ${id} of ${server.appId} is deleted.\n`,
    })
    expect((await run('list')).out).toContain(`hermod webhook create <endpoint_url>`)
  })

  it('create takes a secret from a file or from standard input, and does not print it', async () => {
    const file = join(folder.path, 'secret')
    writeFileSync(file, `${given}\n`)
    for (const [name, input] of [
      [file, ''],
      ['-', `${given}\n`],
    ] as const) {
      const made = await run(`create ${receiver.url} --secret-file ${name}`, input)
      expect(made).toMatchObject({ code: 0, err: '' })
      expect(made.out).not.toContain(given)
      await run(`delete ${idOf(made.out)}`)
    }
    expect(await run(`create ${receiver.url} --secret-file ${folder.path}/none`)).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining(`${folder.path}/none cannot be read`),
    })
  })

  it('update changes what is given, prints a new secret once, and needs a change', async () => {
    const { endpoint_id: id, secret } = await json(`create ${receiver.url}`)
    const changed = await run(
      `update ${id} --new-secret --description orders --batch-size 10 --receivers 5,6 --timeout 2000`,
    )
    expect(secretOf(changed.out)).toMatch(/^whsec_/)
    expect(secretOf(changed.out)).not.toBe(secret)
    expect(changed.out).toContain('the previous secret too, for 24 hours')
    const kept = await run(`update ${id} --state disabled`)
    expect(kept.out).not.toContain('Secret')
    expect(await json(`update ${id} --receivers all`)).toMatchObject({
      description: 'orders',
      batch_size: 10,
      receivers: [],
      timeout_ms: 2_000,
      state: 'disabled',
      url: receiver.url,
      secret: '',
    })
    expect(await run(`update ${id}`)).toMatchObject({
      code: 1,
      err: expect.stringContaining('give an option with a change'),
    })
    expect(await run(`update ${id} --new-secret --secret-file -`)).toMatchObject({
      code: 1,
      err: 'hermod: give either --new-secret or --secret-file\n',
    })
    await run(`delete ${id}`)
  })

  it('test succeeds when the event is delivered, and fails with the answer when it is not', async () => {
    const { endpoint_id: id } = await json(`create ${receiver.url}`)
    expect(await run(`test ${id}`)).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringMatching(/^outcome +delivered$/m),
    })
    receiver.answer = () => ({ status: 503, body: 'out of\norder' })
    const failed = await run(`test ${id}`)
    receiver.answer = () => undefined
    expect(failed.code).toBe(1)
    expect(failed.err).toMatch(
      new RegExp(`^hermod: endpoint ${id}: answered 503 after \\d+ ms, .*: out of order\n$`),
    )
    const all = await json(`attempts ${id}`)
    expect(all.attempts.map(({ status }: Json) => status)).toEqual([503, 204])
    const first = await run(`attempts ${id} --failed`)
    expect(first.out).toMatch(/unavailable +503 .*out of order$/m)
    expect(first.out).not.toContain('delivered')
    const page = await run(`attempts ${id} --limit 1`)
    const cursor = /--after (\S+)/.exec(page.out)?.[1]
    expect((await json(`attempts ${id} --limit 1 --after ${cursor}`)).attempts).toEqual([
      all.attempts[1],
    ])
    expect((await run(`attempts ${id} --after x`)).err).toContain('--after')
    const { event_id } = all.attempts[1]
    expect((await json(`attempts ${id} --event ${event_id}`)).attempts).toEqual([all.attempts[1]])
    await run(`delete ${id}`)
  })

  it('replay sends dead letters and events of a time again, and says what it found', async () => {
    const { endpoint_id: id } = await json(`create ${receiver.url} --kinds webhook.disabled`)
    expect((await run(`replay ${id} --dead`)).out).toContain('There is nothing to send again')
    await server.sql.run(
      `insert into webhook_events values ('${server.appId}', ${id}, 1, 1, 0, '', 'app', 'user.removed', '{}', 0, 'dead', 5, 0, 400, '')`,
    )
    expect((await run('list')).out).toContain(`hermod webhook replay ${id} --dead`)
    const sent = await run(`replay ${id} --dead --key app --kinds user.removed`)
    expect(sent.out).toContain('1 dead letter is sent again.')
    expect(sent.out).toContain(`See hermod webhook attempts ${id} --app ${server.appId}.`)
    for (const from of ['2h', '2026-11-01T08:00:00Z', '2026-11-01'])
      expect(await run(`replay ${id} --from ${from} --key g:1`)).toMatchObject({
        code: 0,
        err: '',
      })
    await run(`delete ${id}`)
  })

  it.each([
    ['create ftp://a.example/', '<endpoint_url> must begin with http:// or https://'],
    ['create http://10.0.0.1/', '<endpoint_url> is no public address'],
    ['create https://a.example/ --kinds message.sent', '--kinds'],
    ['create https://a.example/ --batch-size 2 --format callback', '--batch-size must be 1'],
    ['create https://a.example/ --timeout 5', '--timeout must'],
    ['create https://a.example/ --secret-file -', '--secret-file must be whsec_'],
    ['update 1 --state enabled', 'webhook does not exist'],
    ['replay 1', 'give --dead, or --from with a time'],
    ['replay 1 --from yesterday', '--from must be a time such as'],
    ['replay 1 --from 2026-11-26T08:00', '--from must be a time such as'],
    ['replay 1 --from 1h --to 2h', '--to must be after'],
  ])('a failure names the option: %s', async (line, words) => {
    const { code, out, err } = await run(line, 'a short secret')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain(words)
    expect(err).not.toContain('    at ')
  })

  it('a failure has the code of the error for scripts', async () => {
    const { code, err } = await run('delete 1 --json')
    expect(code).toBe(1)
    expect(JSON.parse(err)).toEqual({
      code: answerCode.webhook_not_found,
      message: 'webhook does not exist',
    })
    expect((await run('attempts one')).code).toBe(2)
    expect((await run('create https://a.example/ --receivers x')).code).toBe(2)
  })
})
